"""Draws the picture in docs/comment.md: a comment, rendered by GitHub's renderer and a browser.

    gnnbench comment experiments/comment/real.json --title "GCN kernels" -o comment.md
    python experiments/comment/picture.py comment.md docs/comment.png

The result comes from `gnnbench ab git:HEAD~1 git:HEAD -- benchmarks --gnn-dataset cora
-k "(spmm_sum or gather_scatter_sum or gcn_norm) and (torch or pyg)"` on two cores shared with other programs.
The commit changed gnnbench/suite/platforms/torch.py to use `adjacency @ x` on the CPU too.

The script needs Debian's chromium, and Pillow from the development tools. Its style sheet imitates GitHub's.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cmarkgfm
from PIL import Image

WIDTH = 960
STYLE = """
body { margin: 0; padding: 16px; background: #fff; color: #1f2328; font: 14px/1.5 system-ui, sans-serif }
article { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden }
header { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; color: #59636e }
header b { color: #1f2328 }
main { padding: 4px 16px 12px }
table { border-collapse: collapse; margin: 0 0 16px }
th, td { padding: 6px 13px; border: 1px solid #d1d9e0 }
tr:nth-child(2n) td { background: #f6f8fa }
code { padding: .2em .4em; border-radius: 6px; background: #818b981f;
  white-space: break-spaces; font: 85% ui-monospace, monospace }
ul { padding-left: 2em }
li + li { margin-top: .25em }
"""


def page(markdown: str) -> str:
    """Return a comment's page, what is folded open: the picture is to show it."""
    html = cmarkgfm.github_flavored_markdown_to_html(markdown, cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE)
    html = html.replace("<details>", "<details open>")
    head = "<header><b>github-actions</b> bot commented</header>"
    measure = "<script>document.title = document.documentElement.scrollHeight</script>"
    body = f"<article>{head}<main>{html}</main></article>{measure}"
    return f"<!doctype html><meta charset=utf-8><title></title><style>{STYLE}</style>{body}"


def main() -> None:
    """Render, ask the browser how high it is, and have it drawn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    source, target = options.source, options.target
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("chromium is needed: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "comment.html")
        file.write_text(page(source.read_text(encoding="utf-8")), encoding="utf-8")
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}/profile",
        ]

        def run(height: int, *words: str) -> str:
            size = f"--window-size={WIDTH},{height}"
            return subprocess.run(
                [*command, size, *words, file.as_uri()],
                check=True,
                capture_output=True,
                text=True,
                timeout=120,
            ).stdout

        found = re.search(r"<title>(\d+)</title>", run(200, "--dump-dom"))
        assert found
        run(int(found[1]), f"--screenshot={folder}/picture.png")
        Image.open(f"{folder}/picture.png").convert("RGB").quantize(64).save(target, optimize=True)
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
