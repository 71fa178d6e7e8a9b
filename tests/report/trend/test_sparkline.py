import numpy as np

from gnnbench.report.trend.sparkline import ASCII, BLOCKS, draw


def test_heights_follow_the_values():
    assert draw(np.arange(8.0), 8, 0.1, BLOCKS) == BLOCKS
    assert draw(np.arange(8.0), 8, 0.1, ASCII) == ASCII
    assert draw(np.arange(8.0)[::-1], 8, 0.1, BLOCKS) == BLOCKS[::-1]
    assert len(ASCII) == len(BLOCKS)
    assert ASCII.isascii()


def test_many_runs_are_a_few_characters_and_few_as_many_as_they_are():
    values = np.concatenate([np.zeros(500), np.ones(500)])
    assert draw(values, 10, 0.1, BLOCKS) == "▁" * 5 + "█" * 5
    values[3] = 50  # one odd run of a hundred
    assert draw(values, 10, 0.1, BLOCKS) == "▁" * 5 + "█" * 5
    assert len(draw(np.arange(3.0), 10, 0.1, BLOCKS)) == 3


def test_what_hardly_varies_looks_flat():
    drawn = draw(np.array([1.0, 1.001, 0.999, 1.0]), 4, 0.1, BLOCKS)
    assert len(set(drawn)) <= 2
    assert set(drawn) <= set("▄▅")
    assert len(set(draw(np.full(9, 2.0), 9, 0.1, BLOCKS))) == 1
