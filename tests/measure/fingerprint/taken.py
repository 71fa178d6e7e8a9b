"""Takes the fingerprint of a generated package's benchmark; as a script, in a process of its own.

Imported, it only loads what a fork then does not load.
"""

import importlib
import json
import sys

import torch

from gnnbench.measure.clock import Call
from gnnbench.measure.inspection import inspect


def main(folder: str, *statements: str) -> None:
    """Print the inspection as JSON.

    Args:
        folder: the package's parent.
        statements: settings to make before.
    """
    for statement in statements:
        exec(statement, {"torch": torch})
    sys.path.insert(0, folder)
    function, args = importlib.import_module("generated.bench").call()
    found = inspect(Call(function, args, {}), ["cpu"])
    sys.stdout.write(json.dumps(found.as_json()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))  # a fork then ends at once
else:
    torch.set_num_threads(1)
    inspect(Call(torch.ones, (2,), {}), ["cpu"])
