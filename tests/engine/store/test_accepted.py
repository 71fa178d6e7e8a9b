from dataclasses import replace
from threading import Thread

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.files import one_writer
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
    file.write_text(text)
    return file


def test_comments_and_other_entries_of_the_user_stay(tmp_path):
    file = written(tmp_path, f"# ours\n\n{TEXT}# because of issue 7\n\n{TEXT.replace('test_a[', 'test_b[')}")
    before = file.read_text()
    other = replace(ENTRY, reason='a "quoted" reason: größer \\ 🙂')
    accepted.write(accepted.read(file), [other])
    assert file.read_text().startswith(before)
    assert [one.benchmark for one in accepted.read(file).entries] == [NAME, NAME.replace("_a[", "_b["), NAME]
    assert accepted.read(file).entries[2] == other


def test_two_commands_at_once_lose_no_entry(tmp_path):
    found = accepted.find(tmp_path)
    writer = Thread(target=accepted.write, args=(found, [ENTRY]))
    with one_writer(found.file.parent):
        writer.start()
        writer.join(0.3)  # it waits, as the folder is locked
        found.file.write_text(TEXT.replace("test_a[", "test_b["))
    writer.join()
    assert [one.benchmark for one in accepted.read(found.file).entries] == [NAME.replace("_a[", "_b["), NAME]


def test_entries_in_brackets_are_read_and_not_added_to(tmp_path):
    inline = ", ".join(TEXT.splitlines()[1:])
    found = accepted.read(written(tmp_path, f"accepted = [{{{inline}}}]\n"))
    assert found.entries == (ENTRY,)
    before = found.file.read_text()
    with pytest.raises(UsageError, match="write each entry as a table"):
        accepted.write(found, [ENTRY])
    assert found.file.read_text() == before


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
    "accepted = [1]": "accepted[0]: expected `object`, got `int`; correct it, or remove the entry",
    "acepted = []": "unknown key 'acepted': did you mean accepted?",
    TEXT.replace("1.2", "true"): "accepted[0].ratio: expected `float`, got `bool`",
    TEXT.replace("more accurate", " "): "accepted[0].reason: expected `str` matching",
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
