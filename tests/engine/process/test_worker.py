"""Real suites in a worker: whatever a suite does, it does in turns too."""

import pytest

from gnnbench.engine.process.variants.import_roots import Redirect
from tests.engine.process.workers import clean, here, process, visits, write
from tests.runs import ROOT, SMALL

SUITE = """
import os
import pytest_benchmark.fixture
import unittest
import pytest

LOG = []

@pytest.fixture(scope="session")
def session():
    LOG.append("session")
    yield
    print("session ends")

@pytest.fixture(scope="module")
def module(session):
    LOG.append("module")
    yield

@pytest.fixture(scope="class")
def of_class():
    LOG.append("class")
    yield
    LOG.append("class ends")

@pytest.fixture
def each(module):
    LOG.append("each")
    yield
    LOG.append("each ends")

def test_scopes(benchmark, each, of_class):
    benchmark(sum, [1])

def test_log(benchmark):
    benchmark(sum, [1])
    assert LOG.count("session") == LOG.count("module") == 1, LOG
    assert LOG.count("each") == LOG.count("each ends") == 3, LOG

class TestClass:
    @pytest.fixture(autouse=True)
    def own(self, benchmark):
        self.mine = benchmark

    def test_in_a_class(self, of_class):
        assert self.mine(sum, [1, 2]) == 3

class TestOld(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def own(self, benchmark):
        self.mine = benchmark

    def setUp(self):
        self.numbers = [1, 2]

    def test_of_unittest(self):
        self.assertEqual(self.mine(sum, self.numbers), 3)

@pytest.mark.parametrize("text", ["a::b", "new\\nline", "π", "[x]", "\\ud800", " "], ids=lambda text: text)
def test_odd(benchmark, text):
    assert benchmark(len, text) == len(text)

@pytest.mark.benchmark(group="mine", min_rounds=3, disable_gc=True, warmup=True)
def test_marked(benchmark):
    benchmark.extra_info["x"] = 1
    benchmark(sum, [1])
    stats = benchmark.stats.stats
    assert stats.rounds >= 3 and stats.min <= stats.median <= stats.max
    assert benchmark.stats["mean"] > 0 and benchmark.group == "mine"

def test_by_another_name(request):
    request.getfixturevalue("benchmark")(sum, [1])

def test_in_set_up(timed):
    assert timed == 3

@pytest.fixture
def timed(benchmark):
    return benchmark(sum, [1, 2])

def test_wrong_rounds(benchmark):
    benchmark.pedantic(sum, ([1],), rounds=0)

def test_twice(benchmark):
    benchmark(sum, [1])
    benchmark(sum, [1])

def test_caught(benchmark):
    try:
        benchmark(lambda: 1 / 0)
    except ZeroDivisionError:
        pass

def test_raises(torn, benchmark):
    benchmark(lambda: {}["missing"])

def test_has_much_to_say(benchmark):
    raise ValueError("x" * 1000 + "\\n two")

def test_lacks_a_fixture(benchmark, nowhere):
    pass

@pytest.mark.xfail(reason="known")
def test_known(benchmark):
    raise OSError

@pytest.mark.xfail
def test_fails_no_more(benchmark):
    benchmark(sum, [1])

def test_raises_afterwards(benchmark):
    assert benchmark(sum, [1, 2]) == 4

@pytest.fixture
def torn():
    yield
    raise OSError("stays")

def test_raises_in_tear_down(torn, benchmark):
    benchmark(sum, [1])

@pytest.mark.skip(reason="not here")
def test_skipped(benchmark):
    pass

@pytest.mark.benchmark
def test_no_benchmark():
    pass

class Foreign:
    __class__ = pytest_benchmark.fixture.BenchmarkFixture

class TestForeign:
    @pytest.fixture
    def benchmark(self):
        return Foreign()

    def test_of_another_plugin(self, benchmark):
        pass

def test_replaces(benchmark, monkeypatch):
    for name in ("json.dumps", "json.loads", "os.getpid", "builtins.open"):
        monkeypatch.setattr(name, lambda *_: 0)
    benchmark(sum, [1])

def test_removes_its_folder(benchmark, tmp_path):
    os.chdir(tmp_path)
    tmp_path.rmdir()
    benchmark(sum, [1])

def test_pedantic(benchmark):
    assert benchmark.pedantic(sorted, setup=lambda: (([2, 1],), {}), rounds=3, warmup_rounds=1) == [1, 2]
    assert benchmark.stats.stats.rounds >= 3
"""


WRONG = """
import pytest

@pytest.mark.operations("copy")
def test_wrong(case, measure):
    measure(lambda x: x + 1, case.features(), reference=lambda graph, x: x)
"""


class Suite:
    def __init__(self, worker):
        self.worker = worker
        self.collected = worker.answer(60)

    def run(self, name):
        answers = []
        for command in visits(name, blocks=3):
            answers.append(self.worker.ask(command, 60))
            if answers[-1]["answer"] == "done":
                break
        return answers

    def failure(self, name):
        failure = self.run(name)[-1]["failure"]
        return failure and failure["text"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("suite"), SUITE)
    with pytest.MonkeyPatch.context() as monkeypatch:
        clean(monkeypatch)
        with process(folder) as worker:
            yield Suite(worker)


def test_fixtures_of_every_scope(suite):
    for _ in range(3):
        assert suite.failure("test_scopes") is None
    assert suite.failure("test_log") is None


def test_which_are_benchmarks_whatever_their_names(suite):
    declared = {name.removeprefix("test_suite.py::") for name in suite.collected["declared"]}
    assert {"test_scopes", "test_in_set_up", "TestOld::test_of_unittest"} <= declared
    assert not {"test_by_another_name", "test_no_benchmark"} & declared
    (answer,) = suite.run("test_no_benchmark")
    assert (answer["held"], answer["failure"], answer["fixture"]) == (False, None, "")
    (line,) = suite.collected["excluded"]
    assert line.startswith("marked as benchmarks, but not timed, ")
    (answer,) = suite.run("TestForeign::test_of_another_plugin")
    assert answer["fixture"] == "its fixture `benchmark` comes from test_suite.py"
    odd = [name for name in declared if "odd" in name]
    assert len(odd) == 6
    assert all(suite.failure(name) is None for name in odd)


def test_benchmarks_can_be_run_again(suite):
    functions = "marked by_another_name in_set_up pedantic caught fails_no_more replaces"
    names = [f"test_{name}" for name in functions.split()]
    for name in [*names, "TestClass::test_in_a_class", "TestOld::test_of_unittest"] * 2:
        *answers, last = suite.run(name)
        blocks = 0 if name == "test_caught" else 3  # the suite expects its error, which ends the first block
        assert [one["answer"] for one in answers] == ["ready", *["block"] * blocks], name
        assert (last["failure"], last["held"]) == (None, True), name
        assert all(one["ns"] > 0 for one in answers[1:])


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("raises", "raised: KeyError: 'missing'"),
        ("raises_afterwards", "raised: assert 3 == 4"),
        ("raises_in_tear_down", "raised in tear-down: OSError: stays"),
        ("has_much_to_say", f"raised: ValueError: {'x' * 288}, test_suite.py:"),
        ("lacks_a_fixture", "raised in set-up: fixture 'nowhere' not found"),
        ("known", "failed, as expected (xfail: known)"),
        ("wrong_rounds", "raised: ValueError: Must have positive int"),
        ("twice", "raised: pytest_benchmark.fixture.FixtureAlreadyUsed"),
        ("skipped", "skipped: not here"),
    ],
)
def test_what_goes_wrong(suite, name, failure):
    for _ in range(2):
        assert suite.failure(f"test_{name}").startswith(failure)
    assert suite.failure("test_marked") is None


def test_a_suite_with_options_against_it(tmp_path, monkeypatch):
    """Neither xdist nor the first failure ends it, and nothing is written beside it or compared."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    write(tmp_path, SUITE)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -n 2 -x --lf --ff --benchmark-skip --benchmark-autosave --junitxml=x.xml"
        " --benchmark-json=x.json\n"
    )
    with process(tmp_path, "--benchmark-compare", "--benchmark-histogram") as worker:
        suite = Suite(worker)
        assert suite.collected["notes"] == ["overridden options: -n, --lf, --benchmark-skip, --maxfail"]
        assert suite.failure("test_raises").startswith("raised: KeyError: 'missing', test_suite.py:")
        assert suite.failure("test_removes_its_folder") is None
    left = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert left == {"pytest.ini", "test_suite.py", "worker.log", "worker.trees"}


@pytest.mark.usefixtures("fresh_children")
def test_a_tree_comes_before_the_caller_s_and_may_have_another_gnnbench(tmp_path):
    """The worker is the coordinator's own whatever the side calls gnnbench, plugin and all."""
    other = tmp_path / "other"
    for folder, which in ((tmp_path, "caller"), (other, "tree")):
        for name in ("mine", "benchmarks", "gnnbench")[: 3 if folder == other else 2]:
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text(f"which = '{which}'\n")
    (other / "gnnbench" / "plugin.py").write_text("import gnnbench\nassert gnnbench.which == 'tree'\n")
    write(
        tmp_path,
        "import sys, benchmarks, gnnbench, mine\n"
        "def test_it(benchmark):\n"
        "    assert (mine.which, gnnbench.which, benchmarks.which) == ('tree', 'tree', 'caller')\n"
        "    assert 'gnnbench.engine.measure.clock' not in sys.modules\n"
        "    assert 'gnnbench_coordinator.engine.measure.clock' in sys.modules\n"
        "    benchmark(sum, [1])\n",
    )
    with process(tmp_path, trees=[other]) as worker:
        suite = Suite(worker)
        assert sorted(suite.collected["loaded"]) == ["gnnbench", "mine"]
        assert suite.failure("test_it") is None


@pytest.mark.usefixtures("fresh_children")
def test_the_worker_is_the_coordinator_s_own_where_gnnbench_itself_is_compared(tmp_path):
    write(tmp_path, "def test_it(benchmark):\n    benchmark(sum, [1])\n")
    empty_checkout = Redirect(str(ROOT), str(tmp_path / "tree"), ["gnnbench/engine/process/worker.py"])
    with process(tmp_path, places=[empty_checkout]) as worker:
        assert Suite(worker).failure("test_it") is None


def test_our_own_benchmarks_run(pytester):
    file = str(ROOT / "benchmarks/test_spmm.py")

    def chosen(collected):
        assert collected["has_others"]
        name = next(name for name in collected["names"] if "-torch-" in name)
        return visits(name.partition("::")[2], file="benchmarks/test_spmm.py")

    answers = here(pytester, "", chosen, "-p", "gnnbench", file, *SMALL, "--gnn-device", "cpu")
    assert [one["rounds"] for one in answers if one["answer"] == "block"] == [2]
    assert [one["failure"] for one in answers if one["answer"] == "done"] == [None]


def test_a_result_is_checked_unless_an_earlier_process_has_done_so(pytester):
    def chosen(collected):
        run, block, end = visits(collected["names"][0].partition("::")[2])
        return [run, {**run, "checked": True}, block, end, run]

    answers = here(pytester, WRONG, chosen, "-p", "gnnbench", "test_suite.py", "--gnn-device", "cpu", *SMALL)
    first, checked, last = (one["failure"] for one in answers if one["answer"] == "done")
    assert "output is wrong" in first["text"]
    assert checked is None
    assert last == first
