"""Where a session of gnnbench ab spends its time before it times: set-up, check, inspection."""

import cProfile
import pstats
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest

from steps import core, rows

_DATASET = "ogbn-arxiv:synthetic"
_CHOSEN = "(epoch and pyg) or (conv and pyg and not gat) or (spmm_sum and torch)"
_FUNCTIONS = 8
"""Number of functions with the longest own time that are shown for each part."""


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return the only unit."""
    return {"parts": 90.0}


class _Parts:
    """A pytest plugin and instrument: times the parts of a test before its first block, then ends it."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def timed(self, part: str, do: Callable[[], Any]) -> Any:
        """Call a function, and save its seconds and the functions that took longest."""
        profile = cProfile.Profile()
        start = time.perf_counter()
        try:
            return profile.runcall(do)
        finally:
            seconds = time.perf_counter() - start
            stats: Mapping[Any, Any] = vars(pstats.Stats(profile))["stats"]
            own = sorted(((one[2], f"{where[2]}, {where[0][-30:]}") for where, one in stats.items()))
            self.found[-1]["parts"][part] = {"seconds": seconds, "longest": own[: -_FUNCTIONS - 1 : -1]}

    def pytest_runtest_protocol(self, item: Any) -> None:
        """Begin a test."""
        self.found.append({"test": item.name, "parts": {}, "began": time.perf_counter()})

    def pytest_runtest_call(self, item: Any) -> None:  # noqa: ARG002
        """Save the duration of the set-up."""
        self.found[-1]["parts"]["set-up"] = {"seconds": time.perf_counter() - self.found[-1].pop("began")}

    def measure(self, fixture: Any, call: Any) -> None:  # noqa: ARG002
        """Take the fingerprint twice, and end the test."""
        from gnnbench.engine.measure.inspection import inspect
        from gnnbench.engine.measure.layouts import Layouts

        layouts = Layouts(call)
        self.timed("copies", layouts.renew)
        for part in ("first inspection", "second inspection"):
            self.timed(part, lambda: inspect(layouts.current, layouts.devices))
        self.timed("one call", layouts.current)
        pytest.skip("that was all")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Take the place of what measures, and time the check."""
        from gnnbench.engine.measure import benchmark_fixture
        from gnnbench.suite import verify as module

        check = module.verify
        module.verify = lambda *given, **named: self.timed("check", lambda: check(*given, **named))
        with benchmark_fixture.replace_timing(lambda _: self):
            return (yield)


def run(unit: str, plan: Any) -> list[dict[str, Any]]:  # noqa: ARG001
    """Run a few benchmarks in this process."""
    parts = _Parts()
    dataset = "rmat:6" if plan.small else _DATASET
    words = ("--gnn-dataset", dataset, "--gnn-device", plan.device, "-k", _CHOSEN, "-p", "no:cacheprovider")
    pytest.main([*core.CORE, *words], plugins=[parts])
    return parts.found


def table(found: Mapping[str, Any]) -> str:
    """Return a table of the seconds of each part, and of its longest functions."""
    lines = []
    for one in found["parts"]:
        for part, of in one["parts"].items():
            longest = ", ".join(f"{name} {own:.2f}" for own, name in of.get("longest", ())[:3])
            lines.append((one["test"], part, f"{of['seconds']:.2f}", longest))
    return rows("benchmark | part | seconds | functions with the longest own time", lines)
