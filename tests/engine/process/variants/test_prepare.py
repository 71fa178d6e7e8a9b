import errno
import tempfile

from tests.engine.process.variants.repositories import commit, create, git, version, wheel


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
        top, first, second = made.trees
        assert first == second / "src"
        assert second == top / "a b" / "ü"
        assert (first / "one.py").exists()
    (inner / "pyproject.toml").write_text("")
    with prepare("git:HEAD", inner / "src") as made:
        first, second = made.trees
        assert first == second / "src"
        assert second.parts[-2:] == ("a b", "ü")
    prepare.fails("git:v1", inner, "git:v1 has no folder a b/ü: run gnnbench in a folder that the commit has")
    with prepare("path:'a b/ü'", repository) as made:
        assert made.trees == (inner / "src", inner)


def test_from_its_tests_and_its_package_a_commit_has_the_roots_that_it_has_from_the_top(repository, prepare):
    for name in ("tests/inner", "benchmarks"):
        (repository / name).mkdir(parents=True)
        (repository / name / "thing.py").write_text("")
    commit(repository, 4)
    (repository / "new").mkdir()  # not in the commit
    for name in (".", "tests/inner", "benchmarks", "thing", "new"):
        folder = repository / name
        with prepare("git:HEAD", folder) as made:
            (tree,) = made.trees
            assert (tree / "thing").is_dir()


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
    prepare.fails("path:none", repository, "path:none does not exist .relative to .*: give the folder")
    prepare.fails("path:thing/__init__.py", repository, "is not a folder")
    prepare.fails("path:~nobody-of-this-name/x", repository, "there is no such home folder")


def test_a_cache_that_cannot_be_written_is_named(repository, prepare, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkdtemp", full)
        prepare.fails("git:v1", repository, "the cache folder .* cannot be written .No space left .*set GNN")
    prepare.cache = tmp_path / "file"
    prepare.cache.write_text("")
    for text in ("git:v1", "pip:thing==1"):
        prepare.fails(text, repository, "the cache folder .* cannot be written")


def test_commits_of_other_repositories_come_between_the_main_tree_and_pip(
    repository, prepare, tmp_path, monkeypatch
):
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel(tmp_path, "thing", 1).parent))
    other, third = create(tmp_path / "my other"), create(tmp_path / "third")
    (other / "src").mkdir()
    (other / "src" / "one.py").write_text("")
    commit(other, 4)
    first, second = (git(folder, "rev-parse", ref) for folder, ref in ((other, "HEAD"), (third, "v1")))
    text = f"pip:thing==1 'git:../my other@main' git:{third}@v1"
    with prepare(f"{text} git:main", repository) as made:
        _, source, folder, last, overlay = made.trees
        assert version(made) == 3
        assert source == folder / "src"
        assert (source / "one.py").exists()
        assert (last / "thing/__init__.py").read_text() == "VERSION = 1\n"
        assert made.commit == git(repository, "rev-parse", "main")
        assert overlay.is_relative_to(prepare.cache / "overlays")
        assert (overlay / "thing").is_dir()
        assert made.versions == {"thing": "1"}
        assert made.checkouts == {"../my other": first, str(third): second}
    assert prepare.said[:2] == [
        f"checking out main ({made.commit[:10]})",
        f"checking out ../my other@main ({first[:10]})",
    ]
    # Without another main tree, the commit is the working tree's.
    (repository / "thing" / "__init__.py").write_text("changed\n")
    with prepare(text, repository) as made:
        assert len(made.trees) == 4
        assert (made.commit, made.dirty) == (git(repository, "rev-parse", "HEAD"), True)
    assert prepare.left() == []


def test_another_repository_s_folder_bare_clone_and_submodule(repository, prepare, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path, "init", "-q", "whole")
    whole = tmp_path / "whole"
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "sub")
    for text in ("../repository@v1", "../bare.git@v1", "./sub@HEAD~2"):
        with prepare(f"git:{text}", whole) as made:
            assert version(made) == 1
    with prepare("git:../repository/thing@v1", whole) as made:
        (tree,) = made.trees
        assert (tree / "__init__.py").read_text() == "VERSION = 1\n"
    assert prepare.left() == []


def test_a_part_of_another_repository_that_cannot_be_checked_out_is_named(repository, prepare, tmp_path):
    (repository / "new").mkdir()
    (repository / "new" / "a.py").write_text("")
    commit(repository, 4)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "file").write_text("")
    for text, message in (
        ("git:../none@main", "folder of git:../none@main does not exist .relative to .*plain.: give the"),
        ("git:./file@main", "folder of git:./file@main is not a folder"),
        ("'git:./no\nne@main'", r"git:./no\?ne@main does not exist"),
        ("git:.@main", "git:.@main needs a git repository at .*plain: not a git repository"),
        ("git:../repository@mian", "git:../repository@mian names no commit .*: did you mean main"),
        ("git:../repository@-f", "names no commit"),
        ("git:../repository/new@v1", "git:../repository/new@v1 has no folder new: run gnnbench in"),
        # What was checked out before is removed.
        ("git:../repository@v1 git:../none@main", "does not exist"),
    ):
        prepare.fails(text, plain, message)
    assert prepare.left() == []
