import shlex

from gnnbench.engine.show import lines
from gnnbench.engine.show.lines import IN_A_PIPE, Note, fold, wrapped

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


def test_a_long_command_has_a_line_of_its_own_and_can_be_pasted():
    command = f"pytest {shlex.quote(OURS)} {shlex.quote('a name; with spaces' * 9)} --benchmark-compare=0001"
    note = Note("gnnbench: to time 2 benchmarks for longer", command)
    assert wrapped(note, 500) == str(note)
    assert wrapped(note, 80) == f"{note.text}:\n  {command}"


def test_a_number_stays_with_its_unit():
    line = f"gnnbench: {'step ' * 20}(2 s)"
    for width in range(20, 120):
        assert "(2 s)" in wrapped(line, width), width
    assert wrapped("4 run the same code, 1 undecided", 24).split("\n")[1].strip() == "1 undecided"


def test_an_id_is_broken_at_its_separators():
    assert fold(OURS, 40) == [
        "benchmarks/test_spmm.py::test_spmm",
        "[spmm_sum-forward_backward-torch-",
        "float32-int64-cora-256-cpu]",
    ]
    assert fold(OURS, 200) == [OURS]
    assert fold("add_remaining_self_loops", 14) == ["add_remaining_", "self_loops"]
    assert fold("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert fold("", 10) == [""]
    for width in range(1, 100):
        assert "".join(fold(OURS, width)) == OURS
        assert max(map(len, fold(OURS, width))) <= width
