"""The constants and their limits."""

from dataclasses import replace

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.mhaug.settings import Settings


def test_defaults_are_the_published_ones():
    settings = Settings()
    assert (settings.edges.mean, settings.nodes.mean) == (0.6, 0.2)
    for part in settings.parts:
        assert (part.scale, part.offset, part.sigma, part.weight) == (100, 1, 0.03, 1)
    assert (settings.count_weight, settings.divergence_weight, settings.entropy_weight) == (0, 2, 0.2)
    assert (settings.hidden, settings.dropout) == (64, 0.5)
    assert (settings.learning_rate, settings.weight_decay) == (0.005, 5e-4)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("sigma", 0.0, "edges.sigma is 0.0; it must be a positive number"),
        ("sigma", float("nan"), "edges.sigma is nan"),
        ("offset", -1.0, "edges.offset is -1.0; it must be a positive number"),
        ("weight", -1.0, "edges.weight is -1.0; it must not be negative"),
    ],
)
def test_a_constant_outside_its_range_is_named(field, value, words):
    with pytest.raises(UsageError, match=words):
        Settings(edges=replace(Settings().edges, **{field: value}))


def test_dropout_of_everything_is_refused():
    with pytest.raises(UsageError, match=r"dropout is 1.0; it must be at least 0 and below 1"):
        Settings(dropout=1.0)
