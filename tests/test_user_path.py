from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.files import user_path


def test_a_tilde_is_a_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert user_path("~/runs") == Path("/home/me/runs")
    assert user_path("runs/~") == Path("runs/~")


def test_a_home_of_nobody_is_a_line():
    with pytest.raises(
        UsageError, match=r"^~no-such-user/x: there is no such home folder; write the whole path$"
    ):
        user_path("~no-such-user/x")
