"""Tables in Chinese: their heads are known, numbers and code are the same in both languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqlab.kernel import Words, speaking, translate
from mqlab.registry.tables import CELLS, columns, in_words
from tests.project.catalogue import read_catalogue
from tests.project.chinese import CJK, list_numbers

ROOT = Path(__file__).parents[2]
#: heads that are names, in every language
NAMES = {
    "Kafka, client", "body", "broker", "commit", "commit log @", "find-hanging", "hashCode", "hw",
    "lso", "open_since", "queue @", "transactional.id",
}  # fmt: skip


def list_heads(source: str) -> Iterator[str]:
    """The heads that a program gives to `columns` and `table` as literals."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name("columns"), [ast.List([ast.Tuple(names), *_])]):
                yield from (one.value for one in names if isinstance(one, ast.Constant))
            case ast.Call(ast.Name("table"), [ast.Constant(str(head)), *_]):
                yield from map(str.strip, head.split("|"))


def test_each_head_has_its_chinese() -> None:
    heads = {
        head
        for folder in ("mqlab/lessons", "mqlab/registry", "labs/source")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for head in list_heads(path.read_text("utf-8"))
        if re.search("[a-z]{2}", head)
    }
    assert len(heads) > 80
    assert sorted(head for head in heads - NAMES if not translate(head, "cell")) == []


def test_both_languages_say_the_same_numbers() -> None:
    cells = [one for one in read_catalogue("mqlab") if one.context == "cell"]
    assert len(cells) > 300
    for cell in cells:
        assert re.search(f"[{CJK}]", cell.string), cell.id
        assert set(list_numbers(cell.id)) >= set(list_numbers(cell.string)), cell.id


@pytest.mark.parametrize("cell", CELLS, ids=[cell.en for cell in CELLS])
def test_a_cell_that_is_made_of_others_is_told(cell: Words) -> None:
    some = [str(n) for n in range(cell.en.count("{}"))]
    with speaking("zh"):
        assert in_words(cell.en.format(*some)) == translate(cell.en).format(*some)


def test_a_table_is_told_in_the_language_that_is_spoken() -> None:
    rows = [("what happens", "in choices"), ("580539 lost", "7"), ("7 choices", "7")]
    with speaking("zh"):
        assert columns(rows).splitlines() == [
            "发生了什么   步数",
            "-----------  ----",
            "580539 丢失  7",
            "7 步         7",
        ]
    assert columns(rows).splitlines()[2] == "580539 lost   7"
