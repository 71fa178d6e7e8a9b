import io
import sys
from pathlib import Path

from gnnbench.cli import streams
from gnnbench.report.console import Console
from tests import terminal
from tests.suite import environment, gnnbench


def printed(encoding, text, monkeypatch, write=lambda text: sys.stdout.write(text)):  # noqa: PLW0108 - looked up late
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding))
    with streams.prepared():
        write(text)
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


def test_what_is_printed_does_not_control_the_terminal(monkeypatch):
    text = "a\x1b[2J\tb\r\n\x9b31m\u2066c"
    assert printed("utf-8", text, monkeypatch) == b"a?[2J\tb?\n?31m?c"
    assert printed("utf-8", text, monkeypatch, print) == b"a?[2J\tb?\n?31m?c\n"


def test_colours_of_a_console_are_kept(monkeypatch):
    def show(text):
        Console(force_terminal=True, color_system="standard").print(f"[red]{text}[/red]")

    def rendered(text):
        streams.write_rendered(f"\x1b[31m{text}\x1b[0m\n")

    for write in (show, rendered):
        assert printed("utf-8", "slower", monkeypatch, write) == b"\x1b[31mslower\x1b[0m\n"


def test_below_a_live_display_too(monkeypatch):
    def show(text):
        console = Console(force_terminal=True, width=40)
        with console.status("working"):
            print(text)  # noqa: T201

    shown = printed("utf-8", "a\x1b]0;title\x07\x1b[2Jb", monkeypatch, show)
    assert b"\x1b]0" not in shown
    assert b"\x1b[2J" not in shown
    assert b"\x1b[?25l" in shown, "the display itself hides the cursor"


def test_what_is_closed_takes_all(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with streams.prepared():
        sys.stderr.write("to nobody")
        sys.stderr.close()
    assert sys.stderr is None


def test_a_message_is_broken_at_words_in_a_terminal_and_one_line_in_a_pipe(tmp_path):
    words = ("trend", f"no-such-folder-{'of-a-long-name-' * 8}")
    script = str(Path(sys.executable).with_name("gnnbench"))
    result = terminal.run([script, *words], tmp_path, environment())
    piped = gnnbench(*words, cwd=tmp_path)
    assert (result.returncode, piped.returncode) == (2, 2)
    lines = result.stdout.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert {line[:2] for line in lines[1:]} == {"  "}
    (whole,) = piped.stderr.splitlines()
    assert "".join(whole.split()) == "".join("".join(lines).split())
