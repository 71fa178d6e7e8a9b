import pytest

from gnnbench import codec
from gnnbench.measure.fingerprint.difference import Difference
from gnnbench.measure.fingerprint.fingerprint import Fingerprint

CONV = "torch_geometric.nn.conv.gcn_conv"
SIX = tuple("m:" + name for name in "abcdef")
ONLY = {"functions": ("m:gone", "m:new", "m:f"), "base_only": ("m:gone",), "head_only": ("m:new",)}
COMPILED = {"compiled": ("p._core", "p._io"), "captured": ("m:f",), "libraries": ("libm.so.6",)}


@pytest.mark.parametrize(
    ("differing", "sentence"),
    [
        ({"functions": (f"{CONV}:gcn_norm", f"{CONV}:GCNConv.forward")}, "gcn_norm, GCNConv.forward"),
        ({"functions": SIX, "settings": ("threads",)}, "a, b, c and 3 more"),
        ({"functions": ("m:call", "n:call")}, "m:call, n:call"),
        ({"values": ("m.SCALE",), "libraries": ("libm.so.6",)}, "same functions, other values (m.SCALE)"),
        ({"libraries": ("libm.so.6",)}, "same functions, other libraries (libm.so.6)"),
        ({"settings": ("$OMP_X", "threads")}, "same functions, other settings ($OMP_X, threads)"),
        (ONLY, "f, new (run only by head), gone (run only by base)"),
        (
            {"captured": ("m:f.<locals>.run",), "settings": ("threads",)},
            "same functions, other values captured by f.<locals>.run",
        ),
        (COMPILED, "same functions, other compiled code (p._core, p._io)"),
        ({"work": ("inputs", "operators")}, "same functions, other data (inputs, operators)"),
    ],
)
def test_a_sentence_names_functions_or_else_what_differs(differing, sentence):
    found = Difference(**differing)
    assert found.sentence() == sentence
    assert codec.decode(codec.encode(found), Difference) == found


def of_libraries(modules, **libraries):
    return Fingerprint("", "", {}, {}, libraries, {}, {}, modules=modules)


def test_compiled_modules_of_packages_are_told_from_other_libraries():
    modules = {"p._b": "_b", "p._a": "_a", "q._a": "_a"}
    base = of_libraries({"p._gone": "_gone", **modules}, _a="1", _b="1", _gone="1", libm="1")
    head = of_libraries(modules, _a="2", _b="2", libm="2")
    found = Difference.between(base, head)
    assert found.compiled == ("p._gone", "p._b", "p._a", "q._a")
    assert (found.libraries, found.base_only) == (("libm",), ("p._gone",))
    older = Difference.between(of_libraries({}, **base.libraries), of_libraries({}, **head.libraries))
    assert (older.libraries, older.compiled) == (("_gone", "_a", "_b", "libm"), ())
    # Which of them a process has loaded makes no difference.
    assert not Difference.between(of_libraries({}, _a="1"), of_libraries(modules, _a="1"))
