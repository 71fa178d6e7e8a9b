import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.files import (
    above,
    check_room,
    check_writable,
    hold,
    locked,
    project,
    remove,
    save,
    scratch,
    user_path,
    write_whole,
)


def test_a_file_is_replaced_whole_or_left_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "new" / "file.json"
    write_whole(path, "one")
    with path.open() as open_before:
        write_whole(path, "two")
        assert open_before.read() == "one", "who reads goes on with what was there"

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "three")
    assert {entry.name: entry.read_text() for entry in path.parent.iterdir()} == {"file.json": "two"}


def test_what_is_read_is_not_written(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("a run")
    (tmp_path / "link.json").symlink_to(path)
    for name in ("run.json", "link.json", "../" + tmp_path.name + "/run.json"):
        with pytest.raises(UsageError, match="is also an input file"):
            save(tmp_path / name, "a page", [tmp_path / "other.json", path])
    assert path.read_text() == "a run"
    save(tmp_path / "page.html", "a page", [path])
    assert (tmp_path / "page.html").read_text() == "a page"


def test_a_byte_of_the_command_line_that_is_no_utf_8_is_written_as_a_question_mark(tmp_path):
    for path in (tmp_path / "page.html", Path("/dev/null")):
        save(path, os.fsdecode(b"caf\xe9 \xc3\xa9"))
    assert (tmp_path / "page.html").read_text() == "caf? é"


def test_what_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"/proc/x/page.html cannot be written \(.*\)$"):
        save(Path("/proc/x/page.html"), "a page")
    (tmp_path / "file").touch()
    refused = pytest.raises(UsageError, match=r"the cache folder .* cannot be written .* GNNBENCH_CACHE")
    with refused, hold(tmp_path / "file" / "a.lock", tmp_path):
        pass


def test_a_lock_keeps_others_out_until_it_is_given_back(tmp_path):
    other = locked(tmp_path / "a.lock", fcntl.LOCK_EX | fcntl.LOCK_NB)
    with hold(tmp_path / "a.lock", tmp_path), pytest.raises(BlockingIOError), other:
        pass
    with locked(tmp_path / "a.lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
        pass


def test_what_cannot_be_written_is_refused_before_and_what_can_is_left_as_it_is(tmp_path):
    (tmp_path / "folder").mkdir(0o555)
    (tmp_path / "plain").write_text("old")
    for name, why in (
        ("folder", "it is a folder"),
        ("nowhere/file.json", "No such file or directory"),
        ("plain/file.json", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("/proc/file.json", "cannot be written"),
    ):
        with pytest.raises(UsageError, match=why):
            check_writable(tmp_path / name)
    if os.getuid():  # root may write anywhere
        with pytest.raises(UsageError, match="Permission denied"):
            check_writable(tmp_path / "folder/file.json")
    for name in ("new", "plain"):
        check_writable(tmp_path / name)
    assert {*tmp_path.iterdir()} == {tmp_path / "folder", tmp_path / "plain"}
    assert (tmp_path / "plain").read_text() == "old"


def test_a_pipe_takes_what_is_written_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    save(pipe, "a page")
    assert os.read(reader, 100) == b"a page"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    """As root, a file in the place of /dev/stdout would break every later command."""
    (tmp_path / "pages").mkdir()
    link = tmp_path / "page.html"
    link.symlink_to("pages/page.html")
    save(link, "a page")
    assert link.is_symlink()
    assert (tmp_path / "pages" / "page.html").read_text() == "a page"
    link.unlink()
    link.symlink_to("nowhere/page.html")
    with pytest.raises(UsageError, match="No such file"):
        check_writable(link)


def test_a_tilde_is_a_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert user_path("~/runs") == Path("/home/me/runs")
    assert user_path("runs/~") == Path("runs/~")
    nobody = r"^~no-such-user/x: there is no such home folder; give an absolute path$"
    with pytest.raises(UsageError, match=nobody):
        user_path("~no-such-user/x")


def test_of_a_link_only_the_link_is_removed(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    for name, target in (("link", "folder"), ("dangling", "nowhere"), ("loop", "loop")):
        (tmp_path / name).symlink_to(target)
        remove(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    remove(tmp_path / "folder")
    assert not list(tmp_path.iterdir())


def test_a_folder_s_project_is_the_nearest_with_a_package_s_files_up_to_the_top_of_the_repository(tmp_path):
    top, inner = tmp_path / "top", tmp_path / "top" / "packages" / "one"
    tests = inner / "tests"
    tests.mkdir(parents=True)
    assert (above(tests), project(tests)) == ([tests], tests)
    (top / ".git").touch()  # as in a worktree
    assert above(tests) == [tests, inner, inner.parent, top]
    assert project(tests) == project(top) == top
    (tests / "pytest.ini").touch()
    (inner / "setup.cfg").touch()
    assert (project(tests), project(inner), project(inner.parent)) == (inner, inner, top)


HOLDS = """
import time
from gnnbench.engine.ground.files import scratch
with scratch() as folder:
    (folder / "log").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_the_next_run_removes_what_a_killed_one_left_in_the_temporary_folder(tmp_path, monkeypatch):
    def start():
        variables = {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, env=variables)
        return process, Path(process.stdout.readline().decode().strip())

    (dead, killed), (living, used) = start(), start()
    dead.kill()
    dead.wait()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    others = [tmp_path / "other", tmp_path / "gnnbench-run-link"]
    others[0].mkdir()
    others[1].symlink_to(others[0])
    if os.getuid() == 0:
        others.append(tmp_path / "gnnbench-run-of-another-user")
        others[-1].mkdir()
        os.chown(others[-1], 1234, 1234)
    assert killed.exists()
    with scratch() as folder:
        assert {*tmp_path.iterdir()} == {folder, used, *others}
    living.terminate()
    living.wait()
    with scratch():
        pass
    assert {*tmp_path.iterdir()} == {*others}


def test_a_full_temporary_folder_is_named_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    line = rf"^the temporary folder {tmp_path} cannot be written \(No space left on device\); set TMPDIR to"
    with pytest.raises(UsageError, match=line), scratch():
        Path("/dev/full").write_text("x")
    with scratch() as folder:
        check_room(folder)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(UsageError, match=line):
            check_room(folder)
    with pytest.raises(PermissionError), scratch():
        raise PermissionError
