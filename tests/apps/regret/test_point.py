"""All ways at one point: checked against the reference, and timed on simulated clocks with known times."""

import math
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from gnnbench.apps.regret import point
from gnnbench.apps.regret.families import FAMILIES, family_of
from gnnbench.apps.regret.race import ANALYSES, FRESH_ANALYSES
from gnnbench.apps.regret.result import Place
from gnnbench.engine.measure.clock import Clock
from gnnbench.engine.measure.simulated_clock import FakeMachine, Noise, Truth
from gnnbench.suite.cells import not_installed
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.kept_reference import KeptReference
from gnnbench.suite.operation import Call
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.operations.scatter import unsorted_index
from gnnbench.suite.spec import FORWARD, FORWARD_BACKWARD, Spec
from tests.graphs import needs_dgl
from tests.sampling import sampled

pytestmark = pytest.mark.filterwarnings("ignore:index_reduce")
QUIET = Noise(sigma=0.01, spike_probability=0, drift=0.2)
SECONDS = {
    "scatter_max on pyg": 2e-3,
    "scatter_max on torch": 1.5e-3,
    "scatter_max on dgl": 3e-3,
    "scatter_max on sparse": 2.2e-3,
    "sort, segment_reduce": 1e-3,
    "sort, torch.sparse.mm(..., 'amax')": 9e-3,
    "index_reduce_(..., 'amax')": 1.01e-3,
}
CALLS = ["scatter_max on pyg", "scatter_max on torch", "scatter_max on dgl"]


class KnownClock(Clock):
    """Simulated clocks on one machine, of which a call's function chooses one; `all` is that of others."""

    name = "known"
    resolution_seconds = 1e-9

    def __init__(self, family, seconds, noise=QUIET, seed=0):
        truths = {name: Truth(one) for name, one in seconds.items()}
        self._machine = FakeMachine(seed, truths, noise)
        known = [way for way in family.implementations() if way.id in seconds]
        self._names = {id(way.call.run): way.id for way in known if way.call.run}
        self._others = next((way.id for way in known if way.call.make), "all")
        self._clocks = {name: self._machine.clock(name) for name in truths}
        self.inputs = []
        """Places of the last input in memory, of all calls on the same copies."""

    def now(self):
        return self._machine.now_seconds

    def block(self, call, rounds, iterations):
        if self.inputs:
            self.inputs[-1].add(call.args[-1].data_ptr())
        return self._clocks[self._names.get(id(call.function), self._others)].block(call, rounds, iterations)

    def inputs_moved(self):
        self._machine.now_seconds += self._machine.noise.renewal_seconds
        self.inputs.append(set())


@pytest.fixture(scope="module")
def graph():
    return load(DatasetName.parse("rmat:5"), None, Path())


def place(operation, direction=FORWARD, dtype="float32", index_dtype="int64", threads=1):
    return Place(operation, direction, "rmat:5", 8, dtype, index_dtype, threads, "cpu")


def measured(family, where, graph, clock=None, seconds=0.0, effect=0.03):
    """Measure a point; without a clock all ways take a millisecond."""
    if clock is None:
        machine = FakeMachine(0, {"all": Truth(1e-3)}, QUIET)
        clock = machine.clock("all")
    return point.measure(family, where, graph, KeptReference(), lambda _: clock, effect, seconds)


def with_ways(*more, without=()):
    """The family of scatter_max with other ways beside its calls."""
    calls = tuple(Call(name, run, build=unsorted_index) for name, run in more)
    return family_of("scatter_max")._replace(further=calls, excluded=without)


CASES = [
    (family.operations[0], direction)
    for family in FAMILIES
    for direction in (FORWARD, FORWARD_BACKWARD)
    if direction in OPERATIONS[family.operations[0]].directions
]


def why_not(way, where, graph):
    """Return what is known to be missing, or why the call cannot be made with these types."""
    if not way.is_call:
        return None
    types = where.direction, way.platform, where.dtype, where.index_dtype
    spec = Spec(way.operation.name, *types, where.dataset, where.hidden, where.device)
    return not_installed(way.operation, way.platform, "cpu") or way.operation.why_not_on(graph, spec)


@pytest.mark.parametrize(("operation", "direction"), CASES)
def test_every_way_of_an_operation_is_right(operation, direction, graph):
    where, family = place(operation, direction), family_of(operation)
    found = measured(family, where, graph)
    known = {way.id: why_not(way, where, graph) for way in family.implementations()}
    assert found.left_out == {name: reason for name, reason in known.items() if reason}
    assert [way.name for way in found.ways] == [name for name, reason in known.items() if not reason]
    assert [way.is_call for way in found.ways] == sorted((way.is_call for way in found.ways), reverse=True)
    assert found.ways[0].is_call
    assert not found.ways[-1].is_call


TYPES = [("float64", "int64"), ("bfloat16", "int64"), ("float32", "int32"), ("bfloat16", "int32")]


@pytest.mark.parametrize(
    ("operation", "direction", "dtype", "index_dtype"),
    sampled([pytest.param(*case, *types) for case in CASES for types in TYPES], 16),
)
def test_with_other_types_each_call_is_right_or_known_to_be_impossible(
    operation, direction, dtype, index_dtype, graph
):
    """A way beside the calls may be what PyTorch cannot do, or does wrongly."""
    where, family = place(operation, direction, dtype, index_dtype), family_of(operation)
    found = measured(family, where, graph)
    calls = {way.id: why_not(way, where, graph) for way in family.implementations() if way.is_call}
    assert {name: reason for name, reason in found.left_out.items() if name in calls} == {
        name: reason for name, reason in calls.items() if reason
    }
    assert all(found.left_out.values())


def test_a_csr_matrix_is_made_of_int32_too(graph):
    found = measured(family_of("spmm_sum"), place("spmm_sum", index_dtype="int32"), graph)
    assert "CSR made in each call, torch.sparse.mm(..., 'sum')" in {way.name for way in found.ways}


def zero(to, messages):
    return messages.new_zeros(to.num_nodes, messages.size(1))


def without_gradient(to, messages):
    out = messages.new_zeros(to.num_nodes, messages.size(1))
    index = to.indices.unsqueeze(1).expand_as(messages)
    return out.scatter_reduce_(0, index, messages.detach(), "amax", include_self=False)


def refuse(_to, _messages):
    raise TypeError("not\nso\x1b[2J")


@needs_dgl
@pytest.mark.parametrize("direction", [FORWARD, FORWARD_BACKWARD])
def test_a_way_that_is_wrong_or_raises_is_left_out_with_its_reason(direction, graph):
    family = with_ways(("zero", zero), ("refuse", refuse), ("detached", without_gradient))
    found = measured(family, place("scatter_max", direction), graph)
    assert found.left_out["refuse"].startswith("TypeError: not")
    assert found.left_out["refuse"].isprintable()
    assert ("detached" in found.left_out) == (direction == FORWARD_BACKWARD)
    assert "its output is wrong" in found.left_out["zero"]
    assert {way.name for way in found.ways} >= set(CALLS)


def test_an_interrupt_is_no_reason_to_leave_a_way_out(graph):
    def interrupted(_to, _messages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(with_ways(("interrupted", interrupted)), place("scatter_max"), graph)


def test_without_any_way_that_runs_there_is_a_point_without_times(graph, monkeypatch):
    monkeypatch.setattr(point, "not_installed", lambda *_: "x is not installed")
    found = measured(with_ways(("refuse", refuse)), place("scatter_max"), graph)
    assert (found.ways, found.fastest, found.is_decided) == ((), None, False)
    assert set(found.left_out.values()) == {"x is not installed", "TypeError: not?so?[2J"}
    assert (found.nodes, found.entries) == (graph.num_nodes, graph.num_edges)


@needs_dgl
def test_the_fastest_way_and_the_regrets_are_right(graph):
    family = family_of("scatter_max")
    clock = KnownClock(family, SECONDS)
    found = measured(family, place("scatter_max"), graph, clock, seconds=1e9)
    assert found.fastest == "sort, segment_reduce"
    assert found.is_decided
    assert found.equally_fast == ("index_reduce_(..., 'amax')",)
    ways = {way.name: way for way in found.ways}
    for name in CALLS:
        regret, true = ways[name].regret, SECONDS[name] / 1e-3
        assert regret.blocks in FRESH_ANALYSES
        assert regret.error >= 0.01
        assert abs(math.log(regret.ratio / true)) < 3 * regret.error
    for name in CALLS[:2]:
        assert ways[name].takes == "index"
        assert ways[name].regret_same_structure == ways[name].regret
        assert ways[name].fastest_same_structure == found.fastest
    dgl = ways["scatter_max on dgl"]
    assert (dgl.takes, dgl.fastest_same_structure, dgl.regret_same_structure.ratio) == (
        "DGLGraph",
        dgl.name,
        1.0,
    )
    for name, way in ways.items():
        assert way.seconds == pytest.approx(SECONDS[name], rel=0.3), "the machine drifts by 20 %"
        assert way.in_race is None or way.in_race.blocks <= ANALYSES[-1]
        if not way.is_call:
            assert (way.regret, way.fastest_same_structure) == (None, None)
    assert ways["sort, torch.sparse.mm(..., 'amax')"].in_race is None, "it is far too slow"
    assert ways[found.fastest].in_race.ratio == 1
    assert ways["scatter_max on torch"].in_race.ratio == pytest.approx(1.5, rel=0.1)


def test_all_ways_are_timed_on_the_same_copies_and_each_block_has_new_ones(graph):
    family = family_of("scatter_max")
    clock = KnownClock(family, SECONDS)
    measured(family, place("scatter_max"), graph, clock)
    assert len(clock.inputs) == ANALYSES[0] + FRESH_ANALYSES[0]
    assert all(len(places) == 1 for places in clock.inputs)
    assert len(set.union(*clock.inputs)) >= ANALYSES[0], "a freed place may come again"


@pytest.mark.parametrize("number", range(3))
def test_a_disturbed_round_before_the_race_does_not_leave_the_fastest_way_out(number, graph):
    """A call is so short that a round has many; one round of the way takes ten times as long."""
    family, rounds = family_of("scatter_max"), []
    fastest = next(way.call.run for way in family.implementations() if way.id == "sort, segment_reduce")

    class Disturbed(KnownClock):
        def block(self, call, count, iterations):
            found = super().block(call, count, iterations)
            if call.function is fastest and iterations > 1:
                rounds.append(found)
                found.seconds[0] *= 10 if len(rounds) == number + 1 else 1
            return found

    clock = Disturbed(family, {name: seconds / 100 for name, seconds in SECONDS.items()})
    found = measured(family, place("scatter_max"), graph, clock)
    assert found.fastest == "sort, segment_reduce"


def test_gradients_of_earlier_calls_are_not_copied(graph):
    class Clock(KnownClock):
        def block(self, call, count, iterations):
            if len(copied) < len(self.inputs):
                copied.append(call.args[-1].grad)
            return super().block(call, count, iterations)

    copied, family = [], family_of("scatter_max")
    clock = Clock(family, {"all": 1e-3})
    measured(family, place("scatter_max", FORWARD_BACKWARD), graph, clock)
    assert copied == [None] * (ANALYSES[0] + FRESH_ANALYSES[0])


@needs_dgl
def test_the_second_phase_lasts_until_each_regret_is_known(graph):
    """Both calls are the fastest of their structure."""
    family = with_ways(without=("scatter_max on pyg", "scatter_max on sparse"))
    seconds = {"scatter_max on torch": 1e-3, "scatter_max on dgl": 1.2e-3}
    noisy = Noise(sigma=0.5, spike_probability=0, drift=0)
    where = place("scatter_max")
    for noise, blocks in ((noisy, FRESH_ANALYSES[-1]), (QUIET, FRESH_ANALYSES[0])):
        clock = KnownClock(family, seconds, noise)
        found = measured(family, where, graph, clock, seconds=1e9, effect=0.01)
        assert max(way.regret.blocks for way in found.ways) == blocks
    clock = KnownClock(family, seconds, noisy)
    found = measured(family, where, graph, clock, effect=0.01)
    assert max(way.regret.blocks for way in found.ways) == FRESH_ANALYSES[0], "the time is over"


def test_ways_run_with_the_threads_of_the_place(graph):
    seen = set()

    def counting(to, messages):
        seen.add(torch.get_num_threads())
        return without_gradient(to, messages)

    before = torch.get_num_threads()
    measured(with_ways(("counting", counting)), place("scatter_max", threads=3), graph)
    assert (seen, torch.get_num_threads()) == ({3}, before)


def test_calls_of_pyg_run_without_pyg_lib_where_that_is_a_platform_of_its_own(graph, monkeypatch):
    inside = []

    @contextmanager
    def hidden():
        inside.append(True)
        yield
        inside.pop()

    class Clock(KnownClock):
        def block(self, call, *rest):
            seen.setdefault(id(call.function), set()).add(bool(inside))
            return super().block(call, *rest)

    seen, family = {}, family_of("coalesce")
    monkeypatch.setattr(point, "is_installed", lambda _: True)
    monkeypatch.setattr(point.platforms, "without_pyg_lib", hidden)
    pyg = next(way for way in family.implementations() if way.id == "coalesce on pyg")
    measured(family, place("coalesce"), graph, Clock(family, {"all": 1e-3}))
    assert {number: {number == id(pyg.call.run)} for number in seen} == seen
