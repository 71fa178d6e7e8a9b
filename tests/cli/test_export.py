from tests.report import contents
from tests.run_files import save


def test_a_file_is_written_that_is_not_the_run_file(tmp_path, call):
    (path,) = save(tmp_path, contents.family(1))
    before, out = path.read_text(), tmp_path / "out.csv"
    status, _, err = call("export", path, "--to", "csv", "-o", path)
    assert (status, "is also an input file" in err) == (2, True)
    assert path.read_text() == before
    assert call("export", path, "--to", "csv", "-o", out) == (0, "", "")
    assert out.read_text() == call("export", path, "--to", "csv")[1]
