import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.clock import Block
from gnnbench.engine.measure.measurement import Measurement


@given(st.lists(st.lists(st.floats(allow_nan=True), min_size=1, max_size=5), max_size=20))
def test_only_positive_times_are_taken_in(blocks):
    measurement = Measurement("fake", "sampled", iterations=2)
    for block in blocks:
        kept = measurement.add(Block(block))
        assert all(0 < seconds < math.inf for seconds in kept)
    values = [value for block in measurement.blocks_ns for value in block]
    assert all(value > 0 or value == pytest.approx(0) for value in values)
    assert not any(math.isnan(value) for value in values)
    assert measurement.rounds + measurement.rejected_rounds == sum(map(len, blocks))
    assert all(measurement.blocks_ns)


def test_nanoseconds_per_call():
    measurement = Measurement("cuda", "sampled", iterations=4)
    measurement.add(Block([4e-3, -1.0], 2e-3))
    assert measurement.blocks_ns == [[pytest.approx(1e6)]]
    assert measurement.processes[0].device_blocks_ns == [[pytest.approx(5e5)]]


def test_the_record_is_json_with_or_without_rounds():
    measurement = Measurement("perf_counter", "one", "asked for")
    empty = json.loads(json.dumps(measurement.as_json()))
    assert empty["location_ns"] is None
    assert empty["stopped_by"] is None
    for number in range(60):
        measurement.add(Block([1e-3 + number * 37 % 60 * 1e-6] * 3))
    record = json.loads(json.dumps(measurement.as_json(), allow_nan=False))
    assert record["low_ns"] <= record["location_ns"] <= record["high_ns"]
    assert len(record["processes"][0]["blocks_ns"]) == 60


def test_an_interval_of_times_that_differ_by_orders_of_magnitude_can_be_read_again():
    measurement = Measurement("fake", "sampled")
    for exponent in range(15):
        measurement.add(Block([1e-6 * 2.0**exponent] * 3))
    saved = measurement.as_json()
    assert 0 < saved["low_ns"] < saved["location_ns"] < saved["high_ns"]
    assert codec.decode(saved, Measurement).low_ns == saved["low_ns"]
