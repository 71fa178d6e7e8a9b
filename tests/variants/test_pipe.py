import os
from contextlib import suppress

import pytest

from gnnbench.engine.process.variants.pipe import ClosedError, Link


@pytest.fixture
def ends():
    (one_read, two_write), (two_read, one_write) = os.pipe(), os.pipe()
    yield Link(one_read, one_write, "token "), Link(two_read, two_write, "token ")
    for descriptor in (one_read, one_write, two_read, two_write):
        with suppress(OSError):
            os.close(descriptor)


@pytest.mark.parametrize("text", ["", "a\nb\0", "π\ud800", "token {}", "x" * 40_000])
def test_messages_arrive_as_they_were(ends, text):
    one, two = ends
    one.send({"text": text})
    one.send({"number": 1.5})
    assert two.receive() == {"text": text}
    assert two.receive(0) == {"number": 1.5}
    assert two.receive(0) is two.receive(0.01) is None
    assert not any(os.get_inheritable(each) for end in ends for each in (end._read, end._write))


def test_what_others_write_is_passed_over(ends):
    one, two = ends
    for rubbish in (b'{"answer": "done"}\n', b"\n\xff\0", b"no end of line"):
        os.write(one._write, rubbish)
        one.send({"number": 1})
        assert two.receive() == {"number": 1}
    os.write(one._write, b"\nrubbish alone\n")
    assert two.receive(0.01) is None


def test_the_other_end_is_closed(ends):
    one, two = ends
    one.send({"last": 1})
    one.close()
    assert two.receive() == {"last": 1}
    for act in (two.receive, lambda: two.send({})):
        with pytest.raises(ClosedError):
            act()
