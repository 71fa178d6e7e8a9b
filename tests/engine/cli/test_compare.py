import json

import pytest

from gnnbench.engine.cli.common import exit_code
from gnnbench.engine.judge.comparison import Compared, Comparison
from gnnbench.engine.judge.verdict import Judgement
from tests import runs as projects
from tests.engine.show import contents
from tests.run_files import plain, save, suite


@pytest.fixture
def compare(call):
    return lambda base, head, *options: call("compare", *base, *options, "--", *head)


@pytest.fixture
def base(tmp_path):
    return save(tmp_path, *(suite(seed) for seed in range(5)))


def test_rules_and_the_command_line_above_them(tmp_path, base, compare, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*::b0"\neffect = "50%"\n')
    head = save(tmp_path, *(suite(seed, factor=1.3) for seed in (20, 21)))
    assert compare(base, head)[0] == 0
    assert compare(base, head, "--effect", "10%")[0] == 1
    for rule, expected in (('"*::b1"\neffect = "50%"', 1), ('"*::b0"\nignore = "known"', 0)):
        (tmp_path / "gnnbench.toml").write_text(f"[[rules]]\nbenchmarks = {rule}\n")
        assert compare(base, head)[0] == expected


def test_what_cannot_be_judged_is_exit_3(tmp_path, base, compare):
    status, out, _ = compare(base, save(tmp_path, suite(9, threads=8)))
    assert status == 3
    assert "threads 2 vs 8" in " ".join(out.split())
    head = save(tmp_path, suite(9, deviation=0.02))
    assert compare(base, head)[0] == 0
    assert compare(base, head, "--strict")[0] == 3
    files = save(tmp_path, plain(1, data=False), plain(2, data=False), plain(3))
    status, out, _ = compare(files[:2], files[2:])
    assert status == 3
    assert "no rounds in the file" in out


def test_where_too_few_pairs_leave_all_undecided_nothing_was_judged():
    few = Compared("b", Judgement("undecided", "2 pairs, a verdict needs 4", ratio=1.1), 1e-3)
    wide = Compared("c", Judgement("undecided", "too wide", ratio=1.1, low=0.9, high=1.3), 1e-3)
    absent, ignored = (Compared("d", Judgement(name, "it is")) for name in ("incomparable", "ignored"))
    assert exit_code(Comparison([few, absent, ignored]), strict=False) == 3
    assert exit_code(Comparison([ignored]), strict=True) == 0
    assert exit_code(Comparison([few, wide]), strict=False) == 0
    assert exit_code(Comparison([]), strict=False) == 3


def test_where_nothing_can_be_compared_the_status_is_3(call, tmp_path):
    run, empty = save(tmp_path, contents.family(0), plain(1))
    status, out, _ = call("compare", "--by", "dtype", run)
    assert status == 3
    assert "12 benchmarks without a row" in out
    assert call("compare", "--by", "platform", "--strict", run)[0] == 3
    assert call("compare", "--by", "platform", empty)[0] == 2


def test_a_suite_of_another_project_by_its_parameter(tmp_path, call):
    """Two real processes of pytest-benchmark, without options of gnnbench."""
    (tmp_path / "test_join.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('n', [10, 1000])\n"
        "@pytest.mark.parametrize('join', [''.join, ','.join, sorted])\n"
        "def test_join(benchmark, join, n):\n"
        "    benchmark(join, ['a'] * n)\n"
    )
    names = [str(tmp_path / f"run-{number}.json") for number in (1, 2)]
    for name in names:
        ran = projects.run("--benchmark-json", name, *projects.SHORT, "test_join.py", cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout
    status, out, err = call("compare", "--by", "n", *names)
    assert status == 0, err
    assert "1000 / 10" in out
    assert "3 benchmarks" in out
    call("compare", "--by", "join=sorted", *names, "--json", tmp_path / "by.json")
    assert json.loads((tmp_path / "by.json").read_text())["base"] == "sorted"
