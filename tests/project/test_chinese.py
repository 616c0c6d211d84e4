"""All that a learner reads is there in Chinese, and says the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
import pytest

from mqlab.explore.verdict import name_claim
from mqlab.kernel import speaking, translate
from mqlab.lessons import lab13
from mqlab.lessons.course.notebooks import labs_in, translated_copy
from mqlab.registry import system
from mqlab.registry.searches import searches_of
from mqlab.scenario import golden, parse_script

from .catalogue import SILENT, SPEAKS, TABLES, read_catalogue
from .chinese import CJK, compare
from .sources import list_committed, relative

ROOT = Path(__file__).parents[2]
LABS = labs_in(ROOT / "labs")
SCENARIOS = ROOT / "datasets" / "scenarios"
#: two words of English in a row, or a label
SAID = re.compile(r"\b[a-z]{2,} [a-z]{2,}|\b[a-z]{2,} *:")


def test_a_copy_in_chinese_speaks_it_before_anything_is_drawn():
    for lab in LABS:
        cells = translated_copy(lab, "zh").cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        assert 'speak("zh")' in code[0] and not any('speak("' in one for one in code[1:]), lab.name
        assert code[1:] == [
            cell.source for cell in translated_copy(lab, "en").cells if cell.cell_type == "code"
        ]


@pytest.mark.parametrize("lab", LABS, ids=[lab.name[:2] for lab in LABS])
def test_a_cell_prints_no_words_in_english_alone(lab):
    """`say` tells a label in both languages, and `columns` what is in a table."""
    cells = jupytext.reads(lab.source.read_text("utf-8"), fmt="py:percent").cells
    alone = []
    for cell in cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(cell.source)):
                match node:
                    case ast.Call(ast.Name("print"), printed):
                        alone += [text for one in printed for text in _list_texts(one)]
    assert [text for text in alone if SAID.search(text)] == []


def _list_texts(node: ast.AST) -> Iterator[str]:
    """The texts in an expression, without what a function gets: `say` has it in both languages."""
    match node:
        case ast.Constant(str() as text):
            yield text
        case ast.Call(ast.Name()):
            pass
        case _:
            for one in ast.iter_child_nodes(node):
                yield from _list_texts(one)


def test_each_head_of_a_table_has_its_chinese():
    paths = [*(ROOT / "labs" / "source").glob("*.py"), *(ROOT / "mqlab" / "lessons").rglob("*.py")]
    heads: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("table"), [ast.Constant(str() as head), *_]):
                    heads |= set(map(str.strip, head.split("|")))
    assert len(heads) > 50
    assert [one for one in sorted(heads) if SAID.search(one) and not translate(one, "cell")] == []


def test_each_story_is_told_in_chinese():
    """Its title, what stands below the title, and what is told of each of its parts."""
    told = []
    for path in sorted(SCENARIOS.rglob("*.scn")):
        text = path.read_text("utf-8")
        script = parse_script(text)
        told += [script.title, script.story]
        for comments, by_hand in map(golden._read_comments, golden.split_blocks(text)):
            told += comments if by_hand else []
    assert len(told) > 1_000
    assert [one.en for one in told if one.en and not one.zh] == []


@pytest.mark.parametrize("folder", ["lessons"])
def test_nothing_is_said_in_english_alone(folder):
    alone = []
    for path in sorted((ROOT / "mqlab" / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("Text"), [ast.Constant() | ast.JoinedStr() as said], []):
                    if SAID.search(ast.unparse(said)):
                        alone.append(f"{path.name}:{node.lineno}: {ast.unparse(said)[:60]}")
    assert alone == []


def test_no_error_is_put_together_in_english_alone():
    """`UserError("no file {}", path)` is looked up in the catalogue; an f-string cannot be."""
    alone = []
    paths = (ROOT / "mqlab").rglob("*.py")
    for path in (one for one in paths if not relative(one).startswith(SILENT)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name(name), [ast.JoinedStr() as said, *_]) if name in SPEAKS:
                    if SAID.search(ast.unparse(said)):
                        alone.append(f"{path.name}:{node.lineno}: {ast.unparse(said)[:60]}")
    assert alone == []


def test_a_marker_has_one_name_in_chinese():
    """The glossary's; 标记 is a verb, in the outbox and of half messages."""
    told = re.compile(r"(mqlab|datasets/scenarios)/(kafka|pulsar)/")
    known = [one for domain in TABLES for one in read_catalogue(domain)]
    said = [one for one in known if any(told.match(name) for name, _ in one.locations)]
    assert len(said) > 500
    assert [one.id for one in said if "标记" in one.string] == []


def test_an_answer_to_a_request_has_one_name_in_chinese():
    """It is 应答; a person, and the listener that is asked in a check, gives a 回答."""
    said = [path for path in list_committed() if path.suffix in (".py", ".po", ".md")]
    here = Path(__file__)
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()[:60]}"
        for path in said
        for line in path.read_text("utf-8").splitlines()
        if path != here and re.search("答复|响应", line)
    ]
    assert len(said) > 500 and wrong == []


#: a word → the one that the glossary has for the same
ONE_TERM = {
    "首领(?!副本）)": "leader", "遭到|已遭": "被", "短路线": "快速路线", "恰好一次(?!是)": "精确一次",
    "[只读]*已提交数据的读者": "read_committed 消费者", "停放|搁置": "转存",
    "(?<!应用的)替身": "另一个实例", "转发进程": "中继", "指示灯": "不变式", "协调器": "协调者",
    "宕机|死掉|被 kill(?! -9)": "崩溃", "序号": "序列号", "记账方": "记账服务",
    "账簿": "账本", "画面": "图", "没有音讯": "没有回音", "定时器.{0,4}到时(?!候)": "到期",
    "打开着的?事务|存活的事务": "未结束的事务", "读取者": "读者", "(一个|个|等) slave": "从节点",
}  # fmt: skip


def test_a_term_has_one_name_in_chinese():
    wrong = [
        f"{one.id[:60]}: {term}, not {match[0]}"
        for domain in TABLES
        for one in read_catalogue(domain)
        for pattern, term in ONE_TERM.items()
        if (match := re.search(pattern, str(one.string)))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["kafka", "rocketmq", "pulsar", "patterns"])
def test_each_claim_that_a_search_names_has_a_chinese_name(name):
    """Of each model that `mqlab explore NAME` searches; the name itself stays beside it."""
    searches = searches_of(name)
    models = [system(one.line) for one in (*searches.systems, *searches.cases)]
    names = {one.name for model in models for one in model.properties()}
    assert names
    assert [one for one in sorted(names) if not name_claim(one).zh] == []


CODE = re.compile(r"`([^`\n]+)`")


def test_what_is_code_is_the_same_in_chinese():
    wrong = [
        code
        for domain in TABLES
        for one in read_catalogue(domain)
        for code in CODE.findall(re.sub(r"{\d}", "{}", one.string))
        if code.removesuffix(" LANG=zh") not in CODE.findall(re.sub(r"{\d}", "{}", one.id))
    ]
    assert wrong == []


#: 会计 as a word was replaced inside 会 + 计入; and a word three times in a row
SLIPS = re.compile(rf"财务[入数两]|([{CJK}]{{2,4}})\1\1")


def test_no_word_was_replaced_inside_others():
    """财务 is a department: it is not in 会计入 (will be counted) nor in 会计数 (will count)."""
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in list_committed()
        if path.suffix in (".py", ".po", ".md") and path != Path(__file__)
        for match in SLIPS.finditer(path.read_text("utf-8"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text", ["580538 财务入几次？", "都财务数", "没有什么财务两次", "假设假设假设"]
)
def test_the_slips_are_found(text):
    assert SLIPS.search(text)
    assert not SLIPS.search("会计入两次，财务汇总，一步一步")


@pytest.mark.parametrize("name", ["PAGE", "ROUND_PAGE", "ACKS_PAGE"])
def test_a_page_for_those_who_write_a_role_says_the_same_in_chinese(name):
    page = getattr(lab13, name)
    assert list(compare(page.en, page.zh)) == []
    with speaking("zh"):
        assert str(page) == page.zh


DOCUMENTS = [path for path in list_committed() if path.name.endswith(".zh.md")]
#: what a program prints, and a document quotes as it is
QUOTED = re.compile("“[^”]*[a-z]{2,} [a-z]{2,}.*?”(?= )")


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_a_document_says_the_same_in_chinese(path):
    twin = path.with_name(path.name.replace(".zh.md", ".md"))
    told = [one.read_text("utf-8").replace(".zh.md", ".md") for one in (twin, path)]
    english, chinese = (QUOTED.sub("“…”", one) for one in told)
    assert list(compare(english, chinese)) == []
    assert set(QUOTED.findall(told[1])) <= set(QUOTED.findall(told[0]))


def test_each_document_for_readers_has_its_twin():
    assert {str(path.relative_to(ROOT)) for path in DOCUMENTS} >= {
        "README.zh.md",
        "datasets/scenarios/README.zh.md",
        "labs/choose/choose.zh.md",
        "labs/instructor/README.zh.md",
        "labs/instructor/hub.zh.md",
        "labs/site/commands.zh.md",
        "labs/site/picture.zh.md",
        "mqlab/check/README.zh.md",
    }
