import os
import subprocess
import sys

import pytest

from gnnbench import doctor
from gnnbench.packages import missing, version
from gnnbench.platforms.dgl_import import uses_stand_in


@pytest.fixture
def examine(tmp_path):
    def examine(data_root=None, cache=tmp_path / "cache"):
        return {finding.what: finding for finding in doctor.examine(data_root, cache)}

    return examine


def test_what_is_installed_is_there_with_its_version(examine, tmp_path):
    found = examine(tmp_path)
    assert found["python"].detail == sys.version.split()[0]
    for package in ("torch", "torch_geometric", "ogb"):
        assert (found[package].status, found[package].detail) == ("ok", version(package))
    assert (found["data"].status, found["data"].detail) == ("ok", str(tmp_path))
    assert found["cache"].status == "ok"
    assert not (tmp_path / "cache").exists()
    assert not [
        finding.what for finding in found.values() if finding.required and finding.status == "missing"
    ]


def test_says_that_dgl_runs_without_its_data_loading(examine):
    if reason := missing(["dgl"]):
        pytest.skip(reason)
    finding = examine()["dgl"]
    assert finding.status == ("note" if uses_stand_in() else "ok")
    assert finding.detail.startswith(version("dgl"))
    assert ("graphbolt" in finding.detail) == uses_stand_in()


@pytest.mark.parametrize(
    ("package", "command", "required"),
    [
        ("torch_geometric", "pip install torch_geometric", True),
        ("ogb", "pip install ogb", True),
        ("torch_sparse", "pip install --no-build-isolation torch_scatter torch_sparse", False),
        ("dgl", "pip install 'gnnbench[dgl]'", False),
    ],
)
def test_missing_package_comes_with_its_command(monkeypatch, examine, package, command, required):
    monkeypatch.setitem(sys.modules, package, None)
    finding = examine()[package]
    assert (finding.status, finding.remedy, finding.required) == ("missing", command, required)


def test_package_that_does_not_import_is_missing_with_the_reason(tmp_path):
    (tmp_path / "ogb.py").write_text("raise OSError('undefined symbol: _ZN3c10\\nand more')")
    code = "from gnnbench.doctor import _package\nprint(_package('ogb', required=True))\n"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "status='missing'" in result.stdout
    assert "does not import: undefined symbol: _ZN3c10'" in result.stdout


def test_asks_no_network(tmp_path):
    code = (
        "import sys, threading, pathlib\n"
        "from gnnbench import doctor\n"
        "found = list(doctor.examine(None, pathlib.Path()))\n"
        "assert 'ogb' in sys.modules and 'outdated' not in sys.modules\n"
        "assert threading.enumerate() == [threading.main_thread()]\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_no_data_folder_is_a_note(examine):
    finding = examine()["data"]
    assert finding.status == "note"
    assert "GNNBENCH_DATA" in finding.remedy


@pytest.mark.parametrize("below", ["", "cache", "deep/er/cache"])
def test_cache_under_a_file_cannot_be_written(examine, tmp_path, below):
    file = tmp_path / "file"
    file.touch()
    finding = examine(cache=file / below)["cache"]
    assert (finding.status, finding.required) == ("missing", True)
    assert "GNNBENCH_CACHE" in finding.remedy


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_cache_in_a_folder_of_others_cannot_be_written(examine, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert examine(cache=closed / "cache")["cache"].status == "missing"


@pytest.mark.parametrize("policy", [None, "ACTIVE", "PASSIVE", "passive"])
def test_threads_that_spin_are_noted(monkeypatch, examine, policy):
    if policy is None:
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    else:
        monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    finding = examine().get("idle threads")
    if policy in ("PASSIVE", "passive"):
        assert finding is None
    else:
        assert finding.status == "note"
        assert f"OMP_WAIT_POLICY is {policy or 'unset'}" in finding.detail
        assert "OMP_WAIT_POLICY=PASSIVE" in finding.remedy


def test_hidden_gpus_are_a_note(monkeypatch, examine):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    finding = examine()["cuda"]
    assert (finding.status, finding.detail) == ("note", "not here: CUDA_VISIBLE_DEVICES hides every GPU")
