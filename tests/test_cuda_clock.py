import pytest
import torch

from gnnbench.clock import Call, ClockError

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture(params=[True, False], ids=["flush", "keep"])
def clock(request):
    from gnnbench.cuda_clock import CudaClock

    return CudaClock(flush=request.param)


def test_wall_time_contains_device_time(clock):
    x = torch.ones(4096, 4096, device="cuda")
    block = clock.block(Call(torch.matmul, (x, x), {}), 5, 2)
    assert len(block.seconds) == len(block.device_seconds) == 5
    assert all(0 < device <= wall for wall, device in zip(*block, strict=True))


def test_what_never_ran_on_the_gpu_is_an_error(clock):
    with pytest.raises(ClockError, match="no kernel of this call ran there"):
        clock.check(Call(sum, ([1, 2],), {}))
    clock.check(Call(torch.neg, (torch.ones(1, device="cuda"),), {}))
