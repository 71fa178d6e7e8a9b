import pytest

from gnnbench.engine.store import benchmark
from gnnbench.engine.store.base import matches
from tests.run_files import entry, fingerprint


def row(name, code=None, definition=None, n=None):
    changes = {
        **({"fingerprint": fingerprint(work=code)} if code else {}),
        **({"definition_hash": str(definition) * 16} if definition else {}),
    }
    params = {} if n is None else {"params": {"n": n}, "param": str(n)}
    return benchmark.read({**entry(name, **changes), **params})


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([("old", 1)], [("new", 1)], {"new": "old"}),
        ([("old", 1, 3)], [("new", 1, 4)], {"new": "old"}),
        ([("old", 1, 3)], [("new", 2, 3)], {"new": "old"}),
        ([("old", None, 3)], [("new", 2, 3)], {"new": "old"}),
        ([("old", 1, 3)], [("new", 2, 4)], {}),
        ([("old",)], [("new",)], {}),
        ([("t[1]", 1, 3, 1), ("t[2]", 2, 3, 2)], [("t[b]", 4, 3, 2), ("t[c]", 5, 3, 3)], {"t[b]": "t[2]"}),
        ([("a", 1, 3), ("b", 1, 4)], [("c", 1, 4), ("d", 1, 3)], {"c": "b", "d": "a"}),
        ([("one_a", 1), ("two_a", 1)], [("two_b", 1), ("one_b", 1)], {"two_b": "two_a", "one_b": "one_a"}),
        ([("old", 1)], [("new", 1), ("newer", 1)], {"new": "old"}),
    ],
    ids=[
        "code",
        "code, changed test",
        "definition",
        "no fingerprint",
        "neither",
        "unknown",
        "other parameters",
        "both before one",
        "nearest name",
        "copied",
    ],
)
def test_what_has_another_name_is_known_by_its_code_or_by_definition_and_parameters(base, head, expected):
    sides = [{one[0]: row(*one) for one in side} for side in (base, head)]
    assert matches(*sides) == expected
