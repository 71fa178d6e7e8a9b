"""The edits and the table of experiments/gate; nothing is timed."""

import ast
import json
import sys

import pytest

from gnnbench.compare.verdict import SAME_CODE, Judgement
from tests.suite import ROOT

FOLDER = ROOT / "experiments" / "gate"
SOURCE = (FOLDER / "suites" / "four" / "kernels" / "__init__.py").read_text(encoding="utf-8")


@pytest.fixture
def gate(monkeypatch):
    """The modules, as the script sees them."""
    monkeypatch.syspath_prepend(FOLDER)
    import project
    import runs

    yield runs
    for module in (project, runs):
        sys.modules.pop(module.__name__)


def functions(source):
    return {one.name: ast.unparse(one) for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)}


def test_an_edit_changes_one_function(gate):
    before = functions(SOURCE)
    edits = {"check": gate.swapped(SOURCE)}
    edits |= {name: gate.slowed(SOURCE, name, 0.05) for name in gate.KERNELS}
    for name, edited in edits.items():
        after = functions(edited)
        assert {one for one in before if before[one] != after[one]} == {name}
    assert "end = begin + 1.05 * (perf_counter() - begin)" in edits["spmm"]
    assert "result = torch.mm(adjacency, x)" in edits["spmm"]


def test_the_table_counts_what_the_run_files_say(gate, tmp_path):
    def judged(verdict):
        return Judgement(verdict, "", 1.1, 1.05, 1.15)

    def save(kind, number, edited, status, judgements):
        names = [edited, *(name for name in gate.KERNELS if name != edited)] if edited else gate.KERNELS
        entries = [
            {"name": f"test_{name}", "extra_info": {"gnnbench": {"comparison": one.as_json()}}}
            for name, one in zip(names, judgements, strict=True)
        ]
        found = gate.project.verdicts({"benchmarks": entries})
        content = {"edited": edited, "status": status, "seconds": 100.4 + number, "verdicts": found}
        (tmp_path / f"{kind}-{number:02}.json").write_text(json.dumps(content))

    same, undecided, slower = map(judged, ("same", "undecided", "slower"))
    save("identical", 0, None, 0, [same, same, same, undecided])
    save("identical", 1, None, 1, [same, same, same, slower])
    save("slower-10", 0, "spmm", 1, [slower, SAME_CODE, SAME_CODE, SAME_CODE])
    save("slower-10", 1, "gcn_norm", 0, [undecided, SAME_CODE, SAME_CODE, judged("faster")])
    not_judged = {"name": "test_spmm", "extra_info": {"gnnbench": {}}}
    assert gate.project.verdicts({"benchmarks": [not_judged]}) == {"spmm": gate.project.NOT_JUDGED}
    header, _, *rows = gate.table(tmp_path).splitlines()
    assert header.startswith(
        "| edit | runs | found | failed sessions | alarms elsewhere | same | same code |"
    )
    assert rows == [
        "| identical work | 2 |  | 1 | 1 | 6 of 8 | 0 of 8 | 1 | 101 s |",
        "| one kernel 10 % slower | 2 | 1 of 2 | 1 | 1 | 5 of 6 | 5 of 6 | 1 | 101 s |",
    ]
