import json

import pytest

from experiments.large import sizes


def write(folder, operation, platform, graph, **found):
    file = folder / f"{operation}-{platform}-{graph.replace(':', '_')}.json"
    file.write_text(json.dumps({"key": [operation, platform, graph], **found}))


def test_the_table_says_how_cost_grows_and_what_was_refused(tmp_path):
    for scale, entries, seconds, peak in ((14, 100_000, 1e-3, 2**20), (15, 200_000, 4e-3, 2**21)):
        peaks = {"call_peak_bytes": peak, "process_peak_bytes": 2**29}
        write(tmp_path, "spmm_sum", "pyg", f"rmat:{scale}", entries=entries, seconds=seconds, **peaks)
    write(tmp_path, "spmm_sum", "pyg", "rmat:22", failed="spmm_sum needs about 30 GiB", process_peak_bytes=1)
    title, head, first, second, refused = sizes.table(tmp_path).strip().splitlines()
    assert title == "spmm_sum on pyg"
    assert head.split() == ["graph", "entries", "time", "/entry", "grows", "call", "grows", "process"]
    assert first.split() == ["rmat:14", "100,000", "1.00", "ms", "10.0", "ns", "1.0", "MiB", "512", "MiB"]
    assert second.split()[6:12] == ["^2.00*", "2.0", "MiB", "^1.00", "512", "MiB"]
    assert refused.split(maxsplit=1) == ["rmat:22", "spmm_sum needs about 30 GiB"]


def test_why_there_is_no_time():
    assert sizes._why("SKIPPED [1] a.py:3: it needs about 30 GiB", 0) == "it needs about 30 GiB"
    assert sizes._why("E   RuntimeError:  no memory\n", 1) == "RuntimeError: no memory"
    assert sizes._why("collected", -9) == "the process ended with status -9: killed for memory?"


@pytest.mark.nightly
def test_a_refusal_is_the_result(tmp_path):
    nodeid = next(
        one
        for operation, platform, one in sizes.ids("rmat:30", 32)
        if (operation, platform) == ("epoch", "pyg")
    )
    found = sizes.measured(nodeid, 32, tmp_path / "running.json")
    assert found["failed"].startswith("epoch train on rmat:30 needs about ")
    assert found["process_peak_bytes"] < 2**31
