"""A pytest plugin for stable.py: saves the inspection of each benchmark instead of timing it.

`FINGERPRINTS=FILE pytest -p fingerprints benchmarks` writes fingerprints and seconds by test id, as JSON.
"""

import json
import os
from pathlib import Path
from time import process_time
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.inspection import inspect
from gnnbench.engine.measure.layouts import Layouts

_found: dict[str, Any] = {}


def pytest_runtestloop() -> None:
    """Replace the timing of gnnbench and of pytest-benchmark."""

    def only_inspect(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        call = Call(function, args, kwargs)
        start = process_time()
        found = inspect(call, Layouts(call).devices)
        _found[self.fullname] = {**found.as_json(), "seconds": process_time() - start}
        return call()

    BenchmarkFixture._raw = only_inspect  # type: ignore[assignment]  # noqa: SLF001


def pytest_sessionfinish() -> None:
    """Write the fingerprints of all benchmarks as JSON."""
    Path(os.environ["FINGERPRINTS"]).write_text(json.dumps(_found), encoding="utf-8")
