import subprocess
import sys
from pathlib import Path

import pytest

from gnnbench import __version__
from gnnbench.cli import main
from gnnbench.operations import OPERATIONS


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("GNNBENCH_DATA", raising=False)
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def test_list_shows_everything_as_it_is_written(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr()
    assert not shown.err
    for operation in OPERATIONS.values():
        assert all(call in shown.out for call in operation.calls.values())


def test_list_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "dgl", None)
    assert main(["list"]) == 0
    assert "pip install 'gnnbench[dgl]'" in capsys.readouterr().out


def test_doctor_is_content_here(capsys, tmp_path):
    assert main(["doctor", "--data", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert str(tmp_path) in shown.out
    assert not shown.err


@pytest.mark.parametrize(("package", "status"), [("dgl", 0), ("ogb", 2)])
def test_doctor_shows_commands_and_fails_for_what_is_required(monkeypatch, capsys, package, status):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["doctor"]) == status
    assert (
        "pip install 'gnnbench[dgl]'" if package == "dgl" else "pip install ogb"
    ) in capsys.readouterr().out


def test_doctor_fails_where_the_cache_cannot_be_written(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["doctor"]) == 2
    assert "GNNBENCH_CACHE" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["list", "doctor"])
@pytest.mark.parametrize("by_variable", [False, True])
def test_data_folder_that_is_not_there_is_one_line(monkeypatch, capsys, tmp_path, command, by_variable):
    gone = str(tmp_path / "gone")
    if by_variable:
        monkeypatch.setenv("GNNBENCH_DATA", gone)
    assert main([command] if by_variable else [command, "--data", gone]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gnnbench: data folder {gone} is not there")


@pytest.mark.parametrize("arguments", [[], ["lisst"], ["list", "--no-such-option"], ["list", "--data"]])
def test_wrong_usage_exits_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert "Traceback" not in shown.err
    assert shown.err.startswith("usage: gnnbench")


@pytest.mark.parametrize(
    ("option", "shown"), [("--version", f"gnnbench {__version__}\n"), ("--help", "doctor")]
)
def test_help_and_version(capsys, option, shown):
    with pytest.raises(SystemExit) as caught:
        main([option])
    assert not caught.value.code
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["list", "--help"], ["list"]])
def test_no_library_is_imported_for(arguments):
    code = (
        "import sys\n"
        "from gnnbench.cli import main\n"
        f"try: main({arguments})\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'torch_geometric', 'dgl', 'ogb', 'numpy', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_installed_command_fails_without_a_traceback(tmp_path):
    command = [Path(sys.executable).with_name("gnnbench"), "list", "--data", tmp_path / "gone"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert not result.stdout
    assert len(result.stderr.splitlines()) == 1
