import os
import re

from gnnbench.engine.store.option_defaults import every
from gnnbench.engine.store.parts import FORMAT_VERSION
from tests.runs import ROOT


def row(option):
    typed = option.name if option.bare else f"{option.name} {option.metavar}".strip()
    text, _, usual = option.help.rstrip(".").partition(" Default: ")
    return f"| `--gnn-{typed}` | {text.rstrip('.')} | {usual} |"


def test_the_rows_of_options_on_their_page_are_made_of_the_options():
    """GOLDEN=write makes them."""
    file = ROOT / "docs/options.md"
    page, rows = file.read_text(), {name: row(option) for name, option in every().items()}
    pattern = re.compile(r"^\| `--gnn-([\w-]+).*\|$", re.MULTILINE)
    made = pattern.sub(lambda found: rows[found[1]], page)
    if os.environ.get("GOLDEN") == "write":
        file.write_text(made)
    assert sorted(pattern.findall(page)) == sorted(rows)
    assert made == page


def test_format_version_is_documented():
    assert f"has a `version`, which is {FORMAT_VERSION}." in (ROOT / "docs/formats.md").read_text()


def test_example_of_an_operation_is_the_real_one():
    """The page may leave lines out."""
    page = (ROOT / "docs/adding-an-operation.md").read_text()
    module, benchmark = (block.partition("```")[0] for block in page.split("```python\n")[1:])
    for shown, path in (
        (module, "gnnbench/suite/operations/edge_softmax.py"),
        (benchmark, "benchmarks/test_edge_softmax.py"),
    ):
        real = (ROOT / path).read_text().splitlines()
        assert [line for line in shown.splitlines() if line not in real] == []
