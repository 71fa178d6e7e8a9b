"""Compares the outputs of base and head, except for values that differ from process to process.

A second process of the base reveals such values, for example addresses, temporary folders or process ids. A
*place*, such as `argument 1` or `output['x'][0]`, names a value in the inputs or the output.
"""

from bisect import bisect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from os.path import commonprefix
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from ..ground.files import no_room
from ..ground.units import listed
from ..judge.closeness import compare, digits
from ..judge.comparison import Agreement, not_compared
from ..measure.returned.calls import ALL_NEW
from ..measure.returned.portable import TEXT
from .processes import SECOND_BASE, SEED, Processes
from .returned import Fetch, Values, agreement, depends_on_process, head_refuses
from .variants.child import SIDES, DiedError

_SHOWN = 3
"""Number of excluded places that are named."""


class UnsteadyPlaces(NamedTuple):
    """The places at which two processes of the base have different values."""

    places: Collection[str] = ()
    prefixes: tuple[str, ...] = ()
    """Prefixes of places that only one process has: keys of dictionaries may contain addresses."""
    steady: Collection[str] = ()
    """The places below a prefix at which both processes have the same value."""

    def has(self, place: str) -> bool:
        """Tell whether a place is excluded from the comparison."""
        return place in self.places or (place.startswith(self.prefixes) and place not in self.steady)

    def without(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer to the command `return` without the excluded places."""
        inputs = {place: part for place, part in answer["inputs"].items() if place not in self.places}
        calls = [
            {**call, "parts": {place: part for place, part in call["parts"].items() if not self.has(place)}}
            for call in answer["calls"]
        ]
        return {**answer, "inputs": inputs, "calls": calls}

    def note(self) -> str:
        """Return a note that names the excluded places, or an empty text if there are none."""
        places = sorted({*self.places, *(f"{prefix}..." for prefix in self.prefixes)})
        note = f"excluding {listed(places, _SHOWN)}, where two processes of the base differ"
        return note if places else ""


class Outputs:
    """The outputs of one benchmark on both sides, and in a second process of the base if needed."""

    def __init__(
        self, processes: Processes, name: str, ask: Callable[..., Sequence[Mapping[str, Any]]]
    ) -> None:
        """Take the benchmark's name, and `ask(sides, **command)`, which returns the sides' answers."""
        self._processes, self._name, self._ask = processes, name, ask

    def agreement(self) -> Agreement:
        """Return how far the outputs of both sides agree."""
        base, head = self._make_calls()
        with TemporaryDirectory(dir=self._processes.shared.logs) as folder:
            fetch = partial(self._fetch, Path(folder), SIDES)
            result = agreement(base, head, fetch)
            if not depends_on_process(result):
                return result
            try:
                self._ask_second_base(command="run", name=self._name, seed=SEED, checked=False, compared=True)
                self._ask_second_base(command="inspect")  # this makes the same calls as in the first process
                again = self._ask_second_base(command="return", level=base["level"])
                failure = _failure(again)
                fetch_of_bases = partial(self._fetch, Path(folder), (SIDES[0], SECOND_BASE))
                unsteady = UnsteadyPlaces() if failure else unsteady_places(base, again, fetch_of_bases)
                self._processes.ask_second_base(command="next", leave=True)
            except DiedError as error:
                if error.side in SIDES:
                    raise
                return not_compared(str(error))
            if failure:
                return not_compared(f"{SECOND_BASE}: {failure}")
            return agreement(base, head, fetch, unsteady.without, unsteady.note())

    def _make_calls(self) -> list[Mapping[str, Any]]:
        """Ask both sides for calls in which the same inputs get new values; return their answers."""
        ask = partial(self._ask, command="return")
        answers = [*ask(SIDES, level=ALL_NEW)]
        if any(call["failure"] for call in answers[1].get("calls", ())):
            answers[1:] = ask(SIDES[1:], level=ALL_NEW)  # the sides may have competed for a port or file
        levels = [answer.get("level", 0) for answer in answers]
        is_returned = all(answer["answer"] == "returned" for answer in answers)
        if is_returned and levels[0] != levels[1] and not head_refuses(*answers):
            # One side refused some new values: the other side makes its calls again without these values.
            side = int(levels[1] > levels[0])
            answers[side : side + 1] = ask([SIDES[side]], level=min(levels))
        return answers

    def _fetch(self, folder: Path, sides: Sequence[str], side: int, number: int, place: str) -> Values:
        """Return a value of a call, as `returned.Fetch` does; arrays are passed in files in the folder."""
        command = {"command": "save", "wanted": [(number, place)], "folder": str(folder)}
        is_second = sides[side] == SECOND_BASE
        answer = self._ask_second_base(**command) if is_second else self._ask([sides[side]], **command)[0]
        (saved,) = answer["files"]
        if saved is None or "text" in saved:
            return saved and saved["text"]
        if "error" in saved:
            raise no_room(folder.parents[1], saved["error"])
        return np.load(folder / saved["file"], mmap_mode="r", allow_pickle=False)

    def _ask_second_base(self, **command: Any) -> dict[str, Any]:
        answer = self._processes.ask_second_base(**command)
        if answer["answer"] == "done":
            failure = answer["failure"]
            raise DiedError(SECOND_BASE, failure["text"] if failure else "the test ends before its call")
        return answer


def _failure(answer: Mapping[str, Any]) -> str:
    """Return why a process did not make all calls whose outputs are compared, or an empty text."""
    if answer["answer"] != "returned":
        return str(answer["reason"])
    failures = (call["failure"] for call in answer["calls"] if call["failure"])
    return next((f"another call raises {failure}" for failure in failures), "")


def unsteady_places(base: Mapping[str, Any], again: Mapping[str, Any], fetch: Fetch) -> UnsteadyPlaces:
    """Return where the answers of two processes of the base to `return` differ by more than rounding."""
    # If numbers in the inputs differ, the outputs cannot be compared at all.
    texts = {place for place, part in base["inputs"].items() if part[0] == TEXT}
    places = {
        place for place in texts & again["inputs"].keys() if base["inputs"][place] != again["inputs"][place]
    }
    prefixes: list[str] = []
    steady: set[str] = set()
    for number, calls in enumerate(zip(base["calls"], again["calls"], strict=False)):
        first, second = (call["parts"] for call in calls)
        for place in first.keys() & second.keys():
            kind, is_same = first[place][0], first[place] == second[place]
            if not is_same and first[place][:2] == second[place][:2] and kind != TEXT and digits(kind):
                value, other = (fetch(process, number, place) for process in range(2))
                is_same = compare(value, other, kind, inputs=base["elements"]).is_close
            (steady if is_same else places).add(place)
        only_first, only_second = sorted(first.keys() - second.keys()), sorted(second.keys() - first.keys())
        prefixes += [_prefix(place, only_second) for place in only_first]
        prefixes += [_prefix(place, only_first) for place in only_second]
    return UnsteadyPlaces(places, tuple(dict.fromkeys(prefixes)), steady)


def _prefix(place: str, others: Sequence[str]) -> str:
    """Return the beginning of a place, up to the container in which it differs from all (sorted) others."""
    index = bisect(others, place)
    neighbours = others[max(index - 1, 0) : index + 1]
    shared = max((commonprefix([place, other]) for other in neighbours), key=len, default=place)  # noqa: RUF071 - places are no paths
    bracket, dot = max(map(shared.rfind, "[{")), shared.rfind(".")
    return shared[: (bracket if bracket >= 0 else dot) + 1] or place
