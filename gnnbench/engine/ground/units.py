"""Writes times, sizes, fractions and intervals as text, and reads some of them from text."""

import math
import re
from collections.abc import Sequence

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_LEAST_RATIO, _MOST_RATIO = 0.1, 100
"""Ratios below the first are inverted (`370x faster`). An upper bound above the second times the lower bound
(at least 1) is cut: `over 100`."""
_MINUTE, _HOUR = 60, 3600
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+) *([^\W\d_]+)")


def seconds(value: float) -> str:
    """Write a time in seconds with three significant digits: `1.05 ms`."""
    value = float(f"{value:.3g}")  # before the unit is chosen: 999.6 µs becomes 1.00 ms
    divisor, unit = scale(value)
    scaled = float(f"{value / divisor:.3g}")  # again: 1e-7 / 1e-9 is 99.99999999999999
    digits = max(0, 3 - len(str(int(scaled))))
    return f"{scaled:.{digits}f} {unit}"


def duration(value: float) -> str:
    """Write a waiting time, given in seconds: `40 s`, `5 min`, `1 h 10 min`."""
    if value < 2 * _MINUTE:
        return f"{value:.0f} s"
    hours, minutes = divmod(round(value / _MINUTE), _HOUR // _MINUTE)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def scale(value: float) -> tuple[float, str]:
    """Return the unit to write a time in, as its length in seconds and its name: `(0.001, "ms")`."""
    return next((row for row in _TIMES if value >= row[0]), _TIMES[-1])


def size(count: int) -> str:
    """Write a number of bytes: `1.4 GiB`, `124 MiB`."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_SIZES) - 1)
    scaled = count / 2 ** (10 * power)
    return f"{scaled:.{1 if power and abs(scaled) < 100 else 0}f} {_SIZES[power]}"  # noqa: PLR2004 - three digits


def fraction(value: float) -> str:
    """Write a fraction as a percentage: `0.4%`, `12%`."""
    percent = 100 * value
    return f"{percent:.1f}%" if percent < 9.95 else f"{percent:.0f}%"  # noqa: PLR2004 - where 10 begins


def amount(number: int) -> str:
    """Write a number that may be large: `120`, `47 k`, `2.1 M`."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.{1 if number < 10 * size else 0}f} {unit}"
    return str(number)


def level(value: float) -> str:
    """Write a confidence level without rounding it up to 100%: `99%`, `99.75%`."""
    return f"{100 * value:.6g}%"


def count(number: int, noun: str) -> str:
    """Write a number of things: `1 benchmark`, `1,200 processes`."""
    plural = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural}"


def listed(names: Sequence[str], most: int) -> str:
    """Write at most `most` names, and the number of the others: `a, b and 3 more`."""
    remainder = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{remainder}"


def ratio(value: float | None, less: str = "faster", digits: int = 2, *, changed: bool | None = False) -> str:
    """Write a ratio: `1.22x`, `0.85x`, `25.3x`, `370x`; below a tenth, the other way round: `370x faster`.

    Args:
        less: what a ratio below 1 means; empty if the text next to it says so.
        changed: whether the ratio is known to differ from 1, so that it is never written as 1: `1.002x`. None
            if it has no interval, so that it ends in a question mark: `1.22x?`.
    """
    if value is None:
        return ""
    if changed is None:
        return f"{ratio(value, less, digits)}?"
    if value < _LEAST_RATIO:
        return f"{ratio(1 / value) if value > 0 else 'infinitely'} {less}".rstrip()
    rounded = float(f"{value:.3g}")
    digits = digits if rounded < 10 else 1 if rounded < 100 else 0  # noqa: PLR2004
    return f"{_beside_one(value, digits) if changed else f'{value:,.{digits}f}'}x"


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """Write an interval of ratios: `0.98-1.03`, `0.0025-0.0029`, `0.01-over 100`; empty without bounds.

    A bound has more than `digits` digits after the point if they are needed to show on which side of 1 the
    bound lies: `1.002-1.49`.
    """
    if low is None or high is None:
        return ""
    if 0 < high < _LEAST_RATIO:
        digits = 1 - math.floor(math.log10(high))
    most = _MOST_RATIO * max(low, 1)
    upper = _beside_one(high, digits) if high <= most else f"over {most:,.0f}"
    return f"{_beside_one(low, digits)}-{upper}"


def read_seconds(text: str) -> float | None:
    """Read a time such as `5 ms`, `5 us` or `5 m`, in seconds. Returns None if it is no positive time."""
    match = _QUANTITY.fullmatch(text.strip())
    units = {name: length for length, name in _TIMES} | {"us": 1e-6, "m": _MINUTE, "min": _MINUTE, "h": _HOUR}
    # Some keyboards write the Greek letter instead of the sign for micro.
    length = units.get(match[2].replace("\u03bc", "µ")) if match else None
    value = float(match[1]) * length if match and length else 0.0
    return value if 0 < value < math.inf else None


def read_fraction(text: str) -> float | None:
    """Read `3%` or `0.03` as 0.03. Returns None if the text is no number between 0 and 1."""
    number, percent, suffix = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        return None
    return value if not suffix and 0 < value < 1 else None


def _beside_one(value: float, digits: int) -> str:
    """Write a number with `digits` digits after the point, or more if needed to show its side of 1."""
    while value != 1 and float(f"{value:.{digits}f}") == 1:
        digits += 1
    return f"{value:,.{digits}f}"
