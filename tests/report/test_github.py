import gzip
import shutil
import socket
import ssl
import subprocess
from itertools import product

import pytest

from gnnbench.errors import UsageError
from gnnbench.report.github import LIMITS, Limits, PullRequest, marker
from tests.github_server import ME, NEVER_ENDING, TOKEN, github
from tests.sampling import sampled

DRIPPING = sorted(NEVER_ENDING.keys() - {"endless body"})
TOO_MANY = "You have exceeded a secondary rate limit"
MARKER = marker("GCN on H100")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # what is on this machine needs none


@pytest.fixture
def server():
    with github() as state:
        yield state


def pull_request(server, number="7", repository="o/r", token=TOKEN):
    return PullRequest.parse(server.root, repository, number, token)


def publish(server, body="new", *, waits=None, limits=LIMITS, **changes):
    return pull_request(server, **changes).publish(
        body, MARKER, sleep=[].append if waits is None else waits.append, limits=limits
    )


def refused(server, **changes):
    with pytest.raises(UsageError) as caught:
        publish(server, **changes)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert TOKEN not in message
    return message


def test_the_first_time_a_comment_is_created_and_then_it_is_updated(server):
    server.add("someone", "hello")
    address, known = publish(server, "one")
    assert (address, known) == (server.comments[1]["html_url"], False)
    assert server.comments[1]["body"] == f"one\n{MARKER}\n"
    assert publish(server, "two") == (address, True)
    assert len(server.comments) == 2
    assert server.comments[1]["body"] == f"two\n{MARKER}\n"


def test_it_is_found_on_a_later_page_and_no_address_of_an_answer_is_followed(server):
    for number in range(8):
        server.add("someone", str(number))
    mine = server.add(ME, f"old\r\n{MARKER}\r\n")
    server.add(ME, "later")
    assert publish(server)[1]
    assert mine["body"].startswith("new")
    assert [path.partition("page=")[2] for method, path in server.requests if method == "GET"] == [
        "100&page=1",
        "100&page=2",
        "100&page=3",
    ]


def test_nobody_else_s_comment_is_touched_nor_another_title_s(server):
    body = f"mine\n{MARKER}"
    others = [
        server.add("someone", body),
        server.add("github-actions", body),
        server.add(None, body),  # the account is gone
        server.add(ME, f"`{MARKER}` in a name\n{marker('another')}"),
        server.add(ME, None),
    ]
    before = [one["body"] for one in others]
    assert publish(server)[1] is False
    assert [one["body"] for one in others] == before


def test_titles_have_markers_of_their_own_that_cannot_be_left():
    titles = ("", "a", "a-->", "a b", "A", "-->", "--", "ä", "%2d.", "-")
    assert len({marker(title) for title in titles}) == len(titles)
    for title in titles:
        text = marker(title)
        assert text.startswith("<!--")
        assert text.endswith("-->")
        assert "--" not in text[4:-3]


@pytest.mark.parametrize(
    ("failure", "wait"),
    [
        ({"status": 502}, 2.0),
        ({"status": 503}, 2.0),
        ({"status": 429, "headers": {"Retry_After": "7"}}, 7.0),
        ({"status": 403, "headers": {"Retry_After": "3"}, "message": TOO_MANY}, 3.0),
        ({"status": 403, "message": TOO_MANY}, 60.0),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_what_passes_is_tried_again(server, failure, wait, before):
    server.failures = [*[None] * before, failure]
    waits = []
    assert publish(server, waits=waits)[1] is False
    assert waits == [wait]
    assert len(server.comments) == 1


def test_what_was_written_in_spite_of_an_error_is_not_written_twice(server):
    server.failures = [None, None, {"status": 502, "done": True}]
    assert publish(server)[1] is True
    assert len(server.comments) == 1


def test_patience_ends(server):
    server.failures = [{"status": 502, "message": "Bad Gateway"}] * 4
    waits = []
    assert refused(server, waits=waits) == "GitHub answered 502 (Bad Gateway); try again later"
    assert waits == [2.0, 4.0, 8.0]
    server.failures = [{"status": 403, "headers": {"Retry_After": "4000"}}]
    assert "try again later" in refused(server, waits=waits)
    server.failures = [
        {"status": 403, "headers": {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": "99999999999"}}
    ]
    assert "try again later" in refused(server, waits=waits)
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ({"status": 401, "message": "Bad credentials"}, "401 (Bad credentials): the token is invalid"),
        ({"status": 403, "message": "Resource not accessible by integration"}, "`pull-requests: write`"),
        ({"status": 404}, "no such repository or pull request"),
        ({"status": 422, "message": "Validation Failed\n\x1b[31m"}, "422 (Validation Failed ?[31m)"),
        ({"status": 500, "raw": b"<html>"}, "500 (Internal Server Error): nothing was written"),
        ({"status": 418, "message": "the token was TOKEN, wasn't it"}, "the token was ***, wasn't it"),
        ({"status": 301, "headers": {"Location": "http://127.0.0.1:9/x"}}, "o/r has moved"),
        ({"status": 200, "raw": b"<html>"}, "did not answer with JSON"),
        ({"status": 200, "raw": b'{"data": null, "errors": []}'}, "did not return the token's account"),
    ],
)
def test_a_refusal_is_a_line_that_says_what_to_do(server, failure, text):
    server.failures = [failure]
    assert text in refused(server)
    assert not server.comments


def test_a_wrong_token_or_pull_request_is_a_line(server):
    assert "401 (Bad credentials)" in refused(server, token="another")
    assert "404 (Not Found)" in refused(server, number="8")
    assert "404 (Not Found)" in refused(server, repository="o/other")
    assert "422" in refused(server, body="x" * 65536)


def test_no_network_is_a_line(server):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server.root = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert "127.0.0.1 cannot be reached (" in refused(server)
    server.root = "https://nowhere.invalid"
    assert "nowhere.invalid cannot be reached" in refused(server)


def test_an_answer_that_breaks_off_is_a_line(server):
    server.failures = [{"status": 200, "raw": b"{}", "headers": {"Transfer_Encoding": "chunked"}}]
    assert "cannot be reached" in refused(server)


@pytest.mark.parametrize(
    ("answer", "before"),
    sampled((pytest.param(*case) for case in product(DRIPPING, range(3))), 4),
)
def test_an_answer_that_never_ends_is_cut_at_the_deadline(server, answer, before):
    server.failures = [*[None] * before, {"never": answer}]
    waits = []
    message = refused(server, waits=waits, limits=Limits(seconds=0.5))
    assert message == "127.0.0.1 did not finish its answers in 0.5 s; try again later"
    assert waits == []
    assert not server.comments


def test_the_deadline_is_for_all_answers_together(server):
    server.always_more = True
    limits = Limits(seconds=0.5, pages=10**9)
    assert "did not finish its answers in 0.5 s" in refused(server, limits=limits)


def test_pages_that_never_end_are_not_all_read(server):
    server.always_more = True
    message = refused(server)
    assert (
        message == "127.0.0.1 has more than 50 pages of comments for one pull request; check GITHUB_API_URL"
    )
    assert [method for method, _ in server.requests] == ["POST", *["GET"] * 50]
    assert not server.comments


def test_an_answer_without_end_is_not_read_to_its_end(server):
    server.failures = [None, {"never": "endless body"}]
    assert refused(server) == "the answers of 127.0.0.1 are too large; check GITHUB_API_URL"


def test_answers_may_not_be_too_large_together(server):
    for _ in range(12):
        server.add("someone", "x" * 1000)
    assert "are too large" in refused(server, limits=Limits(size_bytes=12000))
    assert len([method for method, _ in server.requests if method == "GET"]) > 1
    assert publish(server, limits=Limits(size_bytes=20000))[1] is False


def test_no_compressed_answer_is_expanded(server):
    bomb = gzip.compress(b'{"data": {"viewer": {"login": "me"}}}' + b" " * 2**20)
    server.failures = [{"status": 200, "raw": bomb, "headers": {"Content_Encoding": "gzip"}}]
    assert "did not answer with JSON" in refused(server)


@pytest.mark.parametrize(
    ("before", "raw", "text"),
    [
        (1, b'{"message": "a page"}', "did not return a list of comments"),
        (2, b"[]", "did not return the comment"),
    ],
)
def test_json_of_another_form_is_a_line(server, before, raw, text):
    server.failures = [*[None] * before, {"status": 200, "raw": raw}]
    assert text in refused(server)


def test_comments_of_another_form_are_no_comments_of_this_account(server):
    other = [None, [], {}, {"body": MARKER, "user": ME}, {"body": MARKER, "user": {"login": ME}}]
    other.append({**other[-1], "id": float("inf")})
    server.comments = list(other)
    assert publish(server)[1] is False
    assert server.comments[:-1] == other


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate with openssl")
def test_a_certificate_that_nobody_trusts_is_a_line(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    new = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    files = ["-keyout", key, "-out", certificate, "-subj", "/CN=127.0.0.1"]
    subprocess.run([*new, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with github(context) as secure:
        message = refused(secure)
    assert message.startswith("127.0.0.1 cannot be reached (its certificate is not trusted: ")
    assert "self-signed" in message
    assert not secure.requests


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"root": "http://github.example"}, "unencrypted"),
        ({"root": "ftp://github.example"}, "must be a URL"),
        ({"root": "https://user:word@github.example"}, "must be a URL"),
        ({"repository": ""}, "give --repository OWNER/NAME"),
        ({"repository": "o/r/../../x"}, "must be OWNER/NAME"),
        ({"repository": "o/.."}, "must be OWNER/NAME"),
        ({"number": "0"}, "must be a number"),
        ({"number": "7/x"}, "must be a number"),
        ({"token": ""}, "GITHUB_TOKEN"),
        ({"token": "a\nb"}, "GITHUB_TOKEN"),
    ],
)
def test_what_cannot_be_used_is_a_line(changes, text):
    given = {"root": "https://api.github.com", "repository": "o/r", "number": "7", "token": TOKEN, **changes}
    with pytest.raises(UsageError, match=text) as caught:
        PullRequest.parse(**given)
    assert given["token"] not in str(caught.value) or not given["token"]
    assert len(str(caught.value).splitlines()) == 1


def test_github_enterprise_has_its_addresses(server):
    server.root += "/api/v3"
    assert PullRequest.parse(server.root, "o/r", "7", f"{TOKEN}\n").token == TOKEN
    with pytest.raises(UsageError, match="404"):
        publish(server)
    assert server.requests[0] == ("POST", "/api/graphql")
