import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.profile import record


def save(root, name, text="x"):
    with record.new(root, name) as (draft, folder):
        (draft / "profile.json").write_text(text)
    return folder


def test_each_profile_has_a_number_and_what_fails_leaves_nothing(tmp_path):
    root = tmp_path / "a" / "profiles"
    with pytest.raises(OSError, match="disk full"), record.new(root, "epoch-cpu"):
        raise OSError("disk full")
    assert list(root.iterdir()) == []
    found = [save(root, "epoch-cpu", text) for text in "abc"]
    with pytest.raises(KeyboardInterrupt), record.new(root, "epoch-cpu"):
        raise KeyboardInterrupt
    assert sorted((root / "epoch-cpu").iterdir()) == found
    assert [path.name for path in found] == ["0001", "0002", "0003"]
    assert [(path / "profile.json").read_text() for path in found] == ["a", "b", "c"]


@given(st.text(min_size=1))
def test_a_name_is_one_part_of_a_path(tmp_path_factory, name):
    root = tmp_path_factory.mktemp("profiles")
    assert save(root, name).parent.parent == root
    (only,) = root.iterdir()
    assert not only.name.startswith(".")
    assert len(only.name.encode()) <= 200
