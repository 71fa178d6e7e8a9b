"""The pytest plugin of a child process: measures the suite's benchmarks on command.

The coordinator, gnnbench's main process, sends commands. The child sends one answer to each:

    run        run a test up to its call of `benchmark`                        ready or done
    inspect    count the operations of one call, and take its fingerprint      inspected or done
    cost       measure the cost of a call: its steps and CPU time              cost or done
    count      count the instructions of one call                              counted or done
    calibrate  warm up, choose the iterations of a round, and list the cores   calibrated or done
    return     make calls, and hash what they return and change                returned or done
    save       write some of these values into files                           saved or done
    block      copy the inputs and time some rounds, on one core               block or done
    next       run the test to its end, or skip the rest of it                 done or ready
    fork       only before `run`: fork a process that obeys commands, too      forked
    reap       return the exit status of a fork                                reaped
    quit       end the session                                                 none

The answer is `done` whenever the test has ended, even if it was skipped, failed or never called `benchmark`.
Before all commands, the process sends `collected`, with the tests of the suite. If used files are recorded
(`unchanged/used.py`), `collected` and `done` list them.
"""

import faulthandler
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
from .held import AllTimedCalls, HeldCall, PedanticCall
from .unchanged.used import UsageRecorder
from .variants import collected, outcome, startup
from .variants.child_plugins import Overrides
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
_SUITE = "gnnbench-suite"
"""The name of the plugin of gnnbench's own suite."""
_CHOICE = "gnnbench-choice"
"""The name of the plugin that deselects benchmarks. Both plugins belong to the gnnbench of this side."""
_PLUGINS_OFF = ("cacheprovider", "stepwise", "timeout", "unraisableexception", "threadexception")
"""Plugins that write to the caller's tree, end a test that waits for a command, or collect garbage several
times at the end, which takes seconds with torch."""


class Worker(Overrides, Instrument):
    """The pytest plugin. It is also the instrument that holds each test in its call of `benchmark`."""

    def __init__(self, settings: Mapping[str, Any], link: Link, trees: Trees) -> None:
        """Take the connection to the coordinator, and the settings that `Child` has sent.

        `pair` and `side` (1 for the head) seed a simulated clock. `defaults` are those of gnnbench's options.
        With `recorded`, the process records which code and files it uses. With `forks`, pairs are forked from
        it. With `apart`, each test runs in a fork if possible, so that no test affects another test.
        """
        self._pair, self._side = settings["pair"], settings["side"]
        super().__init__({**_OPTIONS, "randomly_seed": self._pair}, settings.get("defaults"))
        self._is_parent, self._apart = settings.get("forks", False), settings.get("apart", False)
        self._link, self._trees = link, trees
        self._used = UsageRecorder(trees) if settings.get("recorded") else None
        self._codes: Sequence[Sequence[CodeType]] = ()
        self._slowdown = float(os.environ.get(slowdown.VARIABLE) or 0)
        self._machine = _fake_machine(self._pair, self._side, self._slowdown, self._side)
        self._items: dict[str, pytest.Item] = {}
        self._item: pytest.Item | None = None
        self._current: HeldCall | None = None
        """The call that waits for commands."""
        self._reports: dict[str, pytest.TestReport] = {}
        self._has_called = False
        """Whether the current test has called `benchmark`."""
        self._uncollected: dict[str, str] = {}
        self._forks, self._why_incomparable = Forks(), ""
        self._seed = self._pair
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
        """Note why a file cannot be collected."""
        if report.failed:
            self._uncollected[report.nodeid] = outcome.line(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports[report.when or ""] = report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, object, object]:
        """Before the set-up of a fixture with a wider scope, seed by its name: any test may be the first."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"
        conditions.seed(zlib.crc32(name.encode()) ^ self._seed)
        try:
            with self._used.shared_setup() if self._used else nullcontext():
                return (yield)
        finally:
            conditions.seed(self._seed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests that the coordinator names."""
        config = session.config
        items = {item.nodeid: item for item in session.items}
        declared = [name for name, item in items.items() if collected.uses_benchmark(item)]
        suite = config.pluginmanager.get_plugin(_SUITE)  # of this side's gnnbench
        if (self._is_parent or self._apart) and suite:  # each fork would import them again
            suite.load_used_libraries(session.items)
        why_no_forks = startup.why_no_forks() if self._is_parent or self._apart else ""
        self._apart = self._apart and not why_no_forks
        self._session, self._items = session, items
        first_answer = {
            "answer": "collected",
            "why_no_forks": why_no_forks,
            "names": list(items),
            "declared": declared,
            "has_others": bool(getattr(config.pluginmanager.get_plugin(_CHOICE), "left_out", None)),
            "notes": self.lines(),
            "excluded": self.excluded.lines([*items.values()]),
            "refused": self._uncollected,
            "places": list(map(str, config.args)),
            "rootdir": os.path.relpath(config.rootpath, config.invocation_params.dir),
        }
        with benchmark_fixture.replace_timing(self.choose):
            try:
                answer = self._first_answer({**first_answer, **self._usage()})
                command = self._serve_forks(self._ask(answer)) if answer else {"command": "quit"}
                while command["command"] == "run":
                    command = self._ask(self._run(command))
            finally:
                config.pluginmanager.unregister(name="terminalreporter")  # its summary may take a second
        return True

    def _first_answer(self, answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the first answer to send. Returns None if another session has obeyed all commands."""
        return answer

    def _serve_forks(self, command: dict[str, Any]) -> dict[str, Any]:
        """Obey the commands `fork` and `reap`. Returns the first other command, in this process or a fork."""
        while command["command"] in ("fork", "reap"):
            if command["command"] == "reap":
                status = startup.reap(command["pid"], command["seconds"])
                command = self._ask({"answer": "reaped", "status": status})
                continue
            pid, link = startup.fork(self._link.receive_descriptor())
            if link:
                self._link.close()
                self.begin(command["pair"], command["index"], link)
                return self._ask({"answer": "forked"})
            command = self._ask({"answer": "forked", "pid": pid})
        return command

    def begin(self, pair: int, index: int, link: Link) -> None:
        """Seed a fork like a new process of a pair; `index` is 0 in the base's process, 1 in the head's."""
        config, self._link = self._session.config, link
        self._forks.reset()
        self._pair = self._seed = pair
        conditions.seed(pair)
        if hasattr(config.option, "randomly_seed"):
            config.option.randomly_seed = pair
        self._machine = _fake_machine(pair, self._side, self._slowdown, index)

    def _run(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Run a test, perhaps in a fork. Returns the answer, which is empty if the fork has sent it."""
        if not self._apart:
            return self._run_test(command)
        sys.stdout.flush()
        status = 1
        if child := os.fork():
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            failure = {"text": f"the test's process ended with exit status {status}", "skipped": False}
            return {"answer": "done", "failure": failure, "held": False, "fixture": ""} if status else {}
        self._forks.reset()
        try:
            self._send(self._run_test(command))
            status = 0
        finally:
            os._exit(status)

    def _run_test(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Run a test in this process, after tearing down the fixtures that only earlier tests need."""
        item = self._items[command["name"]]
        setattr(item.config.option, collected.CHECKED, command.get("checked", False))
        try:
            self._session._setupstate.teardown_exact(item)  # noqa: SLF001
        except Exception:  # noqa: BLE001 - fixtures of earlier tests may raise anything
            traceback.print_exc()
        self._seed = command["seed"]
        conditions.seed(self._seed)
        self._reports, self._has_called, self._item, self._codes = {}, False, item, ()
        self._why_incomparable, self._forks.watches = "", True
        # The next item determines which fixtures pytest tears down: all for None, none for the test itself,
        # and only the function-scoped ones for the test's parent.
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=item.parent)
        self._item, self._forks.watches = None, False
        self._forks.end_if_forked()
        session = getattr(item.config, "_benchmarksession", None)
        if session is not None:
            session.benchmarks.clear()  # the list would grow with each run of a test
        failure = outcome.failure(self._reports)
        if reason := (RETURN if self._forks.have_returned() else self._why_incomparable):
            failure = outcome.Failure(reason, skipped=False)
        ended = {"failure": failure and failure._asdict(), "held": self._has_called}
        fixture = collected.foreign_fixture(item)
        return {"answer": "done", **ended, "fixture": fixture, **self._usage(self._codes)}

    def _usage(self, codes: Sequence[Sequence[CodeType]] = ()) -> dict[str, Any]:
        """Return the part of an answer that lists what was used since the last one, if this is recorded."""
        return {"used": self._used.take(codes)} if self._used else {}

    def _ask(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Send an answer, and return the next command; both carry the time of a simulated machine."""
        self._forks.end_if_forked()
        if self._item and self._forks.have_returned():
            self._end_incomparable(RETURN)
        if answer:
            self._send(answer)
        try:
            command = self._receive()
        except ClosedError:
            end_group()
        if command["command"] == "quit" and self._item:
            pytest.exit("the coordinator ended")
        if self._machine:
            self._machine.now_seconds = command.get("now") or 0.0
        return command

    def _end_incomparable(self, reason: str) -> NoReturn:
        self._why_incomparable = reason
        pytest.skip(reason)

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
        """Return this worker if a test runs on command, or None if pytest-benchmark is to measure."""
        return None if fixture.disabled or self._item is None else self

    def measure(self, fixture: Any, call: Call) -> Any:
        """Obey commands within `benchmark(function, ...)`, and return its result."""
        arguments = self._held_arguments(fixture, call)
        if reason := collected.marked(self._item, collected.WHOLE_CALL):
            reason = benchmark_fixture.whole_call_reason(reason)
            return self._hold(AllTimedCalls(*arguments, Pedantic.of(call), reason=reason))
        return self._hold(HeldCall(*arguments, in_place=self._is_marked(collected.IN_PLACE)))

    def measure_pedantic(self, fixture: Any, pedantic: Pedantic) -> Any:
        """Obey commands within `benchmark.pedantic(...)`, and return its result."""
        call = Call(pedantic.target, pedantic.args, pedantic.kwargs)
        arguments = self._held_arguments(fixture, call)
        if pedantic.rounds == 1:  # the call may not be repeatable, so none is made beforehand
            return self._hold(AllTimedCalls(*arguments, pedantic))
        return self._hold(PedanticCall(*arguments, pedantic, in_place=self._is_marked(collected.IN_PLACE)))

    def _held_arguments(self, fixture: Any, call: Call) -> tuple[Any, Layouts, Clock]:
        """Return the first arguments of a HeldCall: the fixture, the layouts of the inputs, and the clock."""
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
        return collected.marked(self._item, name) is not None

    def _hold(self, held: HeldCall) -> Any:
        """Obey the commands for a benchmark; return what the test gets from its call of `benchmark`."""
        if self._has_called and "call" not in self._reports:  # else a plugin runs the test again
            self._end_incomparable(outcome.SEVERAL)
        self._has_called = True
        faulthandler.cancel_dump_traceback_later()  # pytest's time limit does not know how long tests wait
        scope = vars(getattr(self._item, "module", None) or object)
        fixed = self._is_marked(collected.FIXED_INPUTS)
        noting = self._used.noting if self._used else nullcontext
        tested, self._current = self._trees.loaded, held
        try:
            if held.serve(self._ask, scope=scope, fixed_inputs=fixed, tested=tested, noting=noting):
                pytest.skip("only inspected, so the test ends at its call of `benchmark`")
            self._codes = held.codes
            return held.result()
        finally:
            self._current = None
            self._forks.end_if_forked()


def main(settings: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    run(trees, Worker(settings, link, trees))


def _fake_machine(pair: int, side: int, slowdown_share: float, index: int) -> "FakeMachine | None":
    """Return the simulated machine if GNNBENCH_FAKE_CLOCK asks for one."""
    if not (text := os.environ.get(_FAKE_CLOCK)):
        return None
    from ..measure.simulated_clock import FakeMachine

    return FakeMachine.parse(text, pair, side, slowdown_share, index)
