"""A real Slurm of one node, without systemd and cgroups, if slurmctld, slurmd and munge are installed."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
ReturnToService=2
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
BatchStartTimeout=1
MessageTimeout=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 RealMemory=100 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The daemons."""

    def __init__(self, folder: Path):
        self.folder, self.host = folder, socket.gethostname().partition(".")[0]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        conf = folder / "slurm.conf"
        conf.write_text(_CONF.format(host=self.host, user=user, folder=folder, ports=(_port(), _port())))
        self.variables = {"SLURM_CONF": str(conf)}
        names = {"--socket": "munge.socket", "--pid-file": "munge.pid", "--log-file": "munge.log"}
        files = [f"{option}={folder / name}" for option, name in names.items()]
        self._call("munged", "--force", f"--key-file={key}", f"--seed-file={folder / 'seed'}", *files)
        self._call("slurmctld")
        self._call("slurmd", "-N", self.host)
        self.wait(lambda: self.ask("sinfo", "-h", "-o", "%T") == "idle")

    def ask(self, *words: str) -> str:
        return self._call(*words).strip()

    def stop(self):
        for name in ("slurmd", "slurmctld", "munge"):
            with suppress(OSError, ValueError):
                pid = self._pid(name)
                os.kill(pid, signal.SIGTERM)
                self.wait(lambda pid=pid: not _is_alive(pid))

    def wait(self, condition, seconds: float = 120):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, (self.folder / "slurmctld.log").read_text()[-2000:]
            time.sleep(0.2)

    def _pid(self, name):
        return int((self.folder / f"{name}.pid").read_text())

    def _call(self, *words):
        done = subprocess.run(
            words, env={**os.environ, **self.variables}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """The daemons, until the end of the session."""
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        pytest.skip(f"{missing[0]} is not installed")
    found = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        yield found
    finally:
        found.stop()


def _port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _is_alive(pid):
    with suppress(OSError):
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False
