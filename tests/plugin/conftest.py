import pytest
from _pytest.unraisableexception import gc_collect_iterations_key


class _NoGarbage:
    @staticmethod
    def pytest_configure(config):
        config.stash[gc_collect_iterations_key] = 0


@pytest.fixture
def pytester(pytester):
    """Let configurations end without a slow search for garbage in all that was imported before."""
    pytester.plugins.append(_NoGarbage())
    return pytester
