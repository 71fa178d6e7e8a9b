from dataclasses import replace

import pytest

from gnnbench.engine.cli import main
from gnnbench.engine.drive import result
from gnnbench.engine.drive.merge import merge
from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.shard import Shard
from gnnbench.engine.judge.comparison import Compared, Comparison
from gnnbench.engine.judge.control import Control
from gnnbench.engine.judge.verdict import Judgement, Thresholds
from gnnbench.engine.store import run_file
from tests.run_files import ENVIRONMENT, content, entry, plain, save

NAMES = [f"b{number}" for number in range(9)]
SIDE = Side("git:main", ("a" * 40,))
WHOLE = Thresholds(0.03)


def part(number, of=3, **environment):
    found = content(*(entry(name) for name in NAMES if Shard(number, of).has(name)), **environment)
    found["gnnbench"]["shard"] = f"{number}/{of}"
    return found


def judged(number, **fields):
    found = part(number, 2)
    found["gnnbench"]["compared"] = {**ab(number, 2), **fields}
    return found


def ab(number, of=3, *, base=SIDE, effect=0.03, **changes):
    shard = Shard(number, of)
    thresholds = replace(WHOLE, effect=effect, family_level=shard.family_level(WHOLE.family_level))
    same = Judgement("same", "why", 1.0, 0.9, 1.1)
    found = Comparison([Compared(name, same, None) for name in NAMES if shard.has(name)])
    return codec.encode(
        Result("ab", base, SIDE, found, thresholds, ENVIRONMENT, 10.5, shard=str(shard), **changes)
    )


def refused(folder, *contents):
    with pytest.raises(UsageError) as caught:
        merge(save(folder, *contents))
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_run_files_become_one_that_can_be_read_and_compared(tmp_path, capsys):
    parts = {number: part(number) for number in (3, 1, 2)}
    failed = {"fullname": "test_a.py::x", "error": "OOM", "measurement": None}
    parts[2]["gnnbench"]["incomplete"].append(failed)
    for number, one in parts.items():
        one["gnnbench"]["compared"] = ab(number)
    whole = merge(save(tmp_path, *parts.values()))
    assert "shard" not in whole["gnnbench"]
    compared = result.parse(tmp_path, whole["gnnbench"]["compared"])
    assert (sorted(row.fullname for row in compared.rows), compared.thresholds) == (NAMES, WHOLE)
    run = run_file.parse(tmp_path, whole)
    assert sorted(run.benchmarks) == [f"test_a.py::{name}" for name in NAMES]
    first = [one["fullname"] for one in parts[1]["benchmarks"]]
    assert list(run.benchmarks)[: len(first)] == first
    assert [one.fullname for one in run.part.incomplete] == ["test_a.py::x"]
    assert run.shard is None
    file, other = save(tmp_path, whole, whole)
    main.main(["compare", str(file), "--", str(other)])
    assert f"{len(NAMES)} benchmarks" in capsys.readouterr().out


def test_results_of_ab_become_one_that_can_be_read(tmp_path):
    parts = [
        ab(1, contention_share=0.4, control=Control(5, 1.0, 0.9, 1.1)),
        ab(2, notes=("one note",), interrupted=True),
        ab(3, notes=("one note",)),
    ]
    whole = merge(save(tmp_path, *parts))
    found = result.parse(tmp_path, whole)
    assert sorted(row.fullname for row in found.comparison.rows) == NAMES
    assert found.thresholds == WHOLE
    joined = {
        "seconds": 31.5,
        "interrupted": True,
        "notes": ["one note"],
        "contention_share": 0.4,  # of the busiest machine
        "shard": None,
        "control": None,  # a control tells about one machine
    }
    assert {name: whole[name] for name in joined} == joined


def test_files_that_are_no_shards_are_joined_if_they_share_nothing(tmp_path):
    found = merge(save(tmp_path, content(entry("a")), content(entry("b"))))
    assert len(found["benchmarks"]) == 2
    one, other = ab(1, 1), ab(1, 1)
    for name, whole in (("x", one), ("y", other)):
        whole["comparison"] = {"rows": [{**whole["comparison"]["rows"][0], "fullname": name}]}
        whole["shard"] = None
    assert merge(save(tmp_path, one, other))["thresholds"]["family_level"] == 0.98
    row = one["comparison"]["rows"][0]
    many = [{**one, "comparison": {"rows": [{**row, "fullname": str(number)}]}} for number in range(100)]
    assert "error rate would reach" in refused(tmp_path, *many)


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ((part(1, 2), part(2, 2, threads=8)), "differ in threads 2 vs 8"),
        ((part(1, 2), part(2, 2, commit="b" * 40)), f"differ in commit {'a' * 40} vs {'b' * 40}"),
        ((part(1, 3), part(2, 3)), "the shards are 1/3, 2/3: give one file for each from 1/3 to 3/3"),
        ((part(1, 2), part(2, 3)), "the shards are 1/2, 2/3:"),
        ((part(1, 2), content(entry("x"))), "the shards are 1/2, no shard:"),
        ((content(entry("a")), content(entry("a"))), "both contain test_a.py::a"),
        ((part(1, 2), ab(2, 2)), "differ in format: a run file and a result of gnnbench ab"),
        (
            (ab(1, 2), ab(2, 2, base=replace(SIDE, commits=("b" * 40,)))),
            "differ in base: git:main (aaaaaaaa) and git:main (bbbbbbbb)",
        ),
        ((ab(1, 2), ab(2, 2, effect=0.05)), "differ in settings; merge shards"),
        ((part(1, 2), judged(2, comparison=[])), "damaged at $.comparison: expected `object`"),
        ((judged(1), judged(2, base={"text": "record 0002", "commits": ["b" * 40]})), "differ in base: git:"),
        ((plain(1), plain(2)), "does not describe its environment"),
        (({"benchmarks": [], "command": "compare"},), "neither a run file nor a result of gnnbench ab"),
    ],
)
def test_what_does_not_belong_together_is_refused_in_a_line(tmp_path, contents, text):
    assert text in refused(tmp_path, *contents)
