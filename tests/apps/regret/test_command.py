import pytest

from gnnbench.apps.regret import run as measuring
from gnnbench.apps.regret.result import Point, Regrets
from gnnbench.engine.measure import layouts
from gnnbench.engine.measure.simulated_clock import FakeMachine, Truth
from tests.apps.regret.results import CALL, SORTED, grid, line, regrets

SMALL = ("--skew", "uniform", "--scale", "5", "--degree", "2,4", "--hidden", "8", "--direction", "forward")


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    """Work in an empty folder; a call takes a simulated millisecond."""

    def clock_for(_devices, _timer, *, flush):
        assert flush, "as in benchmarks"
        return FakeMachine(0, {"all": Truth(1e-3)}).clock("all")

    monkeypatch.setattr(layouts, "clock_for", clock_for)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # which the command sets
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path / ".cache"))
    monkeypatch.chdir(tmp_path)


def saved(path, found):
    from gnnbench.engine.ground.codec import as_text

    path.write_text(as_text(found))
    return path


def test_a_grid_is_measured_shown_and_saved(tmp_path, call):
    status, out, err = call("regret", "degree", *SMALL, "--budget", "1", "--json", "r.json")
    assert status == 0, err
    assert "2 points, " in out
    found = Regrets.read(tmp_path / "r.json")
    assert [point.place.dataset for point in found.points] == ["uniform:5@1", "uniform:5@2"]
    assert {point.place.operation for point in found.points} == {"degree"}
    assert [(point.place.dtype, point.place.threads, point.place.device) for point in found.points] == [
        ("float32", 1, "cpu")
    ] * 2
    assert found.effect == 0.03
    assert found.environment.threads
    assert "point 1 of 2: degree forward on uniform:5@1" in err
    assert call("regret", "--from", "r.json")[:2] == (0, out)


def test_all_operations_of_a_family_and_given_graphs(tmp_path, call):
    options = ("--dataset", "rmat:5,hub:6", "--direction", "forward", "--hidden", "8", "--threads", "1,2")
    status, _, err = call("regret", "update_all_copy_u_mean", *options, "--budget", "1", "--json", "r.json")
    assert status == 0, err
    places = [point.place for point in Regrets.read(tmp_path / "r.json").points]
    assert [(one.operation, one.dataset, one.threads) for one in places] == [
        ("spmm_mean", dataset, threads) for dataset in ("rmat:5", "hub:6") for threads in (1, 2)
    ]


def test_the_grid_that_is_usual_has_random_graphs_of_three_kinds(monkeypatch, call):
    grids = []
    monkeypatch.setattr(measuring, "measure", lambda grid, **_: grids.append(grid) or iter(()))
    assert call("regret")[0] == 3, "nothing was measured"
    (grid,) = grids
    assert [dataset.id for dataset in grid.datasets][:5] == [
        f"uniform:10@{edges}" if edges != 8 else "uniform:10" for edges in (1, 2, 4, 8, 16)
    ]
    assert {name.dataset.family for name in grid.datasets} == {"uniform", "rmat", "hub"}
    assert (len(grid.datasets), grid.hidden, grid.threads) == (15, (8, 32, 64, 128), (1,))
    assert len({place for _, _, place in grid.places()}) == len(grid.places()) > 1000


def test_an_interrupt_saves_and_shows_what_is_known(tmp_path, monkeypatch, call):
    points = grid().points

    def measure(*_, **__):
        yield from points[:2]
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "measure", measure)
    status, out, err = call("regret", *SMALL, "--json", "r.json")
    assert status == 130
    assert "2 points, 1 decided" in out
    assert err.endswith("gnnbench: interrupted after 2 points\n")
    assert Regrets.read(tmp_path / "r.json").points == points[:2]


def test_without_any_time_the_exit_code_is_3(tmp_path, call):
    file = saved(tmp_path / "r.json", regrets(Point(grid().points[0].place, 9, 9, left_out={"a": "b"})))
    status, out, _ = call("regret", "--from", file)
    assert status == 3
    assert "not timed at 1 point: a (b)" in out


def test_maps_of_a_saved_result(tmp_path, call):
    file = saved(tmp_path / "r.json", regrets(*line(1 / 2, 2)))
    status, out, err = call("regret", "--from", file, "--maps", "new/maps")
    assert status == 0
    assert err == "drawing maps in new/maps\n"
    assert out.splitlines()[-4:] == [
        f"new/maps/scatter-max-on-{platform}-forward.{kind}"
        for platform in ("torch", "pyg")
        for kind in ("svg", "png")
    ]
    file = saved(file, regrets())
    assert call("regret", "--from", file, "--maps", "none")[1].endswith(
        "no call was timed on a random graph\n"
    )
    assert CALL in out
    assert SORTED in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("spmm_summ", "unknown operation of gnnbench regret 'spmm_summ': did you mean spmm_sum?"),
        ("gcn_norm", "unknown operation of gnnbench regret 'gcn_norm'"),
        ("--direction back", "unknown direction 'back'"),
        ("--skew molecules", "unknown skew 'molecules'"),
        ("--degree 0", "degree '0' must be a whole number"),
        ("--degree 2,x", "degree 'x' must be a whole number"),
        ("--degree 2048", "must be the number of edges per node, above 0 and at most 1023"),
        ("--degree ²", "must be a whole number"),
        ("--scale 31", "the scale must be a whole number from 4 to 30"),
        ("--threads 99999", "threads '99999' must be a whole number from 1 to 9999"),
        ("--hidden 0", "hidden '0' must be"),
        ("--dtype int8", "int8"),
        ("--dataset coar", "did you mean cora?"),
        ("--effect 0", "effect '0' must lie"),
        ("--json nowhere/r.json", "nowhere/r.json cannot be written"),
        ("--from old.json --json new.json", "--from measures nothing: leave --json out"),
        ("--from bad.json", "bad.json: damaged at $.effect"),
        ("--maps old.json", "the folder old.json cannot be written (File exists); make it writable, or"),
    ],
)
def test_wrong_usage_is_a_line_before_anything_is_measured(words, said, tmp_path, monkeypatch, call):
    monkeypatch.setattr(measuring, "measure", lambda *_, **__: pytest.fail("it measured"))
    saved(tmp_path / "old.json", grid())
    (tmp_path / "bad.json").write_text('{"version": 1, "points": [], "effect": 7}')
    status, out, err = call("regret", *words.split(" "))
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
