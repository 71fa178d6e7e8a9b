from dataclasses import replace

import pytest
import torch

from gnnbench.errors import UsageError
from gnnbench.profile import kinds, record
from gnnbench.profile.findings import find
from gnnbench.workloads.spec import Spec
from tests.profile.subjects import subject_of


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    weight = torch.ones(8, 8, requires_grad=True)
    subject = subject_of(lambda: (weight @ weight).sum().backward(), "cpu", 2)
    sections, unavailable = kinds.take(tuple(kinds.KINDS), subject, tmp_path_factory.mktemp("profile"))
    return record.ProfileRecord(
        id="test_a.py::test_b[x]",
        spec=None,
        environment={"cpu": "x"},
        repeats=2,
        sections=sections,
        unavailable=unavailable,
        findings=find(sections),
    )


def test_what_is_written_is_read_again(taken, tmp_path):
    record.write(taken, tmp_path)
    found = record.read(tmp_path)
    assert found == record.read(tmp_path / "profile.json") == taken
    assert list(found.sections) == list(taken.sections)
    assert set(record.Sections.__annotations__) == {*kinds.KINDS, "counts"}


def refused(tmp_path, text):
    path = tmp_path / "profile.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        record.read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "profile again" in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON, or cut off"),
        (b"\xff\xfe\x00", "not JSON, or cut off"),
        ("[]", "not a profile, a profile.json"),
        ('{"benchmarks": []}', "not a profile, a profile.json"),
        ('{"version": 2, "sections": {}}', "version 2 of the format, and this gnnbench reads 1"),
        ('{"sections": {}}', "version None of the format"),
        ('{"version": 1, "sections": {}}', "damaged at $"),
    ],
)
def test_what_is_no_profile_is_refused_with_place_and_reason(tmp_path, text, message):
    assert message in refused(tmp_path, text)


def test_an_operations_former_name_is_read_as_the_one_of_today(taken, tmp_path):
    spec = Spec("add_self_loops", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")
    name = "test_self_loops.py::test_self_loops[add_self_loops-forward-pyg-float32-int64-cora-256-cpu]"
    record.write(replace(taken, id=name, spec=spec), tmp_path)
    found = record.read(tmp_path)
    assert found.id == name.replace("[add_self", "[add_remaining_self")
    assert found.spec == replace(spec, operation="add_remaining_self_loops")
