"""On a real Slurm, where it is installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gnnbench.errors import UsageError
from gnnbench.variants import slurm as engine
from tests.suite import ROOT, gnnbench
from tests.variants.repositories import is_alive, wait_for

SUITE = """
import pytest


@pytest.mark.parametrize("number", range(8))
def test_sum(benchmark, number):
    benchmark(sum, range(number))
"""


@pytest.fixture
def suite(tmp_path):
    """Eight benchmarks."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    times = {f"test_sum[{number}]": 1e-3 for number in range(8)}
    (tmp_path / "times.json").write_text(json.dumps({"benchmarks": times}))
    return tmp_path


def test_a_shard_ends_with_what_started_it():
    """Slurm repeats a shard whose slurmstepd was killed, and would leave its processes alone."""
    command = f"{sys.executable} -m gnnbench.variants.slurm sleep 600 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, text=True) as step:
        shard = int(step.stdout.readline())
        wait_for(lambda: Path(f"/proc/{shard}/comm").read_text() == "sleep\n")
        step.kill()
        wait_for(lambda: not is_alive(shard))


def test_pytest_is_divided_too_and_the_command_waits(slurm, suite):
    words = ["--shards", "2", "-o", "run.json", "--wait", "--", "pytest", "test_suite.py", "-q"]
    clock = {"GNNBENCH_FAKE_CLOCK": f"5:{suite / 'times.json'}", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    found = gnnbench("submit", "--slurm", *words, cwd=suite, **slurm.variables, **clock)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.strip() == f"2 files, 8 benchmarks: {suite / 'run.json'}"
    assert len(json.loads((suite / "run.json").read_text())["benchmarks"]) == 8


def test_what_slurm_refuses_is_one_line(slurm, suite):
    words = ["-o", "run.json", "--sbatch=--partition=none", "--", "pytest", "test_suite.py"]
    found = gnnbench("submit", "--slurm", *words, cwd=suite, **slurm.variables)
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert line.startswith(
        "gnnbench: sbatch submitted nothing: error: Batch job submission failed: Invalid part"
    )


def test_without_sbatch_a_line_says_where_to_run(suite):
    found = gnnbench("submit", "--slurm", "-o", "a.json", "--", "pytest", "a.py", cwd=suite, PATH="/nowhere")
    assert found.returncode == 2
    assert found.stderr == "gnnbench: sbatch is not installed: run this where jobs are submitted to Slurm\n"


@pytest.mark.parametrize("command", [[], ["gnnbench", "trend", "runs"], ["make", "bench"]])
def test_a_command_that_cannot_be_divided_is_refused(tmp_path, command):
    with pytest.raises(UsageError, match="give a command that can be divided"):
        engine.submit(command, 2, tmp_path / "a.json", [], wait=False)


def test_words_of_the_command_stay_words(tmp_path):
    words = engine._divided(
        ["/opt/bin/pytest", "a b.py", "-k", "x and 'y'", "$(touch made)"], 3, tmp_path / "c d"
    )
    begin = f'{sys.executable} -P -m pytest --gnn-shard "$SLURM_ARRAY_TASK_ID"/3'
    assert words.startswith(begin)
    assert words.endswith(""" 'a b.py' -k 'x and '"'"'y'"'"'' '$(touch made)'""")
    assert f"'{tmp_path}/c d'/" in words


def test_a_shard_of_ab_gets_its_part_before_the_variants(tmp_path):
    words = engine._divided(["bin/gnnbench", "ab", "git:main", ".", "--", "test_a.py"], 4, tmp_path)
    shard = '"$SLURM_ARRAY_TASK_ID"'
    options = f"--shard {shard}/4 --json {tmp_path}/{shard}.json"
    assert words == f"{sys.executable} -P -m gnnbench ab {options} git:main . -- test_a.py"
