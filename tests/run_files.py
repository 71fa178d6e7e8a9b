"""Run files as gnnbench writes them, made without running anything."""

import json
import math
import zlib
from dataclasses import replace

import numpy as np
import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.ground.environment import Environment
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.measure.fingerprint.fingerprint import METHOD
from gnnbench.engine.measure.measurement import Measurement, Process
from gnnbench.engine.store.parts import FORMAT_VERSION

ENVIRONMENT = Environment(
    cpu="A CPU",
    architecture="x86_64",
    cores=2,
    quota_cores=None,
    memory_bytes=2**34,
    threads=2,
    wait_policy="PASSIVE",
    thread_settings=(),
    governor="",
    boost=None,
    huge_pages="madvise",
    allocator="",
    openmp="",
    system="Linux 6",
    gpu=None,
    python="3.11.7",
    libraries=(("torch", "2.13.0"),),
    commit="a" * 40,
    dirty=False,
)
MACHINE = {
    "system": "Linux",
    "machine": "x86_64",
    "python_implementation": "CPython",
    "python_version": "3.11.7",
    "cpu": {"brand_raw": "A CPU", "arch": "X86_64", "count": 2},
}


def entry(name, milliseconds=1.0, *, seed=0, blocks=60, **changes):
    """Return a benchmark's record with so many blocks of three rounds."""
    random = np.random.default_rng([seed, *name.encode()])
    times = (milliseconds * 1e6 * np.exp(random.normal(0, 0.02, (blocks, 3)))).round(1).tolist()
    measured = Measurement("fake", "one", "the arguments have no tensors", stopped_by="time")
    measured.processes = [Process(times)]
    ours = {"version": FORMAT_VERSION, "measurement": measured.as_json(), **changes}
    names = {"fullname": f"test_a.py::{name}", "name": name}
    return {**names, "extra_info": {"gnnbench": ours}, "stats": {"median": milliseconds / 1e3}}


def scale(measurement, factor):
    for process in measurement["processes"]:
        process["blocks_ns"] = [[time * factor for time in block] for block in process["blocks_ns"]]


def fingerprint(*, threads="2", **functions):
    """Return a saved fingerprint: names of functions with one digit that stands for their code."""
    code = {f"suite:{name}": str(version) * 16 for name, version in functions.items()}
    return {
        "method": METHOD,
        "code": f"{zlib.crc32(json.dumps(code).encode()):016x}",
        "settings": threads.zfill(16),
        "functions": code,
        "values": {},
        "libraries": {"python": "0" * 16},
        "work": {"calls": "0" * 16},
        "set_to": {"threads": threads},
    }


def content(*entries, **environment):
    here = codec.encode(replace(ENVIRONMENT, **environment))
    tree = {"path": ".", "commit": here["commit"], "changed_files": int(bool(here["dirty"]))}
    packages = {name: {"version": version} for name, version in here["libraries"]}
    sources = {
        "python": ".".join(here["python"].split(".")[:2]),
        "trees": [{**tree, "packages": ["suite"], "compiled": False}],
        "packages": packages,
    }
    ours = {"version": FORMAT_VERSION, "environment": here, "sources": sources, "incomplete": []}
    about = {"machine_info": MACHINE, "commit_info": {"id": "a" * 40}, "version": "5.1.0"}
    return {**about, "benchmarks": list(entries), "gnnbench": ours}


def suite(seed, *, benchmarks=6, factor=1.0, deviation=0.01, **environment):
    """Return the run file of a process: benchmark `b0` takes a millisecond, `b1` two; `b0` times a factor."""
    random = np.random.default_rng(seed)
    factors = np.exp(random.normal(0, deviation, benchmarks))
    factors[0] *= factor
    entries = (entry(f"b{number}", (number + 1) * factors[number], seed=seed) for number in range(benchmarks))
    return content(*entries, **environment)


def plain(seed, *, data=True):
    random = np.random.default_rng(seed)
    entries = []
    for number in range(4):
        times = np.exp(random.normal(math.log(1e-3), 0.05, 200) + random.normal(0, 0.01)).tolist()
        stats = {"median": float(np.median(times)), **({"data": times} if data else {})}
        entries.append({"fullname": f"test_p.py::p{number}", "extra_info": {}, "stats": stats})
    about = {"machine_info": MACHINE, "commit_info": {"id": "b" * 40}, "version": "5.1.0"}
    return {**about, "benchmarks": entries}


def save(folder, *contents):
    paths = []
    for one in contents:
        paths.append(folder / f"run-{len(list(folder.glob('run-*')))}.json")
        paths[-1].write_text(json.dumps(one))
    return paths


def refusal(read, path):
    """Return the line with which a function refuses to read a file."""
    with pytest.raises(UsageError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message
