"""The import of each library, which a user waits for before anything is computed.

Every script, test and worker process pays for a slow import. Since version 2.7, PyG also imports its `llm`
package and pandas, which takes 0.15 s (pyg#10772). A fresh interpreter is timed, from start to exit.
"""

import pytest


@pytest.mark.whole_call("it starts an interpreter")
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.operations("cold_import")
def test_import(case, kernel, measure):
    """Import a platform's last package. For all platforms but torch, this imports torch, too."""
    measure(kernel.run, kernel.build(case), result=kernel.result)
