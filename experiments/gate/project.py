"""A suite in its own git repository, with its records and verdicts, for runs.py and versions.py."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gnnbench.engine.store.baseline import FOLDER, RecordStore

SUITES = Path(__file__).with_name("suites")
NOT_JUDGED = {"verdict": "incomparable", "reason": "not judged", "ratio": None, "same_code": False}
_IDENTITY = ("-c", "user.name=gnnbench", "-c", "user.email=gnnbench@example.org")
_GNNBENCH = "import sys; from gnnbench.engine.cli.main import main; sys.exit(main())"


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    command = ["git", *_IDENTITY, *words]
    subprocess.run(command, cwd=folder, check=True)


def make(suite: str, folder: Path) -> None:
    """Copy a suite into a new repository with one commit, tagged `first`, unless the folder exists."""
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(SUITES / suite, unfinished, ignore=shutil.ignore_patterns("__pycache__"))
    (unfinished / ".gitignore").write_text("__pycache__\n*.egg-info\n", encoding="utf-8")
    git(unfinished, "init", "--quiet")
    git(unfinished, "add", ".")
    git(unfinished, "commit", "--quiet", "--message", "first")
    git(unfinished, "tag", "first")
    unfinished.rename(folder)


def record(folder: Path, python: str) -> None:
    """Record a project's benchmarks with an interpreter and default options, unless there is a record."""
    if not RecordStore(folder / FOLDER).records():
        log = folder.with_name(f"{folder.name}.record.txt")
        if _call([python, "-P", "-c", _GNNBENCH, "baseline", "record", "--", "benchmarks"], folder, log):
            raise SystemExit(f"nothing was recorded: see {log}")


def judge(folder: Path, python: str, log: Path, words: Sequence[str] = ()) -> dict[str, Any]:
    """Run `pytest benchmarks --benchmark-compare WORDS`; return exit status, seconds and verdicts."""
    saved = log.resolve().with_suffix(".run.json")
    saved.unlink(missing_ok=True)
    start = time.monotonic()
    suite = ["-m", "pytest", "benchmarks", "--benchmark-compare", f"--benchmark-json={saved}"]
    status = _call([python, *suite, *words], folder, log)
    seconds = time.monotonic() - start
    if not saved.exists():
        raise SystemExit(f"pytest ended with {status} and saved nothing: see {log}")
    found = verdicts(json.loads(saved.read_text(encoding="utf-8")))
    saved.unlink()
    return {"status": status, "seconds": seconds, "verdicts": found}


def verdicts(run_file: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the comparison with the record that a run file has, by the name of the test without `test_`."""
    rows = run_file["gnnbench"].get("compared", {"comparison": {"rows": []}})["comparison"]["rows"]
    judged = {row["fullname"]: row["judgement"] for row in rows}
    return {
        entry["name"].removeprefix("test_"): judged.get(entry["fullname"], NOT_JUDGED)
        for entry in run_file["benchmarks"]
    }


def _call(command: Sequence[str], folder: Path, log: Path) -> int:
    """Run a command as docs/measurement.md asks of a suite without settings; return its exit status."""
    variables = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    with log.open("w", encoding="utf-8") as output:
        return subprocess.run(
            command, cwd=folder, env=variables, check=False, stdout=output, stderr=subprocess.STDOUT
        ).returncode
