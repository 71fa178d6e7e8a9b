from dataclasses import asdict

import pytest

from gnnbench import environment
from gnnbench.compare.calibration import SIZES, Calibration, CalibrationRun, CalibrationStore, Rate
from gnnbench.errors import UsageError

SETTINGS = {
    "folder": "/here",
    "arguments": ["test_suite.py"],
    "budget_seconds": 10.0,
    "total_budget_seconds": None,
    "effect": 0.03,
}
HERE = asdict(environment.collect())


def ran(planted, **verdicts):
    return CalibrationRun(planted, 1, 2.5, verdicts)


@pytest.fixture
def store(tmp_path):
    return CalibrationStore(tmp_path, HERE)


def test_false_positives_are_those_on_identical_code_with_an_interval():
    runs = (
        ran(0.0, a="same", b="undecided"),
        ran(0.0, a="slower", b="faster"),
        ran(0.0, a="incomparable", b="same"),
        ran(0.0, a="incomparable"),
        ran(0.05, a="slower"),
    )
    found = Calibration(SETTINGS, runs)
    assert found.false_positives() == (Rate(2, 5), Rate(1, 3))
    assert found.names == ["a", "b"]
    assert Rate(0, 160).interval() == pytest.approx((0, 1 - 0.025 ** (1 / 160)))
    assert Rate(10, 10).interval() == pytest.approx((0.025 ** (1 / 10), 1))


def test_the_smallest_slowdown_is_found_and_so_is_each_larger_one():
    runs = (
        *[ran(0.03, a="slower", b="slower", c="slower", d="undecided")] * 10,
        *[ran(0.05, a="slower", b="slower", c="slower", d="same")] * 9,
        ran(0.05, a="slower", b="faster", c="slower", d="incomparable"),
        *[ran(0.08, a="slower", b="slower", c="slower", d="slower")] * 20,
        *[ran(0.12, a="slower", b="slower", c="slower")] * 19,
        ran(0.12, a="slower", b="slower", c="undecided", d="undecided"),
    )
    found = Calibration(SETTINGS, runs)
    assert list(map(found.smallest, "abcde")) == [0.03, 0.08, 0.03, None, None]
    assert found.found("b")[0.05] == Rate(9, 10)
    assert found.found("d")[0.05] == Rate(0, 9), "but for the run in which it was not judged"
    assert found.found("d")[0.12] == Rate(0, 1), "and for runs that do not have it"


def test_all_sizes_advance_together_and_what_is_done_is_left_out():
    order = Calibration(SETTINGS).left(4, 2)
    assert sorted(order) == sorted([0.0] * 4 + list(SIZES) * 2)
    assert sorted(order[: len(order) // 2]) == sorted([0.0] * 2 + list(SIZES))
    order = Calibration(SETTINGS).left(3, 2)
    assert Calibration(SETTINGS, tuple(map(ran, order[:5]))).left(3, 2) == order[5:]
    done = Calibration(SETTINGS, tuple(map(ran, order)))
    assert (done.left(3, 2), done.left(1, 1), done.left(4, 0)) == ([], [], [0.0])


def test_each_environment_has_a_file_with_a_calibration_for_each_settings(store):
    first = Calibration(SETTINGS, (ran(0.0, a="same"),))
    others = [Calibration({**SETTINGS, "effect": 0.05}, (ran(0.05, a="slower"),)), Calibration(SETTINGS)]
    for one in (first, others[0], first):
        store.save(one)
    assert [store.get(one.settings) for one in (first, others[0])] == [first, others[0]]
    assert store.get({**SETTINGS, "budget_seconds": 20.0}).runs == ()
    assert not CalibrationStore(store.cache, {**HERE, "cpu": "another"}).read()
    assert len(CalibrationStore(store.cache, {**HERE, "commit": "another"}).read()) == 2


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("}", "", "not JSON, or cut off"),
        ('"version": 1', '"version": 2', "version 2 of the format"),
        ('"slower"', '"slow"', "damaged at $.calibrations"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_a_line_and_left_alone(store, old, new, text):
    known = Calibration(SETTINGS, (ran(0.05, a="slower"),))
    store.save(known)
    damaged = store.path.read_text().replace(old, new)
    store.path.write_text(damaged)
    for use in (lambda: store.get(SETTINGS), lambda: store.save(known)):
        with pytest.raises(UsageError) as error:
            use()
        assert text in str(error.value)
        assert str(error.value).startswith(f"{store.path}: ")
        assert str(error.value).endswith("remove it, and run gnnbench calibrate again")
        assert store.path.read_text() == damaged
