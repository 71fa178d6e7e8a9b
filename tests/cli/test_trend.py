import json
import os
import re
import subprocess
import sys

import pytest

from gnnbench import schema
from gnnbench.cli import main
from gnnbench.compare.trend import penalty
from tests.compare.trend.runs import factors, plain, run, save
from tests.variants import repositories

RUNS = 24


@pytest.fixture(autouse=True)
def _quick(tmp_path, monkeypatch):
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(penalty, "_HISTORIES", 200)
    monkeypatch.setattr(penalty, "_MORE_HISTORIES", 0)
    monkeypatch.chdir(tmp_path)


def trend(capsys, *words):
    status = main.main(["trend", *map(str, words)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def history(folder, *, at=12, size=0.3, **settings):
    rows = factors(1, RUNS, at=at, size=size)
    return save(folder, [run(number, row, **settings) for number, row in enumerate(rows)])


def test_a_slowdown_is_exit_1_and_what_was_undone_0(tmp_path, capsys):
    history(tmp_path / "runs")
    status, out, err = trend(capsys, "runs")
    assert status == 1
    assert "slower 1.3" in out
    assert "run 13" in out
    assert "0bccccc..0cccccc" in out
    assert "ordered by the commits' dates" in out
    assert re.search(r"\n1 of 3 benchmarks changed: b0 slower 1\.3\dx; 1 is slower now\n$", out)
    assert max(map(len, out.splitlines())) <= 80
    assert err == ""
    history(tmp_path / "other", size=-0.25)
    assert trend(capsys, "other")[0] == 0
    assert trend(capsys, "runs", "--effect", "50%")[0] == 0
    assert trend(capsys, "runs", "--last", "12")[0] == 0


def test_what_a_rule_ignores_is_named_and_does_not_count(tmp_path, capsys):
    history(tmp_path / "runs")
    (tmp_path / "gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*::b0"\nignore = "known"\n')
    status, out, _ = trend(capsys, "runs")
    assert status == 0
    assert "b0 slower 1.3" in out
    assert out.endswith("\nignored: test_a.py::b0: known (rule 1 of gnnbench.toml)\n")


def test_folders_patterns_and_files_are_the_same_history(tmp_path, capsys):
    paths = history(tmp_path / "runs")
    expected = trend(capsys, "runs")
    assert trend(capsys, "runs/*.json", "runs") == expected
    assert trend(capsys, *paths) == expected


def test_too_few_runs_are_exit_3(tmp_path, capsys):
    save(tmp_path / "runs", [run(number, [1.0]) for number in range(11)])
    status, out, _ = trend(capsys, "runs")
    assert status == 3
    assert "not examined, fewer than 12 runs: 1" in out


def test_json_and_the_page_are_written(tmp_path, capsys):
    history(tmp_path / "runs")
    status, _, _ = trend(capsys, "runs", "--json", "out/trend.json", "-o", "out/trend.html")
    assert status == 1
    content = json.loads((tmp_path / "out" / "trend.json").read_text())
    assert schema.departure(content, "trend") is None
    (environment,) = content["environments"]
    (change,) = environment["benchmarks"]["test_a.py::b0"]["changes"]
    assert (change["kind"], change["run"]) == ("step", 12)
    assert environment["runs"][12]["commit"] == change["by_commit"]
    text = (tmp_path / "out" / "trend.html").read_text()
    assert "1 of 3 benchmarks changed: b0 slower 1.3" in text


def test_environments_are_apart_and_plain_files_count(tmp_path, capsys):
    rows = factors(2, 2 * RUNS)
    save(tmp_path / "runs", [run(number, row, threads=1 + number % 2) for number, row in enumerate(rows)])
    slow = factors(3, RUNS, at=10, size=0.4)
    save(tmp_path / "runs", [plain(number, row / 1e3) for number, row in enumerate(slow)], first=2 * RUNS)
    status, out, _ = trend(capsys, "runs")
    assert status == 1
    assert out.count(f"{RUNS} runs from 2026") == 3
    assert out.count("ordered by the runs' dates") == 1
    assert "test_p.py::p0" in out or "p0 " in out


def test_one_file_that_cannot_be_used_is_named_and_skipped(tmp_path, capsys):
    paths = history(tmp_path / "runs")
    expected = trend(capsys, "runs")[1]
    (tmp_path / "runs" / "x.json").write_text("{")
    (tmp_path / "runs" / "y.json").write_text('{"version": 1, "penalties": {}}')
    status, out, err = trend(capsys, "runs")
    assert (status, out) == (1, expected)
    assert err.count("\n") == 2
    assert "x.json: not JSON, or cut off" in err
    assert "y.json: not a run file" in err
    for number in range(3):
        (tmp_path / "runs" / f"z{number}.json").write_text("[]")
    _, out, err = trend(capsys, "runs", "--json", "trend.json")
    assert out == expected
    assert f"skipped: 5 of {len(paths) + 5} files; --json lists all" in err
    assert len(json.loads((tmp_path / "trend.json").read_text())["skipped"]) == 5


def test_a_name_in_a_message_steers_no_terminal(tmp_path, capsys):
    one = plain(0, [1e300])
    one["benchmarks"][0]["fullname"] = "a\nb\x1b[2J\ud800" + "c" * 5000
    save(tmp_path / "runs", [one])
    for others in ([], [run(0, [1.0])]):
        save(tmp_path / "runs", others, first=1)
        _, _, err = trend(capsys, "runs")
        assert "a?b?[2J?ccc" in err
        assert err.count("\n") == 1
        assert len(err) < 1200


def test_records_of_several_processes_are_one_run_each(tmp_path, capsys):
    from gnnbench.results import run_file

    for number, row in enumerate(factors(4, RUNS, 1)):
        contents = [run(number, row) for _ in range(2)]
        for process, one in enumerate(contents, 1):
            one["gnnbench"]["record"] = {"number": number, "process": process, "processes": 2, "reason": ""}
            (tmp_path / f"{number:04}_x_p{process}.json").write_text(run_file.seal(one))
    (tmp_path / "0003_x_p2.json").unlink()
    status, out, err = trend(capsys, ".")
    assert status == 0
    assert f"{RUNS - 1} runs from" in out
    assert "only 1 of the record's 2 processes are there" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "nothing: no such file or folder"),
        (["*.json"], "*.json: no file matches this pattern"),
        (["empty"], "this folder has no .json file"),
        (["bad"], "not JSON, or cut off"),
        (["runs", "--effect", "3"], "effect '3' must lie between 0 and 1"),
        (["runs", "--json", "/proc/trend.json"], "/proc/trend.json cannot be written"),
        (["runs", "-o", "/proc/trend.html"], "/proc/trend.html cannot be written"),
    ],
)
def test_wrong_input_is_one_line(tmp_path, capsys, words, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    for name in ("a", "b"):
        (tmp_path / "bad" / f"{name}.json").write_text("{")
    save(tmp_path / "runs", [run(number, [1.0]) for number in range(2)])
    status, out, err = trend(capsys, *words)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_number_of_runs_must_be_one(capsys):
    with pytest.raises(SystemExit, match="2"):
        main.main(["trend", ".", "--last", "0"])
    assert "'0' must be a whole number of runs" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_in_a_pipe_it_writes_what_the_encoding_has(tmp_path, capsys, encoding):
    history(tmp_path / "runs")
    assert trend(capsys, "runs")[0] == 1  # calibrated here, quickly
    command = [
        sys.executable,
        "-c",
        "import sys; from gnnbench.cli.main import main; sys.exit(main())",
        "trend",
        "runs",
    ]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 1, done.stderr.decode()
    assert ("▁" in done.stdout.decode(encoding)) is (encoding == "utf-8")
    assert b"\x1b" not in done.stdout


def test_a_run_from_the_future_hides_no_slowdown(tmp_path, capsys):
    history(tmp_path / "runs")
    future = {**plain(0, [1.0]), "datetime": "2999-01-01T00:00:00"}
    save(tmp_path / "runs", [future], first=RUNS)
    status, out, _ = trend(capsys, "runs")
    assert status == 1
    assert "; 1 is slower now" in out


def test_old_commits_that_are_measured_again_hide_no_slowdown(tmp_path, capsys):
    rows = factors(1, RUNS, at=12, size=0.3)
    contents = [run(number, row) for number, row in enumerate(rows)]
    for number in range(3):
        contents[number]["datetime"] = "2026-03-20T00:00:00+00:00"
    for one in contents:
        one["benchmarks"] = one["benchmarks"][:1]
    save(tmp_path / "runs", contents)
    assert trend(capsys, "runs")[0] == 1


def test_medians_out_of_reason_are_skipped_and_named(tmp_path, capsys):
    history(tmp_path / "runs")
    expected = trend(capsys, "runs")[1]
    medians = [10**400, 1e305, *[1e-300] * 15, *[1e290] * 15]
    paths = save(tmp_path / "runs", [plain(number, [one]) for number, one in enumerate(medians)], first=RUNS)
    status, out, err = trend(capsys, "runs")
    assert (status, out) == (1, expected)
    assert f"{paths[1]}: test_p.py::p0: its median 1e+305 is no time or ratio; save it again" in err
    assert f"skipped: 32 of {RUNS + 32} files" in err


def test_in_a_checkout_of_the_history_commits_are_links(tmp_path, capsys, monkeypatch):
    paths = history(tmp_path / "runs")
    repositories.without_settings(monkeypatch)
    checkout = repositories.create(tmp_path / "checkout")
    repositories.git(checkout, "remote", "add", "origin", "https://user:secret@example.org/group/thing.git")
    head = repositories.git(checkout, "rev-parse", "HEAD")
    content = json.loads(paths[-1].read_text())
    content["gnnbench"]["environment"]["commit"] = head
    paths[-1].write_text(json.dumps(content))
    page = tmp_path / "trend.html"
    trend(capsys, "runs", "-o", page)
    assert "/commit/" not in page.read_text()
    monkeypatch.chdir(checkout)
    trend(capsys, tmp_path / "runs", "-o", page)
    text = page.read_text()
    assert (
        f'<a href="https://example.org/group/thing/commit/0c{"c" * 38}" rel="noreferrer">0cccccc</a>' in text
    )
    assert "secret" not in text
