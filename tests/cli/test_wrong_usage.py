"""What commands that run benchmarks say where they cannot: exit code 2, and a line."""

import shlex

import pytest

from tests.compare.ab.workers import write
from tests.compare.bisect.histories import content, create


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A history of two commits, and files without benchmarks; no test changes it."""
    with pytest.MonkeyPatch.context() as patch:
        made = create(tmp_path_factory.mktemp("two"), [content(0), content(1)], patch)
    write(made, "def test_plain():\n    pass\n", "test_nothing.py")
    write(made, "def test_(:\n", "test_wrong.py")
    write(made, "import pytest\n@pytest.mark.benchmark\ndef test_it():\n    pass\n", "test_marked.py")
    return made


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("ab . hg:tip -- test_suite.py", "unknown part of a variant 'hg'"),
        ("ab . . --budget 0 -- test_suite.py", "must be more than 0 seconds"),
        ("ab . . --budget many -- test_suite.py", "many must be more than 0 seconds"),
        ("ab . . --json nowhere/ab.json -- test_suite.py", "nowhere/ab.json cannot be written"),
        ("ab . . --json . -- test_suite.py", ". cannot be written (it is a folder)"),
        ("ab . . --markdown /proc/ab.md -- test_suite.py", "/proc/ab.md cannot be written"),
        ("ab . . -- test_nothing.py", "pytest finds no benchmarks here"),
        (
            "ab . . -- test_marked.py",
            "pytest finds no benchmarks here; marked as benchmarks, but without",
        ),
        ("ab . . --shard 3/2 -- test_suite.py", "shard '3/2' must be I/N"),
        ("ab . . -- test_suite.py --gnn-shard=1/2", "give gnnbench ab its own --shard"),
        ("ab . .", "give the path of the suite: gnnbench ab BASE HEAD -- PATH"),
        ("affected . . --explain thing[ -- test_suite.py", "'thing[' is in 2 ids: give more of one, as in "),
        ("affected . . --explain nowhere -- test_suite.py", "'nowhere' is in no benchmark's id"),
        ("affected . . --json nowhere/a.json -- test_suite.py", "nowhere/a.json cannot be written"),
        ("bisect git:nowhere git:main -- test_suite.py", "git:nowhere names no commit"),
        ("bisect git:--upload-pack=x git:main -- test_suite.py", "looks like an option of git"),
        ("bisect \"'git:$(touch x)'\" git:main -- test_suite.py", "names no commit"),
        ("bisect git:good git:HEAD~1 -- test_suite.py", "are the same commit"),
        ("bisect git:good . -- test_suite.py", "'.' cannot be an end"),
        ("bisect git:good hg:tip -- test_suite.py", "unknown part of a variant 'hg'"),
        ("bisect git:good 'git:main env:A=1' -- test_suite.py", "the ends must differ in one part"),
        ("bisect git:good '' -- test_suite.py", "an end is empty"),
        ('bisect git:good "\'git:" -- test_suite.py', "is incomplete: no closing quotation"),
        ("bisect git:good git:main --skip nowhere -- test_suite.py", "--skip nowhere names no commit"),
        ("bisect git:good git:main --skip main -- test_suite.py", "--skip names an end"),
        ("bisect git:good git:main --json no/b.json -- test_suite.py", "no/b.json cannot be written"),
        (
            "bisect git:good git:main --build x --build-cache 7 -- test_suite.py",
            "7' must be a size with its unit",
        ),
        ("bisect git:good git:main -- nowhere.py", "gnnbench bisect GOOD BAD -- PATH"),
        ("bisect git:good git:main -- test_nothing.py", "pytest finds no benchmarks here"),
        ("calibrate --runs -1", "--runs and --planted must be at least 0, and not both 0"),
        ("calibrate --effect 3", "effect '3' must lie between 0 and 1"),
        ("calibrate --budget 0", "must be more than 0 seconds"),
        (
            "calibrate -- nowhere.py",
            "no folder benchmarks here; give the path of the suite: gnnbench calibrate -- PATH",
        ),
        ("calibrate -- test_suite.py nowhere.py", "ERROR: file or directory not found: nowhere.py"),
        ("calibrate -- test_nothing.py", "pytest finds no benchmarks here; name them: -- PATH"),
        ("calibrate -- test_wrong.py", "test_wrong.py cannot be collected: "),
        ("profile", "name a benchmark: gnnbench profile SELECT"),
        ("profile nothing_like_this -- test_suite.py", "no benchmark is called 'nothing_like_this'"),
        ("profile benchmarks/test_nothing.py::test_epoch", "file or directory not found: "),
        ("profile epoch --platform pgy", "unknown platform 'pgy': did you mean pyg?"),
        ("profile epoch --dataset kora", "unknown dataset 'kora': did you mean cora?"),
        ("profile epoch --epochs 0", "epochs '0' must be a whole number"),
        ("profile epoch --folder pytest.ini", "pytest.ini cannot be written"),
        ("profile epoch --sort time", "unknown order 'time'"),
        ("profile --diff pytest.ini pytest.ini", "pytest.ini: not JSON, or cut off"),
        ("profile --diff . .", "profile.json: cannot be read"),
        ("profile epoch --diff . hg:tip", "unknown part of a variant 'hg'"),
    ],
)
def test_wrong_usage_is_a_line(folder, in_process, monkeypatch, tmp_path, command, text):
    monkeypatch.chdir(folder)
    result = in_process(*shlex.split(command))
    assert result.returncode == 2
    *_, line = result.stderr.splitlines()
    assert line.startswith("gnnbench")
    assert text in line
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert not (folder / "x").exists()
    assert not list((tmp_path / ".cache").glob("calibration/*.json"))
