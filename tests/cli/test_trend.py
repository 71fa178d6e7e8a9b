import json

import pytest

from gnnbench.cli.trend import exit_code
from gnnbench.compare.memory import MemoryChange
from gnnbench.compare.trend.steps import MemoryStep
from tests.compare.trend import judged
from tests.compare.trend.runs import factors, plain, run, save

RUNS = 24


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_options_and_rules_change_the_exit_code(tmp_path, call):
    runs = [run(number, row) for number, row in enumerate(factors(1, RUNS, at=12, size=0.3))]
    paths = save(tmp_path / "runs", runs)
    assert call("trend", tmp_path / "runs", "-o", "out/trend.html")[0] == 1
    assert "0cccccc" in (tmp_path / "out" / "trend.html").read_text()
    shown = call("trend", tmp_path / "runs")
    assert call("trend", *paths, tmp_path / "runs" / "*.json") == shown
    assert call("trend", tmp_path / "runs", "--effect", "50%")[0] == 0
    assert call("trend", tmp_path / "runs", "--last", "12")[0] == 0
    (tmp_path / "gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*::b0"\nignore = "known"\n')
    status, out, _ = call("trend", tmp_path / "runs")
    assert status == 0
    assert "b0 slower 1.3" in out
    assert out.endswith("\nignored: test_a.py::b0: known (rule 1 of gnnbench.toml)\n")


def test_the_exit_code_is_that_of_what_is_slower_now(capsys):
    of = judged.history()
    slower, faster = (judged.judged(of, [judged.step(10, ratio)]) for ratio in (1.2, 0.8))
    assert exit_code(judged.result(slower, faster)) == 1
    assert exit_code(judged.result(faster)) == 0
    more = MemoryStep(1, 2, MemoryChange("more memory", 1, 2))
    assert exit_code(judged.result(judged.judged(of, runs=range(30, 40), memory=[more]))) == 1
    assert exit_code(judged.result(judged.judged(of, runs=range(9)))) == 3
    assert capsys.readouterr().out == ""


def test_too_few_runs_are_exit_3_and_what_cannot_be_used_is_named_and_skipped(tmp_path, call):
    paths = save(tmp_path / "runs", [run(number, [1.0]) for number in range(11)])
    status, expected, err = call("trend", "runs")
    assert (status, err) == (3, "")
    assert "not examined, fewer than 12 runs: 1" in expected
    (tmp_path / "runs" / "x.json").write_text("{")
    (tmp_path / "runs" / "y.json").write_text('{"version": 1, "penalties": {}}')
    status, out, err = call("trend", "runs")
    assert (status, out) == (3, expected)
    assert err.count("\n") == 2
    assert "x.json: not JSON, or cut off" in err
    assert "y.json: not a run file" in err
    for number in range(3):
        (tmp_path / "runs" / f"z{number}.json").write_text("[]")
    _, out, err = call("trend", "runs", "--json", "trend.json")
    assert out == expected
    assert f"skipped: 5 of {len(paths) + 5} files; --json lists all" in err
    assert len(json.loads((tmp_path / "trend.json").read_text())["skipped"]) == 5


def test_a_name_in_a_message_steers_no_terminal(tmp_path, call):
    one = plain(0, [1e300])
    one["benchmarks"][0]["fullname"] = "a\nb\x1b[2J\ud800" + "c" * 5000
    save(tmp_path / "runs", [one])
    for others in ([], [run(0, [1.0])]):
        save(tmp_path / "runs", others, first=1)
        _, _, err = call("trend", "runs")
        assert "a?b?[2J?ccc" in err
        assert err.count("\n") == 1
        assert len(err) < 1200
