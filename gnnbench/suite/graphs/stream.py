"""Random numbers that do not depend on the machine or the NumPy version.

They use PCG64's raw 64-bit stream, which NumPy guarantees (its distributions may change between versions),
and integer arithmetic only.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

_HALF = np.uint64(32)


class Stream:
    """A seeded sequence of random integers."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.PCG64(seed)

    def raw(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` integers below 2**64: uint64 [count]."""
        return self._source.random_raw(count).astype(np.uint64, copy=False)

    def below(self, bound: int, count: int) -> Ints:
        """Return `count` integers in [0, bound), bound < 2**32: int64 [count].

        Lemire's method without rejection: probabilities differ from uniform by less than bound / 2**32.
        """
        return (((self.raw(count) >> _HALF) * np.uint64(bound)) >> _HALF).astype(np.int64)

    def chance(self, probability: float, count: int) -> NDArray[np.bool_]:
        """Return `count` booleans that are true with `probability`, rounded to 2**-32: bool [count]."""
        return (self.raw(count) >> _HALF) < np.uint64(int(probability * 2**32))

    def permutation(self, count: int) -> Ints:
        """Return 0 .. count - 1 in random order: int64 [count]."""
        return self.shuffled_groups(np.zeros(count, dtype=np.int64), 1)

    def shuffled_groups(self, group: Ints, groups: int) -> Ints:
        """Return positions sorted by group, numbers below `groups`, in random order within each: int64 [M].

        The sort key (group, random bits, position) is unique: every algorithm gives the same order.
        """
        position_bits = max(1, (len(group) - 1).bit_length())
        random_bits = 64 - position_bits - max(1, (groups - 1).bit_length())
        key = group.astype(np.uint64) << np.uint64(random_bits)
        key |= self.raw(len(group)) >> np.uint64(64 - random_bits)
        key <<= np.uint64(position_bits)
        key |= np.arange(len(group), dtype=np.uint64)
        key.sort()
        key &= np.uint64((1 << position_bits) - 1)
        return key.astype(np.int64)
