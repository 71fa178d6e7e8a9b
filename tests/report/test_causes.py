import pytest

from gnnbench.compare.comparison import Compared, Work
from gnnbench.compare.verdict import Judgement
from gnnbench.measure.fingerprint.difference import Difference
from gnnbench.report.causes import told

F = "library:Thing.f"


def row(name, **kinds):
    judgement = Judgement("slower", "it is", 1.2, 1.1, 1.3)
    return Compared(name, judgement, 1e-3, work=Work(Difference(**kinds)))


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ({"functions": (F,)}, "`Thing.f`"),
        ({"functions": (F,), "head_only": (F,)}, "`Thing.f` (run only by head)"),
        ({"captured": (F,)}, "other values captured by `Thing.f`"),
        (
            {"captured": (F,), "compiled": ("library._io",), "libraries": ("libm.so",)},
            "other compiled code (`library._io`)",
        ),
        ({"values": ("library.{N}",)}, "other values (`library.{N}`)"),
    ],
)
def test_a_cause_is_named_by_its_kind(kinds, sentence):
    (one,) = told([row("a", **kinds), row("b", **kinds)], lambda _: None)
    assert one.sentence("`{}`".format) == f"2 slower through {sentence}"


def test_a_function_that_both_sides_run_in_some_benchmark_is_not_marked():
    (one,) = told([row("a", functions=(F,)), row("b", functions=(F,), base_only=(F,))], lambda _: None)
    assert one.sentence() == "2 slower through Thing.f"
