"""Writes the tables of docs/experiments/gpu.md from the results of the steps."""

import re
import sys
from pathlib import Path

from plan import ROOT, Results, environment, last
from steps import STEPS, load

PAGE = ROOT / "docs" / "experiments" / "gpu.md"
_BEGIN, _END = "<!-- tables: experiments/gpu/gpu.py page -->", "<!-- end of the tables -->"


def write(folder: Path, output: Path | None) -> None:
    """Put the tables into docs/experiments/gpu.md, or write them alone to another file.

    Raises:
        SystemExit: nothing was measured, or not on a GPU, which is no page of the project's.
    """
    sys.path[:0] = environment()["PYTHONPATH"].split(":")
    text, device = _tables(folder)
    if output:
        output.write_text(text, encoding="utf-8")
        return
    if device != "cuda":
        sys.exit(f"{folder} is of the device {device}, and {PAGE.name} is about GPUs: give --output FILE")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{text}\n{_END}{after}", encoding="utf-8")


def _tables(folder: Path) -> tuple[str, str]:
    parts, devices = [], set()
    for name in STEPS:
        if not (folder / f"{name}.json").exists():
            continue
        content = Results(folder, name, _device(folder, name)).content
        devices.add(content["device"])
        units = content["units"]
        step = load(name)
        good = {unit: one["result"] for unit, one in units.items() if "result" in one}
        parts.append(f"## {(step.__doc__ or name).splitlines()[0].rstrip('.')}\n")
        parts.append(step.table(good) + "\n" if good else "")
        failed = {unit: one["failed"] for unit, one in units.items() if "failed" in one}
        parts += [f"- {unit} failed: {re.sub('[|<>]', '/', last(text))}\n" for unit, text in failed.items()]
        spent = sum(one["seconds"] for one in units.values())
        command = f"python experiments/gpu/gpu.py run FOLDER --step {name}"
        parts.append(f"{spent:.0f} s for {len(units)} of {len(step.units(small=False))} units: `{command}`\n")
    if not parts:
        sys.exit(f"nothing in {folder}: run first")
    if len(devices) > 1:
        sys.exit(f"{folder} holds results of {' and '.join(sorted(devices))}")
    return "\n".join(parts), devices.pop()


def _device(folder: Path, name: str) -> str:
    import json

    device: str = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["device"]
    return device
