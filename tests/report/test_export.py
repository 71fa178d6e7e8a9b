"""The formats of other tools, checked against schemas in tests/data/formats."""

import csv
import io
import json

import jsonschema
import pytest

from gnnbench.errors import UsageError
from gnnbench.report import export
from tests.report import contents
from tests.run_files import content, entry, plain, save, suite
from tests.suite import ROOT

FORMATS = ROOT / "tests" / "data" / "formats"


def exported(folder, whole):
    (path,) = save(folder, whole)
    return export.read(path)


def follows(found, name):
    schema = json.loads((FORMATS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)


@pytest.mark.parametrize("whole", [suite(1), plain(1), plain(1, data=False), contents.family(1)])
def test_each_kind_of_run_follows_the_published_formats(tmp_path, whole):
    found, left_out = exported(tmp_path, whole)
    assert (len(found), left_out) == (len(whole["benchmarks"]), [])
    follows(export.bencher(found), "bencher")
    follows(export.github_action_benchmark(found), "github-action-benchmark")


def test_an_interval_that_is_missing_is_left_out(tmp_path):
    found, _ = exported(tmp_path, content(entry("b", blocks=4)))
    (latency,) = (one["latency"] for one in export.bencher(found).values())
    assert latency.keys() == {"value"}
    (one,) = export.github_action_benchmark(found)
    assert "range" not in one
    assert one["extra"].startswith("first decile of block medians")
    assert "interval" not in one["extra"]


def test_a_parameter_that_is_called_as_a_column_has_another_name(tmp_path):
    whole = plain(1)
    whole["benchmarks"][0] |= {"params": {"level": 3, "n": 1}, "param": "3-1"}
    first, second, *_ = csv.DictReader(io.StringIO(export.csv(exported(tmp_path, whole)[0])))
    assert (first["param_level"], first["n"], first["level"]) == ("3", "1", "0.95")
    assert (second["param_level"], second["peak_bytes"]) == ("", "")


def test_benchmarks_without_a_time_are_counted(tmp_path):
    whole = suite(1)
    whole["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]["processes"][0]["blocks_ns"] = []
    whole["gnnbench"]["incomplete"] = [{"fullname": "test_a.py::cut"}]
    found, left_out = exported(tmp_path, whole)
    assert (len(found), left_out) == (5, ["2 benchmarks without a time left out"])
    with pytest.raises(UsageError, match="no benchmark in it has a time"):
        exported(tmp_path, content())


@pytest.mark.parametrize("name", ["n" * 1025, " b", ""])
def test_a_name_that_bencher_does_not_take_is_refused(tmp_path, name):
    found, _ = exported(tmp_path, content(entry("b") | {"fullname": name}))
    with pytest.raises(UsageError, match="Bencher does not take the name"):
        export.bencher(found)


def test_a_name_of_any_characters_can_be_written(tmp_path):
    found, _ = exported(tmp_path, content(entry("b") | {"fullname": 'a.py::b[\ud800\x1b,"\n]'}))
    assert export.csv(found).encode()
    assert json.dumps([export.bencher(found), export.github_action_benchmark(found)]).encode()
