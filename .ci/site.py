"""What mkdocs.yml adds to docs/: the first page, navigation, the fixtures' API, and pages that gnnbench made.

Links that lead out of docs/ lead to the repository on GitHub, if SITE_REPOSITORY has its address; else their
text remains without a link.
"""

import json
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from gnnbench.apps.regret.result import Regrets
from gnnbench.engine.drive import result
from gnnbench.engine.ground import codec
from gnnbench.engine.profile import record
from gnnbench.engine.store import parts
from gnnbench.suite import counter_baseline

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_API = """\
# Which fixtures are there for benchmarks of graph kernels?

They come with `gnnbench[pyg]`, in tests with the marker `operations`.
[adding-an-operation.md](adding-an-operation.md) uses them.

## Fixtures

::: gnnbench.suite.plugin.fixtures
    options:
      show_root_heading: false
      show_root_toc_entry: false
      members: [graph, case, measure, library, kernel, reference, weights, training]

## What they give

::: gnnbench.suite.case.Case

::: gnnbench.suite.graphs.graph.Graph

::: gnnbench.suite.spec.Spec
"""
_EXAMPLES = """\
# What do the pages look like?

- [A page of `gnnbench report`](examples/report.html): a commit that replaced a SpMM kernel of
  PyTorch, from `experiments/comment/real.json` ([report.md](report.md)).
"""
_SCHEMAS = {
    "run": (parts.RunPart,),
    "benchmark-of-a-run": (parts.BenchmarkPart,),
    "result": (result.Result,),
    "profile": (record.ProfileRecord,),
    "counters": (counter_baseline.CounterFile,),
    "regrets": (Regrets,),
}
"""The types of saved files, by the name of the schema."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Order the pages as README.md's table does; those that it lacks follow."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("\n## More\n")[2]
    docs = Path(config.docs_dir)
    named = re.findall(r"\]\(docs/((?:apps/)?[\w.-]+\.md)\)", table)
    others = sorted(path.name for path in docs.glob("*.md") if path.name not in named)
    experiments = sorted(path.relative_to(docs).as_posix() for path in docs.glob("experiments/*.md"))
    config.nav = ["index.md", *named, *others, "api.md", "examples.md", {"Experiments": experiments}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ has not."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    # As if it were in docs/.
    index = re.sub(
        r"\]\((?!https?:|#)([^)]*)\)",
        lambda found: f"]({posixpath.relpath(found[1], 'docs')})",
        readme,
    )
    pages = {"index.md": index, "api.md": _API, "examples.md": _EXAMPLES, **_examples(), **_schemas()}
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let links that lead out of docs/ lead to the repository."""

    def changed(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link["target"]))
        if not link["target"] or ":" in link["target"] or not target.startswith("../"):
            return link[0]
        path = target.removeprefix("../")
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"docs/{page.file.src_uri} has a link to {path}, which does not exist")
        address = (
            f"{config.repo_url.rstrip('/')}/blob/main/{path}{link['anchor'] or ''}" if config.repo_url else ""
        )
        return f"[{link['text']}]({address})" if address else link["text"]

    # Every second part is code.
    parts = re.split(r"(^```.*?^```$|^ {4}[^\n]*$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if number % 2 else _LINK.sub(changed, part) for number, part in enumerate(parts))


def _examples() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _gnnbench("report", str(ROOT / "experiments/comment/real.json"), "-o", str(folder / "report.html"))
        return {"examples/report.html": (folder / "report.html").read_bytes()}


def _schemas() -> dict[str, str]:
    """Return the JSON Schemas, made from the types that gnnbench reads and writes."""
    return {
        f"schemas/{name}.schema.json": json.dumps(codec.schema(*kinds), indent=1)
        for name, kinds in _SCHEMAS.items()
    }


def _gnnbench(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gnnbench", *words], check=False, capture_output=True, text=True
    )
    if done.returncode not in (0, 1):  # 1: something is worse
        raise RuntimeError(done.stderr)
