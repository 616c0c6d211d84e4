"""The page that explains scenarios: every example on it does what the page says."""

import re
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.registry import SYSTEMS, scenario
from mqlab.scenario import load
from mqlab.scenario.language import COMMANDS

PAGE = Path(__file__).parents[2] / "datasets" / "scenarios" / "README.md"
TEXT = PAGE.read_text("utf-8")
EXAMPLES = re.findall(r"(?ms)^```scn\n(.*?)^```$", TEXT)


def title(example):
    return example.partition("\n")[0]


@pytest.mark.parametrize("example", EXAMPLES, ids=title)
def test_an_example_runs_and_each_of_its_lines_acts(example, tmp_path, capsys):
    file = tmp_path / "example.scn"
    file.write_text(example, "utf-8")
    golden = load(file, SYSTEMS)
    assert golden.run.facts and golden.script.title and golden.done.idle == ()
    assert main(["run", str(file)]) == 0
    assert f"new        {file}" in capsys.readouterr().out
    assert main(["run", "--rewrite", str(file)]) == 0
    assert load(file, SYSTEMS).equal


def facts(words):
    """What the example with these words in its title narrates."""
    (example,) = (e for e in EXAMPLES if words in title(e))
    return [fact.line() for fact in scenario(example).facts]


@pytest.mark.parametrize(
    ("example", "last"),
    [
        ("A transaction commits", "CompleteCommit"),
        ("given what is not decided", "read_committed: ok a"),
        ("one of its two markers", "CompleteCommit"),
        ("The answer to EndTxn", "commit: ok"),
    ],
)
def test_an_example_ends_as_its_title_says(example, last):
    assert any(line.endswith(last) for line in facts(example)[-3:]), facts(example)[-3:]


def test_the_blocks_of_the_page_are_scenes_with_captions(tmp_path):
    (example,) = (e for e in EXAMPLES if "---" in e)
    (tmp_path / "example.scn").write_text(example, "utf-8")
    golden = load(tmp_path / "example.scn", SYSTEMS)
    assert [caption.text.en for caption in golden.captions] == [
        "Nobody has decided anything yet.",
        "Its memory is gone; what it wrote is there.",
        "So the transaction can still commit.",
    ]
    assert golden.captions[-1].end == len(golden.run.facts)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"run", "do"}))
def test_a_command_is_explained_in_the_words_of_its_table(name, lang):
    """The same words are in a first file (`mqlab scenario new`) and in errors."""
    page = PAGE if lang == "en" else PAGE.with_suffix(".zh.md")
    usages = [usage for usage in COMMANDS[name].usages if "answers=" not in usage]
    usage = {"en": " or ", "zh": " 或 "}[lang].join(f"`{one}`" for one in usages)
    row = f"| {usage.replace('|', chr(92) + '|')} | {COMMANDS[name].does.of(lang)} |"
    assert row in page.read_text("utf-8").splitlines()


def test_the_page_explains_every_command():
    code = " ".join(re.findall(r"`[^`\n]+`|(?ms:^```scn\n.*?^```$)", TEXT))
    assert [c for c in (*COMMANDS, "system", "off") if not re.search(rf"\b{c}\b", code)] == []


def test_the_help_names_the_page(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert "datasets/scenarios/README.md" in capsys.readouterr().out
