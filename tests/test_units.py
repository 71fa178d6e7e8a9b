import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.units import amount, article, duration, fraction, interval, level, seconds, size

FACTOR = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.05e-3, "1.05 ms"),
        (0.0123, "12.3 ms"),
        (0.456, "456 ms"),
        (1.0, "1.00 s"),
        (59.99, "60.0 s"),
        (7.5e-6, "7.50 µs"),
        (2.5e-7, "250 ns"),
        (0.9996e-3, "1.00 ms"),
        (9.999e-3, "10.0 ms"),
        (99.96e-6, "100 µs"),
        (3e-4, "300 µs"),
        (0.0, "0.00 ns"),
        (1e-7, "100 ns"),
    ],
)
def test_examples(value, text):
    assert seconds(value) == text


def test_articles():
    assert list(map(article, ("run file", "ab file", "export"))) == ["a run file", "an ab file", "an export"]


@given(st.floats(1e-9, 999))
def test_three_significant_digits(value):
    number, unit = seconds(value).split()
    assert sum(character.isdigit() for character in number) == 3
    assert number[0] != "0"
    assert float(number) * FACTOR[unit] == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (300 << 20, "300 MiB"),
        (5 << 30, "5.0 GiB"),
        (1 << 60, "1048576 TiB"),
    ],
)
def test_sizes(count, text):
    assert size(count) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0.0%"), (0.0123, "1.2%"), (0.0994, "9.9%"), (0.0999, "10%"), (24.3, "2430%")]
)
def test_fractions(value, text):
    assert fraction(value) == text


def test_an_interval_of_which_hardly_anything_is_known_is_short():
    assert interval(0.978, 1.0312) == "0.98-1.03"
    assert interval(0.978, 1.0312, 3) == "0.978-1.031"
    assert interval(1e-9, 1e9) == "0.00-over 100"
    assert interval(None, None) == ""


def test_a_level_is_never_rounded_up_to_certainty():
    assert [level(value) for value in (0.95, 0.99, 0.9975, 1 - 0.01 / 3)] == [
        "95%",
        "99%",
        "99.75%",
        "99.6667%",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (3540, "59 min"), (4200, "1 h 10 min")],
)
def test_times_to_wait_for(seconds, text):
    assert duration(seconds) == text


def test_amounts():
    numbers = (0, 999, 1000, 47_300, 2_100_000, 120_000_000, 3 * 10**9)
    assert [amount(one) for one in numbers] == ["0", "999", "1.0 k", "47 k", "2.1 M", "120 M", "3.0 G"]
