"""What a comparison says when its sides are swapped."""

import pytest

_OTHER = {"slower": "faster", "faster": "slower"}


def check(forward, backward):
    """Check that a judgement is the other's mirror, and that its intervals contain each other."""
    assert _OTHER.get(forward.verdict, forward.verdict) == backward.verdict
    if forward.low is not None:
        assert forward.low == pytest.approx(1 / backward.high, rel=1e-6, abs=1e-300)
        assert forward.minimum_detectable_effect == pytest.approx(backward.minimum_detectable_effect)
        assert forward.low <= forward.own_low <= forward.ratio <= forward.own_high <= forward.high
