import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.shard import Shard

SHARDS = st.integers(1, 12).map(lambda of: [Shard(number, of) for number in range(1, of + 1)])


@given(st.text(), SHARDS)
def test_a_benchmark_belongs_to_one_shard_whatever_others_there_are(name, shards):
    assert sum(shard.has(name) for shard in shards) == 1


def test_it_is_the_same_one_on_every_machine_and_all_are_about_equally_large():
    names = [f"test_a.py::b[{number}]" for number in range(1000)]
    assert [number for number in range(12) if Shard(1, 3).has(names[number])] == [1, 2, 5, 6, 10]
    for number in range(1, 5):
        assert 200 <= sum(map(Shard(number, 4).has, names)) <= 300


@given(SHARDS, st.floats(0.5, 0.999))
def test_all_of_them_together_hold_at_the_level_of_the_whole(shards, level):
    assert math.isclose(1 - sum(1 - shard.family_level(level) for shard in shards), level)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "-1/2", "1/2/3", "1 / 2", "²/2", "1/" + "9" * 5000])
def test_a_wrong_one_is_a_line(text):
    assert str(Shard.parse("2/10")) == "2/10"
    with pytest.raises(UsageError, match="must be I/N with I from 1 to N, such as 1/4"):
        Shard.parse(text)
