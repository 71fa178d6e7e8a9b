import pytest

from gnnbench.engine.drive.bisect.followed import Measured, Seen
from gnnbench.engine.drive.bisect.journal import Journal, key
from gnnbench.engine.drive.bisect.line import Candidate, Line
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import NotTimed, Visit
from gnnbench.engine.measure.cost import Cost
from tests.compare.bisect.results import setting

PAIR = Measured(
    1.25,
    position=3,
    settled_seconds=0.5,
    seen={"a": (Seen("x y", "n=1", Cost({"lines": 2.5}, 1e-3)), Seen(None, ""))},
    visits={"a": Visit((1.5, 2.25), (3.0, 4.0), 10, 0.125)},
    failures={"b": NotTimed("failed", "head: raised", ("head",))},
)


def held(folder, seed=7, *, fresh=False):
    return Journal.held(folder, "one", seed, fresh=fresh)


def test_a_state_is_read_as_it_was_saved(tmp_path):
    with held(tmp_path) as first:
        first.names = ["a", "b"]
        first.add(PAIR)
    with held(tmp_path, 8) as again:
        assert (again.seed, again.names, again.measured) == (7, ["a", "b"], [PAIR])
        assert again.measured[0].failures["b"].sides == ("head",)
    with held(tmp_path, 8, fresh=True) as new:
        assert (new.seed, new.measured) == (8, [])


def test_two_runs_do_not_share_a_state(tmp_path):
    with held(tmp_path), pytest.raises(UsageError, match="runs already"), held(tmp_path):
        pass


def test_a_state_belongs_to_the_ends_the_setting_and_the_suite_as_it_is(tmp_path):
    def name(end="git:a", *arguments, **more):
        line = Line("commit", (Candidate("good", "git:good"), Candidate("bad", end)))
        return key(line, setting(tmp_path, arguments=arguments, **more))

    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "test_a.py").write_text("1")
    keys = {
        name("git:a", "suite"),
        name("git:b", "suite"),
        name(),
        name(thresholds=Thresholds(0.05)),
        name(dependencies=True),
    }
    (tmp_path / "suite" / "test_a.py").write_text("2")
    keys.add(name("git:a", "suite"))
    assert name("git:a", "suite/test_a.py::test_b") not in keys
    (tmp_path / "conftest.py").write_text("")
    keys.add(name("git:a", "suite"))
    assert len(keys) == 7
