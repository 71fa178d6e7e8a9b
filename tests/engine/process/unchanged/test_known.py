"""What earlier runs used shows which benchmarks run the same code; every change that matters is seen."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gnnbench.engine.drive import affected
from gnnbench.engine.process.plan import Plan
from gnnbench.engine.process.unchanged import known
from gnnbench.engine.process.unchanged.known import Unchanged
from gnnbench.engine.process.variants import child, command
from tests import forks
from tests.engine.measure.fingerprint.test_fingerprint import PAIRS
from tests.engine.process.workers import Watcher, prepared, write
from tests.runs import environment
from tests.sampling import nightly

SUITE = """
import importlib
import pytest

@pytest.mark.parametrize("name", {names})
def test_it(benchmark, name):
    benchmark(importlib.import_module(name).run)
"""


class Recorded:
    """A suite, its code on both sides, which have the same files, and what a run of it used."""

    def __init__(self, folder, suite, files):
        self.folder, self.cache = folder / "suite", folder / "cache"
        self.base, self.head = folder / "base", folder / "head"
        self.folder.mkdir()
        write(self.folder, suite)
        for name, text in files.items():
            self.set(name, text, self.base)
        shutil.copytree(self.base, self.head)
        with pytest.MonkeyPatch.context() as patch:
            self.variables(patch)
            found = self.inspected()
        assert {*found.values()} == {"same"}, found

    arguments = ("test_suite.py",)

    @staticmethod
    def variables(patch):
        for module in (child, command):
            patch.setattr(module, "subprocess", subprocess)  # fresh processes use all their files
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)

    def sides(self, **variables):
        sides = prepared("path:base", self.base), prepared("path:head", self.head, **variables)
        return [replace(side, has_code=True) for side in sides]

    def plan(self, **defaults):
        usual = {"timeout_seconds": 60, "cache": self.cache, "defaults": defaults}
        # It asks for no cost, which a busy machine changes.
        return Plan(arguments=self.arguments, folder=self.folder, time_all=True, **usual)

    def inspected(self):
        found = affected.run(*self.sides(), self.plan(), Watcher()).benchmarks
        return {name: one.status for name, one in found.items()}

    @staticmethod
    def set(name, text, tree):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)

    def known(self, *, arguments=arguments, **variables):
        sides = self.sides(**variables)
        _, names = Unchanged(*sides, arguments, self.folder, self.cache).known()
        return {name.partition("[")[2].rstrip("]") for name in names}


@pytest.fixture(autouse=True)
def _variables(monkeypatch):
    Recorded.variables(monkeypatch)


@pytest.fixture(scope="module", params=[5, nightly(pytest.param(1))])
def mutants(tmp_path_factory, request):
    """Functions of fingerprint's tests, each in a module of its own with a benchmark: a sample by day."""
    # What writes a file is never known.
    others = ["tempfile", *(["import torch"] if request.param > 1 else [])]
    kinds = [kind for kind, text in PAIRS.items() if not any(word in text for word in others)]
    sources = {f"m{number}": PAIRS[kind] for number, kind in enumerate(kinds[:: request.param])}
    files = {f"{name}.py": source.format(-5) for name, source in sources.items()}
    recorded = Recorded(tmp_path_factory.mktemp("mutants"), SUITE.format(names=[*sources]), files)
    return SimpleNamespace(recorded=recorded, sources=sources)


def test_a_change_of_code_is_seen(mutants):
    recorded = mutants.recorded
    assert recorded.known() == {*mutants.sources}
    for name, source in mutants.sources.items():
        file = recorded.head / f"{name}.py"
        try:
            file.write_text(source.format(5))
            assert name not in recorded.known(), source
            file.write_text(source.format(-5) + "# the same\n")
            # An import of torch reads the source of the file that asks for it.
            assert name in recorded.known() or "import torch" in source
        finally:
            file.write_text(source.format(-5))


def test_a_function_that_does_not_run_and_a_docstring_are_no_change(tmp_path):
    source = 'def run():\n    """Run."""\n    return 1\ndef other():\n    return 2\n'
    recorded = Recorded(tmp_path, SUITE.format(names=["a", "b"]), {"a.py": source, "b.py": source})
    recorded.set("a.py", source.replace("return 2", "return 3").replace("Run.", "Runs."), recorded.head)
    assert recorded.known() == {"a", "b"}
    recorded.set("a.py", source.replace("return 1", "return 3"), recorded.head)
    assert recorded.known() == {"b"}
    # What the head used is known now; it is the base of the next comparison.
    recorded.set("a.py", source.replace("return 1", "return 3"), recorded.base)
    assert recorded.known() == {"b"}


PACKAGE = {
    "package/__init__.py": "",
    "package/fast.py": "import json, os, pkgutil\nfrom importlib import metadata\nfrom pathlib import Path\n"
    "try:\n    import missing\nexcept ImportError:\n    missing = None\n"
    "try:\n    from package import optional\nexcept ImportError:\n    optional = None\n"
    "HERE = Path(__file__).parent\n"
    "DATA = json.loads((HERE / 'data.json').read_text())\n"
    "PARTS = sorted(path.name for path in (HERE / 'parts').iterdir())\n"
    "MODULES = list(pkgutil.iter_modules([str(HERE / 'parts')]))\n"
    "def generated():\n    scope = {}\n    exec((HERE / 'template.txt').read_text(), scope)\n"
    "    return scope['made']\n"
    "made = generated()\n"
    "def run():\n    return made() + len(DATA) + len(PARTS) + bool(missing)\n",
    "package/data.json": "[1, 2]",
    "package/template.txt": "def made():\n    return 1\n",
    "package/parts/one.txt": "1",
    "package/parts/__pycache__/one.pyc": "1",
    "package/unused.py": "X = 1\n",
    "package/unused.txt": "1",
    "space/inner.py": "N = 1\n",
    "spaced.py": "from space import inner\ndef run():\n    return inner.N\n",
}


@pytest.fixture
def package(tmp_path, recorded_package):
    """The recorded package, which a test may change."""
    folder, kept = recorded_package.cache.parent, tmp_path / "kept"
    shutil.copytree(folder, kept)
    yield recorded_package
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)


@pytest.fixture(scope="module")
def recorded_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    return Recorded(folder, SUITE.format(names=["package.fast", "spaced"]), PACKAGE)


SEEN_IN_FILES = {
    "a data file": {"package/data.json": "[1, 2, 3]"},
    "a data file that is gone": {"package/data.json": None},
    "a template of generated code": {"package/template.txt": "def made():\n    return 2\n"},
    "a file in a folder that is listed": {"package/parts/two.txt": "2"},
    "a file of it that is gone": {"package/parts/one.txt": None},
    "an optional module of a package": {"package/optional.py": ""},
    "an optional module": {"missing.py": ""},
    "an optional package": {"missing/__init__.py": ""},
    "an optional namespace package": {"missing/inner.py": ""},
    "a package that shadows a module": {"spaced/__init__.py": "def run():\n    return 2\n"},
    "an extension that shadows a module": {"spaced.abi3.so": ""},
    "a namespace package that becomes a package": {"space/__init__.py": ""},
    "a module of a namespace package": {"space/inner.py": "N = 2\n"},
    "a module that shadows a package of the environment": {"pytest_benchmark.py": ""},
    "a .pth file": {"paths.pth": "import os\n"},
    "a native library of a package": {"package/extra.so": "1"},
    "metadata": {"package-1.dist-info/METADATA": "Name: package\nVersion: 2\n"},
    "an egg's metadata": {"package.egg-info/PKG-INFO": "Name: package\nVersion: 2\n"},
    "a module that is gone": {"spaced.py": None, "package/fast.py": None},
    "a file of another syntax": {"spaced.py": "def run(:\n", "package/fast.py": "def run(:\n"},
    "what a package runs when it is imported": {"package/__init__.py": "import os\nos.environ['X'] = '1'\n"},
}


def changed(recorded, files, tree):
    for name, text in files.items():
        if text is None:
            (tree / name).unlink()
        else:
            recorded.set(name, text, tree)


@pytest.mark.parametrize("files", SEEN_IN_FILES.values(), ids=SEEN_IN_FILES)
@pytest.mark.parametrize("side", ["base", "head"])
def test_a_change_of_a_file_is_seen(package, files, side):
    assert package.known() == {"package.fast", "spaced"}
    changed(package, files, getattr(package, side))
    assert package.known() < {"package.fast", "spaced"}


UNUSED = {
    "package/unused.py": "X = 2\n",
    "package/unused.txt": "2",
    "other/__init__.py": "",
    "package/parts/__pycache__/two.pyc": "2",
    "spaced.py": "# new\n" + PACKAGE["spaced.py"],
}


def test_what_is_not_used_does_not_count(package):
    changed(package, UNUSED, package.head)
    assert package.known() == {"package.fast", "spaced"}


SUITE_FILES = {
    "a conftest": {"conftest.py": "import sys\nsys.path.insert(0, '/elsewhere')\n"},
    "a test": {"test_suite.py": SUITE.format(names=["spaced"])},
    "settings of pytest": {"pytest.ini": "[pytest]\naddopts = -p pytest_benchmark.plugin -q\n"},
    "settings in pyproject.toml": {"pyproject.toml": "[tool.pytest.ini_options]\n"},
    "settings in tox.ini": {"tox.ini": "[pytest]\n"},
    "settings in a hidden file": {".pytest.ini": "[pytest]\n"},
    "settings above the project": {"../pytest.toml": "[pytest]\n"},
    "settings in setup.cfg": {"setup.cfg": "[tool:pytest]\n"},
    "a module beside the test": {"helper.py": ""},
    "a module that shadows an installed one": {"pytest_benchmark.py": ""},
}


@pytest.mark.parametrize("files", SUITE_FILES.values(), ids=SUITE_FILES)
def test_a_change_of_the_suite_is_seen(package, files):
    changed(package, files, package.folder)
    assert not package.known()


def test_other_defaults_of_options_are_seen(package):
    defaults = ({}, {"layouts": "one"})
    notes = [affected.run(*package.sides(), package.plan(**own), Watcher()).notes for own in defaults]
    assert [any("by the file hashes" in note for note in found) for found in notes] == [True, False]


def test_variables_and_arguments_are_seen(package, monkeypatch):
    assert not package.known(THREADS="1"), "of one side"
    assert not package.known(arguments=("test_suite.py", "-x"))
    monkeypatch.setenv("TERM", "dumb")
    assert package.known()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert not package.known()


@pytest.mark.parametrize(
    ("name", "value"),
    [("version", sys.version.replace("(main", "(other")), ("flags", (1,)), ("executable", __file__)],
)
def test_another_interpreter_is_seen(package, monkeypatch, name, value):
    monkeypatch.setattr(sys, name, value)
    assert not package.known()


def test_a_change_of_an_installed_package_is_seen(package, monkeypatch, tmp_path):
    installed = tmp_path / "site-packages"
    file = installed / "one/module.py"
    file.parent.mkdir(parents=True)
    monkeypatch.setattr(known, "environment_folders", lambda: (f"{installed}{os.sep}",))

    def digest():
        return known.digest(package.sides()[0], (), package.folder)

    found = [digest(), digest()]
    for change in (
        lambda: file.write_text("N = 1"),
        lambda: file.write_text("N = 10"),
        lambda: (installed / "two.pth").write_text(""),
        file.unlink,
    ):
        change()
        found.append(digest())
    assert len({*found}) == len(found) - 1, "each, and only a change"


@pytest.mark.parametrize("call", [1, nightly(pytest.param(2)), 3])
def test_what_one_benchmark_keeps_for_another_counts_for_both(tmp_path, call):
    files = {
        "shared.py": "KEPT = {'n': 0}\nCALLS = []\ndef make():\n    return 1\ndef get():\n"
        f"    CALLS.append(1)\n    if len(CALLS) == {call}:\n        KEPT['n'] = make()\n"
        "    return KEPT['n']\n",
        "a.py": "import shared\ndef run():\n    return shared.get()\n",
        "b.py": "import shared\ndef run():\n    return shared.KEPT['n']\n",
    }
    recorded = Recorded(tmp_path, SUITE.format(names=["a", "b"]), files)
    assert recorded.known() == {"a", "b"}
    recorded.set("shared.py", files["shared.py"].replace("return 1", "return 2"), recorded.head)
    assert recorded.known() == set()


HERE = "import os, sys\nHERE = os.path.dirname(__file__)\n"
OPTIONAL = "try:\n    {}\nexcept ({}):\n    found = None\ndef run():\n    return found\n"
READS = (
    HERE + "with open(os.path.join(HERE, '{}'), '{}') as file:\n    N = len(file.read())\n"
    "def run():\n    return N\n"
)
LOADS = """import importlib.machinery
import b
found = importlib.machinery.SourceFileLoader('b', b.__file__).get_source('b')
def run():
    return found
"""
LISTS = f"""{HERE}before = os.getcwd()
os.chdir(os.path.join(HERE, 'work'))
found = os.listdir()
os.chdir(before)
def run():
    return found
"""
# mpmath calls version() of gmpy2 if there is one. Its own import is not traced.
MPMATH = "import mpmath\ndef run():\n    return 1\n"
MISSED = {
    "a data file that is new": (
        HERE + OPTIONAL.format("found = open(os.path.join(HERE, 'conf.txt'))", "OSError"),
        {},
        {"conf.txt": "1"},
    ),
    "a folder that is new": (
        HERE + OPTIONAL.format("found = os.listdir(os.path.join(HERE, 'plug'))", "OSError"),
        {},
        {"plug/one.txt": "1"},
    ),
    "a module that could not be imported": (
        OPTIONAL.format("import broken as found", "SyntaxError"),
        {"broken.py": "def (:\n"},
        {"broken.py": "N = 1\n"},
    ),
    "a new module of a namespace package": (
        OPTIONAL.format("from part import new as found", "ImportError"),
        {"part/old.py": ""},
        {"part/new.py": ""},
    ),
    "what a package could not import": (
        OPTIONAL.format("import extra as found", "ImportError"),
        {"extra/__init__.py": "from . import inner\n"},
        {"extra/inner.py": ""},
    ),
    "a folder of the tree in which modules are searched": (
        f"{HERE}sys.path.insert(0, os.path.join(HERE, 'vend/vendor'))\n"
        + OPTIONAL.format("import fastdep as found", "ImportError"),
        {"vend/vendor/other.py": ""},
        {"vend/vendor/fastdep.py": ""},
    ),
    "a file that is opened to be changed": (READS.format("n.txt", "r+"), {"n.txt": "1"}, {"n.txt": "11"}),
    "a source that is read by a loader": (LOADS, {"b.py": "N = 1\n"}, {"b.py": "N = 1\n# 1\n"}),
    "the working directory is listed": (LISTS, {"work/one.txt": ""}, {"work/two.txt": ""}),
    "what a library looks for": (MPMATH, {}, {"gmpy2.py": "def version():\n    return ''\n"}),
    "a finder is asked": (
        "import sys\nfor one in sys.meta_path:\n    one.find_spec('added', None)\ndef run():\n    return 1\n",
        {},
        {"added.py": ""},
    ),
}


@pytest.fixture(scope="module")
def missed(tmp_path_factory):
    """A benchmark of each kind; the files of each have other names."""
    names = [f"m{number}" for number in range(len(MISSED))]
    files = {}
    for name, (source, more, _) in zip(names, MISSED.values(), strict=True):
        files |= {f"{name}.py": source, **more}
    return Recorded(tmp_path_factory.mktemp("missed"), SUITE.format(names=names), files)


@pytest.mark.parametrize("number", range(len(MISSED)), ids=MISSED)
def test_what_is_easily_missed_is_seen(missed, tmp_path, number):
    assert len(missed.known()) == len(MISSED)
    shutil.copytree(missed.head, tmp_path / "kept")
    try:
        changed(missed, [*MISSED.values()][number][2], missed.head)
        assert f"m{number}" not in missed.known()
    finally:
        shutil.rmtree(missed.head)
        shutil.copytree(tmp_path / "kept", missed.head)


REPLACED = """import os
name = os.path.join(os.path.dirname(os.path.dirname(__file__)), 'state.txt')
for mode in ('{}', '{}'):
    with open(name, mode) as file:
        file.write('1') if file.writable() else file.read()
"""
UNKNOWN = {
    "a process": "import subprocess\nsubprocess.run(['true'])\n",
    "a file that is edited": """from pathlib import Path
import b
file = Path(b.__file__)
file.write_text(file.read_text() + '# edited')
""",
    "a file that is read before it is changed": REPLACED.format("r", "w"),
    "a file that is appended to before it is read": REPLACED.format("a", "r"),
    "a server": "import socket\nwith socket.create_server(('localhost', 0)) as server:\n"
    "    socket.create_connection(server.getsockname()).close()\n",
    "a test that is new": "import sys\nfile = sys.modules['test_suite'].__file__\n"
    "open(file.replace('test_suite', 'test_other'), 'w').close()\n",
    "a module that is gone": "import os, sys\nfrom pathlib import Path\n"
    "file = Path(os.path.dirname(__file__), 'made.py')\nfile.write_text('N = 1')\n"
    "import made\nfile.unlink()\n",
    "the tree's own tests": READS.format("tests/data.txt", "r"),
    "a compiled function": "import torch\n@torch.compile(backend='eager')\n",
}


# By day `UNNOTED` has a function that is called as the compiler's.
@pytest.mark.parametrize("kind", [*[*UNKNOWN][:-1], nightly(pytest.param("a compiled function"))])
def test_what_cannot_be_known(tmp_path, kind):
    source = f"{UNKNOWN[kind]}def run():\n    return 1\n"
    files = {"a.py": source, "b.py": "", "tests/data.txt": "1", "../state.txt": "1"}
    assert Recorded(tmp_path, SUITE.format(names=["a"]), files).known() == set()


OUTSIDE = """import os, sqlite3, tempfile
with tempfile.NamedTemporaryFile("w+") as made, open(made.name) as again:
    made.write(again.read())
with open("/etc/passwd") as file, open({memory!r}) as other:
    file.read(), other.read()
sqlite3.connect({uri!r}, uri=True).execute("create table if not exists t (n)")
def run():
    return 1
"""


def test_data_outside_of_the_project_is_known(tmp_path, monkeypatch):
    """Temporary files that the process makes are no data; pytest lists the folders of earlier runs."""
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("PYTEST_DEBUG_TEMPROOT", str(temporary))
    suite = SUITE.format(names=["a"]).replace("benchmark, name", "benchmark, name, tmp_path")
    database = tmp_path / "data base"
    with sqlite3.connect(database) as connection:
        connection.execute("create table t (n)")
    with tempfile.NamedTemporaryFile("w", dir="/dev/shm") as memory:
        uri = f"{database.as_uri()}?mode=ro"
        recorded = Recorded(tmp_path, suite, {"a.py": OUTSIDE.format(memory=memory.name, uri=uri)})
        next(temporary.iterdir()).joinpath("pytest-9").mkdir()
        assert recorded.known() == {"a"}
        ((_, manifest),) = known._read(next((recorded.cache / "used").iterdir()))
        assert {f"file {name}" for name in ("/etc/passwd", memory.name, database)} <= {*manifest.hashes}
        memory.write("1")
        memory.flush()
        assert recorded.known() == set()


def test_a_benchmark_that_one_side_lacks_is_no_obstacle(tmp_path):
    suite = "import names\n" + SUITE.format(names="names.NAMES")
    files = {
        "names.py": "NAMES = ['a']\n",
        "a.py": "def run():\n    return 1\n",
        "b.py": "def run():\n    return 2\n",
    }
    recorded = Recorded(tmp_path, suite, files)
    recorded.set("names.py", "NAMES = ['b', 'a']\n", recorded.head)
    assert [*recorded.inspected().values()] == ["unknown", "same"]


INNER = "import cProfile, sys, threading\nK = []\ndef inner():\n    return 1\n"
PROFILER_OFF = "before = sys.getprofile()\nsys.setprofile(None)\nK.append(inner())\nsys.setprofile(before)\n"


SPAWN = """import multiprocessing
if __name__ != '__mp_main__':
    one = multiprocessing.get_context('spawn').Process(target=print)
    one.start()
    one.join()
"""
THREAD = "thread = threading.Thread(target={})\nthread.start()\nthread.join()\n"
COMPILES = """
from importlib import util
spec = util.spec_from_file_location("compiler", "torch/_dynamo/convert_frame.py")
module = util.module_from_spec(spec)
spec.loader.exec_module(module)
module._compile()
"""
TRACED = {
    "a profiler is switched off and on": PROFILER_OFF,
    "another profiler runs": "cProfile.Profile().runcall(inner)\n",
    "a profiler is switched off in a thread": THREAD.format("lambda: sys.setprofile(None)"),
    "a thread without a profiler": f"threading.setprofile(None)\n{THREAD.format('inner')}",
    "a trace function": "sys.settrace(lambda *_: None)\n(lambda: 0)()\nsys.settrace(None)\n",
}
"""Before Python 3.12, where other profile functions disturb."""
UNNOTED = {
    "nothing": "",
    "a fork": "import os\nif not os.fork():\n    os._exit(0)\nos.wait()\n",
    "a shell": "import os\nos.system('true')\n",
    "a spawned process": SPAWN,
    "a compiler": COMPILES,
    **(TRACED if sys.version_info < (3, 12) else {}),
}
NOTING = """
from gnnbench.engine.process.unchanged.used import UsageRecorder
from gnnbench.engine.process.variants.import_roots import Trees
used = UsageRecorder(Trees([]))
import a
print(used.take()["unseen"])
"""


@pytest.mark.parametrize("kind", UNNOTED)
def test_what_is_not_noted_is_said(tmp_path, kind):
    """In a fork, as nothing takes a hook for audit events away."""
    (tmp_path / "torch/_dynamo").mkdir(parents=True)
    (tmp_path / "torch/_dynamo/convert_frame.py").write_text("def _compile():\n    pass\n")
    (tmp_path / "a.py").write_text(INNER + UNNOTED[kind])
    (tmp_path / "script.py").write_text(NOTING)
    found = forks.run([str(tmp_path / "script.py")], tmp_path, environment())
    assert found.stdout == f"{kind != 'nothing'}\n", found.stderr


def test_what_a_fixture_ran_before_it_asked_for_another_counts_for_later_benchmarks(tmp_path):
    suite = (
        "import a, b, pytest\n"
        "@pytest.fixture(scope='session')\ndef inner():\n    return 0\n"
        "@pytest.fixture(scope='session')\ndef kept(request):\n    made = b.make()\n"
        "    request.getfixturevalue('inner')\n    return made\n"
        "@pytest.mark.parametrize('name', ['b'])\ndef test_b(benchmark, kept, name):\n"
        "    benchmark(b.run)\n"
        "@pytest.mark.parametrize('name', ['a'])\ndef test_it(benchmark, kept, name):\n"
        "    benchmark(a.run, kept)\n"
    )
    files = {
        "a.py": "def run(n):\n    return n\n",
        "b.py": "def make():\n    return 1\ndef run():\n    return make()\n",
    }
    recorded = Recorded(tmp_path, suite, files)
    assert recorded.known() == {"a", "b"}
    recorded.set("b.py", files["b.py"].replace("return 1", "return 2"), recorded.head)
    assert recorded.known() == set()
