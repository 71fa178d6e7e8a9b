"""What a session keeps of its benchmarks beside pytest-benchmark's statistics."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ground import codec, cpu, json_io
from .clock import Call, Clock
from .inspection import growth_bytes
from .layouts import Layouts, clock_for
from .seam import paused

if TYPE_CHECKING:
    from .simulated_clock import FakeMachine


@dataclass
class Kept:
    """What the instruments of a session find, and what they share."""

    version: int
    """Version of the format of `extra_info["gnnbench"]`."""
    used: bool = False
    """Whether any benchmark was timed."""
    timing_seconds: float = 0.0
    """How long the benchmarks were timed, all together, with copying their inputs."""
    failure: BaseException | None = None
    """The exception that interrupted the last measurement, if any."""
    incomplete: list[dict[str, Any]] = field(default_factory=list)
    """Interrupted benchmarks, with the rounds until then."""
    repeated: list[str] = field(default_factory=list)
    """Tests with several benchmarks, of which the first one counts."""
    watch: "cpu.ContentionWatch | None" = None
    _parts: list[tuple[str, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    """Of the running test's benchmarks: id, `extra_info`, and gnnbench's part of it."""
    _machine: "FakeMachine | None" = None

    def begin(self) -> None:
        """Prepare the clocks."""
        if text := os.environ.get("GNNBENCH_FAKE_CLOCK"):
            from .simulated_clock import FakeMachine

            self._machine = FakeMachine.parse(text)
        self.watch = cpu.ContentionWatch()

    def clock(self, fixture: Any, devices: Sequence[str], *, flush: bool) -> Clock:
        """Return the clock for inputs on these devices; see `layouts.clock_for`."""
        if self._machine:
            return self._machine.clock(fixture.fullname)
        return clock_for(devices, fixture._timer, flush=flush)  # noqa: SLF001

    def ran_out_of_memory(self, fullname: str, text: str) -> None:
        """Record `text`, such as `OOM at 9 GiB`, as the error of an interrupted benchmark."""
        if not self.incomplete or self.incomplete[-1]["fullname"] != fullname:
            self.incomplete.append({"fullname": fullname, "measurement": None})
        self.incomplete[-1]["error"] = text

    @contextmanager
    def keeping_parts(self, definition: str | None) -> Iterator[None]:
        """Keep what is known of each benchmark of a test in its `extra_info`, whatever the test writes."""
        self._parts.clear()
        try:
            yield
        finally:
            for _, extra, ours in self._parts:
                extra[json_io.KEY] = ours
                if definition:
                    ours["definition_hash"] = definition
            self.repeated += [name for name, *_ in self._parts[1:2]]

    def part(self, fixture: Any) -> dict[str, Any]:
        """Return gnnbench's part of a benchmark's `extra_info`, to write to; another version is replaced."""
        if not isinstance(fixture.extra_info, dict):
            fixture.extra_info = {}
            if fixture.stats:  # which is what is saved
                fixture.stats.extra_info = fixture.extra_info
        ours = json_io.own_part(fixture.extra_info)
        if ours.get("version") != self.version:
            ours = fixture.extra_info[json_io.KEY] = {"version": self.version}
        self._parts.append((fixture.fullname, fixture.extra_info, ours))
        return ours

    def inspect(self, fixture: Any, layouts: Layouts, *, is_warm: bool = False) -> Any:
        """Add counters, fingerprint and growth of the resident set of a call, and return its result."""
        from .inspection import inspect

        ours = json_io.own_part(fixture.extra_info)
        results = []
        with paused():
            found = inspect(layouts.original, layouts.devices, is_warm=is_warm)
            growth = growth_bytes(lambda: results.append(layouts.original()))
        if found.counters:
            ours["counters"] = codec.encode(found.counters)
        _add_growth(ours, growth)
        if found.fingerprint:
            ours["fingerprint"] = codec.encode(found.fingerprint)
        elif found.unseen:
            ours["no_fingerprint"] = found.unseen
        return results[0]

    def weigh_workers(self, fixture: Any, call: Call) -> None:
        """Add the growth of the resident set of one more call, if it has worker processes."""
        if multiprocessing.active_children():
            with paused():
                _add_growth(json_io.own_part(fixture.extra_info), growth_bytes(call.__call__))


def _add_growth(ours: dict[str, Any], growth: int | None) -> None:
    if growth is not None:
        ours["resident_growth_bytes"] = growth
