"""The pytest plugin in the subprocess of `gnnbench profile`: profiles benchmarks, and reports on each."""

import shlex
import signal
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..ground import codec, json_io
from ..ground.errors import unknown_name
from ..interfaces import Instrument
from ..measure import benchmark_fixture, conditions
from ..measure.benchmark_fixture import Pedantic
from ..measure.clock import Call
from ..process.variants import outcome
from ..process.variants.child_plugins import Overrides
from ..process.variants.collected import uses_benchmark
from ..process.variants.import_roots import Trees
from ..process.variants.pipe import Link
from ..process.variants.startup import run
from ..store import suite
from . import kinds, record
from .findings import find

_OFF = ("lfplugin", "nfplugin", "stepwise", "timeout")
"""Pytest plugins that write to the user's folders, or end a test that takes longer than usual."""


def main(terms: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    """Run pytest, and profile the benchmarks that it collects; see `Profiler`."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that unfinished profiles are removed
    run(trees, Profiler(terms, link))


class Profiler(Overrides, Instrument):
    """The pytest plugin, and the instrument that pytest-benchmark's fixture calls instead of timing."""

    def __init__(self, terms: Mapping[str, Any], link: Link) -> None:
        """`terms`: the command's `select`, `kinds`, `repeats` and `folder`, and the options' `defaults`."""
        storage = f"file://{tempfile.gettempdir()}"  # else pytest-benchmark makes a folder in the project
        options = {"benchmark_json": None, "benchmark_storage": storage, "gnn_all": True}
        super().__init__(options, terms.get("defaults"))
        self._terms, self._link = terms, link
        self._root, self._folder = Path(), ""
        """`_folder`: the folder of the running benchmark's profile. Empty if there is none yet."""
        self._reports: dict[str, pytest.TestReport] = {}
        self._unknown = ""  # a hint, if `select` names no operation

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Select the benchmarks of an operation. A text that is no operation is used as pytest's `-k`."""
        benchmarks, select = [item for item in items if uses_benchmark(item)], self._terms["select"]
        selection = benchmarks_of(benchmarks, select) if select else benchmarks
        if select and benchmarks and not selection:
            keyword, selection = config.option.keyword, benchmarks
            config.option.keyword = f"({keyword}) and ({select})" if keyword else select
            self.excluded.typed.add(shlex.join(["-k", config.option.keyword]))
            if not (keyword or config.option.markexpr):
                self._unknown = str(unknown_name("benchmark", select, set(map(_operation, benchmarks))))
        config.hook.pytest_deselected(items=[item for item in items if item not in selection])
        items[:] = selection

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Profile instead of timing while the tests run."""
        self._root, manager = session.config.rootpath, session.config.pluginmanager
        for name in filter(manager.has_plugin, _OFF):
            manager.unregister(name=name)
        notes = [*self.lines(), *self.excluded.lines(session.items)]
        names = [item.nodeid for item in session.items]
        self._link.send({"answer": "collected", "names": names, "notes": notes, "unknown": self._unknown})
        with benchmark_fixture.replace_timing(lambda _: self):
            return (yield)

    def pytest_runtest_logstart(self) -> None:
        """Begin each benchmark in the same state."""
        self._folder, self._reports = "", {}
        conditions.seed(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of set-up, call or tear-down; after the last, send how the test ended."""
        self._reports[report.when or ""] = report
        if report.when == "teardown":
            failure = outcome.failure(self._reports)
            ending = failure.text if failure else "profiled" if self._folder else "it was not profiled"
            self._link.send({"answer": "ended", "folder": self._folder, "how": ending})

    def measure(self, fixture: Any, call: Call) -> Any:
        return self.measure_pedantic(fixture, Pedantic.of(call))

    def measure_pedantic(self, fixture: Any, asked: Pedantic) -> Any:
        """Profile a call instead of timing it, save the profile, and return the output of one more call."""
        from ..ground import environment

        spec = json_io.gnnbench_part(fixture.extra_info).get("spec")
        labels = suite.installed().labels(spec) if spec else None
        name = labels.id if labels else fixture.fullname
        torch = sys.modules.get("torch")
        device = "cuda" if torch and torch.cuda.is_initialized() else "cpu"
        subject = kinds.Subject(asked, device, self._terms["repeats"])
        with record.new(Path(self._terms["folder"]), name) as (draft, folder):
            with benchmark_fixture.pause_tracing():
                sections, unavailable = kinds.profile(self._terms["kinds"], subject, draft)
            if not sections:
                pytest.skip("; ".join(dict.fromkeys(unavailable.values())))
            profile = record.ProfileRecord(
                id=name,
                spec=spec,
                environment=environment.collect(self._root, device=device),
                repeats=subject.repeats,
                sections=sections,
                unavailable=unavailable,
                findings=find(sections),
            )
            (draft / record.FILE).write_text(codec.as_text(profile), encoding="utf-8")
        self._folder = str(folder)
        return asked.once()


def benchmarks_of(items: Sequence[pytest.Item], name: str) -> list[pytest.Item]:
    """Return the benchmarks of an operation, or else those of all operations with this prefix (`spmm`)."""
    matches = [item for item in items if _operation(item) == name]
    return matches or [item for item in items if _operation(item).startswith(f"{name}_")]


def _operation(item: pytest.Item) -> str:
    """Return a test's parameter `operation`. Without one, return its function's name without `test_`."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return str(parameters.get("operation", getattr(item, "originalname", item.name).removeprefix("test_")))
