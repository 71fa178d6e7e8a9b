"""The real command, to be killed and interrupted."""

import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.suite import environment


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
    deadline = time.monotonic() + 100
    workers: list[psutil.Process] = []
    while len(workers) < 2:
        assert time.monotonic() < deadline
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.02)
    return workers
