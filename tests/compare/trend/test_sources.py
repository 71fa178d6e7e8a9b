import pytest

from gnnbench.compare.trend import sources
from gnnbench.errors import UsageError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a/one.json", "a/b/two.json", "a/notes.txt", "a/.hidden/three.json", "a/.half.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a"], ["a/b/two.json", "a/one.json"]),
        (["a/*.json"], ["a/one.json"]),
        (["a/**/*.json"], ["a/b/two.json", "a/one.json"]),
        (["a/notes.txt", "a/one.json", "a"], ["a/b/two.json", "a/notes.txt", "a/one.json"]),
        (["a/.hidden"], ["a/.hidden/three.json"]),
    ],
)
def test_folders_patterns_and_files(folder, names, found):
    assert sources.find(names) == [folder / name for name in found]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("empty", "this folder has no .json file"),
        ("a/*.js", "no file matches this pattern"),
        ("nothing", "no such file or folder"),
    ],
)
def test_a_name_of_nothing_is_one_line(folder, name, why):
    with pytest.raises(UsageError, match=why) as caught:
        sources.find([str(folder / "a"), name])
    assert "\n" not in str(caught.value)
