"""Publish comments on pull requests through GitHub's REST API."""

import asyncio
import ipaddress
import json
import re
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from .. import __version__
from ..errors import UsageError, one_line

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

PUBLIC = "https://api.github.com"
PACKAGES = ("aiohttp",)
"""What publishing needs."""
_TRIES = 4
_FIRST_WAIT_SECONDS = 2.0
_LONGEST_WAIT_SECONDS = 120.0
_PAGE = 100
"""Comments per request; GitHub's maximum."""
_LONGEST_MESSAGE = 200
_REPOSITORY = re.compile(r"[\w-][\w.-]*/(?!\.{1,2}$)[\w.-]+", re.ASCII)
_TOKEN = re.compile(r"[!-~]+")
_VIEWER = "query { viewer { login } }"
_HEADERS = {
    "Accept": "application/vnd.github+json",
    "Accept-Encoding": "identity",  # a few compressed bytes can be gigabytes
    "User-Agent": f"gnnbench/{__version__}",
    "X-GitHub-Api-Version": "2022-11-28",
}
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


@dataclass(frozen=True)
class Limits:
    """What the answers to all requests of one attempt may be together."""

    seconds: float = 120.0
    size_bytes: int = 2**26
    pages: int = 50
    """Pages of comments: twice what GitHub allows on a pull request, which is 2,500 comments."""


LIMITS = Limits()


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
        self, body: str, marker: str, sleep: Callable[[float], None] = time.sleep, limits: Limits = LIMITS
    ) -> tuple[str, bool]:
        """Create a comment, or update the one that this account made before.

        Args:
            body: Markdown, without the marker.
            marker: last line of the comment; this account's comment with the same marker is updated.
            sleep: waits between attempts, in seconds.
            limits: of each attempt.

        Returns:
            The comment's URL, and whether it was updated.

        Raises:
            UsageError: GitHub cannot be reached, refuses, or exceeds a limit.
        """
        for number in range(_TRIES):
            try:
                # A retry looks for the comment again: a failed request may have created it.
                return asyncio.run(self._attempt(f"{body}\n{marker}\n", marker, limits))
            except _PassingError as error:
                wait = _FIRST_WAIT_SECONDS * 2**number if error.seconds is None else error.seconds
                if number == _TRIES - 1 or wait > _LONGEST_WAIT_SECONDS:
                    raise UsageError(f"{error}; try again later") from None
                sleep(wait)
        raise AssertionError

    async def _attempt(self, text: str, marker: str, limits: Limits) -> tuple[str, bool]:
        import aiohttp

        host = urllib.parse.urlsplit(self.root).hostname or ""
        try:
            # One deadline for all: timeouts of the client are for one request, or for one read.
            async with (
                asyncio.timeout(limits.seconds),
                aiohttp.ClientSession(
                    headers={**_HEADERS, "Authorization": f"Bearer {self.token}"},
                    timeout=aiohttp.ClientTimeout(total=None),
                    auto_decompress=False,
                    trust_env=not _is_loopback(host),  # proxies
                ) as session,
            ):
                return await _Requests(self, host, session, limits).publish(text, marker)
        except TimeoutError:
            raise UsageError(
                f"{host} did not finish its answers in {limits.seconds:g} s; try again later"
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if isinstance(error, aiohttp.ClientConnectorCertificateError):
                reason = f"its certificate is not trusted: {reason}"
            raise UsageError(f"{host} cannot be reached ({self.clean(reason)}); check the network") from None

    def clean(self, text: str) -> str:
        """Return a foreign text on one line, without the token."""
        return one_line(" ".join(text.replace(self.token, "***").split()))[:_LONGEST_MESSAGE]


class _Requests:
    """The requests of one attempt."""

    def __init__(self, target: PullRequest, host: str, session: "ClientSession", limits: Limits) -> None:
        self._target = target
        self._host = host
        self._session = session
        self._pages = limits.pages
        self._bytes_left = limits.size_bytes

    async def publish(self, text: str, marker: str) -> tuple[str, bool]:
        """See `PullRequest.publish`."""
        place = f"{self._target.root}/repos/{self._target.repository}/issues"
        comments = f"{place}/{self._target.number}/comments"
        known = await self._find(comments, marker, await self._login())
        if known is not None:
            found, _ = await self._ask("PATCH", f"{place}/comments/{known}", {"body": text})
        else:
            found, _ = await self._ask("POST", comments, {"body": text})
        if not isinstance(found, dict):
            raise UsageError(f"{self._host} did not return the comment; check GITHUB_API_URL")
        return self._target.clean(str(found.get("html_url", ""))), known is not None

    async def _login(self) -> str:
        """Return the token's account; the REST API does not return it for a workflow's token."""
        url = f"{self._target.root.removesuffix('/v3')}/graphql"
        found, _ = await self._ask("POST", url, {"query": _VIEWER})
        try:
            return str(found["data"]["viewer"]["login"]).lower()
        except (KeyError, TypeError):
            raise UsageError(
                "GitHub did not return the token's account; set GITHUB_TOKEN to another token"
            ) from None

    async def _find(self, comments: str, marker: str, login: str) -> int | None:
        """Return the id of the account's comment that ends with the marker; None: there is none."""
        for page in range(1, self._pages + 1):
            # No address of an answer is followed: it could send the token elsewhere.
            found, more = await self._ask("GET", f"{comments}?per_page={_PAGE}&page={page}")
            if not isinstance(found, list):
                raise UsageError(
                    f"{self._target.root} did not return a list of comments; check GITHUB_API_URL"
                )
            for comment in found:
                try:
                    ends = str(comment["body"]).rstrip().endswith(marker)
                    if ends and str(comment["user"]["login"]).lower() == login:
                        return int(comment["id"])
                except (KeyError, TypeError, ValueError, OverflowError):
                    continue  # its account is gone, or it is no comment
            if not more:
                return None
        raise UsageError(
            f"{self._host} has more than {self._pages} pages of comments for one pull request; "
            "check GITHUB_API_URL"
        )

    async def _ask(self, method: str, url: str, content: Any = None) -> tuple[Any, bool]:
        """Return the parsed answer, and whether there is a next page.

        Raises:
            UsageError: GitHub refused, the answer is no JSON, or the answers are too large.
            _PassingError: the request failed for now.
        """
        async with self._session.request(method, url, json=content, allow_redirects=False) as answer:
            raw = bytearray()
            async for part in answer.content.iter_any():
                self._bytes_left -= len(part)
                if self._bytes_left < 0:
                    raise UsageError(f"the answers of {self._host} are too large; check GITHUB_API_URL")
                raw += part
            try:
                found = json.loads(raw)
            except (ValueError, RecursionError):
                found = None
            if not 200 <= answer.status < 300:  # noqa: PLR2004
                self._refused(answer, found)
            if found is None:
                raise UsageError(f"{self._host} did not answer with JSON; check GITHUB_API_URL")
            return found, 'rel="next"' in answer.headers.get("Link", "")

    def _refused(self, answer: "ClientResponse", content: Any) -> NoReturn:
        status, headers = answer.status, answer.headers
        message = content.get("message") if isinstance(content, dict) else None
        message = str(message or answer.reason or "no reason given")
        said = f"GitHub answered {status} ({self._target.clean(message)})"
        if status in (502, 503, 504):
            raise _PassingError(said, None)
        after = headers.get("Retry-After", "")
        reset = headers.get("X-RateLimit-Reset", "")
        if headers.get("X-RateLimit-Remaining") == "0" and reset.isascii() and reset.isdecimal():
            raise _PassingError(said, max(float(reset) - time.time(), 1.0))
        if status == 429 or (status == 403 and (after or "secondary rate limit" in message)):  # noqa: PLR2004
            # One minute, as GitHub's documentation asks for, if the answer has no Retry-After.
            raise _PassingError(said, float(after) if after.isascii() and after.isdecimal() else 60.0)
        if 300 <= status < 400:  # noqa: PLR2004
            raise UsageError(
                f"{said}: {self._target.repository} has moved; give its new name to --repository"
            )
        raise UsageError(f"{said}: {_REMEDIES.get(status, 'nothing was written')}")


def marker(title: str) -> str:
    """Return the hidden line that identifies the comment with this title."""
    name = "".join(c if c.isascii() and c.isalnum() else f"%{ord(c):x}." for c in title)
    return f"<!-- gnnbench comment {name or 'untitled'} -->"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
