import re
import struct
import sys

import pytest

from tests import svg
from tests.suite import SHORT, SMALL, run, run_kernels

NO_PYGAL = "import sys\nsys.modules['pygal'] = None\n"
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
def test_sum(benchmark):
    benchmark(sum, range(999))

def test_without_benchmark():
    pass
"""
FAILING = """
def test_wrong(benchmark):
    assert benchmark(sum, [1]) == 2

def test_raises(benchmark):
    benchmark(sum, None)

def test_right(benchmark):
    assert benchmark(sum, [1]) == 1
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "conftest.py").write_text(NO_PYGAL)
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def draw(folder, *options, prefix="out/p"):
    """Return what a run said, and its pictures by name."""
    result = run(*SHORT, *options, f"--benchmark-histogram={prefix}", cwd=folder)
    assert "Traceback" not in result.stdout + result.stderr
    assert "INTERNALERROR" not in result.stdout + result.stderr
    return result, {file.stem: file for file in sorted(folder.glob(f"{prefix}*.svg"))}


def test_a_strangers_suite_has_a_picture_for_each_group(folder):
    result, found = draw(folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert set(found) == {"p", "p-sums_a_b", "p-sums_a_b-2"}
    texts = {name: svg.text(file) for name, file in found.items()}
    assert "a-b" in texts["p"]
    assert "<b>&amp;</b>" in texts["p"]
    assert "median of the rounds" in texts["p"]
    assert "test_small" in texts["p-sums_a_b"]
    assert f"Python {sys.version.split()[0]}" in texts["p"]
    assert re.search(r"time of a call, (ns|µs|ms)", texts["p"])
    for file in found.values():
        assert svg.smallest(file) >= svg.LEGIBLE
        assert struct.unpack(">II", file.with_suffix(".png").read_bytes()[16:24]) == (1920, 1080)
    assert "gnnbench: drew out/p-sums_a_b.svg and .png" in result.stdout


def test_it_groups_as_pytest_benchmark_does(folder):
    _, found = draw(folder, "--benchmark-group-by=func", "-k", "sort or small")
    assert [name for name in found if "sort" not in name] == ["p-test_small"]
    assert "p-test_sort" in found


def test_gnnbenchs_timing_of_a_strangers_suite_is_drawn_with_its_interval(folder):
    result, found = draw(folder, "--gnn-layouts=sample", "-k", "small", "--benchmark-min-rounds=5")
    assert result.returncode == 0, result.stdout
    (file,) = found.values()
    assert "first decile of block medians" in svg.text(file)


@pytest.mark.parametrize(
    "options", [["-n", "2"], ["--benchmark-disable"], ["--benchmark-skip"], ["-k", "without"]], ids=" ".join
)
def test_without_times_there_is_no_picture_and_a_line(folder, options):
    result, found = draw(folder, *options)
    assert (result.returncode, found) == (0, {})
    assert result.stdout.count("gnnbench: --benchmark-histogram: no benchmark was timed") == 1


def test_collecting_says_nothing_of_pictures(folder):
    result, _ = draw(folder, "--collect-only")
    assert "benchmark-histogram" not in result.stdout


def test_benchmarks_of_failed_tests_are_left_out(folder):
    (folder / "test_suite.py").write_text(FAILING)
    result, found = draw(folder)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    (file,) = found.values()
    assert "test_right" in svg.text(file)
    assert "test_wrong" not in svg.text(file)
    assert "gnnbench: not drawn, because the test failed: 1 benchmark" in result.stdout


def test_a_quiet_run_draws_too(folder):
    _, found = draw(folder, "--benchmark-quiet", "-q", "-k", "small")
    assert list(found) == ["p-sums_a_b"]


def test_a_prefix_that_cannot_be_written_is_one_line(folder):
    (folder / "file").write_text("")
    result, found = draw(folder, "-k", "small", prefix="file/p")
    assert (result.returncode, found) == (pytest.ExitCode.TESTS_FAILED, {})
    lines = [line for line in result.stdout.splitlines() if "file/p" in line]
    assert len(lines) == 1
    assert "gnnbench: failed: --benchmark-histogram: file/p cannot be written (" in lines[0]
    assert "1 passed" in result.stdout


def test_without_a_prefix_the_files_are_in_the_folder(folder):
    result = run(*SHORT, "-k", "small", "--benchmark-histogram", cwd=folder)
    assert result.returncode == 0
    (file,) = folder.glob("benchmark_*.svg")
    assert re.fullmatch(r"benchmark_\d+_\d+-sums_a_b\.svg", file.name)


def test_what_is_not_installed_is_one_line_before_anything_runs(folder):
    (folder / "absent.py").write_text(
        "import sys\nsys.modules['altair'] = sys.modules['vl_convert'] = None\n"
    )
    result, found = draw(folder, "-p", "absent")
    assert (result.returncode, found) == (pytest.ExitCode.USAGE_ERROR, {})
    assert result.stderr.strip().splitlines()[-1] == (
        "ERROR: gnnbench: --benchmark-histogram: altair and vl_convert are not installed: "
        "pip install 'gnnbench[report]'"
    )


def test_a_comparison_of_pytest_benchmark_shows_both_runs(folder):
    only = ("-k", "small", f"--benchmark-storage=file://{folder}")
    assert run(*SHORT, *only, "--benchmark-autosave", cwd=folder).returncode == 0
    _, found = draw(folder, *only, "--benchmark-compare")
    text = svg.text(found["p-sums_a_b"])
    assert "(NOW)" in text
    assert "(0001_" in text


def test_the_suite_has_a_picture_for_each_operation_and_graph(tmp_path):
    options = ("--gnn-all", *SMALL, *SHORT, "-k", "(spmm_sum or gcn_norm) and (torch or pyg)")
    result = run_kernels("benchmarks", *options, f"--benchmark-histogram={tmp_path}/p")
    assert result.returncode == 0, result.stdout
    found = {file.stem: file for file in tmp_path.glob("p*.svg")}
    assert {"p-gcn_norm_rmat_5", "p-spmm_sum_rmat_5"} < set(found)
    text = svg.text(found["p-spmm_sum_rmat_5"])
    assert "spmm_sum on rmat:5" in text
    for label in ("fwd torch", "f+b torch", "fwd pyg", "f+b pyg"):
        assert label in text
    assert "first decile of block medians" in text
    assert "torch 2." in text
    assert min(map(svg.smallest, found.values())) >= svg.LEGIBLE
    assert "Name (time in" not in result.stdout, "pytest-benchmark's table is not shown"
