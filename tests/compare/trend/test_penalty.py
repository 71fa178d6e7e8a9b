import json
from dataclasses import asdict

import numpy as np
import pytest

from gnnbench.compare.trend import changes, noise, penalty
from gnnbench.compare.trend.penalty import Penalties, Tail
from gnnbench.errors import UsageError
from tests.compare.trend.conftest import KNOWN
from tests.sampling import sampled


def test_a_penalty_is_exceeded_as_often_as_it_says():
    tail = Tail(10.0, 4.0)
    assert tail.penalty(0.05) == 10
    assert tail.penalty(0.05 / np.e) == pytest.approx(14)
    exponential = np.random.default_rng(0).exponential(4, 200_000) + 10 - 4 * np.log(20)
    fitted = penalty._tail(exponential)
    assert (exponential > fitted.penalty(0.001)).mean() == pytest.approx(0.001, rel=0.3)


def of(one):
    """Return a penalty's numbers."""
    return [value for tail in asdict(one).values() for value in tail.values()]


@pytest.mark.parametrize("length", sampled(KNOWN, 0))
def test_calibration_is_repeatable(length):
    assert of(penalty.calibrate(length)) == pytest.approx(of(KNOWN[length]), rel=1e-5)


def test_calibration_by_fewer_histories_is_much_the_same(monkeypatch):
    monkeypatch.setattr(penalty, "_HISTORIES", 60)
    monkeypatch.setattr(penalty, "_MORE_HISTORIES", 60 * 500)
    assert of(penalty.calibrate(60)) == pytest.approx(of(KNOWN[60]), rel=0.2)


def test_a_penalty_holds_for_other_histories(calibrated):
    found = calibrated(60)
    limit = found.level.penalty(0.01)
    random = np.random.default_rng(99)
    length = penalty.rounded(60)
    above = 0
    for _ in range(400):
        values = noise.winsorized(penalty._permuted(length, random), [slice(None)])
        above += changes.strongest(values / noise.estimate(values).unit, 2, penalty.LEVEL_SHORTEST) > limit
    assert 1 <= above <= 10
    assert found.level.penalty(0.001) > limit


def test_lengths_are_rounded_up_to_a_few():
    lengths = {penalty.rounded(length) for length in range(12, 1001)}
    assert len(lengths) < 25
    assert all(length <= penalty.rounded(length) < 1.3 * length + 1 for length in range(12, 1001))


@pytest.mark.usefixtures("quickly")
def test_a_length_is_calibrated_once_and_kept(tmp_path, monkeypatch):
    lengths = []
    calibrate = penalty.calibrate
    monkeypatch.setattr(penalty, "calibrate", lambda length: lengths.append(length) or calibrate(length))
    told = []
    first = Penalties(tmp_path)
    first.prepare([20, 20, 21], lambda done, of: told.append((done, of)))
    assert (lengths, told) == ([24], [(0, 1)])
    again = Penalties(tmp_path)
    again.prepare([20, 60], lambda *_: None)
    assert len(lengths) == 2
    assert again.get(21) == first.get(20)
    assert json.loads(first.path.read_text())["penalties"]["24"] == asdict(first.get(20))


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 0}', '{"version": 1, "penalties": {"24": {"level": 3}}}']
)
def test_a_damaged_file_is_made_anew(tmp_path, text):
    kept = Penalties(tmp_path)
    kept.path.parent.mkdir()
    kept.path.write_text(text)
    kept.prepare([20], lambda *_: None)
    assert kept.get(20).level.threshold > 0
    assert json.loads(kept.path.read_text())["version"] == penalty.FORMAT_VERSION


@pytest.mark.usefixtures("quickly")
def test_a_cache_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "trend").write_text("")
    with pytest.raises(UsageError, match="GNNBENCH_CACHE"):
        Penalties(tmp_path).prepare([20], lambda *_: None)
