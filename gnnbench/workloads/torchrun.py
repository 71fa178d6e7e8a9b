"""Processes of torchrun that train and take commands; they end with the object, or with this process."""

import json
import subprocess
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import torch

from . import distributed, interpreter
from .case import Case
from .libraries import STAND_IN, uses_stand_in

PROCESSES = 2


class ProcessesError(Exception):
    """The processes ended; the message has the last line that they wrote."""


def why_not_on(device: str) -> str | None:
    """Return why the processes cannot work on a device; None: they can."""
    if device == "cuda" and (count := torch.cuda.device_count()) < PROCESSES:
        return f"{PROCESSES} processes need as many GPUs; here is {count}"
    return None


class Processes:
    """The processes that train a case's GCN, each with a part of the training nodes."""

    def __init__(self, case: Case) -> None:
        """Start them; `epoch` waits until they are ready."""
        self._folder = tempfile.TemporaryDirectory(prefix="gnnbench-torchrun-")
        folder = Path(self._folder.name)
        distributed.write(case, folder / "case.pt")
        self._log = folder / "log"
        empty = (STAND_IN,) if case.spec.platform == "dgl" and uses_stand_in() else ()
        worker = interpreter.command(
            f"from {distributed.__name__} import main; main()",
            str(folder / "case.pt"),
            absent=("outdated",),
            empty=empty,
        )
        words = interpreter.command(
            "from torch.distributed.run import main; main()",
            *("--standalone", f"--nproc-per-node={PROCESSES}", "--no-python", *worker),
        )
        threads = str(max(1, torch.get_num_threads() // PROCESSES))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603
                words,
                env={**interpreter.environment(), "OMP_NUM_THREADS": threads},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl-C is for this process, which ends them.
                start_new_session=True,
            )
        self._end = weakref.finalize(self, _end, self._process, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end()

    def epoch(self) -> float:
        """Train for one epoch in all processes; return the mean loss before the step.

        Raises:
            ProcessesError: they have ended.
        """
        loss: float = self._ask("epoch")["loss"]
        return loss

    def evaluate(self) -> tuple[float, float]:
        """Return the loss of all training nodes, and the largest difference between parameters of processes.

        Raises:
            ProcessesError: they have ended.
        """
        found = self._ask("evaluate")
        return found["loss"], found["difference"]

    def _ask(self, command: str) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        try:
            stdin.write(f"{command}\n")
            stdin.flush()
        except (OSError, ValueError):
            raise self._ended() from None
        for line in stdout:
            if line.startswith("{"):  # libraries may write other lines
                return json.loads(line)
        raise self._ended()

    def _ended(self) -> ProcessesError:
        last = ""
        with suppress(OSError):
            lines = self._log.read_text(errors="replace").splitlines()
            # torchrun adds a summary; the exception is the last line of a process's own.
            errors = [line for line in lines if "Error" in line and "ChildFailedError" not in line]
            last = (errors or lines or [""])[-1]
        return ProcessesError(f"the processes of torchrun ended: {last or 'without a message'}")


def _end(process: subprocess.Popen[str], folder: tempfile.TemporaryDirectory[str]) -> None:
    """Kill all processes: they have nothing to finish, and would take seconds to end by themselves."""
    with suppress(psutil.Error):
        torchrun = psutil.Process(process.pid)
        torchrun.suspend()  # so that it starts no others
        for one in (*torchrun.children(recursive=True), torchrun):
            with suppress(psutil.Error):
                one.kill()
    with process:  # closes the pipes, and waits
        pass
    folder.cleanup()
