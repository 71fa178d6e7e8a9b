import json
import os

import pytest

from gnnbench.cli import main
from gnnbench.cli.common import exit_code
from gnnbench.compare.comparison import Compared, Comparison
from gnnbench.compare.verdict import Judgement
from tests.run_files import plain, save, suite

ESCAPE = "\x1b]0;x\x07\x1b[2J"


def compare(capsys, base, head, *options):
    status = main.main(["compare", *map(str, base), *options, "--", *map(str, head)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


@pytest.fixture
def base(tmp_path):
    return save(tmp_path, *(suite(seed) for seed in range(5)))


def test_slower_is_exit_1_and_the_same_code_0(tmp_path, base, capsys):
    status, out, _ = compare(capsys, base, save(tmp_path, *(suite(seed) for seed in range(10, 13))))
    assert status == 0
    assert "0 slower" in out
    slower = save(tmp_path, *(suite(seed, factor=1.3) for seed in (20, 21)))
    status, out, _ = compare(capsys, base, slower)
    assert status == 1
    assert "benchmarks is slower\n1 slower" in out
    assert max(map(len, out.splitlines())) <= 80
    status, out, _ = compare(capsys, base, slower, "--markdown")
    assert status == 1
    assert "| `b0` | **slower** | 1.2" in out


def test_versions_and_commits_that_differ_are_named_and_compared(tmp_path, base, capsys):
    libraries = [["torch", "2.14.0"]]
    newer = [suite(seed, libraries=libraries, commit="b" * 40) for seed in range(10, 13)]
    status, out, _ = compare(capsys, base, save(tmp_path, *newer))
    assert status == 0
    assert out.startswith("since the base: torch 2.13.0 → 2.14.0, this project aaaaaaa → bbbbbbb\n")
    status, out, _ = compare(capsys, base, save(tmp_path, *newer), "--markdown")
    assert "since the base: torch `2.13.0 → 2.14.0`" in out


def test_what_a_rule_ignores_does_not_count(tmp_path, base, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*::b0"\nignore = "known"\n')
    file = tmp_path / "result.json"
    head = save(tmp_path, *(suite(seed, factor=1.3) for seed in (20, 21)))
    status, out, _ = compare(capsys, base, head, "--json", str(file))
    assert status == 0
    assert "0 slower" in out
    assert "ignored: known (rule 1 of gnnbench.toml); without the rule: slower" in " ".join(out.split())
    content = json.loads(file.read_text())
    assert content["benchmarks"][0]["verdict"] == "ignored"
    assert content["effect"] == 0.03


def test_the_effect_of_a_rule_and_the_command_line_above_it(tmp_path, base, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*::b0"\neffect = "50%"\n')
    head = save(tmp_path, *(suite(seed, factor=1.3) for seed in (20, 21)))
    file = tmp_path / "result.json"
    status, out, _ = compare(capsys, base, head, "--json", str(file), "--markdown")
    assert status == 0
    assert "the change is at least 3.0% (50% by rule 1 of `gnnbench.toml`)" in out
    content = json.loads(file.read_text())
    assert content["settings"]["rules"] == [{"number": 1, "benchmarks": "*::b0", "effect": 0.5}]
    assert main.main(["comment", str(file)]) == 0
    assert "the change is at least 3.0% (50% by rule 1 of `gnnbench.toml`)" in capsys.readouterr().out
    status, out, _ = compare(capsys, base, head)
    assert status == 0
    assert "0 slower" in out
    assert "b0 1.27 ms 1.29x 1.24-1.33 same" in " ".join(out.split())
    assert compare(capsys, base, head, "--effect", "10%")[0] == 1
    (tmp_path / "gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*::b1"\neffect = "50%"\n')
    assert compare(capsys, base, head)[0] == 1


def test_what_cannot_be_judged_is_exit_3(tmp_path, base, capsys):
    status, out, _ = compare(capsys, base, save(tmp_path, suite(9, threads=8)))
    assert status == 3
    assert "threads 2 vs 8" in " ".join(out.split())
    head = save(tmp_path, suite(9, deviation=0.02))
    assert compare(capsys, base, head)[0] == 0
    assert compare(capsys, base, head, "--strict")[0] == 3
    status, out, _ = compare(capsys, base[:1], base[1:2])
    assert status == 3
    assert "one process on each side" in out
    files = save(tmp_path, plain(1, data=False), plain(2, data=False), plain(3))
    status, out, _ = compare(capsys, files[:2], files[2:])
    assert status == 3
    assert "no rounds in the file" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--effect", "3"), "effect '3' must lie between 0 and 1"),
        (("--json", "/proc/all.json"), "cannot be written"),
    ],
)
def test_wrong_usage_is_one_line(base, capsys, options, message):
    status, _, err = compare(capsys, base[1:], base[:1], *options)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


def test_both_sides_must_be_named(base, capsys):
    assert main.main(["compare", str(base[0])]) == 2
    assert "compare A.json... -- B.json..." in capsys.readouterr().err
    assert main.main(["compare", str(base[0]), "--", str(base[0])]) == 2
    assert "is named twice" in capsys.readouterr().err
    assert main.main(["compare", str(base[0]), "--", "nothing.json"]) == 2
    assert "nothing.json: cannot be read" in capsys.readouterr().err


def test_where_too_few_pairs_leave_all_undecided_nothing_was_judged():
    few = Compared("b", Judgement("undecided", "2 pairs, a verdict needs 4", ratio=1.1), 1e-3)
    wide = Compared(
        "c", Judgement("undecided", "the interval is too wide", ratio=1.1, low=0.9, high=1.3), 1e-3
    )
    assert exit_code(Comparison([few], None), strict=False) == 3
    assert exit_code(Comparison([few, wide], None), strict=False) == 0


def is_refused(capsys, base, head, message):
    status, out, err = compare(capsys, base, head)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.isprintable()
    assert message in line


@pytest.mark.parametrize("counts", [{"copies": 1.5}, {"copies": {"a": 1.5}}, {"copies": None}, [], 3])
def test_counters_of_another_form_are_not_compared(tmp_path, base, capsys, counts):
    whole = suite(10)
    for entry in whole["benchmarks"]:
        entry["extra_info"]["gnnbench"]["counters"] = {"counts": counts, "unsteady": []}
    status, out, err = compare(capsys, base, save(tmp_path, whole))
    assert status == 3
    assert "6 incomparable" in out
    (line,) = err.splitlines()
    assert "left out the times of 6 benchmarks ($.counters" in line


def test_links_pipes_and_devices_end_in_a_line(tmp_path, base, capsys):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "loop.json").symlink_to("loop.json")
    for name, message in (
        ("pipe.json", "it is a pipe: save its content to a file, and give that"),
        ("loop.json", "Too many levels of symbolic links"),
        (".", "it is a folder"),
    ):
        is_refused(capsys, base, [tmp_path / name], message)
        is_refused(capsys, [tmp_path / name], base, message)


def test_what_a_file_says_does_not_control_the_terminal(tmp_path, base, capsys):
    whole = suite(10, cpu=f"{ESCAPE}CPU", libraries=[["torch", f"2{ESCAPE}"]])
    whole["benchmarks"][0]["fullname"] += ESCAPE
    folder = tmp_path / f"a{ESCAPE}"
    folder.mkdir()
    for options in ((), ("--markdown",)):
        status, out, err = compare(capsys, base, save(folder, whole), *options)
        assert status == 3
        assert "CPU" in out
        assert not {"\x1b", "\x07"} & {*out, *err}
    is_refused(capsys, base, [folder], "it is a folder")
