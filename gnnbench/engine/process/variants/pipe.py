"""Messages between the coordinator and a worker, over a pair of sockets."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from socket import recv_fds, send_fds, socket
from typing import Any

from ...ground.cpu import RealTime

_CHUNK_BYTES = 1 << 16


class ClosedError(Exception):
    """The other end is closed."""


class Link:
    """One end of the pair.

    A message is a line: a token, then a JSON object. Lines without the token are ignored, and each message
    begins with a line break. So a suite that writes to all file descriptors does not corrupt messages.
    """

    def __init__(self, descriptor: int, token: str) -> None:
        """Take over a file descriptor."""
        os.set_inheritable(descriptor, False)  # the suite's child processes must not keep the pair open
        self._socket, self.token = socket(fileno=descriptor), token
        self._buffer = b""
        self.descriptors: list[int] = []
        """File descriptors that came with messages."""

    def send(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message, and file descriptors with it."""
        try:
            self._socket.settimeout(None)
            send_fds(self._socket, [b"\n"], descriptors)
            self._socket.sendall(f"{self.token}{json.dumps(message)}\n".encode())
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self, timeout_seconds: float = math.inf) -> dict[str, Any] | None:
        """Wait for a message without using CPU. Returns None if none came in time.

        Raises:
            ClosedError: the other end is closed.
        """
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
                    raise ClosedError("the other end is closed")
                self._buffer += content
                self.descriptors += descriptors
                continue
            self._buffer = rest
            if line.startswith(self.token.encode()):
                return dict(json.loads(line[len(self.token) :]))

    def close(self) -> None:
        """Close this end."""
        self._socket.close()
