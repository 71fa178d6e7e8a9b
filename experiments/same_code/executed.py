"""A pytest plugin for mutations.py: saves which functions of a package each test calls.

`EXECUTED=FILE PACKAGE=FOLDER pytest -p executed --benchmark-disable benchmarks` writes, by test id, the files
and first lines of these functions, as JSON.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_found: dict[str, list[tuple[str, int]]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch the calls of a test, its fixtures and all threads."""
    package, seen = os.environ["PACKAGE"], set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        _found[item.nodeid] = sorted(seen)


def pytest_sessionfinish() -> None:
    """Write the functions of all tests as JSON."""
    Path(os.environ["EXECUTED"]).write_text(json.dumps(_found), encoding="utf-8")
