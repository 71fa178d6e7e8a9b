"""Writes the output of a command, in any encoding, and even if the output is closed."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ..ground.errors import printable

if TYPE_CHECKING:
    from ..show.document import Document
    from ..show.lines import Note


class _PrintableStream:
    """Replaces unprintable characters. rich does so itself, and writes directly to the wrapped stream."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream
        """Where rich writes; the name is rich's."""

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def prepared() -> Iterator[None]:
    """Replace characters that are unprintable or not in the encoding; discard output to a closed stream."""
    streams = sys.stdout, sys.stderr
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        # The null device stays open until the process ends.
        target = open(os.devnull, "w", encoding="utf-8") if stream is None else stream  # noqa: SIM115, PTH123
        setattr(sys, name, _PrintableStream(target))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def discard() -> None:
    """Discard output that cannot be written. Otherwise Python would print an error about it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def say(line: "Note | str", stream: TextIO | None = None, *, indent: str = "  ") -> None:
    from ..show.lines import wrapped

    print(wrapped(line, indent=indent), file=stream)


def show(document: "Document") -> None:
    from ..show.console import Terminal

    text = Terminal(colour=sys.stdout.isatty()).write(document)
    getattr(sys.stdout, "rich_proxied_file", sys.stdout).write(text)
