"""Runs the units of a step, and stores their results."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import packages

ROOT = Path(__file__).parents[2]
GNNBENCH = ("-c", "import sys; from gnnbench.engine.cli.main import main; sys.exit(main())")
_TAIL = 2000
"""Characters of a failed unit's output that are kept."""


@dataclass(frozen=True)
class Plan:
    """What a call was asked for."""

    folder: Path
    device: str
    small: bool
    packages: Path | None = None

    def python(self, *arguments: object, tree: Path = ROOT, log: Path | None = None) -> Any:
        """Run Python in the root of a repository; return the finished process, its output as text.

        With a log, the output goes there.
        """
        command = [sys.executable, *map(str, arguments)]
        options: dict[str, Any] = {"cwd": tree, "env": environment(tree), "text": True}
        if log is None:
            return subprocess.run(command, check=False, capture_output=True, **options)
        with log.open("w", encoding="utf-8") as stream:
            return subprocess.run(command, check=False, stdout=stream, stderr=subprocess.STDOUT, **options)

    def gnnbench(self, *arguments: object, **options: Any) -> Any:
        """Run the command gnnbench."""
        return self.python(*GNNBENCH, *arguments, **options)

    def suite(self, *arguments: object, **options: Any) -> dict[str, Any]:
        """Run benchmarks, and return the content of the run file they leave; `file` is that alone.

        Raises:
            RuntimeError: they left none; with the end of what was printed.
        """
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "run.json")
            command = (
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "-rfEs",
                *arguments,
                f"--benchmark-json={file}",
            )
            ended = self.python(*command, "--gnn-device", self.device, **options)
            if not file.exists() or not file.stat().st_size:
                raise RuntimeError((ended.stdout + ended.stderr)[-_TAIL:])
            content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        content["file"] = dict(content)
        content["last_line"] = last(ended.stdout)
        content["failures"] = [
            line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
        ]
        content["skips"] = [line for line in ended.stdout.splitlines() if line.startswith("SKIPPED")]
        return content

    def in_a_process(self, step: str, unit: str, seconds: float) -> tuple[float, dict[str, Any]]:
        """Run a unit in a fresh process; return how long that took, and what it found or why it failed."""
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "result.json")
            command = [sys.executable, str(Path(__file__).with_name("gpu.py")), "unit", str(self.folder)]
            command += ["--step", step, "--unit", unit, "--result", str(file), "--device", self.device]
            command += ["--small"] if self.small else []
            command += ["--packages", str(self.packages)] if self.packages else []
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)  # and what it has started
                output, _ = process.communicate()
                output += f"\nstopped after {seconds:.0f} s"
            if process.returncode == 0 and file.exists():
                found = {"result": json.loads(file.read_text(encoding="utf-8"))}
            else:
                found = {"failed": output[-_TAIL:]}
        return time.monotonic() - start, found


def last(text: str) -> str:
    """Return the last line of an output."""
    return (text.strip().splitlines() or ["without a word"])[-1]


def environment(tree: Path = ROOT) -> dict[str, str]:
    """Return the variables of units: a tree first, then what was brought along."""
    cache = Path(tempfile.gettempdir(), "gnnbench-gpu-cache")
    paths = (str(tree), str(packages.SITE), *filter(None, [os.environ.get("PYTHONPATH")]))
    return {
        "GNNBENCH_CACHE": str(cache),
        "OMP_WAIT_POLICY": "PASSIVE",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
    }


class Results:
    """A step's file."""

    def __init__(self, folder: Path, step: str, device: str) -> None:
        """Read it where it is there.

        Raises:
            SystemExit: it is of another device.
        """
        self._path = folder / f"{step}.json"
        self.content: dict[str, Any] = {"step": step, "device": device, "units": {}}
        if self._path.exists():
            self.content = json.loads(self._path.read_text(encoding="utf-8"))
            if self.content["device"] != device:
                sys.exit(f"{self._path} is of the device {self.content['device']}: name another folder")

    @property
    def units(self) -> dict[str, Any]:
        """What was found, by unit, in the order in which it was."""
        found: dict[str, Any] = self.content["units"]
        return found

    def done(self, unit: str, *, again: bool) -> bool:
        """Tell whether a unit is not to be run."""
        found = self.units.get(unit)
        return found is not None and not (again and "failed" in found)

    def add(self, unit: str, seconds: float, found: Mapping[str, Any]) -> None:
        """Keep what a unit found, whole or not at all."""
        self.units[unit] = {"seconds": round(seconds, 1), **found}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".part")
        draft.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")
        draft.replace(self._path)

    def line(self, unit: str) -> str:
        """Say in a line how a unit ended."""
        found = self.units[unit]
        if "failed" not in found:
            return f"{found['seconds']:.0f} s"
        return f"failed after {found['seconds']:.0f} s: {last(found['failed'])}"
