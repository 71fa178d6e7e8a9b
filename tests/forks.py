"""Commands in forks of a process that has imported what they need, as a fork is quicker than imports are.

A fork is a process of its own, with its own exit status, folder and environment. A test of what a fresh
interpreter does (its imports, OpenMP's threads, signals) starts one instead.
"""

import subprocess
from pathlib import Path
from tempfile import TemporaryFile

from gnnbench.engine.process.unchanged import known
from gnnbench.engine.process.variants import child, command
from tests import forked_children

_LIMIT_SECONDS = 300
ASLEEP = {"OMP_WAIT_POLICY": "PASSIVE"}
"""What the suite's conftest sets before it imports torch, which is too late in a fork."""


def run(
    words: list[str], folder: Path, environment: dict[str, str], *, libraries: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a script, or `python -m MODULE`; `libraries`: where torch and the platforms' are imported."""
    kind = forked_children.LIBRARIES if libraries else forked_children.COMMANDS
    given = words[1:] if words[1:2] == ["-m"] else words
    variables = {forked_children.ADDRESS: forked_children.address(), **environment}
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        process = forked_children.Forked(kind, given, folder, variables, output, errors)
        status = process.wait(_LIMIT_SECONDS)
        for file in (output, errors):
            file.seek(0)
        return subprocess.CompletedProcess(words, status, output.read(), errors.read())


def prepare(instead, *, libraries: bool) -> None:
    """Let commands that are forks of this process start forks, and look at no installed package's files."""
    known.environment_folders = tuple  # as in the tests' process, see conftest.py
    child.subprocess = command.subprocess = instead
    if libraries:
        from gnnbench.engine.ground.packages import missing
        from gnnbench.suite import training  # noqa: F401
        from gnnbench.suite.platforms import PLATFORMS, load

        for platform in PLATFORMS.values():
            if not missing(platform.packages):
                load(platform.name)
