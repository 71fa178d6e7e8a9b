from dataclasses import replace

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.accepted import FILE, Entry
from gnnbench.engine.store import accepted

NAME = "test_a.py::test_a[cora-256]"
ENTRY = Entry(NAME, "more accurate", 1.2, 1.1, 1.3)
TEXT = f"""\
[[accepted]]
benchmark = "{NAME}"
reason = "more accurate"
ratio = 1.2
low = 1.1
high = 1.3
"""


def written(folder, text):
    file = folder / FILE
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_comments_and_other_entries_of_the_user_stay(tmp_path):
    file = written(tmp_path, f"# ours\n\n{TEXT}# because of issue 7\n\n{TEXT.replace('test_a[', 'test_b[')}")
    other = replace(ENTRY, reason='a "quoted" reason')
    accepted.write(accepted.read(file), [other], replaced={2})
    text = file.read_text()
    assert text.startswith(f"# ours\n\n{TEXT}# because of issue 7\n")
    assert [one.benchmark for one in accepted.read(file).entries] == [NAME, NAME]
    assert accepted.read(file).entries[1] == other


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "accepted = []\n"])
def test_a_file_without_entries_gets_its_first(tmp_path, text):
    file = written(tmp_path, text)
    accepted.write(accepted.read(file), [ENTRY, ENTRY])
    assert len(accepted.read(file).entries) == 2
    assert file.read_text().count("[[accepted]]\nbenchmark = ") == 2


def test_entries_in_brackets_are_read_and_not_added_to(tmp_path):
    inline = ", ".join(TEXT.splitlines()[1:])
    found = accepted.read(written(tmp_path, f"accepted = [{{{inline}}}]\n"))
    assert found.entries == (ENTRY,)
    with pytest.raises(UsageError, match="write each entry as a table"):
        accepted.write(found, [ENTRY])


def test_an_entry_may_be_about_memory_alone_or_too(tmp_path):
    found = accepted.find(tmp_path)
    assert found.entries == ()
    alone = replace(ENTRY, ratio=1.0, low=1.0, high=1.0, more_bytes=2**20)
    accepted.write(found, [alone, replace(ENTRY, more_bytes=1)])
    first, second = accepted.find(tmp_path).entries
    assert (first, second) == (alone, replace(ENTRY, more_bytes=1))
    assert (first.slows, second.slows) == (False, True)
    assert found.file.read_text().count("ratio = ") == 1


def test_the_nearest_file_up_to_the_top_of_the_repository_counts(tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "sub").mkdir()
    written(tmp_path, TEXT)
    assert accepted.find(tmp_path / "project" / "sub").entries == ()
    file = written(tmp_path / "project", TEXT)
    assert accepted.find(tmp_path / "project" / "sub").file == file


WRONG = {
    "accepted = [1]": "accepted must be a list of tables, as in [[accepted]]",
    "acepted = []": "unknown key 'acepted': did you mean accepted?",
    "[[accepted]]\nratio = 1.2\n": "entry 1: object missing required field `benchmark`; correct it, or",
    TEXT.replace("ratio", "ration"): f"entry 1 ({NAME}): unknown key 'ration': did you mean ratio",
    TEXT + TEXT.replace("1.2", "true"): f"entry 2 ({NAME}): ratio: expected `float`, got `bool`; correct it",
    TEXT.replace("1.2", "1.5"): "ratio must lie between low and high",
    TEXT.replace("more accurate", " "): "reason: expected `str` matching",
    f"{TEXT}more_bytes = 0\n": "more_bytes: expected `int` >= 1",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_mistake_is_one_line(tmp_path, text):
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        accepted.find(tmp_path)
    message = str(caught.value)
    assert message.startswith(str(file))
    assert WRONG[text] in message
    assert "\n" not in message
