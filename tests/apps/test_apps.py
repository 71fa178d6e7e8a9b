"""What holds of each application: a folder less is a command less, and it uses what others name publicly."""

import ast

import pytest

from gnnbench.engine.cli import main
from tests.runs import ROOT

APPS = sorted(path.parent.name for path in (ROOT / "gnnbench/apps").glob("*/command.py"))


def commands():
    (found,) = (one.choices for one in main._parser(())._actions if one.choices)
    return set(found)


@pytest.mark.parametrize("app", APPS)
def test_a_folder_less_is_a_command_less(app, tmp_path, monkeypatch):
    everything = commands()
    for other in APPS:
        if other != app:
            (tmp_path / other).symlink_to(ROOT / "gnnbench/apps" / other)
    monkeypatch.setattr(main, "_APPS", tmp_path)
    assert everything - commands() == {app}
    assert (ROOT / f"docs/apps/{app}.md").is_file()
    assert (ROOT / f"tests/apps/{app}").is_dir()


@pytest.mark.parametrize("app", APPS)
def test_it_imports_no_private_name_of_others(app):
    for path in (ROOT / "gnnbench/apps" / app).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level > 1:
                words = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                assert not [w for w in words if w.startswith("_") and w != "__version__"], path
