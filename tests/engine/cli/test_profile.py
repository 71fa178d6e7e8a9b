"""`gnnbench profile`: real processes, and a session on given answers."""

import pytest


@pytest.mark.usefixtures("fresh_children")
def test_an_import_that_fails_and_a_process_that_dies_before_pytest_are_shown(tmp_path, in_process):
    plugins = "-p pytest_benchmark.plugin -p xdist.plugin"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins} -n 2 --benchmark-skip\n")
    (tmp_path / "test_suite.py").write_text("import nothing_like_this\n")
    result = in_process("profile", "test_suite.py")
    assert result.returncode == 2
    assert "No module named 'nothing_like_this'" in result.stderr
    dies = "import os\n\nprint('not the module that was meant', flush=True)\nos.kill(os.getpid(), 9)\n"
    (tmp_path / "random.py").write_text(dies)
    result = in_process("profile", "test_suite.py")
    assert result.returncode == 2
    first, _, said = result.stderr.partition("\n")
    begin, end = "gnnbench: pytest was killed by SIGKILL (po", "\nnot the module that was meant\n"
    assert first == "gnnbench: starting pytest (0 s)"
    assert (said[: len(begin)], said[-len(end) :]) == (begin, end)
