import pytest

from gnnbench.engine.drive import adopt
from gnnbench.engine.drive.adopt import Project
from gnnbench.engine.ground.errors import UsageError


@pytest.fixture
def repository(tmp_path):
    return Project(tmp_path, ("test_sum.py::test_sum",))


def made(repository):
    return adopt.make(repository, "me/gnnbench@v1", settings=True)


def test_lines_are_added_to_what_git_ignores(repository):
    file = repository.folder / ".gitignore"
    file.write_text("*.pyc\n.benchmarks/")
    adopt.write(made(repository))
    assert file.read_text() == "*.pyc\n.benchmarks/\n/ab.json\n/report.html\n"
    assert adopt.GITIGNORE not in made(repository).files


def test_nothing_that_exists_is_overwritten(repository):
    workflow = repository.folder / ".github/workflows/benchmarks.yml"
    workflow.parent.mkdir(parents=True)
    workflow.symlink_to("nowhere")
    found = made(repository)
    assert [str(path) for path in found.existing] == [".github/workflows/benchmarks.yml"]
    (repository.folder / "gnnbench.toml").write_text("mine")  # between the plan and the writing
    with pytest.raises(UsageError, match=r"gnnbench.toml cannot be written \(File exists\)"):
        adopt.write(found)
    assert (repository.folder / "gnnbench.toml").read_text() == "mine"


@pytest.mark.parametrize("action", ["gnnbench", "me/gnnbench", "me/gnnbench@v1\nrun: x", "a/b/c@v1"])
def test_an_action_of_another_form_is_refused(repository, action):
    with pytest.raises(UsageError, match="must be OWNER/NAME@REF"):
        adopt.make(repository, action, settings=True)


def test_many_files_are_named_by_their_folder_if_pytest_collects_them_there(tmp_path):
    names = [f"bench/{name}/test_{name}.py" for name in "abcd"]
    assert Project(tmp_path).suite == ["benchmarks"]
    assert Project(tmp_path, names[:3]).suite == names[:3]
    assert Project(tmp_path, names).suite == ["bench"]
    assert Project(tmp_path, [*names, "test_e.py::test_it"]).suite == ["."]
    assert Project(tmp_path, names, named=names).suite == names
