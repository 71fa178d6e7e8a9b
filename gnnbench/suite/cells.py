"""The parametrisations of a run: operation, direction, platform and dtypes."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ..engine.ground.errors import UsageError
from ..engine.ground.packages import missing, missing_one_of
from .operation import Call, Operation
from .operations import OPERATIONS
from .platforms import PLATFORMS
from .spec import DIRECTIONS, FORWARD, Spec


@dataclass(frozen=True)
class Cell:
    """One parametrisation of a benchmark, without its graph."""

    operation: str
    direction: str
    platform: str
    dtype: str
    index_dtype: str
    skip: str | None
    """Why the benchmark cannot run here. None if it can."""
    core: bool

    @property
    def id(self) -> str:
        """The parametrisation's part of the test id."""
        return f"{self.operation}-{self.direction}-{self.platform}-{self.dtype}-{self.index_dtype}"


def operations_of(
    names: Sequence[str],
    platforms: Sequence[str] | None = None,
    directions: Sequence[str] | None = None,
    core: bool = False,
) -> list[Operation]:
    """Return the operations that a benchmark's marker names: gnnbench's own, or new ones of the user."""
    for name in names:
        if name in OPERATIONS and (platforms or directions or core):
            raise UsageError(f"operation '{name}' is gnnbench's own: give yours another name")
        for kind, values, choices in (
            ("platform", platforms, PLATFORMS),
            ("direction", directions, DIRECTIONS),
        ):
            for value in [value for value in values or () if value not in choices]:
                choice = ", ".join(choices)
                raise UsageError(f"operation '{name}': unknown {kind} '{value}', choose from {choice}")
    platforms, directions = platforms or ("torch",), tuple(directions or (FORWARD,))
    return [
        OPERATIONS.get(name)
        or Operation(name, dict.fromkeys(platforms, Call(name)), directions=directions, core=core)
        for name in names
    ]


def graphs(operations: Sequence[Operation]) -> tuple[str, ...]:
    """Return the graphs that a benchmark's operations prescribe; empty if they prescribe none."""
    names = {operation.graphs: operation.name for operation in operations}
    if len(names) > 1:
        first, second, *_ = names.values()
        raise UsageError(f"operations '{first}' and '{second}' use different graphs: split the benchmark")
    return next(iter(names), ())


def is_default(spec: Spec, first_graphs: Collection[str], *, narrowed: bool) -> bool:
    """Return whether a benchmark runs by default, that is, unless the user selects others.

    The core operations run by default, and so does the example of each group without a core operation. If the
    user has `narrowed` the run by files or -k, all operations run except those with `default=False`. Each one
    runs in the last direction that the platform supports: a core operation on all graphs, another one on
    `first_graphs`. All benchmarks of the user's own operations run by default.
    """
    operation = OPERATIONS.get(spec.operation)
    if operation is None:
        return True
    if not (operation.core or operation.example or narrowed) or not operation.default:
        return False
    directions = [
        direction
        for direction in operation.directions
        if spec.platform in operation.calls
        and not operation.limit(spec.platform, direction, spec.dtype, spec.index_dtype, spec.device)
    ]
    last = (directions or operation.directions)[-1]
    return spec.direction == last and (operation.core or spec.dataset in first_graphs)


def not_installed(operation: Operation, platform: str, device: str) -> str | None:
    """Return which packages a platform's call lacks. Returns None if all are installed."""
    call = operation.calls.get(platform)
    return missing(PLATFORMS[platform].packages, device) or missing_one_of(call.one_of if call else ())


def cells(
    operations: Sequence[Operation],
    platforms: Sequence[str],
    dtypes: Sequence[str],
    index_dtypes: Sequence[str],
    device: str,
) -> Iterator[Cell]:
    """Yield every parametrisation, including those that cannot run here."""
    for operation in operations:
        names = [name for name in platforms if name in operation.calls or name in operation.absent]
        combinations = product(operation.directions, names, dtypes, index_dtypes)
        for direction, platform, dtype, index_dtype in combinations:
            skip = operation.absent.get(platform) or not_installed(operation, platform, device)
            if not skip and (limit := operation.limit(platform, direction, dtype, index_dtype, device)):
                skip = limit.reason
            core = operation.core and direction == operation.directions[-1]
            yield Cell(operation.name, direction, platform, dtype, index_dtype, skip, core)
