import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from gnnbench import cpu, environment, json_io
from gnnbench.compare.trend import index
from gnnbench.compare.trend.digest import Digest
from gnnbench.errors import UsageError
from gnnbench.results import former_names
from tests.compare.trend.runs import factors, run, save
from tests.run_files import of_operation
from tests.run_files import save as save_files


@pytest.fixture
def folder(tmp_path):
    paths = save(tmp_path / "runs", [run(number, row) for number, row in enumerate(factors(0, 6))])
    return tmp_path, paths


def read(folder, paths, history="h"):
    """Return what the index knows, and how many files it read for it."""
    told = []
    found = index.digests(folder / "cache", history, paths, lambda done, of: told.append((done, of)))
    return found, len(told)


def test_a_file_is_read_once_in_each_history_whatever_its_name(folder):
    place, paths = folder
    (found, refused), count = read(place, paths)
    assert count == 6
    assert not refused
    assert found == {path: Digest.of(path) for path in paths}
    assert read(place, paths) == ((found, []), 0)
    more = [*save(place / "runs", [run(6, [1.0])], first=6), place / os.fsdecode(b"run-\xff.json")]
    more[1].write_text(json.dumps(run(9, [1.0])))
    (found, _), count = read(place, [*paths, *more])
    assert (len(found), count) == (8, 2)
    assert read(place, paths[:2], "other")[1] == 2
    assert read(place, [*paths, *more])[1] == 0


def test_a_file_that_changed_is_read_again_and_one_that_went_is_forgotten(folder):
    place, paths = folder
    read(place, paths)
    save(place / "runs", [run(0, [5.0, 5.0, 5.0])])
    (found, _), count = read(place, paths[:4])
    assert (len(found), count) == (4, 1)
    assert found[paths[0]] == Digest.of(paths[0])
    assert read(place, paths)[1] == 2


def test_what_cannot_be_used_is_looked_at_again(folder, monkeypatch):
    place, paths = folder
    good = paths[2].read_text()
    paths[2].write_text(good[:100])
    paths[3].unlink()
    (found, refused), count = read(place, paths)
    assert (len(found), count) == (4, 6)
    assert [one.path for one in refused] == paths[2:4]
    assert "not JSON, or cut off" in refused[0].reason
    assert "cannot be read (No such file" in refused[1].reason
    assert read(place, paths) == ((found, refused), 2)
    paths[2].write_text(good)

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(json_io, "read_whole", fail)
        (found, refused), _ = read(place, paths[:3])
    assert [*found] == paths[:2], "they are known"
    assert "cannot be read (Input/output error)" in refused[0].reason
    assert len(read(place, paths)[0][0]) == 5, "it is not lost"


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (environment, "WHERE", environment.WHERE[:-1]),
        (environment, "WHAT", environment.WHAT[:-1]),
        (cpu, "CONTENDED", 0.001),
        (index, "__version__", "9.9"),
    ],
)
def test_where_a_rule_has_changed_files_are_read_again(folder, monkeypatch, module, name, value):
    place, paths = folder
    (before, _), _ = read(place, paths)
    monkeypatch.setattr(module, name, value)
    (after, _), count = read(place, paths)
    assert count == 6
    assert after == {path: Digest.of(path) for path in paths}
    assert (after == before) is (module is index)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"no database at all" * 100,
        lambda content: content[:-5000],
        lambda _: b"",
        "UPDATE files SET content = X'789c00' WHERE rowid = 3",
        "ALTER TABLE files RENAME COLUMN content TO other",
        "UPDATE format SET name = 'another'",
    ],
)
def test_a_damaged_index_is_made_anew(folder, damage):
    place, paths = folder
    good, _ = read(place, paths)
    (file,) = (place / "cache" / "trend").glob("*.sqlite")
    if callable(damage):
        file.write_bytes(damage(file.read_bytes()))
    else:
        with sqlite3.connect(file) as table:
            table.execute(damage)
        table.close()
    found, count = read(place, paths)
    assert found == good
    assert count == 6
    assert read(place, paths) == (good, 0)


def test_several_commands_fill_one_index(folder):
    place, paths = folder
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: read(place, paths), range(4)))
    assert all(one == found[0][0] for one, _ in found)
    assert sum(count for _, count in found) == 6


def test_a_killed_command_loses_little(tmp_path):
    paths = save(tmp_path / "runs", [run(number, [1.0]) for number in range(index._BATCH + 20)])
    code = (
        "import os, signal, sys; from pathlib import Path; from gnnbench.compare.trend import index\n"
        f"def progress(done, of):\n    if done == {index._BATCH + 10}: os.kill(os.getpid(), signal.SIGKILL)\n"
        "place = Path(sys.argv[1])\n"
        "index.digests(place / 'cache', 'h', sorted((place / 'runs').iterdir()), progress)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    (found, _), count = read(tmp_path, paths)
    assert (len(found), count) == (len(paths), 20)


def test_a_cache_that_cannot_be_written_is_one_line(folder):
    place, paths = folder
    (place / "cache").write_text("")
    with pytest.raises(UsageError, match="GNNBENCH_CACHE"):
        read(place, paths)


def test_an_operations_former_name_stands_for_the_one_of_today_in_an_older_index_too(tmp_path, monkeypatch):
    path, today = save_files(
        tmp_path, of_operation("add_self_loops"), of_operation("add_remaining_self_loops")
    )
    for file in (path, today):
        content = json.loads(file.read_text())
        file.write_text(json.dumps({**content, "datetime": "2025-01-01T00:00:00"}))
    with monkeypatch.context() as before_the_change:
        before_the_change.setattr(index, "FORMER_NAMES", {})
        before_the_change.setattr(former_names, "FORMER_NAMES", {})
        (found, _), _ = read(tmp_path, [path])
        assert "[add_self_loops-" in found[path].benchmarks[0].fullname
    (found, _), count = read(tmp_path, [path, today])
    assert count == 2
    old, new = (found[file].benchmarks[0] for file in (path, today))
    assert (old.label, old.fullname) == (new.label, new.fullname)
