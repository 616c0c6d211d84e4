"""The glossary: both languages, no term twice, found by either."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqlab.kernel import Text
from mqlab.lessons.atlas.glossary import TERMS, Glossary, Term, glossary
from mqlab.registry.searches import searches_of
from tests.registry.renew import BROKERS

ROOT = Path(__file__).parents[3]

WANTED = (
    "事务消息 半消息 反查 幂等 精确一次 事务协调者 控制消息 柔性事务 最终一致性 高水位 至少一次 至多一次 "
    "两阶段提交 脏读 死信队列 副本 批次 序列号 订阅 游标 账本 快照 检查点 水位 屏障"
)


def test_no_term_twice_and_both_languages() -> None:
    assert len(TERMS) >= 30
    for side in ("en", "zh"):
        names = [getattr(term, side).casefold() for term in TERMS]
        assert len(names) == len(set(names))
    for term in TERMS:
        # TCC's phases and CAP are written in Latin letters in Chinese too.
        assert re.search(r"[a-z]", term.en, re.I) and term.zh
        assert re.search(r"[一-鿿]", term.zh) or term.en == "TCC", term


def test_each_is_explained_in_one_or_two_short_sentences() -> None:
    for term in TERMS:
        assert term.means.en.endswith("."), term
        assert 20 <= len(term.means.en) <= 170, (len(term.means.en), term)
        assert re.fullmatch(r".*[一-鿿].*。", term.means.zh), term


def test_the_words_of_the_course_are_there() -> None:
    everything = " ".join(term.zh for term in TERMS)
    for word in WANTED.split():
        assert word in everything, word


def test_words_that_labs_use_without_an_explanation_are_there() -> None:
    words = "leader replica batch subscription cursor ledger snapshot saga XA checkpoint watermark"
    phrases = ("producer id", "sequence number", "three-phase commit, 3PC", "barrier", "generation")
    assert {*words.split(), *phrases} <= {term.en for term in TERMS}


def test_lso_is_spelled_out_right() -> None:
    (term,) = glossary("LSO").terms
    assert term.en.startswith("last stable offset")
    assert "Log Stable Offset" in term.means.en


def test_terms_are_found_in_either_language() -> None:
    assert glossary("半消息").terms == glossary("half message").terms
    assert len(glossary()) == len(TERMS)
    with pytest.raises(ValueError, match="no term holds rabbit"):
        glossary("rabbit")


def test_the_table_is_a_table_whatever_is_in_it() -> None:
    odd = Glossary((Term("a|b", "<b>", Text("x & y.")),))
    assert [">a|b</td>" in odd.html(), ">&lt;b&gt;</td>" in odd.html()] == [True, True]
    assert ">x &amp; y.</td>" in odd.html()
    assert odd.html().count('<td style="text-align:left">') == 3
    assert repr(glossary("lso")).count("\n") == 2


def test_all_of_it_is_behind_a_fold_and_a_few_terms_are_not() -> None:
    assert glossary().html().startswith("<details>")
    assert glossary().html().count("<tr>") == len(TERMS) + 1
    assert "<details>" not in glossary("lso").html()


def test_every_anomaly_of_lab_00_is_a_term_and_none_is_missing_there() -> None:
    """Lab 00's list is the vocabulary of all labs."""
    listed = anomalies()
    assert len(listed) == 11
    names = {term.en for term in TERMS}
    assert set(listed) <= names


def test_what_the_explorer_calls_a_broken_promise_is_on_the_list() -> None:
    listed = anomalies()
    for case in (case for broker in BROKERS for case in searches_of(broker).cases):
        name = str(case.anomaly)
        assert name.startswith(tuple(listed)), name


def anomalies() -> list[str]:
    """The first column of lab 00's table of what goes wrong."""
    text = (ROOT / "labs" / "source" / "00-start-here.py").read_text("utf-8")
    table = text.partition("# | name | what happens |")[2].partition("\n#\n")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("# | ")]
    return [name.strip("*") for name in rows]
