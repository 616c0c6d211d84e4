"""Blocks of a scenario file: each command stands above what it caused."""

from pathlib import Path

import pytest

from mqlab.lessons.registry import SYSTEMS
from mqlab.scenario import load, parse_script, rewrite, write_in_blocks
from mqlab.scenario.golden import split_blocks
from mqlab.scenario.language import ScenarioError

COMMANDS = """\
# A story.
system kafka partitions=1
run app: init
at 5
run app: begin"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "story.scn"
    path.write_text(write_in_blocks(COMMANDS, SYSTEMS), "utf-8")
    return path


def test_each_command_stands_above_what_it_caused(file):
    first, second = split_blocks(file.read_text("utf-8"))
    assert first.source.endswith("run app: init")
    assert first.narration.splitlines()[0].endswith("InitProducerId order-service")
    assert first.narration.splitlines()[-1].endswith("init: ok")
    assert second.source == "at 5\nrun app: begin"
    assert [line.split("☞")[1].strip() for line in second.narration.splitlines()] == ["begin: ok"]
    assert load(file, SYSTEMS).equal


def test_blocks_say_the_same_as_one_block(file):
    one = f"{COMMANDS}\n---\n{load(file, SYSTEMS).run.narrate()}\n"
    file.write_text(one, "utf-8")
    golden = load(file, SYSTEMS)
    assert golden.equal
    assert len(golden.blocks) == 1


def test_a_fact_in_the_wrong_block_is_a_difference(file):
    text = file.read_text("utf-8")
    ok = next(line for line in text.splitlines() if line.endswith("begin: ok"))
    moved = text.replace(ok + "\n", "").replace("init: ok\n", f"init: ok\n{ok}\n")
    file.write_text(moved, "utf-8")
    golden = load(file, SYSTEMS)
    assert not golden.equal
    assert f"-{ok}" in golden.diff()
    assert f"+{ok}" in golden.diff()


def test_rewriting_keeps_the_authors_blocks_and_comments(file):
    text = file.read_text("utf-8").replace("at 5", "# Later.\nat 5")
    file.write_text(text.replace("init: ok", "init: perhaps"), "utf-8")
    golden = load(file, SYSTEMS)
    assert not golden.equal
    rewrite(golden)
    assert file.read_text("utf-8") == text


def test_rewriting_joins_no_blocks_and_splits_none(file):
    one = f"{COMMANDS}\n---\nnothing of this is so\n"
    file.write_text(one, "utf-8")
    rewrite(load(file, SYSTEMS))
    assert len(split_blocks(file.read_text("utf-8"))) == 1
    assert load(file, SYSTEMS).equal


def test_commands_without_effect_at_the_end_have_a_block_of_their_own():
    text = write_in_blocks(COMMANDS + "\nheal", SYSTEMS)
    assert text.endswith("begin: ok\n\nheal\n---\n")
    assert len(parse_script(text).lines) == 4


def test_an_error_names_the_line_of_the_file(file):
    text = file.read_text("utf-8").replace("run app: begin", "run app: dance")
    file.write_text(text, "utf-8")
    number = text.splitlines().index("run app: dance") + 1
    with pytest.raises(ScenarioError, match=f"line {number}: 'dance' is no call"):
        load(file, SYSTEMS)
