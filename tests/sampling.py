"""A sample of many cases in `make test`, and all of them in `make test-all`."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def sampled(cases: Iterable[Any], count: int, seed: int = 0) -> list[ParameterSet]:
    """Return all cases, in order, of which all but a seeded sample of so many have the marker `nightly`."""
    given = [case if isinstance(case, ParameterSet) else pytest.param(case) for case in cases]
    kept = set(Random(seed).sample(range(len(given)), min(count, len(given))))
    return [case if index in kept else nightly(case) for index, case in enumerate(given)]


def nightly(case: ParameterSet) -> ParameterSet:
    return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.nightly))
