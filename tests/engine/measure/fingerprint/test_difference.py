import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.fingerprint.difference import Difference

CONV = "torch_geometric.nn.conv.gcn_conv"
SIX = tuple("m:" + name for name in "abcdef")
ONLY = {"functions": ("m:gone", "m:new", "m:f"), "base_only": ("m:gone",), "head_only": ("m:new",)}


@pytest.mark.parametrize(
    ("differing", "sentence"),
    [
        ({"functions": (f"{CONV}:gcn_norm", f"{CONV}:GCNConv.forward")}, "GCNConv.forward, gcn_norm"),
        ({"functions": SIX, "settings": ("threads",)}, "f, e, d and 3 more"),
        ({"functions": ("m:call", "n:call")}, "n:call, m:call"),
        ({"values": ("m.SCALE",), "libraries": ("libm.so.6",)}, "same functions, different values (m.SCALE)"),
        ({"settings": ("$OMP_X", "threads")}, "same functions, different settings ($OMP_X, threads)"),
        ({"functions": ("m:f", "m:f.<locals>.inner", "m:g.<locals>.inner")}, "g.<locals>.inner, f"),
        (ONLY, "f, new (run only by head), gone (run only by base)"),
        ({"work": ("inputs", "operators")}, "same functions, different data (inputs, operators)"),
    ],
)
def test_a_sentence_names_functions_or_else_what_differs(differing, sentence):
    found = Difference(**differing)
    assert found.sentence() == sentence
    assert codec.decode(codec.encode(found), Difference) == found
