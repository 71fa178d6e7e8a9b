"""Records the code objects of the Python functions that this process runs.

From Python 3.12 on, `sys.monitoring` (PEP 669) reports each function once. In older versions, `cProfile`
collects the functions of the main thread, and a profile function written in Python those of other threads.
If that function were used for all threads, the inspection of benchmarks would take a quarter longer.
"""

import atexit
import cProfile
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import CodeType, FrameType
from typing import Any

if sys.version_info >= (3, 12):
    _TOOL = 4  # an id that PEP 669 reserves for no kind of tool

    class FunctionRecorder:
        """Records the code of the functions that run from now on; a process has one instance."""

        disturbing = ()
        """Audit events after which functions are missed."""
        has_gaps = False
        """Whether functions may be missed."""
        noting = staticmethod(nullcontext)
        """Returns a context in which functions are noted, although pytest-benchmark pauses profilers."""

        def __init__(self) -> None:
            self._codes: list[CodeType] = []
            events = sys.monitoring.events
            sys.monitoring.use_tool_id(_TOOL, __name__)
            for event in (events.PY_START, events.PY_RESUME):
                sys.monitoring.register_callback(_TOOL, event, self._note)
            sys.monitoring.set_events(_TOOL, events.PY_START | events.PY_RESUME)

        def _note(self, code: CodeType, _offset: int) -> object:
            self._codes.append(code)
            return sys.monitoring.DISABLE

        def take(self) -> list[CodeType]:
            """Return the code of the functions that ran since `take` was last called."""
            codes, self._codes = self._codes, []
            sys.monitoring.restart_events()
            return codes

else:

    class FunctionRecorder(cProfile.Profile):
        """Records the code of the functions that run from now on; a process has one instance."""

        disturbing = ("sys.setprofile",)
        """Audit events after which functions are missed."""

        def __init__(self) -> None:
            super().__init__(subcalls=False, builtins=False)
            self._codes: dict[int, CodeType] = {}
            """Code that ran without being profiled, by id: code objects of two files may be equal."""
            threading.setprofile(self._note)
            self.enable()
            atexit.register(self.disable)

        def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
            """Resume profiling after a program has restored this profiler with `sys.setprofile`."""
            self._note(frame, event, argument)
            if sys.getprofile() is self:  # not if another profile function calls this one
                self.disable()  # this also counts functions that still run: their ends would confuse it
                self.enable()

        def _note(self, frame: FrameType, _event: str, _argument: Any) -> None:
            self._codes[id(frame.f_code)] = frame.f_code

        @property
        def has_gaps(self) -> bool:
            """Whether functions of a thread or a greenlet may be missed."""
            return threading.getprofile() != self._note or "greenlet" in sys.modules

        def take(self) -> list[CodeType]:
            """Return the code of the functions that ran since `take` was last called."""
            self.disable()  # this also counts functions that still run
            profiled = (entry.code for entry in self.getstats())
            codes = [*self._codes.values(), *(code for code in profiled if isinstance(code, CodeType))]
            self._codes = {}
            self.clear()
            self.enable()
            return codes

        @contextmanager
        def noting(self) -> Iterator[None]:
            """Note functions within the context, although pytest-benchmark pauses profilers."""
            before = sys.getprofile()
            sys.setprofile(self)
            try:
                yield
            finally:
                sys.setprofile(before)
