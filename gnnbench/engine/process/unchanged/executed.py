"""Which Python functions this process runs, by their code.

A trace function in Python would double the time of an import of torch. From Python 3.12 on, `sys.monitoring`
(PEP 669) reports each function once. Before, the profiler of `cProfile`, written in C, collects them.
"""

import atexit
import cProfile
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import CodeType, FrameType
from typing import Any

if sys.version_info >= (3, 12):
    _TOOL = 4  # an id that PEP 669 reserves for no kind of tool

    class Executed:
        """The code of the functions that run from now on, in all threads; there is one in a process."""

        disturbing = ()
        """Audit events after which something is missed."""
        unseen = False
        """Whether something may be missed."""
        resumed = staticmethod(nullcontext)
        """Continues while pytest-benchmark pauses profilers."""

        def __init__(self) -> None:
            self._codes: list[CodeType] = []
            events = sys.monitoring.events
            sys.monitoring.use_tool_id(_TOOL, __name__)
            for event in (events.PY_START, events.PY_RESUME):
                sys.monitoring.register_callback(_TOOL, event, self._began)
            sys.monitoring.set_events(_TOOL, events.PY_START | events.PY_RESUME)

        def _began(self, code: CodeType, _offset: int) -> object:
            self._codes.append(code)
            return sys.monitoring.DISABLE

        def take(self) -> list[CodeType]:
            """Return the code of the functions that ran since the last call."""
            codes, self._codes = self._codes, []
            sys.monitoring.restart_events()
            return codes

else:

    class Executed(cProfile.Profile):
        """The code of the functions that run from now on in this thread; there is one in a process."""

        disturbing = ("sys.setprofile",)
        """Audit events after which something is missed."""

        def __init__(self) -> None:
            super().__init__(subcalls=False, builtins=False)
            self._codes: list[CodeType] = []
            """Code of functions that ran and are not profiled."""
            self._has_threads = False
            threading.setprofile(self._began)
            self.enable()
            atexit.register(self.disable)

        def __call__(self, frame: FrameType, _event: str, _argument: Any) -> None:
            """Continue after a program has restored this profile function with `sys.setprofile`."""
            self._codes.append(frame.f_code)
            if sys.getprofile() is self:  # not if another profile function calls this one
                self.disable()  # counts functions that have not ended, whose ends would be confused
                self.enable()

        def _began(self, _frame: FrameType, _event: str, _argument: Any) -> None:
            """Note that a thread runs."""
            sys.setprofile(None)
            self._has_threads = True

        @property
        def unseen(self) -> bool:
            """Whether functions of a thread or of greenlets may be missed."""
            has_threads = self._has_threads or threading.getprofile() != self._began
            return has_threads or "greenlet" in sys.modules

        def take(self) -> list[CodeType]:
            """Return the code of the functions that ran since the last call."""
            self.disable()  # counts what has not ended
            codes = [
                *self._codes,
                *(entry.code for entry in self.getstats() if isinstance(entry.code, CodeType)),
            ]
            codes += [frame.f_code for frame, _ in traceback.walk_stack(sys._getframe())]  # noqa: SLF001
            self._codes = []
            self.clear()
            self.enable()
            return codes

        @contextmanager
        def resumed(self) -> Iterator[None]:
            """Continue while pytest-benchmark pauses profilers."""
            before = sys.getprofile()
            sys.setprofile(self)
            try:
                yield
            finally:
                sys.setprofile(before)
