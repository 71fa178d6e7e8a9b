"""The pytest plugin of a child process: measures the suite's benchmarks on command.

Each command has one answer:

    run        run a test up to its call of `benchmark`                        ready or done
    inspect    count the operations of one call, and take its fingerprint      inspected or done
    cost       count what calls execute, and take their CPU time               cost or done
    count      count the instructions of one call                              counted or done
    calibrate  warm up, choose the iterations of a round, and list the cores   calibrated or done
    return     make calls, and hash what they return and change                returned or done
    save       write parts of that into files                                  saved or done
    block      copy the inputs and time some rounds, on one core               block or done
    next       run the test to its end, or leave it; it may be run again       done or ready
    fork       before `run`: fork a process, which takes commands itself       forked
    reap       tell how a fork has ended                                       reaped
    quit       end the session                                                 none

The answer is `done` whenever the test has ended: also if it was skipped, raised, or has no benchmark. If the
process notes what it uses (`unchanged/used.py`), this and the first answer, `collected`, have it.
"""

import os
import sys
import tempfile
import traceback
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ..interfaces import Instrument
from ..measure import benchmark_fixture, conditions
from ..measure.benchmark_fixture import Pedantic
from ..measure.clock import Call, Clock
from ..measure.layouts import Layouts, clock_for
from . import slowdown
from .forks import RETURN, Forks
from .held import AllTimed, Held, Repeated
from .unchanged.used import Used
from .variants import forking, outcome
from .variants.child_plugins import Overrides
from .variants.collected import (
    CHECKED,
    FIXED_INPUTS,
    IN_PLACE,
    WHOLE_CALL,
    declares,
    foreign_fixture,
    marked,
)
from .variants.import_roots import Trees
from .variants.pipe import ClosedError, Link
from .variants.startup import end_group, run

if TYPE_CHECKING:
    from ..measure.simulated_clock import FakeMachine

_FAKE_CLOCK = "GNNBENCH_FAKE_CLOCK"  # its module imports numpy

_OPTIONS: Mapping[str, Any] = {
    "benchmark_json": None,
    # pytest-benchmark creates its storage folder: give it one that exists.
    "benchmark_storage": f"file://{tempfile.gettempdir()}",
}
_BETWEEN = ("collected", "forked", "reaped", "done")
"""Answers between two tests."""
_SUITE = "gnnbench-suite"
"""Of the plugin of the suite that is a part of gnnbench."""
_CHOICE = "gnnbench-choice"
"""Of gnnbench's plugin on this side: which benchmarks run."""
_PLUGINS_OFF = ("cacheprovider", "stepwise", "timeout", "unraisableexception", "threadexception")
"""Plugins that write to the caller's tree, end a benchmark which waits for its next command, or collect
garbage several times at the end, which takes seconds with torch."""


class Worker(Overrides, Instrument):
    """The plugin, and the instrument that holds each benchmark."""

    def __init__(self, terms: Mapping[str, Any], link: Link, trees: Trees) -> None:
        """Take the connection and what this process is started for.

        Of the terms that `Child` was given, `pair` and `side` (1 for the head) seed a simulated clock, and
        `defaults` are those of gnnbench's options. With `recorded`, it notes what it uses; with `forks`, the
        processes of pairs are forked from this one; with `apart`, each test runs in a fork if that is
        possible: none depends on those before.
        """
        self._pair, self._side = terms["pair"], terms["side"]
        super().__init__({**_OPTIONS, "randomly_seed": self._pair}, terms.get("defaults"))
        self._is_parent, self._apart = terms.get("forks", False), terms.get("apart", False)
        self._link, self._trees = link, trees
        self._used = Used(trees) if terms.get("recorded") else None
        self._codes: Sequence[Sequence[CodeType]] = ()
        self._slowdown = slowdown.asked()
        self._machine = _fake_machine(self._pair, self._side, self._slowdown, self._side)
        self._items: dict[str, pytest.Item] = {}
        self._item: pytest.Item | None = None
        self._current: Held | None = None
        """The call that waits for commands."""
        self._reports: dict[str, pytest.TestReport] = {}
        self._held = False
        self._refused: dict[str, str] = {}
        self._forks, self._refusal = Forks(), ""
        self._seed = self._pair
        self._keeps = False
        """Whether outputs may be compared, for which the inputs are kept."""
        conditions.seed(self._pair)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        """Override options of the suite and the user, and remove plugins that disturb timing."""
        for name in _PLUGINS_OFF:
            if config.pluginmanager.has_plugin(name):
                config.pluginmanager.unregister(name=name)
                if name == "timeout":  # its marker stays valid
                    config.addinivalue_line("markers", "timeout: ignored while two variants are timed")
        return (yield from super().pytest_cmdline_main(config))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why a file cannot be collected, or that it skips itself."""
        if report.failed:
            self._refused[report.nodeid] = outcome.line(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a phase of the test ended."""
        self._reports[report.when or ""] = report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, object, object]:
        """Seed a fixture that several tests share by its name: it may be set up for any of them."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"
        conditions.seed(zlib.crc32(name.encode()) ^ self._seed)
        try:
            with self._used.shared() if self._used else nullcontext():
                return (yield)
        finally:
            conditions.seed(self._seed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests that the coordinator names."""
        config = session.config
        items = {item.nodeid: item for item in session.items}
        declared = [name for name, item in items.items() if declares(item)]
        suite = config.pluginmanager.get_plugin(_SUITE)  # of this side's gnnbench
        if (self._is_parent or self._apart) and suite:  # each fork would import them again
            suite.load_used_libraries(session.items)
        why_no_forks = forking.why_not() if self._is_parent or self._apart else ""
        self._apart = self._apart and not why_no_forks
        self._session, self._items = session, items
        collected = {
            "answer": "collected",
            "why_no_forks": why_no_forks,
            "names": list(items),
            "declared": declared,
            "has_others": bool(getattr(config.pluginmanager.get_plugin(_CHOICE), "left_out", None)),
            "notes": self.lines(),
            "excluded": self.excluded.lines([*items.values()]),
            "refused": self._refused,
            "places": list(map(str, config.args)),
            "rootdir": os.path.relpath(config.rootpath, config.invocation_params.dir),
        }
        with benchmark_fixture.replace_timing(self.choose):
            try:
                first = self._first_answer({**collected, **self._taken()})
                command = self._serve_forks(self._ask(first)) if first else {"command": "quit"}
                while command["command"] == "run":
                    command = self._ask(self._run(command))
            finally:
                config.pluginmanager.unregister(name="terminalreporter")  # its summary may take a second
        return True

    def _first_answer(self, collected: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what is sent first. None if nothing is: another session has taken the commands."""
        return collected

    def _serve_forks(self, command: dict[str, Any]) -> dict[str, Any]:
        """Fork processes while these are asked for; return the next command, also in a fork."""
        while command["command"] in ("fork", "reap"):
            if command["command"] == "reap":
                status = forking.reap(command["pid"], command["seconds"])
                command = self._ask({"answer": "reaped", "status": status})
                continue
            pid, link = forking.fork(self._link.descriptors.pop(), command["token"])
            if link:
                self._link.close()
                self.begin(command["pair"], command["place"], link)
                return self._ask({"answer": "forked"})
            command = self._ask({"answer": "forked", "pid": pid})
        return command

    def begin(self, pair: int, place: int, link: Link) -> None:
        """Begin in a fork as a fresh process would; it is at a place of the pair, 1 for the head."""
        config, self._link = self._session.config, link
        self._forks.stay()
        self._pair = self._seed = pair
        conditions.seed(pair)
        if hasattr(config.option, "randomly_seed"):
            config.option.randomly_seed = pair
        self._machine = _fake_machine(pair, self._side, self._slowdown, place)

    def _run(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Run the test that a command names, and return how it ended. Empty if a fork has answered that."""
        if not self._apart:
            return self._run_here(command)
        sys.stdout.flush()
        status = 1
        if child := os.fork():
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            failure = {"text": f"its process ended with exit status {status}", "skipped": False}
            died = {"answer": "done", "failure": failure, "held": False, "fixture": ""}
            return died if status else {}
        self._forks.stay()
        try:
            self._send(self._run_here(command))
            status = 0
        finally:
            os._exit(status)

    def _run_here(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Run a test, after what only earlier tests need was torn down."""
        item = self._items[command["name"]]
        setattr(item.config.option, CHECKED, command.get("checked", False))
        self._keeps = command.get("compared", False)
        try:
            self._session._setupstate.teardown_exact(item)  # noqa: SLF001
        except Exception:  # noqa: BLE001 - fixtures of earlier tests may raise anything
            traceback.print_exc()
        self._seed = command["seed"]
        conditions.seed(self._seed)
        self._reports, self._held, self._item, self._codes = {}, False, item, ()
        self._refusal, self._forks.follows = "", True
        # With the parent as the next item, only the function-scoped fixtures are torn down: with None all
        # fixtures would be, with the test itself none.
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=item.parent)
        self._item, self._forks.follows = None, False
        self._forks.leave()
        theirs = getattr(item.config, "_benchmarksession", None)
        if theirs is not None:
            theirs.benchmarks.clear()  # the list would grow with each visit
        failure = outcome.failure(self._reports)
        if refusal := RETURN if self._forks.have_returned() else self._refusal:
            failure = outcome.Failure(refusal, skipped=False)
        ended = {"failure": failure and failure._asdict(), "held": self._held}
        return {"answer": "done", **ended, "fixture": foreign_fixture(item), **self._taken(self._codes)}

    def _taken(self, codes: Sequence[Sequence[CodeType]] = ()) -> dict[str, Any]:
        """Return what was used since the last time, if it is noted."""
        return {"used": self._used.take(codes)} if self._used else {}

    def _ask(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Send an answer, and return the next command; both carry the time of a simulated machine."""
        self._forks.leave()
        kind = answer.get("answer", "done")
        if kind != "done" and self._forks.have_returned():
            self._refuse(RETURN)
        if answer:
            self._send(answer)
        try:
            command = self._receive()
        except ClosedError:
            end_group()
        if command["command"] == "quit" and kind not in _BETWEEN:
            pytest.exit("the coordinator ended")
        if self._machine:
            self._machine.now_seconds = command.get("now") or 0.0
        return command

    def _refuse(self, why: str) -> NoReturn:
        """End the test, which cannot be compared."""
        self._refusal = why
        pytest.skip(why)

    def _send(self, answer: Mapping[str, Any]) -> None:
        now = self._machine.now_seconds if self._machine else None
        loaded = list(self._trees.loaded)
        try:
            self._link.send({**answer, "now": now, "loaded": loaded})
        except ClosedError:
            end_group()

    def _receive(self) -> dict[str, Any]:
        command = self._link.receive()
        assert command
        return command

    def choose(self, fixture: Any) -> Instrument | None:
        """Return what measures: nothing outside of a test that was asked for."""
        return None if fixture.disabled or self._item is None else self

    def measure(self, fixture: Any, call: Call) -> Any:
        """Hold `benchmark(function, ...)`."""
        if reason := marked(self._item, WHOLE_CALL):
            whole = benchmark_fixture.whole_call_reason(reason)
            return self._hold(AllTimed(*self._parts(fixture, call), Pedantic.of(call), whole=whole))
        return self._hold(Held(*self._parts(fixture, call), stays=self._is_marked(IN_PLACE)))

    def measure_pedantic(self, fixture: Any, asked: Pedantic) -> Any:
        """Hold `benchmark.pedantic(...)`."""
        parts = self._parts(fixture, Call(asked.target, asked.args, asked.kwargs))
        if asked.rounds == 1:
            return self._hold(AllTimed(*parts, asked))
        return self._hold(Repeated(*parts, asked, stays=self._is_marked(IN_PLACE)))

    def _parts(self, fixture: Any, call: Call) -> tuple[Any, Layouts, Clock]:
        """Return the fixture, the inputs and the clock."""
        layouts = Layouts(call)
        clock: Clock
        if self._machine:
            clock = self._machine.clock(fixture.fullname)
        else:
            clock = clock_for(layouts.devices, fixture._timer, flush=True)  # noqa: SLF001
            if self._slowdown:
                clock = slowdown.Slowed(clock, self._slowdown)
        return fixture, layouts, clock

    def _is_marked(self, name: str) -> bool:
        return marked(self._item, name) is not None

    def _hold(self, held: Held) -> Any:
        if self._held and "call" not in self._reports:  # else a plugin runs the test again
            self._refuse(outcome.SEVERAL)
        self._held = True
        scope = vars(getattr(self._item, "module", None) or object)
        fixed, noting = self._is_marked(FIXED_INPUTS), self._used.resumed if self._used else nullcontext
        if self._keeps:
            with benchmark_fixture.pause_tracing():
                held.keep_inputs()
        tested, self._current = self._trees.loaded, held
        try:
            if held.serve(self._ask, scope=scope, fixed=fixed, tested=tested, noting=noting):
                pytest.skip("it is only inspected")
            self._codes = held.codes
            return held.result()
        finally:
            self._current = None
            self._forks.leave()


def main(terms: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    """Run pytest with the plugin."""
    run(trees, Worker(terms, link, trees))


def _fake_machine(pair: int, side: int, slower: float, place: int) -> "FakeMachine | None":
    """Return the simulated machine if GNNBENCH_FAKE_CLOCK asks for one."""
    if not (text := os.environ.get(_FAKE_CLOCK)):
        return None
    from ..measure.simulated_clock import FakeMachine

    return FakeMachine.parse(text, pair, side, slower, place)
