"""What the check of a division into parts must find."""

import pytest
import torch

from gnnbench.workloads import platforms
from gnnbench.workloads.operations import metis
from gnnbench.workloads.verify import MismatchError, verify
from tests.workloads.test_operations import workload_of

MUTANTS = {
    "at random": lambda parts: torch.arange(len(parts)) % 8,
    "one part": torch.zeros_like,
    "a large part": lambda parts: parts.where(parts > 2, 2),
    "without a node": lambda parts: parts[1:],
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_check_finds(mutant, make_case):
    case, module = make_case("metis_partition", "dgl"), platforms.load("dgl")
    run, inputs, result = workload_of(case, module)
    verify(case, module, run, inputs, metis.reference, result=result)
    with pytest.raises(MismatchError, match="wrong"):
        verify(
            case, module, lambda graph: MUTANTS[mutant](run(graph)), inputs, metis.reference, result=result
        )
