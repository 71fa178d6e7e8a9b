import subprocess
import sys

import pytest
import torch

from gnnbench import environment
from gnnbench.packages import version


def test_collects_what_is_here(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    here = environment.collect()
    assert here.cpu
    assert here.cores >= 1
    assert (here.threads, here.wait_policy) == (3, "PASSIVE")
    assert here.python == sys.version.split()[0]
    assert dict(here.libraries)["torch"] == version("torch") == torch.__version__
    assert here == environment.collect()


@pytest.mark.parametrize("given", [None, "", "many", "0"])
def test_openmp_takes_every_core_where_no_number_is_given(monkeypatch, given):
    if given is None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    here = environment.collect()
    assert here.threads == here.cores


def test_leaves_the_libraries_alone():
    code = (
        "import sys; from gnnbench import environment; environment.collect(); "
        f"assert not set(sys.modules) & set({environment.LIBRARIES})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("before", "policy"),
    [("", "PASSIVE"), ("os.environ['OMP_WAIT_POLICY'] = 'ACTIVE'", "ACTIVE"), ("import torch", "")],
    ids=["unset", "set by the user", "too late"],
)
def test_idle_threads_sleep_unless_it_is_the_user_s_wish_or_too_late(before, policy):
    code = (
        "import os; os.environ.pop('OMP_WAIT_POLICY', None)\n"
        f"{before}\n"
        "from gnnbench import environment\n"
        "environment.let_idle_threads_sleep()\n"
        f"assert environment.collect().wait_policy == {policy!r}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
