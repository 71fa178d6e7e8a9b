import errno
import tempfile

import pytest

from tests.variants.repositories import ODD, commit, git, version, wheel


def test_the_working_tree_is_the_environment_as_it_is(repository, prepare, tmp_path):
    with prepare(". env:A=1", repository) as made:
        assert (made.text, made.trees, made.dirty, made.versions) == (". env:A=1", (), False, {})
        assert made.commit == git(repository, "rev-parse", "HEAD")
    (repository / "untracked").write_text("")
    with prepare("env:A=1", repository / "thing") as made:
        assert not made.dirty
    (repository / "thing" / "__init__.py").write_text("changed\n")
    with prepare(".", repository / "thing") as made:
        assert made.dirty
    with prepare(".", tmp_path) as made:
        assert (made.commit, made.dirty) == (None, False)


def test_the_folder_is_the_caller_s_and_src_comes_first(repository, prepare):
    inner = repository / "a b" / "ü"
    (inner / "src").mkdir(parents=True)
    (inner / "src" / "one.py").write_text("")
    commit(repository, 4)
    with prepare("git:HEAD", inner) as made:
        first, second = made.trees
        assert first == second / "src"
        assert second.parts[-2:] == ("a b", "ü")
        assert (first / "one.py").exists()
    prepare.fails("git:v1", inner, "git:v1 has no folder a b/ü: start in")
    with prepare("path:'a b/ü'", repository) as made:
        assert made.trees == (inner / "src", inner)


def test_a_path_is_used_where_it_is(repository, prepare, tmp_path):
    with prepare("path:thing", repository) as made:
        assert made.trees == (repository / "thing",)
        assert made.commit == git(repository, "rev-parse", "HEAD")
    for text in (f"path:{tmp_path}", "path:.."):
        with prepare(text, repository) as made:
            assert (made.trees, made.commit, made.dirty) == ((tmp_path,), None, False)
    # An installed package in the repository's folder is not of its commit.
    (repository / "site-packages").mkdir()
    with prepare("path:site-packages", repository) as made:
        assert made.commit is None
    prepare.fails("path:none", repository, "path:none does not exist .from .*: give the folder")
    prepare.fails("path:thing/__init__.py", repository, "is not a folder")
    prepare.fails("path:~nobody-of-this-name/x", repository, "does not exist")


def test_the_tree_comes_before_what_pip_installed(repository, prepare, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path, "thing", 1).parent))
    with prepare(f"pip:thing==1 git:{ODD}", repository) as made:
        _, overlay = made.trees
        assert version(made) == 2
        assert (overlay / "thing").is_dir()
        assert made.versions == {"thing": "1"}


@pytest.mark.parametrize("text", ["git:v1", "pip:thing==1"])
def test_a_cache_that_cannot_be_written_is_named(repository, prepare, tmp_path, monkeypatch, text):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkdtemp", full)
        prepare.fails(text, repository, "the cache folder .* cannot be written .No space left .*set GNN")
    prepare.cache = tmp_path / "file"
    prepare.cache.write_text("")
    prepare.fails(text, repository, "the cache folder .* cannot be written")
