"""Of 200 mutations of what a benchmark runs none goes unseen; 100 that change nothing are not seen."""

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from gnnbench import codec
from gnnbench.measure.fingerprint.difference import Difference
from gnnbench.measure.fingerprint.fingerprint import Fingerprint
from tests import forks
from tests.measure.fingerprint import generated_package
from tests.measure.fingerprint.mutations import HARMLESS, MATTER, MATTER_TO_A_PROCESS, Mutant
from tests.measure.fingerprint.taken import inspected
from tests.sampling import sampled
from tests.suite import ROOT, environment


def in_chunks(kinds, size):
    """Return mutants of each kind, few at a time; all but a few are for the night."""
    return [
        chunk
        for kind, mutants in kinds.items()
        for chunk in sampled(
            [pytest.param(mutants[at : at + size], id=f"{kind} {at}") for at in range(0, len(mutants), size)],
            1,
            seed=len(kind),
        )
    ]


def here(one: Mutant, folder: Path) -> Fingerprint:
    generated_package.write(one.files, folder, one.own, one.linked)
    found = inspected(str(folder))
    assert found.unseen is None
    return found.fingerprint


def words(one: Mutant, folder: Path) -> list[str]:
    """Write the package, and return what takes its fingerprint in a process of its own."""
    generated_package.write(one.files, folder, one.own, one.linked)
    return [str(ROOT / "tests/measure/fingerprint/taken.py"), str(folder), *one.statements]


def read(printed: str) -> Fingerprint:
    found = json.loads(printed)
    assert found["unseen"] is None
    return codec.decode(found["fingerprint"], Fingerprint)


def in_a_fork(one: Mutant, folder: Path) -> Fingerprint:
    variables = environment(**forks.ASLEEP, **one.environment)
    ended = forks.run(words(one, folder), folder.parent, variables, libraries=True)
    assert ended.returncode == 0, ended.stderr
    return read(ended.stdout)


@cache
def unchanged() -> Fingerprint:
    return in_a_fork(Mutant(), Path(tempfile.mkdtemp(), "checkout"))


@pytest.mark.parametrize("mutants", in_chunks(MATTER, 2))
def test_no_mutation_that_matters_is_missed(mutants, tmp_path):
    base = here(Mutant(), tmp_path / "checkout")
    found = {one.what: here(one, tmp_path / f"checkout{at}") for at, one in enumerate(mutants)}
    assert [what for what, other in found.items() if other.same_code(base)] == []


@pytest.mark.parametrize("mutants", in_chunks(MATTER_TO_A_PROCESS, 1))
def test_no_mutation_that_matters_to_a_process_is_missed(mutants, tmp_path):
    found = {one.what: in_a_fork(one, tmp_path / f"checkout{at}") for at, one in enumerate(mutants)}
    assert [what for what, other in found.items() if other.same_code(unchanged())] == []


@pytest.mark.parametrize("mutants", in_chunks(HARMLESS, 2))
def test_no_mutation_that_cannot_matter_is_seen(mutants, tmp_path):
    base = here(Mutant(), tmp_path / "checkout")
    for at, one in enumerate(mutants):
        found = here(one, tmp_path / "deeper" / f"checkout{at}")
        assert found.same_code(base), (one.what, Difference.between(base, found))


def test_neither_the_path_nor_the_hash_seed_matters(tmp_path):
    """In a fork of a process with a hash seed of its own, which has imported PyG and has other settings."""
    pytest.importorskip("torch_geometric.nn")
    assert here(Mutant(), tmp_path / "deeper" / "checkout").code == unchanged().code


@pytest.mark.nightly
def test_neither_the_path_nor_the_hash_seed_of_a_fresh_interpreter_matters(tmp_path):
    found = []
    for seed, folder in (("1", tmp_path / "checkout"), ("2", tmp_path / "deeper" / "checkout")):
        _, *others = words(Mutant(), folder)
        command = [sys.executable, "-m", "tests.measure.fingerprint.taken", *others]
        variables = environment(**forks.ASLEEP, PYTHONHASHSEED=seed)
        found.append(read(subprocess.check_output(command, env=variables, cwd=ROOT, text=True)))
    assert found[0].same_code(found[1])
