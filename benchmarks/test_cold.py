"""What a user waits for before anything is computed: imports.

A slow import is paid by each script, test and worker process: since PyG 2.7 `import torch_geometric` imports
its `llm` part and pandas, 0.15 s more (pyg#10772). It runs in a fresh interpreter, from its start to its end.
"""

import pytest


@pytest.mark.whole_call("it starts an interpreter")
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.operations("cold_import")
def test_import(case, kernel, measure):
    """The library's last package; torch is part of the others."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
