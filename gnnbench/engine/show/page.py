"""Render an HTML page as one file that loads nothing else and runs only gnnbench's scripts."""

import base64
import functools
import hashlib
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ... import __version__
from ..ground import units
from .names import LONGEST, clean

_SHARED = "gnnbench.engine.show"
"""The package with the templates that all pages share."""


def render(template: str, *, own: str = "", package: str = _SHARED, **context: Any) -> str:
    """Return a page: all that is in `context` is cleaned and escaped, and only gnnbench's own scripts run.

    `own`: style sheet and script in `gnnbench.engine.show` of this page alone; `package`: the template's.
    """
    style = "\n".join(_text(f"{name}.css") for name in ("base", own) if name)
    texts = [_text(f"{name}.js") for name in ("table", own) if name]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_digest, texts))}",
            f"style-src {_digest(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    # These texts are gnnbench's own, so they need no escaping.
    ours = {"policy": Markup(policy), "style": Markup(style), "scripts": list(map(Markup, texts))}  # noqa: S704
    page = _environment().from_string(_text(template, package))
    return page.render(version=__version__, **ours, **context)


def fragment(*names: str) -> str:
    """Return an id for links within pages: a digest of the names, the same in each page."""
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()
    return f"b-{digest[:12]}"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_SHARED),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "level": units.level,
        "size": units.size,
        "count": "{:,}".format,
        "breakable": lambda name: escape(_finalized(name)).replace("_", Markup("_<wbr>")),
        "number": lambda noun, number: units.count(number, noun),
    }
    return environment


def _finalized(value: Any) -> Any:
    """Return what the template writes for a value: text that is not ours without invisible characters."""
    return clean(value, LONGEST) if type(value) is str else value


def _text(name: str, package: str = _SHARED) -> str:
    return resources.files(package).joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
