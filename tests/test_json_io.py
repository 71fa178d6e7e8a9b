import math

import pytest

from gnnbench import json_io

NONE = [
    True,
    None,
    "1",
    "\u202e\n" * 100,
    [1],
    {},
    [[[[[[[[1]]]]]]]],
    10**401,
    -(10**4000),
    math.inf,
    math.nan,
]


def refused(check, value):
    with pytest.raises(ValueError, match="is no") as caught:
        check(value)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 80


@pytest.mark.parametrize("value", NONE)
def test_what_is_no_number_is_one_short_line(value):
    refused(json_io.finite, value)
    refused(json_io.positive, value)


@pytest.mark.parametrize("value", [0, -1, 1e18, 1e-18, 1e300, 5e-324, 10**20])
def test_a_time_is_within_reason(value):
    assert json_io.finite(value) == value
    refused(json_io.positive, value)


@pytest.mark.parametrize("value", [1, 1e-17, 1e17, 10**17])
def test_a_number_is_returned_as_a_float(value):
    for check in (json_io.finite, json_io.positive):
        found = check(value)
        assert isinstance(found, float)
        assert found == value
