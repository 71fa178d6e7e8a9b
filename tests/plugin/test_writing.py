"""What pytest shows in a terminal of 80 columns; that verdicts fit is tested where they are made."""

import pytest

from gnnbench.engine.plugin.terminal import FailureText, fail
from gnnbench.engine.show.lines import Note
from tests import terminal
from tests.suite import environment, pytest_on_cpu

SUITE = """
import pytest

@pytest.mark.parametrize("case", ["{}"])
def test_of_a_stranger(benchmark, case):
    benchmark(sum, [1])
""".format("a_long_parameter-" * 5)


def test_lines_and_wrong_usage_are_broken_at_words_and_ids_at_separators(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    words = ("test_suite.py", "--gnn-layouts=sample", "--benchmark-max-time=0.01")
    spinning = {"OMP_WAIT_POLICY": "ACTIVE"}
    result = terminal.run(pytest_on_cpu(*words), tmp_path, environment(**spinning))
    assert result.returncode == 0, result.stdout
    shown = result.stdout[result.stdout.index("\ngnnbench: ") + 1 :].partition("\n---")[0]
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    start = next(number for number, line in enumerate(lines) if "test_suite.py::test_of" in line)
    name, *rest = lines[start : start + 3]
    assert name.endswith("test_suite.py::test_of_a_stranger[a_long_parameter-")
    assert all(line.startswith(" " * 17) and line.endswith(("-", "]")) for line in rest)
    assert (
        "its 95% interval; times are disturbed by idle\n  OpenMP threads: OMP_WAIT_POLICY is ACTIVE; "
        in shown
    )

    words = ("test_suite.py", "--gnn-strict", "--benchmark-compare", "--benchmark-compare-fail=min:5%")
    result = terminal.run(pytest_on_cpu(*words), tmp_path, environment())
    assert result.returncode == 4
    lines = result.stdout.split("ERROR: ")[1].strip().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("  ") for line in lines[1:])


def test_the_first_reason_is_the_one_in_the_last_lines():
    report = pytest.TestReport("test_a.py::a", ("test_a.py", 1, "a"), {}, "passed", None, "call")
    report.outcome = "failed"
    report.longrepr = FailureText([Note("counters differ")])
    fail(report, Note("too long"))
    fail(report, Note("slower", "gnnbench ab"), first=True)
    assert str(report.longrepr) == "slower: gnnbench ab\ncounters differ\ntoo long"
