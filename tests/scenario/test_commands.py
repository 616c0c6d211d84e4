"""`mqlab run`, `view` and `explore` as they are typed, also over what somebody else wrote."""

import json
import shutil
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.kernel.options import Programs, written_fields
from mqlab.registry import SYSTEMS
from mqlab.scenario.language import COMMANDS

SCENARIOS = Path(__file__).parents[2] / "datasets" / "scenarios" / "kafka"


@pytest.fixture
def scenario(tmp_path):
    copy = tmp_path / "basic-commit.scn"
    shutil.copy(SCENARIOS / "basic-commit.scn", copy)
    return copy


def test_run_tells_equal_from_different_and_rewrites(scenario, capsys):
    assert main(["run", str(scenario)]) == 0
    assert "1 of 1 scenarios as expected" in capsys.readouterr().out
    text = scenario.read_text("utf-8")
    scenario.write_text(text.replace("CompleteCommit", "CompleteAbort"), "utf-8")
    assert main(["run", str(scenario)]) == 1
    said = capsys.readouterr().out
    assert "-coordinator ▮ disk         CompleteAbort" in said
    assert "+coordinator ▮ disk         CompleteCommit" in said
    assert f"if the change is meant: mqlab run --rewrite {scenario}" in said
    assert main(["run", "--rewrite", str(scenario)]) == 0
    assert scenario.read_text("utf-8") == text


def test_a_new_scenario_is_told_and_can_be_kept(scenario, capsys):
    scenario.write_text("# New.\nsystem kafka\nkill coordinator\n", "utf-8")
    assert main(["run", str(scenario)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("coordinator ✗              killed\n")
    assert (
        f"new        {scenario}\nnext, to keep this narration: mqlab run --rewrite {scenario}"
        in said
    )
    assert said.endswith("0 of 1 scenarios as expected, 1 new\n")
    assert main(["run", "--lang", "zh", str(scenario)]) == 0
    assert "进程被杀" in capsys.readouterr().out
    assert main(["run", "--rewrite", str(scenario)]) == 0
    assert capsys.readouterr().out.endswith("1 of 1 scenarios as expected\n")
    assert main(["run", str(scenario)]) == 0
    told = "New\n   1  broker (coordinator) dies. What it had only in memory is gone.\n\n"
    assert (
        capsys.readouterr().out == f"{told}as expected  {scenario}\n1 of 1 scenarios as expected\n"
    )


def test_a_line_that_waited_for_what_came_is_not(scenario, capsys):
    lines = "hold app→coordinator ⇒InitProducerId\nrun app: init"
    scenario.write_text(f"system kafka partitions=1\n{lines}\n", "utf-8")
    assert main(["run", str(scenario)]) == 0
    assert capsys.readouterr().err == ""


def test_the_system_says_the_language_unless_one_is_asked_for(scenario, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    page = scenario.with_suffix(".html")
    for words, lang in (((), "zh"), (("--lang", "en"), "en")):
        assert main(["view", str(scenario), "-o", str(page), *words]) == 0
        assert f'<html lang="{lang}"' in page.read_text("utf-8")
    capsys.readouterr()
    assert main(["matrix"]) == 0
    assert "写丢失" in capsys.readouterr().out
    assert main(["run", str(scenario)]) == 0, "a file's narration is compared in its own language"


@pytest.mark.parametrize("damage", ["facts", "start", "changes"])
def test_a_damaged_trace_is_refused_in_one_line(damage, scenario, tmp_path, capsys):
    data, page = tmp_path / "run.json", tmp_path / "page.html"
    assert main(["view", str(scenario), "-o", str(data)]) == 0
    plain = json.loads(data.read_text("utf-8"))
    del plain[damage]
    data.write_text(json.dumps(plain), "utf-8")
    capsys.readouterr()
    assert main(["view", str(data), "-o", str(page)]) == 2
    said = capsys.readouterr().err
    assert (
        "is not a trace: " in said
        and "mqlab view -o run.json" in said
        and len(said.splitlines()) == 1
    )


def test_a_scenario_prints_no_escape_sequence(scenario, capsys):
    source = "# s\nsystem kafka partitions=1\nrun app: init, begin, send orders-0 \x1b[2Ja\u202eb"
    scenario.write_text(f"{source}\n---\napp \x1b[31m\n", "utf-8")
    assert main(["run", "--print", str(scenario)]) == 0
    assert main(["run", str(scenario)]) == 1
    said = capsys.readouterr().out
    assert "\x1b" not in said and "\u202e" not in said
    assert "\\x1b[2Ja\\u202eb" in said


def test_run_explains_each_step(scenario, capsys):
    assert main(["run", "--explain", str(scenario)]) == 0
    said = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(said) if "PrepareCommit" in line)
    assert said[at + 1].startswith("        The decision: ")
    assert main(["run", "--explain", "--lang", "zh", str(scenario)]) == 0
    assert "决定" in capsys.readouterr().out


@pytest.mark.parametrize("system", ["kafka", "rocketmq", "pulsar", "two_phase", "outbox"])
def test_a_first_file_runs_and_names_every_word(system, tmp_path, capsys):
    file = tmp_path / "first.scn"
    assert main(["scenario", "new", system, str(file)]) == 0
    assert main(["run", str(file)]) == 0
    text = file.read_text("utf-8")
    made = SYSTEMS[system]()
    words = [usage.text for usage in made.usages().by_verb.values()]
    words += [usage for one in COMMANDS.values() for usage in one.usages]
    words += [f"{field.name}=" for field in written_fields(type(made)) if field.kind != Programs]
    words += made.safeguards()
    assert [word for word in words if f"#   {word}" not in text] == []
    capsys.readouterr()
    assert main(["scenario", "new", system, str(file)]) == 2
    assert "File exists; name a new file" in capsys.readouterr().err


def test_a_first_file_of_nothing(capsys):
    assert main(["scenario", "new", "kafak"]) == 2
    assert "no system 'kafak'; did you mean kafka?" in capsys.readouterr().err
