import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gnnbench import schema
from gnnbench.compare import result_file
from gnnbench.shard import Shard
from tests.suite import ROOT, environment, gnnbench

SUITE = """
def work(n=100):
    return sum(range(n))


def test_sum(benchmark):
    benchmark(work)


def test_more(benchmark):
    benchmark(work, 200)
"""
OWN = """
import pytest

@pytest.mark.operations("own")
def test_own(case, measure):
    measure(lambda x: 2 * x, case.features(), reference=lambda graph, x: 2 * x)
"""
NOISE = {"sigma": 0.01, "spike_probability": 0, "drift": 0.02}


def truths(folder, name, **seconds):
    content = {"benchmarks": {"test_sum": 1e-3, "test_more": 1e-3, **seconds}, "noise": NOISE}
    (folder / name).write_text(json.dumps(content))
    return f"env:GNNBENCH_FAKE_CLOCK=5:{name}"


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Its processes load the only plugin that they need, which pytest.ini names, and start in half the time."""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p pytest_benchmark.plugin\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def command(*words):
    return [str(Path(sys.executable).with_name("gnnbench")), "ab", *words]


def ab(folder, *words, **variables):
    return gnnbench("ab", *words, cwd=folder, **{**ALONE, **variables})


def git(folder, *words):
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


def test_what_is_slower_is_told_to_people_and_programs(suite):
    sides = truths(suite, "base.json"), truths(suite, "head.json", test_more=1.2e-3)
    files = ("--json", "ab.json", "--markdown", "ab.md")
    result = ab(suite, *sides, "--budget", "20", "--time-all", *files, "--", "test_suite.py")
    assert result.returncode == 1, result.stderr
    assert "1 slower, 0 faster, 1 same, 0 undecided, 0 incomparable" in result.stdout
    lines = [line for line in result.stderr.splitlines() if not line.startswith("gnnbench: ")]
    assert len(lines) == 2, "in a pipe a line for each decision"
    assert result.stderr.startswith("gnnbench: starting the processes of pair 1, and collecting (0 s of ")
    found = json.loads((suite / "ab.json").read_text())
    validate(found)
    assert found["summary"] == {"same": 1, "slower": 1}
    slower = next(one for one in found["benchmarks"] if one["verdict"] == "slower")
    assert slower["id"] == "test_suite.py::test_more"
    assert 1 < slower["low"] < slower["own_low"] < 1.2 < slower["own_high"] < slower["high"]
    assert "| `test_more` |" in (suite / "ab.md").read_text()


def test_both_sides_take_the_caller_s_settings(suite):
    """The base is a commit without them, and its own gnnbench.toml would be refused."""
    (suite / "pytest.ini").write_text("[pytest]\naddopts = -p pytest_benchmark.plugin -p gnnbench.plugin\n")
    (suite / "gnnbench.toml").write_text("of_a_later_version = 3\n")
    (suite / "library.py").write_text("def work(n=100):\n    return sum(range(n))\n")
    git(suite, "init", "-q")
    git(suite, "add", ".")
    git(suite, "commit", "-qm", "base")
    (suite / "gnnbench.toml").write_text('layouts = "one"\n[ab]\nbudget = 20\ntime_all = true\n')
    (suite / "test_suite.py").write_text(
        "from library import work\n"
        "def test_sum(benchmark, request):\n"
        "    assert request.config.getoption('gnn_layouts') == 'one'\n"
        "    benchmark(work)\n"
    )
    (suite / "truth.json").write_text(json.dumps({"benchmarks": {"test_sum": 1e-3}, "noise": NOISE}))
    clock = {"GNNBENCH_FAKE_CLOCK": f"5:{suite / 'truth.json'}"}
    result = ab(suite, "git:HEAD", ".", "--json", "ab.json", "--", "test_suite.py", **clock)
    assert result.returncode == 0, result.stderr
    (found,) = json.loads((suite / "ab.json").read_text())["benchmarks"]
    assert (found["verdict"], found["same_code"]) == ("same", False)
    (suite / "gnnbench.toml").write_text('layouts = "sample"\n')
    result = ab(suite, "git:HEAD", ".", "--", "test_suite.py", **clock)
    assert "base and head: raised: AssertionError" in " ".join(result.stdout.split())


def test_what_a_rule_ignores_does_not_count(suite):
    (suite / "gnnbench.toml").write_text(
        '[[rules]]\nbenchmarks = "*test_more"\nignore = "known"\n'
        '[[rules]]\nbenchmarks = "*old*"\neffect = 0.1\n'
    )
    sides = truths(suite, "base.json"), truths(suite, "head.json", test_more=1.2e-3)
    result = ab(suite, *sides, "--budget", "20", "--time-all", "--json", "ab.json", "--", ".")
    assert result.returncode == 0, result.stdout
    assert "\nrule 2 of gnnbench.toml (*old*) matches no benchmark here: " in result.stdout
    assert "0 slower, 0 faster, 1 same, 0 undecided, 0 incomparable, 1 ignored" in result.stdout
    assert "ignored: known (rule 1 of gnnbench.toml); without the rule: slower" in result.stdout
    found = json.loads((suite / "ab.json").read_text())
    validate(found)
    assert found["summary"] == {"ignored": 1, "same": 1}
    read = result_file.read(suite / "ab.json")
    assert read.comparison.rows[1].judgement.verdict == "ignored"
    assert read.thresholds.rules.rule("ignore", "test_suite.py::test_more").ignore == "known"


def validate(result):
    assert schema.departure(result, "ab") is None


def test_what_runs_the_same_code_is_one_line_for_people_and_all_of_it_for_programs(suite):
    files = ("--json", "ab.json", "--markdown", "ab.md")
    result = ab(suite, ".", ".", *files, "--", "test_suite.py")
    assert result.returncode == 0, result.stderr
    line, headline, counts = result.stdout.splitlines()
    assert line == "2 same: they run the same code"
    assert headline == "All 2 benchmarks run the same code"
    assert counts.startswith("0 slower, 0 faster, 2 same, 0 undecided, 0 incomparable; ")
    assert re.search(r"^\d+ s: 2 same: they run the same code$", result.stderr, re.MULTILINE)
    assert "test_sum" not in (suite / "ab.md").read_text()
    found = json.loads((suite / "ab.json").read_text())
    validate(found)
    assert found["summary"] == {"same": 2}
    assert {(one["same_code"], one["reason"]) for one in found["benchmarks"]} == {
        (True, "runs the same code")
    }


def test_what_was_not_judged_has_exit_codes_of_its_own(suite):
    side = truths(suite, "base.json")
    (suite / "test_suite.py").write_text(f"{SUITE}\n\ndef test_one(benchmark):\n    assert 0\n")
    strict = ab(suite, side, side, "--budget", "20", "--strict", "--", "test_suite.py")
    assert strict.returncode == 3
    assert "base and head: raised: assert 0" in strict.stdout
    nothing = ab(suite, side, side, "--budget", "20", "--", "test_suite.py", "-k", "one")
    assert nothing.returncode == 3


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((".", "git:nowhere"), "git:nowhere"),
        ((".", "hg:tip"), "unknown part of a variant 'hg'"),
        ((".", ".", "--budget", "0"), "must be more than 0 seconds"),
        ((".", ".", "--budget", "many"), "many must be more than 0 seconds"),
        ((".", ".", "--effect", "3"), "effect"),
        ((".", ".", "--json", "nowhere/ab.json"), "nowhere/ab.json cannot be written"),
        ((".", ".", "--json", "."), ". cannot be written (it is a folder)"),
        ((".", ".", "--markdown", "/proc/ab.md"), "/proc/ab.md cannot be written"),
        ((".", "."), "pytest finds no benchmarks here"),
    ],
)
def test_wrong_usage_is_a_line(suite, words, text):
    (suite / "test_nothing.py").write_text("def test_plain():\n    pass\n")
    result = ab(suite, *words, "--", "test_nothing.py")
    assert result.returncode == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_the_table_comes_before_the_file_that_can_no_longer_be_written(suite):
    """The benchmark itself puts a folder in its place."""
    (suite / "test_suite.py").write_text(
        "def test_sum(benchmark):\n    import os\n    os.makedirs('ab.json/in-the-way', exist_ok=True)\n"
        "    benchmark(sum, range(100))\n"
    )
    side = truths(suite, "base.json")
    result = ab(suite, side, side, "--total-budget", "1", "--json", "ab.json", "--", "test_suite.py")
    assert "0 slower, 0 faster, " in result.stdout
    assert "ab.json cannot be written" in result.stderr
    assert result.returncode == 2


def test_where_nobody_reads_the_output_the_files_are_written_still(suite):
    side = truths(suite, "base.json")
    files = ("--json", "ab.json", "--markdown", "ab.md")
    read, write = os.pipe()
    os.close(read)
    subprocess.run(
        command(side, side, "--total-budget", "1", *files, "--", "test_suite.py"),
        cwd=suite,
        env=environment(**ALONE),
        stdout=write,
        stderr=write,
        timeout=300,
        check=False,
    )
    os.close(write)
    assert len(json.loads((suite / "ab.json").read_text())["benchmarks"]) == 2
    assert (suite / "ab.md").exists()


def test_without_a_folder_of_benchmarks_the_suite_is_to_be_named(suite):
    result = ab(suite, ".", ".")
    assert result.returncode == 2
    assert "give the path of the suite: gnnbench ab BASE HEAD -- PATH" in result.stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_end_in_the_middle_leaves_nothing_behind_and_what_was_decided_is_saved(suite, end):
    (suite / "test_suite.py").write_text(
        f"{SUITE}\n\ndef test_slow(benchmark):\n    import time\n    benchmark(time.sleep, 0.01)\n"
    )
    git(suite, "init", "-q")
    git(suite, "add", "-A")
    git(suite, "commit", "-qm", "first")
    side = truths(suite, "base.json", test_slow=1e-2)
    words = ("--budget", "100000", "--effect", "0.2%", "--json", "ab.json", "--", "test_suite.py")
    process = subprocess.Popen(
        command(side, side, *words),
        cwd=suite,
        env=environment(**ALONE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    workers = []
    deadline = time.monotonic() + 60
    while len(workers) < 2 and time.monotonic() < deadline:
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.05)
    assert len(workers) >= 2
    process.send_signal(end)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == (-9 if end == signal.SIGKILL else 128 + end)
    gone, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
    assert gone
    if end != signal.SIGKILL:
        assert json.loads((suite / "ab.json").read_text())["interrupted"] is True
        assert "undecided" in out
    else:
        assert not (suite / "ab.json").exists()


def test_this_repository_across_a_change_of_the_protocol(tmp_path):
    """Both sides load a gnnbench that is not the coordinator's, and the older one's worker is of no use."""
    shutil.copytree(ROOT / "gnnbench", tmp_path / "gnnbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "benchmarks", tmp_path / "benchmarks", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "gnnbench" / "marker.py").write_text("SIDE = 'older'\n")
    link = tmp_path / "gnnbench" / "variants" / "pipe.py"
    kept = link.read_text()
    link.write_text("raise ImportError('another protocol')\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "older")
    link.write_text(kept.replace("token.encode()", 'token.encode() + b"x"'))
    (tmp_path / "gnnbench" / "marker.py").write_text("SIDE = 'newer'\n")
    git(tmp_path, "commit", "-qam", "newer")
    select = (
        "benchmarks/test_spmm.py",
        "--gnn-all",
        "-k",
        "spmm_sum-forward-torch",
        "--gnn-dataset=rmat:5",
    )
    more = ("--gnn-hidden=8", "--gnn-platform=torch", "--gnn-device=cpu")
    options = ("--total-budget", "8", "--time-all", "--json", "ab.json")
    words = ("git:HEAD~1", "git:HEAD", *options, "--", *select, *more)
    result = ab(tmp_path, *words, PYTEST_DISABLE_PLUGIN_AUTOLOAD=None)
    assert result.returncode in (0, 1, 3), result.stderr
    found = json.loads((tmp_path / "ab.json").read_text())
    assert all(one["pairs"] > 0 for one in found["benchmarks"]), "both sides were timed"
    assert found["base"]["commit"] != found["head"]["commit"]


def test_each_side_brings_its_own_fixtures(tmp_path):
    """A side whose fixtures fail says which gnnbench they are of, and an older one that it has none."""
    shutil.copytree(ROOT / "gnnbench", tmp_path / "gnnbench", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_own.py").write_text(OWN)
    plugin = tmp_path / "gnnbench" / "plugin" / "__init__.py"
    fixtures = tmp_path / "gnnbench" / "plugin" / "fixtures.py"
    kept = plugin.read_text()
    plugin.write_text(kept.replace("    config.pluginmanager.register(fixtures, FIXTURES)\n", ""))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "without fixtures")
    plugin.write_text(kept)
    fixtures.write_text(
        fixtures.read_text().replace("return Case(", "raise ValueError('torn')\n    return Case(")
    )
    git(tmp_path, "commit", "-qam", "with fixtures that fail")
    words = ("--total-budget", "8", "--", "test_own.py", "--gnn-dataset=rmat:5", "--gnn-device=cpu")
    result = ab(tmp_path, "git:HEAD~1", "git:HEAD", *words, PYTEST_DISABLE_PLUGIN_AUTOLOAD=None)
    assert result.returncode == 3, result.stderr
    shown = " ".join((result.stdout + result.stderr).split())
    assert "is older and brings no fixtures)" in shown
    result = ab(tmp_path, "git:HEAD", "git:HEAD", *words, PYTEST_DISABLE_PLUGIN_AUTOLOAD=None)
    shown = " ".join((result.stdout + result.stderr).split())
    assert "ValueError: torn (fixtures of gnnbench in " in shown


def test_shards_are_timed_apart_and_merged_into_the_whole(suite):
    side = truths(suite, "base.json")
    names = {f"test_suite.py::{name}" for name in ("test_sum", "test_more")}
    found = {}
    for number in (1, 2, 3):
        shard = f"{number}/3"
        result = ab(
            suite,
            side,
            side,
            "--budget",
            "20",
            "--shard",
            shard,
            "--json",
            f"{number}.json",
            "--",
            "test_suite.py",
        )
        assert result.returncode == 0, result.stderr
        found[shard] = json.loads((suite / f"{number}.json").read_text())
        assert found[shard]["shard"] == shard
        assert found[shard]["level"]["simultaneous"] == pytest.approx(1 - 0.01 / 3)
        own = {name for name in names if Shard(number, 3).has(name)}
        assert {one["id"] for one in found[shard]["benchmarks"]} == own
        assert f"shard {shard}: {len(own)} of 2 benchmarks" in result.stdout
    assert any(not one["benchmarks"] for one in found.values()), "an empty shard ended cleanly"
    merged = gnnbench("merge", "1.json", "2.json", "3.json", "-o", "whole.json", cwd=suite)
    assert merged.returncode == 0, merged.stderr
    whole = result_file.read(suite / "whole.json")
    assert {row.fullname for row in whole.comparison.rows} == names
    assert whole.thresholds.family_level == 0.99


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((".", ".", "--shard", "3/2", "--", "test_suite.py"), "shard '3/2' must be I/N"),
        ((".", ".", "--", "test_suite.py", "--gnn-shard=1/2"), "give gnnbench ab its own --shard"),
    ],
)
def test_a_wrong_shard_is_a_line(suite, words, text):
    result = ab(suite, *words)
    assert result.returncode == 2
    assert text in result.stderr
