import pytest

from gnnbench import codec
from gnnbench.measure.fingerprint.difference import Difference

CONV = "torch_geometric.nn.conv.gcn_conv"
SIX = tuple("m:" + name for name in "abcdef")
ONLY = {"functions": ("m:gone", "m:new", "m:f"), "base_only": ("m:gone",), "head_only": ("m:new",)}


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
        ({"work": ("inputs", "operators")}, "same functions, other data (inputs, operators)"),
    ],
)
def test_a_sentence_names_functions_or_else_what_differs(differing, sentence):
    found = Difference(**differing)
    assert found.sentence() == sentence
    assert codec.decode(codec.encode(found), Difference) == found
