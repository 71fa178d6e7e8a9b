"""`gnnbench comment RESULT.json`: writes a result as a comment for a pull request."""

import argparse
import os
import sys
from pathlib import Path

from ..ground.files import save
from ..ground.options import Option
from .common import declare

_OPTIONS = (
    Option("title", "TEXT", "").described("title; an earlier comment with this title is updated"),
    Option("repository", "OWNER/NAME", "").described(
        "repository of the pull request. Default: the environment variable GITHUB_REPOSITORY."
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "result of gnnbench ab --json or gnnbench compare --json"
    parser.add_argument("result", type=Path, metavar="RESULT.json", help=text)
    declare(parser, _OPTIONS)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the comment to FILE")
    parser.add_argument("--details-url", default="", metavar="URL", help="link to the full report")
    text = "post the comment to pull request N, with GitHub's command gh and its token"
    parser.add_argument("--pull-request", metavar="N", help=text)


def run(options: argparse.Namespace) -> int:
    """Write the comment and return 0, whatever the verdicts are."""
    from ..drive import result
    from ..show import github, markdown

    target = None
    if options.pull_request is not None:
        repository = options.repository or os.environ.get("GITHUB_REPOSITORY", "")
        target = github.PullRequest.parse(repository, options.pull_request)
    marker = github.marker(options.title)
    limit = markdown.MOST_CHARACTERS - len(marker) - 2
    text = markdown.write(result.read(options.result), options.title, options.details_url, limit)
    if options.output:
        save(options.output, f"{text}\n{marker}\n", [options.result])
    elif not target:
        sys.stdout.write(f"{text}\n{marker}\n")
    if target:
        address, is_update = target.publish(text, marker)
        print(f"{'updated' if is_update else 'created'} {address}")
    return 0
