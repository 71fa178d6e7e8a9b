import copy
import json
from dataclasses import asdict
from importlib import resources

import jsonschema
import pytest
import torch

from gnnbench import environment
from gnnbench.errors import UsageError
from gnnbench.profile import kinds, record
from gnnbench.profile.subject import Subject
from gnnbench.schema import departure


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    weight = torch.ones(8, 8, requires_grad=True)
    subject = Subject(lambda: (weight @ weight).sum().backward(), "cpu", 2)
    sections, unavailable = kinds.take(tuple(kinds.KINDS), subject, tmp_path_factory.mktemp("profile"))
    here = asdict(environment.collect(device="cpu"))
    return record.compose("test_a.py::test_b[x]", None, here, 2, sections, unavailable)


def schema():
    return json.loads(resources.files("gnnbench").joinpath("schemas/profile.schema.json").read_text("utf-8"))


def test_what_is_written_is_read_again_and_follows_the_schema(taken, tmp_path):
    record.write(taken, tmp_path)
    found = record.read(tmp_path)
    assert found == record.read(tmp_path / "profile.json") == json.loads(json.dumps(taken))
    jsonschema.Draft202012Validator.check_schema(schema())
    assert departure(found, "profile") is None
    assert schema()["properties"]["version"]["const"] == record.VERSION
    assert set(schema()["properties"]["sections"]["properties"]) == {*kinds.KINDS, "counts"}


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
        ('{"version": 1, "sections": {', "not JSON, or cut off"),
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


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("sections", "phases", "rows", 0, "total_ns"), "long"),
        (("sections", "counts", "operators", 0, "count"), -1),
        (("sections", "phases", "rows", 0, "calls"), 1),
        (("sections", "phases", "rows", 0, "path"), []),
        (("sections", "nothing"), {}),
        (("findings",), [{"rule": "x"}]),
        (("repeats",), 0),
    ],
)
def test_what_was_changed_by_hand_is_refused_where_it_was(taken, tmp_path, place, value):
    changed = copy.deepcopy(taken)
    part = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    assert f"damaged at $.{place[0]}" in refused(tmp_path, json.dumps(changed))


def test_a_cut_file_is_refused_wherever_it_was_cut(taken, tmp_path):
    text = json.dumps(taken)
    for end in range(0, len(text) - 1, len(text) // 20):
        refused(tmp_path, text[:end])


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"profile\.json: cannot be read"):
        record.read(tmp_path)


def test_an_operations_former_name_is_read_as_the_one_of_today(taken, tmp_path):
    spec = {"operation": "add_self_loops", "direction": "forward", "platform": "pyg", "dtype": "float32"}
    spec |= {"index_dtype": "int64", "dataset": "cora", "hidden": 256, "device": "cpu"}
    name = "test_self_loops.py::test_self_loops[add_self_loops-forward-pyg-float32-int64-cora-256-cpu]"
    record.write({**taken, "id": name, "spec": spec}, tmp_path)
    found = record.read(tmp_path)
    assert found["id"] == name.replace("[add_self", "[add_remaining_self")
    assert found["spec"] == {**spec, "operation": "add_remaining_self_loops"}
