import json

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.clock import Block
from gnnbench.engine.measure.measurement import Measurement


def test_nanoseconds_per_call():
    measurement = Measurement("cuda", "sampled", iterations=4)
    measurement.add(Block([4e-3], 2e-3))
    assert measurement.blocks_ns == [[pytest.approx(1e6)]]
    assert measurement.processes[0].device_blocks_ns == [[pytest.approx(5e5)]]


def test_records_without_rounds_and_of_times_that_differ_by_orders_of_magnitude_can_be_read_again():
    measurement = Measurement("fake", "sampled")
    empty = codec.decode(json.loads(json.dumps(measurement.as_json())), Measurement)
    assert (empty.location_ns, empty.stopped_by) == (None, None)
    for exponent in range(15):
        measurement.add(Block([1e-6 * 2.0**exponent] * 3))
    saved = json.loads(json.dumps(measurement.as_json(), allow_nan=False))
    assert len(saved["processes"][0]["blocks_ns"]) == 15
    assert 0 < saved["low_ns"] < saved["location_ns"] < saved["high_ns"]
    assert codec.decode(saved, Measurement).low_ns == saved["low_ns"]
