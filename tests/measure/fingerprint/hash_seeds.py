"""Runs a script in processes with different hash seeds."""

import subprocess
import sys


def printed(script):
    """Return the different texts that the script prints."""
    command = [sys.executable, "-c", script]
    return {
        subprocess.run(
            command, env={"PYTHONHASHSEED": seed}, text=True, capture_output=True, check=True
        ).stdout
        for seed in "1234"
    }
