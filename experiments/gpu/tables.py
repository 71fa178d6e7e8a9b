"""Lays out what the steps found, in Markdown."""

import json
import re
import sys
from pathlib import Path

from plan import environment, last
from steps import STEPS, load


def tables(folder: Path) -> str:
    """Return a heading and a table for each step that has run.

    Raises:
        SystemExit: none has.
    """
    sys.path[:0] = environment()["PYTHONPATH"].split(":")
    parts = []
    for name in STEPS:
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        content = json.loads(file.read_text(encoding="utf-8"))
        units, step = content["units"], load(name)
        good = {unit: one["result"] for unit, one in units.items() if "result" in one}
        parts.append(f"## {(step.__doc__ or name).splitlines()[0].rstrip('.')} ({content['device']})\n")
        parts.append(step.table(good) + "\n" if good else "")
        failed = {unit: one["failed"] for unit, one in units.items() if "failed" in one}
        parts += [f"- {unit} failed: {re.sub('[|<>]', '/', last(text))}\n" for unit, text in failed.items()]
        spent = sum(one["seconds"] for one in units.values())
        parts.append(f"{spent:.0f} s for {len(units)} of {len(step.units(small=False))} units\n")
    if not parts:
        sys.exit(f"nothing in {folder}: run first")
    return "\n".join(parts)
