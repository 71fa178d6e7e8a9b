import json

import pytest

from gnnbench.cli import main
from tests.report import contents
from tests.run_files import content, entry, save
from tests.suite import ROOT


def export(capsys, *words):
    status = main.main(["export", *map(str, words)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_a_run_is_exported_for_each_tool(tmp_path, capsys):
    (path,) = save(tmp_path, content(entry("b")))
    status, out, err = export(capsys, path, "--to", "bencher")
    assert (status, err) == (0, "")
    assert json.loads(out)["test_a.py::b"]["latency"]["value"] > 0
    saved = tmp_path / "out.json"
    assert export(capsys, path, "--to", "github-action-benchmark", "-o", saved) == (0, "", "")
    (one,) = json.loads(saved.read_text())
    assert (one["name"], one["unit"]) == ("test_a.py::b", "ns")
    assert export(capsys, path, "--to", "csv")[1].startswith("benchmark,time_ns,low_ns,high_ns,")


def test_what_is_left_out_is_said_beside_the_data(tmp_path, capsys):
    whole = content(entry("b"))
    whole["gnnbench"]["incomplete"] = [{"fullname": "test_a.py::cut"}]
    (path,) = save(tmp_path, whole)
    status, out, err = export(capsys, path, "--to", "bencher")
    assert status == 0
    assert list(json.loads(out)) == ["test_a.py::b"]
    assert err == "gnnbench: 1 benchmark without a time left out\n"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (ROOT / "tests/data/5603223/ab.json", "not a run file: it is an ab file; give a run file"),
        (ROOT / "pyproject.toml", "not JSON"),
        (ROOT / "missing.json", "cannot be read"),
    ],
)
def test_another_file_is_refused_in_one_line(capsys, file, message):
    status, out, err = export(capsys, file, "--to", "csv")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_run_file_is_not_overwritten_and_a_format_must_be_named(tmp_path, capsys):
    (path,) = save(tmp_path, contents.family(1))
    before = path.read_text()
    status, _, err = export(capsys, path, "--to", "csv", "-o", path)
    assert status == 2
    assert "is also an input file" in err
    assert path.read_text() == before
    with pytest.raises(SystemExit):
        main.main(["export", str(path), "--to", "asv"])
    assert "github-action-benchmark" in capsys.readouterr().err
