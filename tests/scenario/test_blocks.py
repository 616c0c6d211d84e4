"""Blocks of a scenario file: each command stands above what it caused."""

from pathlib import Path

import pytest

from mqlab.scenario import load, parse_script, rewrite, write_in_blocks
from mqlab.scenario.golden import split_blocks
from mqlab.scenario.language import ScenarioError
from tests.kernel.toy import Toy

SYSTEMS = {"toy": Toy}
COMMANDS = """\
# A story.
system toy
run app: keep a
at 5
kill app"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "story.scn"
    path.write_text(write_in_blocks(COMMANDS, SYSTEMS), "utf-8")
    return path


def test_each_command_stands_above_what_it_caused(file):
    first, second = split_blocks(file.read_text("utf-8"))
    assert first.source == "# A story.\nsystem toy\nrun app: keep a"
    assert first.narration.splitlines()[0] == "app    → store   keep a"
    assert first.narration.splitlines()[-1] == "mirror ▮ disk    flushed"
    assert (second.source, second.narration) == ("at 5\nkill app", "app    ✗         killed")
    assert load(file, SYSTEMS).equal


def test_blocks_say_the_same_as_one_block(file):
    one = f"{COMMANDS}\n---\n{load(file, SYSTEMS).run.narrate()}\n"
    file.write_text(one, "utf-8")
    golden = load(file, SYSTEMS)
    assert golden.equal
    assert len(golden.blocks) == 1


def test_a_fact_in_the_wrong_block_is_a_difference(file):
    text = file.read_text("utf-8")
    killed = next(line for line in text.splitlines() if line.endswith("killed"))
    moved = text.replace(killed + "\n", "").replace("flushed\n", f"flushed\n{killed}\n")
    file.write_text(moved, "utf-8")
    golden = load(file, SYSTEMS)
    assert not golden.equal
    assert f"-{killed}" in golden.diff()
    assert f"+{killed}" in golden.diff()


def test_rewriting_keeps_the_authors_blocks_and_comments(file):
    text = file.read_text("utf-8").replace("at 5", "# Later.\nat 5")
    file.write_text(text.replace("kept @0", "kept @7"), "utf-8")
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
    assert text.endswith("killed\n\nheal\n---\n")
    assert len(parse_script(text).lines) == 4


def test_an_error_names_the_line_of_the_file(file):
    text = file.read_text("utf-8").replace("kill app", "run app: dance")
    file.write_text(text, "utf-8")
    number = text.splitlines().index("run app: dance") + 1
    with pytest.raises(ScenarioError, match=f"line {number}: 'dance' is not a call"):
        load(file, SYSTEMS)


def captions(file, text):
    file.write_text(text, "utf-8")
    return [(caption.end, caption.text.en) for caption in load(file, SYSTEMS).captions]


def test_a_blocks_comments_are_its_caption_and_without_any_its_commands(file):
    text = file.read_text("utf-8")
    kept = len(load(file, SYSTEMS).run.facts) - 1
    assert captions(file, text) == [(kept, "run app: keep a"), (kept + 1, "at 5\nkill app")]
    told = text.replace("run app", "# One value\n# is kept.\nrun app").replace(
        "at 5", "# Dead.\nat 5"
    )
    assert captions(file, told) == [(kept, "One value is kept."), (kept + 1, "Dead.")]


def test_a_file_of_one_block_has_a_caption_for_each_command_that_causes_something(file):
    kept = len(load(file, SYSTEMS).run.facts) - 1
    expected = [(kept, "run app: keep a"), (kept + 1, "at 5\nkill app")]
    assert captions(file, COMMANDS) == expected
    assert captions(file, f"{COMMANDS}\n---\nwhatever\n") == expected
    assert captions(file, f"{COMMANDS}\nheal\n") == expected, "heal causes nothing"


def test_what_causes_nothing_yet_is_told_with_what_comes_of_it(file):
    first, second = "# Two things.\nat 5\n---\n\n", "kill app\n---\n"
    assert captions(file, f"system toy\n{first}{second}") == [(1, "Two things.\nkill app")]
