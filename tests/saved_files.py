"""Real files of each kind, in the current folder."""

import json
import shutil
from pathlib import Path

from gnnbench.engine.cli import main
from gnnbench.engine.ground import codec
from gnnbench.engine.judge.comparison import Work
from gnnbench.engine.measure.counter_changes import CounterChange
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from tests.apps.regret import results
from tests.engine.drive.bisect.results import commits, finding, result
from tests.engine.show import contents
from tests.run_files import entry, fingerprint, plain

_ROOT = Path(__file__).parents[1]
FILE, OTHER = "x.json", "y.json"
GRAPH = {"name": "cora", "synthetic": True, "nodes": 9, "entries": 9, "features": 9, "classes": 9}
GRAPH["content_hash"] = "1" * 16
MEMORY = {"verdict": "more memory", "base_bytes": 2**20, "head_bytes": 2**21, "excused": "ignored: a reason"}
VERDICTS = ("slower", "faster", "same", "undecided", "incomparable", "ignored")

RULES = [
    {"number": 1, "benchmarks": "*", "effect": 0.1},
    {"number": 2, "benchmarks": "*own*", "ignore": "a reason", "max_time_seconds": 0.005},
]
SETTINGS = {"name": "pyproject.toml", "defaults": {"effect": "3%"}, "rules": RULES}
LEVELS = {"effect": 0.03, "family_level": 0.99, "own_level": 0.95}


def _write(name: str, whole: object) -> None:
    Path(name).write_text(json.dumps(whole))


def _run(seed: int, version: int = 1, **changes: object) -> dict:
    """Return a run file in which every field is used."""
    whole = contents.family(seed, operations=1, blocks=12)
    whole["benchmarks"] += [
        entry(f"own[{number}]", 2.0, seed=seed, blocks=12) | {"params": {"n": number}, "param": str(number)}
        for number in range(2)
    ]
    rows = []
    for number, benchmark in enumerate(whole["benchmarks"]):
        ours = benchmark["extra_info"]["gnnbench"]
        ours |= {"graph": GRAPH, "definition_hash": "3" * 16}
        ours["fingerprint"] = fingerprint(work=version if number % 2 else 1, other=1)
        verdict, work = VERDICTS[number % 6], contents.work("scale")
        rows.append(contents.row(benchmark["fullname"], verdict, work=work, memory=MEMORY))
        if number % 3 == 2:
            del ours["fingerprint"]
            ours["no_fingerprint"] = "each call is timed as a whole (the call starts a process)"
            ours["measurement"]["whole_call"] = "the call starts a process"
        if counters := ours.get("counters"):
            peaks = {"allocated_bytes": 2**22, "peak_bytes": version * 2**21, "least_peak_bytes": 2**21}
            ours["counters"] = {**counters, "details": {**counters["details"], "memory": peaks}}
        ours["measurement"]["contention_share"] = 0.01
    commit, day = f"{version}" * 40, f"2026-11-{seed + 10}"
    tree = {"path": ".", "commit": commit, "changed_files": 0, "packages": ["suite"], "compiled": False}
    whole["gnnbench"] |= {
        "compared": contents.compared(*rows, thresholds={**LEVELS, "rules": SETTINGS}),
        "settings": SETTINGS,
        "not_default": ["test_a.py::left_out"],
        "incomplete": [{"fullname": "test_a.py::cut", "error": "Interrupted", "measurement": None}],
        "sources": {
            "python": "3.11",
            "trees": [tree],
            "packages": {"torch_geometric": {"version": f"2.{version}.0", "origin": None}},
        },
    }
    whole["datetime"] = f"{day}T12:00:00+00:00"
    whole["commit_info"] = {"id": commit, "dirty": False, "time": f"{day}T11:00:00+00:00"}
    whole["gnnbench"] |= changes
    return whole


def runs() -> None:
    _write(FILE, _run(1))
    _write(OTHER, _run(2, version=2))


def plain_runs() -> None:
    for seed, name in enumerate((FILE, OTHER)):
        _write(name, {**plain(seed), "datetime": f"2026-11-1{seed}T12:00:00"})


def shards() -> None:
    for number, name in enumerate((FILE, OTHER), 1):
        part = _run(number, shard=f"{number}/2", incomplete=[])
        for one in (*part["benchmarks"], *part["gnnbench"]["compared"]["comparison"]["rows"]):
            one["fullname"] += str(number)
        _write(name, part)


def records() -> None:
    store = RecordStore(Path.cwd() / FOLDER)
    for version in (1, 2):
        processes = [_run(seed, version, incomplete=[]) for seed in range(2)]
        store.save(processes, "Linux-CPython-3.11-64bit", "name", "a reason")
    _write(OTHER, _run(2, version=3))


def results_of_compare() -> None:
    runs()
    assert main.main(["compare", OTHER, "--json", "saved.json", "--", FILE]) == 0
    saved = json.loads(Path("saved.json").read_text()) | {"repeat": contents.REPEAT}
    saved["thresholds"]["rules"] = SETTINGS
    slower = contents.row("test_a.py::slower", "slower", work=contents.work("scale"), seconds=1e-3)
    saved["comparison"]["rows"].append(slower)
    for name in (FILE, OTHER):
        _write(name, saved)


def results_of_compare_by() -> None:
    runs()
    assert main.main(["compare", "--by", "platform", FILE, "--json", OTHER]) == 0
    shutil.copy(OTHER, FILE)


def results_of_ab() -> None:
    saved = json.loads((_ROOT / "tests" / "data" / "ab.json").read_text())
    names = ("functions", "values", "libraries", "work", "settings", "base_only", "head_only")
    changed = {kind: [f"suite:{kind}"] for kind in names}
    for number, row in enumerate(saved["comparison"]["rows"]):
        work = {"changed": changed if number else None, "no_fingerprint": "a reason"}
        work["counters"] = [{"name": "aten::mm", "base": 1, "head": 3}]
        moved = [{"name": "libm:exp", "base": 900, "head": 1400}]
        numbers = {"base": 1000, "head": 1500, "noise": 0.003}
        work["instructions"] = {**numbers, "functions": moved}
        row |= {"work": work, "memory": MEMORY}
        row["allowed"] = {"ratio": 1.2, "low": 1.1, "high": 1.3, "reasons": ["a reason"]}
        if number == 1:
            row["judgement"] |= {"verdict": "slower", "ratio": 1.2, "low": 1.1, "high": 1.3}
        beyond = "1.22x (1.11-1.34) beyond the accepted 1.20x: a reason"
        row["notes"] = [beyond, *codec.decode(work, Work).notes()]
    for side in ("base", "head"):
        saved[side]["checkouts"] = {"../pyg": "c" * 40}
    for name in (FILE, OTHER):
        whole = {"notes": ["a note"], "shard": "1/1", "interrupted": True, "repeat": contents.REPEAT}
        whole["contention_share"] = 0.3
        _write(name, saved | whole | {"thresholds": {**LEVELS, "rules": SETTINGS}})


def results_of_bisect() -> None:
    """Write the result for a line of three commits."""
    line = commits(3)
    counted = {"a": Work(counters=(CounterChange("aten::mm", 1, 3),))}
    one = finding(line, 0, 1, counted, a=1.2)
    whole = codec.encode(result(line, "slower", findings=[one], unmeasured={"a commit": "a reason"}))
    for file in (FILE, OTHER):
        _write(file, whole)


def states_of_watch() -> None:
    """Write two steps with a change each, the first with its commit."""
    results_of_ab()
    compared = json.loads(Path(FILE).read_text())
    rows = compared["comparison"]["rows"]
    for row in rows:
        row["memory"] = {**MEMORY, "excused": None}
    results_of_bisect()
    search = json.loads(Path(FILE).read_text().replace("test_a.py::a", rows[0]["fullname"]))
    Path("state/steps").mkdir(parents=True)
    _write("state/watch.json", {"version": 1, "watched": "thing"})
    for number, more in enumerate(({"search": search}, {"failed": {"search": "no tag"}}), 1):
        base, head = (
            {"name": f"1.{at}", "variant": f"pip:thing==1.{at}", "day": "2026-01-31"}
            for at in (number - 1, number)
        )
        step = {"number": number, "base": base, "head": head, "looked_at": "2026-01-31T12:00:00Z"}
        _write(f"state/steps/000{number}.json", step | {"first": compared, "again": compared} | more)


def regrets() -> None:
    _write(FILE, codec.encode(results.grid()))
