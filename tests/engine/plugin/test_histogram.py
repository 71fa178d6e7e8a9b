import re
import sys

import pytest

from tests import svg
from tests.runs import SHORT, SMALL, run, run_kernels

SUITE = """
import pytest

@pytest.mark.parametrize("how", ["a-b", "ä/ø [x]", "<b>&amp;</b>", "long" * 40, ""])
def test_sort(benchmark, how):
    benchmark(sorted, [3, 1, 2])

@pytest.mark.benchmark(group="sums: a/b")
class TestSums:
    def test_small(self, benchmark):
        benchmark(sum, range(9))

    def test_large(self, benchmark):
        benchmark(sum, range(99))

@pytest.mark.benchmark(group="sums? a/b")
@pytest.mark.parametrize("size", [999, 9999])
def test_sum(benchmark, size):
    benchmark(sum, range(size))

def test_without_benchmark():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['pygal'] = None\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def draw(folder, *options, prefix="out/p"):
    result = run(*SHORT, *options, f"--benchmark-histogram={prefix}", cwd=folder)
    assert "Traceback" not in result.stdout + result.stderr
    assert "INTERNALERROR" not in result.stdout + result.stderr
    return result, {file.stem: file for file in sorted(folder.glob(f"{prefix}*.svg"))}


@pytest.mark.nightly
def test_a_strangers_suite_has_a_picture_for_each_group(folder):
    result, found = draw(folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(found) == {"p", "p-sums_a_b", "p-sums_a_b-2"}
    texts = {name: svg.text(file) for name, file in found.items()}
    python = f"Python {sys.version.split()[0]}"
    assert all(word in texts["p"] for word in ("a-b", "<b>&amp;</b>", "median of the rounds", python))
    assert "test_small" in texts["p-sums_a_b"]
    assert re.search(r"time of a call, (ns|µs|ms)", texts["p"])
    for file in found.values():
        assert svg.smallest(file) >= svg.LEGIBLE
        assert file.with_suffix(".png").exists()
    assert "gnnbench: drew out/p-sums_a_b.svg and .png" in result.stdout


@pytest.mark.parametrize(
    ("options", "lines"), [(["-n", "1"], 1), (["-k", "without"], 1), (["--collect-only"], 0)]
)
def test_without_times_there_is_no_picture_and_a_line_unless_tests_are_only_collected(known, options, lines):
    known.makepyfile(test_suite=SUITE)
    result = known.runpytest_inprocess(*SHORT, *options, "--benchmark-histogram=p")
    assert (result.ret, [*known.path.glob("*.svg")]) == (0, [])
    assert str(result.stdout).count("benchmark-histogram: no benchmark was timed") == lines


def test_a_prefix_that_cannot_be_written_is_one_line(folder):
    (folder / "file").write_text("")
    result, found = draw(folder, "-k", "small", prefix="file/p")
    assert (result.returncode, found) == (pytest.ExitCode.TESTS_FAILED, {})
    (line,) = [line for line in result.stdout.splitlines() if "file/p" in line]
    assert "gnnbench: failed: --benchmark-histogram: " in line
    assert " cannot be written (" in line
    assert line.endswith("); give another prefix")
    assert "1 passed" in result.stdout


def test_the_suite_has_a_picture_for_each_operation_and_graph(tmp_path):
    files = ("benchmarks/test_spmm.py", "benchmarks/test_gcn_norm.py")
    select = ("--gnn-all", *SMALL, *SHORT, "-k", "(spmm_sum- or gcn_norm-) and (torch or pyg)")
    result = run_kernels(*files, *select, f"--benchmark-histogram={tmp_path}/p")
    assert result.returncode == 0, result.stdout
    found = {file.stem: file for file in tmp_path.glob("p*.svg")}
    assert found.keys() == {"p-gcn_norm_rmat_5", "p-spmm_sum_rmat_5"}
    assert "torch 2." in svg.text(found["p-spmm_sum_rmat_5"])
    assert min(map(svg.smallest, found.values())) >= svg.LEGIBLE
    assert "Name (time in" not in result.stdout, "pytest-benchmark's table is not shown"
