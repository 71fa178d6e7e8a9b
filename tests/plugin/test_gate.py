"""Real pytest runs with `--benchmark-compare`, on the simulated machine."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from pytest_benchmark.utils import get_machine_id

from gnnbench.results.baseline import FOLDER, RecordStore
from gnnbench.shard import Shard
from tests.suite import ROOT, SMALL, gnnbench, run, run_kernels

LIBRARY = """
VERSION = 1

def work(numbers):
    return VERSION, sum(numbers)

def ordered(numbers):
    return work(numbers)
"""
SUITE = """
import pytest
from library import ordered, work

@pytest.mark.parametrize("n", range(10))
def test_sum(benchmark, n):
    benchmark(work, [n])

def test_sorted(benchmark):
    benchmark(ordered, [2, 1])
"""
NAMES = [*(f"test_sum[{n}]" for n in range(10)), "test_sorted"]
EXPECTED_FAILURE = """
import pytest

def pytest_collection_modifyitems(items):
    items[-1].add_marker(pytest.mark.xfail)

@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    yield
    assert pyfuncitem.name != "test_sorted"
    return True
"""
QUIET = {"sigma": 0.02, "drift": 0, "spike_probability": 0, "process_sigma": 0.005}
COMPARE = "--benchmark-compare"


class Project:
    """A suite in a git repository, with five processes recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def truth(self, seed=100, noise=QUIET, **factors):
        """Return the fake clock's variable: a millisecond for each, times the factors."""
        times = {name: 1e-3 * factors.get(name.partition("[")[0], 1) for name in NAMES}
        times["test_sum[90]"] = 1e-3
        file = self.folder / f"truth-{seed}-{len(list(self.folder.glob('truth-*')))}.json"
        file.write_text(json.dumps({"benchmarks": times, "noise": noise}))
        return f"{seed}:{file}"

    @property
    def library(self) -> Path:
        return self.folder / "library.py"

    def change(self):
        """Change the code that all benchmarks run."""
        text = self.library.read_text()
        version = int(re.search(r"VERSION = (\d)", text)[1])
        self.library.write_text(text.replace(f"VERSION = {version}", f"VERSION = {version + 1}"))
        git(self.folder, "commit", "-qam", "changed")

    def run(self, *arguments, fake=None, **changes):
        """Run pytest, and return its result and the verdicts by test."""
        saved = self.folder / "run.json"
        saved.unlink(missing_ok=True)
        result = run(
            "test_suite.py",
            "--gnn-turns=never",
            *arguments,
            f"--benchmark-json={saved}",
            f"--junitxml={self.folder / 'junit.xml'}",
            cwd=self.folder,
            GNNBENCH_FAKE_CLOCK=fake or self.truth(),
            **changes,
        )
        content = json.loads(saved.read_text()) if saved.exists() else {"benchmarks": []}
        ours = {entry["name"]: entry["extra_info"].get("gnnbench", {}) for entry in content["benchmarks"]}
        return result, {
            name: part["comparison"]["verdict"] for name, part in ours.items() if "comparison" in part
        }

    def command(self, *arguments, **changes):
        """Run gnnbench."""
        return gnnbench(*arguments, cwd=self.folder, **{"GNNBENCH_FAKE_CLOCK": self.truth(), **changes})

    def failures(self):
        """Return what JUnit's file says of failed tests."""
        root = ET.parse(self.folder / "junit.xml").getroot()
        return {
            case.get("name"): failure.get("message")
            for case in root.iter("testcase")
            for failure in case.findall("failure")
        }


def git(folder, *arguments):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "library.py").write_text(LIBRARY)
    (folder / "pytest.ini").write_text("[pytest]\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "suite")
    (folder / "baselines").mkdir()
    project = Project(folder)
    result = project.command(
        "baseline", "record", "--processes=5", "--reason", "first\x1b[2J", "--", "test_suite.py"
    )
    assert result.returncode == 0, result.stderr
    assert "recorded 11 benchmarks in 5 processes: record 0001" in result.stdout
    return folder


@pytest.fixture
def unchanged(recorded, tmp_path):
    shutil.copytree(recorded, tmp_path / "project")
    return Project(tmp_path / "project")


@pytest.fixture
def project(unchanged):
    """A project whose code was changed after it was recorded, so that times decide."""
    unchanged.change()
    return unchanged


def files(project):
    return sorted(path.read_bytes() for path in (project.folder / FOLDER).rglob("*.json"))


def test_the_same_code_is_same_whatever_its_time(unchanged):
    slow = unchanged.truth(7, test_sum=1.5, test_sorted=1.5)
    result, verdicts = unchanged.run(COMPARE, "--gnn-strict", fake=slow)
    assert result.returncode == 0, result.stdout
    assert verdicts == dict.fromkeys(NAMES, "same")
    assert "0 slower, 0 faster, 11 same, 0 undecided" in result.stdout
    assert "timing again" not in result.stdout
    content = json.loads((unchanged.folder / "run.json").read_text())
    for entry in content["benchmarks"]:
        comparison = entry["extra_info"]["gnnbench"]["comparison"]
        assert comparison["same_code"]
        assert comparison["reason"] == "runs the same code"
        assert (comparison["base_processes"], comparison["against"]) == (5, "0001")


def test_only_the_benchmark_whose_code_changed_is_judged_by_time(unchanged):
    text = unchanged.library.read_text().replace("return work(numbers)", "return work(sorted(numbers))")
    unchanged.library.write_text(text)
    slow = unchanged.truth(8, test_sum=1.5, test_sorted=1.5)
    result, verdicts = unchanged.run(COMPARE, fake=slow)
    assert result.returncode == 1, result.stdout
    assert verdicts == dict.fromkeys(NAMES[:-1], "same") | {"test_sorted": "slower"}
    assert "1 benchmark may be slower or had CPU contention: timing again" in result.stdout
    ((name, message),) = unchanged.failures().items()
    assert name == "test_sorted"
    assert "code: ordered" in message


def test_an_ignored_benchmark_is_timed_and_shown_but_never_fails(project):
    rule = '[[rules]]\nbenchmarks = "*test_sorted"\nignore = "not yet tuned"\n'
    (project.folder / "gnnbench.toml").write_text(rule)
    result, verdicts = project.run(COMPARE, fake=project.truth(7, test_sorted=1.5))
    assert result.returncode == 0, result.stdout
    assert verdicts["test_sorted"] == "ignored"
    assert "11 passed" in result.stdout
    text = " ".join(result.stdout.split())
    assert "ignored: not yet tuned (rule 1 of gnnbench.toml); without the rule: slower, the sim" in text
    assert "0 incomparable, 1 ignored" in text
    assert not project.failures()
    (project.folder / "gnnbench.toml").write_text(f"{rule}until = 2020-01-31\n")
    result, verdicts = project.run(COMPARE, fake=project.truth(7, test_sorted=1.5))
    assert (result.returncode, verdicts["test_sorted"]) == (1, "slower")


def test_a_rule_sets_the_effect_of_a_benchmark_and_the_command_line_that_of_all(project):
    rule = '[[rules]]\nbenchmarks = "*test_sorted"\neffect = "90%"\n'
    (project.folder / "gnnbench.toml").write_text(rule)
    slow = {"fake": project.truth(7, test_sorted=1.5)}
    result, verdicts = project.run(COMPARE, **slow)
    assert (result.returncode, verdicts["test_sorted"]) == (0, "same")
    assert "timing again" not in result.stdout
    result, verdicts = project.run(COMPARE, "--gnn-effect=3%", **slow)
    assert (result.returncode, verdicts["test_sorted"]) == (1, "slower")


def test_a_change_that_takes_no_time_passes(project):
    before = files(project)
    result, verdicts = project.run(COMPARE, fake=project.truth(7))
    assert result.returncode == 0, result.stdout
    assert set(verdicts) == set(NAMES)
    assert set(verdicts.values()) <= {"same", "undecided"}
    assert "compared with record 0001" in result.stdout
    assert ": first?[2J" in result.stdout, "nothing in a record controls the terminal"
    assert "0 slower, 0 faster" in result.stdout
    assert files(project) == before


def test_a_slowdown_fails_exactly_that_test_and_is_no_next_baseline(project):
    before = files(project)
    fake = project.truth(8, test_sorted=1.05)
    result, verdicts = project.run(COMPARE, fake=fake)
    assert result.returncode == 1, result.stdout
    assert "may be slower or had CPU contention: timing again, new process 3 of 3" in result.stdout
    assert {name for name, verdict in verdicts.items() if verdict == "slower"} == {"test_sorted"}
    ((name, message),) = project.failures().items()
    assert name == "test_sorted"
    assert float(message.split()[1].rstrip("x")) == pytest.approx(1.05, rel=0.03)
    assert "the simultaneous 99% interval excludes 1; processes: 5 in the baseline, 4 now" in message
    assert "[record 0001]" in message
    assert "FAILED test_suite.py::test_sorted - slower: 1." in result.stdout
    # A second time it is judged against the same record, and is as slow as before.
    assert files(project) == before
    assert project.run(COMPARE, "--gnn-confirm=1", fake=fake)[0].returncode == 1


def test_what_looks_slower_once_is_timed_again_before_it_fails(project):
    noisy = {**QUIET, "process_sigma": 0.02}
    outcomes = []
    for seed in range(3):
        once = (COMPARE, "--gnn-confirm=1", "--gnn-effect=0.1%")
        result, verdicts = project.run(*once, fake=project.truth(900 + seed, noisy))
        outcomes.append(("timing again" in result.stdout, "slower" in verdicts.values()))
    assert any(again for again, _ in outcomes)
    assert not all(slower for _, slower in outcomes)
    result, _ = project.run(COMPARE, "--gnn-confirm=0", fake=project.truth(8, test_sorted=1.5))
    assert result.returncode == 1
    assert "timing again" not in result.stdout


def test_another_environment_is_refused_by_its_fields(project):
    result, verdicts = project.run(COMPARE, OMP_NUM_THREADS="1")
    assert result.returncode == 0
    assert verdicts == {}
    text = " ".join(result.stdout.split())
    early, _, late = text.partition("test_suite.py")
    assert "no timings of this machine" in early, "before minutes are spent on timing"
    assert "no timings of this machine" in late
    assert "the most similar, " in text
    assert "differs in threads 2 vs 1" in text
    assert "gnnbench baseline record -- -p no:cacheprovider --gnn-device cpu test_suite.py; or" in text
    assert "no benchmark was judged" in text
    strict, _ = project.run(COMPARE, "--gnn-strict", OMP_NUM_THREADS="1")
    assert strict.returncode == 1
    assert "failed: no benchmark was judged" in strict.stdout


def test_new_removed_and_renamed_benchmarks_are_named(project):
    suite = (project.folder / "test_suite.py").read_text()
    (project.folder / "test_suite.py").write_text(suite.replace("range(10)", "[*range(9), 90]"))
    fake = project.truth(9)
    result, verdicts = project.run(COMPARE, "--gnn-effect=30%", fake=fake)
    assert result.returncode == 0, result.stdout
    assert verdicts["test_sum[90]"] == "incomparable"
    text = " ".join(result.stdout.split())
    assert "new: not in the baseline; renamed from test_suite.py::test_sum[9]?" in text
    assert (
        "missing: in the baseline, but not timed in this run; renamed to test_suite.py::test_sum[90]?" in text
    )
    strict, _ = project.run(COMPARE, "--gnn-effect=30%", "--gnn-strict", fake=fake)
    assert strict.returncode == 1
    assert "failed: test_suite.py::test_sum[9]: incomparable; missing" in strict.stdout
    # What was left out on purpose has not vanished.
    result, _ = project.run(COMPARE, "--gnn-effect=30%", "--gnn-strict", "-k", "sorted", fake=fake)
    assert result.returncode == 0, result.stdout
    assert "missing: in the baseline" not in result.stdout


def test_a_record_of_a_part_leaves_the_rest_to_the_record_before_it(project):
    words = ("--processes", "2", "--reason", "a part", "--", "test_suite.py", "-k", "sorted")
    result = project.command(
        "baseline", "record", *words, GNNBENCH_FAKE_CLOCK=project.truth(50, test_sorted=2)
    )
    assert "record 0002" in result.stdout, result.stderr
    slow = project.truth(8, test_sum=1.5, test_sorted=2)
    result, verdicts = project.run(COMPARE, "--gnn-confirm=0", fake=slow)
    assert result.returncode == 1, result.stdout
    assert {verdicts[name] for name in NAMES[:-1]} == {"slower"}
    assert verdicts["test_sorted"] in ("same", "undecided")
    text = " ".join(result.stdout.split())
    assert "gnnbench: 1 benchmark compared with record 0002 of" in text
    assert "gnnbench: 10 benchmarks compared with record 0001 of" in text
    assert "2 processes, commit" in text
    assert "[record 0001]" in next(iter(project.failures().values()))
    # One that only the older record has has vanished where it is gone.
    (project.folder / "test_suite.py").write_text(SUITE.replace("range(10)", "range(9)"))
    result, _ = project.run(COMPARE, fake=project.truth(8, test_sorted=2))
    text = " ".join(result.stdout.split())
    assert "missing: in the baseline, but not timed in this run: test_sum[9]" in text
    assert text.count("missing: in the baseline") == 1
    git(project.folder, "commit", "-qam", "one less")
    result = project.command("baseline", "record", "--processes", "2", "--", "test_suite.py")
    assert "record 0003" in result.stdout, result.stderr
    assert "missing: in the baseline" not in project.run(COMPARE)[0].stdout


def test_strict_fails_what_is_undecided_and_a_run_that_judged_nothing(project):
    result, verdicts = project.run(COMPARE, "--gnn-strict", "--gnn-confirm=0", "--gnn-effect=0.1%")
    assert result.returncode == 1
    undecided = {name for name, verdict in verdicts.items() if verdict == "undecided"}
    assert undecided
    assert set(project.failures()) == undecided
    assert "minimum detectable effect" in next(iter(project.failures().values()))
    for arguments in (("-k", "nothing_of_that_name"), ("--benchmark-skip",), ("--benchmark-disable",)):
        result, _ = project.run(COMPARE, "--gnn-strict", *arguments)
        assert result.returncode == 1, arguments
        assert "failed: no benchmark was judged" in result.stdout


def test_what_is_skipped_or_out_of_memory_is_named(project):
    suite = (project.folder / "test_suite.py").read_text()
    suite = suite.replace("    benchmark(ordered, [2, 1])", "    import pytest\n    pytest.skip('not today')")
    (project.folder / "test_suite.py").write_text(suite)
    result, _ = project.run(COMPARE, "--gnn-effect=30%", "--gnn-strict")
    assert result.returncode == 1
    assert "failed: test_suite.py::test_sorted: incomparable; missing: in the baseline" in result.stdout


def test_a_parallel_run_never_passes_as_judged(project):
    result, _ = project.run(COMPARE, "-n", "2")
    assert "no benchmark was judged (-n switches timing off)" in result.stdout
    strict, _ = project.run(COMPARE, "-n", "2", "--gnn-strict")
    assert strict.returncode == 1
    assert "failed: no benchmark was judged (-n switches timing off)" in strict.stdout


def test_a_record_is_chosen_by_its_number(project):
    assert project.run(f"{COMPARE}=0001", fake=project.truth(7))[0].returncode == 0
    result, _ = project.run(f"{COMPARE}=0009")
    assert result.returncode == 4
    assert "no record 0009" in result.stdout + result.stderr


def test_a_baseline_that_was_changed_by_hand_judges_nothing(project):
    file = next((project.folder / FOLDER).rglob("*_p3.json"))
    file.write_text(file.read_text().replace('"first', '"other'))
    result, _ = project.run(COMPARE)
    assert result.returncode == 1
    assert "edited after it was recorded" in result.stdout


def test_a_test_that_fails_and_one_that_is_interrupted_are_reported_as_ever(project):
    more = "\n\ndef test_fails():\n    assert 0\n\ndef test_stops():\n    raise KeyboardInterrupt\n"
    suite = (project.folder / "test_suite.py").read_text()
    (project.folder / "test_suite.py").write_text(suite + more)
    result, verdicts = project.run(COMPARE)
    assert result.returncode == 2
    assert "1 failed, 11 passed" in result.stdout
    assert verdicts == {}


def test_an_interruption_says_that_nothing_was_judged_and_strict_needs_a_baseline_folder(project):
    suite = (project.folder / "test_suite.py").read_text()
    (project.folder / "test_suite.py").write_text(
        f"{suite}\n\ndef test_stops():\n    import pytest\n    pytest.exit('enough', 0)\n"
    )
    result, _ = project.run(COMPARE)
    assert "failed: interrupted: the timed benchmarks were not compared" in result.stdout
    assert result.returncode != 0
    (project.folder / "test_suite.py").write_text(suite)
    shutil.rmtree(project.folder / "baselines")
    result, _ = project.run(COMPARE, "--gnn-strict")
    assert result.returncode == 1
    assert "no timings of this machine" in " ".join(result.stdout.split())


def test_an_expected_failure_that_is_slower_still_fails_the_run(project):
    (project.folder / "conftest.py").write_text(EXPECTED_FAILURE)
    result, _ = project.run(COMPARE, "--gnn-confirm=0", fake=project.truth(8, test_sorted=1.5))
    assert result.returncode == 1, result.stdout
    assert "failed: test_suite.py::test_sorted: slower: 1." in result.stdout


def test_verdicts_are_saved_by_their_schema(project):
    project.run(COMPARE, "--gnn-effect=10%")
    schema = json.loads((ROOT / "gnnbench/schemas/run.schema.json").read_text())
    content = json.loads((project.folder / "run.json").read_text())
    for entry in content["benchmarks"]:
        jsonschema.validate(entry["extra_info"]["gnnbench"], schema)
    assert entry["extra_info"]["gnnbench"]["comparison"]["against"] == "0001"
    jsonschema.validate(content["gnnbench"], {"$ref": "#/$defs/file", "$defs": schema["$defs"]})
    levels = {"effect": 0.1, "family_level": 0.99, "own_level": 0.95}
    assert content["gnnbench"]["compared"] == {**levels, "shared": None, "turns": []}


def test_a_drift_is_taken_out(project):
    drifting = {**QUIET, "drift": 0.3}
    shutil.rmtree(project.folder / FOLDER)
    whole = "--gnn-precision=0.01%"  # which is never reached: a second each, and so a part of the minute
    command = ("baseline", "record", "--processes=3", "--", "test_suite.py", whole)
    assert project.command(*command, GNNBENCH_FAKE_CLOCK=project.truth(300, drifting)).returncode == 0
    project.change()
    fake = project.truth(400, drifting, test_sorted=1.5)
    result, verdicts = project.run(COMPARE, "--gnn-confirm=1", whole, fake=fake)
    assert "a drift of the machine was removed: each ratio is relative" in " ".join(result.stdout.split())
    assert "slower" not in {verdicts[name] for name in NAMES[:-1]}
    shared = json.loads((project.folder / "run.json").read_text())["gnnbench"]["compared"]["shared"]
    assert shared["against"] == "0001"
    assert f"All benchmarks together: {shared['verdict']}" in " ".join(result.stdout.split())


def test_the_suite_s_own_counters_are_judged_too(tmp_path):
    """A workload that does more fails, however fast it is."""
    shutil.copytree(
        ROOT / "benchmarks", tmp_path / "benchmarks", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "baselines" / "counters", tmp_path / "baselines" / "counters")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    name = "spmm_sum-forward-torch-float32-int64-rmat:5-8-cpu"
    arguments = ("benchmarks/test_spmm.py", "--gnn-all", *SMALL, "--gnn-platform=torch")
    select = ("-k", "spmm_sum and not backward", "--benchmark-max-time=0.02")
    counted = run_kernels(*arguments, *select, "--gnn-counters=update", cwd=tmp_path)
    assert counted.returncode == 0, counted.stdout
    result = run_kernels(*arguments, *select, COMPARE, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "no timings of this machine" in " ".join(result.stdout.split())
    (file,) = (path for path in (tmp_path / "baselines/counters").glob("*.json") if name in path.read_text())
    content = json.loads(file.read_text())
    operators = content["counters"][name]["operators"]
    operators["aten::mm"] = operators.get("aten::mm", 0) + 2
    file.write_text(json.dumps(content))
    result = run_kernels(*arguments, *select, COMPARE, cwd=tmp_path)
    assert result.returncode == 1
    assert (
        f"counters differ from baselines/counters/{file.name}: -2 aten::mm; if this is meant" in result.stdout
    )
    planned = run_kernels(*arguments, *select, COMPARE, "--gnn-dry-run", cwd=tmp_path)
    assert planned.returncode == 0, planned.stdout
    (tmp_path / "gnnbench.toml").write_text(f"[[rules]]\nbenchmarks = '*[{name}]'\nignore = 'known'\n")
    for how in (COMPARE, "--gnn-counters"):
        result = run_kernels(*arguments, *select, how, cwd=tmp_path)
        assert result.returncode == 0, result.stdout
        assert "ignored: known (rule 1 of gnnbench.toml): " in " ".join(result.stdout.split())
        assert "-2 aten::mm" in result.stdout


def test_another_project_s_tensors_are_counted_but_have_no_baseline_of_counters(tmp_path):
    suite = "import torch\n\ndef test_one(benchmark):\n    benchmark(torch.neg, torch.ones(3))\n"
    (tmp_path / "test_suite.py").write_text(suite)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    short = ("--benchmark-max-time=0.02", "--benchmark-json=run.json")
    result = run_kernels("--gnn-layouts=sample", *short, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    content = json.loads((tmp_path / "run.json").read_text())
    ours = content["benchmarks"][0]["extra_info"]["gnnbench"]
    assert ours["counters"]["counts"]["operators"] == {"aten::neg": 1}
    copies = [json.loads(json.dumps(content)) for _ in range(2)]
    RecordStore(tmp_path / FOLDER).save(copies, get_machine_id(), "first", "")
    result = run_kernels(COMPARE, "--gnn-strict", *short, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "1 same" in result.stdout


def test_a_shard_is_judged_alone_and_other_shards_benchmarks_have_not_vanished(project):
    suite = project.folder / "test_suite.py"
    parts = {
        number: {name for name in NAMES if Shard(number, 2).has(f"test_suite.py::{name}")}
        for number in (1, 2)
    }
    for number, names in parts.items():
        result, verdicts = project.run(COMPARE, "--gnn-shard", f"{number}/2", fake=project.truth(7))
        assert verdicts.keys() == names
        assert "missing: in the baseline" not in result.stdout
        assert result.returncode == 0, result.stdout
    # Whoever had it tells that it is gone, and nobody else.
    suite.write_text(SUITE.replace("def test_sorted", "def no_test_sorted"))
    for number, names in parts.items():
        result, _ = project.run(COMPARE, "--gnn-shard", f"{number}/2", "--gnn-strict", fake=project.truth(7))
        assert ("missing: in the baseline" in result.stdout) == ("test_sorted" in names)


def test_a_shard_s_slowdown_is_found_at_a_level_for_all_shards(project):
    number = next(number for number in (1, 2) if Shard(number, 2).has("test_suite.py::test_sorted"))
    slow = project.truth(7, test_sorted=1.5)
    result, verdicts = project.run(COMPARE, "--gnn-confirm=1", "--gnn-shard", f"{number}/2", fake=slow)
    assert result.returncode == 1
    assert verdicts["test_sorted"] == "slower"
    assert "the simultaneous 99.5% interval" in " ".join(result.stdout.split())


def test_a_record_of_another_shard_is_not_the_newest(project):
    words = ("--processes", "2", "--", "test_suite.py", "--gnn-shard", "1/2")
    result = project.command("baseline", "record", *words)
    assert "record 0002" in result.stdout, result.stderr
    for shard, number in (((), "0001"), (("--gnn-shard", "2/2"), "0001"), (("--gnn-shard", "1/2"), "0002")):
        result, _ = project.run(COMPARE, *shard, fake=project.truth(7))
        assert f"compared with record {number}" in result.stdout


INSIDE = "bench/test_one.py::test_one"
LAYOUTS = {
    "no ini file": ("", "", ["bench"], ".", INSIDE),
    "pytest.ini": ("pytest.ini", "[pytest]", ["bench"], ".", INSIDE),
    "tox.ini": ("tox.ini", "[pytest]", ["bench"], ".", INSIDE),
    "setup.cfg": ("setup.cfg", "[tool:pytest]", ["bench"], ".", INSIDE),
    "pyproject.toml": ("pyproject.toml", "[tool.pytest.ini_options]", ["bench"], ".", INSIDE),
    "-c": (
        "settings/some.ini",
        "[pytest]",
        ["-c", "settings/some.ini", "bench"],
        "settings",
        "test_one.py::test_one",
    ),
    "--rootdir": ("", "", ["--rootdir", "bench", "bench"], "bench", "test_one.py::test_one"),
    "a subfolder": ("pytest.ini", "[pytest]", ["."], ".", INSIDE),
}
"""File of settings, its text, pytest's arguments, rootdir, the test's id."""


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The run file of a suite of one benchmark, which takes a millisecond."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "test_one.py").write_text("def test_one(benchmark):\n    benchmark(sum, [1])\n")
    (folder / "truth.json").write_text(json.dumps({"benchmarks": {"test_one": 1e-3}, "noise": QUIET}))
    result = run(
        *("test_one.py", "--gnn-layouts=sample", "--benchmark-json=run.json"),
        cwd=folder,
        GNNBENCH_FAKE_CLOCK=f"1:{folder / 'truth.json'}",
    )
    assert result.returncode == 0, result.stdout
    return folder


@pytest.mark.parametrize("layout", LAYOUTS)
def test_records_lie_in_rootdir_and_a_fresh_process_has_the_same_one(once, tmp_path, layout):
    file, text, arguments, rootdir, name = LAYOUTS[layout]
    bench = tmp_path / "bench"
    for folder in (bench, tmp_path / "settings"):
        folder.mkdir()
    if file:
        (tmp_path / file).write_text(text)
    shutil.copy(once / "test_one.py", bench)
    contents = [json.loads((once / "run.json").read_text()) for _ in range(2)]
    for content in contents:
        (entry,) = content["benchmarks"]
        entry["fullname"] = name
        del entry["extra_info"]["gnnbench"]["fingerprint"]  # so that times decide
    RecordStore(tmp_path / rootdir / FOLDER).save(contents, get_machine_id(), "first", "")
    slow = {"benchmarks": {"test_one": 3e-3}, "noise": QUIET}
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    result = run(
        *arguments,
        *(COMPARE, "--gnn-turns=never", "--gnn-confirm=1"),
        cwd=bench if layout == "a subfolder" else tmp_path,
        GNNBENCH_FAKE_CLOCK=f"2:{tmp_path / 'slow.json'}",
    )
    assert result.returncode == 1, result.stdout
    assert "timing again, new process 1 of 1" in result.stdout
    assert "1 slower" in result.stdout
    assert "process 101 failed" not in result.stdout
