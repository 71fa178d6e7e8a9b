"""`--benchmark-compare`: real runs on the simulated machine, and what a session makes of parts of them."""

import json
import re
from types import SimpleNamespace

import pytest

from gnnbench.engine.plugin.limits import GATE
from gnnbench.engine.store.baseline import FOLDER
from tests.engine.plugin import recorded as records
from tests.engine.plugin.recorded import COMPARE, QUIET
from tests.runs import ROOT, SMALL, run, run_kernels

LIBRARY = """
VERSION = 1

def work(numbers):
    return sum(numbers) * VERSION // VERSION

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


class Project(records.Project):
    def truth(self, seed=100, noise=QUIET, **factors):
        """Return the fake clock's variable: a millisecond for each, times the factors of names or tests."""
        usual = {name: factors.get(name.partition("[")[0], 1) for name in [*NAMES, "test_sum[90]"]}
        times = {name: 1e-3 * factor for name, factor in {**usual, **factors}.items()}
        return records.machine(self.folder, seed, noise, **times)

    def run(self, *arguments, truth=None):
        words = ("test_suite.py", "--gnn-turns=never", COMPARE, *arguments)
        result = self.measured(*words, **(truth or self.truth()))
        return result, self.verdicts()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "project"
    project = Project.make(folder, {"test_suite.py": SUITE, "library.py": LIBRARY})
    content = records.measure(folder, **project.truth())
    records.save(folder, content, reason="first\x1b[2J")
    return folder


@pytest.fixture
def unchanged(recorded, tmp_path):
    return Project.copy(recorded, tmp_path / "project")


@pytest.fixture
def project(unchanged):
    """A project whose code was changed after it was recorded, so that times decide."""
    unchanged.edit()
    return unchanged


def test_a_slowdown_of_what_changed_fails_exactly_that_test_and_is_no_next_baseline(unchanged):
    """The others run the same code, however long they take."""
    before = sorted(path.read_bytes() for path in (unchanged.folder / FOLDER).rglob("*.json"))
    unchanged.edit("return work(numbers)", "return work(sorted(numbers))")
    slow = unchanged.truth(8, test_sorted=1.05, **{"test_sum[7]": 1.5})
    result, verdicts = unchanged.run("--gnn-confirm=1", truth=slow)
    assert result.returncode == 1, result.stdout
    assert verdicts == dict.fromkeys(NAMES[:-1], "same") | {"test_sorted": "slower"}
    rows = re.findall(r"^ *[\d.]+ [mµ]s .* test_suite\.py::(\S+)$", result.stdout, re.MULTILINE)
    assert rows == NAMES, "the one that fails is in the table of times, too"
    again = "1 benchmark may be slower: timing again in new process 1 of 1"
    assert again in result.text
    ((name, message),) = unchanged.failures().items()
    assert name == "test_sorted"
    assert float(message.split()[1].rstrip("x")) == pytest.approx(1.05, rel=0.03)
    assert "the simultaneous 99% interval excludes 1; processes: 5 in the baseline, 2 now" in message
    assert "code: ordered" in message
    assert "[record 0001]" in message
    assert "FAILED test_suite.py::test_sorted - slower: 1." in result.stdout
    assert ": first?[2J" in result.stdout, "nothing in a record controls the terminal"
    compared = unchanged.content()["gnnbench"]["compared"]
    assert (compared["thresholds"]["effect"], compared["repeat"]) == (0.03, None)
    assert compared["base"]["text"] == "record 0001"
    same = unchanged.comparisons()["test_sum[7]"]
    assert (same["same_code"], same["reason"]) == (True, "runs the same code")
    assert same["base_processes"] == 5
    assert sorted(path.read_bytes() for path in (unchanged.folder / FOLDER).rglob("*.json")) == before


RULES = """
[[rules]]
benchmarks = "*test_sum[0]"
ignore = "not yet tuned"

[[rules]]
benchmarks = "*test_sum[1]"
effect = "90%"

[[rules]]
benchmarks = "*test_sum[3]"
max_time = "0.5 ms"
"""


def test_rules_ignore_set_effects_and_limit_and_an_expected_failure_fails_too(project):
    (project.folder / "gnnbench.toml").write_text(RULES)
    (project.folder / "conftest.py").write_text(EXPECTED_FAILURE)
    slow = dict.fromkeys(("test_sum[0]", "test_sum[1]", "test_sum[2]", "test_sorted"), 1.5)
    result, verdicts = project.run("--gnn-confirm=0", truth=project.truth(7, **slow))
    assert result.returncode == 1, result.stdout
    assert [verdicts[f"test_sum[{n}]"] for n in range(3)] == ["ignored", "same", "slower"]
    failures = project.failures()
    assert failures.keys() == {"test_sum[2]", "test_sum[3]"}
    assert "x max_time = 500 µs (rule 3 of gnnbench.toml)" in failures["test_sum[3]"]
    assert "failed: test_suite.py::test_sorted: slower: 1." in result.stdout
    reason = "ignored: not yet tuned (rule 1 of gnnbench.toml); without the rule: slower, the sim"
    assert reason in result.text
    assert ", 1 ignored" in result.text
    assert "timing again" not in result.text


@pytest.mark.nightly
def test_strict_fails_what_is_undecided_and_the_command_line_sets_the_effect_of_all(project):
    (project.folder / "gnnbench.toml").write_text(RULES.partition('[[rules]]\nbenchmarks = "*test_sum[3]')[0])
    slow = project.truth(7, **{"test_sum[1]": 1.5})
    result, verdicts = project.run("--gnn-strict", "--gnn-confirm=0", "--gnn-effect=0.1%", truth=slow)
    assert result.returncode == 1
    assert verdicts.pop("test_sum[1]") == "slower"
    undecided = {name for name, verdict in verdicts.items() if verdict == "undecided"}
    assert undecided
    failures = project.failures()
    assert failures.keys() == {"test_sum[1]", *undecided}
    assert all("minimum detectable effect" in failures[name] for name in undecided)


def test_where_a_record_has_tests_of_which_none_is_timed_the_session_fails_and_says_what_to_type(project):
    result, verdicts = project.run("--benchmark-skip", "-k", "sorted or [3]")
    assert result.returncode == 1, result.stdout
    assert verdicts == {}
    said = "failed: no benchmark was judged: this session did not time 2 tests of the record; run without -n"
    assert said in result.text
    assert ", or record again: gnnbench baseline record -- " in result.text


MOVED = """
import pytest
from library import ordered, work

@pytest.mark.parametrize("n", range(10), ids="abcdefghij".__getitem__)
def test_sum(benchmark, n):
    benchmark(work, [n])

def test_ordered(benchmark):
    benchmark(ordered, [2, 1])
"""


def test_what_has_another_name_or_file_is_timed_in_turns(unchanged):
    """Its new name is in no record, but today's tests run with the record's code."""
    unchanged.edit("return work(numbers)", "return work(sorted(numbers))")
    (unchanged.folder / "test_suite.py").unlink()
    (unchanged.folder / "test_moved.py").write_text(MOVED)
    times = {**{f"test_sum[{letter}]": 1e-3 for letter in "abcdefghij"}, "test_ordered": 1e-3}
    slow = records.machine(unchanged.folder, base={"test_ordered": 0.5e-3}, **times)
    result = unchanged.measured("test_moved.py", COMPARE, **slow)
    assert result.returncode == 1, result.stdout
    assert unchanged.verdicts() == {**dict.fromkeys(times, "same"), "test_ordered": "slower"}
    assert unchanged.failures().keys() == {"test_ordered"}
    words = ("test_moved.py::test_ordered", "--gnn-turns=never", "--gnn-strict", COMPARE)
    result = unchanged.measured(*words, **slow)
    assert result.returncode == 1, result.stdout
    assert "incomparable; new: not in the baseline" in result.text


def test_who_compares(pytester):
    def ours(*arguments):
        return pytester.parseconfigure(*arguments).pluginmanager.has_plugin(GATE)

    assert not ours(COMPARE)
    assert ours(COMPARE, "--gnn-strict")
    assert ours(f"{COMPARE}=.")
    settings = pytester.path / "gnnbench.toml"
    settings.write_text("effect = '5%'\n")
    assert ours(COMPARE), "in a project with settings"
    assert not ours(COMPARE, "--benchmark-storage=file://./other")
    settings.unlink()
    pytester.mkdir("baselines")
    assert ours(COMPARE)
    for arguments in ((), (COMPARE, "--gnn-counters"), (COMPARE, "--benchmark-storage=file://./other")):
        assert not ours(*arguments)
    with pytest.raises(pytest.UsageError, match="--benchmark-compare: git:nowhere names no commit"):
        pytester.parseconfigure("--rootdir", str(ROOT), f"{COMPARE}=git:nowhere")


def test_pytest_benchmark_s_own_comparison_keeps_its_exit_code_and_one_line_says_whose_it_is(tmp_path):
    (tmp_path / "test_one.py").write_text("def test_one(benchmark):\n    benchmark(sum, [1])\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    said = "gnnbench: pytest-benchmark compared, because there is no record; to compare with gnnbench, give "
    again = "gnnbench baseline record -- -p no:cacheprovider --gnn-device cpu --benchmark-max-time=0.01 ."
    words = (COMPARE, "--benchmark-max-time=0.01")
    result = run(*words, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert result.stdout.count(f"{said}{COMPARE}=git:main or record timings: {again}\n") == 1
    assert "no benchmark was judged" not in result.stdout
    (tmp_path / "gnnbench.toml").write_text("effect = '5%'\n")
    result = run(*words, cwd=tmp_path)
    assert result.returncode == 1, result.stdout
    assert result.stdout.count(f"gnnbench: failed: {MISSING}") == 1
    assert f", or record timings: {again}\n" in result.stdout
    assert said not in result.stdout


def test_what_is_no_base_and_a_wrong_file_end_the_session_before_anything_is_timed(pytester):
    accepted = pytester.mkdir("baselines") / "accepted.toml"
    accepted.write_text("[[accepted]]\nbenchmark = 1\n")
    judging = pytester.parseconfigure(COMPARE).pluginmanager.get_plugin(GATE)
    said = "accepted.toml: accepted[0].benchmark: expected `str`, got `int`"
    with pytest.raises(pytest.exit.Exception, match=re.escape(said)) as stopped:
        judging.pytest_report_collectionfinish()
    assert stopped.value.returncode == pytest.ExitCode.USAGE_ERROR
    with pytest.raises(pytest.UsageError, match="--benchmark-compare: '0009' is not part of a variant"):
        pytester.parseconfigure(f"{COMPARE}=0009")


MISSING = "no benchmark was judged: there are no timings of this machine"
ALLOWED = MISSING.replace(":", " (--gnn-strict makes this a failure):")
KERNELS = """
import pytest

@pytest.mark.operations("spmm_sum", "spmm_mean", "spmm_max")
def test_spmm(case, kernel, measure):
    measure(kernel.run, kernel.build(case), case.features())
"""


def test_counters_are_judged_too(tmp_path):
    """A workload that does more fails, however fast it is, and also without a record of times."""
    (tmp_path / "baselines").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(KERNELS)
    options = ("--gnn-all", *SMALL, "--gnn-platform=torch", "-k", "not backward")
    counted = run_kernels(*options, "--gnn-counters=update", cwd=tmp_path)
    assert counted.returncode == 0, counted.stdout
    (file,) = (tmp_path / "baselines/counters").glob("*.json")
    assert f"3 recorded in baselines/counters/{file.name}" in counted.stdout
    content = json.loads(file.read_text())
    name = "{}-forward-torch-float32-int64-rmat:5-8-cpu"
    for changed in ("spmm_sum", "spmm_mean"):
        operators = content["counters"][name.format(changed)]["operators"]
        operators["aten::mm"] = operators.get("aten::mm", 0) + 2
    file.write_text(json.dumps(content))
    (tmp_path / "gnnbench.toml").write_text("[[rules]]\nbenchmarks = '*spmm_mean*'\nignore = 'known'\n")
    result = run_kernels(*options, COMPARE, "--benchmark-max-time=0.02", cwd=tmp_path)
    assert result.returncode == 1
    text = " ".join(result.stdout.split())
    assert "1 failed, 2 passed" in text
    differ = f"counters differ from baselines/counters/{file.name}: -2 aten::mm; if the change is intended"
    assert text.count(f"ignored: known (rule 1 of gnnbench.toml): {differ}") == 1
    assert text.count(differ) > 1
    early, _, late = text.partition("[1/3]")
    missing = "there are no timings of this machine"
    assert missing in early, "before minutes are spent on timing"
    assert missing in late


def test_a_shard_s_level_is_its_part_of_the_error_rate(known):
    judging = known.parseconfigure(f"{COMPARE}=.", "--gnn-shard=1/2").pluginmanager.get_plugin(GATE)
    judging._compare(pytest.Session.from_config(judging._config))
    assert judging._failures == []
    content = {"gnnbench": {}}
    judging.pytest_benchmark_update_json(content)
    assert content["gnnbench"]["compared"]["thresholds"]["family_level"] == pytest.approx(0.995)


@pytest.mark.parametrize(
    ("words", "benchmarks", "failed", "said"),
    [
        ((COMPARE,), 1, [MISSING], []),
        ((COMPARE, "--benchmark-autosave"), 1, [], [ALLOWED]),
        ((COMPARE,), 0, [], [ALLOWED]),
        ((COMPARE, "--gnn-strict"), 0, [MISSING], []),
    ],
    ids=["none", "saved", "no benchmark", "no benchmark, strict"],
)
def test_without_a_record_the_session_fails_in_one_line(known, words, benchmarks, failed, said):
    (known.path / FOLDER).mkdir(parents=True)
    config = known.parseconfigure(*words, "--gnn-device=cpu")
    judging, session = config.pluginmanager.get_plugin(GATE), pytest.Session.from_config(config)
    session.items = [SimpleNamespace(nodeid="a.py::a", fixturenames=["benchmark"][:benchmarks])]
    judging._compare(session)
    for lines, starts in ((judging._failures, failed), (judging._notes, said)):
        assert len(lines) == len(starts)
        assert all(map(str.startswith, map(str, lines), starts))
    if MISSING in failed:
        (note,) = judging._failures
        assert note.text.endswith(f"; compare with a commit, as in {COMPARE}=git:main, or record timings")
        assert note.command.startswith("gnnbench baseline record -- ")
