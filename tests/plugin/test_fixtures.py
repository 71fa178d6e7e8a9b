import re

import pytest


def test_what_does_not_fit_in_memory_is_skipped_before_its_graph_is_made(pytester):
    suite = "import pytest\n@pytest.mark.operations('spmm_sum')\ndef test_spmm(case): pass\n"
    pytester.makepyfile(suite)
    options = ("--gnn-device=cpu", "--gnn-dataset", "rmat:30", "--gnn-hidden", "32", "--gnn-all", "-rs")
    result = pytester.runpytest_inprocess(*options, "--gnn-platform", "torch")
    result.assert_outcomes(skipped=2)
    text = " ".join(str(result.stdout).split())
    memory = r"on rmat:30 needs about [\d.]+ TiB of memory, but [\d.]+ [GM]iB is free; "
    for direction in ("forward", "forward_backward"):
        needs = f"spmm_sum {direction} {memory}use a smaller scale, or a smaller --gnn-hidden"
        assert re.search(needs, text)


def test_a_graph_that_cannot_be_read_ends_the_session_in_a_line(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.operations('spmm_sum')\ndef test_spmm(case): pass\n")
    file = pytester.makefile(".mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n")
    options = ("--gnn-device=cpu", "--gnn-platform=torch", f"--gnn-dataset={file}")
    result = pytester.runpytest_inprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in str(result.stdout).splitlines() if f"{file.name}: " in line]
    assert "not a readable Matrix Market file" in line


def test_a_suite_s_own_fixture_stays_and_a_test_without_the_marker_is_told_of_it(pytester):
    fixture = "import pytest\n@pytest.fixture\ndef graph(): return 'its own'\n"
    pytester.makepyfile(
        test_none="def test_graph(graph): pass",
        test_own=f"{fixture}def test_graph(graph): assert graph == 'its own'",
    )
    result = pytester.runpytest_inprocess("-q")
    result.stdout.fnmatch_lines(["*gnnbench: the fixtures need a marker: add @pytest.mark.operations(NAME)"])
    result.assert_outcomes(passed=1, errors=1)
