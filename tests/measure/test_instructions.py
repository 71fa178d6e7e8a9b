import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gnnbench.engine.measure import callgrind, instructions
from gnnbench.engine.measure.callgrind import Taken
from gnnbench.engine.measure.instructions import FOLDER_VARIABLE, Instructions
from gnnbench.engine.measure.seam import Pedantic


@pytest.fixture
def take(tmp_path):
    """Return a function that counts calls, of which each executes what is given; no file is left."""

    def take(*totals, calls=None):
        remaining = iter(totals)

        def count(call):
            call()
            file, total = tmp_path / "out.1", next(remaining)
            file.write_text(f"totals: {total}\n")
            return Taken(total, str(file))

        counter = SimpleNamespace(begin=lambda: None, count=count)
        answer = instructions.take(calls or Pedantic(sorted, ([2, 1],), {}), counter)
        return answer["totals"], Instructions.read(answer)

    yield take
    assert list(tmp_path.iterdir()) == []


def test_calls_until_two_agree(take):
    totals, found = take(2000, 1500, 1000, 1000, 7)
    assert totals == [2000, 1500, 1000, 1000]
    assert found.total == 1000


def test_calls_that_never_agree(take):
    totals, found = take(*range(1000, 3000, 100))
    assert len(totals) == 8
    assert found.total == 1700
    assert found.spread == 100 / 1700


def test_set_up_and_tear_down_of_each_call(take):
    seen = []
    calls = Pedantic(
        lambda one: seen.append(f"call {one}"),
        (),
        {},
        setup=lambda: seen.append("set up") or ((1,), {}),
        teardown=lambda one: seen.append(f"tear down {one}"),
    )
    take(5, 5, calls=calls)
    assert seen == ["set up", "call 1", "tear down 1"] * 22


def test_small_functions_are_left_out(tmp_path):
    file = tmp_path / "out.1"
    file.write_text("ob=(1) /usr/lib/libc.so.6\nfn=(1) a\n0 9000\n\nfn=(2) b\n0 99900\n\nfn=(3) c\n0 1\n")
    found = Instructions.read({"totals": [105_001, 108_901], "file": str(file)})
    assert found.functions == {"libc:b": 99_900, "libc:a": 9000}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_callgrind_writes_into_the_folder(tmp_path):
    environment = instructions.variables(tmp_path)
    assert environment[FOLDER_VARIABLE] == str(tmp_path)
    assert environment["OMP_NUM_THREADS"] == "1"
    command = [*callgrind.command(tmp_path), sys.executable, "-S", "-c", ""]
    subprocess.run(command, env=environment, check=True)
    assert (tmp_path / "valgrind.log").exists()
