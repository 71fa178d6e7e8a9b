"""Of 200 mutations of what a benchmark runs none goes unseen; 100 that change nothing are not seen."""

import json
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from gnnbench.measure.fingerprint.difference import Difference
from gnnbench.measure.fingerprint.fingerprint import Fingerprint
from tests import forks
from tests.measure.fingerprint import generated_package
from tests.measure.fingerprint.mutations import HARMLESS, MATTER, Mutant, mutant
from tests.suite import ROOT, environment

CHUNK = 10
FILES = generated_package.sources(0)


def fingerprint(one: Mutant, folder: Path) -> Fingerprint:
    generated_package.write(one.files, folder, one.own, one.linked)
    ended = forks.run(
        [str(ROOT / "tests/measure/fingerprint/taken.py"), str(folder), *one.statements],
        folder,
        environment(**forks.ASLEEP, **one.environment),
        also=("tests.measure.fingerprint.taken",),
        hash_seed=one.hash_seed,
    )
    assert ended.returncode == 0, f"{one.what}: {ended.stderr}"
    found = json.loads(ended.stdout)
    assert found["unseen"] is None, f"{one.what}: {found['unseen']}"
    return Fingerprint.from_json(found["fingerprint"])


@cache
def unchanged() -> Fingerprint:
    return fingerprint(Mutant(FILES), Path(tempfile.mkdtemp()))


@pytest.mark.parametrize("first", range(0, 200, CHUNK))
def test_no_mutation_that_matters_is_missed(first, tmp_path):
    missed = []
    for number in range(first, first + CHUNK):
        kind, one = mutant(FILES, MATTER, number)
        if fingerprint(one, tmp_path / f"checkout{number}").same_code(unchanged()):
            missed.append(f"{number}, {kind}: {one.what}")
    assert missed == []


@pytest.mark.parametrize("first", range(0, 100, CHUNK))
def test_no_mutation_that_cannot_matter_is_seen(first, tmp_path):
    seen = []
    for number in range(first, first + CHUNK):
        kind, one = mutant(FILES, HARMLESS, number)
        found = fingerprint(one, tmp_path / "deeper" / f"checkout{number}")
        if not found.same_code(unchanged()):
            seen.append(f"{number}, {kind}: {Difference.between(unchanged(), found).as_json()}")
    assert seen == []


def test_each_kind_of_mutation_occurs_often():
    for kinds, number in ((MATTER, 200), (HARMLESS, 100)):
        drawn = Counter(list(kinds)[one % len(kinds)] for one in range(number))
        assert set(drawn) == set(kinds)
        assert min(drawn.values()) >= 5
