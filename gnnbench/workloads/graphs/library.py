"""Keeps a data set library from printing, asking, hanging, or ending a run in a traceback."""

import io
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from ...errors import UsageError
from .catalog import Dataset

_SILENCE_SECONDS = 60.0
"""A download without data for so long has failed."""


@contextmanager
def tamed(dataset: Dataset, origin: Path | None, answer: str) -> Iterator[None]:
    """Let a library read or download a data set, without output, and with `answer` to any question.

    `origin` is the data set's folder in the data folder; None: it is downloaded.

    Raises:
        UsageError: the library raised an exception; the message is one line.
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
        # Any exception of a transport, archive or parser may get here.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if origin:
            raise UsageError(
                f"{dataset.id}: the files in {origin} cannot be read ({reason}); replace them, or use "
                f"{dataset.id}:synthetic"
            ) from error
        raise UsageError(
            f"{dataset.id}: the download failed ({reason}); use {dataset.id}:synthetic, or put the files "
            "into the data folder (--gnn-data)"
        ) from error
    finally:
        sys.stdin = stdin
        socket.setdefaulttimeout(timeout)
