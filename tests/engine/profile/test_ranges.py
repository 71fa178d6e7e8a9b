import itertools
import sys
import threading
import types

import pytest
import torch

from gnnbench.engine.profile.kinds import clock_of
from gnnbench.engine.profile.ranges import Ranges
from gnnbench.engine.profile.targets import CLASS


class Base:
    def method(self):
        return "base"

    @staticmethod
    def static(value):
        return value

    @classmethod
    def of(cls):
        return cls


class Child(Base):
    def method(self):
        return "child of " + super().method()


class Heir(Base):
    pass


@pytest.fixture
def library(monkeypatch):
    """A library of functions that call each other, and a module that has imported one."""
    module, user = types.ModuleType("small_library"), types.ModuleType("its_user")

    def inner(depth=0):
        return depth and module.inner(depth - 1)

    def outer(depth=0):
        module.inner(depth)
        return module.inner(depth)

    def fails():
        raise StopIteration("on purpose")

    module.inner, module.outer, module.fails = inner, outer, fails
    module.Base, module.Child, module.Heir = Base, Child, Heir
    user.inner = inner
    user.outer = "another of this name"
    monkeypatch.setitem(sys.modules, "small_library", module)
    monkeypatch.setitem(sys.modules, "its_user", user)
    return module


def ticking(*names, **places):
    """Ranges of places in the library, or of others by name, by a clock that goes on by 1 when it is read."""
    targets = {place: name for name, place in places.items()}
    targets |= {f"small_library:{name}": name for name in names}
    return Ranges(targets, "cpu", clock=itertools.count().__next__)


def calls(ranges):
    return {"/".join(path): calls for path, (calls, _, _) in ranges.times().items()}


def test_nested_ranges_are_a_tree_with_self_and_total_time_and_paths_stay(library):
    with ticking("outer", "inner") as ranges:
        with ranges.range("call"), ranges.range("call"):
            library.outer(5)
            library.inner()
            assert ranges.path == ("call",)
        times = ranges.times()
        library.inner()
        later = ranges.times()
    assert list(times.items()) == [
        (("call",), (1, 9, 3)),
        (("call", "outer"), (1, 5, 3)),
        (("call", "outer", "inner"), (2, 2, 2)),  # one within one of its name is part of it
        (("call", "inner"), (1, 1, 1)),
    ]
    assert list(later.items()) == [*((path, (0, 0, 0)) for path in times), (("inner",), (1, 1, 1))]


def test_a_function_is_wrapped_wherever_it_was_imported_and_no_other_of_its_name(library):
    user = sys.modules["its_user"]
    before = library.inner
    with ticking("outer", "inner") as ranges:
        assert user.outer == "another of this name"
        assert user.inner is not before
        user.inner()
        assert calls(ranges) == {"inner": 1}
    assert user.inner is library.inner is before


@pytest.mark.usefixtures("library")
def test_methods_of_subclasses_are_wrapped_and_what_is_inherited_is_deleted_again():
    method = {CLASS: "small_library:Base.method"}
    before = [dict(vars(each)) for each in (Base, Child, Heir)]
    with ticking("Heir.static", "Heir.of", **method) as ranges:
        assert Child().method() == "child of base"
        assert Heir.static(3) == Heir().static(3) == 3
        assert Base.static(4) == 4
        assert Heir.of() is Heir
        assert calls(ranges) == {"Child": 1, "Child/Base": 1, "Heir.static": 2, "Heir.of": 1}
    assert [dict(vars(each)) for each in (Base, Child, Heir)] == before
    assert not {"static", "of", "method"} & vars(Heir).keys()


def test_an_exception_passes_through_and_leaves_no_wrapper_and_no_open_range(library):
    before = dict(vars(library))
    ranges = ticking("fails", "inner")
    with pytest.raises(StopIteration, match="on purpose"), ranges, ranges.range("call"):
        library.fails()
    assert dict(vars(library)) == before
    assert ranges.path == ()
    assert calls(ranges) == {"call": 1, "call/fails": 1}


def test_compiled_code_opens_no_range(library):
    library.inner = lambda x: x + 1
    compiled = torch.compile(lambda x: 2 * library.inner(x), backend="eager", fullgraph=True)
    with ticking("inner") as ranges:
        assert compiled(torch.ones(2)).tolist() == [4, 4]
        assert library.inner(1) == 2
        assert calls(ranges) == {"inner": 1}


@pytest.mark.cuda
def test_ranges_on_a_gpu_are_timed_to_the_end_of_their_work_and_nvtx_takes_them(library):
    x = torch.ones(4096, 4096, device="cuda")
    library.inner = lambda: x @ x
    library.inner()
    torch.cuda.synchronize()
    with Ranges({"small_library:inner": "inner"}, "cuda", clock=clock_of("cuda")) as ranges:
        library.inner()
        ((_, total_ns, _),) = ranges.times().values()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    library.inner()
    end.record()
    torch.cuda.synchronize()
    assert total_ns > 0.5e6 * start.elapsed_time(end)


def test_what_is_imported_or_defined_within_ranges_keeps_no_wrapper(library, monkeypatch):
    late, inner, method = types.ModuleType("late"), library.inner, Base.method
    with ticking("inner", "Base.method"):
        monkeypatch.setitem(sys.modules, "late", late)
        late.mine = library.inner
        of_late = type("Late", (Base,), {"before": Base.method})
    assert late.mine is inner
    assert of_late.before is method


def test_other_threads_open_no_ranges(library):
    with ticking("inner", "outer") as ranges:
        thread = threading.Thread(target=library.inner)
        with ranges.range("call"):
            thread.start()
            thread.join()
        library.outer()
        assert calls(ranges) == {"call": 1, "outer": 1, "outer/inner": 2}
