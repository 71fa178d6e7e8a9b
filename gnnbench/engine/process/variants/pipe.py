"""Messages between the coordinator and a child process, over a pair of connected sockets."""

import os
from collections.abc import Mapping
from json import dumps, loads  # a test may replace the attributes of `json`
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any


class ClosedError(Exception):
    """The other process has closed its socket, or has ended."""


class Link:
    """One socket of the pair. A message is a JSON object; a file descriptor may follow it."""

    def __init__(self, descriptor: int) -> None:
        """Take the socket of a file descriptor, which `close` closes."""
        os.set_inheritable(descriptor, False)  # processes that tests start must not keep the socket open
        self._connection = Connection(descriptor)

    def send(self, message: Mapping[str, Any], descriptor: int | None = None) -> None:
        """Send a message and, if there is one, a file descriptor."""
        try:
            self._connection.send_bytes(dumps(message).encode())
            if descriptor is not None:
                send_handle(self._connection, descriptor, 0)  # 0: a process id, which Linux does not need
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self, timeout_seconds: float | None = None) -> dict[str, Any] | None:
        """Wait for the next message without using the CPU, and return it. Returns None after a timeout."""
        try:
            if self._connection.poll(timeout_seconds):
                return dict(loads(self._connection.recv_bytes()))
        except (EOFError, OSError) as error:
            raise ClosedError(str(error)) from None
        return None

    def receive_descriptor(self) -> int:
        """Return the file descriptor that follows the last message."""
        return recv_handle(self._connection)

    def close(self) -> None:
        """Close this socket."""
        self._connection.close()
