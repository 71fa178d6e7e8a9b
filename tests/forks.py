"""Children of gnnbench, commands and pip as forks of a process that has imported what they need.

They are quicker than fresh ones. Each is a process of its own, which leads its session, as a fresh one does.
A test of what a fresh interpreter does (imports, threads of OpenMP, signals) starts one, or has the fixture
`fresh_children`; all are fresh where Python's or OpenMP's variables are not the usual ones, and where the
folder has another gnnbench.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from types import ModuleType, SimpleNamespace

import cpuinfo

ADDRESS = "TESTS_FORKS"
"""Variable with the folder of the sockets where forks are asked for."""
_ROOT = Path(__file__).parents[1]
_PYTHON = sys.executable  # some tests replace it
_PLAIN, _TORCH, _PIP = "plain", "torch", "pip"
ASLEEP = {"OMP_WAIT_POLICY": "PASSIVE"}
"""What the suite's conftest sets before it imports torch, which is too late in a fork."""
_ALIAS = "gnnbench_coordinator"
_MODULES = (
    *("process.worker", "process.together", "process.variants.startup", "process.variants.child_plugins"),
    *("process.variants.outcome", "measure.returned.calls"),
)
_WITH_TORCH = ("torch.profiler", "torch.fx.experimental.symbolic_shapes")
"""The second is imported where a call's gradients are first computed, with all of sympy."""
COMMANDS, LIBRARIES = "commands", "libraries"
_OF_COMMANDS = (
    *("gnnbench.engine.cli.main", "gnnbench.engine.plugin.gate", "gnnbench.engine.plugin.terminal"),
    *("msgspec", "rich.table", "scipy.stats"),
)
_MORE = {
    _TORCH: _WITH_TORCH,
    _PIP: ("pip._internal.cli.main", "pip._internal.commands.install"),
    COMMANDS: _OF_COMMANDS,
    LIBRARIES: (*_OF_COMMANDS, *_WITH_TORCH, "torch_geometric.nn", "gnnbench.suite.verify"),
}
"""What a fork imports that serves those who use it."""
_DIGITS = 10
_LIMIT_SECONDS = 300
_HIGH = 500
"""Above all descriptors that a coordinator has opened."""


@cache
def address() -> str:
    """Start the process that is forked, unless the controller of xdist has; it ends when this one does.

    Return the folder of its sockets.
    """
    if ADDRESS in os.environ:
        return os.environ[ADDRESS]
    folder = mkdtemp(prefix="gnnbench-forked-")
    usual = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = {"PYTEST_ADDOPTS": "-p no:hypothesispytest"}  # all others, whichever test starts it
    _started.append(
        subprocess.Popen(
            [sys.executable, "-m", __name__, folder],
            cwd=_ROOT,
            env={**usual, **ASLEEP, **plugins, "PYTHONHASHSEED": "random"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    )
    _started[0].stdout.readline()
    return folder


_started: list[subprocess.Popen[bytes]] = []


def _popen(command, *, cwd, env, stdout, stderr, pass_fds=(), **options):
    """Start a child or a pytest as a fork, or as a fresh process where that may make a difference."""
    names = ("PYTHON", "OMP_", "MKL_", "LD_")
    special = {name: value for name, value in env.items() if name.startswith(names)}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONHASHSEED"):
        special.pop(name, None)
    runs_pip = [*command[1:4]] == ["-P", "-m", "pip"]
    is_known = (command[1] == "-c" or command[1:3] == ["-m", "pytest"]) and stderr == subprocess.STDOUT
    is_usual = special in (ASLEEP, {}) and (Path(cwd) == _ROOT or not Path(cwd, "gnnbench").exists())
    if command[0] == _PYTHON and (is_known or runs_pip) and is_usual:
        files = Path(cwd).glob("*.py")
        uses_torch = cwd == _ROOT or any("import torch" in file.read_text() for file in files)
        kind = _PIP if runs_pip else _TORCH if uses_torch else _PLAIN
        return Forked(kind, [*command[1 + runs_pip :]], cwd, env, stdout, stderr, pass_fds)
    more = {"stdout": stdout, "stderr": stderr, "pass_fds": pass_fds}
    return subprocess.Popen(command, cwd=cwd, env=env, **more, **options)


INSTEAD = SimpleNamespace(**{**vars(subprocess), "Popen": _popen})
"""Stands for the module `subprocess` where children are started."""


def run(
    words: list[str], folder: Path, environment: dict[str, str], *, libraries: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a script, or `python -m MODULE`; `libraries`: where torch and the platforms' are imported."""
    kind = LIBRARIES if libraries else COMMANDS
    given = words[1:] if words[1:2] == ["-m"] else words
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        process = Forked(kind, given, folder, {ADDRESS: address(), **environment}, output, errors)
        status = process.wait(_LIMIT_SECONDS)
        for file in (output, errors):
            file.seek(0)
        return subprocess.CompletedProcess(words, status, output.read(), errors.read())


class Forked:
    def __init__(self, kind, words, folder, environment, output, errors, descriptors=()):
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(f"{address()}/{kind}")
        given, ends, pipes = {}, [], []
        for number, where in ((1, output), (2, errors)):
            if where == subprocess.PIPE:
                read, given[number] = os.pipe()
                ends.append(given[number])
                pipes.append(os.fdopen(read, errors="surrogateescape"))
            elif where != subprocess.STDOUT:
                given[number] = where.fileno()
        self.stdout, self.stderr, *_ = *pipes, None, None
        given |= {number: number for number in descriptors}
        socket.send_fds(self._link, [b"f"], [*given.values()])
        for end in ends:
            os.close(end)
        self._link.sendall(json.dumps([words, str(folder), {**environment}, [*given]]).encode())
        self._link.shutdown(socket.SHUT_WR)
        self.returncode = None
        self.pid = self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wait()

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._link], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("", timeout)
            self.returncode = self._answer()
            self._link.close()
        return self.returncode

    def communicate(self):
        """Return what it wrote; a pipe holds what pip says of errors."""
        output = self.stdout.read(), self.stderr.read()
        self.wait()
        return output

    def poll(self):
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def _answer(self):
        return int(self._link.recv(_DIGITS, socket.MSG_WAITALL))


def _watch(link):
    """Fork a child, tell its process id and its exit status; kill it when nobody listens any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, *_ = socket.recv_fds(link, 1, 10)
    text = b"".join(iter(lambda: link.recv(1 << 16), b""))
    child = os.fork()
    if not child:
        link.close()
        try:
            _become(descriptors, *json.loads(text))
        except SystemExit as end:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else bool(end.code))
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    link.sendall(f"{child:{_DIGITS}}".encode())
    ended = os.pidfd_open(child)
    watched = select.poll()
    watched.register(ended, select.POLLIN)
    watched.register(link, 0)  # both of its ends are closed
    if (ended, select.POLLIN) not in watched.poll():
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        link.sendall(f"{status:{_DIGITS}}".encode())
    os._exit(0)


def _become(descriptors, words, folder, environment, numbers):
    """Make this process, a fork, the child that was asked for."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    opened = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, _HIGH) for descriptor in descriptors]
    for one, number in zip(opened, numbers, strict=True):
        os.dup2(one, number)
    if 2 not in numbers:
        os.dup2(1, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.closerange(_HIGH, _HIGH + 20)
    for descriptor in set(descriptors) - {0, 1, 2, *numbers}:
        os.close(descriptor)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    if words[0] != "-c":
        for name in [name for name in sys.modules if name.partition(".")[0] == _ALIAS]:
            del sys.modules[name]  # it would count as code that is measured
        if words[0] == "-m":
            sys.path[0], sys.argv = folder, words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0], sys.argv = str(Path(words[0]).parent), words
            runpy.run_path(words[0], run_name="__main__")
        raise SystemExit(0)
    code, init, terms, *arguments = words[1], words[2], json.loads(words[3]), *words[4:]
    terms["coordinator"] = os.getppid()
    sys.path[0], sys.argv = "", ["-c", init, json.dumps(terms), *arguments]
    main = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), vars(main))


def look_up_once():
    """Keep what each pytest looks up: the CPU, in two processes, and to whom each module belongs."""
    whole, places = metadata.packages_distributions, {*sys.path}
    owners, cpu = cache(whole), cache(cpuinfo.get_cpu_info)

    def packages_distributions():
        others = (file for place in {*sys.path} - places for file in Path(place).glob("*.dist-info"))
        return whole() if any(others) else owners()

    metadata.packages_distributions = packages_distributions
    cpuinfo.get_cpu_info = lambda: {**cpu()}


def _start_forks(*, platforms):
    """Let commands that are forks of this process start forks, and look at no installed package's files."""
    from gnnbench.engine.process.unchanged import known
    from gnnbench.engine.process.variants import child, command

    known.environment_folders = tuple  # as in the tests' process, see conftest.py
    child.subprocess = command.subprocess = INSTEAD
    if platforms:
        from gnnbench.engine.ground.packages import missing
        from gnnbench.suite import training  # noqa: F401
        from gnnbench.suite.platforms import PLATFORMS, load

        for platform in PLATFORMS.values():
            if not missing(platform.packages):
                load(platform.name)


def _load(*names):
    for name in names:
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()  # what is imported is never searched again for what can be freed


def _serve(folder):
    listeners = {name: socket.socket(socket.AF_UNIX) for name in (_PLAIN, *_MORE)}
    for name, listener in listeners.items():
        listener.bind(f"{folder}/{name}")
        listener.listen(50)
    os.write(1, b"\n")
    import pytest

    from gnnbench.engine.process.variants.child import _BOOT, _PACKAGE

    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main(["--version", "--version", "--noconftest"])  # imports plugins as pytest does
        look_up_once()
        metadata.packages_distributions()
        cpuinfo.get_cpu_info()
    init = f"{_PACKAGE.parent}/./{_PACKAGE.name}/__init__.py"
    load = _BOOT.replace("MODULE", "engine.process.worker").partition("from ")[0]
    sys.argv = ["-c", init]
    exec(load, {})
    _load(*(f"{_ALIAS}.engine.{name}" for name in _MODULES))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready = select.select([0, *listeners.values()], [], [])[0]
        if 0 in ready:  # what started this has ended
            shutil.rmtree(folder, ignore_errors=True)
            return
        name = next(name for name, one in listeners.items() if one in ready)
        if name in _MORE and len(listeners) > 1:
            listener = listeners.pop(name)
            if not os.fork():
                if name in (COMMANDS, LIBRARIES):
                    _start_forks(platforms=name == LIBRARIES)
                _load(*_MORE[name])
                for one in listeners.values():
                    one.close()
                listeners = {name: listener}
            continue
        link, _ = listeners[name].accept()
        if not os.fork():
            for one in listeners.values():
                one.close()
            _watch(link)
        link.close()


if __name__ == "__main__":
    _serve(sys.argv[1])
