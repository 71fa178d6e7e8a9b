"""Fixtures of the suite: what is built once, and how a kernel is checked before it is timed."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from gnnbench import environment
from gnnbench.errors import UsageError
from gnnbench.files import cache_folder
from gnnbench.options import Options
from gnnbench.plugin.session import COUNTED, run_of, stop
from gnnbench.results import counter_baseline
from gnnbench.workloads import platforms
from gnnbench.workloads.graphs.locate import data_folder
from gnnbench.workloads.spec import FORWARD_BACKWARD, Spec

if TYPE_CHECKING:
    from torch import Tensor

    from gnnbench.measure.counters import Counters
    from gnnbench.workloads.case import Case
    from gnnbench.workloads.graphs.graph import Graph
    from gnnbench.workloads.reference import Reference
    from gnnbench.workloads.roofline import Rates
    from gnnbench.workloads.training import Training

environment.let_idle_threads_sleep()


def pytest_configure() -> None:
    """Refuse a GNNBENCH_DATA that is not there before anything is collected."""
    try:
        data_folder()
    except UsageError as error:
        raise pytest.UsageError(f"gnnbench: {error}") from None


@pytest.fixture(scope="session")
def graph(request: pytest.FixtureRequest) -> "Graph":
    """The graph that a test's id names, loaded once."""
    from gnnbench.workloads.graphs.load import load

    run = run_of(request.config)
    try:
        return load(run.datasets[request.param], run.options.data_root, cache_folder())
    except UsageError as error:
        mistake = str(error)
    # Outside of the handler: one line, without the story of what else was being handled.
    return stop(mistake, request.config)


@pytest.fixture(scope="session")
def weights(graph: "Graph", hidden: int) -> "list[tuple[Tensor, Tensor]]":
    """The weights and biases from which every platform's network starts, drawn once."""
    from gnnbench.workloads import gcn

    return gcn.initial_weights(gcn.widths(graph, hidden))


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
) -> "Case":
    """What a test's inputs are built from."""
    from gnnbench.workloads.case import Case

    return Case(Spec(operation, direction, platform, dtype, index_dtype, graph.name, hidden, device), graph)


@pytest.fixture
def library(platform: str, device: str) -> platforms.PlatformModule:
    """The platform's module, and with it the library."""
    if reason := platforms.why_not_on(platform, device):
        pytest.skip(reason)
    return platforms.load(platform)


@pytest.fixture
def kernel(library: platforms.PlatformModule, operation: str) -> platforms.Kernel:
    """How the platform does the operation: `build(case)` its structure, then `run(structure, ...)`."""
    return library.KERNELS[operation]


@pytest.fixture
def training(
    case: "Case", library: platforms.PlatformModule, weights: "list[tuple[Tensor, Tensor]]"
) -> "Training":
    """The platform's model, optimiser and tensors, ready for an epoch."""
    from gnnbench.workloads.training import prepare

    return prepare(case, library, weights)


@pytest.fixture
def reference() -> ModuleType:
    """The definitions in float64 that kernels are checked against."""
    from gnnbench.workloads import reference

    return reference


@pytest.fixture(scope="session")
def rates(request: pytest.FixtureRequest, device: str) -> "Callable[[str], Rates]":
    """The rates of this machine's memory and arithmetic in a dtype, measured once and kept in the cache."""
    from gnnbench.workloads import roofline

    gpu = run_of(request.config).options.gpu
    here = environment.name(asdict(environment.collect(device=device, gpu=gpu)))
    return lambda dtype: roofline.rates(device, dtype, here, cache_folder())


def _judge_counters(request: pytest.FixtureRequest, spec: Spec, found: "Counters", options: Options) -> None:
    """Fail the test where a workload does not do what the baseline has."""
    root = request.config.rootpath
    changed = counter_baseline.changes(root, spec.platform, spec.id, found.counts, found.unsteady)
    request.node.stash[COUNTED] = {
        "counts": found.counts,
        "unsteady": found.unsteady,
        "operators": found.operators,
        "host_reads": found.host_reads,
        "recorded": changed is not None,
    }
    if options.counters == "update":
        return
    if changed is None and options.strict:
        changed = [counter_baseline.missing(root, spec.platform)]
    if changed:
        pytest.fail(f"{spec.id}: {', '.join(changed)}", pytrace=False)


@pytest.fixture
def measure(
    request: pytest.FixtureRequest,
    case: "Case",
    library: platforms.PlatformModule,
    rates: "Callable[[str], Rates]",
    benchmark: Any,
) -> Callable[..., Any]:
    """Check a kernel against its reference, and time or profile it if it does its work; or count that work.

    `measure(run, *inputs, reference=function)` calls `run(*inputs)`, followed by its backward pass where the
    test's direction asks for one. The reference gets the graph and float64 copies of the floating-point
    tensors among the inputs; of a module its weights [in, out], then its biases.
    """
    from gnnbench.measure.counters import count
    from gnnbench.results import entry
    from gnnbench.workloads import roofline
    from gnnbench.workloads.verify import MismatchError, verify, with_backward

    options = run_of(request.config).options

    def measure(run: Callable[..., Any], *inputs: Any, reference: "Reference") -> Any:
        spec = case.spec
        ours = benchmark.extra_info["gnnbench"] = entry.identity(
            case, (request.function, run), (request.path.parent, Path(platforms.__file__).parent)
        )
        benchmark.group = f"{spec.operation} {spec.direction} {spec.dataset}"
        if spec.direction == FORWARD_BACKWARD:
            run, inputs = with_backward(library, run, inputs)
        if options.counters:
            return _judge_counters(request, spec, count(lambda: run(*inputs), spec.device), options)
        mismatch = None
        try:
            verify(case, library, run, inputs, reference)
        except MismatchError as error:
            mismatch = str(error)
        if mismatch:
            pytest.fail(mismatch, pytrace=False)
        output = benchmark(run, *inputs)
        if "measurement" in ours:
            seconds = ours["measurement"]["location_ns"] / 1e9
            ours["counters"] = entry.counters(count(lambda: run(*inputs), spec.device))
            ours["limit"] = roofline.section(case, seconds, rates(spec.dtype))
        return output

    return measure
