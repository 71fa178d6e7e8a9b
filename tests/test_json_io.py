import math

import pytest

from gnnbench.engine.ground import codec, json_io
from gnnbench.engine.ground.codec import Positive
from gnnbench.engine.ground.errors import UsageError


def test_a_time_is_a_number_within_reason_and_is_returned_as_a_float():
    for value in (True, None, "\u202e\n" * 100, [[1]], 10**401, math.inf, math.nan, 0, -1, 1e18, 1e-18):
        with pytest.raises(ValueError, match=r"\$: (expected|number)") as caught:
            codec.decode(value, Positive)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 80
    for value in (1, 1e-17, 1e17, 10**17):
        found = codec.decode(value, Positive)
        assert isinstance(found, float)
        assert found == value


def test_what_is_nested_too_deep_is_refused(tmp_path):
    path = tmp_path / "deep.json"
    for text in ("[" * 200_000, '{"version": 1, "counters": ' + "[" * 200_000 + "]" * 200_000 + "}"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"deep\.json: not JSON, or cut off: "):
            json_io.read(path, "save it again")


def test_a_reason_that_quotes_the_file_is_short(tmp_path):
    path = tmp_path / "run.json"
    with pytest.raises(UsageError, match="xxx\\.\\.\\.; save it again") as caught:
        json_io.refuse(path, "x" * 10_000, "save it again")
    assert len(str(caught.value)) < 400 + len(str(path))
