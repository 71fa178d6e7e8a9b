from types import SimpleNamespace

import pytest

from gnnbench.engine.cli.main import main
from tests.engine.process.workers import clean


@pytest.fixture
def call(capsys):
    """Return a function that runs the command in this process: exit code, output and messages."""

    def call(*words):
        status = main([*map(str, words)])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return call


@pytest.fixture
def in_process(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in this process, in the test's folder, as `gnnbench` does.

    Processes that it starts have the variables of tests.runs.environment.
    """
    clean(monkeypatch)
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which commands set
    monkeypatch.chdir(tmp_path)

    def run(*words):
        try:
            status = main(words)
        except SystemExit as end:  # argparse's
            status = end.code
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=out, stderr=err)

    return run
