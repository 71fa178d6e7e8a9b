"""The variants of the chain by name."""

from functools import partial

from torch import Tensor

from .chain import Edges, Propose, State, full
from .settings import Settings


def prepare(
    variant: str, platform: str, edges: Edges, x: Tensor, settings: Settings, start: State | None = None
) -> tuple[State, Propose]:
    """Return a variant's first state and its proposal step, for features x [n, F].

    The platform is one of the variant's. Without `start`, the first state keeps everything.
    """
    state = start or full(edges)
    if variant == "published":
        from . import published

        return state, partial(published.propose, edges, settings)
    if variant == "profiled":
        from . import profiled

        loop = profiled.loop(edges, x)
        propose = partial(profiled.propose, loop, settings, profiled.stacked_edge_list)
        return profiled.with_graph(edges, x, state), propose
    if variant == "compiled":
        from . import compiled

        return state, partial(compiled.propose(), compiled.prepare(edges, settings))
    from . import optimised
    from .aggregates import AGGREGATES

    apply = partial(optimised.apply, AGGREGATES[platform](edges))
    return state, partial(optimised.propose, optimised.prepare(edges, settings, apply))
