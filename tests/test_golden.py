"""What the commands print and write for saved results, and for runs on the simulated clock.

Each file in tests/golden is of one input, and names the commands that are run on it, in order. This writes
anew what they do; to add a command, write its line to a file first, as those that are there:

    GOLDEN=write pytest tests/test_golden.py
"""

import difflib
import io
import json
import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gnnbench import __version__
from gnnbench.engine.cli import main
from gnnbench.engine.show.lines import IN_A_PIPE
from tests import saved_files as files
from tests.engine.drive.bisect import histories
from tests.engine.process.variants.repositories import commit_all, git, without_settings
from tests.engine.process.workers import clean, machine
from tests.run_files import save, scale, suite
from tests.runs import run
from tests.sampling import nightly

FOLDER = Path(__file__).parent / "golden"
LINES = ("h1", "h2", "h3", "p", "tr", "li", "figure", "figcaption", "summary", "pre")
REPLACEMENTS = {
    r"\x1b\[[0-9;?]*[A-Za-z]": "",
    re.escape(__version__): "VERSION",
    r"^gnnbench: .+(?:\n  .+)*?\s+\(\d+\s+s[^)]*\)\n": "",
    r"(\d+\.\d{6,})": lambda number: f"{float(number[0]):.6g}",
    r"(; |\(|\.py: |^)\d+(\.\d+)? m?s(?=[):*\n])": r"\1TIME",
    r"=* (.+ in )\d+\.\d+s =*": r"\1TIME",
    r'(?<="seconds": )[\d.]+': "TIME",
    r"(?<=, on `)[^`]+": "CPU",
    r"(\w\.\w+: )[\d.]+ (B|KiB|MiB)$": r"\1SIZE",
    r'^( +)"environment": (null|\{(\n\1 .*)+\n\1\}),?\n': "",
    r"(?<=^gnnbench: a process pair takes at least ).+": "TIME",
    r" +$": "",
}
HERE = {r"\b[\w.-]+_[0-9a-f]{8}\b": "ENVIRONMENT"}
INSTALLED = {
    r"(?s)^\w+: [^\n]* not installed:.*?\n(?=\n)": "",
    r"(yes|no)$": "",
    # A new operation changes no other line.
    r"(?s)^(aggregation\n[^\n]*\n).*?(?=^gnnbench list OPERATION)": r"\1  ...\n",
}


def processes():
    """Write runs of several processes a side: one benchmark is slower, one faster, one ignored by a rule."""
    for side, seeds, factor in (("base", range(3), 1.0), ("head", range(3, 6), 1.4)):
        contents = [suite(seed, factor=factor) for seed in seeds]
        for run_file in contents:
            for number, times in ((1, 1 / factor), (2, factor)):
                scale(run_file["benchmarks"][number]["extra_info"]["gnnbench"]["measurement"], times)
        Path(side).mkdir()
        save(Path(side), *contents)
    Path("gnnbench.toml").write_text('[[rules]]\nbenchmarks = "*b2"\nignore = "known"\n')


def repository():
    """Make a repository whose newest of three commits makes one of two benchmarks slower by 15 %."""
    Path("test_suite.py").write_text(histories.SUITE)
    Path(".gitignore").write_text("*.json\n*.md\n*.html\n.cache\n__pycache__\nbaselines\n")
    for number, milliseconds in enumerate((1.0, 1.0, 1.15)):
        Path("thing.py").write_text(histories.content(number, milliseconds))
        commit_all(Path(), f"change {number}")
        git(".", "tag", f"v{number}")


INPUTS = {
    "run": files.runs,
    "run of pytest-benchmark": files.plain_runs,
    "processes": processes,
    "shard": files.shards,
    "record": files.records,
    "ab": files.results_of_ab,
    "compare": files.results_of_compare,
    "compare --by": files.results_of_compare_by,
    "watch": files.states_of_watch,
    "regret": files.regrets,
}
"""What writes the input to the current folder, by the names of files; for all others it is `repository`."""


class Terminal(io.StringIO):
    """A terminal, as wide as COLUMNS says."""

    def isatty(self):
        return True


class Page(HTMLParser):
    """What can be read on a page: a line for each row, paragraph and chart."""

    def __init__(self, html):
        super().__init__()
        self.text, self._hidden = "", 0
        self.feed(html)

    def handle_starttag(self, tag, _):
        self._hidden += tag in ("script", "style")
        self.text += "\n" * (tag in LINES)

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style")
        self.text += " | " * (tag in ("td", "th")) + " " * (tag in ("text", "option", "dt", "a", "title"))

    def handle_data(self, data):
        self.text += "" if self._hidden else re.sub(r"\s+", " ", data)


def readable(path):
    """Return what a file says: of a page its text, of a run its comparison, of this machine nothing."""
    if path.suffix == ".html":
        return re.sub(r"(\s*\n)+", "\n", Page(path.read_text()).text).strip()
    if path.suffix == ".json":
        whole = json.loads(path.read_text())
        if "machine_info" in whole:
            whole = whole.get("gnnbench", {}).get("compared")
        return json.dumps(whole, indent=1)
    return path.read_text().rstrip()


def ran(words, width):
    """Run a command in a terminal of this width; None is a pipe. Return its exit code and what it printed."""
    os.environ["COLUMNS"] = width or f"{IN_A_PIPE}"
    if words[0] == "git":
        return git(".", *words[1:])
    if words[0] == "pytest":
        # The name of the environment is longer on some machines.
        wide = os.environ["COLUMNS"] if "--help" in words else "200"
        kept = {"COLUMNS": wide, "GNNBENCH_CACHE": os.environ["GNNBENCH_CACHE"]}
        found = run(*words[1:], "--no-header", "-p", "no:warnings", cwd=Path.cwd(), **kept, **histories.ALONE)
        group = re.search(r"(?s)\ngraph neural network benchmarks:\n.*?\n(?=\n)", found.stdout)
        return f"exit: {found.returncode}\n{group[0] if group else found.stdout}"
    out, err = Terminal() if width else io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main.main(words[1:])
        except SystemExit as end:
            status = end.code
    errors = f"--- standard error\n{err.getvalue()}" * bool(err.getvalue())
    return f"exit: {status}\n{out.getvalue()}{errors}"


def contents():
    """Return what each file says that commands write here."""
    found = (Path().glob(pattern) for pattern in ("*.html", "*.json", "*.md", "baselines/*.toml"))
    return {path: path.read_bytes() for paths in found for path in paths}


def normal(text, replacements):
    text = text.replace(str(Path.cwd()), "FOLDER").replace(time.strftime("%Y-%m-%d"), "TODAY")
    for pattern, instead in replacements.items():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


def transcript(commands, replacements):
    """Yield what commands do, once where it is the same in several places."""
    for command, places in commands.items():
        before, done = contents(), {}
        for place in places:
            width = place.partition(" columns")[0] if place != "pipe" else None
            said = normal(ran(shlex.split(command), width), replacements)
            done.setdefault(said, []).append(place)
        yield from (f"$ {command}  [{', '.join(where)}]\n{said}\n" for said, where in done.items())
        for path in sorted(path for path, content in contents().items() if before.get(path) != content):
            yield normal(f"--- {path}\n{readable(path)}\n\n", replacements)


@pytest.fixture(autouse=True)
def _place(monkeypatch):
    """Work in an empty folder on the simulated clock, as a user without settings.

    The folder's name is as long on each machine, as lines are broken.
    """
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    clean(monkeypatch)
    without_settings(monkeypatch)
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-31T12:00:00+00:00")
    files = {"GNNBENCH_CACHE": f"{folder}/.cache", "GIT_CONFIG_GLOBAL": f"{folder}/.gitconfig"}
    for name, value in {**histories.ALONE, **dates, **files, "COLUMNS": f"{IN_A_PIPE}"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(secrets, "randbits", lambda _: 5)
    times = {f"test_thing[{name}]": f"thing:{name.upper()}" for name in ("one", "two")}
    machine(Path("truths.json"), times, sigma=0, drift=0)
    Path(".gitconfig").write_text("[user]\nname = A\nemail = a@b\n")
    Path("pytest.ini").write_text(
        "[pytest]\naddopts = -p pytest_benchmark.plugin -p gnnbench.engine.plugin\n"
    )
    yield
    shutil.rmtree(folder)


NAMES = sorted(file.stem for file in FOLDER.glob("*.txt"))
LONG = "real affected", "real bisect"
"""By day tests of these commands ask what they find, and of their results what is shown."""


@pytest.mark.parametrize("name", [nightly(pytest.param(name)) if name in LONG else name for name in NAMES])
def test_what_commands_do(name):
    file = FOLDER / f"{name}.txt"
    commands = {}
    for command, places in re.findall(r"^\$ (.+)  \[(.+)\]$", file.read_text(), re.MULTILINE):
        commands.setdefault(command, []).extend(places.split(", "))
    if name == "help" and sys.version_info >= (3, 13):
        pytest.skip("argparse writes options in another way since Python 3.13")
    with redirect_stdout(io.StringIO()):
        INPUTS.get(name, repository)()
    more = HERE if name.startswith("real ") else INSTALLED if name == "list" else {}
    text = "".join(transcript(commands, {**REPLACEMENTS, **more}))
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text)
    compared = (one.splitlines(keepends=True) for one in (file.read_text(), text))
    assert not (difference := "".join(difflib.unified_diff(*compared, "golden", "now"))), difference
