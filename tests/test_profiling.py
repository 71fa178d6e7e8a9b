"""`pytest --gnn-profile`: real runs."""

import json
import pstats
import re

import pytest

from gnnbench.platforms import PLATFORMS
from gnnbench.profile import record
from gnnbench.profile.kinds import KINDS
from tests.suite import SMALL, run

EPOCH = "benchmarks/test_epoch.py::test_epoch"
ON_CPU = tuple(name for name in KINDS if name != "kernels")

SUITE = """
import functools
import torch


def test_matmul(benchmark):
    found = benchmark(torch.mm, torch.ones(4, 4), torch.ones(4, 4))
    assert found.sum() == 64


def test_pedantic(benchmark):
    made, given_back = [], []

    def setup():
        made.append(torch.ones(3))
        return (made[-1],), {}

    benchmark.pedantic(torch.sum, setup=setup, teardown=given_back.append, rounds=2)
    assert [id(one) for one in made] == [id(one) for one in given_back]


def test_plain():
    pass
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def profile(folder, *arguments, **variables):
    return run(*arguments, "--gnn-profile-folder", str(folder), **variables)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """An epoch on each platform in every kind."""
    folder = tmp_path_factory.mktemp("everything") / "profiles"
    kinds = ",".join(KINDS)
    return profile(folder, EPOCH, *SMALL, "--gnn-profile", kinds, "--gnn-epochs", "2"), folder


def folders(folder):
    return sorted(path.parent for path in folder.glob("*/*/profile.json"))


def test_every_kind_on_every_platform_leaves_a_record(everything):
    result, folder = everything
    assert result.returncode == 0, result.stdout
    records = [record.read(path) for path in folders(folder)]
    assert {found["spec"]["platform"] for found in records} == set(PLATFORMS)
    for found in records:
        assert set(found["sections"]) == {*ON_CPU, "counts"}
        assert "CUDA" in found["unavailable"]["kernels"]
        assert found["repeats"] == 2
        assert found["id"] == "-".join(map(str, found["spec"].values()))
        assert dict(found["environment"]["libraries"])["torch"]


def test_artefacts_are_opened_by_their_own_readers(everything):
    for path in folders(everything[1]):
        assert pstats.Stats(str(path / "functions.prof")).total_calls > 0
        events = json.loads((path / "trace.json").read_text())["traceEvents"]
        assert any(event.get("name") == "forward" for event in events)
        assert len(list((path / "tensorboard").glob("*.pt.trace.json"))) == 1
        assert "aten::" in (path / "operators.txt").read_text()


def test_the_terminal_says_what_was_done_and_where_it_is(everything):
    result, folder = everything
    lines = result.stdout.splitlines()
    assert f"gnnbench: {len(PLATFORMS)} profiles in {folder}:" in lines
    assert "  epoch-train-pyg-float32-int64-rmat_5-8-cpu/0001" in lines
    assert re.search(r"^\[1/4\] epoch train +pyg +phases, layers, functions, ", result.stdout, re.MULTILINE)
    assert sum("kernels needs" in line for line in lines) == 1, "once, not for each benchmark"
    assert "4 workloads checked against the reference, none timed" in result.stdout


def test_what_is_wrong_is_a_failed_test_and_no_profile(tmp_path, project):
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "test_own.py").write_text(
        "import pytest\n"
        "@pytest.mark.operations('twice')\n"
        "def test_twice(case, measure):\n"
        "    measure(lambda x: 3 * x, case.features(), reference=lambda graph, x: 2 * x)\n"
    )
    found = profile(tmp_path / "p", *SMALL, "--gnn-profile", "phases", cwd=project)
    assert found.returncode == 1
    assert "output is wrong" in found.stdout
    assert folders(tmp_path / "p") == []


def test_an_exception_in_the_profiled_code_is_a_failed_test(tmp_path, suite):
    (suite / "test_suite.py").write_text(
        "import torch\n"
        "calls = []\n"
        "def work(x):\n"
        "    calls.append(x)\n"
        "    if len(calls) == 3:\n"
        "        raise ValueError('the third call')\n"
        "def test_work(benchmark):\n"
        "    benchmark(work, torch.ones(1))\n"
        "def test_after(benchmark):\n"
        "    benchmark(torch.sum, torch.ones(1))\n"
    )
    found = profile(tmp_path / "p", "--gnn-profile", "layers,functions", cwd=suite)
    assert found.returncode == 1
    assert "ValueError: the third call" in found.stdout
    assert "1 failed, 1 passed" in found.stdout
    assert [path.parent.name for path in folders(tmp_path / "p")] == ["test_suite.py_test_after"]
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["test_suite.py_test_after"]


def test_any_suite_is_profiled_and_gets_its_results(tmp_path, suite):
    found = profile(tmp_path / "p", "--gnn-profile", "functions", "--gnn-epochs=3", cwd=suite)
    assert found.returncode == 0, found.stdout
    records = {one["id"]: one for one in map(record.read, folders(tmp_path / "p"))}
    assert set(records) == {"test_suite.py::test_matmul", "test_suite.py::test_pedantic"}
    assert all(one["spec"] is None for one in records.values())
    counted = records["test_suite.py::test_matmul"]["sections"]["counts"]["operators"]
    assert [(row["name"], row["count"]) for row in counted] == [("aten::mm", 1)]


def test_only_what_is_unavailable_is_a_skip(tmp_path, suite):
    found = profile(tmp_path / "p", "--gnn-profile=kernels", "-rs", cwd=suite, CUDA_VISIBLE_DEVICES="")
    assert found.returncode == 0
    assert "2 skipped" in found.stdout
    assert "kernels needs" in found.stdout
    assert folders(tmp_path / "p") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gnn-profile", "fases"], "unknown kind of profile 'fases': there are phases, layers, functions,"),
        (["--gnn-profile", "phases", "-n", "2"], "--gnn-profile with -n"),
        (["--gnn-profile", "phases", "--gnn-epochs", "0"], "epochs '0' must be a whole number of at least 1"),
        (["--gnn-profile", "phases", "--gnn-counters"], "give --gnn-profile or --gnn-counters"),
        (["--gnn-profile", "phases", "--benchmark-compare"], "leave out --benchmark-compare"),
        (["--gnn-profile", "phases", "--gnn-profile-folder", "README.md"], "README.md cannot be written"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message):
    result = run("benchmarks", *arguments)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("ERROR: gnnbench: ")
    assert message in line
