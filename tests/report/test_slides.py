from gnnbench.cli import main
from gnnbench.report import slides
from tests import svg
from tests.report import contents
from tests.run_files import save


def test_many_processes_leave_the_letters_large(tmp_path):
    old = [contents.family(seed, operations=1) for seed in range(14)]
    runs = save(tmp_path, contents.family(99, operations=1, factor=1.5), *old)
    page, folder = tmp_path / "page.html", tmp_path / "slides"
    assert main.main(["report", *map(str, runs), "-o", str(page), "--slides", str(folder)]) == 0
    (file,) = folder.glob("02-*.svg")
    assert "older 14" in svg.text(file)
    assert svg.smallest(file) >= svg.LEGIBLE


def test_the_last_line_breaks_between_facts_only():
    facts = (("processor", "A CPU"), ("threads", "2"), ("libraries", "torch 2.13.0 · dgl 2.1.0"))
    text = slides.footer(facts)
    assert text.split(" ") == ["A\xa0CPU", "·", "threads\xa02", "·", "torch\xa02.13.0", "·", "dgl\xa02.1.0"]
