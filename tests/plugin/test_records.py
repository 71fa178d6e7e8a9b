from pathlib import Path

import pytest

from gnnbench.engine.plugin import records, session
from gnnbench.engine.store import run_file
from gnnbench.engine.store.baseline import FOLDER
from tests import run_files
from tests.plugin import recorded


def test_the_records_of_a_machine_or_the_most_similar_one_and_how_to_make_some(pytester):
    words = ("--benchmark-compare", "--gnn-device=cpu", "--gnn-budget", "9", "--gnn-strict", "-q")
    config = pytester.parseconfigure(*words)
    here = session.here(config)

    def save(**environment):
        return recorded.save(
            pytester.path, run_files.content(run_files.entry("b"), **{**here, **environment})
        )

    found, none = records.find(config, None)
    assert found == []
    start, command = none.split("; record them: ")
    assert start.endswith(f" in {FOLDER}")
    assert command.startswith("gnnbench baseline record -- ")
    assert "--gnn-device=cpu -q" in command
    for option in ("budget", "strict", " 9 "):
        assert option not in command
    other = save(cpu="Another CPU")
    found, text = records.find(config, None)
    assert found == []
    similar = f"{start}; the most similar, {other.environment}, differs in "
    assert text.startswith(similar)
    assert text.removeprefix(similar).startswith("cpu Another CPU vs ")
    first, second = save(), save()
    assert records.find(config, None) == ([second, first], "")
    assert records.find(config, "1") == ([first], "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), {"b0", "b1", "b2"}),
        (("-k", "b1"), {"b1"}),
        (("-k", "not b0 and not other"), {"b1", "b2"}),
        (("test_a.py::b1",), {"b1"}),
        (("test_a.py::b2",), {"b1", "b2"}),
        (("test_other.py",), {"b1"}),
        (("--ignore=test_a.py",), {"b1"}),
        (("-m", "core"), {"b1"}),
        (("--lf",), {"b1"}),
    ],
    ids=["all", "-k", "-k not", "id", "other id", "file", "--ignore", "-m", "--lf"],
)
def test_what_vanished_counts_if_the_command_line_selects_it_or_it_was_collected(
    pytester, arguments, expected
):
    """Of what is collected all is asked for: it was skipped, or failed."""
    for name in ("test_a.py", "test_other.py"):
        (pytester.path / name).touch()
    config = pytester.parseconfigure(*arguments)
    base = run_file.parse(Path("base"), run_files.suite(0, benchmarks=5))
    collected, deselected, timed = {"test_a.py::b1", "test_a.py::new"}, {"test_a.py::b3"}, {"test_a.py::b4"}
    found = records.vanished(config, [base, base], collected, deselected, timed)
    assert found == {f"test_a.py::{name}": name in expected for name in ("b0", "b1", "b2")}


def test_markers_select_what_vanished_if_the_record_has_nothing_that_they_leave_out(pytester):
    config = pytester.parseconfigure("-m", "core")
    base = run_file.parse(Path("base"), run_files.suite(0, benchmarks=1))
    assert records.vanished(config, [base], (), {"test_a.py::slow"}, ()) == {"test_a.py::b0": True}
