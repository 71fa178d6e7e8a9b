import gc

import pytest

from gnnbench.measure.garbage import collector_paused


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_left_as_it_was(collecting):
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()
