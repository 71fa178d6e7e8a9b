"""GitHub's command `gh`, for what gnnbench calls; it keeps what it is given in a file."""

import json
import os
import re
import sys
from argparse import ArgumentParser
from pathlib import Path

from tests.runs import ROOT

TOKEN = "ghs_a-secret"
ME = "github-actions[bot]"
SCRIPT = (
    f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests import gh\ngh.main()\n"
)


class GitHub:
    """One repository `o/r`; `gh`, which must be in PATH, reads and writes the same file."""

    def __init__(self, folder):
        self.folder = folder
        self._file = folder / "github.json"
        folder.mkdir(exist_ok=True)
        (folder / "gh").write_text(SCRIPT)
        (folder / "gh").chmod(0o755)
        if not self._file.exists():
            self.write({"comments": []})

    @property
    def path(self):
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    def read(self):
        return json.loads(self._file.read_text())

    def write(self, state):
        self._file.write_text(json.dumps(state))

    def add(self, login, body):
        state = self.read()
        number = len(state["comments"]) + 1
        url = f"https://github.com/o/r/pull/7#issuecomment-{number}"
        comment = {"id": number, "user": login and {"login": login}, "body": body, "html_url": url}
        self.write({**state, "comments": [*state["comments"], comment]})
        return comment

    def call(self, options):
        """Return what one call prints."""
        method, path = options.method or "GET", options.path
        if path == "graphql":
            return [ME]
        if method == "PATCH":
            state = self.read()
            [comment] = [one for one in state["comments"] if path == f"repos/o/r/issues/comments/{one['id']}"]
            comment["body"] = sys.stdin.read()
            self.write(state)
            return [comment["html_url"]]
        if not path.startswith("repos/o/r/issues/7/comments"):
            sys.exit("gh: Not Found (HTTP 404)")
        if method == "POST":
            return [self.add(ME, sys.stdin.read())["html_url"]]
        return [
            {"id": one["id"], "body": one["body"], "login": one["user"] and one["user"]["login"]}
            for one in self.read()["comments"]
        ]


def main():
    """Do as `gh` does with the arguments of this process."""
    if os.environ.get("GITHUB_TOKEN") != TOKEN:
        sys.exit("gh: Resource not accessible\nby integration (HTTP 403)")
    github = GitHub(Path(sys.argv[0]).parent)
    parser = ArgumentParser()
    for name in ("--method", "--jq", "--field", "--raw-field"):
        parser.add_argument(name)
    parser.add_argument("--paginate", action="store_true")
    parser.add_argument("path")
    options = parser.parse_args(sys.argv[2:])
    assert options.jq.endswith("tojson")
    assert options.path == "graphql" or re.search(r"/\d+(/comments(\?per_page=100)?)?$", options.path)
    sys.stdout.writelines(f"{json.dumps(one)}\n" for one in github.call(options))
