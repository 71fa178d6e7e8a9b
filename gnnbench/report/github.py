"""Publish comments on pull requests through GitHub's REST API."""

import http.client
import ipaddress
import json
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from .. import __version__
from ..errors import UsageError, one_line

PUBLIC = "https://api.github.com"
_TIMEOUT_SECONDS = 30.0
_TRIES = 4
_FIRST_WAIT_SECONDS = 2.0
_LONGEST_WAIT_SECONDS = 120.0
_PAGE = 100
"""Comments per request; GitHub's maximum."""
_MAX_BYTES = 2**26
_LONGEST_MESSAGE = 200
_REPOSITORY = re.compile(r"[\w-][\w.-]*/(?!\.{1,2}$)[\w.-]+", re.ASCII)
_TOKEN = re.compile(r"[!-~]+")
_VIEWER = "query { viewer { login } }"
_REMEDIES = {
    401: "the token is invalid or has expired; set GITHUB_TOKEN to a valid one",
    403: "the token lacks a permission; give the job `pull-requests: write` (a workflow that a fork's pull "
    "request starts never gets it)",
    404: "there is no such repository or pull request, or the token has no access to it",
    410: "the pull request was deleted",
    422: "GitHub rejected the comment; the pull request may be locked",
}


class _PassingError(Exception):
    """A temporary failure; `seconds` is the time to wait, None: unknown."""

    def __init__(self, message: str, seconds: float | None) -> None:
        super().__init__(message)
        self.seconds = seconds


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follow no redirects, so that the token is sent to no other address."""

    def redirect_request(self, *_arguments: Any, **_options: Any) -> None:
        """Return None: do not follow."""


@dataclass(frozen=True)
class PullRequest:
    """A pull request, and the token for its comments."""

    root: str
    """URL of the API."""
    repository: str
    """OWNER/NAME."""
    number: int
    token: str

    @classmethod
    def parse(cls, root: str, repository: str, number: str, token: str) -> "PullRequest":
        """Check the settings.

        Raises:
            UsageError: a setting is invalid, or would send the token unencrypted.
        """
        parts = urllib.parse.urlsplit(root)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or "@" in parts.netloc:
            raise UsageError(f"GITHUB_API_URL {root!r} must be a URL such as {PUBLIC}")
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise UsageError(f"GITHUB_API_URL {root!r} would send the token unencrypted; use https")
        if not repository:
            raise UsageError("no repository: give --repository OWNER/NAME, or set GITHUB_REPOSITORY")
        if not _REPOSITORY.fullmatch(repository):
            raise UsageError(f"repository {repository!r} must be OWNER/NAME")
        if not (number.isascii() and number.isdecimal() and 0 < int(number) < 2**31):
            raise UsageError(f"pull request {number!r} must be a number, as in 12")
        if not _TOKEN.fullmatch(token.strip()):
            raise UsageError("GITHUB_TOKEN must be set to a token without spaces")
        return cls(root.rstrip("/"), repository, int(number), token.strip())

    def publish(
        self, body: str, marker: str, sleep: Callable[[float], None] = time.sleep
    ) -> tuple[str, bool]:
        """Create a comment, or update the one that this account made before.

        Args:
            body: Markdown, without the marker.
            marker: last line of the comment; this account's comment with the same marker is updated.
            sleep: waits between attempts, in seconds.

        Returns:
            The comment's URL, and whether it was updated.

        Raises:
            UsageError: GitHub cannot be reached, or refuses.
        """
        for number in range(_TRIES):
            try:
                # A retry looks for the comment again: a failed request may have created it.
                return self._publish(f"{body}\n{marker}\n", marker)
            except _PassingError as error:
                wait = _FIRST_WAIT_SECONDS * 2**number if error.seconds is None else error.seconds
                if number == _TRIES - 1 or wait > _LONGEST_WAIT_SECONDS:
                    raise UsageError(f"{error}; try again later") from None
                sleep(wait)
        raise AssertionError

    def _publish(self, text: str, marker: str) -> tuple[str, bool]:
        place = f"{self.root}/repos/{self.repository}/issues"
        login = self._login()
        for comment in self._comments(f"{place}/{self.number}/comments"):
            author = comment.get("user") or {}
            ends = str(comment.get("body") or "").rstrip().endswith(marker)
            if ends and str(author.get("login", "")).lower() == login:
                found, _ = self._ask("PATCH", f"{place}/comments/{int(comment['id'])}", {"body": text})
                return str(found.get("html_url", "")), True
        found, _ = self._ask("POST", f"{place}/{self.number}/comments", {"body": text})
        return str(found.get("html_url", "")), False

    def _login(self) -> str:
        """Return the token's account; the REST API does not return it for a workflow's token."""
        found, _ = self._ask("POST", f"{self.root.removesuffix('/v3')}/graphql", {"query": _VIEWER})
        try:
            return str(found["data"]["viewer"]["login"]).lower()
        except (KeyError, TypeError):
            raise UsageError(
                "GitHub did not return the token's account; set GITHUB_TOKEN to another token"
            ) from None

    def _comments(self, place: str) -> Iterator[dict[str, Any]]:
        page = 1
        while True:
            found, more = self._ask("GET", f"{place}?per_page={_PAGE}&page={page}")
            if not isinstance(found, list):
                raise UsageError(f"{self.root} did not return a list of comments; check GITHUB_API_URL")
            yield from (one for one in found if isinstance(one, dict))
            if not more:
                return
            page += 1

    def _ask(self, method: str, url: str, content: Any = None) -> tuple[Any, bool]:
        """Return the parsed answer, and whether there is a next page.

        Raises:
            UsageError: the request failed.
            _PassingError: the request failed for now.
        """
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(url, data, method=method)  # noqa: S310 - the scheme was checked
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("Content-Type", "application/json")
        request.add_header("User-Agent", f"gnnbench/{__version__}")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        host = urllib.parse.urlsplit(url).hostname or ""
        direct = [urllib.request.ProxyHandler({})] if _is_loopback(host) else []
        opener = urllib.request.build_opener(_NoRedirect, *direct)
        try:
            with opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
                raw = answer.read(_MAX_BYTES)
                more = 'rel="next"' in answer.headers.get("Link", "")
            return json.loads(raw), more
        except urllib.error.HTTPError as error:
            self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            text = str(reason) or type(reason).__name__
            if isinstance(reason, ssl.SSLError):
                text = f"its certificate is not trusted: {reason.reason or reason}"
            raise UsageError(f"{host} cannot be reached ({self._clean(text)}); check the network") from None
        except (ValueError, RecursionError):
            raise UsageError(f"{host} did not answer with JSON; check GITHUB_API_URL") from None

    def _refused(self, error: urllib.error.HTTPError) -> NoReturn:
        with error:
            try:
                content = json.loads(error.read(_MAX_BYTES))
                message = str(content["message"])
            except (ValueError, KeyError, TypeError, OSError, RecursionError, http.client.HTTPException):
                message = str(error.reason)
        said = f"GitHub answered {error.code} ({self._clean(message)})"
        if error.code in (502, 503, 504):
            raise _PassingError(said, None)
        after = error.headers.get("Retry-After", "")
        reset = error.headers.get("X-RateLimit-Reset", "")
        if error.headers.get("X-RateLimit-Remaining") == "0" and reset.isascii() and reset.isdecimal():
            raise _PassingError(said, max(float(reset) - time.time(), 1.0))
        if error.code == 429 or (error.code == 403 and (after or "secondary rate limit" in message)):  # noqa: PLR2004
            # One minute, as GitHub's documentation asks for, if the answer has no Retry-After.
            raise _PassingError(said, float(after) if after.isascii() and after.isdecimal() else 60.0)
        if 300 <= error.code < 400:  # noqa: PLR2004
            raise UsageError(
                f"{said}: {self.repository} has moved; give its new name to --repository"
            ) from None
        raise UsageError(f"{said}: {_REMEDIES.get(error.code, 'nothing was written')}") from None

    def _clean(self, text: str) -> str:
        """Return a foreign text on one line, without the token."""
        return one_line(" ".join(text.replace(self.token, "***").split()))[:_LONGEST_MESSAGE]


def marker(title: str) -> str:
    """Return the hidden line that identifies the comment with this title."""
    name = "".join(c if c.isascii() and c.isalnum() else f"%{ord(c):x}." for c in title)
    return f"<!-- gnnbench comment {name or 'untitled'} -->"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
