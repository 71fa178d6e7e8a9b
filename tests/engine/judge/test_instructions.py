from gnnbench.engine.judge.instructions import InstructionChange
from gnnbench.engine.measure.instructions import Instructions


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
