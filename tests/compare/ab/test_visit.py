import math

import numpy as np
import pytest

from gnnbench.compare.ab.visit import sample
from tests.compare.ab.test_evidence import visit


def test_a_sample_is_the_first_decile_and_the_turns_and_its_noise_is_that_of_repeated_visits():
    random = np.random.default_rng(1)
    found = [sample(visit(random, 1.05)) for _ in range(500)]
    ratios = np.array([(one.head - one.base, one.turns) for one in found])
    assert ratios.mean(axis=0) == pytest.approx(math.log(1.05), abs=0.003)
    repeated = np.cov(ratios.T)
    assert np.mean([one.noise for one in found], axis=0) == pytest.approx(repeated, rel=0.2)
    assert 0 < repeated[0, 1] < repeated[1, 1] < repeated[0, 0]
    decile = math.log(1e6) - 0.05 * 1.2816
    assert np.mean([one.base for one in found]) == pytest.approx(decile, abs=0.005)
