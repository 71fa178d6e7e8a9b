"""How strong a step appears by chance, in a series without one: by the number of its runs."""

import math

TAIL = 0.05
"""Share of series in which the strongest step exceeds the thresholds of `TAILS`."""
TAILS = {
    12: (5.1554, 2.3665, 0.0000, 0.0000),
    15: (6.3812, 2.7031, 0.0000, 0.0000),
    19: (7.3917, 3.2866, 5.3750, 1.4305),
    24: (8.2039, 3.4043, 6.4207, 1.5594),
    30: (9.1477, 3.6834, 7.2330, 1.6059),
    38: (9.8810, 3.7303, 7.8490, 1.8533),
    48: (10.2016, 3.6338, 8.2858, 1.6301),
    60: (10.3419, 4.1971, 9.2181, 2.0834),
    75: (11.0877, 3.6447, 9.5263, 2.5272),
    94: (11.7113, 4.0790, 10.2422, 2.1859),
    118: (12.0115, 4.0336, 10.2099, 2.1959),
    148: (12.2258, 3.4500, 10.7549, 2.2618),
    185: (12.5326, 3.8730, 11.3646, 2.5004),
    232: (12.4251, 3.2778, 12.1118, 2.3594),
    290: (13.1218, 3.5817, 12.2763, 2.7413),
    363: (12.9942, 3.1097, 12.1823, 2.0887),
    454: (13.7001, 2.8443, 12.9134, 2.0544),
    568: (13.6747, 2.7493, 13.3707, 2.6402),
    710: (13.7670, 2.7612, 13.5200, 2.3669),
    888: (13.3308, 2.2313, 14.1068, 2.5289),
    1110: (13.8885, 2.5953, 13.7082, 2.8981),
    1388: (14.2478, 2.3348, 14.6327, 2.2688),
    1735: (14.3263, 2.1126, 14.9474, 2.2666),
    2169: (14.6623, 2.9159, 15.2894, 2.4951),
    2712: (15.2422, 2.1207, 16.2782, 2.4528),
}
"""By number of runs: threshold of the step's squared error, mean excess over it, both of its rank evidence.

`experiments/trend/penalties.py` simulates them. Above the thresholds, evidence is distributed exponentially.
Other lengths use the next longer one.
"""
LONGEST = max(TAILS)


def penalties(runs: int, level: float) -> tuple[float, float]:
    """Return what the strongest step of a series without steps exceeds with probability `level`.

    Args:
        runs: number of runs, at least 1.
        level: below `TAIL`.

    Returns:
        The reduction of the squared error, in units of the noise's long-run variance, and the rank evidence.
    """
    squares, excess, ranks, excess_of_ranks = next(
        (tail for length, tail in TAILS.items() if runs <= length), TAILS[LONGEST]
    )
    excesses = math.log(TAIL / level)
    longer = 2 * math.log(max(runs / LONGEST, 1))  # more than the thresholds grow
    return squares + excess * excesses + longer, ranks + excess_of_ranks * excesses + longer
