from pathlib import Path

import pytest

from gnnbench.engine.cli import main
from gnnbench.engine.ground.settings import find
from gnnbench.engine.store import option_defaults

SETTINGS = """
effect = "4%"
strict = true
budget = 900
data = "data"
platform = ["pyg"]
results = true
[ab]
budget = 30
time_all = true
[profile]
with = ["layers", "functions"]
folder = "profiles"
epochs = 3
hidden = 16
[baseline]
processes = 5
"""

WRONG = {
    "[merge]\noutput = 'x'": "unknown key 'merge'",
    "[ab]\nbudgt = 30": "ab: unknown key 'budgt': did you mean budget",
    "[ab]\nplatform = 'pyg'": "ab: unknown key 'platform'; known: budget,",
    "[ab]\nbudget = true": "ab: budget = true must be a text, a number",
    "[profile]\nseed_table = true": "profile: unknown key 'seed_table'",
    "[profile]\nwith = 'layer'": "profile: with = \"layer\": unknown kind 'layer': did you mean layers",
}
"""Content of gnnbench.toml, and what its command says of it."""


@pytest.fixture
def parsed(tmp_path):
    """Return a function that reads a command line as the command does."""
    (tmp_path / "gnnbench.toml").write_text(SETTINGS)
    (tmp_path / "data").mkdir()
    found = find(tmp_path)

    def parse(*words):
        options = main._parser(words[:1]).parse_args(words)
        option_defaults.take(options, found)
        return options

    return parse


def test_a_table_has_the_defaults_of_its_command(parsed):
    options = parsed("ab", "git:main", ".")
    assert (options.budget, options.time_all, options.timeout) == (30.0, True, 120.0)
    assert parsed("baseline", "record").processes == 5
    options = parsed("profile", "spmm")
    assert (vars(options)["with"], options.hidden) == (("layers", "functions"), (16,))


def test_a_key_at_the_top_holds_for_commands_for_which_it_means_the_same(parsed, tmp_path):
    assert parsed("ab", ".", ".").strict
    assert parsed("compare", "a.json").strict
    assert parsed("compare", "a.json").effect == 0.04
    assert parsed("list").data == tmp_path / "data"
    options = parsed("profile", "spmm")
    assert (options.platform, options.epochs) == (("pyg",), 3)
    assert options.folder == tmp_path / "profiles"
    options = parsed("bisect", "a", "b")
    assert options.budget == 180.0, "of pytest, the seconds for all"


def test_the_command_line_wins(parsed):
    options = parsed("ab", ".", ".", "--budget=5", "--no-strict", "--no-time-all", "--effect=1%")
    assert (options.budget, options.strict, options.time_all) == (5.0, False, False)
    options = parsed("profile", "spmm", "--with=phases", "--platform=torch", "--hidden=32")
    assert (vars(options)["with"], options.platform, options.hidden) == (("phases",), ("torch",), (32,))


@pytest.mark.parametrize(("content", "expected"), WRONG.items(), ids=range(len(WRONG)))
def test_wrong_tables_are_refused_in_one_line(tmp_path, capsys, monkeypatch, content, expected):
    monkeypatch.chdir(tmp_path)
    Path("gnnbench.toml").write_text(content)
    assert main.main(["profile", "."] if "profile" in content else ["ab", ".", "."]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"gnnbench: {tmp_path / 'gnnbench.toml'}")
    assert expected in err
    assert (out, err.count("\n")) == ("", 1)


def test_what_is_asked_for_help_needs_no_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("gnnbench.toml").write_text("effect = ")
    with pytest.raises(SystemExit, match="0"):
        main.main(["ab", "--help"])
    assert "--time-all, --no-time-all" in capsys.readouterr().out
