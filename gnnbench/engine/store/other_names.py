"""Which benchmarks of a run are those of its base under other names: renamed, or in another file."""

from collections.abc import Mapping
from difflib import SequenceMatcher

from .benchmark import Benchmark


def matches(base: Mapping[str, Benchmark], head: Mapping[str, Benchmark]) -> dict[str, str]:
    """Return the names in the base, by those in the head, of benchmarks that the other side lacks.

    Two belong together if they run the same code, or have the same definition and parameters.
    """
    names: dict[str, str] = {}
    for by_code, by_definition in ((True, True), (True, False), (False, True)):
        free: dict[object, list[str]] = {}
        for name, row in base.items():
            if name not in names.values() and (key := _key(row, code=by_code, definition=by_definition)):
                free.setdefault(key, []).append(name)
        for name, row in head.items():
            alike = free.get(_key(row, code=by_code, definition=by_definition))
            if alike and name not in names:
                ratios = {other: SequenceMatcher(None, other, name).ratio() for other in alike}
                names[name] = max(alike, key=ratios.__getitem__)
                alike.remove(names[name])
    return names


def _key(row: Benchmark, *, code: bool, definition: bool) -> object:
    """Return what both must have alike; None if it is not known."""
    fingerprint, of_test = row.part.comparable_fingerprint, row.part.definition_hash
    if (code and not fingerprint) or (definition and not of_test):
        return None
    of_code = fingerprint.code if code and fingerprint else None
    return of_code, (of_test, *row.params.items()) if definition else None
