from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground import options
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.files import check_folder
from gnnbench.engine.profile import kinds, record
from gnnbench.engine.profile.findings import find
from gnnbench.engine.profile.record import ProfileStore, folder_name
from tests.profile.subjects import recorded, subject_of


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    weight = torch.ones(8, 8, requires_grad=True)
    subject = subject_of(lambda: (weight @ weight).sum().backward(), "cpu", 2)
    sections, unavailable = kinds.take(
        tuple(options.PROFILE_KINDS), subject, tmp_path_factory.mktemp("profile")
    )
    made = recorded("test_a.py::test_b[x]", findings=find(sections), **sections)
    return replace(made, environment={"cpu": "x"}, unavailable=unavailable)


def test_what_is_written_is_read_again(taken, tmp_path):
    record.write(taken, tmp_path)
    found = record.read(tmp_path)
    assert found == record.read(tmp_path / "profile.json") == taken
    assert list(found.sections) == list(taken.sections)
    assert set(record.Sections.__annotations__) == {*options.PROFILE_KINDS, "counts"}


def save(store, name, text="x"):
    with store.new(name) as (draft, folder):
        (draft / "profile.json").write_text(text)
    return folder


def test_each_profile_has_a_number_and_what_fails_leaves_nothing(tmp_path):
    store = ProfileStore(tmp_path / "a" / "profiles")
    with pytest.raises(OSError, match="disk full"), store.new("epoch-cpu"):
        raise OSError("disk full")
    assert list(store.root.iterdir()) == []
    found = [save(store, "epoch-cpu", text) for text in "abc"]
    with pytest.raises(KeyboardInterrupt), store.new("epoch-cpu"):
        raise KeyboardInterrupt
    assert sorted((store.root / "epoch-cpu").iterdir()) == found
    assert [path.name for path in found] == ["0001", "0002", "0003"]
    assert [(path / "profile.json").read_text() for path in found] == ["a", "b", "c"]


@given(st.text(min_size=1))
def test_a_name_is_one_part_of_a_path(name):
    found = folder_name(name)
    assert len(Path(found).parts) == 1
    assert found not in {"", ".", ".."}
    assert not found.startswith(".")
    assert len(found.encode()) <= 200


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere"])
def test_a_folder_that_cannot_be_written_is_a_line(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UsageError, match=r"the folder .* cannot be written \(.*\); make it writable, or choose another$"
    ):
        check_folder(tmp_path / place)
