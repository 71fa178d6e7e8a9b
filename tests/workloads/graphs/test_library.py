import socket
import sys

import pytest

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.catalog import DATASETS
from gnnbench.workloads.graphs.library import tamed


def test_prints_and_questions_stay_inside(capsys: pytest.CaptureFixture[str]) -> None:
    with tamed(DATASETS["cora"], None, "y"):
        sys.stdout.write("noise")
        sys.stderr.write("noise")
        assert input("download? ") == "y"
        assert socket.getdefaulttimeout() is not None
    assert capsys.readouterr() == ("", "")
    assert socket.getdefaulttimeout() is None


def test_an_exception_becomes_one_line() -> None:
    failure = pytest.raises(UsageError, match=r"^cora: the download failed \(first\); use cora:synthetic")
    with failure, tamed(DATASETS["cora"], None, "y"):
        raise OSError("first\nsecond")
    assert socket.getdefaulttimeout() is None
