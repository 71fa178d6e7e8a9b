"""Writes a test of what a slowdown changed: it passes before the change and fails after it."""

from collections.abc import Iterator, Mapping
from typing import Any

from ... import units
from ...errors import one_line
from ..ab.inspections import Inspections
from .result import BisectResult, Finding, pytest_options

_KINDS = {
    "functions": "functions",
    "values": "values",
    "compiled": "libraries",
    "captured": "functions",
    "libraries": "libraries",
    "work": "work",
    "settings": "set_to",
}
"""By field of `Difference`: the field of `Fingerprint`."""
_MOST = 20
"""Parts of a fingerprint that a test names."""

_TEXT = """\
{title}
# gnnbench bisect wrote this test of what {benchmark} does:
# {became}.
# It passes before that change, and fails after it.{caution}

from gnnbench.compare.one_call import one_call

BENCHMARK = {benchmark!r}
ARGUMENTS = {arguments!r}


def test_{name}(pytestconfig):
    found = one_call(BENCHMARK, pytestconfig.rootpath, ARGUMENTS)
{checks}
"""
_CAUTION = """
# It compares hashes of code: if you write the code anew, instead of taking the change back, remove it."""


def write(found: BisectResult) -> str | None:
    """Return a test of the largest slowdown that changed a counter or a fingerprint.

    Returns:
        The text of a Python file; None: no slowdown changed any.
    """
    for stage in reversed(found.stages):
        for finding in found.findings(stage):
            for benchmark, span in finding.spans.items():
                inspections = finding.inspections.get(benchmark)
                if span.ratio > 1 and inspections and (test := _test(found, finding, benchmark, inspections)):
                    return test
    return None


def _test(found: BisectResult, finding: Finding, benchmark: str, inspections: Inspections) -> str | None:
    checks = list(_checks(inspections))
    if not checks:
        return None
    name, lines, exact = checks[0]
    span = finding.spans[benchmark]
    causes = " or ".join(
        f"{cause.kind} {cause.short}{f' ({cause.title})' if cause.title else ''}"
        for cause in finding.causes[:3]
    )
    more = f" or {len(finding.causes) - 3} more" if len(finding.causes) > 3 else ""  # noqa: PLR2004
    ratio = units.ratio(span.ratio, changed=True)
    became = f"{ratio} slower ({units.interval(*span.bounds)}) with {causes}{more}"
    return _TEXT.format(
        title=f'"""Written by gnnbench bisect: {name.replace("_", " ")}."""\n',
        benchmark=benchmark,
        became=one_line(became),
        caution=_CAUTION if exact else "",
        arguments=list(pytest_options(found.arguments)),
        name=name,
        checks="\n".join(f"    assert {line}" for line in lines),
    )


def _checks(inspections: Inspections) -> Iterator[tuple[str, list[str], bool]]:
    """Yield names of tests with what each asserts, and whether it compares hashes; the best one first."""
    more = [one for one in inspections.counters if one.head > one.base]
    if more:
        yield "no_more_work", [f"found.counts.get({one.name!r}, 0) <= {one.base}" for one in more], False
    if inspections.counters:
        fewer = [f"found.counts.get({one.name!r}, 0) == {one.base}" for one in inspections.counters]
        yield "the_same_work", fewer, False
    difference = inspections.difference
    if not difference:
        return
    new = [name for name in difference.functions if name in difference.head_only]
    if new:
        yield (
            "no_other_functions",
            [f"{name!r} not in found.parts('functions')" for name in new[:_MOST]],
            False,
        )
    before: Mapping[str, Any] = inspections.sides[0]["fingerprint"]
    for kind, field in _KINDS.items():
        names = [name for name in getattr(difference, kind) if name not in difference.head_only]
        if kind == "compiled":
            names = [file for name, file in before.get("modules", {}).items() if name in names]
        lines = [f"found.parts({field!r}).get({name!r}) == {before[field][name]!r}" for name in names[:_MOST]]
        if lines:
            yield f"the_same_{kind}", lines, True
