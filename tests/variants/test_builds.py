"""Commits that are checked out with submodules, built, and kept."""

import pytest

from gnnbench.engine.process.variants import builds as module
from gnnbench.engine.process.variants.builds import Build
from tests.variants.repositories import commit, git, version

COPY = "cp thing/__init__.py made.py && echo done"


def kept(prepare):
    return sorted(one.name for one in (prepare.cache / "builds").iterdir() if one.is_dir())


def test_a_commit_is_built_once(repository, prepare):
    build = Build(f"{COPY} && echo x >> {repository}/ran")
    for _ in range(2):
        with prepare("git:v1", repository, build=build) as made:
            assert version(made) == 1
            assert (made.trees[0] / "made.py").read_text() == "VERSION = 1\n"
            assert not (made.trees[0] / ".git").exists()
    assert (repository / "ran").read_text() == "x\n"
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
    with prepare("git:main", repository, build=Build("cp part/thing/__init__.py made.py")) as made:
        assert (made.trees[0] / "made.py").read_text() == "VERSION = 7\n"


def test_the_build_that_was_used_longest_ago_is_removed_first(repository, prepare, monkeypatch):
    build = Build("head -c 10000 /dev/zero > big", most_bytes=35_000)
    clock = iter(range(1, 100))
    real = module.os.utime
    monkeypatch.setattr(module.os, "utime", lambda path: real(path, (next(clock),) * 2))
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
    build = Build("echo no compiler >&2; exit 3")
    with (
        pytest.raises(module.UnbuildableError, match=r"git:v1 cannot be built: .*: no compiler"),
        prepare("git:v1", repository, build=build),
    ):
        pass
    monkeypatch.setattr(module, "_FREE_BYTES", 2**80)
    full = "the cache folder .* cannot be written .No space left on device"
    prepare.fails("git:v1", repository, full, build=build)
    monkeypatch.undo()
    with prepare("git:v1", repository, build=Build(COPY)):
        assert len(kept(prepare)) == 1, "what was left unfinished is removed"
