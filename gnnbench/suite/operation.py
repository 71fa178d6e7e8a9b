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

# What the modules in `operations/` import from here.
__all__ = ["BACKWARD", "FORWARD", "FORWARD_BACKWARD", "TRAIN"]
__all__ += ["Call", "Kernel", "Operation"]

_OTHER = "other"
"""The group of operations that a user's own suite defines."""
_MULTIPLYING = ("attention", "layers", "compiled", "training")
"""Groups whose forward pass multiplies matrices."""


class Call(NamedTuple):
    """The timed library call: its text for `gnnbench list`, and the functions of a `Kernel`.

    `run` and `build` may name functions in the platform's module. If `run` is empty, the benchmark makes the
    timed function. `run` must call `module.function(...)`: `gnnbench profile` wraps attributes of modules.
    """

    text: str
    run: Callable[..., Any] | str = ""
    limits: tuple[Limit, ...] = ()
    build: Callable[..., Any] | str = "structure"
    result: "Result | None" = None
    one_of: tuple[str, ...] = ()
    """Alternative packages: the call needs one of them in addition to the platform's packages."""
    make: Callable[[], Kernel] | None = None
    """Makes a kernel that keeps objects of the library; it replaces `build`, `run` and `result`."""
    nodes: "Callable[[Graph], Any] | None" = None
    """Returns nodes of a graph; `run` then gets a `platforms.Chosen` of the structure and these nodes."""

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
    """An operation that is timed by benchmarks."""

    name: str
    calls: Mapping[str, Call]
    """The call on each platform."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """By platform, the reason why the platform lacks the operation."""
    directions: tuple[str, ...] = (FORWARD, FORWARD_BACKWARD)
    core: bool = False
    """Whether pull requests run the operation, in its last direction."""
    example: bool = False
    """Whether it runs by default, as the example of a group that has no core operation."""
    default: bool = True
    """Whether -k or its file's name is enough to select it. If False, because it takes long or resembles
    another operation, only --gnn-all, -m or a test id selects it."""
    reference: "Callable[..., Tensor | tuple[Tensor, ...]] | None" = None
    """The definition that kernels are checked against; it takes the graph and float64 tensors."""
    linear: bool = False
    """Whether its only input is [N, F] or [E, F], and each column of the output is linear in the same column
    of the input. On large graphs it is checked by a random projection."""
    reach: int | None = None
    """Number of hops to the farthest values that a row of the output [N, ...] or [E, ...] depends on; one
    more if it uses neighbours' degrees. If set, only a random sample of rows is checked on large graphs."""
    end: int = 1
    """With `reach`, the end of an entry that receives its message: 1 for the target, 0 for the source."""
    reads_all: bool = True
    """Whether a call reads all of its inputs; only then is the least possible time known."""
    threads: int | None = None
    """Number of CPU threads of the timed call. None for the session's number."""
    group: str = _OTHER
    """The heading under which `gnnbench list` shows it."""
    graphs: tuple[str, ...] = ()
    """Graphs that it runs on unless --gnn-dataset names others. Empty for the suite's default graphs."""
    relational: bool = False
    """Whether it needs a graph with relations, that is, types of edges."""
    batched: bool = False
    """Whether it needs a graph that consists of several separate graphs, such as molecules."""
    with_pyg_lib: bool = False
    """Whether PyG runs other code if pyg-lib is installed: the platform `pyg_lib` then has the same call."""

    def kernel(self, platform: str) -> Kernel:
        """Import a platform's library and return its kernel."""
        return self.calls[platform].kernel(platform)

    def why_not_on(self, graph: "Graph", spec: "Spec | None" = None) -> str | None:
        """Return why the operation cannot run on a graph, or with a spec's types. None if it can."""
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
        """Return the first limit that rules out a call, or None. `degree` is the graph's largest degree."""
        types = {direction, dtype, index_dtype, device, *([HALF] if dtype in ("bfloat16", "float16") else [])}
        limits = self.calls[platform].limits
        if self.group != _OTHER:
            has_product = self.group in _MULTIPLYING and direction != BACKWARD
            limits = (HALF_TRAINING, *limits, *OF_PLATFORM.get(platform, ()))
            limits = limits if has_product else (NO_PRODUCT, *limits)
        return next((limit for limit in limits if limit.where <= types and limit.degree <= degree), None)


def operation(name: str, **fields: Any) -> Operation:
    """Make an operation from keywords.

    A keyword that names a platform has the platform's call, or the reason why there is none; `elsewhere` is
    the reason for all platforms without a keyword. The other keywords are fields of `Operation`.
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
