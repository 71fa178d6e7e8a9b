import pytest

from gnnbench.engine.cli import main
from tests.run_files import save


@pytest.fixture
def report(tmp_path, capsys):
    """Make a page of the content of a file."""

    def make(content):
        (file,) = save(tmp_path, content)
        page = tmp_path / f"page-{len(list(tmp_path.glob('page-*')))}.html"
        status = main.main(["report", str(file), "-o", str(page)])
        assert status == 0, capsys.readouterr().err
        return page

    return make
