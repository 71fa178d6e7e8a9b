"""Compares the outputs of base and head, except for values that differ from process to process.

A second process of the base reveals such values, for example addresses, temporary folders or process ids. A
*place*, such as `argument 1` or `output['x'][0]`, names a value in the inputs or the output.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..ground.files import no_room
from ..ground.units import listed
from ..judge.comparison import Agreement, not_compared
from ..measure.returned.calls import ALL_NEW
from ..measure.returned.portable import TEXT
from .processes import SECOND_BASE, SEED, Processes
from .returned import Fetch, Values, agreement, depends_on_process, head_refuses, is_close
from .variants.child import SIDES, DiedError

_SHOWN = 3
"""Number of excluded places that are named."""


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
                self._ask_second_base(command="run", name=self._name, seed=SEED, checked=False)
                # This makes the same calls as in the first process.
                self._ask_second_base(command="inspect", compared=True)
                again = self._ask_second_base(command="return", level=base["level"])
                failure = _failure(again) or _other_places(base, again)
                fetch_of_bases = partial(self._fetch, Path(folder), (SIDES[0], SECOND_BASE))
                unsteady = set[str]() if failure else _unsteady_places(base, again, fetch_of_bases)
                self._processes.ask_second_base(command="next", leave=True)
            except DiedError as error:
                if error.side in SIDES:
                    raise
                return not_compared(str(error))
            if failure:
                return not_compared(f"{SECOND_BASE}: {failure}")
            note = f"excluding {listed(sorted(unsteady), _SHOWN)}, where two processes of the base differ"
            return agreement(base, head, fetch, partial(_without, unsteady), note if unsteady else "")

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
        command = {"command": "save", "number": number, "place": place, "folder": str(folder)}
        is_second = sides[side] == SECOND_BASE
        answer = self._ask_second_base(**command) if is_second else self._ask([sides[side]], **command)[0]
        saved = answer["saved"]
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


def _without(places: Collection[str], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer to the command `return` without these places."""

    def remaining(parts: Mapping[str, Any]) -> dict[str, Any]:
        return {place: part for place, part in parts.items() if place not in places}

    calls = [{**call, "parts": remaining(call["parts"])} for call in answer["calls"]]
    return {**answer, "inputs": remaining(answer["inputs"]), "calls": calls}


def _other_places(base: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    """Return why a second process of the base cannot be compared with the first, or an empty text."""
    for first, second in zip(base["calls"], again["calls"], strict=False):
        if places := sorted(first["parts"].keys() ^ second["parts"].keys()):
            return f"has other keys or attributes than the first: {listed(places, 1)}"
    return ""


def _unsteady_places(base: Mapping[str, Any], again: Mapping[str, Any], fetch: Fetch) -> set[str]:
    """Return where the answers of two processes of the base to `return` differ by more than rounding."""
    # If numbers in the inputs differ, the outputs cannot be compared at all.
    texts = {place: part for place, part in base["inputs"].items() if part[0] == TEXT}
    places = {place for place, part in texts.items() if again["inputs"].get(place, part) != part}
    for number, (first, second) in enumerate(zip(base["calls"], again["calls"], strict=False)):
        for place, part in first["parts"].items():
            other = second["parts"][place]
            values = (fetch(process, number, place) for process in range(2))
            if not is_close(part, other, values, base["elements"]):
                places.add(place)
    return places
