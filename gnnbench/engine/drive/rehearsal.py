"""A script that finds out which generated benchmarks run. Its argument is a file of operations with tests.

It prints a line of JSON for each operation. Each one runs in its own fork, so a crash ends only this one.
"""

import json
import multiprocessing
import os
import resource
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_WANTED = 12
"""Number of operations that get a benchmark."""
_SECONDS = 15.0
"""CPU time after which no further operation is tried."""
_WAITING_SECONDS = 15
_MOST_BYTES = 2**31
"""How much memory a call may need. An array of NODES x NODES x FEATURES has 3.5 GiB."""
_LATE = f"a call takes more than {_WAITING_SECONDS} s"


class _UnfitError(Exception):
    """A call is not suitable for a benchmark."""


def main(file: str) -> None:
    """Run the operations until enough of them have passed."""
    request = json.loads(Path(file).read_text(encoding="utf-8"))
    sys.path[0] = request["root"]
    sys.argv = [""]
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the operations print to standard error
    warnings.simplefilter("ignore")
    passed = 0
    for imports, alternatives in request["operations"]:
        if passed == _WANTED or sum(os.times()[:4]) > _SECONDS:
            break
        result = _try(request["start"], imports, alternatives)
        passed += bool(result["passed"])
        print(json.dumps(result), file=lines, flush=True)


def _try(start: str, imports: str, alternatives: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the tests of an operation that pass, or why none does."""
    if reason := _failure(imports):
        for name, module in [*sys.modules.items()]:  # else a later import of a loaded submodule would succeed
            if str(getattr(module, "__file__", None)).startswith(f"{sys.path[0]}{os.sep}"):
                del sys.modules[name]
        return {"passed": [], "why": reason}
    forking = multiprocessing.get_context("fork")
    reading, writing = forking.Pipe(duplex=False)
    text = f"{start}\n{imports}"
    child = forking.Process(target=lambda: writing.send(_first_passing(text, alternatives)))
    child.start()
    writing.close()
    try:
        return reading.recv() if reading.poll(_WAITING_SECONDS) else {"passed": [], "why": _LATE}
    except EOFError:
        return {"passed": [], "why": "a call ended the process"}
    finally:
        child.kill()
        child.join()


def _first_passing(start: str, alternatives: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the passing tests of the first alternative whose first test passes."""
    first_reason = ""
    for first, *others in alternatives:
        reason = _failure(f"{start}\n{first}")
        if not reason:
            return {"passed": [first, *(test for test in others if not _failure(f"{start}\n{test}"))]}
        first_reason = first_reason or reason
    return {"passed": [], "why": first_reason}


def _benchmark(function: Any, *arguments: Any, **keywords: Any) -> None:
    used_bytes = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
    with suppress(ValueError):  # a lower limit holds already
        resource.setrlimit(resource.RLIMIT_DATA, (used_bytes + _MOST_BYTES, hard_limit))
    result = function(*arguments, **keywords)
    if type(result).__name__ == "ndarray" and "Tensor" in {type(value).__name__ for value in arguments}:
        raise _UnfitError("a call converts tensors to NumPy arrays")


def _failure(text: str) -> str:
    """Return why the code of a benchmark does not run. Empty if it runs."""
    names: dict[str, Any] = {}
    try:
        exec(compile(text, "benchmark", "exec"), names)  # noqa: S102 - as pytest would
        for name, test in names.items():
            if name.startswith("test_"):
                test(_benchmark)
    except _UnfitError as error:
        return str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any error is the answer
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
