"""`python -m gnnbench.cluster.bound COMMAND`: runs a command that ends when its parent process does.

If a node's slurmstepd is killed, Slurm runs the job again, but leaves its processes alone. They would disturb
the timings of the second run, and both would write the same file.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = (
    1  # PR_SET_PDEATHSIG of <linux/prctl.h>; a program that is started in this place keeps it
)


def main() -> None:
    """Become the command."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - the user's own command


if __name__ == "__main__":
    main()
