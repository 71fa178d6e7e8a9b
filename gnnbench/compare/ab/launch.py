"""The first thing that runs in a worker's process; then it is an ordinary pytest.

Loaded by file under another name than the package's, as the suite may import another version of that. So
whatever a worker needs of this package, it imports relatively.
"""

import atexit
import json
import os
import sys
from typing import NoReturn

from ...variants.import_roots import Trees
from ...variants.pipe import Link
from ...variants.startup import die_with


def main() -> NoReturn:
    """Run pytest on the arguments after the first, which says how the worker is connected."""
    terms = json.loads(sys.argv[1])
    arguments = sys.argv[2:]
    die_with(terms["coordinator"])
    link = Link(terms["read"], terms["write"], terms["token"])
    if sys.path and not sys.path[0]:
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` has it
    trees = Trees(terms["trees"])
    trees.install()

    import pytest

    from ...variants.callers_tree import CallersTree
    from .worker import Worker

    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]  # noqa: PTH118, PTH120
    status = pytest.main(
        arguments, plugins=[CallersTree(trees), Worker(link, trees, terms["pair"], terms["side"])]
    )
    # The suite has torn down; what the interpreter would take apart besides takes a second with torch.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
