"""GitHub's own renderer of Markdown, and what it makes of a text."""

from collections import Counter
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options
from hypothesis import strategies as st

_OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
"""Unsafe: raw HTML comes through as elements, which are seen here."""


class Page(HTMLParser):
    """What is on a rendered page."""

    def __init__(self, html):
        super().__init__()
        self.tags = Counter()
        self.attributes = []
        self.codes = []
        self.plain = ""
        """Text outside of code, where GitHub looks for mentions and references."""
        self.rows = []
        """Cells of each row of all tables."""
        self.comments = []
        self._open = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, *attribute) for attribute in attrs if attribute[0] != "align"]
        self._open.append(tag)
        if tag == "code":
            self.codes.append("")
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        self.plain += "\n"

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass
        self.plain += "\n"

    def handle_data(self, data):
        if "code" in self._open:
            self.codes[-1] += data
        else:
            self.plain += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data

    def handle_comment(self, data):
        self.comments.append(data.strip())


def render(markdown):
    return Page(cmarkgfm.github_flavored_markdown_to_html(markdown, _OPTIONS))


_WORDS = """
@someone @org/team #1 GH-1 owner/repo#2 deadbeefcafe 0000000000000000000000000000000000000000 ABC-123
<script>alert(1)</script> </details> --> <b &lt; & https://x.org/y www.x.org a@b.org mailto:a@b.org
javascript:x [a](b) ![a](b) | \\| \\\\| ` `` ``` \\` \\ *a* __a__ ~~a~~ $a$ $$ :bug: [^1] --- ===
"""
_LINES = (
    *("<img src=x onerror=y>", "<!-- x -->", "[a]: b", "[^1]: a", " `", "1. a", "1) a", "> a", "+ "),
    *("| a | b |\n|---|---|", "\n\n# a", "\n\n- [ ] a", "\t", "\r", "\n", "\0", "\x1b[31m", "\ud800"),
    *("\u202e", "\u2066", "\u200b", "\u05d0", "a\u0301\u0300", "\u1fef"),
)
hostile = st.lists(
    st.one_of(
        st.sampled_from((*_WORDS.split(), *_LINES)),
        st.text(max_size=8),
        st.text(alphabet="`|\\ a@#", max_size=8),
    ),
    min_size=1,
    max_size=6,
).flatmap(lambda parts: st.sampled_from(("", " ")).map(lambda space: space.join(parts)))
"""Names and notes of somebody who means harm."""
