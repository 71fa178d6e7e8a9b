import pytest

from gnnbench.engine.plugin import records
from gnnbench.engine.plugin.limits import GATE
from gnnbench.engine.plugin.session import arguments_without, session_environment, stop
from gnnbench.engine.store.baseline import FOLDER
from tests import run_files
from tests.engine.plugin import recorded


def test_the_base_gets_no_option_that_its_gnnbench_may_not_know(pytester):
    words = ("--benchmark-compare", "--gnn-time=4min", "--gnn-budget", "9", "--gnn-device=cpu", "-q")
    found = arguments_without(pytester.parseconfigure(*words), "time")
    assert [word for word in found if "basetemp" not in word][-2:] == ["--gnn-device=cpu", "-q"]
    assert not any(word == "9" or "gnn-budget" in word for word in found)


def test_a_mistake_that_is_found_late_stops_the_session_but_only_a_test_of_a_worker(pytester):
    config = pytester.parseconfig()
    with pytest.raises(pytest.exit.Exception, match="gnnbench: wrong") as stopped:
        stop("wrong", config)
    assert stopped.value.returncode == pytest.ExitCode.USAGE_ERROR
    config.workerinput = {}
    with pytest.raises(pytest.fail.Exception, match="gnnbench: wrong"):
        stop("wrong", config)


@pytest.mark.parametrize("value", ["", "=git:main"])
def test_a_worker_of_xdist_compares_nothing_and_nor_does_pytest_benchmark_in_it(pytester, value):
    (pytester.path / FOLDER.parent).mkdir()
    config = pytester.parseconfig(f"--benchmark-compare{value}", "-p", "no:rerunfailures")
    config.workerinput = {}
    config._do_configure()
    assert not config.option.benchmark_compare
    assert not config.pluginmanager.has_plugin(GATE)


def test_the_records_of_a_machine_or_the_most_similar_one_and_how_to_make_some(pytester):
    words = ("--benchmark-compare", "--gnn-device=cpu", "--gnn-budget", "9", "--gnn-strict", "-q")
    config = pytester.parseconfigure(*words)
    there = session_environment(config)

    def save(**environment):
        return recorded.save(
            pytester.path, run_files.content(run_files.entry("b"), **{**vars(there), **environment})
        )

    record, none = records.find(config)
    assert record is None
    start, command = none.text.partition(";")[0], none.command
    assert start.endswith(f" in {FOLDER}")
    assert command.startswith("gnnbench baseline record -- ")
    assert "--gnn-device=cpu -q" in command
    for option in ("budget", "strict", " 9 "):
        assert option not in command
    other = save(cpu="Another CPU")
    record, note = records.find(config)
    assert record is None
    similar = f"{start}; the most similar record, {other.environment}, differs in "
    assert note.text.startswith(similar)
    assert note.text.removeprefix(similar).startswith("cpu Another CPU vs ")
    _, second = save(), save()
    assert records.find(config) == (second, None)
