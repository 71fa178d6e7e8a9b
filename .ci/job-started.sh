#!/bin/bash -p
# What a self-hosted runner runs before each job (ACTIONS_RUNNER_HOOK_JOB_STARTED): whether the job may use this machine.
#
# A pull request from a fork brings its own workflow files, so no condition in those keeps it away; this one lies on the
# runner. It admits a fork's commit when somebody sets the label `gpu`, which takes a right in the repository, and no
# commit that was pushed later.
#
# A refused job ends with its worker, the parent of this process: after a script that only fails, the runner goes on to
# steps with `if: always()` (github.com/actions/runner/issues/2811).
#
# usage: job-started.sh [SECONDS]    how long the worker may still send the reason to GitHub; the runner gives none

# The runner calls `bash -e job-started.sh`, so the options above do not count, and the environment's functions are there.
# In POSIX mode none of them takes the place of exec. From then on the environment is empty but for what is named here.
POSIXLY_CORRECT=1
if [[ ${1-} != --clean ]]; then
    \exec /usr/bin/env -i PATH=/usr/bin:/bin https_proxy="${https_proxy-}" GITHUB_EVENT_NAME="$GITHUB_EVENT_NAME" \
        GITHUB_EVENT_PATH="$GITHUB_EVENT_PATH" GITHUB_REPOSITORY="$GITHUB_REPOSITORY" \
        GITHUB_SERVER_URL="$GITHUB_SERVER_URL" GITHUB_SHA="$GITHUB_SHA" /bin/bash -p "$0" --clean "${1:-5}"
fi

if /usr/bin/python3 -I - <<'END'; then
import json
import os
import subprocess
import sys
import tempfile

NEW_LABEL = "read its commit, then set the label gpu again"


def parents(commit):
    """Return the parents of a commit of the repository."""
    repository = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"

    def git(*words):
        command = ["git", "-C", folder, "-c", "credential.helper=", "-c", "maintenance.auto=false", *words]
        variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        return subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout

    with tempfile.TemporaryDirectory() as folder:
        git("init", "--quiet", "--bare")
        git("fetch", "--quiet", "--depth=1", "--filter=tree:0", repository, commit)
        header = git("cat-file", "commit", commit).partition("\n\n")[0]
    return [line.split()[1] for line in header.splitlines() if line.startswith("parent ")]


def refusal(name, event):
    """Return why this machine does not take the job; None: it does."""
    if name in {"schedule", "workflow_dispatch"}:  # of a branch of the repository
        return None
    if name != "pull_request":
        return f"this runner takes no jobs of the event {name}"
    head = event["pull_request"]["head"]
    if (head["repo"] or {}).get("full_name") == os.environ["GITHUB_REPOSITORY"]:  # null where the fork is gone
        return None
    if event["action"] != "labeled" or event["label"]["name"] != "gpu":
        return f"this runner takes a fork's job when the label gpu is set: {NEW_LABEL}"
    # The run is of a merge that GitHub makes of the base and the fork's head.
    if parents(os.environ["GITHUB_SHA"])[1:] != [head["sha"]]:
        return f"the label gpu was set on {head['sha']}, and this run is of another commit: {NEW_LABEL}"
    return None


try:
    with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        reason = refusal(os.environ["GITHUB_EVENT_NAME"], json.load(file))
except Exception as error:  # whatever it is, the job is not admitted
    reason = f"this runner cannot check the job: {error!r}"
if reason:
    sys.exit(f"::error::{reason}")
END
    exit 0
fi
sleep "$2"
kill -KILL "$PPID"
exit 1
