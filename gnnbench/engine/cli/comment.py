"""`gnnbench comment RESULT.json`: writes a result as a comment for a pull request."""

import argparse
import os
import re
import sys
from pathlib import Path

from ..ground.errors import UsageError
from ..ground.files import save
from ..ground.options import Option
from .common import declare

WRITTEN = 0
_LONGEST_TITLE = 200
_URL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?#@!$&'*+,;=%-]{0,1999}")
_OWN = (
    Option("title", "TEXT", "", help="title; an earlier comment with the same title is updated"),
    Option(
        "repository",
        "OWNER/NAME",
        "",
        help="repository of the pull request. Default: the variable GITHUB_REPOSITORY.",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "result",
        type=Path,
        metavar="RESULT.json",
        help="result of gnnbench ab --json or gnnbench compare --json",
    )
    declare(parser, _OWN)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the comment to FILE")
    parser.add_argument("--details-url", default="", metavar="URL", help="link to the full report")
    parser.add_argument(
        "--pull-request",
        metavar="N",
        help="post the comment to pull request N, with GitHub's command gh and its token",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the comment and return 0, whatever the verdicts are."""
    from ..drive import result
    from ..show import github, markdown

    if options.details_url and not _URL.fullmatch(options.details_url):
        raise UsageError(f"--details-url {options.details_url!r} must be a URL, as in https://...")
    if len(options.title) > _LONGEST_TITLE:
        raise UsageError(f"--title has {len(options.title)} characters; give at most {_LONGEST_TITLE}")
    target = None
    if options.pull_request is not None:
        repository = options.repository or os.environ.get("GITHUB_REPOSITORY", "")
        target = github.PullRequest.parse(repository, options.pull_request)
    marker = github.marker(options.title)
    most = markdown.MOST_CHARACTERS - len(marker) - 2
    text = markdown.write(result.read(options.result), options.title, options.details_url, most)
    if options.output:
        save(options.output, f"{text}\n{marker}\n", [options.result])
    elif not target:
        sys.stdout.write(f"{text}\n{marker}\n")
    if target:
        address, known = target.publish(text, marker)
        print(f"{'updated' if known else 'created'} {address}")
    return WRITTEN
