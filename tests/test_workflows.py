"""What zizmor does not know of the workflows' rights (`make lint`)."""

import pytest
import yaml

from tests.runs import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"


def _load(path):
    content = yaml.safe_load(path.read_text())
    content["on"] = content.pop(True)  # YAML 1.1 has it for a truth value
    return content


FILES = {path.name: _load(path) for path in sorted(WORKFLOWS.iterdir())}
JOBS = {f"{file} {name}": job for file, content in FILES.items() for name, job in content["jobs"].items()}
BASE = "${{ github.event.pull_request.base.sha }}"
PUBLISHER = "pypa/gh-action-pypi-publish"
"""The one action that is not GitHub's: the index's own, for trusted publishing."""


def _steps(job, action):
    return [step for step in job["steps"] if step.get("uses", "").startswith(f"actions/{action}@")]


def test_all_actions_are_of_github_and_the_index():
    steps = [
        step["uses"].partition("@")[0] for job in JOBS.values() for step in job["steps"] if "uses" in step
    ]
    assert {action for action in steps if not action.startswith("actions/")} == {PUBLISHER}


@pytest.mark.parametrize("name", JOBS)
def test_what_may_write_never_runs_what_a_pull_request_brought(name):
    job = JOBS[name]
    writes = [scope for scope, right in job["permissions"].items() if right == "write"]
    if not writes:
        assert set(job["permissions"].values()) == {"read"}
        return
    assert job["runs-on"] == "ubuntu-24.04"
    assert "cache-mode" not in job  # so none
    assert not any(step.get("uses", "").startswith("actions/cache") for step in job["steps"])
    if "pull_request" in FILES[name.split()[0]]["on"]:
        [checkout] = _steps(job, "checkout")
        assert checkout["with"]["ref"] == BASE
        assert "github.event.pull_request.head.repo.full_name == github.repository" in job["if"]
        assert writes == ["pull-requests"]


def test_what_publishes_runs_no_code_of_the_repository():
    assert FILES["release.yml"]["on"] == {"push": {"tags": ["v*"]}}
    build, publish = FILES["release.yml"]["jobs"].values()
    assert set(build["permissions"].values()) == {"read"}
    assert publish["environment"] == "release"
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert not [step for step in publish["steps"] if "run" in step or "checkout" in step["uses"]]
    publishers = [name for name, job in JOBS.items() if PUBLISHER in str(job["steps"])]
    assert publishers == ["release.yml publish"]


def test_what_may_write_takes_results_by_an_identity_that_no_part_can_have():
    jobs = FILES["gpu-bench.yml"]["jobs"]
    [download] = _steps(jobs["comment"], "download-artifact")
    assert not {"name", "pattern"} & set(download["with"])
    # '0' is the identity of none. Without one the action would take all artefacts of the run.
    assert download["with"]["artifact-ids"] == "${{ join(needs.result.outputs.*, ',') || '0' }}"
    [upload] = _steps(jobs["result"], "upload-artifact")
    kinds = jobs["result"]["strategy"]["matrix"]["kind"]
    identity = f"steps.{upload['id']}.outputs.artifact-id"
    assert jobs["result"]["outputs"] == {
        kind: f"${{{{ matrix.kind == '{kind}' && {identity} || '' }}}}" for kind in kinds
    }
    for name in ("result", "comment"):
        [checkout] = _steps(jobs[name], "checkout")
        assert checkout["with"]["ref"] == BASE
    assert not _steps(jobs["result"], "cache")


def test_a_fork_is_measured_only_by_the_event_of_its_label_and_at_that_commit():
    measure = FILES["gpu-bench.yml"]["jobs"]["measure"]
    labelled, own = measure["if"].split("||")
    assert labelled.strip() == "(github.event.action == 'labeled' && github.event.label.name == 'gpu')"
    assert "github.event.action != 'labeled'" in own
    assert "github.event.pull_request.head.repo.full_name == github.repository" in own
    [checkout] = _steps(measure, "checkout")
    assert checkout["with"]["ref"] == "${{ github.sha }}"
