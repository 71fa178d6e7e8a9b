"""Runs Python code in a fresh interpreter, which imports each package from where this process has it."""

import json
import os
import subprocess
import sys
from pathlib import Path

_BEGIN = """
import json, sys
from importlib.machinery import PathFinder

class Same:
    def find_spec(self, name, path=None, target=None):
        folder = FOLDERS.get(name) if path is None else None
        return folder and PathFinder.find_spec(name, [folder])

FOLDERS = json.loads(sys.argv[1])
ABSENT, EMPTY = json.loads(sys.argv[2])
sys.meta_path.insert(0, Same())
sys.modules.update(dict.fromkeys(ABSENT))
sys.modules.update((name, type(sys)(name)) for name in EMPTY)
del sys.argv[:3]
"""


class InterpreterError(Exception):
    """The code raised; the message has its last line."""


def run(code: str, *arguments: str, absent: tuple[str, ...] = (), empty: tuple[str, ...] = ()) -> str:
    """Run code in a fresh interpreter, and return what it writes to stdout.

    Two variants of a package are compared in processes that import it from different folders, so what
    `import` finds by itself may be another one. Modules that are `absent` cannot be imported, and in place of
    `empty` ones there is an empty one. If the code raises, so does this, an InterpreterError.
    """
    modules = json.dumps(_folders()), json.dumps([absent, empty])
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _BEGIN + code, *modules, "", *arguments],
        # By itself it would search the working directory, and there may be a folder of a library's name.
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        *_, last = ["no message", *found.stderr.split("\n")[:-1]]
        raise InterpreterError(f"a fresh interpreter ended with status {found.returncode}: {last}")
    return found.stdout


def _folders() -> dict[str, str]:
    """Return the folders of the packages that this process has imported, by name."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and "." not in name and name not in sys.stdlib_module_names and hasattr(module, "__path__"):
            found[name] = str(Path(file).parents[1])
    return found
