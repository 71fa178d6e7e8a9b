import pytest

from gnnbench.report.names import clean, in_lines, spec_of, titles
from gnnbench.workloads.spec import Spec


def test_every_character_shows():
    assert clean("x·W [spmm]") == "x·W [spmm]"
    assert clean("a\x1b[31m\u202eb\ud800\x00") == "a\ufffd[31m\ufffdb\ufffd\ufffd"
    assert clean("a\nb\tc") == "a b c"
    assert clean(None) == "None"
    assert len(clean("x" * 10_000)) == 300
    clean("x\ud800" * 10_000).encode()


def test_a_test_id_of_ours_is_a_spec():
    name = "benchmarks/test_a.py::test_a[spmm_sum-forward_backward-pyg-float32-int64-rmat-like:12-64-cuda]"
    assert spec_of(name) == Spec(
        "spmm_sum", "forward_backward", "pyg", "float32", "int64", "rmat-like:12", 64, "cuda"
    )
    assert spec_of("benchmarks/test_a.py::test_a[cora]") is None
    assert spec_of(name.replace("forward_backward", "sideways")) is None


@pytest.mark.parametrize("hidden", [64, 128])
def test_a_title_says_what_tells_apart(hidden):
    specs = [
        Spec("spmm_sum", "forward", platform, "float32", "int64", "cora", width, "cpu")
        for platform in ("pyg", "torch")
        for width in dict.fromkeys((64, hidden))
    ]
    found, common = titles(["x"] * len(specs), specs)
    if hidden == 64:
        assert found == [("spmm_sum fwd", "pyg"), ("spmm_sum fwd", "torch")]
        assert common == "cora · hidden 64 · float32 · int64 · cpu"
    else:
        assert found[1] == ("spmm_sum fwd", "pyg · hidden 128")
        assert common == "cora · float32 · int64 · cpu"


def test_the_folder_that_all_share_is_said_once():
    names = ["tests/bench/test_a.py::test_x[1/2]", "tests/bench/test_a.py::test_y"]
    assert titles(names, [None, None]) == ([("test_x[1/2]", ""), ("test_y", "")], "tests/bench/test_a.py")
    assert titles([], []) == ([], "")


def test_a_long_name_is_broken_at_words_and_keeps_both_ends():
    assert in_lines("spmm_sum fwd torch", 30) == ["spmm_sum fwd torch"]
    assert in_lines("conv_cached f+b pyg · ogbn-arxiv", 30) == ["conv_cached f+b pyg", "ogbn-arxiv"]
    assert in_lines("test_a.py::test_spmm[ogbn-arxiv-float32]", 20) == [
        "test_a.py::test_",
        "spmm[ogbn-arxiv-",
        "float32]",
    ]
    assert in_lines("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    long = in_lines(f"first {'word ' * 60} the last one", 20)
    assert len(long) == 3
    assert long[0].startswith("first word")
    assert long[-1].endswith("the last one")
    assert max(map(len, long)) == 20
    assert in_lines("", 10) == [""]
