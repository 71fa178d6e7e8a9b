"""Takes the fingerprint of a generated package's benchmark; as a script, in a process of its own."""

import importlib
import json
import sys

import torch

from gnnbench.measure.clock import Call
from gnnbench.measure.inspection import Inspection, inspect


def inspected(folder: str) -> Inspection:
    """Import the package, inspect its benchmark, and forget it."""
    sys.path.insert(0, folder)
    try:
        function, args = importlib.import_module("generated.bench").call()
        return inspect(Call(function, args, {}), ["cpu"])
    finally:
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "generated"]:
            del sys.modules[name]


def main(folder: str, *statements: str) -> None:
    """Print the inspection as JSON.

    Args:
        folder: the package's parent.
        statements: settings to make before.
    """
    torch.set_num_threads(1)
    for statement in statements:
        exec(statement, {"torch": torch})
    sys.stdout.write(json.dumps(inspected(folder).as_json()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))  # a fork then ends at once
