"""Numbers as people read them."""

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float) -> str:
    """Write a time with three significant digits: `1.05 ms`."""
    value = float(f"{value:.3g}")  # first, so that 999.6 µs becomes 1.00 ms
    scale, unit = next((row for row in _TIMES if value >= row[0]), _TIMES[-1])
    scaled = value / scale
    digits = max(0, 3 - len(str(int(scaled))))
    return f"{scaled:.{digits}f} {unit}"
