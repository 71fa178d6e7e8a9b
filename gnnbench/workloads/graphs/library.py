"""What the data set libraries must not do to a run: print, ask, wait for ever, or end it in a traceback."""

import io
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from ...errors import UsageError
from .catalog import Dataset

_SILENCE_SECONDS = 60.0
"""A download that says nothing for so long has failed."""


@contextmanager
def tamed(dataset: Dataset, origin: Path | None, answer: str) -> Iterator[None]:
    """Let a library read or download a data set: quietly, with `answer` to whatever it asks.

    Args:
        dataset: which.
        origin: its folder under the data root; None where it is downloaded.
        answer: a line for the library's `input()`.

    Raises:
        UsageError: any exception of the library, in one line with what to do.
    """
    stdin, timeout = sys.stdin, socket.getdefaulttimeout()
    sys.stdin = io.StringIO(f"{answer}\n" * 9)
    socket.setdefaulttimeout(_SILENCE_SECONDS)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    except MemoryError:
        raise
    except Exception as error:
        # The libraries pass on whatever their transports, archives and parsers raise.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if origin:
            raise UsageError(
                f"{dataset.id}: the files in {origin} cannot be read ({reason}); replace them, or use "
                f"{dataset.id}:synthetic"
            ) from error
        raise UsageError(
            f"{dataset.id}: the download failed ({reason}); use {dataset.id}:synthetic, or put the files "
            "under the data root (--gnn-data)"
        ) from error
    finally:
        sys.stdin = stdin
        socket.setdefaulttimeout(timeout)
