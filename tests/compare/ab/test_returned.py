"""Results of both sides, of kernels that cheat and of honest changes, in real processes."""

import shutil
from pathlib import Path

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.trial import Trial
from tests.compare.ab.workers import clean, prepared, workers, write

DATA = Path(__file__).parents[2] / "data/cheats"
INSPECTED = {"results": True, "time_all": False, "why_apart": ""}
INI = "[pytest]\naddopts = -p pytest_benchmark.plugin\nmarkers =\n    whole_call\n    fixed_inputs\n"
EARLIER = "for new inputs, output is the result of an earlier call with others"
ONE = "output is right only for the values that the benchmark uses"
DIFFER = {
    "kept_by_address": EARLIER,
    "replayed": EARLIER,
    "lazy": "output is a _Later in the head",
    "half_precision": "differs by 2^14 units in the last place: output[",
    "part_skipped": "of its numbers differ",
    "right_for_these_values": ONE,
    "in_place": "the head changes argument 1, and the base does not",
}
NOT_COMPARED = {
    "draws": "the base does not repeat itself",
    "unseeded": "the inputs differ: argument 1 has other values",
    "returns_nothing": "it returns nothing, and changes nothing that it gets",
    "one_round": "benchmark.pedantic asks for one round",
    "whole_call": "its calls are timed whole: it may start threads",
}
AGREE = {"other_order", "fused", "edges", "set_up", "fixed_inputs", "kept_by_content"}


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
    sides = []
    for side, code in zip(("base", "head"), codes, strict=True):
        (folder / side).mkdir()
        (folder / side / "thing.py").write_text(f"def scaled(x):\n    return x * {code}\n")
        sides.append(prepared(side, folder / side))
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
    assert found.reason.startswith(f"{side} precise by 2^29: output[")


def test_all_kernels_are_compared(found):
    assert found.keys() == {*DIFFER, *NOT_COMPARED, *AGREE}


@pytest.mark.parametrize(("kernel", "reason"), DIFFER.items())
def test_a_kernel_that_cheats_is_named(found, kernel, reason):
    assert found[kernel].status == "differ"
    assert reason in found[kernel].reason
    assert found[kernel].fails


def test_a_result_that_is_kept_by_content_is_right_and_fast_only_when_repeated(found):
    kept = found.pop("kept_by_content")
    assert (kept.status, kept.only_repeated, kept.fails) == ("equal", True, True)
    assert not any(one.only_repeated for one in found.values())


@pytest.mark.parametrize(("kernel", "reason"), NOT_COMPARED.items())
def test_what_is_not_compared_says_why(found, kernel, reason):
    assert (found[kernel].status, found[kernel].fails) == ("not compared", False)
    assert reason in found[kernel].reason


@pytest.mark.parametrize("kernel", sorted(AGREE - {"kept_by_content"}))
def test_an_honest_change_is_equal_or_close(found, kernel):
    assert found[kernel].status in ("equal", "close"), found[kernel]
    assert (found[kernel].error or 0) < 32
