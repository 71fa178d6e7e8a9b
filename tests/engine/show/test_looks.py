"""Pages in windows of a phone and of a desktop, light and dark: all is in the window, and can be read."""

import pytest

from gnnbench.engine.ground import codec
from tests.engine.cli import saved
from tests.engine.show import contents
from tests.run_files import content, entry, plain

VERDICTS = ("slower", "faster", "same", "undecided", "incomparable", "ignored")
MEMORY = {"verdict": "more memory", "base_bytes": 2**20, "head_bytes": 2**21 + 2**19}


def names():
    """Return ids of another project's tests that are too long for a line."""
    return [f"test_sparse_{'_'.join(['word'] * number)}[ogbn-arxiv-{number}]" for number in range(1, 14)]


def of_ab():
    """Return a result of ab that uses all columns, with a cause and commands."""
    judged = {f"tests/test_a.py::{name}": saved.SLOWER for name in names()}
    found = codec.encode(saved.result(benchmarks=judged))
    for number, row in enumerate(found["comparison"]["rows"]):
        row |= {"seconds": 1e-3, "memory": MEMORY, "work": contents.work("scale"), "notes": ["code: scale"]}
        row["results"] = {"status": ("differ", "close")[number % 2], "reason": "output[201, 25] is 1, not 2"}
        row["judgement"]["verdict"] = VERDICTS[number % 6]
    return found | {"repeat": contents.REPEAT}


PAGES = {
    "a run that is judged": lambda report: report(contents.judged()),
    "a run": lambda report: report(contents.family(1)),
    "another project's run": lambda report: report(
        content(*(entry(name, 1 + number, blocks=20) for number, name in enumerate(names())))
    ),
    "runs of pytest-benchmark": lambda report: report(plain(9)),
    "a result of ab": lambda report: report(of_ab()),
}


@pytest.mark.parametrize("name", PAGES)
def test_all_is_in_the_window_and_can_be_read(report, visit, name):
    """With all columns that a page can have, and a row that is opened."""
    view = visit(PAGES[name](report))
    view.page.locator("#all > tbody > tr > th button").first.click()
    assert view.faults() == []
