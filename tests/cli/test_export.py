from gnnbench.cli import main
from tests.report import contents
from tests.run_files import save


def export(capsys, *words):
    status = main.main(["export", *map(str, words)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_a_file_is_written_that_is_not_the_run_file(tmp_path, capsys):
    (path,) = save(tmp_path, contents.family(1))
    before, out = path.read_text(), tmp_path / "out.csv"
    status, _, err = export(capsys, path, "--to", "csv", "-o", path)
    assert (status, "is also an input file" in err) == (2, True)
    assert path.read_text() == before
    assert export(capsys, path, "--to", "csv", "-o", out) == (0, "", "")
    assert out.read_text() == export(capsys, path, "--to", "csv")[1]
