import json

import pytest
import torch

from gnnbench.errors import UsageError
from gnnbench.profile import kinds
from gnnbench.profile.subject import Subject


def subject():
    layer = torch.nn.Linear(8, 8)
    x = torch.ones(16, 8)
    return Subject(lambda: layer(x).sum().backward(), "cpu", 2)


@pytest.mark.parametrize("given", [["phases", "trace"], ["phases,trace"], [" phases , trace,", "phases"]])
def test_names_are_repeated_or_comma_separated(given):
    assert kinds.parse(given) == ("phases", "trace")


def test_a_wrong_name_is_told_those_there_are():
    with pytest.raises(UsageError) as caught:
        kinds.parse(["phases,fases"])
    assert str(caught.value) == f"unknown kind of profile 'fases': there are {', '.join(kinds.KINDS)}"


@pytest.mark.parametrize("name", [name for name in kinds.KINDS if name != "kernels"])
def test_each_kind_is_a_module_whose_table_fits_a_terminal(tmp_path, name):
    sections, unavailable = kinds.take([name], subject(), tmp_path)
    assert (list(sections), unavailable) == ([name, "counts"], {})
    saved = json.loads(json.dumps(sections, allow_nan=False))
    table = kinds.load(name).table(saved[name])
    assert max(map(len, table.splitlines())) <= 80
    assert table == table.rstrip()


def test_what_is_unavailable_is_said_and_the_others_are_taken(tmp_path):
    sections, unavailable = kinds.take(["kernels", "phases"], subject(), tmp_path)
    assert list(sections) == ["phases", "counts"]
    assert "CUDA" in unavailable["kernels"] or "cuda" in unavailable["kernels"]
    assert kinds.take(["kernels"], subject(), tmp_path)[0] == {}


def test_the_first_call_is_the_first_kinds_cold_one_and_the_counts_come_last(tmp_path):
    calls = []
    sections, _ = kinds.take(["phases"], Subject(lambda: calls.append(0), "cpu", 3), tmp_path)
    (whole,) = sections["phases"]["rows"]
    assert len(whole["total_ns"]) == 3
    assert len(calls) == 1 + 3 + 3 + 1, "cold, with ranges, without, counted"
