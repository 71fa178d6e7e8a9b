import json
import re

import pytest
import torch

from gnnbench.engine.measure.seam import Pedantic
from gnnbench.engine.profile import KINDS, kinds
from gnnbench.engine.profile.kinds import Subject
from tests.profile.subjects import subject_of, table, widest

ON_CPU = [name for name in KINDS if name != "kernels"]


@pytest.mark.parametrize("name", ON_CPU)
def test_what_makes_a_call_ready_is_in_no_profile_and_each_table_fits_a_terminal(tmp_path, name):
    layer, x = torch.nn.Linear(8, 8), torch.ones(16, 8)
    ready_for = []

    def preparation():
        x.cumsum(0).tan()

    def ready():
        assert not ready_for
        preparation()
        ready_for.append("a call")

    def done():
        assert not ready_for
        preparation()

    def call():
        ready_for.pop()
        return layer(x).sum().backward()

    sections, unavailable = kinds.take(
        [name], Subject(Pedantic(call, (), {}, ready, done), "cpu", 2), tmp_path
    )
    assert (list(sections), unavailable) == ([name, "counts"], {})
    text = json.dumps(sections, allow_nan=False)
    assert [word for word in ("preparation", "cumsum", "tan") if f'{word}"' in text] == []
    assert widest(table(name, json.loads(text)[name])) <= 80


def test_a_kind_calls_once_before_its_repeats_and_the_counts_come_last(tmp_path):
    calls = []
    subject = subject_of(lambda: calls.append(0), "cpu", 3)
    sections, unavailable = kinds.take(["kernels", "phases"], subject, tmp_path)
    assert list(sections) == ["phases", "counts"]
    assert re.fullmatch("profile kind 'kernels' needs CUDA: .+", unavailable["kernels"])
    (whole,) = sections["phases"]["rows"]
    assert len(whole["total_ns"]) == 3
    assert len(calls) == 1 + 3 + 1, "the first, with ranges, counted"
    assert kinds.take(["kernels"], subject, tmp_path)[0] == {}
