"""The first cases of the fuzzer; `python -m tests.fuzz --seconds 3600` runs many."""

import pytest

from tests.fuzz import cases
from tests.fuzz.kinds import KINDS

CASES = 20
REFUSED = {"bisection", "compare --by", "trend"}
"""Kinds that are read by no command: each is refused."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_breaks_a_command(kind, tmp_path):
    ran = cases.unchanged(kind)
    assert (ran.status == 2) == (kind in REFUSED), f"unchanged, the file can be used: {ran.err}"
    for seed in range(CASES):
        found = list(cases.problems(kind, seed, tmp_path / str(seed)))
        assert not found, f"python -m tests.fuzz --kind {kind!r} --seed {seed}\n" + "\n".join(found)
