"""Words that others wrote, put into GitHub's Markdown so that they stay words.

GitHub makes links of mentions, issue numbers, commit hashes and addresses, pictures of :emoji: and formulas
of dollars, wherever they stand but in code. So all is code but what is a plain English word or number.
"""

import re
import unicodedata
from itertools import groupby

NAME_CHARACTERS = 200
NOTE_CHARACTERS = 400
_MUCH = 4000
"""Characters of which none but the first and last can be shown."""

_WORD = re.compile(r"""[("']?[A-Za-z]{1,40}(?:['-][A-Za-z]{1,40})*[)"']?[.,;:!?]?""")
_NUMBER = re.compile(r"\(?[+-]?\d{1,6}(?:(?:\.\d{1,6})?[%x]?[,;:]?|\.\d{1,6}[%x]?\)?[.,;:]?|[%x]\)?[.,;:]?)")
_CLOSING = re.compile(r"\d{1,6}\)[.,;:]?")
"""At the start of a line it would number a list."""
_HASH = re.compile(r"\W*[0-9a-fA-F]{7,}\W*")
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_RUN = re.compile("`+")


def code(text: str, *, in_table: bool = False, most: int = NAME_CHARACTERS) -> str:
    """Write a name as code, on one line, whatever it holds.

    Args:
        text: the name.
        in_table: whether it stands in a cell of a table, whose separator is written otherwise.
        most: characters of it that are shown; the middle of a longer one is left out.
    """
    shown = _shortened(_visible(_shortened(text, _MUCH)), most)
    if in_table:
        # A table takes a backslash before a bar for its own, wherever it stands.
        shown = shown.replace("\\|", "\\\\x7c").replace("|", "\\|")
    runs = {len(run) for run in _RUN.findall(shown)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    space = " " if not shown.strip() or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def prose(text: str, most: int = NOTE_CHARACTERS) -> str:
    """Write a sentence: words and numbers as they are, all else in it as code, on one line.

    Args:
        text: the sentence.
        most: characters of it that are shown.
    """
    shown = _shortened(_visible(" ".join(_shortened(text, _MUCH).split())), most)
    words = [word for word in shown.split(" ") if word]
    plain = [_is_plain(word) or bool(place and _CLOSING.fullmatch(word)) for place, word in enumerate(words)]
    groups = groupby(zip(plain, words, strict=True), key=lambda pair: pair[0])
    texts = ((is_plain, " ".join(word for _, word in group)) for is_plain, group in groups)
    return " ".join(text if is_plain else _quoted(text) for is_plain, text in texts)


def _quoted(text: str) -> str:
    """Write words as code, but for what ends their part of the sentence."""
    kept = text.rstrip(",;:") or text
    return code(kept, most=len(text)) + text[len(kept) :]


def _is_plain(word: str) -> bool:
    return bool(_WORD.fullmatch(word) or _NUMBER.fullmatch(word)) and not _HASH.fullmatch(word)


def _visible(text: str) -> str:
    """Spell out what cannot be seen, or changes how its neighbours look: control characters, lone accents."""
    return "".join(
        character if _is_visible(character) else character.encode("unicode_escape").decode()
        for character in unicodedata.normalize("NFC", text)
    )


def _is_visible(character: str) -> bool:
    return (
        character.isprintable()
        and unicodedata.bidirectional(character) not in _RIGHT_TO_LEFT
        and not unicodedata.category(character).startswith("M")
    )


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[-end:]}"
