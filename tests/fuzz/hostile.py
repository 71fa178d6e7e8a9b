"""Changes JSON at random places, with values that break careless readers."""

import json
from random import Random

ESCAPE = "\x1b[2J\x1b]0;title\x07\x9b31m"
MARKUP = "<script>fuzz</script><img src=x onerror=fuzz>\"'&"

_TEXTS = (
    "",
    " ",
    ESCAPE,
    MARKUP,
    "\ud800",
    "a\udfffb",
    "\u202efuzz\u2066",
    "line\nfeed\r::error::fuzz",
    "\0",
    "[bold red]fuzz[/]",
    "[/]",
    "[link=file:///etc/passwd]fuzz\\",
    "![fuzz](http://fuzz) | `fuzz` ```\n# fuzz",
    "{{ 7 * 7 }}{% fuzz %}%s %d {0}",
    "../../../../etc/passwd",
    "/dev/zero",
    "~fuzz/x",
    "file:///etc/passwd",
    "git:--upload-pack=fuzz",
    "NaN",
    "1e400",
    "-1",
    "1/0",
    "0/0",
    "9/3",
    "9999-12-31T23:59:59.999999+00:00",
    "0001-01-01T00:00:00-23:59",
    "2026-11-23",
    "slower",
    "same",
    "forward",
    "\N{HAIR SPACE}\N{NO-BREAK SPACE}\N{COMBINING ACUTE ACCENT}" * 9,
    "日本語 \N{PILE OF POO} \N{ARABIC LETTER ALEF}",
    "x" * 100_000,
    "-" * 5_000,
    "a::b" * 3_000,
)
_NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e308", "-1e308", "1e-320", "5e-324", "-0.0"),
    *("0", "1", "-1", "1.5", "-1.5", "99", "0.1", "0.999999", "1.0", "1e-9", "1e17", "1e19", "-1e19"),
    *("2147483648", "9223372036854775807", "-9223372036854775809", "18446744073709551616"),
    *(f"1{'0' * 400}", f"-1{'0' * 400}", f"1{'0' * 5000}"),
)
_OTHERS = (
    *(
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[[]]",
        "[null]",
        "[{}]",
        '{"": null}',
        '{"a": []}',
        '[["a", "b"]]',
    ),
    *("[" * count + "]" * count for count in (60, 900, 200_000)),
    '{"a":' * 900 + "1" + "}" * 900,
    f"[{', '.join(['1'] * 20_000)}]",
    f"[{', '.join(['[]'] * 20_000)}]",
    f"{{{', '.join(f'{json.dumps(str(number))}: {number}' for number in range(5_000))}}}",
)
VALUES = (*map(json.dumps, _TEXTS), *_NUMBERS, *_OTHERS)
"""As they are written in a file; some are not JSON, as a careless program writes them."""


def changed(text: str, random: Random) -> str:
    """Return the text of a JSON file with one or two values changed or removed; seldom, with other damage."""
    if random.random() < 0.05:
        return _damaged(text, random)
    content = json.loads(text)
    for _ in range(random.choice((1, 1, 2))):
        content = _with_change(content, random)
    whole = json.dumps(content, indent=random.choice((None, 1)))
    for number, value in enumerate(VALUES):
        whole = whole.replace(json.dumps(_token(number)), value)
    return whole


def _token(number: int) -> str:
    """Return what stands for a value until the whole is written, as not every value can be in Python."""
    return f"\ue000{number}\ue001"


def _damaged(text: str, random: Random) -> str:
    """Cut the text off, or change some of its characters."""
    place = random.randrange(len(text))
    return random.choice(
        (
            text[:place],
            text[:place] + random.choice('"[]{},:0\0\\') + text[place + 1 :],
            text[:place] + text[random.randrange(len(text)) :],
            f"\ufeff{text}",
            text * 2,
            "",
            VALUES[random.randrange(len(VALUES))],
        )
    )


def _with_change(content: object, random: Random) -> object:
    """Change one value below a list or an object, in place; each level is as likely to be the place."""
    inner = content
    while True:
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        if not keys:
            return content
        key = random.choice(keys)
        if random.random() < 0.15 or not isinstance(inner[key], list | dict) or not inner[key]:
            break
        inner = inner[key]
    hostile = _token(_hostile(inner[key], random))
    kind = random.random()
    if kind < 0.65:
        inner[key] = hostile
    elif kind < 0.8:
        del inner[key]
    elif kind < 0.9:
        inner[key] = _near(inner[key], random)
    elif isinstance(inner, dict):
        inner[random.choice((_token(random.randrange(len(_TEXTS))), *keys))] = inner.pop(key)
    else:
        inner.insert(key, random.choice((hostile, inner[key])))
    return content


def _hostile(value: object, random: Random) -> int:
    """Return the number of a value; half of the time of the same type, which more readers accept."""
    if random.random() < 0.5:
        if isinstance(value, str):
            return random.randrange(len(_TEXTS))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return len(_TEXTS) + random.randrange(len(_NUMBERS))
    return random.randrange(len(VALUES))


def _near(value: object, random: Random) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return random.choice((0, -value, value * 1e9, value / 1e9, value + 1, int(value)))
        case str():
            return random.choice((value + ESCAPE, MARKUP + value, value[1:], value * 2, value.upper()))
        case list():
            return random.choice(([], value * 2, value[:1], value[::-1], [value]))
        case dict():
            return random.choice(({}, dict(reversed(value.items())), [*value.items()], [value]))
    return random.choice((0, "", [], {}))
