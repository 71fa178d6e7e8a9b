"""Torch as the package that varies; a small wheel stands for it."""

import importlib.metadata
import re

import pytest

from gnnbench.engine.process.variants.pip import not_usable, other_builds
from gnnbench.engine.process.variants.prepare import both
from gnnbench.engine.process.variants.variant import parse
from tests.variants.repositories import wheel

HERE = importlib.metadata.version("iniconfig")
"""Of a package of pure Python that pytest needs."""


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder with two releases of torch; the older needs three packages, one of which is compiled."""
    folder = tmp_path / "wheels"
    needs = ["psutil", "iniconfig", "thing; python_version>'3'", "iniconfig>=98; extra=='all'"]
    wheel(folder, "torch", "1.5", needs=needs)
    wheel(folder, "torch", "1.6", needs=["iniconfig>=99"])
    for name in ("iniconfig", "thing"):
        wheel(folder, name, "99")
    compiled = wheel(folder, "psutil", "99")
    compiled.rename(folder / "psutil-99-py3-none-any.none.whl")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / "cache"))
    return folder


def test_torch_brings_what_it_needs_and_is_kept_by_its_content(wheels, prepare):
    wheel(wheels, "other", "1")
    with prepare("pip:torch==1.5 pip:other==1", wheels) as made:
        # iniconfig is pure Python, and here in a version that torch accepts.
        assert made.versions == {"other": "1", "psutil": "99", "thing": "99", "torch": "1.5"}
        overlay = made.trees[0]
    assert prepare.said[0] == "asking pip what torch==1.5 needs"
    prepare.said.clear()
    with prepare("pip:torch==1.5", wheels) as made:
        assert made.trees == (overlay,)
    assert prepare.said == []
    with prepare("pip:torch<1.6", wheels) as made:
        assert made.versions == {"psutil": "99", "thing": "99", "torch": "1.5"}
    assert prepare.said[-1] == "torch<1.6 resolved to psutil 99, thing 99, torch 1.5"
    with prepare("pip:torch==1.6", wheels, dependencies=True) as made:
        assert made.versions == {"iniconfig": "99", "torch": "1.6"}
    prepare.fails("pip:torch==7", wheels, "pip:torch==7: pip cannot install it: No matching")


def test_a_wheel_of_torch_is_torch(wheels, prepare):
    with prepare("pip:./torch-1.6-py3-none-any.whl", wheels) as made:
        assert made.versions == {"iniconfig": "99", "torch": "1.6"}


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
def test_both_sides_hide_the_same(wheels, prepare):
    with both(parse("env:A=1"), parse("pip:torch==1.6"), wheels, prepare) as sides:
        assert [one.environment for one in sides] == [
            {"A": "1", "GNNBENCH_HIDDEN": "also_links links"},
            {"GNNBENCH_HIDDEN": "also_links links"},
        ]


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        (
            "2.12.1",
            "2.13.0+cpu",
            r"two builds of torch, 2.12.1 and 2.13.0\+cpu: .+; pip:torch===2.13.0 is the build",
        ),
        ("2.12.1+cpu", "2.13.0+cpu", "$"),
        ("2.12.1", "2.13.0", "$"),
        (None, None, "$"),
    ],
)
def test_two_builds_are_told(base, head, told):
    sides = ({"torch": one} if one else {} for one in (base, head))
    assert re.match(told, other_builds(*sides))
