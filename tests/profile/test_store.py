from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.errors import UsageError
from gnnbench.profile.record import ProfileStore, folder_name


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


def test_those_who_save_at_the_same_time_get_numbers_of_their_own(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: save(ProfileStore(tmp_path), "epoch", str(number)), range(40)))
    assert len(set(found)) == len(list((tmp_path / "epoch").iterdir())) == 40
    assert {(path / "profile.json").read_text() for path in found} == set(map(str, range(40)))


@given(st.text(min_size=1))
def test_a_name_is_one_part_of_a_path(name):
    found = folder_name(name)
    assert len(Path(found).parts) == 1
    assert found not in {"", ".", ".."}
    assert not found.startswith(".")
    assert len(found.encode()) <= 200


def test_names_stay_readable():
    for name, folder in (
        ("conv-dgl-ogbn-arxiv:synthetic@0.1-128-cpu", "conv-dgl-ogbn-arxiv_synthetic@0.1-128-cpu"),
        ("tests/test_a.py::test_b[1-x]", "tests_test_a.py_test_b_1-x"),
        ("../../etc/passwd", "etc_passwd"),
        ("/", "_"),
    ):
        assert folder_name(name) == folder


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere"])
def test_a_folder_that_cannot_be_written_is_a_line(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"of profiles .* cannot be written \(.*\); choose another$"):
        ProfileStore(tmp_path / place).check()
