import pytest

from gnnbench.report.names import clean, spec_of, titles
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
