import shutil
import subprocess
import sys

import pytest

from gnnbench.errors import UsageError
from gnnbench.measure.instructions import hardware
from gnnbench.measure.instructions.counting import FOLDER_VARIABLE, Watched, counter_name


def test_the_processor_needs_no_other_program(tmp_path):
    watched = Watched.by(hardware.Hardware.name, tmp_path)
    assert watched.under == ()
    assert watched.environment["OMP_NUM_THREADS"] == "1"
    assert FOLDER_VARIABLE not in watched.environment


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_callgrind_writes_into_the_folder(tmp_path):
    watched = Watched.by("callgrind 3", tmp_path)
    assert watched.environment[FOLDER_VARIABLE] == str(tmp_path)
    subprocess.run(
        [*watched.under, sys.executable, "-S", "-c", ""], env=dict(watched.environment), check=True
    )
    assert (tmp_path / "valgrind.log").exists()


def test_without_a_counter(monkeypatch):
    monkeypatch.setattr(hardware, "why_not", lambda: "no counter")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UsageError, match=r"^no counter; .*: apt install valgrind, or dnf install valgrind$"):
        counter_name()
