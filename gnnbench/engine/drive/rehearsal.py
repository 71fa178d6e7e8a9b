"""Runs benchmarks once, each for a few seconds at most: a script in a process of its own.

It gets the name of a file with what is to be run, and writes a line for each operation as soon as it ran. An
operation runs in a fork, which it may end.
"""

import json
import os
import signal
import sys
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
    for imports, alternatives in asked["operations"]:
        if passed == asked["wanted"] or sum(os.times()[:4]) > asked["seconds"]:
            break
        result = _tried(asked["start"], imports, alternatives, asked["call_seconds"])
        passed += bool(result["passed"])
        print(json.dumps(result), file=lines, flush=True)


def _tried(start: str, imports: str, alternatives: Sequence[Sequence[str]], seconds: int) -> dict[str, Any]:
    if why := _why_not(imports, seconds):
        for name, module in [*sys.modules.items()]:  # else the next import of its part would succeed
            if str(getattr(module, "__file__", None)).startswith(f"{sys.path[0]}{os.sep}"):
                del sys.modules[name]
        return {"passed": [], "why": why}
    reading, writing = os.pipe()
    if not (child := os.fork()):
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            json.dump(_first_that_passes(f"{start}\n{imports}", alternatives, seconds), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else {"passed": [], "why": "it ended the process"}


def _first_that_passes(start: str, alternatives: Sequence[Sequence[str]], seconds: int) -> dict[str, Any]:
    """Return the tests that pass of the first alternative whose first one does."""
    why = ""
    for first, *others in alternatives:
        reason = _why_not(f"{start}\n{first}", seconds)
        if not reason:
            return {
                "passed": [first, *(test for test in others if not _why_not(f"{start}\n{test}", seconds))]
            }
        why = why or reason
    return {"passed": [], "why": why}


def _late(*_: object) -> None:
    raise _LateError


def _why_not(text: str, seconds: int) -> str:
    """Return why a benchmark does not run; empty if it does."""
    names: dict[str, Any] = {}
    try:
        exec(compile(text, "benchmark", "exec"), names)  # noqa: S102 - as pytest would
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(_WAITING * seconds)  # next to other programs, or where it waits
        for name, test in names.items():
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
