"""Measures everything in docs/experiments/gpu.md on this machine's GPU.

    python experiments/gpu/gpu.py run FOLDER [--seconds 540] [--step NAME]    # continues an interrupted run
    python experiments/gpu/gpu.py tables FOLDER                               # in Markdown
    python experiments/gpu/gpu.py list

`run` works through steps, the most important first. Each unit of a step is a process and adds to the step's
JSON in FOLDER. Units that do not fit into `--seconds` are left for the next call; failed units are repeated
with `--again` only. For a machine without access to a package index, bring the packages it lacks:

    python experiments/gpu/gpu.py pack PACKAGES [--python 3.12]     # here
    python experiments/gpu/gpu.py run FOLDER --packages PACKAGES    # there

`--device cpu --small` tests the scripts without a GPU; its figures are meaningless.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import packages
from plan import Plan, Results
from steps import STEPS, load

_SPARE_SECONDS = 5.0
"""Seconds that are reserved to write results and to end."""


def run(plan: Plan, only: str | None, seconds: float, *, again: bool) -> None:
    """Run the units without a result until the time is over."""
    deadline = time.monotonic() + seconds
    packages.install(plan.packages)
    left = 0
    for name in [only] if only else STEPS:
        results = Results(plan.folder, name, plan.device)
        for unit, predicted in load(name).units(plan.small).items():
            if results.done(unit, again=again):
                continue
            room = deadline - time.monotonic() - _SPARE_SECONDS
            if predicted > room:
                left += 1
                continue
            print(f"{name} {unit}: about {predicted:.0f} s, {room:.0f} s left", flush=True)
            results.add(unit, *plan.in_a_process(name, unit, room))
            print(f"{name} {unit}: {results.line(unit)}", flush=True)
    print(f"{left} units are left: run the same command again" if left else "all is done", flush=True)


def one_unit(plan: Plan, name: str, unit: str, file: Path) -> None:
    """Run a unit in this process and write its result."""
    from gnnbench.engine.ground import environment
    from gnnbench.engine.ground.files import write_whole

    environment.let_idle_threads_sleep()
    write_whole(file, json.dumps(load(name).run(unit, plan), indent=1) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "tables", "list", "pack", "unit"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path(".benchmarks/gpu"))
    parser.add_argument("--seconds", type=float, default=540.0, help="for this call")
    parser.add_argument("--step", choices=STEPS, help="this one only")
    parser.add_argument("--again", action="store_true", help="try what failed once more")
    parser.add_argument("--packages", type=Path, metavar="DIR", help="what `pack` brought together")
    parser.add_argument("--python", default="3.12", help="pack: of the machine with the GPU")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the plumbing")
    parser.add_argument("--unit", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    plan = Plan(options.folder.absolute(), options.device, options.small, options.packages)
    if options.what == "run":
        run(plan, options.step, options.seconds, again=options.again)
    elif options.what == "unit":
        one_unit(plan, options.step, options.unit, options.result)
    elif options.what == "pack":
        packages.pack(options.folder, options.python)
    elif options.what == "tables":
        import tables

        print(tables.tables(plan.folder))
    else:
        for name in STEPS:
            units = load(name).units(plan.small)
            print(f"{name:12} {sum(units.values()):6.0f} s in {len(units):2} units: {load(name).__doc__}")


if __name__ == "__main__":
    sys.exit(main())
