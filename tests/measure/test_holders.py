import ctypes
import functools
import gc
import sys
import weakref
from types import ModuleType

import pytest

from gnnbench.measure.holders import holder

pytestmark = pytest.mark.usefixtures("few_objects")


class Thing:
    """An object that should be gone."""


class Owner:
    def __init__(self):
        self.kept = {}


class Slotted:
    __slots__ = ("kept",)


def test_an_attribute():
    owner = Owner()
    owner.kept["a"] = [thing := Thing()]
    fresh = [thing, owner.kept["a"]]
    assert holder(thing, fresh) == "Owner.kept (dict)"


def test_an_attribute_without_a_dictionary():
    owner = Slotted()
    owner.kept = thing = Thing()
    assert holder(thing, [thing]) == "Slotted.kept (Thing)"


def test_an_attribute_of_a_class():
    kind = type("Kind", (), {"registry": [thing := Thing()]})
    assert holder(thing, [thing]) == "Kind.registry (list)"
    del kind


def test_a_variable_of_a_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "some_module", module := ModuleType("some_module"))
    module.CACHE = {1: (thing := Thing())}
    assert holder(thing, [thing]) == "some_module.CACHE (dict)"


def test_a_variable_of_an_enclosing_function():
    kept = []

    def append(item):
        kept.append(item)

    thing = Thing()
    append(thing)
    assert holder(thing, [thing]).endswith("test_a_variable_of_an_enclosing_function.kept (list)")


def test_the_cache_of_a_function():
    remembered = functools.cache(lambda _number: Thing())
    thing = remembered(1)
    assert holder(thing, [thing]) == "the cache of test_the_cache_of_a_function.<locals>.<lambda>"


def test_other_new_objects_do_not_explain_it():
    first, owner = Owner(), Owner()
    owner.kept[1] = first
    first.kept[1] = thing = Thing()
    assert holder(thing, [thing, first, first.kept]) == "Owner.kept (dict)"


@pytest.mark.parametrize("container", [list, set, tuple])
def test_an_object_whose_holder_has_no_name(container):
    thing = Thing()
    kept = container((thing, 0))
    assert holder(thing, [thing]) == f"a {type(kept).__name__}"


def test_native_code():
    thing = Thing()  # which lives for ever
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    fresh = [thing]
    del thing
    assert holder(fresh[0], fresh) == "native code, as no Python object refers to Thing"


@pytest.mark.parametrize("count", [1, 3])
def test_nothing_is_kept_alive_by_the_search(count):
    owner = Owner()
    owner.kept = [Thing() for _ in range(count)]
    holder(owner.kept[0], list(owner.kept))
    kept = [weakref.ref(one) for one in owner.kept]
    owner.kept.clear()
    gc.collect()
    assert [one() for one in kept] == [None] * count
