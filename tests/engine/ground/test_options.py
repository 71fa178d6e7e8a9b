import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.options import Options
from gnnbench.suite.options import SuiteOptions
from gnnbench.suite.platforms import PLATFORMS


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("GNNBENCH_DATA", raising=False)


def test_defaults_on_a_cpu():
    suite = SuiteOptions.parse()
    assert suite.datasets == ()
    assert [name.id for name in suite.graphs("cpu")] == ["cora", "ogbn-arxiv:synthetic@0.1"]
    own = ["rmat:7", "citeseer"]  # an operation's own graphs, in the place of the default ones
    assert [name.id for name in suite.graphs("cpu", own)] == own
    assert suite.platforms == tuple(PLATFORMS)
    assert (suite.hidden, suite.real_only) == ((), False)
    assert (suite.dtypes, suite.index_dtypes) == (("float32",), ("int64",))
    assert suite.data_root is None
    options = Options.parse()
    assert options.device == "cpu"
    assert (options.precision, options.layouts, options.flush_l2) == (0.02, None, True)


def test_how_to_measure():
    options = Options.parse(precision="1.5%", layouts="one", l2="keep", time="4min")
    assert (options.precision, options.layouts, options.flush_l2) == (0.015, "one", False)
    assert options.time_seconds == Options.parse(time="240").time_seconds == 240
    assert Options.parse(precision="0.05").precision == 0.05


@pytest.mark.parametrize(
    "given", [["pyg", "dgl"], ["pyg,dgl"], [" pyg , dgl ,"], ["pyg,dgl", "pyg"], ["", "pyg", ",dgl"]]
)
def test_lists_are_repeated_or_comma_separated(given):
    assert SuiteOptions.parse(platform=given).platforms == ("pyg", "dgl")


def test_every_list_is_read_as_one():
    options = SuiteOptions.parse(dataset=["pubmed,rmat:5"], hidden=["16,32", "64,016"], dtype=["float64"])
    assert [name.id for name in options.datasets] == ["pubmed", "rmat:5"]
    assert options.graphs("cpu", ["rmat:7"]) == options.graphs("cpu") == options.datasets
    assert (options.hidden, options.dtypes) == ((16, 32, 64), ("float64",))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dataset": ["corra"]}, "unknown dataset 'corra': did you mean cora"),
        ({"index_dtype": ["int64,int16"]}, "unknown index dtype 'int16': did you mean int"),
        ({"device": "gpu"}, "unknown device 'gpu': "),
        ({"precision": "0"}, "precision '0' must lie between 0 and 1, as in 2% or 0.02"),
        ({"time": "4 parsecs"}, "time '4 parsecs' must be a time, as in 4min or 240"),
        ({"confirm": "1.5"}, "confirm '1.5' must be a whole number, as in 3"),
        ({"layouts": "samples"}, "unknown value of --gnn-layouts 'samples': did you mean sample"),
        ({"data": "no/such/folder"}, "data folder no/such/folder does not exist"),
    ],
)
def test_wrong_input_is_one_line_that_helps(given, message):
    with pytest.raises(UsageError) as caught:
        (Options.parse(**given), SuiteOptions.parse(**given))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_width_is_a_positive_whole_number():
    for width in ("0", "-1", "1.5", "1e3", "wide", "²", "1_000", "+8"):
        with pytest.raises(UsageError, match="must be a whole number of at least 1"):
            SuiteOptions.parse(hidden=["64", width])


def test_data_folder_is_the_option_or_the_variable_and_must_be_there(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("given", "variable"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("GNNBENCH_DATA", str(tmp_path / "variable"))
    assert SuiteOptions.parse().data_root == tmp_path / "variable"
    for given in ("given", "~/given"):
        assert SuiteOptions.parse(data=given).data_root == tmp_path / "given"
    monkeypatch.setenv("GNNBENCH_DATA", "")
    assert SuiteOptions.parse().data_root is None
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="does not exist"):
        SuiteOptions.parse(data=str(tmp_path / "file"))
    monkeypatch.setenv("GNNBENCH_DATA", str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="GNNBENCH_DATA"):
        SuiteOptions.parse()
