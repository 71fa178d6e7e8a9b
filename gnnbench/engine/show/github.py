"""Publishes comments on pull requests with `gh`, GitHub's command-line tool."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from ..ground.errors import UsageError, one_line

_REPOSITORY = re.compile(r"[\w-][\w.-]*/(?!\.{1,2}$)[\w.-]+", re.ASCII)
_TIMEOUT_SECONDS = 120.0
_RIGHT = "`pull-requests: write`, which workflows of pull requests from forks never have"


@dataclass(frozen=True)
class PullRequest:
    """A pull request. gh writes the comments; it takes the host and the token from its own settings."""

    repository: str
    """OWNER/NAME."""
    number: int

    @classmethod
    def parse(cls, repository: str, number: str) -> "PullRequest":
        """Return the pull request that two command-line options name. Raises UsageError if one is invalid."""
        if not repository:
            raise UsageError("no repository: give --repository OWNER/NAME, or set GITHUB_REPOSITORY")
        if not _REPOSITORY.fullmatch(repository):
            raise UsageError(f"repository {repository!r} must be OWNER/NAME")
        if not (number.isascii() and number.isdecimal() and 0 < int(number) < 2**31):
            raise UsageError(f"pull request {number!r} must be a number, such as 12")
        return cls(repository, int(number))

    def publish(self, body: str, marker: str) -> tuple[str, bool]:
        """Post a comment, or update the one with this marker. Return the URL, and whether one was updated."""
        # The REST API does not return the account of a workflow's token.
        query = "query=query { viewer { login } }"
        (account,) = _api("graphql", "--raw-field", query, "--jq", ".data.viewer.login | tojson")
        issues = f"repos/{self.repository}/issues"
        comments = f"{issues}/{self.number}/comments"
        fields = "{id, body, login: .user.login}"
        saved = _api("--paginate", f"{comments}?per_page=100", "--jq", f".[] | {fields} | tojson")
        earlier = [
            comment["id"]
            for comment in saved
            if comment["login"] == account and (comment["body"] or "").rstrip().endswith(marker)
        ]
        method, path = ("PATCH", f"{issues}/comments/{earlier[0]}") if earlier else ("POST", comments)
        arguments = ("--method", method, path, "--field", "body=@-", "--jq", ".html_url | tojson")
        (url,) = _api(*arguments, text=f"{body}\n{marker}\n")
        return one_line(str(url)), bool(earlier)


def marker(title: str) -> str:
    """Return the hidden last line of a comment, by which a later run finds the comment with this title."""
    name = "".join(char if char.isascii() and char.isalnum() else f"%{ord(char):x}." for char in title)
    return f"<!-- gnnbench comment {name or 'untitled'} -->"


def _api(*arguments: str, text: str = "") -> list[Any]:
    """Return the JSON values that `gh api` prints, one per line; `text` is its standard input."""
    try:
        process = subprocess.run(  # noqa: S603 - all arguments are checked
            ["gh", "api", *arguments],  # noqa: S607
            input=text,
            capture_output=True,
            encoding="utf-8",
            timeout=_TIMEOUT_SECONDS,
            check=False,
            env={**os.environ, "GH_PROMPT_DISABLED": "1"},
        )
    except FileNotFoundError:
        raise UsageError(
            "gh, which posts the comment, is not installed: get it at https://cli.github.com, or use -o FILE"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"gh did not finish in {_TIMEOUT_SECONDS:g} s; try again later") from None
    if process.returncode:
        reason = one_line(" ".join(process.stderr.split()))[:200]
        raise UsageError(f"gh did not post the comment: {reason}; its token needs {_RIGHT}")
    return [json.loads(line) for line in process.stdout.splitlines()]
