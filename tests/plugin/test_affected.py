"""`--gnn-affected-by` in real pytest runs of a repository's suite."""

from types import SimpleNamespace

import pytest

from gnnbench.plugin.affected import AffectedOnly
from tests.plugin.recorded import Project, collected
from tests.suite import run
from tests.variants.repositories import without_settings

SUITE = """
def test_changed(benchmark):
    benchmark(int, 1)

def test_untouched(benchmark):
    benchmark(int, 2)

def test_plain():
    pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository with a suite."""
    without_settings(monkeypatch)
    return Project.make(tmp_path, {"test_suite.py": SUITE}).folder


def test_a_worker_deselects_what_it_is_told_and_a_session_passes_if_that_was_all(
    folder, pytester, monkeypatch
):
    monkeypatch.chdir(folder)
    items = collected(pytester, SUITE, "test_suite.py")
    for told, status in (("test_suite.py::test_untouched",), pytest.ExitCode.OK), ((), 5):
        config = pytester.parseconfigure("--gnn-affected-by=.")
        config.workerinput = {"gnn_same_code": told}
        only = config.pluginmanager.get_plugin("gnnbench-affected")
        left = [*items]
        only.pytest_collection_modifyitems(items[0].config, left)
        assert {item.nodeid for item in items} - {item.nodeid for item in left} == {*told}
        node = SimpleNamespace(workerinput={})
        only.pytest_configure_node(node)
        assert node.workerinput == {"gnn_same_code": [*told]}
        session = SimpleNamespace(exitstatus=pytest.ExitCode.NO_TESTS_COLLECTED)
        only.pytest_sessionfinish(session)
        assert session.exitstatus == status


@pytest.mark.parametrize(
    ("same", "said"),
    [
        ("a", "1 benchmark runs the same code as . and is"),
        ("ab", "2 benchmarks run the same code as . and are"),
    ],
)
def test_the_session_says_how_many_it_deselects(pytester, monkeypatch, capsys, same, said):
    monkeypatch.setattr(AffectedOnly, "_compared", lambda _self: SimpleNamespace(named=lambda _kind: [*same]))
    only = pytester.parseconfigure("--gnn-affected-by=.").pluginmanager.get_plugin("gnnbench-affected")
    assert only._same_code == frozenset(same)
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "gnnbench: inspecting the benchmarks of . and of the working tree",
        f"gnnbench: {said} deselected",
    ]


def test_a_wrong_variant_is_one_line(folder, pytester):
    result = run("--gnn-affected-by", "git:nowhere", "-n", "1", cwd=folder)
    assert result.returncode == 4
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("ERROR: gnnbench: --gnn-affected-by: ")
    assert "Traceback" not in result.stdout
    for words, message in (("hg:tip", "unknown part of a variant 'hg'"), ("", "variant '' is empty")):
        with pytest.raises(pytest.UsageError, match=f"^gnnbench: {message}"):
            pytester.parseconfigure("--gnn-affected-by", words)
