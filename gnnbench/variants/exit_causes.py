"""Who changed the exit status of a session of pytest."""

import os
import sys
from types import FrameType
from typing import Any

import pytest

_DECIDING = frozenset({"exitstatus", "testsfailed", "shouldfail", "shouldstop"})
"""Attributes of a session from which its exit status follows."""
_PYTEST = ("_pytest", "pluggy", "pytest", __package__)
_OPTIONS = {"_pytest.terminal": "--max-warnings"}
"""By module of pytest that sets one of them without a test that failed, the option that asks for it."""


class ExitCauses:
    """Collects them.

    Args:
        config: of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: dict[str, None] = {}

    def names(self) -> tuple[str, ...]:
        """Return the plugins, files and options, in the order in which they did so."""
        return tuple(self._found)

    def watch(self, session: pytest.Session) -> None:
        """Notice from now on who sets a deciding attribute."""
        add = self._add

        class Watched(type(session)):  # type: ignore[misc]
            def __setattr__(self, name: str, value: Any) -> None:
                if name in _DECIDING:
                    add(sys._getframe(1))  # noqa: SLF001 - as inspect.currentframe does
                super().__setattr__(name, value)

        session.__class__ = Watched

    def add_raised(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Add who raised what ended the session."""
        for entry in reversed(excinfo.traceback):
            if not _is_pytest(entry.frame.raw):
                self._add(entry.frame.raw)
                return

    def _add(self, frame: FrameType) -> None:
        module = str(frame.f_globals.get("__name__"))
        if module in _OPTIONS:
            self._found[_OPTIONS[module]] = None
        elif not _is_pytest(frame):
            self._found[self._distribution(module) or self._file(frame)] = None

    def _distribution(self, module: str) -> str | None:
        """Return the installed distribution that a plugin's module belongs to, such as `pytest-cov`."""
        for plugin, distribution in self._config.pluginmanager.list_plugin_distinfo():
            name = getattr(plugin, "__name__", type(plugin).__module__)
            if name.partition(".")[0] == module.partition(".")[0]:
                return str(distribution.metadata["name"])
        return None

    def _file(self, frame: FrameType) -> str:
        return os.path.relpath(frame.f_code.co_filename, self._config.invocation_params.dir)


def _is_pytest(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return any(module == one or module.startswith(f"{one}.") for one in _PYTEST)
