import pytest

from gnnbench.engine.cli import main
from tests.run_files import save


@pytest.fixture
def report(tmp_path, capsys):
    """Make a page of contents of files, the first of which is shown."""

    def make(*contents, options=()):
        files = save(tmp_path, *contents)
        page = tmp_path / f"page-{len(list(tmp_path.glob('page-*')))}.html"
        status = main.main(["report", *map(str, files), "-o", str(page), *options])
        assert status == 0, capsys.readouterr().err
        return page

    return make
