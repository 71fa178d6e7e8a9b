"""Time, size and responsiveness of the page of 500 operations on four platforms.

    python experiments/report/large.py [--base 5] [--folder DIR]

Simulates the run and `--base` older ones, makes the page with `gnnbench report`, and sorts, filters and opens
rows in Chromium. Prints the time until the browser has redrawn, and its tasks of more than 50 ms.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.report.contents import family

OPERATIONS = 500
BLOCKS = 60
REPEATS = 5
_DRAWN = """async (act) => {
  const begin = performance.now();
  eval(act);
  if (act.includes("input")) await new Promise((done) => setTimeout(done, 100));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""
ACTIONS = {
    "sort by ratio or time": "document.querySelectorAll('#all thead button')[1].click()",
    "sort by name": "document.querySelectorAll('#all thead button')[0].click()",
    "filter by words, 100 ms of waiting included": (
        "const field = document.querySelector('[name=words]'); field.value = field.value ? '' : 'dgl op1';"
        "field.dispatchEvent(new Event('input', {bubbles: true}))"
    ),
    "open or close a row": "document.querySelectorAll('#all tbody th button')[7].click()",
}


def main() -> None:
    """Measure, and print what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for seed in range(options.base + 1):
        files.append(folder / f"run-{seed}.json")
        run = family(seed, operations=OPERATIONS, blocks=BLOCKS, factor=1.0 if seed else 1.3)
        files[-1].write_text(json.dumps(run))
    page = folder / "report.html"
    for name, given in (("one run", files[:1]), (f"a run against {options.base}", files)):
        command = [
            sys.executable,
            "-c",
            "import sys; from gnnbench.cli.main import main; sys.exit(main())",
            "report",
        ]
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([*command, *map(str, given), "-o", str(page)], check=True, capture_output=True)
            seconds.append(time.perf_counter() - begin)
        read = sum(file.stat().st_size for file in given) / 1e6
        took = f"{min(seconds):.2f} to {max(seconds):.2f} s"
        print(f"{name}, {read:.0f} MB: {took}, page of {page.stat().st_size:,} bytes")
        _feel(page)


def _feel(page: Path) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        # The measuring script is no part of the page, whose policy would not let it be.
        view = browser.new_context(bypass_csp=True).new_page()
        view.add_init_script(
            "window.long = []; new PerformanceObserver((list) => { for (const one of list.getEntries())"
            " long.push(one.duration); }).observe({type: 'longtask', buffered: true})"
        )
        view.goto(page.as_uri())
        view.wait_for_timeout(500)
        loaded = view.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        print(f"  loaded after {loaded:.0f} ms; long tasks: {_long(view)}")
        for name, action in ACTIONS.items():
            times = [view.evaluate(_DRAWN, action) for _ in range(REPEATS)]
            view.wait_for_timeout(200)
            print(f"  {name}: median {statistics.median(times):.0f} ms; long tasks: {_long(view)}")
        browser.close()


def _long(view: object) -> str:
    found = view.evaluate("long.splice(0)")  # type: ignore[attr-defined]
    return ", ".join(f"{one:.0f} ms" for one in found) or "none"


if __name__ == "__main__":
    main()
