import json
import os
import pty
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.spec import Spec
from tests import nvml
from tests.suite import ROOT, SHORT, SMALL, environment, pytest_on_cpu, run, run_kernels


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory):
    """The suite on a small graph: what it printed, and its JSON. What starts processes takes long."""
    saved = tmp_path_factory.mktemp("whole") / "run.json"
    words = pytest_on_cpu(
        "benchmarks",
        "--gnn-all",
        "-k",
        "not cold and not ddp",
        *SMALL,
        *SHORT,
        "-rs",
        f"--benchmark-json={saved}",
    )
    # As a user starts it: it sets what OpenMP reads, and imports every library, itself.
    result = subprocess.run(
        words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    return result, json.loads(saved.read_text())


def test_every_cell_runs_or_is_a_skip_that_says_why(whole_run):
    result, saved = whole_run
    assert result.returncode == 0, result.stdout
    measured = {(b["params"]["operation"], b["params"]["platform"]) for b in saved["benchmarks"]}
    assert {(name, platform) for name, platform in measured if name in OPERATIONS} == {
        (name, platform)
        for name, row in OPERATIONS.items()
        if not row.relational
        and not row.batched
        and not name.startswith("cold")
        and name not in ("epoch_ddp", "conv_new_layer")
        for platform, call in row.calls.items()
        if not call.one_of or any(find_spec(package) for package in call.one_of)
    }
    reasons = {
        reason
        for name, operation in OPERATIONS.items()
        if "cold" not in name and name not in ("epoch_ddp", "conv_new_layer")
        for reason in operation.absent.values()
    }
    unfolded = " ".join(result.stdout.split())
    assert [reason for reason in reasons if " ".join(reason.split()) not in unfolded] == []


def test_operations_with_relations_run_on_a_graph_with_relations_only(tmp_path):
    saved = tmp_path / "run.json"
    words = ("--gnn-dataset", "rmat:5,aifb:synthetic@0.05", "--gnn-hidden", "8", *SHORT, "-rs")
    files = ("benchmarks/test_hetero.py", "benchmarks/test_rgcn_conv.py")
    result = run_kernels(*files, *words, f"--benchmark-json={saved}")
    assert result.returncode == 0, result.stdout
    measured = [one["extra_info"]["gnnbench"] for one in json.loads(saved.read_text())["benchmarks"]]
    assert {one["spec"]["dataset"] for one in measured} == {"aifb:synthetic@0.05"}
    assert {(one["spec"]["operation"], one["spec"]["platform"]) for one in measured} == {
        (name, platform) for name, row in OPERATIONS.items() if row.relational for platform in row.calls
    }
    assert all(one["measurement"]["not_copied"] == one["counters"]["unsteady"] == [] for one in measured)
    unfolded = " ".join(result.stdout.split())
    assert "rmat:5 has one relation: use --gnn-dataset aifb" in unfolded


def test_operations_on_batches_run_on_small_graphs_only(tmp_path):
    saved = tmp_path / "run.json"
    words = ("--gnn-dataset", "rmat:5,molecules:4", "--gnn-hidden", "8", *SHORT, "-rs")
    files = [f"benchmarks/test_{name}.py" for name in ("batch", "pool", "epoch_gin")]
    result = run_kernels(*files, *words, "--gnn-all", f"--benchmark-json={saved}")
    assert result.returncode == 0, result.stdout
    measured = [one["extra_info"]["gnnbench"] for one in json.loads(saved.read_text())["benchmarks"]]
    assert {one["spec"]["dataset"] for one in measured} == {"molecules:4"}
    assert {(one["spec"]["operation"], one["spec"]["platform"]) for one in measured} == {
        (name, platform) for name, row in OPERATIONS.items() if row.batched for platform in row.calls
    }
    assert all(one["measurement"]["not_copied"] == one["counters"]["unsteady"] == [] for one in measured)
    assert "rmat:5 is one graph, not many: use --gnn-dataset molecules:10" in " ".join(result.stdout.split())


def test_run_file_follows_the_schema_and_the_test_id_is_the_spec(whole_run):
    schema = json.loads((ROOT / "gnnbench/schemas/run.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for benchmark in whole_run[1]["benchmarks"]:
        ours = benchmark["extra_info"]["gnnbench"]
        validator.validate(ours)
        assert benchmark["param"] == Spec(**ours["spec"]).id
        assert ours["graph"]["synthetic"]
        assert "UNSERIALIZABLE" not in json.dumps(benchmark)
        blocks = ours["measurement"]["processes"][0]["blocks_ns"]
        assert sum(map(len, blocks)) == benchmark["stats"]["rounds"]
    whole = {"$ref": "#/$defs/file", "$defs": schema["$defs"]}
    jsonschema.validate(whole_run[1]["gnnbench"], whole)


def test_what_was_measured_of_the_suite_is_copied_but_for_a_recorded_graph(whole_run):
    """Whatever the suite hands over is of a type that is known, so that no layout is shared by mistake."""
    measured = {b["name"]: b["extra_info"]["gnnbench"]["measurement"] for b in whole_run[1]["benchmarks"]}
    assert {name for name, found in measured.items() if found["not_copied"]} == set()
    in_place = {
        (name.partition("[")[2].partition("-")[0], found["in_place"])
        for name, found in measured.items()
        if found["in_place"]
    }
    loaders = {name for name in OPERATIONS if name.startswith("neighbor_loader")}
    assert in_place == {
        ("epoch_backward", "its autograd graph cannot be copied"),
        ("epoch_sage_batches", "a loader has its graph in a form of its own"),
        *((name, "a loader's batches may come from worker processes") for name in loaders),
    }


def test_each_kind_of_benchmark_has_its_limit_memory_and_counters(whole_run):
    for benchmark in whole_run[1]["benchmarks"]:
        ours = benchmark["extra_info"]["gnnbench"]
        operation = ours["spec"]["operation"]
        known = OPERATIONS.get(operation)
        assert (ours["limit"] is None) == (known is None or known.least_work is None)
        assert "counters" not in ours or ours["counters"]["unsteady"] == []
        if not operation.startswith("harness") and not ours["measurement"]["whole_call"]:
            counts = ours["counters"]["counts"]
            # DGL converts formats without any operator of torch.
            assert counts["operators"] or counts["library_calls"]
            # METIS works in DGL's memory; torch makes an empty tensor.
            if operation != "metis_partition":
                memory = ours["counters"]["details"]["memory"]
                assert not counts["operators"] or memory["peak_bytes"] > 0


def test_whole_run_shows_header_progress_and_table(whole_run):
    result, saved = whole_run
    count = len(saved["benchmarks"])
    assert "OMP_WAIT_POLICY=PASSIVE" in result.stdout
    assert re.search(r"gnnbench: cpu, .+ threads on \d+ cores", result.stdout)
    assert "torch 2." in result.stdout
    # What needs relations is skipped when the graph is there, so it has a line.
    (planned,) = map(int, re.findall(r"^gnnbench: (\d+) benchmarks take about ", result.stdout, re.MULTILINE))
    numbers = [int(n) for n in re.findall(rf"^\[ *(\d+)/{planned}\] ", result.stdout, re.MULTILINE)]
    assert numbers == list(range(1, planned + 1))
    assert f"{count} benchmarks checked against the reference, {count} timed" in result.stdout
    assert re.search(r"^spmm_sum +fwd +pyg +[\d.]+ [mµn]?s +", result.stdout, re.MULTILINE)
    table = result.stdout.partition("operation ")[2].partition("gnnbench:")[0]
    rows = [line for line in table.splitlines() if ": " not in line]  # in a pipe, notes are whole
    assert max(map(len, rows)) <= 80


def test_collecting_is_light():
    script = (
        "import sys, pytest\n"
        "status = pytest.main(['benchmarks', '--collect-only', '-q', '-p', 'no:cacheprovider'])\n"
        "heavy = {'torch', 'dgl', 'ogb', 'torch_geometric', 'scipy'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy), int(status))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "HEAVY [] 0" in found.stdout


def test_core_is_a_few_dozen():
    listed = run("benchmarks", "--collect-only", "-q", "-m", "core").stdout
    assert 12 <= len(re.findall("^benchmarks/", listed, re.MULTILINE)) <= 80


def test_parallel_run_checks_everything_times_nothing_and_says_so():
    result = run_kernels("benchmarks", *SMALL, "--gnn-platform", "torch", "-n", "2", "-k", "spmm")
    assert result.returncode == 0, result.stdout
    assert re.search(r"gnnbench: \d+ benchmarks checked against the reference, none timed", result.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gnn-dataset", "kora"], "unknown dataset 'kora': did you mean cora?"),
        (["--gnn-platform", "pgy"], "unknown platform 'pgy': did you mean pyg?"),
        (["--gnn-dtype", "float23"], "unknown dtype 'float23': did you mean float32"),
        (["--gnn-index-dtype", "int23"], "unknown index dtype 'int23': did you mean int32"),
        (["--gnn-device", "gpu"], "unknown device 'gpu'"),
        (["--gnn-hidden", "0"], "hidden width '0' must be a whole number"),
        (["--gnn-data", "nowhere"], "data folder nowhere does not exist"),
        (["--gnn-dataset", "missing.mtx"], "missing.mtx: there is no such file"),
        (["--gnn-dataset", "citeseer", "--gnn-real"], "citeseer is not in the data folder"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, tmp_path):
    result = run("benchmarks", *arguments, GNNBENCH_CACHE=str(tmp_path))
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: gnnbench: {message}" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr


def test_wrong_usage_is_one_line_in_a_parallel_run_too():
    result = run("benchmarks", "--gnn-dataset", "kora", "-n", "2")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.strip() == "ERROR: gnnbench: unknown dataset 'kora': did you mean cora?"


def test_no_gpu_is_one_line():
    result = run("benchmarks", "--gnn-device", "cuda", CUDA_VISIBLE_DEVICES="")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "device 'cuda' was asked for, but CUDA_VISIBLE_DEVICES hides every GPU; use cpu" in result.stderr


def test_a_broken_file_is_one_line(tmp_path):
    file = tmp_path / "broken.mtx"
    file.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n")
    result = run_kernels("benchmarks", "--gnn-dataset", str(file), "-k", "spmm_sum and torch")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.stdout.splitlines() if "gnnbench: " in line and "broken.mtx:" in line]
    assert len(lines) == 1
    assert "Traceback" not in result.stdout + result.stderr
    parallel = run_kernels("benchmarks", "--gnn-dataset", str(file), "-k", "spmm_sum and torch", "-n", "1")
    assert parallel.returncode == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in parallel.stdout + parallel.stderr
    assert "broken.mtx:" in parallel.stdout


def test_a_platform_that_is_not_installed_is_a_skip_with_the_command():
    script = (
        "import sys, importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda name, *rest: None if name == 'dgl' else find(name, *rest);"
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    )
    arguments = [
        "benchmarks",
        *SMALL,
        *SHORT,
        "-rs",
        "-k",
        "spmm_sum and forward and dgl",
        "-p",
        "no:cacheprovider",
    ]
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "dgl is not installed: pip install 'gnnbench[dgl]'" in result.stdout
    assert "skipped" in result.stdout


def test_without_data_or_network_the_twin_is_used_and_said(tmp_path):
    result = run_kernels(
        "benchmarks", *SHORT, "--gnn-dataset", "cora", "--gnn-hidden", "4", "-k", "spmm_sum and torch",
        GNNBENCH_CACHE=str(tmp_path),
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert (
        "cora is not in the data folder and cannot be downloaded: using its synthetic stand-in"
        in result.stdout
    )
    assert "gnnbench: synthetic data: cora:synthetic" in result.stdout


def test_a_kernel_that_does_less_fails_with_the_largest_error_and_is_not_timed(tmp_path):
    (tmp_path / "test_less.py").write_text(
        "import pytest\n"
        "@pytest.mark.operations('lazy_sum')\n"
        "def test_lazy(case, measure, reference):\n"
        "    lazy = lambda edge_index, x: x\n"
        "    measure(lazy, case.edge_index(), case.features(), reference=reference.spmm_sum)\n"
    )
    result = run_kernels(*SMALL, *SHORT, "--benchmark-json=run.json", "-p", "no:randomly", cwd=tmp_path)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert re.search(
        r"lazy_sum-forward-torch-\S+: output is wrong: largest error \S+ at \(\d+, \d+\)", result.stdout
    )
    assert "Traceback" not in result.stdout
    assert not (tmp_path / "run.json").exists() or not (tmp_path / "run.json").read_text()


def test_the_readme_s_kernel_runs_and_is_short(tmp_path):
    code = re.search(r"```python\n(.+?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    assert len(code[1].splitlines()) <= 25
    (tmp_path / "test_mine.py").write_text(code[1])
    result = run_kernels(*SMALL, *SHORT, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    assert "gnnbench: 2 benchmarks checked against the reference, 2 timed" in result.stdout


def test_pytest_benchmark_s_own_tools_work(tmp_path):
    only = (
        "benchmarks",
        *SMALL,
        *SHORT,
        "-k",
        "spmm_sum and torch and not thread",
        f"--benchmark-storage=file://{tmp_path}",
    )
    assert run_kernels(*only, "--benchmark-autosave").returncode == 0
    compared = run_kernels(*only, "--benchmark-compare", f"--benchmark-histogram={tmp_path}/picture")
    assert compared.returncode == 0
    assert "(NOW)" in compared.stdout
    assert "(0001_" in compared.stdout
    assert len(list(tmp_path.glob("picture*.svg"))) == 1
    listed = subprocess.run(
        [Path(sys.executable).with_name("pytest-benchmark"), "--storage", f"file://{tmp_path}", "compare",
         "--group-by=param:platform"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert re.search("benchmark 'platform=.?torch", listed.stdout)


def test_a_terminal_of_80_columns_sees_what_runs_in_lines_that_fit():
    main, other = pty.openpty()
    process = subprocess.Popen(
        [*pytest_on_cpu("benchmarks", *SMALL, *SHORT), "--gnn-platform", "pyg", "-k", "spmm and not thread"],
        cwd=ROOT, env=environment(COLUMNS="80", TERM="xterm"), stdout=other, stderr=other,
    )  # fmt: skip
    os.close(other)
    seen = b""
    while True:
        try:
            seen += os.read(main, 65536)
        except OSError:  # the other end is closed
            break
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen.decode())
    assert "] spmm_sum            f+b     pyg    …" in text
    ours = [line.rpartition("\r")[2] for line in text.split("\r\n") if line.lstrip("\r").startswith("[")]
    assert ours
    assert all(len(line.rstrip()) <= 80 for line in ours)


def test_a_stranger_s_suite_is_left_alone(tmp_path):
    (tmp_path / "test_plain.py").write_text("def test_plain(benchmark):\n    benchmark(sum, range(9))\n")
    result = run(*SHORT, cwd=tmp_path)
    assert result.returncode == 0
    assert "benchmark: 1 tests" in result.stdout
    assert "gnnbench:" not in result.stdout


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('"spmm_sum", core=True', "operation 'spmm_sum' is gnnbench's own: give yours another name"),
        ('"mine", platforms=["pgy"]', "operation 'mine': unknown platform 'pgy'"),
        ('"mine", platfroms=["pyg"]', "unexpected keyword argument 'platfroms'"),
    ],
)
def test_a_mistake_in_the_marker_is_one_line(tmp_path, marker, message):
    (tmp_path / "test_mine.py").write_text(
        f"import pytest\n@pytest.mark.operations({marker})\ndef test_mine(case):\n    pass\n"
    )
    result = run(*SMALL, cwd=tmp_path)
    assert result.returncode == pytest.ExitCode.INTERRUPTED
    assert sum(message in line for line in result.stdout.splitlines()) == 1
    assert "gnnbench: test_mine: " in result.stdout
    assert "Traceback" not in result.stdout


def test_a_data_folder_that_is_gone_stops_the_suite_and_nobody_else(tmp_path):
    result = run("benchmarks", GNNBENCH_DATA=str(tmp_path / "gone"))
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: gnnbench: data folder" in result.stderr
    (tmp_path / "test_plain.py").write_text("def test_plain():\n    pass\n")
    gone = environment(GNNBENCH_DATA=str(tmp_path / "gone"))
    subprocess.run([sys.executable, "-m", "pytest"], cwd=tmp_path, env=gone, check=True)


def test_help_is_shown_where_the_plugin_is_installed(tmp_path):
    result = run("--help", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Default: 2%." in " ".join(result.stdout.split())


def test_a_chosen_gpu_is_the_one_that_cuda_means(monkeypatch, pytester):
    nvml.install(monkeypatch)
    chosen = []
    monkeypatch.setattr("torch.cuda.set_device", chosen.append)
    pytester.makepyfile("def test_plain():\n    pass\n")
    assert pytester.inline_run("--gnn-device=cuda:1", *SMALL).ret == 0
    assert chosen == [1]


def test_thresholds_of_pytest_benchmark_are_refused_beside_our_verdicts(pytester):
    pytester.mkdir("baselines")
    pytester.makepyfile("def test_plain():\n    pass\n")
    words = ("--benchmark-compare", "--benchmark-compare-fail=mean:5%")
    result = pytester.runpytest_inprocess(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if "gnnbench" in line)
    assert "--benchmark-compare-fail works with pytest-benchmark's comparison only" in line
    assert "--gnn-effect" in line
