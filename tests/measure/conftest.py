"""What the tests of measuring share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Hide all present objects from the garbage collector, where each search takes part of a second."""
    gc.freeze()
    yield
    gc.unfreeze()
