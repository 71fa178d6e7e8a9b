"""The real command, to be killed and interrupted."""

import subprocess
import sys
from pathlib import Path

import psutil

from tests.engine.process.variants.repositories import wait_for
from tests.runs import environment


def start(folder: Path, *words: str, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("gnnbench")), *words],
        cwd=folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Wait until both sides have started; return their processes."""
    command = psutil.Process(process.pid)
    wait_for(lambda: len(command.children(recursive=True)) >= 2, 100)
    return command.children(recursive=True)
