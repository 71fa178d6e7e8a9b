from dataclasses import replace

import pytest

from gnnbench.report.trend import commits
from tests.compare.trend.judged import history, judged, result
from tests.variants import repositories


@pytest.fixture
def repository(monkeypatch, tmp_path):
    repositories.without_settings(monkeypatch)
    found = repositories.create(tmp_path / "repository")
    repositories.git(found, "remote", "add", "origin", "git@example.org:group/thing.git")
    return found


def test_a_name_is_short_and_says_that_files_differed():
    first, *_, fourth = history(4).runs
    assert commits.name(first) == "0000000"
    assert commits.name(fourth) == "0000003+"
    assert commits.name(history(1, commits=False).runs[0]) == "2026-01-01"


def test_commits_have_addresses_if_the_checkout_has_one_of_them(repository, tmp_path):
    of = history(3)
    head = repositories.git(repository, "rev-parse", "HEAD")
    odd = [replace(of.runs[0], commit=head), replace(of.runs[1], commit="unversioned"), of.runs[2]]
    known = result(judged(replace(of, runs=tuple(odd))), judged(history(3, name="there")))
    assert commits.addresses(known, repository) == {
        commit: f"https://example.org/group/thing/commit/{commit}" for commit in (head, of.runs[2].commit)
    }
    assert commits.addresses(result(judged(of)), repository) == {}
    assert commits.addresses(known, tmp_path) == {}
