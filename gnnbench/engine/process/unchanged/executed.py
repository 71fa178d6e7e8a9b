"""Which Python functions this process runs, by their code.

From Python 3.12 on, `sys.monitoring` (PEP 669) reports each function once, in all threads. Before, a profile
function is called at each call, which makes an import of torch and PyG half as long again.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import CodeType, FrameType
from typing import Any

if sys.version_info >= (3, 12):
    _TOOL = 4  # an id that PEP 669 reserves for no kind of tool

    class Executed:
        """The code of the functions that run from now on; there is one instance in a process."""

        disturbing = ()
        """Audit events after which functions are missed."""
        has_gaps = False
        """Whether functions may be missed."""
        resumed = staticmethod(nullcontext)
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
            """Return the code of the functions that ran since the last call."""
            codes, self._codes = self._codes, []
            sys.monitoring.restart_events()
            return codes

else:

    class Executed:
        """The code of the functions that run from now on; there is one instance in a process."""

        disturbing = ("sys.setprofile",)
        """Audit events after which functions are missed."""

        def __init__(self) -> None:
            self._codes: dict[int, CodeType] = {}
            """By id, because code objects of different files may be equal."""
            threading.setprofile(self._note)
            sys.setprofile(self._note)

        def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
            if event == "call":
                self._codes[id(frame.f_code)] = frame.f_code

        @property
        def has_gaps(self) -> bool:
            """Whether functions of a thread or a greenlet may be missed."""
            return threading.getprofile() != self._note or "greenlet" in sys.modules

        def take(self) -> list[CodeType]:
            """Return the code of the functions that ran since the last call."""
            codes, self._codes = self._codes, {}
            return [*codes.values()]

        @contextmanager
        def resumed(self) -> Iterator[None]:
            """Note functions within the context, although pytest-benchmark pauses profilers."""
            before = sys.getprofile()
            sys.setprofile(self._note)
            try:
                yield
            finally:
                sys.setprofile(before)
