"""Lets a command print any character, and end without an error message if its output is closed."""

import codecs
import io
import os
import sys

_SUBSTITUTE = "gnnbench.substitute"
_PLAIN = {
    "±": "+-",
    "µ": "u",
    "×": "x",
    "·": ".",
    "–": "-",
    "→": "->",
    "…": "...",
    "\N{NON-BREAKING HYPHEN}": "-",
    "\N{NO-BREAK SPACE}": " ",
}


def prepare() -> None:
    """Substitute characters that an encoding lacks, and replace a closed stream by the null device."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SUBSTITUTE)


def discard() -> None:
    """Discard unwritable output, because the interpreter would print an error about it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in missing), error.end


codecs.register_error(_SUBSTITUTE, _substitute)
