"""The part of the plugin that profiles benchmarks instead of timing them."""

import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from ..ground import json_io, units
from ..ground.errors import one_line
from ..ground.files import shown
from ..interfaces import Instrument
from ..measure import seam
from ..measure.clock import Call
from ..measure.seam import Pedantic
from ..store import suite
from . import kinds, record
from .findings import find
from .kinds import Subject
from .record import ProfileStore

PLUGIN = "gnnbench-profiling"


@dataclass(frozen=True)
class Saved:
    """A saved profile."""

    folder: Path
    kinds: tuple[str, ...]
    unavailable: Mapping[str, str]
    """Requested kinds that could not be taken, each with the reason."""


class Profiling(Instrument):
    """pytest hooks that replace `benchmark`'s timing with profiling, and the instrument that profiles."""

    def __init__(self, kinds: Sequence[str], repeats: int, store: ProfileStore) -> None:
        """Profile each function that a test passes to `benchmark`."""
        self._kinds, self._repeats, self._store = kinds, repeats, store
        self.root: Path | None = None
        """pytest's rootdir."""
        self.saved: dict[str, Saved] = {}
        """The saved profiles by test id."""
        self._unavailable: dict[str, str] = {}
        """The reason by kind that a benchmark lacks, also where it has no profile for that."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Profile instead of timing while the tests run."""
        self.root = session.config.rootpath
        with seam.replaced(lambda _: self):
            return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the folders of profiles, and the reasons for missing kinds."""
        found = list(self.saved.values())
        lines = list(dict.fromkeys(self._unavailable.values()))
        if found:
            lines.append(f"{units.count(len(found), 'profile')} in {shown(self._store.root)}:")
        terminalreporter.ensure_newline()
        for line in lines:
            terminalreporter.write_line(one_line(f"gnnbench: {line}"))
        for one in found:
            terminalreporter.write_line(f"  {one.folder.relative_to(self._store.root)}")

    def measure(self, fixture: Any, call: Call) -> Any:
        """Profile `benchmark(function, ...)`."""
        return self.measure_pedantic(fixture, Pedantic.of(call))

    def measure_pedantic(self, fixture: Any, asked: Pedantic) -> Any:
        """Profile a call in place of its timing, save the profile, and return the result of one more call."""
        from ..ground import environment

        spec = json_io.own_part(fixture.extra_info).get("spec")
        labels = suite.installed().labels(spec) if spec else None
        name = labels.id if labels else fixture.fullname
        device = device_of((asked.target, asked.args, asked.kwargs))
        subject = Subject(asked, device, self._repeats)
        with self._store.new(name) as (draft, folder):
            with seam.paused():
                sections, unavailable = kinds.take(self._kinds, subject, draft)
            self._unavailable |= unavailable
            if not sections:
                pytest.skip("; ".join(dict.fromkeys(unavailable.values())))
            made = record.ProfileRecord(
                id=name,
                spec=spec,
                environment=asdict(environment.collect(self.root, device=device)),
                repeats=self._repeats,
                sections=sections,
                unavailable=unavailable,
                findings=find(sections),
            )
            record.write(made, draft)
        taken = tuple(kind for kind in self._kinds if kind in sections)
        self.saved[fixture.fullname] = Saved(folder, taken, unavailable)
        return asked.once()


def device_of(inputs: object) -> str:
    """Return the device of a call: that of its inputs; without tensor inputs, `cuda` if a GPU is in use."""
    from ..ground.parts import tensors

    torch = sys.modules.get("torch")
    devices = {tensor.device.type for tensor in tensors(inputs)} or {
        "cuda" if torch and torch.cuda.is_initialized() else "cpu"
    }
    return "cuda" if "cuda" in devices else "cpu"


def profiling_of(config: pytest.Config) -> Profiling | None:
    """Return the session's profiling, or None if it times benchmarks."""
    found = config.pluginmanager.get_plugin(PLUGIN)
    assert found is None or isinstance(found, Profiling)
    return found
