"""Profiles a session's benchmarks instead of timing them: a part of the plugin."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from ..measure.clock import Call
from ..measure.pedantic import Pedantic
from . import kinds, record
from .store import Store
from .subject import Subject

PLUGIN = "gnnbench-profiling"


@dataclass(frozen=True)
class Saved:
    """A profile that was taken."""

    name: str
    """The benchmark's id."""
    folder: Path
    kinds: tuple[str, ...]
    unavailable: Mapping[str, str]
    """Kinds that were asked for as well: what they need."""


class Profiling:
    """The hooks that take the place of `benchmark`'s timing."""

    def __init__(
        self,
        kinds: Sequence[str],
        repeats: int,
        store: Store,
        turn: Callable[[], None] = lambda: None,
    ) -> None:
        """Profile whatever a test hands to `benchmark`.

        Args:
            kinds: of profiles.
            repeats: calls after the first.
            store: where they are saved.
            turn: waits, before each call, until it is this process's turn.
        """
        self._kinds, self._repeats, self._store, self._turn = kinds, repeats, store, turn
        self._root: Path | None = None
        self.saved: dict[str, Saved] = {}
        """By test id."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Profile what is to be timed."""
        self._root = session.config.rootpath
        with self._in_place_of_timing():
            return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the profiles are, and which there are none of."""
        found = list(self.saved.values())
        lines = list(dict.fromkeys(reason for one in found for reason in one.unavailable.values()))
        if found:
            lines.append(f"{len(found)} profiles in {_relative(self._store.root)}:")
        terminalreporter.ensure_newline()
        for line in lines:
            terminalreporter.write_line(f"gnnbench: {line}")
        for one in found:
            terminalreporter.write_line(f"  {one.folder.relative_to(self._store.root)}")

    @contextmanager
    def _in_place_of_timing(self) -> Generator[None, None, None]:
        from pytest_benchmark.fixture import BenchmarkFixture as Fixture

        raw, pedantic = Fixture._raw, Fixture._raw_pedantic  # noqa: SLF001
        profiling = self

        @wraps(raw)
        def _raw(self: Any, function_to_benchmark: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            call = Call(function_to_benchmark, args, kwargs)
            return profiling._profile(self, call.__call__, nullcontext, call)

        @wraps(pedantic)
        def _raw_pedantic(self: Any, target: Callable[..., Any], **options: Any) -> Any:
            options["kwargs"] = options.get("kwargs") or {}
            asked = Pedantic(target, **options)
            call = _PedanticCall(asked)
            return profiling._profile(self, call, call.ready, (target, asked.args, asked.kwargs))

        Fixture._raw, Fixture._raw_pedantic = _raw, _raw_pedantic  # noqa: SLF001
        try:
            yield
        finally:
            Fixture._raw, Fixture._raw_pedantic = raw, pedantic  # noqa: SLF001

    def _profile(
        self,
        fixture: Any,
        call: Callable[[], Any],
        ready: Callable[[], AbstractContextManager[object]],
        inputs: tuple[Any, ...],
    ) -> Any:
        """Stand in for the timing of a call: profile, save, and return what one more call returns."""
        from pytest_benchmark.fixture import PauseInstrumentation

        from .. import environment

        spec = fixture.extra_info.get("gnnbench", {}).get("spec")
        name = "-".join(map(str, spec.values())) if spec else fixture.fullname
        device = spec["device"] if spec else device_of(inputs)

        @contextmanager
        def in_turn() -> Generator[None, None, None]:
            self._turn()
            with ready():
                yield

        subject = Subject(call, device, self._repeats, in_turn)
        with self._store.new(name) as draft:
            with PauseInstrumentation():  # of coverage, say
                sections, unavailable = kinds.take(self._kinds, subject, draft.folder)
            if not sections:
                pytest.skip("; ".join(unavailable.values()))
            here = asdict(environment.collect(self._root, device=device))
            record.write(record.compose(name, spec, here, self._repeats, sections, unavailable), draft.folder)
        taken = tuple(kind for kind in self._kinds if kind in sections)
        self.saved[fixture.fullname] = Saved(name, draft.folder, taken, unavailable)
        return call()


class _PedanticCall:
    """A pedantic call, with its author's set-up and tear-down apart."""

    def __init__(self, asked: Pedantic) -> None:
        self._asked = asked
        self._inputs: Call | None = None

    @contextmanager
    def ready(self) -> Generator[None, None, None]:
        """Have the inputs of one call."""
        inputs = self._inputs = self._asked.inputs()
        try:
            yield
        finally:
            self._inputs = None
            self._asked.tear_down(inputs)

    def __call__(self) -> Any:
        if self._inputs is None:
            with self.ready():
                return self()
        return self._inputs()


def device_of(inputs: object) -> str:
    """Return where a call works: where its inputs are, or if it shows none, on a GPU if that is in use."""
    import torch

    from ..measure.copies import tensors

    devices = {tensor.device.type for tensor in tensors(inputs)} or {
        "cuda" if torch.cuda.is_initialized() else "cpu"
    }
    return "cuda" if "cuda" in devices else "cpu"


def profiling_of(config: pytest.Config) -> Profiling | None:
    """Return the session's profiling; None where it times."""
    found = config.pluginmanager.get_plugin(PLUGIN)
    assert found is None or isinstance(found, Profiling)
    return found


def _relative(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
