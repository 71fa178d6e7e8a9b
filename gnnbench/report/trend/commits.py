"""The commits of runs: their short names, and their pages on the web."""

from collections.abc import Mapping
from pathlib import Path

from ... import git
from ...compare.trend.history import HistoryRun
from ...compare.trend.result import TrendResult
from ..names import clean

_SHORT = 7
"""Characters of a commit."""


def name(run: HistoryRun) -> str:
    """Return the short hash of a run's commit, with `+` if files differed; the date if it has no commit."""
    short = clean(run.commit[:_SHORT]) if run.commit else run.date[:10]
    return f"{short}+" if run.dirty else short


def addresses(result: TrendResult, folder: Path) -> Mapping[str, str]:
    """Return the addresses of commits' web pages, by hash.

    They are known if the folder's repository has a commit of the history, and a remote on the web. A shallow
    clone has few commits; so one is enough.
    """
    web = git.web_address(folder)
    if web is None:
        return {}
    found: dict[str, str] = {}
    for history in result.histories:
        commits = {run.commit for run in history.runs if run.commit and git.HASH.fullmatch(run.commit)}
        if git.has_any(folder, commits):
            found |= {commit: f"{web}/commit/{commit}" for commit in commits}
    return found
