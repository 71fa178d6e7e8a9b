"""Results of both sides, of kernels that cheat and of honest changes, in real processes."""

import shutil
from pathlib import Path

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.trial import Trial
from tests.engine.process.workers import clean, prepared, sides_of, workers, write

DATA = Path(__file__).parents[2] / "data/cheats"
INSPECTED = {"results": True, "time_all": False, "why_apart": ""}
INI = "[pytest]\naddopts = -p pytest_benchmark.plugin\nmarkers =\n    whole_call\n    fixed_inputs\n"
EXPECTED = {
    "lazy": ("differ", "output is a _Later in the head"),
    "half_precision": ("differ", "relative error 6."),
    "right_for_these_values": ("differ", "output is right only for the benchmark's own inputs"),
    "in_place": ("differ", "the head changes argument 1, but the base does not"),
    "draws": ("not compared", "two calls of the base with equal inputs differ"),
    "unseeded": ("not compared", "the inputs differ: argument 1 has different values"),
    "returns_nothing": ("not compared", "the call returns nothing and changes no argument"),
    "one_round": ("not compared", "benchmark.pedantic asks for one round"),
    "whole_call": ("not compared", "each call is timed as a whole (it may start threads)"),
    "set_up": ("close", ""),
    "fixed_inputs": ("equal", ""),
    "kept_by_content": ("equal", ""),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cheats")
    shutil.copy(DATA / "suite.py", folder / "test_kernels.py")
    (folder / "pytest.ini").write_text(INI)
    with pytest.MonkeyPatch.context() as patch:
        clean(patch)
        sides = (prepared(side, DATA / side) for side in ("base", "head"))
        with workers(folder, *sides, arguments=["test_kernels.py"], **INSPECTED) as pair:
            found = {
                name.partition("::test_")[2]: pair.inspect(Trial(name)).results for name in pair.suite.names
            }
    assert not [one for one in (folder / "logs").iterdir() if one.is_dir()], "what was exchanged is left"
    return found


LARGE = """
import resource

import numpy as np
import thing

def test_large(benchmark):
    x = np.ones(50_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, resource.RLIM_INFINITY))
    benchmark(thing.scaled, x)
"""


CHECKED = """
import numpy as np
import thing

def test_checked(benchmark):
    benchmark.reference_error = thing.error
    benchmark(thing.scaled, np.linspace(1, 2, 50))
"""


def inspected(folder, monkeypatch, text, *codes):
    clean(monkeypatch)
    write(folder, text)
    sides = sides_of(folder, *(f"def scaled(x):\n    return x * {code}\n" for code in codes))
    with workers(folder, *sides, **INSPECTED) as pair:
        (name,) = pair.suite.names
        return pair.inspect(Trial(name)).results


def test_results_that_do_not_fit_into_the_temporary_folder_accuse_nobody(tmp_path, monkeypatch):
    said = rf"^the temporary folder {tmp_path} cannot be written \(.+\); set TMPDIR to another$"
    with pytest.raises(UsageError, match=said):
        inspected(tmp_path, monkeypatch, LARGE, "1.0", "1.0000001")


@pytest.mark.parametrize(("base", "head", "side"), [(0.0, 0.1, "less"), (0.3, 0.1, "more")])
def test_errors_from_a_reference_tell_which_side_is_less_precise(tmp_path, monkeypatch, base, head, side):
    codes = (f"{number}\n\nerror = {error}" for number, error in (("1.0", base), ("1.0000001", head)))
    found = inspected(tmp_path, monkeypatch, CHECKED, *codes)
    assert found.reason.startswith(f"{side} precise, relative error 1.0e-07: output[")


def test_kernels_that_cheat_are_named_and_honest_changes_are_not(found):
    """What is kept by its content is right, and fast only when it is repeated."""
    assert found.keys() == EXPECTED.keys()
    for kernel, (status, reason) in EXPECTED.items():
        one = found[kernel]
        assert one.status == status, one
        assert reason in one.reason, one
        assert one.only_repeated == (kernel == "kept_by_content"), one
        assert one.fails == (status == "differ" or one.only_repeated), one
