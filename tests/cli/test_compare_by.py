import csv
import io
import json

import pytest

from tests import suite
from tests.report import contents
from tests.run_files import plain, save


@pytest.fixture
def files(tmp_path):
    return save(tmp_path, *(contents.family(seed) for seed in range(5)))


def test_each_form_goes_to_standard_output(files, call, tmp_path):
    saved = tmp_path / "along.json"
    status, out, _ = call("compare", "--by", "platform", *files, "--format", "json", "--json", saved)
    assert status == 0
    assert out == saved.read_text()
    found = json.loads(out)
    assert [one["value"] for one in found["means"]] == ["sparse", "torch", "dgl"]
    _, out, _ = call("compare", "--by", "platform", *files, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(row["ratio"]) for row in rows] == [row["ratio"] for row in found["rows"]]
    out = call("compare", "--by", "platform", *files, "--format", "markdown")[1]
    assert call("compare", "--by", "platform", *files, "--markdown")[1] == out


def test_where_nothing_can_be_compared_the_status_is_3(files, call, tmp_path):
    status, out, _ = call("compare", "--by", "dtype", files[0])
    assert status == 3
    assert "12 benchmarks without a row" in out
    assert call("compare", "--by", "platform", "--strict", files[0])[0] == 3
    (empty,) = save(tmp_path, plain(1))
    assert call("compare", "--by", "platform", empty)[0] == 2


def test_a_suite_of_another_project_by_its_parameter(tmp_path, call):
    """Two real processes of pytest-benchmark, without options of gnnbench."""
    (tmp_path / "test_join.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('n', [10, 1000])\n"
        "@pytest.mark.parametrize('join', [''.join, ','.join, sorted])\n"
        "def test_join(benchmark, join, n):\n"
        "    benchmark(join, ['a'] * n)\n"
    )
    names = [str(tmp_path / f"run-{number}.json") for number in (1, 2)]
    for name in names:
        ran = suite.run("--benchmark-json", name, *suite.SHORT, "test_join.py", cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout
    status, out, err = call("compare", "--by", "n", *names)
    assert status == 0, err
    assert "1000 / 10" in out
    assert "3 benchmarks" in out
    _, out, _ = call("compare", "--by", "join=sorted", *names, "--format", "csv")
    assert {row["base_join"] for row in csv.DictReader(io.StringIO(out))} == {"sorted"}
