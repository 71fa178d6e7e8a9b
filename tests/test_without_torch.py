"""Every subcommand in a base install: without torch, and without the packages of other extras."""

import shlex
import shutil

import pytest

from gnnbench.engine.store.baseline import FOLDER, RecordStore
from tests import forks
from tests.engine.cli import saved
from tests.engine.process.variants.repositories import commit_all
from tests.run_files import save, suite
from tests.runs import SHORT, environment
from tests.sampling import nightly

PYG = ("torch", "torch_geometric", "torch_scatter", "torch_sparse", "ogb", "dgl")
EXTRAS = ("altair", "jinja2", "vl_convert")

WORDS = "def order(text):\n    return sorted(text.split())\n"
SUITE = """
import pytest
from words import order


@pytest.mark.parametrize("times", [1, 4])
def test_order(benchmark, times):
    benchmark(order, "words to order " * times)
"""
OWN = """
import pytest


@pytest.mark.operations("spmm_sum")
def test_spmm(case, measure):
    measure(None)
"""

PIP = "torch is not installed: pip install 'gnnbench[pyg]'"
KINDS = f"all profile kinds except functions need torch: {PIP}"
PAGE = "jinja2, altair and vl_convert are not installed: pip install 'gnnbench[report]'"

COMMANDS = {
    "list spmm_sum": (0, "torch.sparse.mm"),
    "doctor --data .": (0, "pip install 'gnnbench[pyg]'"),
    "baseline show": (0, "b0"),
    "accept ab.json b[ --reason why": (2, "unknown benchmark 'b['"),
    "profile order --with phases -- bench": (3, KINDS),
    "compare -v run-0.json run-1.json --strict -- run-2.json": (3, "b0"),
    "compare run-0.json --by times": (2, "no parameters"),
    "comment ab.json -o comment.md": (0, ""),
    "comment ab.json --repository o/n --pull-request 1": (2, "gh"),
    "merge run-0.json run-1.json -o whole.json": (2, "both contain"),
    "report ab.json -o page.html": (2, PAGE),
    "watch --state s --page page.html": (2, PAGE),
    "regret degree --skew rmat --scale 5": (2, "torch and torch_geometric are not installed"),
    "regret --from r.json --maps m": (2, PAGE),
}
"""What measures nothing, or says at once what is missing: exit code, and a part of what is said."""

LONG = {
    "profile order --with functions --platform torch --hidden 8 -- bench": (0, "sorted"),
    "profile order -- test_own.py": (2, PIP),
    "list --data .": (0, "spmm_sum"),
    "baseline record --processes 2 -- bench": (0, "recorded 2 benchmarks"),
    "ab git:HEAD~1 . --total-budget 1 --time-all --plant 5% --strict -- bench": (3, "undecided"),
    "affected git:HEAD~1 . -- bench": (0, "2 run the same code"),
    "bisect git:HEAD~2 git:HEAD -- bench": (0, "GOOD and BAD do not differ"),
    "bisect git:HEAD~2 git:HEAD --outputs -v -- bench": (0, "no different output in 2 benchmarks"),
    "watch git:HEAD --state s --since HEAD~2 --until HEAD~1 --clone . -- bench": (0, "2 same code"),
    "init --yes": (0, "to run the benchmarks: python -m pytest bench/test_words.py"),
}
"""What times, or starts several processes."""

OPTIONS = {
    "--gnn-platform torch --gnn-hidden 8 --gnn-all --gnn-layouts sample --gnn-strict": (0, "2 passed"),
    "--gnn-counters=check": (4, "with gnnbench's own benchmarks only"),
    "--benchmark-histogram=p": (4, "pip install 'gnnbench[report]'"),
    "test_own.py": (2, PIP),
    "--benchmark-compare=git:HEAD~1": (0, "All 2 benchmarks run the same code"),
}
"""Options of the plugin."""

BROKEN = "libc10.so: cannot open shared object file: No such file or directory"
ENTRIES = {
    "gnnbench": "from gnnbench.engine.cli.main import main; sys.exit(main())",
    "pytest": "import pytest; sys.exit(pytest.main())",
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """Folders for PYTHONPATH, and in each the scripts of both commands."""
    made = tmp_path_factory.mktemp("sites")
    for name, code in {
        "base": f"import sys\nsys.modules.update(dict.fromkeys({(*PYG, *EXTRAS)}))\n",
        "report": f"import sys\nsys.modules.update(dict.fromkeys({PYG}))\n",
        "broken": f"import sys\nsys.path.insert(0, {str(made / 'broken')!r})\n",
    }.items():
        (made / name).mkdir()
        (made / name / "sitecustomize.py").write_text(code)
        for command, line in ENTRIES.items():  # for forks, which begin after that file
            (made / name / command).write_text(f"{code}{line}\n")
    (made / "broken" / "torch.py").write_text(f"raise ImportError({BROKEN!r})\n")
    return made


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "repository")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A repository of two commits with a suite of plain Python, and files that commands read."""
    made = tmp_path_factory.mktemp("original")
    (made / "bench").mkdir()
    files = {"words.py": WORDS, "bench/test_words.py": SUITE, "test_own.py": OWN}
    for name, text in {**files, "pytest.ini": "[pytest]\npythonpath = .\n"}.items():
        (made / name).write_text(text)
    for number in range(3):
        (made / "number.txt").write_text(f"{number}")
        commit_all(made, f"{number}")
    contents = [suite(seed) for seed in range(3)]
    save(made, *contents)
    RecordStore(made / FOLDER).save(contents, "Linux-CPython-3.11-64bit", "name", "a reason")
    saved.ab(made)
    return made


def check(folder, site, words, code, said):
    """Run a command with packages hidden in all its processes; check its exit code and what it says."""
    command, *rest = words
    variables = environment(PYTHONPATH=str(site), GITHUB_TOKEN="t")
    found = forks.run([str(site / command), *rest], folder, variables)
    output = found.stdout + found.stderr
    assert found.returncode == code, output
    assert said in " ".join(output.split()), output
    assert "this is a bug" not in output
    assert "Traceback" not in output


@pytest.mark.parametrize("command", [*COMMANDS, *map(nightly, map(pytest.param, LONG))])
def test_a_command(folder, sites, command):
    check(folder, sites / "base", ["gnnbench", *shlex.split(command)], *{**COMMANDS, **LONG}[command])


@pytest.mark.parametrize("given", [*[*OPTIONS][:-1], nightly(pytest.param([*OPTIONS][-1]))])
def test_an_option_of_the_plugin(folder, sites, given):
    words = ["pytest", "-p", "no:cacheprovider", *SHORT, *shlex.split(given)]
    words += [] if ".py" in given else ["bench"]
    check(folder, sites / "base", words, *OPTIONS[given])


def test_a_page_needs_no_torch(folder, sites):
    check(folder, sites / "report", ["gnnbench", "report", "ab.json", "-o", "page.html"], 0, "page.html")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("gnnbench baseline show", 0, "b0"),
        ("gnnbench profile order --with phases -- bench", 3, f"cannot be imported: {BROKEN}"),
    ],
)
def test_a_broken_torch_is_as_none_and_its_error_is_said(folder, sites, words, code, said):
    check(folder, sites / "broken", words.split(), code, said)
