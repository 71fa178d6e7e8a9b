"""Submits a command to Slurm: an array job with a task for each shard, and a job that merges their files.

`python -m gnnbench.variants.slurm COMMAND` runs a command that ends when its parent process does. If a node's
slurmstepd is killed, Slurm runs the job again, but leaves its processes alone. They would disturb the timings
of the second run, and both would write the same file.
"""

import ctypes
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..files import write_whole
from .command import call, last_line

_TASK = '"$SLURM_ARRAY_TASK_ID"'
_SET_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>; a program that is started in this place keeps it."""
_SHARD_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=gnnbench
#SBATCH --array=1-{shards}
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
# Written by gnnbench submit. A shard has a machine for itself: another job would disturb the timings.
exec {python} -P -m gnnbench.variants.slurm {command}
"""
_MERGE_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=gnnbench-merge
#SBATCH --open-mode=append
# Written by gnnbench submit. A shard in which something is slower has failed for Slurm; its file counts.
exec {python} -P -m gnnbench merge {parts} -o {output}
"""


@dataclass(frozen=True)
class Submitted:
    """The jobs of a command."""

    array: str
    """Id of the array job."""
    merge: str
    """Id of the job that merges."""
    folder: Path
    """Where scripts, logs and the shards' files are."""


def submit(
    command: Sequence[str], shards: int, output: Path, options: Sequence[str], *, wait: bool
) -> Submitted:
    """Submit a command.

    Args:
        command: `gnnbench ab ...` or `pytest ...`.
        shards: the number of machines.
        output: the merged file; the folder of the shards' files is beside it.
        options: of sbatch, for the shards.
        wait: whether to wait until the merging job has ended.

    Raises:
        UsageError: the command cannot be divided, sbatch is not installed or refuses, or a folder cannot be
            written.
    """
    folder = output.absolute().with_name(f"{output.stem}.shards")
    parts = [folder / f"{number}.json" for number in range(1, shards + 1)]
    words = _divided(command, shards, folder)
    python = shlex.quote(sys.executable)
    script = _SHARD_SCRIPT.format(shards=shards, python=python, command=words)
    merge = _MERGE_SCRIPT.format(
        python=python,
        parts=" ".join(shlex.quote(str(part)) for part in parts),
        output=shlex.quote(str(output.absolute())),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # An earlier run's must not be merged in the place of one that is missing.
        for old in (output, *parts, *folder.glob("*.log")):
            old.unlink(missing_ok=True)
        write_whole(folder / "shard.sh", script)
        write_whole(folder / "merge.sh", merge)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror})") from None
    array = _sbatch(f"--output={folder}/%a.log", *options, str(folder / "shard.sh"))
    # What does not run at all must not leave a job behind that waits for it forever.
    after = [f"--dependency=afterany:{array}", f"--output={folder}/merge.log", str(folder / "merge.sh")]
    return Submitted(array, _sbatch(*(["--wait"] if wait else []), *after), folder)


def _divided(command: Sequence[str], shards: int, folder: Path) -> str:
    """Return the command of a shard as a line of the script.

    Raises:
        UsageError: it is neither `gnnbench ab` nor pytest.
    """
    shard, file = f"{_TASK}/{shards}", f"{shlex.quote(str(folder))}/{_TASK}.json"
    program = Path(command[0]).name if command else ""
    if program == "gnnbench" and command[1:2] == ["ab"]:
        module, rest, options = "gnnbench ab", command[2:], f"--shard {shard} --json {file}"
    elif program in ("pytest", "py.test"):
        module, rest, options = "pytest", command[1:], f"--gnn-shard {shard} --benchmark-json {file}"
    else:
        raise UsageError(
            "give a command that can be divided: gnnbench submit --slurm -o FILE -- gnnbench ab BASE HEAD, "
            "or -- pytest PATH"
        )
    return " ".join([shlex.quote(sys.executable), "-P", "-m", module, options, *map(shlex.quote, rest)])


def _sbatch(*words: str) -> str:
    """Run sbatch, and return the id of the job.

    Raises:
        UsageError: it is not installed, or refuses.
    """
    try:
        answer = call(["sbatch", "--parsable", *words], Path.cwd(), os.environ)
    except FileNotFoundError:
        raise UsageError("sbatch is not installed: run this where jobs are submitted to Slurm") from None
    job = answer.stdout.strip().partition(";")[0]
    if not job.isdecimal():
        reason = last_line(answer.stderr) or f"it ended with {answer.returncode}"
        raise UsageError(f"sbatch submitted nothing: {reason.removeprefix('sbatch: ')}")
    return job  # with --wait, its exit status is that of the job


def _become(command: Sequence[str]) -> None:
    """Replace this process by a command that ends when the parent process does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
    os.execvp(command[0], list(command))  # noqa: S606 - the user's own command


if __name__ == "__main__":
    _become(sys.argv[1:])
