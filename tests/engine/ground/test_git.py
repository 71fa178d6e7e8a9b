import pytest

from gnnbench.engine.ground import git
from tests.engine.process.variants import repositories
from tests.engine.process.variants.repositories import create


@pytest.fixture
def repository(monkeypatch, tmp_path):
    repositories.without_settings(monkeypatch)
    return create(tmp_path / "repository")


def test_a_repository_is_described(repository, tmp_path):
    commit = repositories.git(repository, "rev-parse", "HEAD")
    assert git.state(repository) == (commit, False)
    assert git.tracked(repository) == {"thing"}
    assert git.tracked(repository / "thing") == {"__init__.py"}
    assert git.top(repository / "thing") == repository
    (repository / "new.py").write_text("")
    assert git.changed_files(repository) == 0, "of tracked ones"
    (repository / "thing" / "__init__.py").write_text("changed")
    assert git.changed_files(repository / "thing") == 1
    repositories.git(repository, "add", "new.py")
    assert git.changed_files(repository) == 2
    assert git.state(repository)[1]
    (repository / "lib/thing").mkdir(parents=True)
    (repository / "lib/thing/__init__.py").write_text("")
    assert git.tracked(repository / "lib") == frozenset()
    assert git.tracked(tmp_path) == git.tracked(tmp_path / "missing") == frozenset()


def test_without_a_repository_or_git_nothing_is_known_and_why_is_said(repository, tmp_path, monkeypatch):
    assert git.why_no_commit(repository) == git.refusal(repository) == ""
    repositories.git(tmp_path, "init", "-q", "empty")
    for folder in (tmp_path, tmp_path / "missing", tmp_path / "empty"):
        assert git.state(folder) == (None, False)
    assert git.top(tmp_path) == tmp_path
    assert git.why_no_commit(tmp_path / "empty") == "the repository has no commit yet"
    assert git.why_no_commit(tmp_path).startswith("not a git repository")
    assert git.refusal(tmp_path) == git.refusal(tmp_path / "empty") == ""
    (tmp_path / "empty/.git/config").write_text("[core\n")
    assert git.refusal(tmp_path / "empty").startswith("bad config line 1 in file ")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    why = f"detected dubious ownership in repository at '{repository}'; git config --global "
    assert git.refusal(repository).startswith(why)
    assert git.refusal(repository) == git.why_no_commit(repository)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.why_no_commit(repository).endswith("git is not installed")
    assert git.refusal(repository) == ""
    assert git.state(repository) == (None, False)
    assert git.tracked(repository) == frozenset()


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ("git-lfs: not found\nfatal: the remote end hung up unexpectedly\n", "git-lfs: not found"),
        ("warning: old\nhint: new\nerror: filter 'x' failed 1\nfatal: y", "filter 'x' failed 1"),
        ("fatal: no\n\n\tgit config --global x \x1b\n", "no; git config --global x ?"),
        ("", ""),
    ],
)
def test_what_git_says_first_is_the_reason(errors, reason):
    assert git.reason(errors) == reason
