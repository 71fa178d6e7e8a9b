import enum
from pathlib import Path

import numpy as np
import pytest

from gnnbench.measure.fingerprint import digest

Mode = enum.Enum("Mode", "FAST")
Size = type("Size", (int,), {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", b"a"),
        ([1], (1,)),
        ({1: 2}, {2: 1}),
        ({1}, {2}),
        (np.float32(1), np.float64(1)),
        (np.dtype("i4"), np.dtype("i8")),
        (range(3), range(4)),
        (Mode.FAST, 1),
        (Size(1), 1),
        (Size(1), Size(2)),
        (["a, b"], ["a", "b"]),
        (np.add, np.multiply),
    ],
)
def test_different_values_differ(one, other):
    assert None not in {digest.plain(one), digest.plain(other)}
    assert digest.plain(one) != digest.plain(other)


def test_other_objects_have_no_text():
    assert digest.plain(object()) is None
    assert digest.plain([1, object()]) is None


def test_folders_are_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert digest.plain(f"{tmp_path}/file") == "'<folder>/file'" == digest.plain(Path(tmp_path, "file"))
    assert digest.plain(f"{tmp_path}s/file") != "'<folder>s/file'"
