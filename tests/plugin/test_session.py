import pytest

from gnnbench.engine.plugin.session import arguments_without, stop


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
