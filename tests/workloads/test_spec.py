from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from gnnbench.report.table import SHORT_DIRECTION
from gnnbench.workloads.spec import DIRECTIONS, Spec

SPEC = Spec("spmm_sum", "forward", "pyg", "float32", "int64", "cora", 256, "cpu")


def test_id_is_its_fields_in_order():
    assert SPEC.id == "spmm_sum-forward-pyg-float32-int64-cora-256-cpu"


def test_is_a_frozen_key():
    assert {SPEC: 1}[Spec(**asdict(SPEC))] == 1
    with pytest.raises(FrozenInstanceError):
        SPEC.hidden = 1


def test_every_field_is_part_of_the_identity():
    for field in asdict(SPEC):
        other = replace(SPEC, **{field: 1 if field == "hidden" else "other"})
        assert other != SPEC
        assert other.id != SPEC.id


def test_every_direction_has_a_short_name():
    assert set(SHORT_DIRECTION) == set(DIRECTIONS)
