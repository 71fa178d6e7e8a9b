import re
from pathlib import Path

from gnnbench.engine.store.option_defaults import every

ROOT = Path(__file__).parents[1]


def test_every_option_is_documented_with_its_default():
    page = (ROOT / "docs/options.md").read_text()
    rows = dict(re.findall(r"^\| `--gnn-([^`]+)` \|.*\|(.*)\|$", page, re.MULTILINE))
    for option in every().values():
        typed = option.name if option.bare else f"{option.name} {option.metavar}".strip()
        assert (option.default if isinstance(option.default, str) else "") in rows[typed]


def test_format_version_is_documented():
    from gnnbench.engine.store.parts import FORMAT_VERSION

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
