from gnnbench.engine.drive import along
from gnnbench.engine.drive.along import Axis
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.show import along as tables
from gnnbench.engine.show.console import Terminal
from gnnbench.engine.store import run_file
from tests.engine.show import contents
from tests.run_files import content, save

THRESHOLDS = Thresholds(effect=0.03)


def compared(folder, *files, by="platform"):
    runs = [run_file.read(path) for path in save(folder, *files)]
    return along.compare(runs, Axis.parse(by), THRESHOLDS)


def shown(found, width=80):
    return Terminal(width).write(tables.document(found))


def words(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def families(count):
    return [contents.family(seed, operations=2) for seed in range(count)]


def test_of_several_processes_rows_and_means_have_verdicts(tmp_path):
    lines = words(shown(compared(tmp_path, *families(5))))
    assert lines[2] == "operation dir platform time ratio interval verdict"
    assert lines[6].endswith(" slower")
    assert any(line.startswith("dgl / pyg 1.9") and line.endswith("2 benchmarks: 2 slower") for line in lines)
    assert "5 processes of one run" in lines


def test_few_processes_say_what_their_intervals_cover_and_what_has_no_row_is_counted(tmp_path):
    one, other = families(2)
    one["benchmarks"].append(contents.ours("own", "torch", 1.0))
    text = shown(compared(tmp_path, one), width=None)
    assert "verdict" not in text.partition("geometric")[0]
    assert "one process: the intervals cover only the variation within it." in text
    (mean,) = (line for line in words(text) if line.startswith("dgl / pyg"))
    assert mean.endswith("x? 2 benchmarks")
    needs = "a row needs two benchmarks that differ only in platform, one with platform pyg"
    assert f"1 benchmark without a row: {needs}" in text
    text = shown(compared(tmp_path, one, other))
    assert "2 processes of one run; 3 are needed for a narrow interval of a row" in text


def test_the_axis_is_neither_in_the_heading_nor_among_the_names(tmp_path):
    entries = [
        contents.ours("op", name, 1.0, dataset=dataset)
        for name in ("pyg", "dgl")
        for dataset in ("cora", "pubmed")
    ]
    lines = words(shown(compared(tmp_path, content(*entries), by="dataset")))
    assert lines[1:3] == [
        "hidden 256 · float32 · int64 · cpu",
        "operation dir on dataset time ratio interval",
    ]
    assert lines[3].startswith("op fwd pyg cora ")
    assert lines[4].startswith("pubmed ")
