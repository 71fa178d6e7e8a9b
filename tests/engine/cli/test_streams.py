import io
import sys
from pathlib import Path

import pytest

from gnnbench.engine.cli import main, streams
from gnnbench.engine.show.console import Console
from tests import terminal
from tests.runs import environment


def printed(encoding, text, monkeypatch, write=lambda text: sys.stdout.write(text)):  # noqa: PLW0108 - looked up late
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding))
    with streams.prepared():
        write(text)
        sys.stdout.flush()
    return output.getvalue()


@pytest.mark.parametrize(
    ("encoding", "text", "written"),
    [
        ("cp1252", "±3% of 2µs → 1×1…", "±3% of 2µs ? 1×1…".encode("cp1252")),
        ("utf-8", "±3% of 2µs → 1×1…", "±3% of 2µs → 1×1…".encode()),
        ("ascii", "日é", b"??"),
        ("utf-8", "a file\udcff", b"a file?"),
        ("utf-8", "a\x1b[2J\tb\r\n\x9b31m\u2066c", b"a?[2J\tb?\n?31m?c"),
    ],
)
def test_what_an_encoding_lacks_or_controls_the_terminal_is_replaced(monkeypatch, encoding, text, written):
    assert printed(encoding, text, monkeypatch) == written
    assert printed(encoding, text, monkeypatch, print) == written + b"\n"


def test_colours_of_a_console_are_kept(monkeypatch):
    def show(text):
        Console(force_terminal=True, color_system="standard").print(f"[red]{text}[/red]")

    assert printed("utf-8", "slower", monkeypatch, show) == b"\x1b[31mslower\x1b[0m\n"


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


def test_a_message_is_broken_at_words_and_is_one_line_where_lines_are_wide(tmp_path, monkeypatch, capsys):
    words = ("list", "--data", f"no-such-folder-{'of-a-long-name-' * 8}")
    script = str(Path(sys.executable).with_name("gnnbench"))
    result = terminal.run([script, *words], tmp_path, environment())
    monkeypatch.chdir(tmp_path)
    assert (result.returncode, main.main(list(words))) == (2, 2)
    lines = result.stdout.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert {line[:2] for line in lines[1:]} == {"  "}
    (whole,) = capsys.readouterr().err.splitlines()
    assert "".join(whole.split()) == "".join("".join(lines).split())
