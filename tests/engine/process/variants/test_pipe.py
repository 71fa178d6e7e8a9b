import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from gnnbench.engine.process.variants import pipe
from gnnbench.engine.process.variants.pipe import ClosedError, Link


@pytest.fixture
def sockets():
    sockets = [end.detach() for end in socket.socketpair()]
    return {descriptor: Link(descriptor) for descriptor in sockets}


@pytest.mark.parametrize("text", ["", "a\nb\0", "π\ud800", "x" * 40_000])
def test_messages_arrive_as_they_were(sockets, text):
    one, two = sockets.values()
    one.send({"text": text})
    one.send({"number": 1.5})
    assert two.receive() == {"text": text}
    assert two.receive(0) == {"number": 1.5}
    assert two.receive(0) is two.receive(0.01) is None
    assert not any(map(os.get_inheritable, sockets))


def test_a_file_descriptor_follows_a_message(sockets):
    one, two = sockets.values()
    reading, writing = os.pipe()
    one.send({"last": 1}, writing)
    os.close(writing)
    assert two.receive() == {"last": 1}
    with os.fdopen(two.receive_descriptor(), "w") as file, os.fdopen(reading) as received:
        file.write("text")
        file.close()
        assert received.read() == "text"


def test_the_other_end_is_closed(sockets):
    one, two = sockets.values()
    one.send({"last": 1})
    one.close()
    assert two.receive() == {"last": 1}
    for act in (two.receive, lambda: two.send({}), one.receive, lambda: one.send({})):
        with pytest.raises(ClosedError):
            act()


def test_a_message_that_never_ends_closes_the_link(monkeypatch):
    """As if the sender were killed while it sends, and a fork of it still had the socket."""
    monkeypatch.setattr(pipe, "_STALL_SECONDS", 1)
    sender, receiver = Link.pair()
    os.write(sender, b"\0\0\0\x40{")
    with pytest.raises(ClosedError):
        receiver.receive()


def test_a_default_timeout_of_sockets_does_not_apply():
    socket.setdefaulttimeout(0.01)
    try:
        descriptor, receiver = Link.pair()
        sender, text = Link(descriptor), "x" * 4_000_000  # more than the socket's buffer
        with ThreadPoolExecutor() as threads:
            sending = threads.submit(sender.send, {"text": text})
            assert receiver.receive() == {"text": text}
            sending.result()
    finally:
        socket.setdefaulttimeout(None)
