"""Runs benchmarks once, each for a few seconds at most: a script in a process of its own.

It gets the name of a file with what is to be run, and writes a line for each operation as soon as it ran.
"""

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_WAITING = 6


class _LateError(BaseException):
    """A call takes too long for a benchmark; nothing that is called catches it."""


def main(file: str) -> None:
    """Run the operations until enough of them passed."""
    asked = json.loads(Path(file).read_text(encoding="utf-8"))
    sys.path[0] = asked["root"]
    sys.argv = [""]
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the operations print
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _late)
    signal.signal(signal.SIGPROF, _late)
    passed = 0
    for number, (imported, alternatives) in enumerate(asked["operations"]):
        if number < asked["first"]:
            continue
        if passed == asked["wanted"] or time.process_time() > asked["seconds"]:
            break
        print(json.dumps({"begins": number}), file=lines, flush=True)
        result = _first_that_passes(f"{asked['start']}\n{imported}\n", alternatives, asked["call_seconds"])
        passed += bool(result["passed"])
        print(json.dumps(result), file=lines, flush=True)


def _first_that_passes(start: str, alternatives: Sequence[Sequence[str]], seconds: int) -> dict[str, Any]:
    if why := _why_not(start, seconds):
        for name, module in [*sys.modules.items()]:  # else the next import of its part would succeed
            if str(getattr(module, "__file__", None)).startswith(f"{sys.path[0]}{os.sep}"):
                del sys.modules[name]
        return {"passed": [], "why": why}
    for number, tests in enumerate(alternatives):
        passed = []
        for place, test in enumerate(tests):
            reason = _why_not(f"{start}\n{test}", seconds)
            if not reason:
                passed.append(place)
            elif not place:
                why = why or reason
                break
        if passed:
            return {"alternative": number, "passed": passed}
    return {"passed": [], "why": why}


def _late(*_: object) -> None:
    raise _LateError


def _why_not(text: str, seconds: int) -> str:
    """Return why a benchmark does not run; empty: it does."""
    found: dict[str, Any] = {}
    try:
        exec(compile(text, "benchmark", "exec"), found)  # noqa: S102 - as pytest would
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(_WAITING * seconds)  # next to other programs, or where it waits
        for name, test in found.items():
            if name.startswith("test_"):
                test(lambda function, *given, **named: function(*given, **named))
    except _LateError:
        return f"one call takes more than {seconds} s"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is what is asked
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
