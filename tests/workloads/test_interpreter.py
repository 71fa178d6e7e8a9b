import sys

import pytest

from gnnbench.suite import interpreter
from gnnbench.suite.interpreter import InterpreterError


def test_it_gets_arguments_and_returns_what_is_written():
    code = "import sys; print(sys.argv[1:], __name__)"
    assert interpreter.run(code, "one", "two words") == "['one', 'two words'] __main__\n"


def test_packages_come_from_where_this_process_has_them(tmp_path, monkeypatch):
    """As a variant of `gnnbench ab` has them, which the child's own search would not find."""
    for place in ("variant", "installed"):
        (tmp_path / place / "library").mkdir(parents=True)
        (tmp_path / place / "library" / "__init__.py").write_text(f"where = {place!r}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    monkeypatch.syspath_prepend(str(tmp_path / "variant"))
    code = "import library; print(library.where)"
    assert interpreter.run(code) == "installed\n"
    import library  # noqa: F401

    monkeypatch.setitem(sys.modules, "library", sys.modules["library"])
    assert interpreter.run(code) == "variant\n"


def test_modules_that_are_absent_or_empty():
    code = """
import gone.inside as inside
assert not hasattr(inside, "__file__")
try:
    import json.tool as _, hidden
except ImportError as error:
    print(error.name)
"""
    assert interpreter.run(code, absent=("hidden",), empty=("gone", "gone.inside")) == "hidden\n"


def test_an_error_has_its_last_line_and_the_working_folder_is_no_place_for_packages(tmp_path, monkeypatch):
    (tmp_path / "ftfy.py").write_text("print('wrong')\n")
    monkeypatch.chdir(tmp_path)
    for code, message in (
        ("{}['nothing']", "status 1: KeyError: 'nothing'$"),
        ("import os; os._exit(3)", "^a fresh interpreter ended with status 3: no message$"),
        ("import ftfy", "No module named 'ftfy'"),
    ):
        with pytest.raises(InterpreterError, match=message):
            interpreter.run(code)
