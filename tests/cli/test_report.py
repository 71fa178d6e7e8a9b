import json
import re
import struct
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gnnbench import packages
from gnnbench.cli import main
from tests import svg
from tests.report import contents
from tests.run_files import content, plain, save, suite


def report(capsys, *arguments):
    status = main.main(["report", *map(str, arguments)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_a_page_is_written_and_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    status, out, err = report(capsys, head, *base)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "1 of 6 benchmarks is slower: b0 is 1.48x slower"
    assert out.splitlines()[1].startswith("report.html: ")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert max(map(len, out.splitlines())) <= 80


def test_results_of_ab_and_compare(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    file = tmp_path / "compare.json"
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    capsys.readouterr()
    status, out, _ = report(capsys, file, "-o", tmp_path / "page.html")
    assert status == 0
    assert out.startswith("1 of 6 benchmarks is slower: b0 is 1.48x slower\n")
    assert "1 run against 5 runs" in (tmp_path / "page.html").read_text().replace("</bdi>", "").replace(
        "<bdi>", ""
    )


def of_same_code(content, names):
    """Return a result of `gnnbench compare` in which these benchmarks run the same code."""
    numbers = dict.fromkeys(("ratio", "low", "high", "own_low", "own_high", "visible", "process_sd"))
    same = {"verdict": "same", "reason": "runs the same code", "same_code": True, **numbers}
    judged = {name: one | same if name in names else one for name, one in content["benchmarks"].items()}
    return content | {"benchmarks": judged}


def test_what_runs_the_same_code_is_counted_on_a_line_and_has_no_row(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    file, page, slides = (tmp_path / name for name in ("compare.json", "page.html", "slides"))
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    compared = json.loads(file.read_text())
    names = [f"test_a.py::b{number}" for number in range(1, 6)]
    file.write_text(json.dumps(of_same_code(compared, names)))
    capsys.readouterr()
    status, out, _ = report(capsys, file, "-o", page, "--slides", slides)
    assert (status, out.splitlines()[0]) == (0, "1 of 6 benchmarks is slower: b0 is 1.48x slower")
    text = page.read_text()
    assert text.count("<tr id=") == 1
    assert "<p>5 same: they run the same code.</p>" in text
    assert "Forest plot of 1 ratio." in text
    (slide,) = slides.glob("*.svg")
    assert "5 same: they run the same code." in " ".join(ET.parse(slide).getroot().itertext())


def test_where_all_run_the_same_code_there_is_only_the_line(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9), *(suite(seed) for seed in range(5)))
    file, page = tmp_path / "compare.json", tmp_path / "page.html"
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    compared = json.loads(file.read_text())
    file.write_text(json.dumps(of_same_code(compared, compared["benchmarks"])))
    capsys.readouterr()
    status, out, _ = report(capsys, file, "-o", page, "--slides", tmp_path / "slides")
    lines = out.splitlines()
    assert (status, len(lines)) == (0, 2), "no slide"
    assert lines[0] == "All 6 benchmarks run the same code"
    text = page.read_text()
    assert "<p>6 same: they run the same code.</p>" in text
    assert "<table" not in text
    assert "<svg" not in text


def test_a_run_keeps_the_rows_of_what_it_measured(tmp_path, capsys):
    found = judged()
    for one in found["benchmarks"][:3]:
        one["extra_info"]["gnnbench"]["comparison"]["same_code"] = True
    (run,) = save(tmp_path, found)
    assert report(capsys, run, "-o", tmp_path / "page.html")[0] == 0
    text = (tmp_path / "page.html").read_text()
    assert text.count("<tr id=") == 4
    assert "<p>3 same: they run the same code.</p>" in text
    assert "Forest plot of 1 ratio." in text


def test_what_changed_is_noted_beside_what_is_not_slower_too(tmp_path, capsys):
    found = judged("undecided")
    for one in found["benchmarks"]:
        one["extra_info"]["gnnbench"]["comparison"]["notes"] = ["code: GCNConv.forward, gcn_norm"]
    (run,) = save(tmp_path, found)
    assert report(capsys, run, "-o", tmp_path / "page.html")[0] == 0
    notes = (tmp_path / "page.html").read_text().partition("<h3>Notes</h3>")[2]
    assert "<li>code: GCNConv.forward, gcn_norm: op0 fwd pyg, op0 fwd sparse, op0 fwd torch" in notes


def test_the_level_of_a_shard_is_not_rounded_up_to_certainty(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    file = tmp_path / "compare.json"
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    file.write_text(json.dumps({**json.loads(file.read_text()), "family_level": 0.9975}))
    assert report(capsys, file, "-o", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert ">99.75% interval<" in page
    assert "99.75% simultaneous intervals" in page
    assert "the simultaneous 99.75% interval excludes 1" in page
    assert "100% interval" not in page


def test_a_result_with_an_impossible_ratio_is_one_line(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    file = tmp_path / "compare.json"
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    capsys.readouterr()
    text = file.read_text()
    ratio = json.loads(text)["benchmarks"]["test_a.py::b0"]["ratio"]
    for wrong in ("-1.0", "1e300", "1e999"):
        file.write_text(text.replace(str(ratio), wrong))
        status, _, err = report(capsys, file, "-o", tmp_path / "page.html")
        assert (status, err.count("\n")) == (2, 1)
        assert f"{file}: damaged" in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("cut.json", '{"benchmarks": [', "not JSON, or cut off"),
        ("list.json", "[1, 2]", "unknown format; give a run file"),
        ("other.json", '{"benchmarks": [{}]}', "not a run file of pytest-benchmark: no 'fullname'"),
        ("calibration.json", '{"version": 1, "calibrations": 3}', "damaged at $"),
        ("profile.json", '{"sections": {}}', "version None of the format"),
        ("compare.json", '{"benchmarks": {}}', "version None of the format"),
        (
            "infinite.json",
            '{"benchmarks": [{"fullname": "a", "stats": {"median": 1e999}}]}',
            "inf is no time or ratio",
        ),
        (
            "huge.json",
            '{"benchmarks": [{"fullname": "a", "stats": {"median": 1e300}}]}',
            "1e+300 is no time or ratio",
        ),
    ],
)
def test_another_file_is_one_line(tmp_path, capsys, name, text, message):
    (tmp_path / name).write_text(text)
    status, out, err = report(capsys, tmp_path / name, "-o", tmp_path / "page.html")
    assert (status, out) == (2, "")
    assert err.startswith(f"gnnbench: {tmp_path / name}: ")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


def test_files_that_do_not_belong_together_are_one_line(tmp_path, capsys):
    here, there, alone = save(tmp_path, suite(1), suite(2, threads=8), contents.calibration())
    fast, slow = tmp_path / "fast", tmp_path / "slow"
    for folder, threads in ((fast, 2), (slow, 8)):
        folder.mkdir()
        (folder / "profile.json").write_text(json.dumps(contents.profile("pyg", threads=threads)))
    for files, message in (
        ((here, there), "have different environments"),
        ((here, there), "threads 8 vs 2"),
        ((fast, slow), "threads 8 vs 2); make a page for each"),
        ((here, slow), "make a page for each"),
        ((here, here), "is given twice"),
        ((here, alone), "a calibration file cannot be compared"),
        ((tmp_path / "none.json",), "cannot be read (No such file or directory)"),
    ):
        status, out, err = report(capsys, *files)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_folders_and_what_cannot_be_written(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    (run,) = save(tmp_path, suite(1))
    assert "this folder has no profile.json" in report(capsys, empty)[2]
    for arguments in ((run, "-o", run / "page.html"), (run, "-o", "/proc/page.html")):
        status, _, err = report(capsys, *arguments)
        assert status == 2
        assert "page.html cannot be written (" in err
    status, _, err = report(capsys, run, "-o", tmp_path / "page.html", "--slides", run)
    assert status == 2
    assert f"the folder {run} cannot be written (" in err.splitlines()[-1]
    assert "effect" in report(capsys, run, "--effect", "much")[2]


def test_what_is_not_installed_is_said(tmp_path, capsys):
    (run,) = save(tmp_path, suite(1))
    with packages.hidden("altair", "vl_convert"):
        status, _, err = report(capsys, run)
    assert (status, err.count("\n")) == (2, 1)
    assert "altair and vl_convert are not installed: pip install 'gnnbench[report]'" in err


def test_slides_are_svg_and_png_of_one_size(tmp_path, capsys):
    head, *base = save(
        tmp_path, contents.family(9, factor=1.5), *(contents.family(seed) for seed in range(5))
    )
    profiles = tmp_path / "profiles"
    for number, platform in enumerate(contents.PLATFORMS, 1):
        folder = profiles / platform / "0001"
        folder.mkdir(parents=True)
        (folder / "profile.json").write_text(json.dumps(contents.profile(platform, scale=number)))
    slides = tmp_path / "slides"
    status, out, _ = report(capsys, head, *base, profiles, "-o", tmp_path / "page.html", "--slides", slides)
    assert status == 0
    files = sorted(slides.iterdir())
    assert [str(file) for file in files] == sorted(out.splitlines()[2:])
    assert len(files) == 2 * 5
    texts = {}
    for file in files:
        if file.suffix == ".png":
            assert struct.unpack(">II", file.read_bytes()[16:24]) == (1920, 1080)
        else:
            root = ET.parse(file).getroot()
            assert (root.get("width"), root.get("height")) == ("1280", "720")
            texts[file.stem] = svg.text(file)
            assert svg.smallest(file) >= svg.LEGIBLE
            assert "A CPU · threads 2 · Linux 6 · Python 3.11.7 · torch 2.13.0" in texts[file.stem]
    assert "op0 fwd is 1.49x slower on pyg" in texts["02-op0-fwd-is-1-49x-slower-on-pyg"]
    assert "pyg took the least time in 2 of 3 operations, sparse for 1" in " ".join(texts.values())


def test_older_slides_do_not_stay_among_new_ones(tmp_path, capsys):
    slides = tmp_path / "slides"
    run, calibrated = save(tmp_path, suite(1), contents.calibration())
    report(capsys, run, "-o", tmp_path / "page.html", "--slides", slides)
    older = {file.name for file in slides.iterdir()}
    assert {name[:3] for name in older} == {"01-"}
    theirs = {"notes.txt", "01-mine.svg", "01-mine.png", "02-folder.svg"}
    for name in theirs - {"02-folder.svg"}:
        (slides / name).write_text("<svg/>")
    (slides / "02-folder.svg").mkdir()
    status, out, _ = report(capsys, calibrated, "-o", tmp_path / "page.html", "--slides", slides)
    assert status == 0
    written = {Path(line).name for line in out.splitlines()[2:]}
    assert not written & older
    assert {file.name for file in slides.iterdir()} == written | theirs


def test_nothing_to_draw_is_one_line(tmp_path, capsys):
    (run,) = save(tmp_path, content())
    status, _, err = report(capsys, run, "-o", tmp_path / "page.html", "--slides", tmp_path / "slides")
    assert status == 2
    assert "has nothing to draw" in err.splitlines()[-1]


def test_a_large_run_stays_below_three_megabytes(tmp_path, capsys):
    head = contents.family(1, operations=500, blocks=25)
    (run,) = save(tmp_path, head)
    page = tmp_path / "page.html"
    assert report(capsys, run, "-o", page)[0] == 0
    assert page.stat().st_size < 3e6
    assert page.read_text().count("<tr id=") == 2000


def test_a_file_of_pytest_benchmark_alone(tmp_path, capsys):
    head, *base = save(tmp_path, plain(9), *(plain(seed) for seed in range(3)))
    assert report(capsys, head, *base, "-o", tmp_path / "page.html")[0] == 0


def judged(verdict="same", **compared):
    """Return a run with a verdict on each of four benchmarks, and how they were reached."""
    found = contents.family(1, operations=1)
    for one in found["benchmarks"]:
        one["extra_info"]["gnnbench"]["comparison"] = {**contents.judgement(verdict), "ratio": 1.06}
    if compared:
        levels = {"effect": 0.1, "family_level": 0.9975, "own_level": 0.95, "shared": None}
        found["gnnbench"]["compared"] = levels | compared
    return found


def test_saved_verdicts_are_shown_as_they_were_reached(tmp_path, capsys):
    whole = contents.judgement("slower")
    (run,) = save(tmp_path, judged(shared=whole))
    status, out, _ = report(capsys, run, "-o", tmp_path / "page.html", "--effect", "2%")
    text = "All benchmarks together: 1.20x slower; relative to that, no slowdown found in 4 benchmarks"
    assert (status, out.splitlines()[0]) == (0, f"{text}: 4 same within 10%")
    page = (tmp_path / "page.html").read_text()
    for words in (
        "99.75% simultaneous intervals",
        "grey: changes of less than 10%",
        "the change is at least 10%",
        "1.20x (1.10-1.30), a",
    ):
        assert words in page
    assert "2.0%" not in page


def test_what_saved_verdicts_were_reached_with_is_not_invented(tmp_path, capsys):
    (run,) = save(tmp_path, judged())
    status, out, _ = report(capsys, run, "-o", tmp_path / "page.html")
    assert (status, out.splitlines()[0]) == (0, "No slowdown found in 4 benchmarks: 4 same")
    page = (tmp_path / "page.html").read_text()
    assert "Ratios with simultaneous intervals (thin) and per-benchmark intervals (thick)." in page
    assert "Slower, faster:" not in page
    assert "3.0%" not in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"effect": -1},
        {"effect": "3%"},
        {"family_level": 1},
        {"own_level": None},
        {"shared": {}},
        {"shared": 3},
    ],
)
def test_damaged_thresholds_are_one_line(tmp_path, capsys, wrong):
    (run,) = save(tmp_path, judged(**wrong))
    status, _, err = report(capsys, run, "-o", tmp_path / "page.html")
    assert (status, err.count("\n")) == (2, 1)
    assert f"{run}: damaged: " in err


def test_where_the_machine_drifted_no_time_before_is_invented(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    file = tmp_path / "compare.json"
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    content = json.loads(file.read_text())
    for shared, then in ((None, " → "), (contents.judgement("slower"), "")):
        file.write_text(json.dumps(content | {"shared": shared}))
        _, out, _ = report(capsys, file, "-o", tmp_path / "page.html")
        moved = (
            (tmp_path / "page.html")
            .read_text()
            .partition("Changed benchmarks</caption>")[2]
            .partition("</table>")[0]
        )
        assert (" → " in moved) == bool(then)
        assert re.search(rf'<td data-name="time">[^<]*{then}\d\.\d\d ms</td>', moved)
    assert "All benchmarks together: 1.20x slower; relative to that, 1 of 6 benchmarks is slower: b0" in out
    assert "slower</span>: 1.20x (1.10-1.30), a reason." in (tmp_path / "page.html").read_text()


def test_a_reason_in_a_result_is_text_that_shows(tmp_path, capsys):
    head, *base = save(tmp_path, suite(9, factor=1.5), *(suite(seed) for seed in range(5)))
    file = tmp_path / "compare.json"
    main.main(["compare", *map(str, base), "--json", str(file), "--", str(head)])
    capsys.readouterr()
    content = json.loads(file.read_text())
    hostile = {"verdict": "incomparable", "reason": f"\ud800 \u202ebad\x1b {'x' * 900}"}
    content["benchmarks"]["test_a.py::b1"] |= hostile
    content["shared"] = content["benchmarks"]["test_a.py::b0"] | hostile
    file.write_text(json.dumps(content))
    status, _, err = report(capsys, file, "-o", tmp_path / "page.html")
    assert (status, err) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert page.count("\ufffd \ufffdbad\ufffd xxx") == 2
    assert "x" * 300 not in page


def test_a_reason_that_compares_runs_is_text_that_shows(tmp_path, capsys):
    base, head = suite(1), suite(2)
    head["benchmarks"][0]["extra_info"]["gnnbench"]["code_hash"] = f"\ud800 \u202ebad {'x' * 900}"
    files = save(tmp_path, head, base)
    status, _, err = report(capsys, *files, "-o", tmp_path / "page.html")
    assert (status, err) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert "\ufffd \ufffdbad" in page
    assert "x" * 300 not in page
