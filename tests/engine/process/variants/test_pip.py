import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

from gnnbench.engine.process.variants.pip import not_usable, other_builds
from gnnbench.engine.process.variants.prepare import both
from gnnbench.engine.process.variants.variant import parse
from tests.engine.process.variants.repositories import held_tree, start, version, wait_for, wheel


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


@pytest.fixture
def torch_wheels(tmp_path, monkeypatch):
    """A folder with two small releases of `torch`, the newer of which needs a package."""
    folder = tmp_path / "wheels"
    wheel(folder, "torch", "1.5")
    wheel(folder, "torch", "1.6", needs=["thing; python_version>'3'", "other; extra=='all'"])
    wheel(folder, "thing", "99")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    return folder


def test_torch_brings_what_it_needs(torch_wheels, prepare):
    for text in ("pip:torch==1.6", "pip:torch>1.5", "pip:./torch-1.6-py3-none-any.whl"):
        with prepare(text, torch_wheels) as made:
            assert made.versions == {"thing": "99", "torch": "1.6"}
    wheel(torch_wheels, "thing", "100")
    prepare.said.clear()
    with prepare("pip:torch==1.6", torch_wheels) as made:
        assert made.versions == {"thing": "99", "torch": "1.6"}
    assert prepare.said == [], "pip is not asked again"


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Installed packages: two link to torch's libraries, one does not, and two have no files."""
    for name, content in (("links", b"..libc10.so.."), ("also_links", b"libc10.so"), ("alone", b"libc.so")):
        info = tmp_path / "site" / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "RECORD").write_text(f"{name}/_C.so,,\n{name}/empty.so,,\n{name}/gone.so,,\n")
        (tmp_path / "site" / name).mkdir()
        (tmp_path / "site" / name / "_C.so").write_bytes(content)
        (tmp_path / "site" / name / "empty.so").touch()
    found = list(importlib.metadata.distributions(path=[str(tmp_path / "site")]))
    monkeypatch.setattr(importlib.metadata, "distributions", lambda **_: found)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("base", "head", "hidden"),
    [
        (".", "pip:torch==1.5", ("also_links", "links")),
        ("pip:torch==1.5 pip:links==2", "pip:torch==1.6 pip:./links-2-any.whl", ("also_links",)),
        ("pip:torch==1.5 pip:links==2", ".", ("also_links", "links")),
        ("pip:torchvision==1", "pip:torch_geometric==1", ()),
    ],
)
def test_what_is_compiled_for_the_installed_torch_is_hidden_on_both_sides(base, head, hidden):
    requirements = [parse(side).requirements for side in (base, head)]
    assert not_usable(requirements) == hidden


@pytest.mark.usefixtures("compiled")
def test_both_sides_hide_the_same(torch_wheels, prepare):
    with both(parse("env:A=1"), parse("pip:torch==1.6"), torch_wheels, prepare) as sides:
        assert [one.environment for one in sides] == [
            {"A": "1", "GNNBENCH_HIDDEN": "also_links links"},
            {"GNNBENCH_HIDDEN": "also_links links"},
        ]


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        ("2.12.1", "2.13.0+cpu", r"two builds of torch, 2.12.1 and 2.13.0\+cpu: .+; pip:torch===2.13.0 is"),
        ("2.12.1+cpu", "2.13.0+cpu", "$"),
        ("2.12.1", "2.13.0", "$"),
        (None, None, "$"),
    ],
)
def test_two_builds_are_told(base, head, told):
    sides = ({"torch": one} if one else {} for one in (base, head))
    assert re.match(told, other_builds(*sides))
