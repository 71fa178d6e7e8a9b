"""An HTTP server that behaves as the part of GitHub's API that comments are made with."""

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghs_a-secret"
ME = "github-actions[bot]"
MOST_CHARACTERS = 65536
_NOT_FOUND = 404, {"message": "Not Found"}, {}
NEVER_ENDING = {
    "silent": (b"", b""),
    "dripping head": (b"HTTP/1.1 200 OK\r\nX-Filler: ", b"x"),
    "dripping body": (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
    "dripping refusal": (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 1000000\r\n\r\n", b" "),
    "endless body": (b"HTTP/1.1 200 OK\r\n\r\n", b" " * 2**16),
}
"""Answers: how they begin, and what is sent again and again until the client has left."""
_DRIP_SECONDS = 0.01


class GitHub:
    """The state of one repository `o/r` with a pull request 7."""

    def __init__(self):
        self.comments = []
        self.requests = []
        """Method and path, in order."""
        self.failures = []
        """Of the next answers, instead of what they should be; None: as it should be.

        With `status`, `message` or `raw`, `headers`; `done`: it is done all the same. Or with `never`, one
        of NEVER_ENDING."""
        self.login = ME
        self.page = 3
        """Comments of a page at most."""
        self.always_more = False
        """Whether each page, an empty one too, is said to have a next one."""
        self.root = ""

    def add(self, login, body):
        number = len(self.comments) + 1
        url = f"https://github.com/o/r/pull/7#issuecomment-{number}"
        self.comments.append(
            {"id": number, "user": login and {"login": login}, "body": body, "html_url": url}
        )
        return self.comments[-1]

    def reply(self, method, path, token, content):
        """Return status, content and headers."""
        if token != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}, {}
        url = urlsplit(path)
        if url.path == "/graphql" and "viewer" in content["query"]:
            return 200, {"data": {"viewer": {"login": self.login}}}, {}
        if content and len(content.get("body", "")) > MOST_CHARACTERS:
            return 422, {"message": "Validation Failed: body is too long"}, {}
        *place, last = url.path.split("/")
        if method == "PATCH" and place == ["", "repos", "o", "r", "issues", "comments"]:
            comment = next(one for one in self.comments if one["id"] == int(last))
            comment["body"] = content["body"]
            return 200, comment, {}
        if url.path != "/repos/o/r/issues/7/comments":
            return _NOT_FOUND
        return (201, self.add(self.login, content["body"]), {}) if content else self._page(url.query)

    def _page(self, text):
        query = {name: int(values[0]) for name, values in parse_qs(text).items()}
        size, page = min(query["per_page"], self.page), query["page"]
        part = self.comments[(page - 1) * size : page * size]
        more = self.always_more or page * size < len(self.comments)
        # Another host's address, which must not be followed with the token.
        return 200, part, {"Link": '<https://elsewhere.example/?page=2>; rel="next"'} if more else {}


class _Handler(BaseHTTPRequestHandler):
    state: GitHub

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.state.requests.append((self.command, self.path))
        failure = self.state.failures.pop(0) if self.state.failures else None
        if failure and "never" in failure:
            self._send_for_ever(*NEVER_ENDING[failure["never"]])
            return
        if not failure or failure.get("done"):
            given = json.loads(body) if body else None
            answer = self.state.reply(self.command, self.path, self.headers.get("Authorization"), given)
        if failure:
            message = failure.get("message", "no").replace("TOKEN", TOKEN)
            answer = failure["status"], failure.get("raw") or {"message": message}, failure.get("headers", {})
        self._answer(*answer)

    do_GET = do_PATCH = do_POST  # noqa: N815

    def _send_for_ever(self, begin, again):
        try:
            self.wfile.write(begin)
            while again:
                self.wfile.write(again)
                if len(again) == 1:
                    time.sleep(_DRIP_SECONDS)
            self.connection.recv(1)  # until the client has left
        except OSError:
            self.close_connection = True

    def _answer(self, status, content, headers):
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@contextmanager
def github(certificate=None, state=None):
    """Serve, with TLS if there is a context with a certificate; the state's `root` is the API's address.

    Meanwhile no event loop runs in this thread: playwright leaves its own running after a test in a browser.
    """
    state = state or GitHub()
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate:
        server.socket = certificate.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.root = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield state
    finally:
        asyncio._set_running_loop(loop)
        server.shutdown()
        server.server_close()
        thread.join()
