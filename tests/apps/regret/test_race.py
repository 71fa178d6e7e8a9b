import math

import numpy as np
import pytest

from gnnbench.apps.regret.race import ANALYSES, LEVEL, Race, ratio_of

RACES = 100
SIGMA = 0.03


def block(random, logs, ways):
    """Times of a block: what slows all of it, and the noise of each way."""
    shared = random.normal(0, 0.3)
    return {way: logs[way] + shared + random.normal(0, SIGMA) for way in ways}


def run(seed, logs, effect=0.03, groups=None, most=ANALYSES[-1]):
    """Run a race of ways with these true log times; return it and what each block timed."""
    random, timed = np.random.default_rng(seed), []
    race = Race(len(logs), effect, groups or (range(len(logs)),))
    while (wanted := race.next_ways) and race.block_count < most:
        timed.append(wanted)
        race.add(block(random, logs, wanted))
    return race, timed


@pytest.mark.parametrize("ways", [2, 6])
def test_equal_ways_stay_in_and_are_found_to_be_equally_fast(ways):
    races = [run(seed, [0.0] * ways, effect=0.05)[0] for seed in range(RACES)]
    for way in range(ways):
        assert sum(way in race.remaining(0) for race in races) >= LEVEL * RACES
    assert all(race.fastest(0) in race.remaining(0) for race in races)
    decided = [race for race in races if race.is_decided(0)]
    assert len(decided) >= 0.9 * RACES
    assert all(len(race.equally_fast(0)) == len(race.remaining(0)) - 1 for race in decided)


def test_no_fastest_way_is_left_out_and_ways_that_differ_by_more_than_the_effect_are_never_equal():
    slower = math.log(1.06)
    races = [run(seed, [slower, 0.0, slower, slower], effect=0.02)[0] for seed in range(RACES)]
    assert sum(1 in race.remaining(0) for race in races) >= LEVEL * RACES
    decided = [race for race in races if race.is_decided(0)]
    assert len(decided) >= 0.9 * RACES
    assert sum((race.fastest(0), race.equally_fast(0)) == (1, []) for race in decided) >= LEVEL * len(decided)


def test_a_clearly_faster_way_is_found_soon_and_slow_ones_get_no_more_time():
    logs = [math.log(seconds) for seconds in (1.5, 1.3, 1.0, 2.0)]
    for seed in range(RACES):
        race, timed = run(seed, logs)
        assert race.fastest(0) == 2
        assert race.is_decided(0)
        assert race.equally_fast(0) == []
        assert race.block_count <= ANALYSES[3]
        assert [len(ways) for ways in timed] == sorted((len(ways) for ways in timed), reverse=True)
        assert len(race.log_seconds(3)) in ANALYSES


def test_each_group_has_its_fastest_way():
    groups = ((0, 1, 2, 3), (1, 2), (3,))
    for seed in range(20):
        race, timed = run(seed, [0.0, 0.4, 0.46, 1.0], effect=0.01, groups=groups)
        assert [race.fastest(group) for group in range(3)] == [0, 1, 3]
        assert race.remaining(2) == [3]
        assert timed[0] == [0, 1, 2, 3]
        assert timed[-1] == [1, 2]


def test_a_group_with_an_answer_gets_no_more_blocks():
    random, race, timed = np.random.default_rng(0), Race(4, 0.05, ((0, 3), (1, 2))), []
    while (wanted := race.next_ways) and race.block_count < ANALYSES[3]:
        timed.append(wanted)
        race.add({way: random.normal(0, 0.001 if way in (0, 3) else 0.5) for way in wanted})
    assert timed == [[0, 1, 2, 3]] * ANALYSES[0] + [[1, 2]] * (ANALYSES[3] - ANALYSES[0])
    assert race.is_decided(0)
    assert not race.is_decided(1)


def test_far_slower_ways_are_not_in_the_race_of_their_group():
    race = Race(5, 0.03, (range(5), (1, 2), (3, 4)))
    race.exclude_slow([1.0, 3.9, 4.1, 5.0, 100.0], 4.0)
    assert [race.remaining(group) for group in range(3)] == [[0, 1], [1, 2], [3]]
    assert race.next_ways == [0, 1, 2]
    assert race.fastest(2) == 3
    assert race.is_decided(2)


def test_a_race_stops_where_nothing_is_found():
    race, _ = run(0, [0.0, 0.0], effect=1e-6)
    assert race.block_count == ANALYSES[-1]
    assert not race.is_decided(0)
    assert race.next_ways == [0, 1]


def test_a_ratio_needs_two_blocks_and_has_the_error_between_processes():
    assert math.isnan(ratio_of([]).log)
    one, two = ratio_of([0.5]), ratio_of([0.4, 0.6], 0.01)
    assert (one.log, one.error, one.half_width(0.95)) == (0.5, math.inf, math.inf)
    assert two.log == pytest.approx(0.5)
    assert two.error == pytest.approx(math.hypot(0.1, 0.01))
    assert two.half_width(0.95) == pytest.approx(12.706 * two.error, rel=1e-4)  # Student's t, one degree
    assert two.half_width(0.95, 2) > two.half_width(0.95)
