"""Pages for a browser."""

import json

import pytest

from gnnbench.cli import main


@pytest.fixture
def report(tmp_path, capsys):
    """Make a page of contents of files, the first of which is shown."""

    def make(*contents, options=()):
        files = []
        for content in contents:
            files.append(tmp_path / f"run-{len(list(tmp_path.glob('run-*')))}.json")
            files[-1].write_text(json.dumps(content))
        page = tmp_path / f"page-{len(list(tmp_path.glob('page-*')))}.html"
        status = main.main(["report", *map(str, files), "-o", str(page), *options])
        assert status == 0, capsys.readouterr().err
        return page

    return make
