import io
import sys

from gnnbench.cli import streams


def printed(encoding, text, monkeypatch):
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding))
    streams.prepare()
    sys.stdout.write(text)
    sys.stdout.flush()
    return output.getvalue()


def test_what_an_encoding_lacks_is_written_in_ascii(monkeypatch):
    text = "±3% of 2µs → 1×1…"
    assert printed("ascii", text, monkeypatch) == b"+-3% of 2us -> 1x1..."
    assert printed("cp1252", text, monkeypatch) == "±3% of 2µs -> 1×1…".encode("cp1252")
    assert printed("utf-8", text, monkeypatch) == text.encode()


def test_what_has_no_likeness_is_a_question_mark(monkeypatch):
    assert printed("ascii", "日é", monkeypatch) == b"??"
    assert printed("utf-8", "a file\udcff", monkeypatch) == b"a file?"


def test_what_is_closed_takes_all(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    streams.prepare()
    with sys.stderr:
        sys.stderr.write("to nobody")
