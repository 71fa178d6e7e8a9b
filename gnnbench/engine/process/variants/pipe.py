"""Messages between the coordinator and a child process, over a pair of connected sockets."""

import os
import socket
import struct
from collections.abc import Mapping
from json import dumps, loads  # a test may replace the attributes of `json`
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, Self

_STALL_SECONDS = 60
"""How long to wait for the rest of a message: a fork of a killed child may keep the child's socket open."""


class ClosedError(Exception):
    """The other process has closed its socket, or has ended."""


class Link:
    """One socket of the pair. A message is a JSON object; a file descriptor may follow it."""

    def __init__(self, descriptor: int) -> None:
        """Take the socket of a file descriptor, which `close` closes."""
        os.set_inheritable(descriptor, False)  # processes that tests start must not keep the socket open
        self._connection = Connection(descriptor)

    @classmethod
    def pair(cls) -> tuple[int, Self]:
        """Return the file descriptor of a child's socket, and the coordinator's end of the link."""
        child_end, coordinator_end = socket.socketpair()
        limit = struct.pack("ll", _STALL_SECONDS, 0)
        coordinator_end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        return child_end.detach(), cls(coordinator_end.detach())

    def send(self, message: Mapping[str, Any], descriptor: int | None = None) -> None:
        """Send a message and, if there is one, a file descriptor."""
        try:
            self._block()
            self._connection.send_bytes(dumps(message).encode())
            if descriptor is not None:
                send_handle(self._connection, descriptor, 0)  # 0: a process id, which Linux does not need
        except OSError as error:
            raise ClosedError(str(error)) from None

    def receive(self, timeout_seconds: float | None = None) -> dict[str, Any] | None:
        """Wait for the next message without using the CPU, and return it. Returns None after a timeout."""
        try:
            self._block()
            if self._connection.poll(timeout_seconds):
                return dict(loads(self._connection.recv_bytes()))
        except (EOFError, OSError) as error:
            raise ClosedError(str(error)) from None
        return None

    def receive_descriptor(self) -> int:
        """Return the file descriptor that follows the last message."""
        return recv_handle(self._connection)

    def _block(self) -> None:
        # The default timeout that a suite sets for sockets makes this socket non-blocking.
        os.set_blocking(self._connection.fileno(), True)

    def close(self) -> None:
        """Close this socket."""
        self._connection.close()
