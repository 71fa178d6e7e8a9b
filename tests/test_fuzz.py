"""The first cases of the fuzzer; `GNNBENCH_FUZZ=1000 pytest -m nightly tests/test_fuzz.py` runs many."""

import os

import pytest

from tests.fuzz import cases
from tests.fuzz.kinds import KINDS

CASES = int(os.environ.get("GNNBENCH_FUZZ", "20"))
"""Of each kind in `make test-all`. `make test` has the first few, of which the first runs every command."""


def first(kind):
    return 3 if kind.startswith("run") else 5  # as runs have by far the most commands


def check(kind, seeds, folder):
    for seed in seeds:
        found = list(cases.problems(kind, seed, folder / str(seed)))
        assert not found, f"{kind} {seed}: files in {folder / str(seed)}\n" + "\n".join(found)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.nightly) if kind == "run" else kind for kind in KINDS]
)
def test_no_file_breaks_a_command(kind, tmp_path):
    ran = cases.unchanged(kind)
    assert ran.status != 2, f"unchanged, the file can be used: {ran.err}"
    check(kind, range(first(kind)), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_no_file_breaks_a_command_in_more_cases(kind, tmp_path):
    check(kind, range(first(kind), CASES), tmp_path)
