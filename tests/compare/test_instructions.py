from gnnbench.engine.judge.instructions import InstructionChange
from gnnbench.engine.measure.instructions.counting import Instructions


def change(base, head, **functions):
    sides = ({name: counts[side] for name, counts in functions.items()} for side in (0, 1))
    return InstructionChange.between(*map(Instructions, (base, head), (0.0, 0.0), sides))


def test_noise_is_no_change():
    assert not change(1_000_000, 1_002_900)
    assert change(1_000_000, 1_003_100)
    assert change(1_000_000, 996_900)
    # Calls that differ widen the noise.
    base, head = Instructions(1_000_000, 0.2), Instructions(1_150_000)
    assert not InstructionChange.between(base, head)
    assert InstructionChange.between(base, Instructions(1_250_000))


def test_functions_with_most_of_the_change_are_named():
    found = change(
        10_000_000,
        12_100_000,
        **{"p:f": (5_000_000, 7_000_000), "p:g": (10, 110_000), "q:h": (900_000, 400_000)},
    )
    assert [one.name for one in found.functions] == ["p:f", "q:h"]
    assert found.sentence() == (
        "+21.0% instructions (10 M to 12 M): +2.0 M (+40%) in f (p), -500 k (-56%) in h (q)"
    )


def test_python_functions_come_first_without_their_modules():
    base = Instructions(1_000_000, functions={"c:x": 1_000_000}, frames={"a.b:C.forward": 800_000})
    head = Instructions(3_100_000, functions={"c:x": 3_100_000}, frames={"a.b:C.forward": 2_900_000})
    assert InstructionChange.between(base, head).sentence() == (
        "+210.0% instructions (1.0 M to 3.1 M): +2.1 M (+262%) in C.forward; +2.1 M (+210%) in x (c)"
    )


def test_a_function_that_moved_to_another_module():
    base = Instructions(1_000, frames={"a.scatter:scatter": 700, "a.conv:C.f": 300})
    head = Instructions(1_500, frames={"a._scatter:scatter": 710, "a.conv:C.f": 790})
    assert [str(one) for one in InstructionChange.between(base, head).frames] == ["+490 a.conv:C.f"]
