from collections import OrderedDict, deque

import pytest

from gnnbench.measure.containers import filled, lengths, newest


class Owner:
    """Refers to a dictionary of numbers, which is not tracked."""

    def __init__(self):
        self.numbers = {0: 0.5}


@pytest.mark.usefixtures("few_objects")
def test_the_container_with_most_new_items():
    owner, other = Owner(), [0.5]
    before = lengths()
    other.extend([0.5] * 300)
    owner.numbers.update(dict.fromkeys(range(500), 0.5))
    assert filled(before, 400) is owner.numbers
    assert filled(before, 600) is None


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ([1, 2, 3], [3, 2]),
        (deque([1, 2, 3], maxlen=3), [3, 2]),
        ({1: "a", 2: "b", 3: "c"}, [3, "c", 2, "b"]),
        (OrderedDict({1: "a", 2: "b"}), [2, "b", 1, "a"]),
        ({7}, [7]),
        ([], []),
    ],
)
def test_the_newest_items(container, expected):
    assert newest(container, 2) == expected
