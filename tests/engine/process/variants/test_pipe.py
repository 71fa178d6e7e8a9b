import os
from socket import socketpair

import pytest

from gnnbench.engine.process.variants.pipe import ClosedError, Link


@pytest.fixture
def sockets():
    sockets = [end.detach() for end in socketpair()]
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
