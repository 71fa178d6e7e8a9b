import re
import tomllib
from pathlib import Path

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.settings import NONE, Settings, find, parse
from gnnbench.engine.store.option_defaults import from_settings
from tests.runs import run

RULE = '[[rules]]\nbenchmarks = "*"\n'

WRONG = {
    # The file.
    "effect = ": "is not valid TOML: Invalid value (at end of document); correct it",
    "rules = [3]": "rules must be a list of tables, as in [[tool.gnnbench.rules]]",
    # Keys of options.
    "efect = '3%'": "unknown key 'efect': did you mean effect",
    "ab = 3": "ab must be a table, as in [tool.gnnbench.ab]",
    "shard = '1/4'": "shard differs from run to run: give it on the command line, not here",
    # Values of options.
    "effect = '300%'": "effect = \"300%\": effect '300%' must lie between 0 and 1, as in 2% or 0.02",
    "strict = 'yes'": 'strict = "yes" must be true or false',
    # Rules.
    "[[rules]]\nmax_time = '5 ms'": "rule 1 has no key benchmarks; add a pattern",
    f"{RULE}max_time = 5": "rule 1: max_time = 5: max_time '5' must be a time with its unit, as in \"5 ms\"",
    "[[rules]]\nbenchmarks = ['*a*']\neffect = 0.1": 'rule 1: benchmarks = ["*a*"] must be a text',
}
"""Content of gnnbench.toml, and what the message says after its path."""


def settings(text: str) -> Settings:
    return parse(Path("gnnbench.toml"), tomllib.loads(text))


@pytest.mark.parametrize(("content", "expected"), WRONG.items(), ids=range(len(WRONG)))
def test_wrong_settings_are_refused_in_one_line(tmp_path, content, expected):
    file = tmp_path / "gnnbench.toml"
    file.write_text(content)
    with pytest.raises(UsageError) as raised:
        from_settings(find(tmp_path))
    message = str(raised.value)
    assert message.startswith(str(file))
    assert expected in message
    assert "\n" not in message


def test_pytest_ends_with_that_line(tmp_path):
    file = tmp_path / "gnnbench.toml"
    file.write_text("efect = '3%'")
    line = f"gnnbench: {file}: unknown key 'efect': did you mean effect?"
    ran = run(cwd=tmp_path)
    assert (ran.returncode, ran.stderr.strip()) == (pytest.ExitCode.USAGE_ERROR, f"ERROR: {line}")


def test_pyproject_has_them_in_its_table_names_the_same_mistakes_and_gives_way_to_a_file_of_its_own(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.ruff]\nline-length = 80\n")
    assert find(tmp_path) == NONE
    for content, message in (
        ("[tool]\ngnnbench = 3", "tool.gnnbench must be a table, as in [tool.gnnbench]"),
        ("[[tool.gnnbench.rules]]\neffect = 0.1", "rule 1 has no key benchmarks"),
    ):
        file.write_text(content)
        with pytest.raises(UsageError, match=re.escape(f"{file}: {message}")):
            find(tmp_path)
    (tmp_path / "gnnbench.toml").write_text("")
    assert (find(tmp_path).name, find(tmp_path).defaults) == ("gnnbench.toml", {})


def test_the_nearest_folder_up_to_the_top_of_the_repository(tmp_path):
    inner = tmp_path / "repository" / "package" / "benchmarks"
    inner.mkdir(parents=True)
    (tmp_path / "gnnbench.toml").write_text("effect = 0.01")
    assert find(inner).file is None  # no repository: only the folder itself
    (tmp_path / "repository" / ".git").mkdir()
    assert find(inner).file is None  # above the repository
    (tmp_path / "repository" / "gnnbench.toml").write_text("effect = 0.02")
    assert find(inner).defaults == {"effect": 0.02}
    (inner.parent / "pyproject.toml").write_text("[project]\nname = 'other'")
    assert find(inner).defaults == {"effect": 0.02}
    (inner.parent / "pyproject.toml").write_text("[tool.gnnbench]\neffect = 0.03")
    assert find(inner).defaults == {"effect": 0.03}
    assert find(inner.parents[1]).defaults == {"effect": 0.02}


ID = "benchmarks/test_spmm.py::test_spmm_sum[spmm_sum-forward-torch-float32-int64-cora-256-cpu]"


def test_patterns_are_about_the_whole_id_and_brackets_stand_for_themselves():
    matching = (ID, "*spmm*cora*", "*[spmm_sum-*]", "benchmarks/test_spmm.py::*", "*::test_spmm_su?[*", "*")
    others = ("*[s]pmm*", "*test_spmm_sum[spmm]*", "spmm", "*SPMM*")
    for pattern in (*matching, *others):
        found = settings(f"[[rules]]\nbenchmarks = {pattern!r}\neffect = 0.1")
        assert (found.rule("effect", ID) is not None) == (pattern in matching), pattern


def test_what_was_in_force_is_kept():
    text = f"effect = 0.05\n{RULE}effect = 0.1\n"
    found = settings(f'{text}[[rules]]\nbenchmarks = "*"\nignore = "why"')
    kept = codec.encode(found)
    assert (kept["name"], kept["defaults"]) == ("gnnbench.toml", {"effect": 0.05})
    assert [rule["number"] for rule in kept["rules"]] == [1, 2]
    again = codec.decode(kept, Settings)
    assert again.reason(again.rule("ignore", ID)) == "why (rule 2 of gnnbench.toml)"
    with pytest.raises(ValueError, match=r"\$.rules\[0\].effect: "):
        codec.decode({**kept, "rules": [{**kept["rules"][0], "effect": "3%"}]}, Settings)


def test_for_each_key_the_last_rule_that_matches_wins():
    found = settings(
        f"{RULE}effect = 0.1\nmax_time = '1 s'\n"
        "[[rules]]\nbenchmarks = '*spmm*'\neffect = 0.2\n"
        "[[rules]]\nbenchmarks = '*scatter*'\neffect = 0.3\n"
    )
    assert found.value("effect", ID) == 0.2
    assert found.value("max_time_seconds", ID) == 1.0
    assert found.value("ignore", ID) is None
    assert found.without_effects().value("effect", ID) is None
    assert found.without_effects().value("max_time_seconds", ID) == 1.0


def test_lists_are_arrays_or_texts_with_commas_and_a_folder_that_is_not_here_matters_only_if_used():
    found = settings(
        "platform = ['pyg', 'torch']\ndtype = 'float32,float64'\nhidden = [16, 32]\nstrict = true\n"
        "data = 'nowhere'\ndevice = 'gpu'"
    )
    lists = {"platform": ["pyg", "torch"], "dtype": ["float32", "float64"], "hidden": ["16", "32"]}
    assert from_settings(found) == {**lists, "strict": True, "data": "nowhere", "device": "gpu"}


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    for name in ("data", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "gnnbench.toml").write_text("data = 'data'\ndataset = 'cora, graph.mtx'\n")
    (tmp_path / "graph.mtx").touch()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert from_settings(find(tmp_path)) == {
        "data": str(tmp_path / "data"),
        "dataset": ["cora", str(tmp_path / "graph.mtx")],
    }
