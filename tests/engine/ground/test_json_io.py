import pytest

from gnnbench.engine.ground import json_io
from gnnbench.engine.ground.errors import UsageError


def test_what_is_nested_too_deep_is_refused(tmp_path):
    path = tmp_path / "deep.json"
    for text in ("[" * 200_000, '{"version": 1, "counters": ' + "[" * 200_000 + "]" * 200_000 + "}"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"deep\.json: not valid JSON, or truncated: "):
            json_io.read(path, "save it again")


def test_a_reason_that_quotes_the_file_is_short(tmp_path):
    path = tmp_path / "run.json"
    with pytest.raises(UsageError, match="xxx\\.\\.\\.; save it again") as caught:
        json_io.refuse(path, "x" * 10_000, "save it again")
    assert len(str(caught.value)) < 400 + len(str(path))
