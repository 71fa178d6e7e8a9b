import pytest

from gnnbench.shape import Maybe, fits


@pytest.mark.parametrize(
    ("shape", "right", "wrong"),
    [
        (str, ["", "a"], [None, 1, True, [], {}]),
        (int, [0, -1, 10**17], [None, True, 1.5, "1", 10**18, -(10**400)]),
        (bool, [True, False], [None, 0, 1, "true"]),
        (Maybe(int), [None, 3], ["3", [3]]),
        ([str], [[], ["a", "b"], ("a",)], [None, "ab", {"a": "b"}, ["a", 1]]),
        ({str: int}, [{}, {"a": 1}], [None, [], {"a": 1, "b": "2"}]),
        ({"a": int, "b": Maybe(str)}, [{"a": 1}, {"a": 1, "b": "x", "c": []}], [{}, {"a": 1, "b": 2}, []]),
        ({str: {str: [int]}}, [{"a": {"b": [1]}}], [{"a": {"b": 1}}, {"a": [1]}]),
    ],
)
def test_a_value_fits_a_shape_or_does_not(shape, right, wrong):
    assert all(fits(value, shape) for value in right)
    assert not any(fits(value, shape) for value in wrong)
