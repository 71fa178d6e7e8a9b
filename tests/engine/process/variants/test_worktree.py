import hashlib
import os
import re
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from gnnbench.engine.ground.errors import UsageError
from tests.engine.process.variants import repositories
from tests.engine.process.variants.repositories import ODD, commit, git, is_alive, start, version, wait_for


def state(folder):
    """Return what all files of a repository and its tree contain."""
    return {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*") if path.is_file()}


def test_a_ref_is_checked_out_beside_the_user_s_tree(repository, prepare):
    full = git(repository, "rev-parse", ODD)
    names = ((ODD, 2), (full, 2), (full[:9], 2), ("v1", 1), ("main~2", 1), ("HEAD", 3))
    for name, expected in names:
        with prepare(f"git:'{name}' env:A=1", repository) as made:
            assert version(made) == expected
            assert made.commit == git(repository, "rev-parse", name)
            assert not made.dirty
            assert made.environment == {"A": "1"}
            (tree,) = made.trees
            assert not tree.is_relative_to(repository)
        assert prepare.left() == []
    assert prepare.said[0] == f"checking out {ODD} ({full[:10]})"


def test_nothing_of_the_user_s_is_touched(repository, prepare, tmp_path):
    (repository / "thing" / "new.py").write_text("staged\n")
    git(repository, "add", ".")
    git(repository, "stash")
    (repository / "thing" / "new.py").write_text("staged again\n")
    git(repository, "add", ".")
    (repository / "thing" / "__init__.py").write_text("changed\n")
    (repository / "untracked").write_text("")
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    before = state(repository)
    os.utime(repository / "thing" / "new.py", (10**9, 10**9))  # git would refresh the index
    with prepare("git:HEAD", repository) as made, prepare(".", repository) as tree:
        assert version(made) == 3
        assert tree.dirty
    with pytest.raises(ZeroDivisionError), prepare("git:v1", repository):
        raise ZeroDivisionError
    assert state(repository) == before
    assert not (tmp_path / "ran").exists()


def test_what_is_no_commit_is_named_with_the_nearest(repository, prepare, tmp_path, monkeypatch):
    git(repository, "update-ref", "refs/remotes/origin/a-very-long-name-of-a-topic", "HEAD")
    prepare.fails("git:mian", repository, "git:mian names no commit .*: did you mean main")
    prepare.fails("git:a-very-long-name-of-a-topic", repository, "did you mean origin/a-very")
    prepare.fails("git:qqqqqqqqq", repository, "git branch --all")
    for ref in ("HEAD:thing", "^main", "v1..main", "'a\nb'", "'main v1'", "$(touch x)", "f" * 40, "@{99}"):
        prepare.fails(f"git:'{ref}'" if "'" not in ref else f"git:{ref}", repository, "names no commit")
    prepare.fails("git:main", tmp_path, "git:main needs a git repository at .*: not a git repository")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", repository.as_uri(), str(clone))
    prepare.fails("git:HEAD~1", clone, "this clone lacks commits: git fetch --unshallow")
    assert not (prepare.cache / "worktrees").exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    prepare.fails("git:main", repository, "git is not installed")
    with prepare(".", repository) as made:
        assert made.commit is None


@pytest.mark.parametrize("options", [["--single-branch"], ["--depth=1"]])
def test_what_a_clone_lacks_comes_with_the_command_that_is_named(repository, prepare, tmp_path, options):
    git(repository, "branch", "-q", "other/topic", "v1")
    git(repository, "tag", "-f", "v0", "v1")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--no-tags", *options, repository.as_uri(), str(clone))
    ref = "origin/other/topic~0" if "--single-branch" in options else "main~2"
    with pytest.raises(UsageError) as caught, prepare(f"git:{ref}", clone):
        pass
    git(clone, *shlex.split(re.search("this clone lacks commits: git (.*) gets them$", str(caught.value))[1]))
    for name in (ref, "v0"):
        with prepare(f"git:{name}", clone) as made:
            assert version(made) == 1


def test_a_repository_that_git_refuses_is_there(repository, prepare, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    said = "^git:v1 needs a git repository at .*: detected dubious ownership .*safe.directory"
    prepare.fails("git:v1", repository, said)


def test_files_of_lfs_are_those_of_this_machine_and_nothing_is_downloaded(repository, prepare):
    digests = [hashlib.sha256(content).hexdigest() for content in (b"here", b"elsewhere")]
    (repository / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointers = [f"version https://git-lfs.github.com/spec/v1\noid sha256:{one}\nsize 4\n" for one in digests]
    for name, pointer in zip("ab", pointers, strict=True):
        (repository / f"{name}.bin").write_text(pointer)
    commit(repository, 4)
    for name, value in {"process": "no-git-lfs", "smudge": "no-git-lfs", "required": "true"}.items():
        git(repository, "config", f"filter.lfs.{name}", value)
    kept = repository / ".git/lfs/objects" / digests[0][:2] / digests[0][2:4] / digests[0]
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"here")
    with prepare("git:HEAD", repository) as made:
        (tree,) = made.trees
        assert (tree / "a.bin").read_bytes() == b"here"
        assert (tree / "b.bin").read_text() == pointers[1]
    assert prepare.said[-1] == (
        "git:HEAD has files of Git LFS whose content is missing: b.bin; git lfs fetch --all gets it"
    )


def test_a_worktree_starts_from_another_whatever_variables_a_hook_has(
    repository, prepare, monkeypatch, tmp_path
):
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", "--detach", str(other), "v1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    with prepare("git:HEAD", other) as made:
        assert version(made) == 1


def test_a_link_that_leaves_the_repository_leads_where_it_leads_from_there(repository, prepare, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "core.py").write_text("SIZE = 1\n")
    links = {
        "core": "../../shared/core.py",
        "inner": "__init__.py",
        "gone": "../../no/such",
        "folder": "../../shared",
    }
    for name, target in links.items():
        (repository / "thing" / name).symlink_to(target)
    commit(repository, 4)
    with prepare("git:HEAD", repository) as made:
        folder = made.trees[0] / "thing"
        assert (folder / "core").read_text() == (folder / "folder" / "core.py").read_text() == "SIZE = 1\n"
        assert [str((folder / name).readlink()) for name in ("inner", "gone")] == [
            "__init__.py",
            "../../no/such",
        ]
        assert not made.redirects[0].changed


def test_several_at_once_have_worktrees_of_their_own(repository, prepare):
    before = state(repository)
    with prepare("git:v1", repository) as one, prepare("git:v1", repository) as other:
        assert one.trees != other.trees
        assert version(one) == version(other) == 1
        assert len(prepare.left()) == 2

    def visit(_):
        with prepare("git:HEAD~1", repository) as made:
            return version(made)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(visit, range(8))) == [2] * 8
    assert prepare.left() == []
    assert state(repository) == before


def test_what_a_killed_run_left_goes_with_the_next_and_not_what_is_in_use(repository, prepare):
    living, dead = (start("git:v1", repository, prepare.cache) for _ in range(2))
    lives_in, died_in = map(repositories.held_tree, (living, dead))
    dead.kill()
    dead.wait()
    assert len(prepare.left()) == 2
    with prepare("git:v1", repository):
        assert not died_in.exists()
        assert (lives_in / "thing").is_dir()
        assert len(prepare.left()) == 2
    living.send_signal(signal.SIGINT)
    living.wait(10)
    assert prepare.left() == []


def with_filter(repository, **settings):
    (repository / ".gitattributes").write_text("slow filter=odd\n")
    (repository / "slow").write_text("")
    commit(repository, 4)
    for name, value in settings.items():
        git(repository, "config", f"filter.odd.{name}", value)


def test_cut_short_in_the_midst_of_a_checkout(repository, prepare, tmp_path):
    started = tmp_path / "started"
    with_filter(repository, smudge=f"echo $$ >> {started}; sleep 1.5; cat")
    before = state(repository)
    process = start("git:HEAD", repository, prepare.cache)
    wait_for(lambda: started.exists() and started.read_text().endswith("\n"))
    process.send_signal(signal.SIGINT)
    process.wait(10)
    wait_for(lambda: not is_alive(int(started.read_text())), 0.5)
    assert prepare.left() == []
    assert state(repository) == before


def test_a_checkout_that_fails_is_one_line(repository, prepare):
    with_filter(repository, smudge="false", clean="cat", required="true")
    before = state(repository)
    prepare.fails("git:HEAD", repository, "git:HEAD cannot be checked out: external filter 'false' failed")
    assert prepare.left() == []
    assert state(repository) == before
