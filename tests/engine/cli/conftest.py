from types import SimpleNamespace

import pytest

from gnnbench.engine.cli.main import main
from tests.engine.process.workers import clean


@pytest.fixture
def call(capsys):
    """Return a function that runs the command in this process: exit code, output and messages."""

    def call(*words):
        try:
            status = main([*map(str, words)])
        except SystemExit as end:  # argparse's
            status = end.code
        return (status, *capsys.readouterr())

    return call


@pytest.fixture
def in_process(tmp_path, monkeypatch, call):
    """Return a function that runs the command as `call` does, in the test's folder, as a user's process.

    Processes that it starts have the variables of tests.runs.environment.
    """
    clean(monkeypatch)
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which commands set
    monkeypatch.chdir(tmp_path)

    def run(*words):
        status, out, err = call(*words)
        return SimpleNamespace(returncode=status, stdout=out, stderr=err)

    return run
