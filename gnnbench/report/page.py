"""Any page of ours, as the text of one file that asks for nothing else and runs no script but ours."""

import base64
import functools
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from .. import __version__, units

if TYPE_CHECKING:
    from jinja2 import Environment

STYLES = ("base.css",)
SCRIPTS = ("table.js",)
_FIRST = "theme.js"  # in the head: a page that is dark must not flash up white


def render(
    template: str,
    *,
    styles: Sequence[str] = STYLES,
    scripts: Sequence[str] = SCRIPTS,
    libraries: Sequence[str] = (),
    **context: Any,
) -> str:
    """Return a page: everything in `context` is escaped, and scripts and styles are known by their digests.

    Names and messages in the files that are shown are strangers'. They are text to the template; and should
    one get through, the page's policy lets the browser run nothing whose digest it does not name.

    Args:
        template: in `gnnbench/report/templates`, which extends `base.html`.
        styles: style sheets there, in this order.
        scripts: scripts there, run in this order when the page is there.
        libraries: texts of scripts that these need, run before them.
        context: what the template shows.
    """
    from markupsafe import Markup

    style = "\n".join(map(_text, styles))
    texts = [*libraries, *map(_text, scripts)]
    first = _text(_FIRST)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_digest, (first, *texts)))}",
            f"style-src {_digest(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    # What we wrote is markup; so are its digests.
    ours = {"policy": Markup(policy), "style": Markup(style), "first_script": Markup(first)}  # noqa: S704
    marked = [Markup(text) for text in texts]  # noqa: S704
    return (
        _environment().get_template(template).render(version=__version__, scripts=marked, **ours, **context)
    )


def fragment(*names: str) -> str:
    """Return what addresses something in a page: the same in each page, and nothing of its names."""
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()
    return f"b-{digest[:12]}"


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gnnbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "seconds": units.seconds,
        "fraction": units.fraction,
        "level": units.level,
        "size": units.size,
        "count": "{:,}".format,
    }
    return environment


def _text(name: str) -> str:
    return resources.files("gnnbench.report").joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
