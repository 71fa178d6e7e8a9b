"""Entry point of a worker's process, which then runs pytest.

It is loaded by file under another package name: the suite may import another version of gnnbench. So all
modules that a worker needs import each other relatively.
"""

import atexit
import os
import sys
from typing import NoReturn

from ...variants.startup import begin, run


def main() -> NoReturn:
    """Run pytest with the worker's plugin."""
    terms, link, trees = begin()

    from .worker import Worker

    worker = Worker(
        link, trees, terms["pair"], terms["side"], all_benchmarks=terms["all"], apart=terms["apart"]
    )
    status = run(trees, worker)
    # pytest has torn the suite down. Skip the interpreter's own tear-down, which takes a second with torch.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
