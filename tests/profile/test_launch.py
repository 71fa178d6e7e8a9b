"""What the process that profiles selects."""

import pytest

from gnnbench.profile.launch import _Telling


class Parent(list):
    """Is told what goes on, and lets it go on."""

    send = list.append

    def receive(self):
        return {"goes_on": True}


@pytest.mark.parametrize(
    ("given", "arguments", "expected"),
    [
        ({}, (), ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat"}, (), ["gat"]),
        ({"select": "gat or aggregate"}, (), ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat or aggregate"}, ("-k", "cached"), ["gat_cached"]),
        ({"select": "gat", "only": ["test_suite.py::test_any[aggregate]"]}, (), ["aggregate"]),
    ],
    ids=["all", "operation", "expression", "both expressions", "only"],
)
def test_an_operation_is_meant_before_an_expression(pytester, given, arguments, expected):
    pytester.makepyfile(
        test_suite="import pytest\n\n\n"
        "@pytest.mark.parametrize('operation', ['gat', 'gat_cached', 'aggregate'])\n"
        "def test_any(benchmark, operation):\n    benchmark(int)\n\n\n"
        "def test_plain():\n    pass\n"
    )
    terms = {"select": None, "only": [], "kinds": ["phases"], "repeats": 1, "folder": str(pytester.path)}
    parent = Parent()
    found = pytester.inline_run("--collect-only", *arguments, plugins=[_Telling(parent, {**terms, **given})])
    assert found.ret == 0
    assert parent[0] == {"collected": expected, "notes": []}
