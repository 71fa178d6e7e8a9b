from gnnbench.engine.store import baseline, run_file
from tests.run_files import content, entry, plain, save, suite


def with_checkout(**changes):
    tree = {"commit": "b" * 40, "changed_files": 0, "packages": ["torch_geometric"], "compiled": False}
    trees = [{**tree, "path": "."}, {**tree, "path": "../pyg", **changes}]
    content = suite(1)
    content["gnnbench"]["sources"] = {"python": "3.11", "trees": trees, "packages": {}}
    return content


def test_what_gnnbench_did_not_time_is_left_out(tmp_path):
    whole, others = suite(1), plain(1)["benchmarks"]
    whole["benchmarks"] += [*others, entry("b0", 50.0)]
    plain_run, mixed = (run_file.read(path) for path in save(tmp_path, content(*others), whole))
    found = baseline.only_measured(mixed)
    assert list(found.benchmarks) == [f"test_a.py::b{number}" for number in range(6)]
    assert baseline.mismatch([found]) is None
    assert "run without --gnn-layouts off" in baseline.mismatch([baseline.only_measured(plain_run)])


def test_what_is_unfit_says_why(tmp_path):
    def reason(*contents):
        return baseline.mismatch([run_file.read(path) for path in save(tmp_path, *contents)])

    good = suite(1)
    cut = suite(1)
    cut["gnnbench"]["incomplete"] = [{"fullname": "test_a.py::b9", "error": "OOM", "measurement": None}]
    assert reason(good, suite(2)) is None
    assert reason(cut) == "test_a.py::b9 was interrupted"
    assert reason(content()) == "no benchmark was timed"
    assert "gnnbench did not time the benchmarks" in reason(plain(1))
    assert reason(suite(1, dirty=True)) == "tracked files of this project have uncommitted changes"
    assert reason(with_checkout(changed_files=2)) == "tracked files of ../pyg have uncommitted changes"
    assert "another commit" in reason(with_checkout(), with_checkout(commit="c" * 40))
    assert reason(good, suite(2, threads=1)) == "the environment changed during the recording: threads"
    assert "another commit" in reason(good, suite(2, commit="b" * 40))
    assert reason(good, suite(2, benchmarks=5)) == "test_a.py::b5 is missing in some processes"


def test_times_that_other_programs_disturbed_are_marked_and_counted(tmp_path):
    def runs(*disturbed):
        """Return a run for each argument: the numbers of its benchmarks with contention."""
        files = [suite(seed) for seed in range(len(disturbed))]
        for file, numbers in zip(files, disturbed, strict=True):
            for number in numbers:
                measurement = file["benchmarks"][number]["extra_info"]["gnnbench"]["measurement"]
                measurement["contention_share"] = 0.4
        return [run_file.read(path) for path in save(tmp_path, *files)]

    assert baseline.contention_note(runs([], [])) is None
    used = "other programs used up to 40% of the CPU time"
    times = "the times of 2 benchmarks are saved, but not compared"
    assert baseline.contention_note(runs([], [2], [2, 3])) == f"{used}: {times}"
