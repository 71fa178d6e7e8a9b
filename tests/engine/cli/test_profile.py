"""`gnnbench profile`: real processes, and a session on given answers."""

import pytest


@pytest.mark.usefixtures("fresh_children")
def test_a_file_that_cannot_be_imported_and_a_process_that_dies_before_it_is_pytest_are_shown(
    tmp_path, in_process
):
    plugins = "-p pytest_benchmark.plugin -p xdist.plugin"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins} -n 2 --benchmark-skip\n")
    (tmp_path / "test_suite.py").write_text("import nothing_like_this\n")
    result = in_process("profile", "test_suite.py")
    assert result.returncode == 2
    assert "No module named 'nothing_like_this'" in result.stderr
    (tmp_path / "random.py").write_text(
        "import os\n\nprint('not the module that was meant', flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    result = in_process("profile", "test_suite.py")
    assert result.returncode == 2
    first, _, said = result.stderr.partition("\n")
    begin, end = "gnnbench: pytest was killed by SIGKILL (po", "\nnot the module that was meant\n"
    assert first == "gnnbench: starting pytest (0 s)"
    assert (said[: len(begin)], said[-len(end) :]) == (begin, end)
