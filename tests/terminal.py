"""Commands in a terminal of 80 columns, as a user has one."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(command: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command, and return all that it wrote, without colours and movements of the cursor."""
    own, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    own_width = {name: value for name, value in environment.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command, cwd=cwd, env={**own_width, "TERM": "xterm"}, stdin=its, stdout=its, stderr=its
    )
    os.close(its)
    written = b""
    with suppress(OSError):  # Linux: the command has closed the terminal
        while part := os.read(own, 65536):
            written += part
    os.close(own)
    text = _CONTROL.sub("", written.decode()).replace("\r\n", "\n")
    return subprocess.CompletedProcess(command, process.wait(), text, "")
