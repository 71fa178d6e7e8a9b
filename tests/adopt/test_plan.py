import pytest

from gnnbench.adopt import plan
from gnnbench.adopt.repository import Project
from gnnbench.errors import UsageError
from tests.variants.repositories import commit, create, git


@pytest.fixture
def repository(tmp_path):
    """A repository with a benchmark."""
    return Project(tmp_path, ("test_sum.py::test_sum",))


def made(repository):
    return plan.make(repository, None, "me/gnnbench@v1", settings=True)


def test_lines_are_added_to_what_git_ignores(repository):
    file = repository.folder / ".gitignore"
    file.write_text("*.pyc\n.benchmarks/")
    plan.write(made(repository))
    assert file.read_text() == "*.pyc\n.benchmarks/\n/ab.json\n/report.html\n"
    assert plan.IGNORED not in made(repository).files


def test_nothing_that_exists_is_overwritten(repository):
    workflow = repository.folder / ".github/workflows/benchmarks.yml"
    workflow.parent.mkdir(parents=True)
    workflow.symlink_to("nowhere")
    found = made(repository)
    assert [str(path) for path in found.kept] == [".github/workflows/benchmarks.yml"]
    (repository.folder / "gnnbench.toml").write_text("mine")  # between the plan and the writing
    with pytest.raises(UsageError, match=r"gnnbench.toml cannot be written \(File exists\)"):
        plan.write(found)
    assert (repository.folder / "gnnbench.toml").read_text() == "mine"


@pytest.mark.parametrize("action", ["gnnbench", "me/gnnbench", "me/gnnbench@v1\nrun: x", "a/b/c@v1"])
def test_an_action_of_another_form_is_refused(repository, action):
    with pytest.raises(UsageError, match="must be OWNER/NAME@REF"):
        plan.make(repository, None, action, settings=True)


def test_gnnbench_in_a_clone_knows_its_repository(repository, monkeypatch):
    clone = repository.folder / "clone"
    create(clone)
    commit(clone, 1)
    monkeypatch.setattr(plan, "__file__", str(clone / "gnnbench/adopt/plan.py"))
    git(clone, "remote", "add", "origin", "git@github.com:me/gnnbench.git")
    head = git(clone, "rev-parse", "HEAD").strip()
    assert plan.action_source() == f"me/gnnbench@{head}"
    git(clone, "remote", "set-url", "origin", "https://gitlab.com/me/gnnbench.git")
    assert plan.action_source() is None
    workflow = plan.make(repository, None, None, settings=True).files[plan._WORKFLOW]
    assert "compare.yml@COMMIT # TODO: gnnbench's repository and commit on GitHub\n" in workflow


@pytest.mark.parametrize(
    ("direct", "source"),
    [
        ("", None),
        ('{"url": "file:///home/me/gnnbench", "dir_info": {}}', None),
        (
            '{"url": "https://github.com/a/b.git", "vcs_info": {"vcs": "git", "commit_id": "1f2e"}}',
            "a/b@1f2e",
        ),
    ],
)
def test_gnnbench_that_pip_installed_knows_from_where(tmp_path, monkeypatch, direct, source):
    monkeypatch.setattr(plan, "__file__", str(tmp_path / "site-packages/gnnbench/adopt/plan.py"))
    folder = tmp_path / "gnnbench-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: gnnbench\nVersion: 1\n")
    (folder / "direct_url.json").write_text(direct)
    monkeypatch.syspath_prepend(tmp_path)
    assert plan.action_source() == source
