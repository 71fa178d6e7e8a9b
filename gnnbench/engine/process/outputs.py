"""Lets both sides of a visit make calls whose outputs are compared."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..ground.files import no_room
from ..judge.comparison import Agreement, not_compared
from ..measure.returned.calls import ALL_NEW
from .processes import BASE_AGAIN, SEED, Processes
from .returned import agreement, depends_on_process, head_refuses
from .unsteady import Values, unsteady_places
from .variants.child import SIDES, DiedError


class Outputs:
    """What both sides of a visit return, and a second process of the base where that is needed."""

    def __init__(
        self, processes: Processes, name: str, ask: Callable[..., Sequence[Mapping[str, Any]]]
    ) -> None:
        """Take the benchmark's name, and what lets sides obey a command at once."""
        self._processes, self._name, self._ask = processes, name, ask

    def agreement(self) -> Agreement:
        """Return how they agree."""
        base, head = self._returned()
        with TemporaryDirectory(dir=self._processes.shared.logs) as folder:
            of_sides = partial(self._fetch, Path(folder), SIDES)
            result = agreement(base, head, of_sides)
            if not depends_on_process(result):
                return result
            try:
                self._ask_again(command="run", name=self._name, seed=SEED, checked=False, compared=True)
                self._ask_again(command="inspect")  # it makes the calls that the first process has made
                again = self._ask_again(command="return", level=base["level"])
                of_bases = partial(self._fetch, Path(folder), (SIDES[0], BASE_AGAIN))
                unsteady = unsteady_places(base, again, of_bases)
                self._processes.ask_again(command="next", leave=True)
            except DiedError as error:
                if error.side in SIDES:
                    raise
                return not_compared(str(error))
            return agreement(base, head, of_sides, unsteady)

    def _returned(self) -> list[Mapping[str, Any]]:
        """Run the calls of both sides with the same level of new values, and return what they returned."""
        ask = partial(self._ask, command="return")
        answers = [*ask(SIDES, level=ALL_NEW)]
        if any(call["failure"] for call in answers[1].get("calls", ())):
            answers[1:] = ask(SIDES[1:], level=ALL_NEW)  # both may have used one port, or the like
        levels = [answer.get("level", 0) for answer in answers]
        is_returned = all(answer["answer"] == "returned" for answer in answers)
        if is_returned and levels[0] != levels[1] and not head_refuses(*answers):
            # One side refused some new values: the other runs again with that lower level.
            side = int(levels[1] > levels[0])
            answers[side : side + 1] = ask([SIDES[side]], level=min(levels))
        return answers

    def _fetch(self, folder: Path, sides: Sequence[str], side: int, number: int, place: str) -> Values:
        command = {"command": "save", "wanted": [(number, place)], "folder": str(folder)}
        is_again = sides[side] == BASE_AGAIN
        answer = self._ask_again(**command) if is_again else self._ask([sides[side]], **command)[0]
        (saved,) = answer["files"]
        if saved is None or "text" in saved:
            return saved and saved["text"]
        if "error" in saved:
            raise no_room(folder.parents[1], saved["error"])
        return np.load(folder / saved["file"], mmap_mode="r", allow_pickle=False)

    def _ask_again(self, **command: Any) -> dict[str, Any]:
        answer = self._processes.ask_again(**command)
        if answer["answer"] == "done":
            failure = answer["failure"]
            raise DiedError(BASE_AGAIN, failure["text"] if failure else "the test ends before its call")
        return answer
