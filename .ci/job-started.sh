#!/bin/bash
# What a self-hosted runner runs before each job (ACTIONS_RUNNER_HOOK_JOB_STARTED): whether the job may use this machine.
#
# A pull request from a fork brings its own workflow files, so no condition in those keeps it away; this one lies on the
# runner. It may run when the event is that somebody set the label `gpu`, which takes a right in the repository, and so
# for the commit that was labelled alone.
/usr/bin/python3 -I - <<'END'
import json
import os
import sys

with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
    event = json.load(file)
name = os.environ["GITHUB_EVENT_NAME"]
if name in {"schedule", "workflow_dispatch"}:  # of a branch of the repository
    sys.exit(0)
if name != "pull_request":
    sys.exit(f"::error::this runner takes no jobs of the event {name}")
head = (event["pull_request"]["head"]["repo"] or {}).get("full_name")  # null where the fork is gone
if head == os.environ["GITHUB_REPOSITORY"]:
    sys.exit(0)
if event["action"] != "labeled" or event["label"]["name"] != "gpu":
    sys.exit("::error::this runner takes a fork's commit when the label gpu is set: read it, then set the label again")
END
