"""The first cases of the fuzzer; `python -m tests.fuzz --seconds 3600` runs many."""

import pytest

from tests.fuzz import cases
from tests.fuzz.kinds import KINDS

CASES = 20
"""Of each kind in `make test-all`. `make test` has the first few, of which the first runs every command."""
REFUSED = {"bisection", "compare --by"}
"""Kinds that are read by no command: each is refused."""


def first(kind):
    return 3 if kind.startswith("run") else 5  # as runs have by far the most commands


def check(kind, seeds, folder):
    for seed in seeds:
        found = list(cases.problems(kind, seed, folder / str(seed)))
        assert not found, f"python -m tests.fuzz --kind {kind!r} --seed {seed}\n" + "\n".join(found)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.nightly) if kind == "run" else kind for kind in KINDS]
)
def test_no_file_breaks_a_command(kind, tmp_path):
    ran = cases.unchanged(kind)
    assert (ran.status == 2) == (kind in REFUSED), f"unchanged, the file can be used: {ran.err}"
    check(kind, range(first(kind)), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_no_file_breaks_a_command_in_more_cases(kind, tmp_path):
    check(kind, range(first(kind), CASES), tmp_path)
