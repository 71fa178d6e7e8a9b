"""What commands say that cannot run, or cannot use their files: exit code 2, and a line."""

import shlex

import pytest

from tests.engine.cli import saved
from tests.engine.drive.bisect import histories
from tests.engine.process.workers import write
from tests.engine.show import contents
from tests.run_files import content, entry, save
from tests.sampling import nightly

SAY_MORE = ("ab", "affected", "bisect", "profile", "baseline show")
"""Commands that say what they do, or whose pytest says more, before the line."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A history of two commits, files without benchmarks, and saved and damaged files; no test changes it."""
    with pytest.MonkeyPatch.context() as patch:
        made = histories.create(tmp_path_factory.mktemp("two"), [*map(histories.content, (0, 1))], patch)
    write(made, "def test_plain():\n    pass\n", "test_nothing.py")
    write(made, "def test_(:\n", "test_wrong.py")
    write(made, "import pytest\n@pytest.mark.benchmark\ndef test_it():\n    pass\n", "test_marked.py")
    save(made, contents.family(0), contents.family(1), content(entry("b"), threads=4))
    saved.ab(made)
    (made / "bad.json").write_text('{"command": "compare"}')
    return made


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("abb . .", "unknown command 'abb': did you mean ab?"),
        ("ab . . --efect=3%", "unknown argument '--efect=3%': did you mean --effect?"),
        ("ab . . test_suite.py", "gnnbench ab --help lists all, and arguments of pytest come after --"),
        ("baseline record --proceses 3", "unknown argument '--proceses': did you mean --processes?"),
        ("report a.json b.json", "unknown argument 'b.json'; gnnbench report --help lists all"),
        ("ab . . --budget 0 -- test_suite.py", "must be a positive number of seconds, as in 300"),
        ("ab . . --plant 5 -- test_suite.py", "plant '5' must lie between 0 and 1, as in 2% or 0.02"),
        nightly(pytest.param("ab . . -- test_nothing.py", "pytest finds no benchmarks here")),
        ("ab . . -- -k nowhere test_suite.py", "no benchmarks here; deselected by -k nowhere: 2 benchmarks"),
        ("init nowhere.py", "no such file or folder: 'nowhere.py'; give files with benchmarks"),
        nightly(pytest.param("ab . . -- test_marked.py", "marked as benchmarks, but not timed")),
        ("ab . . -- test_suite.py --gnn-shard=1/2", "give gnnbench ab its own --shard"),
        ("bisect git:nowhere git:main -- test_suite.py", "git:nowhere names no commit"),
        ("bisect git:good git:HEAD~1 -- test_suite.py", "are the same commit"),
        ("bisect git:good . -- test_suite.py", "'git:good' and '.' are not two commits or two releases"),
        ("bisect git:good 'git:main env:A=1' -- test_suite.py", "GOOD and BAD must differ in one part"),
        ("bisect git:good git:main -- nowhere.py", "no such file or folder: nowhere.py; give the path of"),
        ("profile nothing_like_this -- test_suite.py", "unknown benchmark 'nothing_like_this'; known: thing"),
        ("profile thing -- test_suite.py -k b", "no benchmark matches 'thing'"),
        ("profile epoch --platform pgy", "unknown platform 'pgy': did you mean pyg?"),
        ("profile epoch --folder pytest.ini", "pytest.ini cannot be written"),
        ("compare run-1.json --json /proc/all.json -- run-0.json", "cannot be written"),
        ("compare --by xyz run-0.json", "unknown field 'xyz'; known: dataset, device"),
        ("compare --by platform=cugraph run-0.json", "unknown platform 'cugraph'; known: dgl, pyg"),
        ("compare --by platform run-0.json -- run-1.json", "within one run: give its files without --"),
        ("compare --by platform run-0.json run-0.json", "is named twice"),
        ("compare --by platform run-0.json run-2.json", "not from the same run as"),
        ("report bad.json -o x", "bad.json: format version None"),
        ("comment run-0.json", "not a result of gnnbench ab or compare: it is a run file"),
        ("comment ab.json -o /proc/x/y.md", "/proc/x/y.md cannot be written"),
        ("comment ab.json --pull-request 7", "no repository: give --repository OWNER/NAME"),
        ("baseline show", "no record"),
        ("baseline record", "give the path of the suite: gnnbench baseline record -- PATH"),
        ("baseline show -- -c nowhere.ini", "gnnbench: pytest refuses these arguments: -c nowhere.ini"),
    ],
)
def test_wrong_usage_is_a_line(folder, in_process, monkeypatch, command, text):
    monkeypatch.chdir(folder)
    result = in_process(*shlex.split(command))
    assert result.returncode == 2
    *before, line = result.stderr.splitlines()
    assert not before or command.startswith(SAY_MORE)
    assert line.startswith("gnnbench")
    assert text in line
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert not (folder / "x").exists()
