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
"""Number of characters of a failed unit's output that are saved."""


@dataclass(frozen=True)
class Plan:
    """The options of a run."""

    folder: Path
    device: str
    small: bool
    packages: Path | None = None

    def python(self, *arguments: object, tree: Path = ROOT, log: Path | None = None) -> Any:
        """Run Python in the root of a repository, and return the finished process, whose output is text.

        With `log`, the output goes to this file.
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
        """Run benchmarks; return the content of their run file, also as `file`, and lines of the output.

        Raises:
            RuntimeError: there is no run file; the message is the end of the output.
        """
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "run.json")
            pytest = ("-m", "pytest", "-p", "no:cacheprovider", "-rfEs", "--gnn-device", self.device)
            ended = self.python(*pytest, *arguments, f"--benchmark-json={file}", **options)
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
        """Run a unit in a fresh process; return its duration, and its result or the reason why it failed."""
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
    """Return the environment of units: Python looks in `tree` first, then in the packed packages."""
    cache = Path(tempfile.gettempdir(), "gnnbench-gpu-cache")
    paths = (str(tree), str(packages.SITE), *filter(None, [os.environ.get("PYTHONPATH")]))
    return {
        "GNNBENCH_CACHE": str(cache),
        "OMP_WAIT_POLICY": "PASSIVE",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
    }


class Results:
    """The file with the results of a step."""

    def __init__(self, folder: Path, step: str, device: str) -> None:
        """Read the file if it exists.

        Raises:
            SystemExit: it has results of another device.
        """
        self._path = folder / f"{step}.json"
        self.content: dict[str, Any] = {"step": step, "device": device, "units": {}}
        if self._path.exists():
            self.content = json.loads(self._path.read_text(encoding="utf-8"))
            if self.content["device"] != device:
                sys.exit(f"{self._path} has results of {self.content['device']}: name another folder")

    @property
    def units(self) -> dict[str, Any]:
        """The results by unit, in the order in which the units ran."""
        found: dict[str, Any] = self.content["units"]
        return found

    def done(self, unit: str, *, again: bool) -> bool:
        """Return whether a unit has run; with `again`, failed units have not."""
        found = self.units.get(unit)
        return found is not None and not (again and "failed" in found)

    def add(self, unit: str, seconds: float, found: Mapping[str, Any]) -> None:
        """Save the result of a unit; the file is written whole or not at all."""
        self.units[unit] = {"seconds": round(seconds, 1), **found}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".part")
        draft.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")
        draft.replace(self._path)

    def line(self, unit: str) -> str:
        """Return a line with a unit's duration and failure."""
        found = self.units[unit]
        if "failed" not in found:
            return f"{found['seconds']:.0f} s"
        return f"failed after {found['seconds']:.0f} s: {last(found['failed'])}"
