"""Messages between the coordinator and a child process, over a pair of connected sockets."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from socket import recv_fds, send_fds, socket
from typing import Any

from ...ground.cpu import RealTime

_CHUNK_BYTES = 1 << 16


class ClosedError(Exception):
    """The other process has closed its socket, or has ended."""


class Link:
    """One socket of the pair.

    A message is a line that consists of a token and a JSON object, and a line break precedes it. Lines
    without the token are ignored, so that tests that write to all file descriptors corrupt no message.
    """

    def __init__(self, descriptor: int, token: str) -> None:
        """Take the socket of a file descriptor, which `close` closes."""
        os.set_inheritable(descriptor, False)  # processes that tests start must not keep the socket open
        self._socket, self.token = socket(fileno=descriptor), token
        self._buffer = b""
        self.descriptors: list[int] = []
        """File descriptors that were received with messages."""

    def send(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message, and file descriptors before it."""
        try:
            self._socket.settimeout(None)
            send_fds(self._socket, [b"\n"], descriptors)
            self._socket.sendall(f"{self.token}{json.dumps(message)}\n".encode())
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self, timeout_seconds: float = math.inf) -> dict[str, Any] | None:
        """Return the next message, for which this waits without using CPU. Returns None after the time."""
        deadline = RealTime.seconds() + timeout_seconds
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if not end:
                remaining = max(deadline - RealTime.seconds(), 0.0)
                try:
                    self._socket.settimeout(remaining if remaining < math.inf else None)
                    content, descriptors, *_ = recv_fds(self._socket, _CHUNK_BYTES, 1)
                except (TimeoutError, BlockingIOError):
                    return None
                except OSError as error:
                    raise ClosedError(str(error)) from None
                if not content:
                    raise ClosedError("the other process has closed its socket")
                self._buffer += content
                self.descriptors += descriptors
                continue
            self._buffer = rest
            if line.startswith(self.token.encode()):
                return dict(json.loads(line[len(self.token) :]))

    def close(self) -> None:
        """Close this socket."""
        self._socket.close()
