"""Who changed the exit status of a session of pytest."""

import sys
from types import FrameType
from typing import Any

import pytest

from .owners import owner

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
            self._found[owner(self._config, module, frame.f_code)] = None


def _is_pytest(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return any(module == one or module.startswith(f"{one}.") for one in _PYTEST)
