"""Messages between the coordinator and a worker, over two pipes."""

import json
import math
import os
import select
from collections.abc import Mapping
from typing import Any

from ...ground.cpu import RealTime

_CHUNK_BYTES = 1 << 16
_MOST_BYTES = 1 << 26
"""Largest message: hundreds of thousands of test names."""


class ClosedError(Exception):
    """The other end is closed."""


class GarbledError(Exception):
    """The received bytes are not a message; the text shows their beginning."""


class Link:
    """One end of the two pipes.

    A message is a line: a token, then a JSON object. Lines without the token are ignored, and each message
    begins with a line break. So a suite that writes to all file descriptors does not corrupt messages.
    """

    def __init__(self, read: int, write: int, token: str) -> None:
        """Take over two file descriptors."""
        for descriptor in (read, write):
            os.set_inheritable(descriptor, False)  # the suite's child processes must not keep the pipes open
        self._read, self._write = read, write
        self.token, self._token = token, token.encode()
        self._buffer = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        data = b"\n%s%s\n" % (self._token, json.dumps(message).encode())
        try:
            while data:
                data = data[os.write(self._write, data) :]
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self, timeout_seconds: float | None = None) -> dict[str, Any] | None:
        """Wait for a message without using CPU; None: none came before the timeout.

        Raises:
            ClosedError: the other end is closed.
            GarbledError: the message is not a JSON object, or too long.
        """
        deadline = math.inf if timeout_seconds is None else RealTime.seconds() + timeout_seconds
        looked = False
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if end:
                self._buffer = rest
                if line.startswith(self._token):
                    return self._parse(line[len(self._token) :])
            elif len(self._buffer) > _MOST_BYTES:
                raise GarbledError(f"over {_MOST_BYTES >> 20} MiB without an end")
            elif (looked and RealTime.seconds() >= deadline) or not self._has_more(deadline):
                return None
            else:
                self._buffer += self._more()
                looked = True

    def close(self) -> None:
        """Close this end's two file descriptors."""
        os.close(self._read)
        os.close(self._write)

    def _has_more(self, deadline: float) -> bool:
        if deadline == math.inf:
            return True
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        return bool(poll.poll(max(0.0, deadline - RealTime.seconds()) * 1e3))

    def _more(self) -> bytes:
        try:
            found = os.read(self._read, _CHUNK_BYTES)
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not found:
            raise ClosedError("the other end is closed")
        return found

    @staticmethod
    def _parse(data: bytes) -> dict[str, Any]:
        try:
            found = json.loads(data)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise GarbledError(ascii(data[:60].decode(errors="replace").strip())[1:-1])
        return found
