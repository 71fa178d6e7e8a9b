"""Imports, for which a user waits before anything is computed.

Each script, test and worker process pays for a slow import: since PyG 2.7 `import torch_geometric` imports
its `llm` part and pandas, 0.15 s more (pyg#10772). A fresh interpreter is timed, from its start to its end.
"""

import pytest


@pytest.mark.whole_call("it starts an interpreter")
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.operations("cold_import")
def test_import(case, kernel, measure):
    """The library's last package; torch is part of the others."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
