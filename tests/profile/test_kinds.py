import json
from contextlib import contextmanager

import pytest
import torch

from gnnbench.errors import UsageError
from gnnbench.profile import kinds
from gnnbench.profile.subject import Subject

ON_CPU = [name for name in kinds.KINDS if name not in ("kernels", "instructions")]


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
    assert str(caught.value) == f"unknown kind of profile 'fases': choose from {', '.join(kinds.KINDS)}"


@pytest.mark.parametrize("name", ON_CPU)
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


def test_a_kind_calls_once_before_its_repeats_and_the_counts_come_last(tmp_path):
    calls = []
    sections, _ = kinds.take(["phases"], Subject(lambda: calls.append(0), "cpu", 3), tmp_path)
    (whole,) = sections["phases"]["rows"]
    assert len(whole["total_ns"]) == 3
    assert len(calls) == 1 + 3 + 3 + 1, "the first, with ranges, without, counted"


@pytest.mark.parametrize("name", ON_CPU)
def test_what_makes_a_call_ready_is_in_no_profile(tmp_path, name):
    x = torch.ones(8, requires_grad=True)
    ready_for = []

    def preparation():
        x.cumsum(0).sum().backward()

    @contextmanager
    def ready():
        assert not ready_for
        preparation()
        ready_for.append("a call")
        yield
        assert not ready_for
        preparation()

    def call():
        ready_for.pop()
        return x + 1

    sections, _ = kinds.take([name], Subject(call, "cpu", 2, ready), tmp_path)
    text = json.dumps(sections)
    assert [word for word in ("preparation", "cumsum", "backward") if word in text] == []
