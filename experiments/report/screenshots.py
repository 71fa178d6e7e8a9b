"""Takes the pictures of docs/report.md: pages in light, dark, phone and print layout, and a slide.

    python experiments/report/screenshots.py result.html run.html slides/01-*.png docs/report

The first page may show a result of `gnnbench ab`; the second must show a run, whose rows have distributions.
"""

import argparse
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

LOOKS = {
    "light": {"viewport": {"width": 1100, "height": 1000}},
    "dark": {"viewport": {"width": 1100, "height": 1000}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 1000}},
    "print": {"viewport": {"width": 794, "height": 1000}},  # A4 at 96 dots to the inch
}
SLIDE_SIZE = (960, 540)


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("result", type=Path)
    parser.add_argument("run", type=Path, help="with benchmarks that have distributions")
    parser.add_argument("slide", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, look in LOOKS.items():
            view = browser.new_context(**look).new_page()
            page = options.result if name in ("light", "phone") else options.run
            view.goto(page.resolve().as_uri())
            if name == "dark":
                view.locator("#all tbody th button").first.click()
                view.locator("tr.detail figure svg").wait_for()
                view.locator("#benchmarks").scroll_into_view_if_needed()
                view.evaluate("document.getElementById('benchmarks').scrollIntoView()")
            if name == "print":
                view.emulate_media(media="print")
            file = options.folder / f"{name}.png"
            view.screenshot(path=file)
            _save(Image.open(file), file)
        browser.close()
    _save(Image.open(options.slide).resize(SLIDE_SIZE), options.folder / "slide.png")


def _save(image: Image.Image, file: Path) -> None:
    image.convert("RGB").save(file, optimize=True)
    print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
