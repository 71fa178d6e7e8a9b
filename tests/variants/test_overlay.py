import re
import sys
from datetime import date
from pathlib import Path

import pytest

from gnnbench.engine.process.variants import overlay as module
from tests.variants.repositories import held_tree, start, version, wait_for, wheel

BACKEND = """
import os, zipfile
from pathlib import Path

def build_wheel(folder, config_settings=None, metadata_directory=None):
    Path("build").mkdir()  # as setuptools leaves one
    name = "made-1-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder, name), "w") as wheel:
        wheel.write("made.py")
        wheel.writestr("made-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: made\\nVersion: 1\\n")
        tags = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr("made-1.dist-info/WHEEL", tags)
        wheel.writestr("made-1.dist-info/RECORD", "")
    return name
"""


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder that pip finds two releases of `thing` in, and `needs`, which requires it."""
    folder = tmp_path / "wheels"
    wheel(folder, "thing", 1)
    wheel(folder, "thing", 2)
    wheel(folder, "needs", 1, needs=["thing"])
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def contents(prepare):
    return list(prepare.cache.glob("overlays/[!.]*/*"))


@pytest.mark.nightly
def test_dependencies_are_installed_where_asked_for_and_the_user_s_settings_of_pip_hold(
    wheels, prepare, tmp_path, monkeypatch
):
    for name in ("pip.py", "logging.py"):  # which are not taken for parts of pip
        (wheels / name).write_text("raise SystemExit(7)")
    for options, versions in (({}, {"needs": "1"}), ({"dependencies": True}, {"needs": "1", "thing": "2"})):
        with prepare("pip:needs==1", wheels, **options) as made:
            assert made.versions == versions
    other = wheel(tmp_path / "other", "thing", 2, content="VERSION = 8\n")
    monkeypatch.setenv("PIP_USER", "1")
    for links, number in ((wheels, 2), (other.parent, 8)):
        monkeypatch.setenv("PIP_FIND_LINKS", str(links))
        with prepare("pip:thing==2", wheels) as made:
            assert version(made) == number


def test_an_unpinned_requirement_is_looked_up_again_tomorrow(wheels, prepare, monkeypatch):
    monkeypatch.setattr(module, "_today", lambda: date(2030, 1, 30))
    with prepare("pip:thing", wheels) as made:
        assert made.versions == {"thing": "2"}
    start, took, resolved = prepare.said
    assert start == "installing thing"
    assert re.fullmatch(r"installed thing in .+, which counts towards no budget", took)
    assert resolved == "thing resolved to thing 2 (until the end of 2030-01-30 UTC)"
    wheel(wheels, "thing", 3)
    with prepare("pip:thing", wheels) as made:
        assert made.versions == {"thing": "2"}
    assert prepare.said[3:] == [resolved]
    monkeypatch.setattr(module, "_today", lambda: date(2030, 1, 31))
    (prepare.cache / "overlays" / "unfinished").mkdir()
    with prepare("pip:thing", wheels) as made:
        assert made.versions == {"thing": "3"}
    assert not (prepare.cache / "overlays" / "unfinished").exists()


def test_a_folder_is_built_from_a_copy(prepare, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "pip"))
    folder = tmp_path / "source"
    (folder / "venv" / "big").mkdir(parents=True)
    (folder / "venv" / "pyvenv.cfg").write_text("")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(BACKEND)
    (folder / "made.py").write_text("ONE = 1\n")
    before = sorted(folder.rglob("*"))
    with prepare("pip:.", folder) as made:
        assert made.versions == {"made": "1"}
        first = made.trees[0]
    assert sorted(folder.rglob("*")) == before
    (folder / "made.py").write_text("ONE = 'changed'\n")
    (folder / "venv" / "big" / "file").write_text("of no interest")
    with prepare("pip:.", folder) as made:
        assert made.trees[0] != first
        assert "changed" in (made.trees[0] / "made.py").read_text()


def test_two_that_install_at_once_both_have_it(wheels, prepare):
    both = [start("pip:thing==1", wheels, prepare.cache) for _ in range(2)]
    one, other = map(held_tree, both)
    for process in both:
        process.kill()
        process.wait()
    assert one == other
    assert (one / "thing" / "__init__.py").exists()


def test_an_installation_cut_short_is_never_used(wheels, prepare):
    process = start("pip:thing==1", wheels, prepare.cache)
    wait_for(lambda: contents(prepare))
    process.kill()
    process.wait(10)
    with prepare("pip:thing==1", wheels) as made:
        assert version(made) == 1


def test_what_pip_cannot_install_is_one_line_in_its_words(wheels, prepare, monkeypatch):
    conflict = "pip:thing==1 pip:thing==2"
    prepare.fails(conflict, wheels, f"{conflict}: pip cannot install it: Cannot install")
    prepare.fails("pip:'thing==1; python_version<\"3\"'", wheels, "installs nothing in this environment")
    (wheels / "bad-1-py3-none-any.whl").write_text("no zip")
    prepare.fails("pip:./bad-1-py3-none-any.whl", wheels, "pip cannot install it: .*invalid")
    assert contents(prepare) == []
    python = wheels / "bare" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    settings = f"home = {python.resolve().parent}\ninclude-system-site-packages = false\n"
    (python.parents[1] / "pyvenv.cfg").write_text(settings)
    monkeypatch.setattr(sys, "executable", str(python))
    prepare.fails("pip:thing==2", wheels, "needs pip: install it with .*bare/bin/python -m ensurepip")
