"""Change saved files at random, and run every command that reads them: python -m tests.fuzz --seconds 3600.

A traceback, an exit code that is not documented, a character that controls the terminal, more than ten
seconds or more than a gigabyte of memory is a failure. The files of a failed case are kept, and the same kind
and seed make it again.
"""

import argparse
import faulthandler
import itertools
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.cases import problems
from tests.fuzz.kinds import KINDS

_HANG_SECONDS, _FIRST_SEED = 120, 1_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="stop after so long. Default: 60.")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind; repeatable")
    parser.add_argument("--seed", type=int, help="only the case with this seed")
    options = parser.parse_args()
    kinds = options.kind or list(KINDS)
    seeds = itertools.count(_FIRST_SEED) if options.seed is None else [options.seed]
    kept = Path(tempfile.mkdtemp(prefix="gnnbench-fuzz-cases-"))
    end, cases, failures = time.monotonic() + options.seconds, 0, 0
    for seed, kind in ((seed, kind) for seed in seeds for kind in kinds):
        if time.monotonic() > end:
            break
        folder = kept / f"{kind.replace(' ', '-')}-{seed}"
        faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
        found = list(problems(kind, seed, folder))
        faulthandler.cancel_dump_traceback_later()
        cases += 1
        if found:
            failures += 1
            print(f"{kind} {seed}: files in {folder}; again: --kind {kind!r} --seed {seed}")  # noqa: T201
            print(*found, "", sep="\n", flush=True)  # noqa: T201
        elif options.seed is None:
            shutil.rmtree(folder)
    print(f"{cases} cases of {len(kinds)} kinds, {failures} failed")  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
