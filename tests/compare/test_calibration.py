import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from gnnbench import environment, schema
from gnnbench.cli import main
from gnnbench.compare.calibration import (
    SIZES,
    Calibration,
    CalibrationRun,
    CalibrationSettings,
    CalibrationStore,
    Rate,
)
from gnnbench.errors import UsageError
from gnnbench.report.calibration import notes
from tests.run_files import ENVIRONMENT, plain, save, suite

SETTINGS = CalibrationSettings("/here", ("test_suite.py",), 10.0, None, 0.03)
HERE = asdict(environment.collect())


def ran(planted, **verdicts):
    return CalibrationRun(
        planted, 1, 2.5, {f"test_suite.py::{name}": verdict for name, verdict in verdicts.items()}
    )


def times(number, run):
    return (run,) * number


@pytest.fixture
def store(tmp_path):
    return CalibrationStore(tmp_path, HERE)


def test_an_interval_of_a_rate():
    low, high = Rate(0, 160).interval()
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 160))
    assert Rate(0, 0).interval() == (0, 1)
    low, high = Rate(10, 10).interval()
    assert low == pytest.approx(0.025 ** (1 / 10))
    assert high == 1
    assert str(Rate(1, 3)) == "1 of 3"


def test_alarms_are_those_on_identical_code():
    runs = (
        ran(0.0, a="same", b="undecided"),
        ran(0.0, a="slower", b="faster"),
        ran(0.0, a="incomparable", b="same"),
        ran(0.0, a="incomparable"),
        ran(0.05, a="slower"),
    )
    found = Calibration(SETTINGS, runs)
    assert found.false_positives() == Rate(2, 5)
    assert found.false_positive_runs() == Rate(1, 3)
    assert found.names == ["test_suite.py::a", "test_suite.py::b"]


def test_the_smallest_slowdown_is_found_and_so_is_each_larger_one():
    runs = (
        *times(10, ran(0.03, a="slower", b="slower", c="slower", d="undecided")),
        *times(9, ran(0.05, a="slower", b="slower", c="slower", d="same")),
        ran(0.05, a="slower", b="faster", c="slower", d="incomparable"),
        *times(20, ran(0.08, a="slower", b="slower", c="slower", d="slower")),
        *times(19, ran(0.12, a="slower", b="slower", c="slower")),
        ran(0.12, a="slower", b="slower", c="undecided", d="undecided"),
    )
    found = Calibration(SETTINGS, runs)
    smallest = [found.smallest(f"test_suite.py::{name}") for name in "abcde"]
    assert smallest == [0.03, 0.08, 0.03, None, None]
    assert found.found("test_suite.py::b")[0.05] == Rate(9, 10)
    assert found.found("test_suite.py::d")[0.05] == Rate(0, 9), "but for the run in which it was not judged"
    assert found.found("test_suite.py::d")[0.12] == Rate(0, 1), "and for runs that do not have it"
    assert not found.found("test_suite.py::e")


def test_all_sizes_advance_together_and_what_is_done_is_not_left():
    order = Calibration(SETTINGS).left(4, 2)
    assert sorted(order) == sorted([0.0] * 4 + list(SIZES) * 2)
    half = order[: len(order) // 2]
    assert sorted(half) == sorted([0.0] * 2 + list(SIZES))
    order = Calibration(SETTINGS).left(3, 2)
    done = Calibration(SETTINGS, tuple(ran(size) for size in order[:5]))
    assert done.left(3, 2) == order[5:]
    done = Calibration(SETTINGS, tuple(map(ran, order)))
    assert (done.left(3, 2), done.left(1, 1), done.left(4, 0)) == ([], [], [0.0])


CHANGES = {
    "folder": "/there",
    "arguments": (),
    "budget_seconds": 20.0,
    "total_budget_seconds": 60.0,
    "effect": 0.05,
}
OTHERS = [replace(SETTINGS, **{name: value}) for name, value in CHANGES.items()]


def test_other_settings_do_not_mix(store):
    store.add(SETTINGS, ran(0.0, a="same"))
    for other in OTHERS:
        assert not store.get(other).runs
        store.add(other, ran(0.05, a="slower"))
    assert store.add(SETTINGS, ran(0.02, a="same")).runs == (ran(0.0, a="same"), ran(0.02, a="same"))
    assert store.get(SETTINGS) == Calibration(SETTINGS, (ran(0.0, a="same"), ran(0.02, a="same")))
    assert not store.clear(SETTINGS).runs
    assert not store.get(SETTINGS).runs
    assert all(len(store.get(other).runs) == 1 for other in OTHERS)


def test_an_environment_has_a_file_of_its_own_as_the_schema_says(store, tmp_path):
    store.add(SETTINGS, ran(0.0, a="same"))
    assert store.path == tmp_path / "calibration" / f"{environment.name_with_versions(HERE)}.json"
    assert not CalibrationStore(tmp_path, {**HERE, "cpu": "another"}).get(SETTINGS).runs
    assert CalibrationStore(tmp_path, {**HERE, "commit": "another"}).get(SETTINGS).runs
    store.add(OTHERS[3], ran(0.12, a="slower"))
    content = json.loads(store.path.read_text())
    assert schema.departure(content, "calibration") is None
    assert content["version"] == 1
    assert sorted(path.name for path in store.path.parent.iterdir() if path.suffix != ".lock") == [
        store.path.name
    ]


DAMAGES = {
    "truncated": (lambda text: text[: len(text) // 2], "not JSON, or cut off"),
    "no text": (lambda _: "\udcff", "not JSON, or cut off"),
    "no object": (lambda _: "[]", "not a calibration"),
    "of the future": (lambda text: text.replace('"version": 1', '"version": 2'), "version 2 of the format"),
    "another form": (lambda text: text.replace('"slower"', '"slow"'), "damaged at $.calibrations"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_cannot_be_used_is_refused_in_a_line_and_left_alone(store, damage):
    change, text = DAMAGES[damage]
    store.add(SETTINGS, ran(0.05, **{"test_suite.py::a": "slower"}))
    damaged = change(store.path.read_text()).encode(errors="surrogateescape")
    store.path.write_bytes(damaged)
    for use in (store.read, lambda: store.add(SETTINGS, ran(0.0, a="same")), lambda: store.clear(SETTINGS)):
        with pytest.raises(UsageError) as error:
            use()
        assert text in str(error.value)
        assert str(store.path) in str(error.value)
        assert "remove it, and run gnnbench calibrate again" in str(error.value)
        assert "\n" not in str(error.value)
        assert store.path.read_bytes() == damaged
    # Where it is but a note, it ends nothing.
    assert notes(store, ["a"], 0.03, Path("/here")) == [str(error.value)]


def test_a_cache_that_cannot_be_written_is_a_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        CalibrationStore(tmp_path / "file", HERE).add(SETTINGS, ran(0.0, a="same"))


def test_notes(store):
    names = ["test_suite.py::a", "test_suite.py::b[x::y]", "test_suite.py::c", "test_suite.py::new"]
    assert notes(store, names, 0.03, Path("/here")) == []
    for _ in range(4):
        store.add(SETTINGS, ran(0.0, **{"a": "same", "b[x::y]": "undecided", "c": "same", "d": "slower"}))
    for size in (0.05, 0.12):
        for _ in range(10):
            verdicts = {"a": "slower", "b[x::y]": "slower" if size > 0.1 else "same", "c": "undecided"}
            store.add(SETTINGS, ran(size, **verdicts))
    alarms, found = notes(store, names, 0.03, Path("/here"))
    assert alarms.startswith("calibrated here (gnnbench ab, 10 s per benchmark): 4 of 16 verdicts of A/A")
    assert alarms.endswith(
        f" tests were false positives (rate at most {100 * Rate(4, 16).interval()[1]:.1f}%)"
    )
    assert found.split("; ") == [
        "finds 5%: a (10 of 10)",
        "finds 12%: b[x::y] (10 of 10)",
        "needs more than 12%: c (0 of 10)",
        "not calibrated: new",
    ]


def test_notes_are_of_what_was_judged_with_the_settings_that_fit(store):
    a, b = "test_suite.py::a", "test_suite.py::b"
    for planted in (0.0, 0.05, 0.12):  # earlier versions saved runs in which nothing was judged
        store.add(SETTINGS, ran(planted, a="incomparable"))
    assert store.path.exists()
    assert store.read() == []
    assert notes(store, [a], 0.03, Path("/here")) == []
    store.add(SETTINGS, ran(0.05, a="slower"))
    assert store.get(SETTINGS).runs == (ran(0.05, a="slower"),)
    for effect, folder in ((0.05, "/here"), (0.03, "/there")):
        assert notes(store, [a], effect, Path(folder)) == []
    assert notes(store, ["test_suite.py::other"], 0.03, Path("/here")) == []
    assert notes(store, [a], 0.03, Path("/here")) == ["finds 5%: a (1 of 1)"]
    store.add(OTHERS[1], ran(0.08, a="slower", b="slower"))
    assert notes(store, [a, b], 0.03, Path("/here")) == ["finds 8%: a (1 of 1), b (1 of 1)"]
    store.clear(OTHERS[1])
    store.add(SETTINGS, ran(0.12, a="slower", b="incomparable"))
    assert notes(store, [a, b], 0.03, Path("/here")) == ["finds 5%: a (1 of 1); not calibrated: b"]


def test_compare_says_what_is_known_of_the_environment_of_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    store = CalibrationStore(tmp_path / "cache", ENVIRONMENT)
    store.add(
        CalibrationSettings(str(tmp_path), (), 10.0, None, 0.03),
        CalibrationRun(0.05, 1, 1.0, {"test_a.py::b0": "slower"}),
    )
    files = [str(file) for file in save(tmp_path, *map(suite, range(4)))]
    elsewhere = [str(file) for file in save(tmp_path, *(suite(seed, threads=8) for seed in range(4)))]
    theirs = [str(file) for file in save(tmp_path, *map(plain, range(4)))]
    text = "finds 5%: b0 (1 of 1); not calibrated: 5 benchmarks"
    for options in ((), ("--markdown",)):
        for paths, said in ((files, True), (elsewhere, False), (theirs, False)):
            main.main(["compare", *paths[:2], *options, "--", *paths[2:]])
            out = capsys.readouterr().out.replace("`", "")  # in Markdown names are code
            assert (text in out) == said
    store.path.write_text("{")
    assert main.main(["compare", *files[:2], "--", *files[2:]]) == 0
    assert "not JSON, or cut off" in " ".join(capsys.readouterr().out.split())
