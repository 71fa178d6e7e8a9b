"""Commits that are checked out with submodules, built, and kept."""

import subprocess
import sys
from itertools import count

import pytest

from gnnbench.engine.process.variants import builds as module
from gnnbench.engine.process.variants import redirects
from tests.engine.process.variants import compiled
from tests.engine.process.variants.repositories import commit, git, version

COPY = "cp thing/__init__.py made.py && echo done"


def kept(prepare):
    return sorted(one.name for one in (prepare.cache / "builds").iterdir() if one.is_dir())


def imported(made, code):
    """Return what an expression is in a process that imports a build's packages."""
    paths = f"import sys; sys.path[:0] = {[*map(str, made.trees)]}"
    python = (sys.executable, "-P", "-c", f"{paths}; import fastk; print({code})")
    answer = subprocess.run(python, check=False, capture_output=True, text=True)
    return answer.stdout.strip() or answer.stderr


def test_a_commit_is_built_once(repository, prepare):
    describe = "git describe --tags --dirty"  # as setuptools-scm asks for a version
    build = f"{COPY} && (echo strip: $SKBUILD_INSTALL_STRIP; {describe}) >> {repository}/ran"
    for _ in range(2):
        with prepare("git:v1", repository, build=build) as made:
            assert version(made) == 1
            assert (made.trees[0] / "made.py").read_text() == "VERSION = 1\n"
            assert not (made.trees[0] / ".git").exists()
    assert (repository / "ran").read_text() == "strip: false\nv1\n"
    with prepare("git:main", repository, build=build) as made:
        assert version(made) == 3
    assert len(kept(prepare)) == 2
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert git(repository, "status", "--porcelain") == "?? ran"


def test_submodules_are_checked_out(repository, prepare, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q")
    commit(part, 7)
    git(repository, "submodule", "--quiet", "add", str(part), "part")
    git(repository, "commit", "-qm", "with a part")
    with prepare("git:main", repository, build="cp part/thing/__init__.py made.py") as made:
        assert (made.trees[0] / "made.py").read_text() == "VERSION = 7\n"


def test_another_variable_needs_another_build(repository, prepare, monkeypatch):
    trees = []
    for name in ("TERM", "OMP_NUM_THREADS", "WIDTH"):
        monkeypatch.setenv(name, "7")
        with prepare("git:v1", repository, build="echo $WIDTH > width") as made:
            trees.append(made.trees[0])
    assert trees[0] == trees[1]
    assert (trees[2] / "width").read_text() == "7\n"
    for part in ("env:WIDTH=8", "env:WIDTH=8 env:OMP_NUM_THREADS=2"):
        with prepare(f"git:v1 {part}", repository, build="echo $WIDTH > width") as made:
            assert (made.trees[0] / "width").read_text() == "8\n", (
                "a variant's variables are those of its build"
            )
    assert len(kept(prepare)) == 3


def test_the_build_that_was_used_longest_ago_is_removed_first(repository, prepare, monkeypatch):
    build = "head -c 100000 /dev/zero > big"
    monkeypatch.setattr(module, "MOST_BYTES", 350_000)
    clock = count(1)
    real = module.os.utime
    monkeypatch.setattr(module.os, "utime", lambda path, **_: real(path, (next(clock),) * 2))
    names = {}
    for ref in ("v1", "main", "v1", "main~1"):
        with prepare(f"git:{ref}", repository, build=build) as made:
            names[ref] = made.trees[0].parent.name
    assert kept(prepare) == sorted([names["v1"], names["main~1"]])
    with (
        prepare("git:v1", repository, build=build) as one,
        prepare("git:main", repository, build=build) as two,
        prepare("git:main~1", repository, build=build) as three,
    ):
        assert all((made.trees[0] / "big").exists() for made in (one, two, three)), "none in use is removed"


def test_a_build_that_fails_is_the_commit_s_fault_unless_the_disk_is_full(repository, prepare, monkeypatch):
    build = "echo no compiler >&2; exit 3"
    prepare.fails("git:v1", repository, "git:v1 .* cannot be built: .*: no compiler", build=build)
    monkeypatch.setattr(module, "_FREE_BYTES", 2**80)
    full = "the cache folder .* cannot be written .No space left on device"
    prepare.fails("git:v1", repository, full, build=build)
    monkeypatch.undo()
    with prepare("git:v1", repository, build=COPY):
        assert len(kept(prepare)) == 1, "what was left unfinished is removed"


@pytest.mark.parametrize("command", [compiled.IN_PLACE, compiled.INSTALLED, compiled.EDITABLE])
def test_an_extension_is_built_in_a_folder_of_its_own(prepare, tmp_path, command):
    folder = compiled.create(tmp_path / "fastk")
    before = module._installed()
    with prepare("git:v1", folder, build=command) as made:
        assert imported(made, "fastk.work(2)") == "1.75"
        assert imported(made, "fastk._k.__file__").startswith(f"{made.trees[0]}/fastk/_k.")
    assert not list(folder.rglob("*.so"))
    assert module._installed() == before


def test_the_working_tree_is_built_with_what_differs_from_the_commit(prepare, tmp_path):
    folder = compiled.create(tmp_path / "fastk")
    (folder / "fastk" / "extra.py").write_text("NUMBER = 5\n")
    (folder / "fastk" / "k.c").write_text(compiled.SOURCE.replace("0.5", "0.25"))
    (folder / "benchmarks" / "test_k.py").unlink()
    build = {"build": compiled.IN_PLACE, "is_built": True}
    with prepare(".", folder, **build) as made, prepare("git:HEAD", folder, **build) as committed:
        assert made.dirty
        assert imported(made, "fastk.work(2)") == "1.3125"
        assert imported(committed, "fastk.work(2)") == "1.75"
        assert (made.trees[0] / "fastk" / "extra.py").exists()
        assert not (made.trees[0] / "benchmarks" / "test_k.py").exists()
    git(folder, "stash", "-qu")
    with prepare(".", folder, **build) as made, prepare("git:HEAD", folder, **build) as committed:
        assert made.trees == committed.trees, "what has the same content is built once"
        assert len(kept(prepare)) == 2


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_the_working_tree_is_built_with_files_whose_changes_git_does_not_list(repository, prepare, flag):
    git(repository, "update-index", flag, "thing/__init__.py")
    (repository / "thing" / "__init__.py").write_text("VERSION = 7\n")
    with prepare(".", repository, build=COPY, is_built=True) as made:
        assert (made.trees[0] / "made.py").read_text() == "VERSION = 7\n"


def test_a_folder_uses_what_was_built_of_the_same_sources(prepare, tmp_path):
    folder, other = compiled.create(tmp_path / "fastk"), tmp_path / "other"
    (folder / "fastk" / "_k.so").touch()
    git(tmp_path, "clone", "-q", str(folder), str(other))
    for source, serves in ((compiled.SOURCE, False), ((folder / "fastk" / "k.c").read_text(), True)):
        (other / "fastk" / "k.c").write_text(source)
        with prepare("path:../other", folder, build="true") as made:
            assert made.redirects[0].may_use(str(folder / "fastk" / "_k.so")) is serves
    assert "path:../other is used as it is: --build builds commits only" in prepare.said


def test_a_module_in_pythonpath_is_the_project_s_if_its_settings_name_it(tmp_path, monkeypatch):
    folder, site = compiled.create(tmp_path / "fastk"), tmp_path / "site"
    (site / "fastk").mkdir(parents=True)
    for name in ("fastk/_k.abi3.so", "_j.abi3.so"):
        (site / name).touch()
    monkeypatch.setenv("PYTHONPATH", str(site))
    assert redirects.compiled_modules(folder) == {str(site / "fastk" / "_k.abi3.so")}


def test_what_a_compiler_says_is_in_the_message(prepare, tmp_path):
    folder = compiled.create(tmp_path / "fastk")
    (folder / "fastk" / "k.c").write_text(compiled.SOURCE.replace("0.5", "half"))
    said = r"the working tree cannot be built: .*: fastk/k.c:5:\d+: error: .*half.*; error: command .* failed"
    prepare.fails(".", folder, said, build=compiled.IN_PLACE, is_built=True)
