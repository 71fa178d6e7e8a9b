import re
import sys
from pathlib import Path

import pytest

from tests.variants.repositories import held_tree, start, version, wait_for, wheel


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


def test_an_unpinned_requirement_is_what_pip_chooses_at_that_time(wheels, prepare):
    with prepare("pip:thing", wheels) as made:
        assert made.versions == {"thing": "2"}
    start, took, resolved = prepare.said
    assert start == "installing thing"
    assert re.fullmatch(r"installed thing in .+, which is not part of the time budget", took)
    assert resolved == "thing resolved to thing 2"
    (prepare.cache / "overlays" / "unfinished").mkdir()
    with prepare("pip:thing", wheels) as made:
        assert made.versions == {"thing": "2"}
    assert prepare.said[3:] == [resolved]
    assert not (prepare.cache / "overlays" / "unfinished").exists()
    wheel(wheels, "thing", 3)
    with prepare("pip:thing", wheels) as made:
        assert made.versions == {"thing": "3"}


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
    prepare.fails("pip:thing==9", wheels, "pip:thing==9: pip cannot install it: No matching distribution")
    prepare.fails("pip:'thing==1; python_version<\"3\"'", wheels, "installs nothing in this environment")
    (wheels / "bad-1-py3-none-any.whl").write_text("no zip")
    prepare.fails("pip:./bad-1-py3-none-any.whl", wheels, "pip cannot install it: .*invalid")
    prepare.fails("pip:.", wheels, r"pip:. is not a file .*: give an archive, .* or path:DIR")
    assert contents(prepare) == []
    python = wheels / "bare" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    settings = f"home = {python.resolve().parent}\ninclude-system-site-packages = false\n"
    (python.parents[1] / "pyvenv.cfg").write_text(settings)
    monkeypatch.setattr(sys, "executable", str(python))
    prepare.fails("pip:thing==2", wheels, "needs pip: install it with .*bare/bin/python -m ensurepip")
