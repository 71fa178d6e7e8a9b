import json

import pytest

from gnnbench.errors import UsageError
from gnnbench.measure.instructions.counting import Instructions
from gnnbench.results import instruction_baseline as baseline
from gnnbench.results.instruction_baseline import Build

BUILD = Build("3.11.7, GCC 12", "glibc 2.36", "callgrind 3.19.0")
ONE, OTHER = Instructions(100, functions={"p:f": 90}), Instructions(7, frames={"m:g": 7})


def test_named_by_versions_and_capability(tmp_path):
    path = baseline.path_of(tmp_path, "avx2")
    assert path.parent == tmp_path / "baselines/instructions"
    assert path.name.startswith("python-3.")
    assert "_torch-2." in path.name
    assert path.name.endswith("_avx2.json")


def test_what_is_recorded_again_is_replaced_and_the_rest_is_kept(tmp_path):
    path = baseline.path_of(tmp_path, "avx2")
    assert baseline.read(path) is None
    baseline.write(path, BUILD, {"b": ONE, "a": ONE})
    baseline.write(path, BUILD, {"b": OTHER})
    found = baseline.read(path)
    assert found.build == BUILD
    assert found.instructions == {"a": ONE, "b": OTHER}
    assert json.loads(path.read_text())["capability"] == "avx2"
    other = Build("3.11.7, Clang 18", BUILD.libc, BUILD.counter)
    baseline.write(path, other, {"b": ONE})
    assert baseline.read(path).instructions == {"b": ONE}, "numbers of another build go"


@pytest.mark.parametrize("text", ["[]", "{", '{"version": 2}', '{"version": 1, "build": {}}'])
def test_damaged(tmp_path, text):
    path = tmp_path / "damaged.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"damaged\.json: .*--gnn-instructions=update"):
        baseline.read(path)
