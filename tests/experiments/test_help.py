"""Each script can be imported and says what it takes; what scripts print is not tested."""

import subprocess
import sys

import pytest

from tests.suite import ROOT, environment

SCRIPTS = [path for path in sorted(ROOT.glob("experiments/**/*.py")) if "__main__" in path.read_text()]


@pytest.mark.nightly
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_script_says_what_it_takes(script):
    command = [sys.executable, str(script), "--help"]
    env = environment(PYTHONPATH=str(ROOT))
    subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True)
