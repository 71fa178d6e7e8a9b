import pytest

from gnnbench.suite import memory


def test_a_benchmark_that_takes_more_memory_than_is_free_says_so_and_the_next_one_runs(pytester, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 2 << 30)
    pytester.makepyfile("""
        import pytest

        @pytest.mark.operations("large", "small")
        def test_own(case, measure):
            repeat = 4096 if case.spec.operation == "large" else 1
            run = lambda x: x.repeat(repeat, 8)[:256]
            measure(run, case.features(), reference=lambda _, x: x.repeat(1, 8))
    """)
    options = ("--gnn-device=cpu", "--gnn-dataset=rmat:8", "--gnn-platform=torch", "--benchmark-disable")
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["gnnbench: large-forward-*: OOM at 4 GiB"])


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
