import datetime as dt
from dataclasses import replace

import pytest

from gnnbench.errors import UsageError
from gnnbench.results import accepted
from gnnbench.results.accepted import FILE, Entry

NAME = "test_a.py::test_a[cora-256]"
ENTRY = Entry(
    benchmark=NAME,
    ratio=1.2,
    low=1.1,
    high=1.3,
    base="a" * 40,
    head="b" * 40,
    author="Ada <ada@example.org>",
    date=dt.date(2026, 11, 24),
    reason="more accurate",
    until=dt.date(2027, 1, 31),
    patches=("c" * 40,),
)
TEXT = f"""\
[[accepted]]
benchmark = "{NAME}"
ratio = 1.2
low = 1.1
high = 1.3
base = "{"a" * 40}"
head = "{"b" * 40}"
author = "Ada <ada@example.org>"
date = 2026-11-24
reason = "more accurate"
"""


def written(folder, text):
    file = folder / FILE
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_what_is_written_is_read(tmp_path):
    found = accepted.find(tmp_path)
    assert found.entries == ()
    accepted.write(found, [ENTRY])
    (entry,) = accepted.find(tmp_path).entries
    assert entry == Entry(**{**vars(ENTRY), "number": 1})
    assert entry.place == f"entry 1 ({NAME})"
    assert not entry.is_expired(dt.date(2027, 1, 31))
    assert entry.is_expired(dt.date(2027, 2, 1))


def test_comments_and_other_entries_of_the_user_stay(tmp_path):
    file = written(tmp_path, f"# ours\n\n{TEXT}# because of issue 7\n\n{TEXT.replace('test_a[', 'test_b[')}")
    other = Entry(**{**vars(ENTRY), "reason": 'a "quoted" reason\nof two lines'})
    accepted.write(accepted.read(file), [other], replaced={2})
    text = file.read_text()
    assert text.startswith(f"# ours\n\n{TEXT}# because of issue 7\n")
    assert [one.benchmark for one in accepted.read(file).entries] == [NAME, NAME]
    assert accepted.read(file).entries[1].reason == 'a "quoted" reason of two lines'


def test_a_file_without_entries_gets_its_first_and_entries_in_brackets_become_tables(tmp_path):
    for text in ("", "# nothing yet\n", "accepted = []\n"):
        file = written(tmp_path, text)
        accepted.write(accepted.read(file), [ENTRY, ENTRY])
        assert len(accepted.read(file).entries) == 2
        assert file.read_text().count("\n[[accepted]]\nbenchmark = ") == 2
    inline = ", ".join(line for line in TEXT.splitlines()[1:])
    file = written(tmp_path, f"accepted = [{{{inline}}}, {{{inline}}}]\n")
    accepted.write(accepted.read(file), [ENTRY], replaced={1})
    assert [one.until for one in accepted.read(file).entries] == [None, ENTRY.until]


def test_an_entry_may_be_about_memory_alone_or_too(tmp_path):
    found = accepted.find(tmp_path)
    alone = replace(ENTRY, ratio=1.0, low=1.0, high=1.0, more_bytes=2**20)
    accepted.write(found, [alone, replace(ENTRY, more_bytes=1)])
    first, second = accepted.find(tmp_path).entries
    assert (first, second) == (replace(alone, number=1), replace(ENTRY, more_bytes=1, number=2))
    assert (first.slows, second.slows) == (False, True)
    assert found.file.read_text().count("ratio = ") == 1


@pytest.mark.parametrize("replaced", [(1,), (3,), (1, 3), (2, 3), (1, 2, 3)])
def test_what_is_replaced_leaves_no_blank_lines(tmp_path, replaced):
    found = accepted.find(tmp_path)
    accepted.write(found, [ENTRY] * 3)
    before = found.file.read_text()
    assert before.count("\n\n[[accepted]]\n") == 3
    for _ in range(2):
        accepted.write(accepted.read(found.file), [ENTRY] * len(replaced), replaced)
    assert found.file.read_text() == before


def test_what_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    file = written(tmp_path, TEXT)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match=r"accepted.toml cannot be written \(No space left on device\)"):
        accepted.write(accepted.read(file), [ENTRY])
    assert file.read_text() == TEXT


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
    "x = " + "[" * 5000: "is not valid TOML",
    '[[accepted]]\nratio = "a"\n': "entry 1 has no key benchmark; add it, or remove the entry",
    TEXT.replace("ratio", "ration"): f"entry 1 ({NAME}): unknown key 'ration': did you mean ratio",
    TEXT + TEXT.replace("1.2", '"1.2"'): f'entry 2 ({NAME}): ratio = "1.2" must be a ratio of times',
    TEXT.replace("1.2", "true"): "ratio = true must be a ratio of times, as in 1.12",
    TEXT.replace("1.2", "nan"): "ratio = nan must be a ratio of times",
    TEXT.replace("1.2", "-1.0"): "ratio = -1.0 must be a ratio of times",
    TEXT.replace("1.2", "1.5"): "ratio must lie between low and high",
    TEXT.replace("a" * 40, "main"): 'base = "main" must be the hash of a commit',
    TEXT.replace("b" * 40, "--all"): 'head = "--all" must be the hash of a commit',
    TEXT.replace("more accurate", " "): 'reason = " " must be why the slowdown is intended',
    TEXT.replace("2026-11-24", '"2026-11-24"'): 'date = "2026-11-24" must be a day without quotation marks',
    TEXT.replace("2026-11-24", "2026-11-24T10:00:00"): "date = 2026-11-24T10:00:00 must be a day",
    f"{TEXT}until = 2027\n": "until = 2027 must be a day without quotation marks, as in 2027-01-31",
    f"{TEXT}patches = 'abc'\n": 'patches = "abc" must be a list of patch ids',
    f"{TEXT}patches = ['-p']\n": 'patches = ["-p"] must be a list of patch ids',
    f"{TEXT}more_bytes = 0\n": "more_bytes = 0 must be a number of bytes, as in 1048576",
    f"{TEXT}more_bytes = 9\n".replace("low = 1.1", ""): f"entry 1 ({NAME}) has no key low; add it",
    b"\xff\xfe": "is not valid TOML",
    b" " * (accepted._MAX_BYTES + 1): "more than",
    TEXT.replace("author", "# author"): f"entry 1 ({NAME}) has no key author; add it, or remove the entry",
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
