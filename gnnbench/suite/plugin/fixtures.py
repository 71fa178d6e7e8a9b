"""Fixtures for benchmarks of graph kernels: the graph, the inputs, and `measure`, which checks and times.

They work wherever `gnnbench[pyg]` is installed, in tests with the marker `operations`. A suite's own fixture
of the same name replaces the one here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ...engine.ground import codec, environment
from ...engine.ground.errors import UsageError
from ...engine.ground.files import cache_folder
from ...engine.ground.packages import is_installed
from ...engine.measure.definition import definition_hash
from ...engine.plugin.session import options_of, session_environment, settings_of, stop
from ...engine.process.variants.collected import CHECKED, WHOLE_CALL, marked
from ...engine.store.parts import FORMAT_VERSION, GraphPart
from .. import counter_baseline, operations, platforms
from ..platforms import Kernel, Result
from ..spec import AUTOCAST, FORWARD, FORWARD_BACKWARD, Spec
from .session import COUNTED, run_of

if TYPE_CHECKING:
    from ...engine.ground.labels import Rates
    from ...engine.measure.clock import Call
    from ..case import Case
    from ..definitions import Reference
    from ..graphs.graph import Graph
    from ..kept_reference import KeptReference
    from ..training import Training


@pytest.fixture(scope="session")
def graph(request: pytest.FixtureRequest) -> "Graph":
    """The graph in the test's id, loaded once."""
    from ..graphs.load import load

    if not hasattr(request, "param"):
        pytest.fail("gnnbench: the fixtures need a marker: add @pytest.mark.operations(NAME)", pytrace=False)
    run = run_of(request.config)
    try:
        return load(run.datasets[request.param], run.options.data_root, cache_folder())
    except UsageError as error:
        stop(error, request.config)


@pytest.fixture
def case(
    operation: str,
    direction: str,
    platform: str,
    dtype: str,
    index_dtype: str,
    graph: "Graph",
    hidden: int,
    device: str,
) -> "Iterator[Case]":
    """The test's spec and graph, from which inputs are built; skips the test if a limit rules it out."""
    from ..case import Case

    spec = Spec(operation, direction, platform, dtype, index_dtype, graph.name, hidden, device)
    built_in = operations.OPERATIONS.get(operation)
    if built_in and (reason := built_in.why_not_on(graph, spec)):
        pytest.skip(reason)
    # PyG with pyg-lib is a platform of its own, pyg_lib.
    hides_pyg_lib = platform == "pyg" and built_in and built_in.with_pyg_lib and is_installed("pyg_lib")
    with platforms.without_pyg_lib() if hides_pyg_lib else nullcontext():
        yield Case(spec, graph)


@pytest.fixture
def library(platform: str, device: str) -> ModuleType:
    """The platform's module; skips the test if the library does not work on the device."""
    if reason := platforms.why_not_on(platform, device):
        pytest.skip(reason)
    return platforms.load(platform)


@pytest.fixture
def kernel(library: ModuleType, platform: str, operation: str) -> Kernel:  # noqa: ARG001
    """The platform's kernel: `build(case)` makes its graph structure, `run(structure, ...)` is timed."""
    return operations.OPERATIONS[operation].kernel(platform)


@pytest.fixture
def training(case: "Case", library: ModuleType) -> "Training":
    """The platform's model, optimiser and tensors for an epoch."""
    from ..training import prepare

    return prepare(case, library)


@pytest.fixture
def reference() -> SimpleNamespace:
    """The float64 definitions that kernels are checked against: `reference.spmm_sum`."""
    return operations.REFERENCES


@pytest.fixture(scope="session")
def kept_reference() -> "KeptReference":
    """The last reference that was computed, for the other platforms and directions of its operation."""
    from ..kept_reference import KeptReference

    return KeptReference()


@pytest.fixture(scope="session")
def rates(request: pytest.FixtureRequest, device: str) -> "Callable[[str], Rates]":
    """The function that returns a dtype's memory and arithmetic rates, measured once per machine."""
    from .. import roofline

    fields = (*environment.CONDITIONS, *environment.VERSIONS)
    machine = environment.name(session_environment(request.config), fields)
    return lambda dtype: roofline.rates(device, dtype, machine, cache_folder())


def _count(request: pytest.FixtureRequest, spec: Spec, call: "Call") -> None:
    """Store a call's counts for the report; fail the test if they differ from the baseline."""
    from ...engine.measure.benchmark_fixture import whole_call_reason
    from ...engine.measure.counters import count

    if reason := marked(request.node, WHOLE_CALL):
        pytest.skip(f"no counters: {whole_call_reason(reason)}")
    counters, root = count(call.__call__, spec.device), request.config.rootpath
    differences = counter_baseline.changes(root, spec, counters)
    request.node.stash[COUNTED] = entry = {
        "counts": counters.counts,
        "unsteady": counters.unsteady,
        "operators": counters.operators,
        "host_reads": counters.host_reads,
        "changed": differences,
        "ignored": None,
    }
    if run_of(request.config).options.counters == "update":
        return
    if differences is None and options_of(request.config).strict:
        differences = [counter_baseline.missing(root, spec.platform)]
    settings = settings_of(request.config)
    if differences and (rule := settings.rule("ignore", request.node.nodeid)):
        entry["ignored"] = f"{settings.reason(rule)}: {', '.join(differences)}"
    elif differences:
        pytest.fail(f"{spec.id}: {', '.join(differences)}", pytrace=False)


def _identity(case: "Case") -> dict[str, Any]:
    graph = case.graph
    sizes = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
    part = GraphPart(graph.content_hash, graph.name, graph.synthetic, *sizes)
    return {"version": FORMAT_VERSION, "spec": codec.encode(case.spec), "graph": codec.encode(part)}


@contextmanager
def _failing(spec: Spec, when: str = "") -> Iterator[None]:
    """Make the test fail with a one-line message if the block raises MismatchError."""
    from ..accuracy import MismatchError

    try:
        yield
    except MismatchError as error:
        raise pytest.fail.Exception(f"{when}{spec.id}: {error}", pytrace=False) from None


@pytest.fixture
def measure(
    request: pytest.FixtureRequest,
    case: "Case",
    library: ModuleType,
    rates: "Callable[[str], Rates]",
    kept_reference: "KeptReference",
    benchmark: Any,
) -> Callable[..., Any]:
    """Check a kernel against its reference, then time it; with --gnn-counters only count its work.

    `measure(run, *inputs, reference=function)` calls `run(*inputs)`, and its backward pass if the test's
    direction has one. The reference gets the graph and float64 copies of the floating-point tensors among the
    inputs; for a module, its weights [in, out] and then its biases. The default is the operation's reference.
    After the timing, the output of another call is checked.
    `result=function` takes the output and `inputs`, and returns the tensors to compare: see `Kernel.result`.
    """
    from ...engine.measure.clock import Call
    from ...engine.measure.conditions import cpu_threads
    from .. import roofline
    from ..backward import with_backward
    from ..verify import verify

    options = run_of(request.config).options

    def measure(
        run: Callable[..., Any],
        *inputs: Any,
        reference: "Reference | None" = None,
        result: Result | None = None,
    ) -> Any:
        spec = case.spec
        built_in = None if reference else operations.OPERATIONS.get(spec.operation)
        expected = built_in.reference if built_in else reference
        if "gnnbench" in benchmark.extra_info:
            reason = "measure was already called in this test: write a test for each kernel"
            pytest.fail(f"{spec.id}: {reason}", pytrace=False)
        if expected is None:
            reason = "has no reference: call measure(..., reference=function)"
            pytest.fail(f"operation '{spec.operation}' {reason}", pytrace=False)
        folders = (request.path.parent, Path(operations.__file__).parent, Path(platforms.__file__).parent)
        definition = definition_hash((request.function, expected), folders)
        part = benchmark.extra_info["gnnbench"] = _identity(case) | {"definition_hash": definition}
        benchmark.group = f"{spec.operation} {spec.direction} {spec.dataset}"
        run = case.call(run)
        is_checked = not (options.counters or getattr(request.config.option, CHECKED, False))

        def check() -> None:
            view = kept_reference.view(case.graph, spec.hidden, built_in)
            verify(case, library, run, inputs, expected, result=result, view=view, cache=kept_reference)
            benchmark.reference_error = max(case.errors, default=None)

        with cpu_threads(built_in.threads if built_in else None):
            with _failing(spec):
                if spec.direction == FORWARD_BACKWARD:
                    run, inputs = with_backward(library, run, inputs)
                if is_checked:
                    check()
            if options.counters:
                return _count(request, spec, Call(run, inputs, {}))
            output = benchmark(run, *inputs)
            # A training step depends on the earlier steps.
            if is_checked and benchmark.stats and spec.direction in (FORWARD, FORWARD_BACKWARD):
                benchmark.has_error = True  # so that the times are not saved
                with _failing(spec, "in a call after the timing: "):
                    check()
                benchmark.has_error = False
            # Autocast decides which values have two bytes, so the bytes are unknown.
            if "measurement" in part and built_in and built_in.reads_all and spec.dtype != AUTOCAST:
                work = roofline.least(case, run, inputs)
                seconds = part["measurement"]["location_ns"] / 1e9
                part["limit"] = codec.encode(roofline.limit(work, rates(spec.dtype), seconds))
        return output

    return measure
