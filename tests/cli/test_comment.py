import json
import subprocess
import sys

import pytest

from gnnbench.cli import main
from gnnbench.compare.ab.inspections import CounterChange, Inspections
from gnnbench.compare.ab.result import AbResult
from gnnbench.compare.ab.schedule import Decision
from gnnbench.compare.verdict import Judgement, Thresholds
from gnnbench.report.github import marker
from gnnbench.variants.prepare import Prepared
from tests.gfm import render
from tests.github_server import ME, TOKEN, github
from tests.run_files import ENVIRONMENT, save, suite
from tests.suite import environment

SLOWER = Judgement("slower", "it is", 1.3, 1.2, 1.4, 1.25, 1.35, 0.04)
SAME = Judgement("same", "so it is", 1.0, 0.98, 1.02, 0.99, 1.01, 0.02)


def ab(folder, name="ab.json", *, gpu=None, benchmarks=None, **changes):
    base = Prepared("git:main", (), {}, "a" * 40, dirty=False, versions={})
    head = Prepared(".", (), {}, None, dirty=False, versions={})
    found = benchmarks or {"test_a.py::b[<b>|@x]": SLOWER, "test_a.py::c": SAME}
    decisions = {name: Decision(one, 5, 0, 9, 9, 1.0, decided=True) for name, one in found.items()}
    inspections = {next(iter(found)): Inspections((CounterChange("aten::mm", 1, 2),))}
    here = {**ENVIRONMENT, "gpu": gpu and {"name": gpu}}
    result = AbResult(base, head, Thresholds(0.03), here, decisions, inspections, {}, 20.0, **changes)
    path = folder / name
    path.write_text(json.dumps(result.as_json()))
    return str(path)


def comment(capsys, *words):
    status = main.main(["comment", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


@pytest.fixture(autouse=True)
def _nobody_s_variables(monkeypatch):
    for name in ("GITHUB_TOKEN", "GITHUB_API_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)


def test_a_result_of_ab_is_written_whatever_its_verdict(tmp_path, capsys):
    status, out, _ = comment(capsys, ab(tmp_path), "--title", "GCN kernels")
    assert status == 0
    page = render(out)
    assert out.startswith("**1 of 2 benchmarks is slower**: 1 same · GCN kernels\n")
    assert page.rows[1][0] == "b[<b>|@x]"
    assert "- 1 slower with `+1 aten::mm`: " in out
    assert "git:main (aaaaaaaa)" in page.codes
    assert out.rstrip().endswith(marker("GCN kernels"))
    assert len(page.comments) == 1


def test_a_result_of_compare_is_written_to_a_file(tmp_path, capsys):
    base, head = save(tmp_path, *map(suite, range(5))), save(tmp_path, suite(9, factor=1.5))
    result, file = tmp_path / "compare.json", tmp_path / "comment.md"
    main.main(["compare", *map(str, base), "--json", str(result), "--", *map(str, head)])
    capsys.readouterr()
    status, out, _ = comment(capsys, str(result), "-o", str(file))
    assert (status, out) == (0, "")
    text = file.read_text()
    assert text.startswith("**1 of 6 benchmarks is slower**")
    assert "5 runs → 1 run" in text


def test_results_of_several_gpus_are_one_comment(tmp_path, capsys):
    files = (ab(tmp_path, "one.json", gpu="NVIDIA H100"), ab(tmp_path, "two.json", gpu="NVIDIA A100"))
    _, out, _ = comment(capsys, *files)
    assert out.startswith("**2 of 4 benchmarks are slower**")
    assert "#### `NVIDIA H100`" in out
    assert "#### `NVIDIA A100`" in out


def test_what_was_interrupted_or_is_a_shard_says_so(tmp_path, capsys):
    from gnnbench.shard import Shard

    _, out, _ = comment(capsys, ab(tmp_path, interrupted=True, shard=Shard(1, 4)))
    assert "- interrupted: benchmarks without a verdict by then are undecided" in out
    assert "shard `1/4`" in out


def test_a_comment_is_created_and_updated_by_a_process_of_its_own(tmp_path):
    command = [
        sys.executable,
        "-c",
        "import sys; from gnnbench.cli.main import main; sys.exit(main())",
        "comment",
    ]
    words = [
        ab(tmp_path),
        "--title",
        "GCN",
        "--details-url",
        "https://example.org/page",
        "--pull-request",
        "7",
    ]
    with github() as server:
        variables = environment(
            GITHUB_API_URL=server.root,
            GITHUB_REPOSITORY="o/r",
            GITHUB_TOKEN=TOKEN,
            PYTHONPATH=":".join(sys.path),
        )
        for said in ("created", "updated"):
            result = subprocess.run(
                [*command, *words], env=variables, capture_output=True, text=True, check=False, timeout=60
            )
            assert result.returncode == 0, result.stderr
            assert result.stdout == f"{said} {server.comments[0]['html_url']}\n"
        (comment,) = server.comments
        assert comment["user"]["login"] == ME
        assert comment["body"].startswith("**1 of 2 benchmarks is slower**")
        assert "(https://example.org/page)" in comment["body"]


@pytest.mark.parametrize(
    ("words", "variables", "text"),
    [
        (["nowhere.json"], {}, "nowhere.json: cannot be read"),
        (["RUN"], {}, "not a result of gnnbench ab or compare: it is a run file"),
        (["AB", "--title", "x" * 201], {}, "--title has 201 characters; give at most 200"),
        (["AB", "--details-url", "javascript:alert(1)"], {}, "must be a URL"),
        (["AB", "--details-url", "https://a.b/c) [x](y"], {}, "must be a URL"),
        (["AB", "-o", "/proc/x/y.md"], {}, "/proc/x/y.md cannot be written"),
        (["AB", "--pull-request", "7"], {}, "no repository: give --repository OWNER/NAME"),
        (["AB", "--pull-request", "7", "--repository", "o/r"], {}, "GITHUB_TOKEN must be set to a token"),
        (["AB", "--pull-request", "x", "--repository", "o/r"], {"GITHUB_TOKEN": TOKEN}, "pull request 'x'"),
        (
            ["AB", "--pull-request", "7", "--repository", "o/r"],
            {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "http://example.org"},
            "use https",
        ),
        (["HUGE"], {}, "00 is no number; save it again"),
    ],
)
def test_what_cannot_be_used_is_a_line(tmp_path, capsys, monkeypatch, words, variables, text):
    (run,) = save(tmp_path, suite(1))
    huge = json.loads((tmp_path / ab(tmp_path)).read_text())
    huge["benchmarks"][0]["ratio"] = 10**400
    (tmp_path / "huge.json").write_text(json.dumps(huge))
    files = {"AB": ab(tmp_path), "RUN": str(run), "HUGE": str(tmp_path / "huge.json")}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    status, _, err = comment(capsys, *(files.get(word, word) for word in words))
    assert status == 2
    assert text in err
    assert err.count("\n") == 1
    assert TOKEN not in err


def test_without_the_library_nothing_is_asked_and_the_extra_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)  # as where it is not installed
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    words = [ab(tmp_path), "--repository", "o/r", "--pull-request", "7"]
    assert comment(capsys, *words) == (
        2,
        "",
        "gnnbench: --pull-request: aiohttp is not installed: pip install 'gnnbench[github]'\n",
    )
    assert comment(capsys, ab(tmp_path))[0] == 0


def test_a_refusal_of_github_is_exit_2(tmp_path, capsys, monkeypatch):
    with github() as server:
        server.failures = [None, {"status": 403, "message": "Resource not accessible by integration"}]
        monkeypatch.setenv("GITHUB_API_URL", server.root)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        status, _, err = comment(capsys, ab(tmp_path), "--repository", "o/r", "--pull-request", "7")
    assert status == 2
    assert "pull-requests: write" in err
    assert err.count("\n") == 1
