from statistics import median

import pytest
import torch

from gnnbench.engine.measure.clock import Call, ClockError

pytestmark = pytest.mark.cuda


@pytest.fixture(params=[True, False], ids=["flush", "keep"])
def clock(request):
    from gnnbench.engine.measure.cuda_clock import CudaClock

    return CudaClock(flush=request.param)


def test_device_time_has_no_gaps_in_which_the_gpu_waits_for_the_host(clock):
    x = torch.ones(1024, device="cuda")

    def launches():
        for _ in range(50):
            x.add_(1)
            sum(range(2000))  # the host takes longer than the kernel

    clock.block(Call(launches, (), {}), 5, 1)
    block = clock.block(Call(launches, (), {}), 5, 1)
    assert len(block.seconds) == 5
    assert 0 < block.device_seconds < 0.7 * min(block.seconds)


def test_a_short_kernel_is_timed_without_its_launch_also_where_nothing_keeps_the_gpu_busy_before(clock):
    x = torch.ones(4096, device="cuda")
    call = Call(x.add_, (1,), {})
    few, many = (
        median(clock.block(call, 1, calls).device_seconds / calls for _ in range(50)) for calls in (1, 20)
    )
    assert few < 3 * many


def test_what_never_ran_on_the_gpu_is_an_error_unless_no_input_is_there(clock):
    with pytest.raises(ClockError, match="the call ran no kernel there"):
        clock.check(Call(sum, ([1, 2],), {}))
    x, stream = torch.ones(1, device="cuda"), torch.cuda.Stream()

    def elsewhere():
        with torch.cuda.stream(stream):
            return torch.neg(x)

    clock.check(Call(torch.neg, (x,), {}))
    clock.check(Call(elsewhere, (), {}))
    type(clock)(flush=True, has_gpu_inputs=False).check(Call(sum, (range(100_000),), {}))


def test_a_round_of_a_long_kernel_is_as_long_by_the_host_as_by_the_gpu(clock):
    x = torch.randn(8192, 8192, device="cuda")
    block = clock.block(Call(torch.mm, (x, x), {}), 5, 1)
    assert 0.9 * min(block.seconds) < block.device_seconds <= max(block.seconds)


def test_an_empty_cache_is_slower_than_a_full_one(clock):
    x = torch.ones(2**20, device="cuda")  # 4 MiB, far below an L2 cache of today
    cold, warm = (
        min(one.block(Call(torch.sum, (x,), {}), 1, 1).device_seconds for _ in range(50))
        for one in (type(clock)(flush=True), type(clock)(flush=False))
    )
    assert warm < cold


def test_launches_are_the_same_for_the_same_work_and_the_clock_rate_is_that_of_a_gpu(clock):
    x, y = (torch.randn(size, device="cuda") for size in (1 << 20, 1 << 21))
    first, again, larger = (clock.launches(Call(torch.neg, (given,), {})) for given in (x, x, y))
    assert first == again != larger
    assert len(first) == 1
    assert 5e8 < clock.block(Call(torch.neg, (x,), {}), 1, 1).device_hertz < 4e9
