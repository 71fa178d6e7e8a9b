from experiments.along import pyg_and_dgl as script
from gnnbench.results import run_file
from tests.report import contents
from tests.run_files import save


def test_the_result_names_machine_and_versions_and_has_all_rows(tmp_path):
    runs = [run_file.read(path) for path in save(tmp_path, *(contents.family(seed) for seed in range(3)))]
    text = script.block(runs)
    assert text.startswith("A CPU, 2 threads on 2 cores; Python 3.11.7, torch 2.13.0; commit aaaaaaaa")
    assert "## Other operations" in text
    assert "## Core operations" not in text
    assert text.count("| `dgl` |") == 3
    assert "| `dgl / pyg` | 1.9" in text
