"""An epoch of a GCN with DistributedDataParallel, in two processes of torchrun, each with half of the nodes.

Gradients are averaged over the processes, by gloo on CPUs and by NCCL on GPUs. The processes start once,
before anything is timed; the time is that of an epoch in both, and of the messages to them.
"""

import pytest


@pytest.mark.whole_call("two processes of torchrun train")
@pytest.mark.operations("epoch_ddp")
def test_ddp(case, measure):
    from gnnbench.workloads import torchrun
    from gnnbench.workloads.operations import epoch_ddp

    if reason := torchrun.why_not_on(case.spec.device):
        pytest.skip(reason)
    with torchrun.Processes(case) as processes:
        measure(epoch_ddp.run, processes, *epoch_ddp.inputs(case), result=epoch_ddp.checked(case))
