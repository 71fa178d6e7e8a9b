"""Standard output and error of a command: any character can be printed, and the end is quiet."""

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
    """Let both take characters that their encoding lacks; one that the shell closed drops what it gets."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SUBSTITUTE)


def discard() -> None:
    """Throw away what cannot be written, or the interpreter would complain of it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), error.end


codecs.register_error(_SUBSTITUTE, _substitute)
