import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.engine.ground.units import amount, duration, fraction, interval, level, ratio, seconds, size

FACTOR = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
TIMES = {0.9996e-3: "1.00 ms", 9.999e-3: "10.0 ms", 0.0: "0.00 ns", 1e-7: "100 ns"}


@given(st.floats(1e-9, 999))
def test_three_significant_digits(value):
    number, unit = seconds(value).split()
    assert sum(character.isdigit() for character in number) == 3
    assert number[0] != "0"
    assert float(number) * FACTOR[unit] == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        (seconds, TIMES),
        (size, {0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 300 << 20: "300 MiB", 1 << 60: "1048576 TiB"}),
        (fraction, {0: "0.0%", 0.0123: "1.2%", 0.0994: "9.9%", 0.0999: "10%", 24.3: "2430%"}),
        (duration, {0.4: "0 s", 119: "119 s", 150: "2 min", 3540: "59 min", 4200: "1 h 10 min"}),
        (amount, {0: "0", 999: "999", 1000: "1.0 k", 47_300: "47 k", 2_100_000: "2.1 M", 3 * 10**9: "3.0 G"}),
        # A level is never rounded up to certainty.
        (level, {0.95: "95%", 0.99: "99%", 0.9975: "99.75%", 1 - 0.01 / 3: "99.6667%"}),
        (ratio, {None: "", 0: "infinitely faster", 1e-4: "10,000x faster", 1 / 370.4: "370x faster"}),
        (ratio, {0.0996: "10.0x faster", 0.1: "0.10x", 1.004: "1.00x", 9.996: "10.0x", 99.96: "100x"}),
    ],
)
def test_what_is_written(written, texts):
    assert {value: written(value) for value in texts} == texts


def test_an_interval_of_which_hardly_anything_is_known_is_short():
    assert interval(0.978, 1.0312) == "0.98-1.03"
    assert interval(0.978, 1.0312, 3) == "0.978-1.031"
    assert interval(1e-9, 1e9) == "0.00-over 100"
    assert interval(0.00251, 0.00288) == "0.0025-0.0029"
    assert interval(1e-9, 2e-9) == "0.0000000010-0.0000000020"
    assert interval(1.002, 1.494) == "1.002-1.49", "it excludes 1"
    assert interval(0.71, 0.99996) == "0.71-0.99996"
    assert interval(1, 1.0) == "1.00-1.00"
    assert interval(1.002, 1e9) == "1.002-over 100"
    assert interval(120, 13_000) == "120.00-over 12,000"
    assert interval(None, None) == ""
