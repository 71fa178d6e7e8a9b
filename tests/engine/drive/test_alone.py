"""A head that fails beside the base, and is run again alone, in real processes."""

import socket

import pytest

from gnnbench.engine.drive import affected, coordinator
from gnnbench.engine.drive.settle import apply_excuses
from tests.engine.process.workers import Watcher, plan, prepared, write

PACKAGE = """
def work():
    return 1

def broken():
    return 1
"""
SUITE = """
import os
import socket
import time
import pytest
import thing

@pytest.fixture(scope="session")
def port():
    deadline = time.monotonic() + 30
    is_late = os.environ["SIDE"] == os.environ["LATE"]
    while is_late and not os.path.exists("bound") and time.monotonic() < deadline:
        time.sleep(0.01)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", PORT))
        server.listen()
        open("bound", "w").close()
        yield

def test_plain(benchmark):
    benchmark(thing.work)

def test_port(benchmark, port):
    benchmark(thing.work)

def test_broken(benchmark):
    benchmark(thing.broken)

@pytest.fixture
def ends():
    os._exit(5)

def test_ends(benchmark, ends):
    benchmark(thing.work)
"""
NEW = PACKAGE.replace("return 1", "x = 1\n    return x", 1).replace("return 1", "return 1 + None")
SHARED = "both sides may use the same port or file: the {0} passes alone, but not while the other side runs"
TAKEN = "{0}: raised in set-up: OSError: [Errno 98] Address already in use, test_suite.py:"
BROKEN = "fails in the head, but not in the base: raised: TypeError: unsupported operand type(s) for +: "


@pytest.fixture
def given(tmp_path):
    """Return two sides of a suite that binds a free port, the settings, and who is told what happens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for side, text in (("base", PACKAGE), ("head", NEW)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "thing.py").write_text(text)
    write(tmp_path, SUITE.replace("PORT", str(port)))
    setting = plan(tmp_path, seed=1, per_benchmark_seconds=0.1, results=True)
    sides = (prepared(f"path:{side}", tmp_path / side, SIDE=side) for side in ("base", "head"))
    return *sides, setting, Watcher()


def test_a_head_is_accused_only_if_it_fails_alone_and_the_base_does_not(given, monkeypatch):
    monkeypatch.setenv("LATE", "head")
    found = apply_excuses(coordinator.run(*given))
    rows = {row.fullname.partition("::test_")[2]: row for row in found.rows}
    assert {name for name, row in rows.items() if row.is_worse} == {"broken"}
    reasons = {name: row.judgement.reason for name, row in rows.items()}
    assert reasons["port"].startswith(f"{SHARED}: {TAKEN}".format("head"))
    assert reasons["broken"].startswith(f"a different output: {BROKEN}")
    assert reasons["broken"].endswith(", thing.py:7")
    assert reasons["broken"].count("TypeError") == 1
    assert rows["ends"].judgement.verdict == "incomparable"
    assert rows["plain"].counts.pairs > 0, "the others go on"
    steps = [text for text, _ in given[-1].steps if "again" in text]
    assert steps[0].startswith("running ")


def test_so_it_is_where_nothing_is_timed(given, monkeypatch):
    monkeypatch.setenv("LATE", "base")
    found = affected.run(*given)
    unknown = {name.partition("::test_")[2]: one.unknown for name, one in found.named("unknown").items()}
    assert unknown["port"].startswith(f"{SHARED}: {TAKEN}".format("base"))
    assert unknown["broken"].startswith(BROKEN)
    assert [name.partition("::test_")[2] for name in found.named("changed")] == ["plain"]
