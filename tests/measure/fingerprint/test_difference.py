import pytest

from gnnbench.measure.fingerprint.difference import Difference

CONV = "torch_geometric.nn.conv.gcn_conv"


@pytest.mark.parametrize(
    ("differing", "sentence"),
    [
        ({"functions": (f"{CONV}:gcn_norm", f"{CONV}:GCNConv.forward")}, "gcn_norm, GCNConv.forward"),
        (
            {"functions": tuple("m:" + name for name in "abcdef"), "settings": ("threads",)},
            "a, b, c and 3 more",
        ),
        ({"functions": ("m:call", "n:call")}, "m:call, n:call"),
        ({"values": ("m.SCALE",), "libraries": ("libm.so.6",)}, "same functions, other values (m.SCALE)"),
        ({"libraries": ("libm.so.6",)}, "same functions, other libraries (libm.so.6)"),
        (
            {"settings": ("$OMP_NUM_THREADS", "threads")},
            "same functions, other settings ($OMP_NUM_THREADS, threads)",
        ),
        ({"work": ("inputs", "operators")}, "same functions, other data (inputs, operators)"),
    ],
)
def test_a_sentence_names_functions_or_else_what_differs(differing, sentence):
    assert Difference(**differing).sentence() == sentence


def test_a_difference_is_saved_as_a_whole():
    found = Difference(functions=("m:f",), values=("m.A",), settings=("threads",))
    assert Difference.from_json(found.as_json()) == found
