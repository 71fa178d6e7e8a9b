import pytest
import scipy.special  # noqa: F401 - what pytester's sessions import is imported anew, and this loads only once
from _pytest.unraisableexception import gc_collect_iterations_key

from gnnbench.engine.measure.sources import Sources, Tree
from gnnbench.engine.plugin.timing import Timing
from tests.run_files import MACHINE


class _NoGarbage:
    @staticmethod
    def pytest_configure(config):
        config.stash[gc_collect_iterations_key] = 0


@pytest.fixture
def pytester(pytester, monkeypatch):
    """Let configurations end without a slow search for garbage in all that was imported before."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which collecting would set
    pytester.plugins.append(_NoGarbage())
    return pytester


class _Machine:
    @staticmethod
    @pytest.hookimpl(tryfirst=True)
    def pytest_benchmark_generate_machine_info():
        return MACHINE


@pytest.fixture
def known(pytester, monkeypatch):
    """Let sessions know the machine, and the commit of their code, as finding out takes a second."""
    tree = Tree(".", "c" * 40, 1, ("library",), compiled=False)
    monkeypatch.setattr(Timing, "sources", lambda _self: Sources("3.11", (tree,), {}))
    pytester.plugins.append(_Machine())
    return pytester
