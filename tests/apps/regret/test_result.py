import json
import math
import re
from dataclasses import replace

import jsonschema
import pytest

from gnnbench.apps.regret.race import Ratio
from gnnbench.apps.regret.result import Point, Regrets
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.codec import as_text
from gnnbench.engine.ground.errors import UsageError
from tests.apps.regret.results import CALL, NODES, OTHER, PLACE, SORTED, grid, line, point, regrets


def content():
    return json.loads(as_text(grid()))


def saved(folder, whole):
    path = folder / "regret.json"
    path.write_text(json.dumps(whole))
    return path


def test_what_is_saved_is_read_again_and_follows_its_schema(tmp_path):
    assert Regrets.read(saved(tmp_path, content())) == grid()
    schema = jsonschema.Draft202012Validator(codec.schema(Regrets))
    schema.validate(content())
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({**content(), "effect": 2})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("version", 2),
        ("effect", 0),
        ("points[0].place.direction", "step"),
        ("points[0].place.hidden", 0),
        ("points[0].ways[0].regret.blocks", 1),
        ("points[0].ways[0].seconds", -1),
    ],
)
def test_another_or_a_damaged_file_is_refused(place, value, tmp_path):
    inside = whole = content()
    *path, last = re.findall(r"\w+", place)
    for name in path:
        inside = inside[int(name) if name.isdecimal() else name]
    inside[last] = value
    said = "format version 2" if place == "version" else f"damaged at $.{place}"
    with pytest.raises(UsageError, match=rf"{re.escape(said)}.* gnnbench regret$"):
        Regrets.read(saved(tmp_path, whole))


def test_a_ratio_without_an_error_is_not_saved():
    assert Ratio(0.5, math.inf, 1).if_finite is None
    assert Ratio(2.0, 0.1, 5).if_finite == Ratio(2.0, 0.1, 5)


def test_regrets_are_sorted_by_what_is_known_and_hold_for_all_at_once():
    precise, vague = (
        point(call=1.5, sorted_=1.0, other=1.0),
        point(call=1.8, sorted_=1.0, other=1.0, error=0.3),
    )
    found = regrets(precise, vague).regrets(same_structure=False)
    assert [(row.point, row.way.name) for row in found[:2]] == [(precise, CALL), (vague, CALL)]
    one, two = (row.judgement for row in found[:2])
    assert (one.verdict, two.verdict) == ("slower", "undecided")
    assert one.low < one.own_low < 1.5 < one.own_high < one.high
    more = regrets(precise, *[replace(vague, place=replace(PLACE, hidden=n)) for n in range(1, 50)])
    assert next(iter(more.regrets(same_structure=False))).judgement.low < one.low


def test_a_call_that_is_the_fastest_has_regret_one_and_a_call_without_times_none():
    found = regrets(point(call=1.0, sorted_=1.5, other=1.2))
    rows = found.regrets(same_structure=False)
    assert [(row.way.name, row.fastest, row.judgement.ratio) for row in rows] == [
        (OTHER, CALL, pytest.approx(1.2)),
        (CALL, CALL, 1.0),
    ]
    assert rows[-1].judgement.low is None
    one = found.points[0]
    untimed = replace(one, ways=tuple(replace(way, regret=None) for way in one.ways))
    assert [row.way.name for row in regrets(untimed).regrets(same_structure=False)] == [CALL]
    assert regrets(Point(PLACE, NODES, 0)).regrets(same_structure=False) == []


def test_regrets_of_the_same_structure_are_those_of_other_ways():
    one = point(call=2.0, sorted_=1.0, other=1.0)
    call, *others = one.ways
    call = replace(call, takes="CSR", regret_same_structure=Ratio(1.0, 0.0, 9), fastest_same_structure=CALL)
    found = regrets(replace(one, ways=(call, *others)))
    all_ways, same = (found.regrets(same_structure=one) for one in (False, True))
    assert {row.way.name: row.fastest for row in all_ways}[CALL] == OTHER
    assert {row.way.name: row.fastest for row in same}[CALL] == CALL
    assert {row.way.name: row.judgement.ratio for row in same}[CALL] == 1.0


def test_a_crossover_is_where_the_log_ratio_is_zero():
    """The call's log ratio is -log 4 at degree 2, -log 2 at 4 and log 2 at 8."""
    found = regrets(*line(1 / 4, 1 / 2, 2)).crossovers()
    assert [(one.axis, one.below, one.above, one.point.coordinate(one.axis)) for one in found] == [
        ("degree", CALL, SORTED, 4.0)
    ]
    assert found[0].at == pytest.approx(4 * math.sqrt(2))
    assert 4 < found[0].low < found[0].at < found[0].high < 8
    skewed = regrets(*line(1 / 8, 2)).crossovers()[0]
    assert skewed.at == pytest.approx(2 * 2**0.75)
    wide = regrets(*line(1 / 2, 2, error=5.0)).crossovers()[0]
    assert (wide.low, wide.high) == (pytest.approx(2), pytest.approx(4))


def test_a_crossover_along_the_width():
    points = [
        point(call=max(regret, 1.0), sorted_=max(1 / regret, 1.0), other=9.0, others={"hidden": hidden})
        for hidden, regret in ((64, 1 / 2), (8, 2), (16, 2))
    ]
    found = regrets(*points).crossovers()
    assert [(one.axis, one.below, one.above, one.point.coordinate(one.axis)) for one in found] == [
        ("hidden", SORTED, CALL, 16.0)
    ]
    assert found[0].at == pytest.approx(32)


def test_where_it_is_not_known_or_makes_no_difference_there_is_no_crossover():
    one, two = line(1 / 2, 2)
    assert len(regrets(two, one).crossovers()) == 1, "the order in the file does not matter"
    none = [
        (replace(one, is_decided=False), two),
        (one, replace(two, is_decided=False)),
        (replace(one, equally_fast=(SORTED,)), two),
        (one, replace(two, equally_fast=(CALL,))),
        (one, replace(two, place=replace(two.place, threads=2))),
        (one, replace(two, place=replace(two.place, hidden=16))),
        (one, replace(two, nodes=2 * NODES, entries=2 * two.entries)),
        (one, replace(two, fastest=None)),
        (one, replace(two, ways=tuple(replace(way, in_race=None) for way in two.ways))),
        (replace(one, entries=0), two),
        (replace(one, nodes=0), two),
    ]
    for pair in none:
        assert regrets(*pair).crossovers() == []


def test_a_crossover_of_ratios_that_are_one_is_between_its_points():
    points = [
        replace(one, ways=tuple(replace(way, in_race=Ratio(1.0, 0.0, 9)) for way in one.ways))
        for one in line(0.5, 2)
    ]
    (found,) = regrets(*points).crossovers()
    assert 2 <= found.low <= found.at <= found.high <= 4
