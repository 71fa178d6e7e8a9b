"""What pytest leaves out, in real sessions of it."""

import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.interfaces import Listener
from gnnbench.engine.process.variants import fresh
from tests.runs import as_a_user

SUITE = """
import pytest

@pytest.mark.perf
def test_sum(benchmark):
    benchmark(sum, [1])

@pytest.mark.perf
def test_max(benchmark):
    benchmark(max, [1])

def test_unit(): ...
"""
HOOK = """
def pytest_collection_modifyitems(config, items):
    timed = [item for item in items if "benchmark" in item.fixturenames]
    config.hook.pytest_deselected(items=timed)
    items[:] = [item for item in items if item not in timed]
"""
OPTION = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--perf", action="store_true")

def pytest_collection_modifyitems(config, items):
    for item in items:
        if "benchmark" in item.fixturenames and not config.getoption("--perf"):
            item.add_marker(pytest.mark.skip(reason="needs --perf"))
"""
SKIPPING = f"import pytest\npytest.skip('no GPU', allow_module_level=True)\n{SUITE}"
IGNORED = "left out by --ignore, --ignore-glob, norecursedirs or a conftest.py"
OTHERS = """
import pytest

def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".yaml":
        return Checks.from_parent(parent, path=file_path)

class Checks(pytest.File):
    def collect(self):
        yield Check.from_parent(self, name="check")

class Check(pytest.Item):
    def runtest(self):
        raise AssertionError
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    as_a_user(monkeypatch, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def collect(folder):
    """Return a function that lets pytest collect files, whose settings are the first."""

    def collect(addopts, files, *words):
        (folder / "pytest.ini").write_text(
            f"[pytest]\nmarkers = perf\naddopts = -p pytest_benchmark.plugin {addopts}\n"
        )
        for name, text in {"test_a.py": SUITE, **files}.items():
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_text(text)
        return fresh.collect(words or ["."], folder)

    return collect


@pytest.mark.parametrize(
    ("addopts", "files", "words", "lines"),
    [
        (
            '-m "not perf"',
            {},
            (),
            ["-m 'not perf' (-m '' undoes it): 2 benchmarks"],
        ),
        ("", {}, ("-k", "unit"), ["-k unit: 2 benchmarks"]),
        ("", {}, ("-k", "sum"), []),
        (
            "--deselect test_a.py",
            {},
            (),
            ["--deselect test_a.py (-o addopts= undoes it): 2 benchmarks"],
        ),
        ("", {"conftest.py": HOOK}, (), ["pytest_collection_modifyitems of conftest.py: 2 benchmarks"]),
    ],
)
def test_who_deselects_benchmarks_is_named_unless_the_user_chose_others(
    collect, addopts, files, words, lines
):
    ending = collect(addopts, files, *words)
    assert list(ending.untimed) == [f"deselected by {line}" for line in lines]
    assert len(ending.benchmarks) == 2


@pytest.mark.parametrize(
    ("addopts", "files", "line"),
    [
        ("", {"conftest.py": OPTION}, "2 benchmarks skipped (needs --perf)"),
        ("", {"test_a.py": SKIPPING}, "skipped: no GPU: test_a.py"),
        ("--ignore=test_a.py", {}, f"{IGNORED}: test_a.py"),
        ("--ignore=test_b.py", {"test_b.py": SUITE}, ""),
        ("", {"conftest.py": "collect_ignore = ['test_a.py']"}, f"{IGNORED}: test_a.py"),
        ("", {"test_a.py": "", "build/test_b.py": SUITE}, f"{IGNORED}: build"),
        (
            "",
            {"test_a.py": "", "conftest.py": SUITE, "helper.py": "", "bench_b.py": SUITE},
            "not collected, as python_files is test_*.py *_test.py; give the path: bench_b.py",
        ),
    ],
)
def test_what_is_skipped_or_ignored_is_named_except_files_beside_benchmarks(collect, addopts, files, line):
    assert "".join(collect(addopts, files).untimed) == line


def test_what_is_skipped_in_a_run_is_named(collect, folder):
    collect("", {"conftest.py": OPTION})
    with pytest.raises(UsageError, match=r"^process 1 timed nothing: 2 benchmarks skipped \(needs --perf"):
        fresh.run(["test_a.py"], folder / "out.json", folder, 1, Listener())


def test_doctests_and_other_kinds_of_items_are_off(collect, folder):
    files = {
        "conftest.py": OTHERS,
        "package.py": '"""\n>>> 1\n2\n"""\n',
        "README.md": ">>> 1\n2\n",
        "checks.yaml": "",
    }
    collect("--doctest-modules --doctest-glob=*.md", files)
    lines = fresh.run([".", "README.md"], folder / "out.json", folder, 1, Listener())
    assert lines == ["overridden options: --doctest-modules, --doctest-glob"]
