from pathlib import PurePath

import pytest

from gnnbench.adopt.repository import Project


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Project(folder)


def test_packages_are_found_in_src_and_at_the_top(tmp_path):
    at_the_top = write(tmp_path / "a", {"kernels/__init__.py": "", "tests/__init__.py": "", "setup.py": ""})
    assert (at_the_top.packages, at_the_top.root) == (["kernels"], PurePath())
    assert at_the_top.module(PurePath("kernels/spmm.py")) == "kernels.spmm"
    in_src = write(
        tmp_path / "b", {"src/kernels/__init__.py": "", "src/kernels/spmm.py": "", "docs/conf.py": ""}
    )
    assert (in_src.packages, in_src.root) == (["kernels"], PurePath("src"))
    assert in_src.module(PurePath("src/kernels/spmm.py")) == "kernels.spmm"
    assert in_src.module(PurePath("docs/conf.py")) is None
    modules = write(tmp_path / "c", {"model.py": "", "train.py": "", "conftest.py": ""})
    assert modules.packages == ["model", "train"]


def test_files_that_look_like_benchmarks_are_found_whatever_pytest_calls_a_test(tmp_path):
    found = write(
        tmp_path,
        {
            "tests/test_a.py": "def test_one(benchmark): ...\ndef test_two(a): ...\n",
            "bench/bench_b.py": "class Perf:\n    def bench_three(self, x, *, benchmark_weave): ...\n",
            "bench/conftest.py": "def bench(benchmark): ...\n",
            "tools/show.py": "def show(benchmark): ...\n",
            ".venv/test_c.py": "def test_c(benchmark): ...\n",
            "env2/pyvenv.cfg": "",
            "env2/test_c.py": "def test_c(benchmark): ...\n",
        },
    )
    assert list(found.likely) == ["bench/bench_b.py", "tests/test_a.py"]


def test_many_files_are_named_by_their_folder_if_pytest_collects_them_there(tmp_path):
    names = [f"bench/{name}/test_{name}.py" for name in "abcd"]
    assert Project(tmp_path, names[:3]).suite == names[:3]
    assert Project(tmp_path, names).suite == ["bench"]
    assert Project(tmp_path, [*names, "test_e.py::test_it"]).suite == ["."]
    assert Project(tmp_path, names, is_named=True).suite == names


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, None),
        ({"setup.py": "", "requirements.txt": ""}, "python -m pip install -e ."),
        ({"pyproject.toml": "not TOML", "setup.py": ""}, "python -m pip install -e ."),
        (
            {"pyproject.toml": "[project.optional-dependencies]\ntest = []\nbench = []\n"},
            "python -m pip install -e '.[bench]'",
        ),
        (
            {"pyproject.toml": "[project]\n[dependency-groups]\ndev = []\n"},
            "python -m pip install -e . --group dev",
        ),
    ],
)
def test_how_it_is_installed(tmp_path, files, command):
    assert write(tmp_path, files).install == command
