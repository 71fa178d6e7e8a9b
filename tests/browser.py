"""A real browser: one for all tests of a process, as playwright takes no second."""

import os
import shutil
from itertools import product
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium, headless."""
    path = os.environ.get("GNNBENCH_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        # A container's root has no sandbox; what is opened are our own pages.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


_FAULTS = (Path(__file__).parent / "faults.js").read_text("utf-8")


class Visit:
    """An open page, and all that it said and asked for."""

    def __init__(self, browser, path, *, fragment="", **context):
        self.said, self.asked = [], []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on(
            "dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = path.as_uri()
        self.page.goto(f"{self.url}{fragment}")

    def rows(self):
        """Return the names of the rows that are shown, in their order."""
        return self.page.locator("#all > tbody > tr:not(.detail):visible > th").all_inner_texts()

    def open(self, name):
        """Open the row with this name by its button."""
        self.page.locator("#all > tbody > tr > th button", has_text=name).first.click()
        self.page.locator("#all tr.detail").first.wait_for()

    def faults(self):
        """Return what cannot be read, on a phone and on a desktop, light or dark."""
        found = []
        for width, scheme in product((390, 1280), ("light", "dark")):
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size({"width": width, "height": 900})
            found += [f"{width} {scheme}: {fault}" for fault in self.page.evaluate(_FAULTS)]
        return found

    def clean(self):
        """See that nothing went wrong and nothing was asked for."""
        assert self.said == []
        assert [url for url in self.asked if url != self.url and not url.startswith(f"{self.url}#")] == []


@pytest.fixture
def visit(chromium):
    """Open a page; in the end it must have said and asked for nothing."""
    visits = []

    def go(path, **context):
        visits.append(Visit(chromium, path, **context))
        return visits[-1]

    yield go
    for one in visits:
        one.clean()
        one.context.close()
