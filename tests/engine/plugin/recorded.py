"""Suites in repositories, on the simulated machine, and their records, of whose processes one was run."""

import json
import math
import shutil
import xml.etree.ElementTree as ET

import numpy as np
from pytest_benchmark.utils import get_machine_id

from gnnbench.engine.ground import codec
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from gnnbench.engine.store.parts import BenchmarkPart, RunPart
from tests.engine.cli.saved import rows
from tests.engine.process.variants import repositories
from tests.run_files import scale
from tests.runs import run

COMPARE = "--benchmark-compare"
QUIET = {"sigma": 0.02, "drift": 0, "spike_probability": 0, "process_sigma": 0.005}


class Project:
    """A library and its suite in a git repository; the files of a run are beside it."""

    def __init__(self, folder):
        self.folder, self.saved, self.junit = folder, folder.parent / "run.json", folder.parent / "junit.xml"

    @classmethod
    def make(cls, folder, files):
        for name, text in {"pytest.ini": "[pytest]\n", **files}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        repositories.commit_all(folder, "first")
        return cls(folder)

    @classmethod
    def copy(cls, folder, to):
        """Copy a project without bytecode, which hides a change of the same size in the same second."""
        shutil.copytree(folder, to, ignore=shutil.ignore_patterns("__pycache__"))
        return cls(to)

    def git(self, *words):
        return repositories.git(self.folder, *words)

    def edit(self, before="VERSION = 1", after="VERSION = 2", file="library.py"):
        """Change a file, by default the code that a benchmark runs."""
        path = self.folder / file
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))

    def measured(self, *arguments, **variables):
        """Run pytest, and return its result, whose output has no line breaks as `text`."""
        self.saved.unlink(missing_ok=True)
        words = (*arguments, f"--benchmark-json={self.saved}", f"--junitxml={self.junit}")
        result = run(*words, cwd=self.folder, **variables)
        result.text = " ".join(result.stdout.split())
        return result

    def content(self):
        """Return the run file; without benchmarks, if there is none."""
        if not self.saved.exists():
            return {"benchmarks": [], "gnnbench": {}}
        content = json.loads(self.saved.read_text())
        for entry in content["benchmarks"] if "gnnbench" in content else ():
            codec.decode(entry["extra_info"]["gnnbench"], BenchmarkPart)
        if "gnnbench" in content:
            codec.decode(content["gnnbench"], RunPart)
        return content

    def comparisons(self):
        compared = self.content().get("gnnbench", {}).get("compared")
        found = rows(compared) if compared else {}
        return {name.rpartition("::")[2]: row for name, row in found.items()}

    def verdicts(self):
        return {name: one["verdict"] for name, one in self.comparisons().items()}

    def failures(self):
        cases = ET.parse(self.junit).getroot().iter("testcase")
        return {
            case.get("name"): failure.get("message") for case in cases for failure in case.findall("failure")
        }


def machine(folder, seed=100, noise=QUIET, base=None, **seconds):
    """Return the variable of a simulated machine with these times of benchmarks, and of the base in turns."""
    file = folder / f"truth-{len(list(folder.glob('truth-*')))}.json"
    file.write_text(json.dumps({"benchmarks": seconds, "base": base or {}, "noise": noise}))
    return {"GNNBENCH_FAKE_CLOCK": f"{seed}:{file}"}


def measure(folder, *arguments, **variables):
    """Run the suite in a folder once, and return its run file."""
    words = ("--gnn-layouts=sample", "--benchmark-json=once.json", *arguments)
    result = run(*words, cwd=folder, **variables)
    assert result.returncode == 0, result.stdout
    return json.loads((folder / "once.json").read_text())


def save(folder, content, processes=5, reason=""):
    """Save a record of so many processes, whose times differ by half a percent."""
    random = np.random.default_rng(0)
    contents = [json.loads(json.dumps(content)) for _ in range(processes)]
    for entry in (entry for one in contents for entry in one["benchmarks"]):
        scale(entry["extra_info"]["gnnbench"]["measurement"], math.exp(random.normal(0, 0.005)))
    return RecordStore(folder / FOLDER).save(contents, get_machine_id(), "first", reason)


class _Kept:
    def pytest_collection_finish(self, session):
        self.items = session.items


def collected(pytester, source, *arguments, plugins=()):
    kept = _Kept()
    pytester.makepyfile(source)
    pytester.runpytest_inprocess("--collect-only", *arguments, plugins=[kept, *plugins])
    return kept.items
