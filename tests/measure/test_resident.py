import sys

import pytest

from gnnbench.measure import resident

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
MIB = 2**20


def test_growth_is_what_a_call_needs_at_one_time():
    def one_after_the_other():
        for _ in range(4):
            bytearray(32 * MIB)

    for _ in range(2):  # what the call before gave back is not hidden
        assert 30 * MIB < resident.growth_bytes(one_after_the_other) < 40 * MIB
    assert resident.growth_bytes(lambda: None) < MIB


def test_small_objects_count_too():
    """A little less than they need, if the process has memory left of earlier objects."""
    assert 80 * MIB < resident.growth_bytes(lambda: [bytearray(1000) for _ in range(100_000)]) < 150 * MIB


def test_a_system_that_cannot_tell(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(resident, "_RESET", tmp_path / "proc" / "clear_refs")
    assert resident.growth_bytes(lambda: ran.append(1)) is None
    assert ran == [1]
