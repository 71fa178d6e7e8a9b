import shlex
import subprocess

from gnnbench.engine.show import lines
from gnnbench.engine.show.lines import IN_A_PIPE, Note, folded, wrapped

OURS = "benchmarks/test_spmm.py::test_spmm[spmm_sum-forward_backward-torch-float32-int64-cora-256-cpu]"


def joined(text):
    return " ".join(line.strip() for line in text.splitlines())


def test_a_line_is_broken_at_words_in_a_pipe_at_100_characters(monkeypatch):
    line = f"counters: {', '.join(f'+{number} aten::operator_{number}' for number in range(20))}: x"
    monkeypatch.setattr(lines, "IN_A_PIPE", IN_A_PIPE)
    assert wrapped(line) == wrapped(line, 100) != line
    monkeypatch.setenv("COLUMNS", "2000")
    assert wrapped(line) == line, "as a user asks for who searches the output"
    for width in (40, 60, 80):
        first, *rest = wrapped(line, width).splitlines()
        assert len(rest) > 2
        assert max(map(len, (first, *rest))) <= width
        assert {one[:3].strip(" +aten") for one in rest} == {""}, "the others are indented"
        assert joined(wrapped(line, width)) == line
    assert wrapped(line, 2000) == line


def test_hyphens_and_columns_of_a_line_stay():
    line = "  1.00 ms   0.98-1.03 family-wise git:main --gnn-effect=3%"
    assert wrapped(line, 80) == line
    lines = wrapped(line, 30).splitlines()
    assert lines[0] == "  1.00 ms   0.98-1.03"
    assert lines[1:] == ["  family-wise git:main", "  --gnn-effect=3%"]


def test_a_long_command_can_be_pasted():
    ids = f"{shlex.quote(OURS)} {shlex.quote('a name; with spaces' * 9)}"
    note = Note("gnnbench: to time 2 benchmarks for longer", f"pytest {ids} --benchmark-compare=0001")
    assert wrapped(note, 500) == str(note)
    first, *lines = wrapped(note, 80).splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 80 or len(shlex.split(line.strip("\\"))) == 1 for line in lines)
    assert joined("\n".join((first, *lines)).replace(" \\\n", "\n")) == str(note)
    words = "\n".join(lines).replace("pytest", "printf '%s\\n'", 1)
    shown = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == shlex.split(note.command)[1:]


def test_a_loop_can_be_pasted():
    loop = f"for i in 1 2 3; do echo {'word ' * 20}$i; done; echo end"
    _, *lines = wrapped(Note("type", loop), 60).splitlines()
    said = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True).stdout
    assert said.split() == [*("word " * 20 + "1 " + "word " * 20 + "2 " + "word " * 20 + "3 end").split()]


def test_a_number_stays_with_its_unit():
    line = f"gnnbench: {'step ' * 20}(2 s)"
    for width in range(20, 120):
        assert "(2 s)" in wrapped(line, width), width
    assert wrapped("4 run the same code, 1 undecided", 24).split("\n")[1].strip() == "1 undecided"


def test_an_id_is_broken_at_its_separators():
    assert folded(OURS, 40) == [
        "benchmarks/test_spmm.py::test_spmm",
        "[spmm_sum-forward_backward-torch-",
        "float32-int64-cora-256-cpu]",
    ]
    assert folded(OURS, 200) == [OURS]
    assert folded("add_remaining_self_loops", 14) == ["add_remaining_", "self_loops"]
    assert folded("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert folded("", 10) == [""]
    for width in range(10, 100):
        assert "".join(folded(OURS, width)) == OURS
        assert max(map(len, folded(OURS, width))) <= width
