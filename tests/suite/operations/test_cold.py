"""First imports and compilations; code for fresh interpreters runs in this process."""

import io
from contextlib import redirect_stdout
from subprocess import CalledProcessError

import pytest
import torch
from torch._dynamo.exc import FailOnRecompileLimitHit

from gnnbench.engine.measure import conditions
from gnnbench.suite.operations import OPERATIONS, cold
from gnnbench.suite.operations import compiled as sizes
from tests.sampling import nightly
from tests.suite.cells import workload_of


@pytest.mark.parametrize("platform", OPERATIONS["cold_import"].calls)
def test_what_a_fresh_interpreter_runs_is_right(make_case, monkeypatch, platform):
    def here(code):
        with redirect_stdout(io.StringIO()) as output:
            exec(code, {})
        return output.getvalue()

    monkeypatch.setattr(cold, "run_fresh", here)
    workload_of(make_case("cold_import", platform)).verify()


def test_another_file_than_this_process_imported_is_found(make_case, monkeypatch):
    monkeypatch.setattr(cold, "run_fresh", lambda _: "/elsewhere/torch/__init__.py\n")
    workload = workload_of(make_case("cold_import", "torch"))
    workload.must_be_found_wrong(lambda run, *inputs: run(*inputs), "output is wrong")


def test_packages_come_from_the_folders_of_this_process(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("where = 'here'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cold.run_fresh("import only_here; print(only_here.where)") == "here\n"


def test_no_package_comes_from_the_working_folder(tmp_path, monkeypatch, capfd):
    (tmp_path / "ftfy.py").write_text("print('wrong')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CalledProcessError, match="exit status 1"):
        cold.run_fresh("import ftfy")
    assert "No module named 'ftfy'" in capfd.readouterr().err


@pytest.fixture
def of_all_sizes(make_case, operation):
    conditions.clear_compilations()
    return workload_of(make_case(operation, "pyg", "forward_backward"))


@pytest.mark.usefixtures("without_back_end")
@pytest.mark.parametrize(
    "operation", ["conv_compiled_sizes", nightly(pytest.param("gat_conv_compiled_sizes"))]
)
def test_two_compilations_serve_all_sizes_and_are_right(of_all_sizes):
    assert len(of_all_sizes.timed().verify()) == sum(sizes.counts(60))
    assert conditions.compilations() == {"graphs": 2, "recompilations": 1}


@pytest.mark.usefixtures("without_back_end")
@pytest.mark.parametrize("operation", ["conv_compiled_sizes"])
def test_a_compilation_for_each_size_is_counted_and_one_more_than_allowed_is_an_error(of_all_sizes):
    """Torch allows as many as there are sizes; of the first two sizes, so that it takes less time."""
    config = torch._dynamo.config
    assert config.recompile_limit == sizes.SIZES
    parts, *rest = of_all_sizes.inputs
    with config.patch(automatic_dynamic_shapes=False, recompile_limit=2):
        of_all_sizes.run(parts[:2], *rest)
        assert conditions.compilations() == {"graphs": 2, "recompilations": 1}
        with pytest.raises(FailOnRecompileLimitHit):
            of_all_sizes.run(parts[2:3], *rest)
