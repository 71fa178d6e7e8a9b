import errno
import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gnnbench.engine.store.baseline import FOLDER, RecordStore
from gnnbench.suite import listing
from tests.engine.cli import saved
from tests.run_files import content, entry, save, suite

BASE = " ".join(f"run-{number}.json" for number in range(5))
HEAD = "run-5.json run-6.json"
COMMANDS = [
    *("--help", "--version", "list", "list spmm", "doctor", "baseline show", "comment ab.json"),
    f"compare {BASE} -- {HEAD}",
    "merge run-7.json run-8.json -o whole.json",
    "report ab.json -o page.html",
]
"""Commands that print and measure nothing."""


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    base, head = [suite(seed) for seed in range(5)], [suite(seed, factor=1.3) for seed in (20, 21)]
    save(folder, *base, *head, content(entry("a")), content(entry("b")))
    for runs in (base, head):
        RecordStore(folder / FOLDER).save(runs, "Linux-CPython-3.11-64bit", "name", "µ is faster")
    saved.ab(folder)
    return folder


@pytest.fixture
def files(originals, tmp_path, monkeypatch, in_process):  # noqa: ARG001 - which is in another folder
    monkeypatch.chdir(shutil.copytree(originals, tmp_path / "files"))
    return tmp_path / "files"


def test_doctor_fails_for_what_is_installed_and_does_not_import(monkeypatch, in_process, tmp_path):
    monkeypatch.setitem(sys.modules, "dgl", None)
    assert in_process("doctor").returncode == 0
    (tmp_path / "ogb.py").write_text("raise OSError('undefined symbol')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ogb", raising=False)
    found = in_process("doctor")
    assert (found.returncode, found.stderr) == (2, "")


def test_no_library_is_imported_to_help_and_to_list():
    code = (
        "import sys\n"
        "from gnnbench.engine.cli.main import main\n"
        "for arguments in (['--help'], ['list', '--help'], ['list']):\n"
        "    try: main(arguments)\n"
        "    except SystemExit: pass\n"
        "    heavy = {'torch', 'torch_geometric', 'dgl', 'ogb', 'numpy', 'scipy'} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_takes_no_more_is_exit_2_and_a_line(monkeypatch, in_process, command):
    read, write = os.pipe()
    os.close(read)
    for output, text in (
        (os.open("/dev/full", os.O_WRONLY), os.strerror(errno.ENOSPC)),
        (write, "the output was closed before everything was written"),
    ):
        with os.fdopen(output, "w", encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            result = in_process(*command.split())
        assert result.returncode == 2
        assert result.stderr.splitlines()[-1] == f"gnnbench: {text}"


def test_a_file_that_was_asked_for_is_kept(files, monkeypatch, in_process):
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        words = f"compare {BASE} --json kept.json -- {HEAD}".split()
        assert in_process(*words).returncode == 2
    assert json.loads((files / "kept.json").read_text())["comparison"]["rows"]


def test_a_mistake_of_ours_is_exit_2_and_a_traceback(monkeypatch, in_process):
    monkeypatch.setattr(listing, "run", lambda _options: 1 / 0)
    found = in_process("list")
    assert found.returncode == 2
    assert "ZeroDivisionError" in found.stderr


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (lambda _: import_module("msgspec"), "msgspec is not installed: pip install msgspec\n"),
        (lambda _: import_module("torn"), "torn cannot be imported: "),
        (lambda _: bytearray(2**62), "memory ran out: "),
    ],
)
def test_what_the_machine_lacks_is_a_line(monkeypatch, in_process, tmp_path, run, line):
    (tmp_path / "torn.so").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    monkeypatch.setattr(listing, "run", run)
    found = in_process("list")
    assert found.returncode == 2
    assert found.stderr.startswith(f"gnnbench: {line}")
    assert "Traceback" not in found.stderr


def test_a_current_folder_that_was_removed_is_a_line(tmp_path, monkeypatch, in_process):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found = in_process("list")
    assert found.returncode == 2
    assert found.stderr == "gnnbench: the current folder has been removed: change to another folder\n"


@pytest.mark.parametrize(("command", "told"), [("list", True), ("--help", False)])
@pytest.mark.parametrize("output", ["/dev/full", "closed"])
def test_the_interpreter_has_nothing_to_add_at_its_end(command, output, told):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed, Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [Path(sys.executable).with_name("gnnbench"), command],
            env={**os.environ, "PYTHONUNBUFFERED": ""},  # argparse itself passes over what cannot be written
            stdout=full if output == "/dev/full" else closed,
            stderr=subprocess.PIPE if told else full,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    if told:
        (line,) = result.stderr.splitlines()
        assert line.startswith("gnnbench: ")
