"""An operation: its call on each platform, and its definition in float64."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from .limits import HALF, HALF_TRAINING, NO_PRODUCT, OF_PLATFORM, Limit
from .platforms import COMPARED, PLATFORMS, Kernel, Result, chosen, load
from .spec import BACKWARD, FORWARD, FORWARD_BACKWARD, TRAIN

if TYPE_CHECKING:
    from torch import Tensor

    from .graphs.graph import Graph
    from .spec import Spec

# What the modules of `operations/` are made of.
__all__ = ["BACKWARD", "FORWARD", "FORWARD_BACKWARD", "TRAIN"]
__all__ += ["Call", "Kernel", "Operation"]

_OTHER = "other"
"""The group of a suite's own operations."""
_MULTIPLYING = ("attention", "layers", "compiled", "training")
"""Groups whose forward pass multiplies matrices."""


class Call(NamedTuple):
    """The timed library call: its text for `gnnbench list`, and the functions of a `Kernel`.

    `run` and `build` may be names in the platform's module. Without `run`, the benchmark makes the timed
    function. `run` must call `module.function(...)`, because `gnnbench profile` wraps attributes of modules.
    """

    text: str
    run: Callable[..., Any] | str = ""
    limits: tuple[Limit, ...] = ()
    build: Callable[..., Any] | str = "structure"
    result: "Result | None" = None
    one_of: tuple[str, ...] = ()
    """Alternative packages: the call needs one of them in addition to the platform's packages."""
    make: Callable[[], Kernel] | None = None
    """Makes a kernel that keeps objects of the library, instead of `build`, `run` and `result`."""
    nodes: "Callable[[Graph], Any] | None" = None
    """Returns nodes; `run` then gets a `platforms.Chosen` of the structure and these nodes."""

    def kernel(self, platform: str) -> Kernel:
        """Import a platform's library and return the kernel."""
        module = load(platform)
        assert self.make or self.run, f"{self.text} has no kernel, as its benchmark makes the timed function"
        if self.make:
            return self.make()
        build, run = (
            attrgetter(part)(module) if isinstance(part, str) else part for part in (self.build, self.run)
        )
        return Kernel(partial(chosen, build, self.nodes) if self.nodes else build, run, self.result)


@dataclass(frozen=True)
class Operation:
    """An operation that benchmarks time."""

    name: str
    calls: Mapping[str, Call]
    """By platform."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """By platform, the reason why it lacks the operation."""
    directions: tuple[str, ...] = (FORWARD, FORWARD_BACKWARD)
    core: bool = False
    """Whether pull requests run it, in its last direction."""
    example: bool = False
    """Whether it runs by default, as the example of a group that has no core operation."""
    default: bool = True
    """Whether -k or its file's name is enough to select it; otherwise --gnn-all runs it. False if it takes
    long or resembles another."""
    reference: "Callable[..., Tensor | tuple[Tensor, ...]] | None" = None
    """The definition that kernels are checked against; it takes the graph and float64 tensors."""
    linear: bool = False
    """Whether its only input is [N, F] or [E, F], and each column of the output is linear in the same column
    of the input. On large graphs it is checked by a random projection."""
    reach: int | None = None
    """Number of hops to the values that a row of the output [N, ...] or [E, ...] depends on; one more if it
    uses its neighbours' degrees. On large graphs a random sample of rows is checked; all rows if None."""
    end: int = 1
    """With `reach`: the end of an entry that receives its message, 1 for the target, 0 for the source."""
    reads_all: bool = True
    """Whether a call reads all of its inputs; only then is the least possible time known."""
    threads: int | None = None
    """CPU threads of the timed call; None for the session's number."""
    group: str = _OTHER
    """The heading under which `gnnbench list` shows it."""
    graphs: tuple[str, ...] = ()
    """Graphs that it runs on unless --gnn-dataset names others; empty for the suite's default."""
    relational: bool = False
    """Whether it needs a graph with relations."""
    batched: bool = False
    """Whether it needs a graph that consists of several separate graphs, such as molecules."""
    with_pyg_lib: bool = False
    """Whether PyG runs other code if pyg-lib is installed: platform `pyg_lib` then has the same call."""

    def kernel(self, platform: str) -> Kernel:
        """Import a platform's library and return its kernel."""
        return self.calls[platform].kernel(platform)

    def why_not_on(self, graph: "Graph", spec: "Spec | None" = None) -> str | None:
        """Return why it cannot run on a graph, or with the types of a spec. Returns None if it can."""
        if self.relational and not graph.relations:
            return f"{graph.name} has one relation: use --gnn-dataset {' or '.join(self.graphs)}"
        if self.batched and graph.sizes is None:
            return f"{graph.name} is one graph, not many: use --gnn-dataset {' or '.join(self.graphs)}"
        if spec and spec.platform in self.calls:
            types = spec.direction, spec.dtype, spec.index_dtype, spec.device
            limit = self.limit(spec.platform, *types, degree=graph.max_degree)
            return limit and limit.reason
        return None

    def limit(
        self, platform: str, direction: str, dtype: str, index_dtype: str, device: str, degree: int = 0
    ) -> Limit | None:
        """Return the limit that rules out these types. None if none does. `degree` is the graph's largest."""
        types = {direction, dtype, index_dtype, device, *([HALF] if dtype in ("bfloat16", "float16") else [])}
        limits = self.calls[platform].limits
        if self.group != _OTHER:
            has_product = self.group in _MULTIPLYING and direction != BACKWARD
            limits = (HALF_TRAINING, *limits, *OF_PLATFORM.get(platform, ()))
            limits = limits if has_product else (NO_PRODUCT, *limits)
        return next((limit for limit in limits if limit.where <= types and limit.degree <= degree), None)


def operation(name: str, **fields: Any) -> Operation:
    """Return an operation from keywords.

    The keyword of a platform is its call, or the reason why it has none; `elsewhere` is the reason for all
    platforms without a keyword. The other keywords are fields of `Operation`.
    """
    elsewhere = fields.pop("elsewhere", "")
    cells = {platform: fields.pop(platform) for platform in PLATFORMS if platform in fields}
    calls = {platform: cell for platform, cell in cells.items() if isinstance(cell, Call)}
    if fields.get("with_pyg_lib"):  # pyg-lib replaces all packages of `one_of`
        calls["pyg_lib"] = calls["pyg"]._replace(text=f"{calls['pyg'].text}, with pyg-lib", one_of=())
    absent = {
        platform: cells.get(platform) or elsewhere or f"{platform} has no such operation"
        for platform in COMPARED
        if platform not in calls
    }
    return Operation(name, calls, absent, **fields)
