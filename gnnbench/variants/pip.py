"""Runs this environment's pip."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from .command import call, last_line
from .variant import UnbuildableError

_OPTIONS = ("--no-input", "--disable-pip-version-check", "--no-user", "--quiet")


def install(options: Sequence[str], asked: Sequence[str], root: Path, named: str) -> str:
    """Run `pip install`, and return what it prints.

    Args:
        options: of pip, beside those that make it quiet and ask nothing.
        asked: requirements, archives and folders.
        root: the working directory.
        named: what the user asked for, in one line, for messages.

    Raises:
        UnbuildableError: pip cannot install it.
        UsageError: there is no pip.
    """
    # -P: import nothing from the caller's folder.
    python = (sys.executable, "-P", "-m", "pip", "install", *_OPTIONS)
    answer = call([*python, *options, "--", *asked], root, os.environ)
    if not answer.returncode:
        return answer.stdout
    if "No module named pip" in answer.stderr:
        raise UsageError(f"{named} needs pip: install it with {sys.executable} -m ensurepip")
    # pip explains a conflict in the line before ResolutionImpossible.
    errors = re.findall(r"^ERROR: (?!ResolutionImpossible)(.+)", answer.stderr, re.MULTILINE)
    reason = last_line("\n".join(errors) or answer.stderr) or f"it ended with {answer.returncode}"
    raise UnbuildableError(f"{named}: pip cannot install it: {reason}")
