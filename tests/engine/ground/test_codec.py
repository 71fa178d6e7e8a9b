import json
from dataclasses import dataclass

import jsonschema
import pytest

from gnnbench.engine.drive.result import Result
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.codec import Count, Fraction, Positive
from gnnbench.engine.judge.verdict import Judgement
from gnnbench.engine.store.parts import BenchmarkPart, RunPart
from tests.engine.cli import saved
from tests.run_files import suite


@dataclass(frozen=True)
class Inner:
    share: Fraction = 0.0


@dataclass(frozen=True)
class Thing:
    version: int
    seconds: Positive
    names: tuple[str, ...] = ()
    counts: dict[str, Count] | None = None
    inner: Inner | None = None


def test_what_is_written_is_read_again_and_fields_of_other_versions_are_ignored():
    thing = Thing(1, 2.5, ("a",), {"b": 3}, Inner(0.5))
    content = json.loads(json.dumps(codec.encode(thing)))
    assert codec.decode({**content, "later": 3}, Thing) == thing
    assert codec.decode({"version": 1, "seconds": 1}, Thing) == Thing(1, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seconds": "nan"}, "$.seconds: expected `float`, got `str`"),
        ({"seconds": True}, "$.seconds: expected `float`, got `bool`"),
        ({"seconds": 0}, "$.seconds: expected `float` > 1e-18"),
        ({"seconds": 10**400}, "$.seconds: number out of range"),
        ({"seconds": float("inf")}, "$.seconds: expected `float` < 1e+18"),
        ({"counts": {"b": 1.5}}, "$.counts[...]: expected `int`, got `float`"),
        ({"inner": {"share": 2}}, "$.inner.share: expected `float` <= 1.0"),
    ],
)
def test_what_departs_from_its_type_is_a_short_line_with_its_place(changes, message):
    with pytest.raises(ValueError, match=r"^\$") as caught:
        codec.decode({"version": 1, "seconds": 1.0, **changes}, Thing)
    assert str(caught.value) == message


def test_saved_files_follow_the_schemas_of_their_types():
    run, result = (json.loads(json.dumps(one)) for one in (suite(1), codec.encode(saved.result())))
    pairs = [(run["gnnbench"], (RunPart,)), (result, (Result,))]
    pairs += [(one["extra_info"]["gnnbench"], (BenchmarkPart,)) for one in run["benchmarks"]]
    pairs += [(one["judgement"], (Judgement,)) for one in result["comparison"]["rows"]]
    for content, kinds in pairs:
        validator = jsonschema.Draft202012Validator(codec.schema(*kinds))
        validator.validate(content)
        assert not validator.is_valid({**content, "version": [], "verdict": 3})
