"""What a user waits for before anything is computed: imports, first calls of a layer, its compilation.

A slow import is paid by each script, test and worker process: since PyG 2.7 `import torch_geometric` imports
its `llm` part and pandas, 0.15 s more (pyg#10772). What only the first call does, such as rendering
templates, is seen in no benchmark that warms up. Imports and first calls (`cold_import`, `cold_layer`) run in
a fresh interpreter, from its start to its end; the difference between the two is the first call.
"""

import pytest

FRESH = pytest.mark.whole_call("it starts an interpreter")


@FRESH
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.operations("cold_import")
def test_import(case, kernel, measure):
    """The library's last package; torch is part of the others."""
    measure(kernel.run, kernel.build(case), result=kernel.result)


@FRESH
@pytest.mark.benchmark(min_rounds=3)
@pytest.mark.operations("cold_layer")
def test_layer(case, kernel, measure):
    """A script that imports, reads a graph from a file, makes a layer and calls it once."""
    width = case.spec.hidden
    measure(kernel.run, kernel.build(case), *case.weights(width, width), case.features())


@pytest.mark.whole_call("it starts a C++ compiler")
@pytest.mark.benchmark(min_rounds=1)
@pytest.mark.operations("cold_compile")
def test_compile(case, kernel, library, measure):
    """With empty caches, in this process. A note has the numbers of graphs and of graph breaks."""
    width = case.spec.hidden
    layer = library.layer(*case.weights(width, width), cached=False)
    measure(kernel.run, kernel.build(case), layer, case.features())


@pytest.mark.operations("conv_new_layer")
def test_new_layer(case, kernel, measure):
    """In this process, which has made such layers before: without what is cached for the class."""
    width = case.spec.hidden
    measure(kernel.run, kernel.build(case), *case.weights(width, width), case.features())
