from gnnbench import schema
from tests.run_files import content, entry


def test_a_departure_names_the_place():
    assert schema.departure(content(entry("b"))["gnnbench"], "run", "file") is None
    for broken, place in (
        ({}, "$: "),
        (3, "$: "),
        ({"version": 2, "environment": [], "incomplete": []}, "$.environment: "),
    ):
        assert schema.departure(broken, "run", "file").startswith(place)


def test_a_message_is_one_short_line_whatever_it_quotes():
    found = schema.departure({"version": "1\n2" * 500}, "ab")
    assert "\n" not in found
    assert len(found) < 150


def test_schemas_refer_to_each_other():
    judgement = {"verdict": "slower"}
    compared = {"version": 1, "effect": 0.03, "family_level": 0.99, "own_level": 0.95}
    sides = {"base": ["a"], "head": ["b"], "shared": None, "benchmarks": {"b": judgement}}
    assert schema.departure({**compared, **sides}, "compare").startswith("$.benchmarks.b: ")
