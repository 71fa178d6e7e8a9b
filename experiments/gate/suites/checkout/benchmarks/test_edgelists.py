"""Both functions of the library, of which one becomes slower."""

import random

import edgelists
import pytest

NODES, EDGES = 1_000, 20_000


@pytest.fixture(scope="module")
def edges():
    numbers = random.Random(0)  # noqa: S311
    return [(numbers.randrange(NODES), numbers.randrange(NODES)) for _ in range(EDGES)]


def test_degrees(benchmark, edges):
    benchmark(edgelists.degrees, edges, NODES)


def test_without_self_loops(benchmark, edges):
    benchmark(edgelists.without_self_loops, edges)
