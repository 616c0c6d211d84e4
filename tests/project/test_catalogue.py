"""The catalogues of Chinese hold what is said, all of it, and nothing else."""

from __future__ import annotations

import itertools
import shutil
import string
from collections.abc import Iterable, Iterator
from functools import cache

import pytest
from babel.messages import Catalog
from mqlab_widgets.views.common import GIVEN, say_words

from mqlab.kernel import Trace, Words, catalogue, speaking, tr, translate
from mqlab.places import SCENARIOS
from mqlab.registry import SYSTEMS
from mqlab.scenario import load

from .catalogue import (
    ENGLISH,
    LOOKED_UP,
    TABLES,
    WORD,
    collect,
    find_verbs,
    list_constants,
    list_untranslated,
    read_catalogue,
)
from .chinese import ENGLISH as ENGLISH_SENTENCE
from .chinese import compare, without_code

DOMAINS = sorted(TABLES)


@pytest.fixture(params=DOMAINS)
def domain(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_all_that_is_said_has_its_chinese_and_nothing_else_has(domain: str) -> None:
    said, known = collect(domain), read_catalogue(domain)
    assert len(said) > 150
    there = {(str(one.id), one.context or "") for one in known if one.id}
    assert sorted(said.keys() - there) == [], "not in the catalogue: run `make po`"
    gone = {one for one in there - said.keys() if one[1] not in LOOKED_UP}
    assert sorted(gone) == [], "no longer said: run `make po`"
    assert list_untranslated(known) == [], "without Chinese, or with that of an older English"
    assert not known.obsolete
    assert "ADDRESS" not in str(known.mime_headers), "whom Babel does not know"


def test_labs_stories_and_questions_say_the_same_in_chinese() -> None:
    """What has no sentence, as a line of code or the name of a test, may stand as it is."""
    known = [*read_catalogue("labs")]
    for one in read_catalogue("mqlab"):
        known += [one] if any("/questions/" in name for name, _ in one.locations) else []
    told = [one for one in known if one.id and ENGLISH_SENTENCE.search(without_code(one.id))]
    assert len(told) > 1_500
    assert [(o.id, line) for o in told for line in compare(o.id, o.string)] == []


#: scenarios that have most kinds of messages, calls, records and timers of a broker
NARRATED = {
    "kafka": ("torn-read", "group-rebalance", "coordinator-failover-prepared", "offsets-legacy"),
    "rocketmq": ("around-a-pending-half", "consumer-always-fails", "power-cut"),
    "pulsar": ("ack-and-commit", "named-in-the-command-only", "kill-while-committing"),
    "patterns": (
        "outbox-one-order", "barriers-sink-killed", "two-phase-refused", "three-phase-takeover",
    ),
}  # fmt: skip


def list_english(trace: Trace, given: Iterable[str]) -> Iterator[str]:
    """The ordinary English words of a narration and its pictures in Chinese. Not: what the commands
    (`given`) and the picture name, verbs of calls, and terms that are English in Chinese too."""
    known = {word for text in given for word in WORD.findall(text)} | list_terms()
    known.update(*(find_verbs(f"mqlab/{broker}") for broker in NARRATED))
    for snapshot in trace.snapshots:
        known.update(*(WORD.findall(one.name) for one in (*snapshot.lanes, *snapshot.logs)))
        for table in snapshot.tables:
            places = [at for at, column in enumerate(table.columns) if column in GIVEN]
            known.update(
                word for row in table.rows for at in places for word in WORD.findall(row[at])
            )
    for fact in trace:
        for text in (fact.text, fact.label):
            yield from (
                f"{w}: {text.of('zh')}" for w in WORD.findall(text.of("zh")) if w not in known
            )
    for snapshot in say_words(trace, "zh").snapshots:
        cells = [cell for table in snapshot.tables for row in table.rows for cell in row]
        cells += [flag.name for log in snapshot.logs for flag in log.frontiers]
        cells += [state.name for graph in snapshot.graphs for state in graph.states]
        yield from (cell for cell in cells for w in WORD.findall(cell) if w not in known)


@cache
def list_terms() -> frozenset[str]:
    """The words in small letters that Chinese lines and terms keep: leader, epoch, broker, op …"""
    lines = [one for one in read_catalogue("mqlab") if one.context in ("label", "word", "term")]
    return frozenset(word for one in lines for word in WORD.findall(str(one.string)))


@pytest.mark.parametrize("broker", NARRATED)
def test_a_narration_in_chinese_has_no_english_words_but_names(broker: str) -> None:
    for name in NARRATED[broker]:
        played = load(SCENARIOS / broker / f"{name}.scn", SYSTEMS)
        commands = [line for block in played.blocks for line in block.source.splitlines()]
        given = [line for line in commands if not line.lstrip().startswith("#")]
        assert sorted(set(list_english(played.run.trace, given))) == [], name


def test_a_line_is_said_otherwise_in_chinese() -> None:
    """Else English in the catalogue would pass for a term."""
    for one in read_catalogue("mqlab"):
        assert one.context not in ("label", "word") or not str(one.string).isascii(), one.id


#: cells that a program puts together
COMPOSED = {
    "FindCoordinator (any broker)", "a row without a message, set aside",
    "no row, no message, set aside", "ok nothing", "counted once, none lost",
    "the worker ends with abort", "the worker ends with commit",
    "a transaction makes every write in it durable, ended or not",
    "count first, then say so", "say so first, or it comes twice",
    "only in place of init", "commit timed out, call it again", "abort timed out, call it again",
}  # fmt: skip


def test_what_is_looked_up_stands_in_a_source(domain: str) -> None:
    """A cell that some part of the program makes has its words there."""
    alone = [
        one.id for one in read_catalogue(domain)
        if one.context in ("cell", "word", "head", "belief", "trial")
        and one.id not in list_constants() | COMPOSED
    ]  # fmt: skip
    assert alone == []


def list_fields(template: str) -> list[str]:
    """The fields of a template, with how each is written: `n:,`; without a name, its place."""
    place = itertools.count()
    return sorted(
        f"{name or next(place)}!{how or ''}:{form}"
        for _, name, form, how in string.Formatter().parse(template)
        if name is not None and name not in ENGLISH
    )


def list_differing(known: Catalog) -> Iterator[str]:
    for one in known:
        if one.id and "python-brace-format" in one.flags:
            try:
                same = list_fields(one.id) == list_fields(one.string)
            except ValueError:  # no template: its braces are text
                same = sorted(c for c in one.id if c in "{}") == sorted(
                    c for c in one.string if c in "{}"
                )
            if not same:
                yield one.id


def test_placeholders_are_the_same_in_both_languages(domain: str) -> None:
    assert list(list_differing(read_catalogue(domain))) == []


def test_a_placeholder_that_differs_is_found() -> None:
    known = Catalog(locale="zh")
    known.add("{n} of {what}", "{waht} 的 {n}", flags=["python-brace-format"])
    assert list(list_differing(known)) == ["{n} of {what}"]


def test_a_context_tells_apart_what_english_says_alike() -> None:
    assert translate("ordered") != translate("ordered", "money") != ""
    with speaking("zh"):
        assert str(Words("ordered", context="money")()) == translate("ordered", "money")
        assert str(tr("a text that nobody has translated")) == "a text that nobody has translated"
    assert translate("") == "", "the catalogue's head is no translation"


def test_a_changed_catalogue_is_read_at_the_next_start(monkeypatch, tmp_path) -> None:
    """Babel compiles it where its `.mo` is missing or of another time; without one, and without a
    `.po`, all is English."""
    folder = tmp_path / "zh" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    monkeypatch.setitem(catalogue.DOMAINS, "mqlab", tmp_path)

    def said() -> str:
        catalogue.read_catalogue.cache_clear()
        catalogue.translate.cache_clear()
        return catalogue.translate("no restarts")

    try:
        assert said() == ""
        source = catalogue.find_catalogue("mqlab")
        for chinese in ("不重启", "不再启动"):
            source.write_text(f'msgid "no restarts"\nmsgstr "{chinese}"\n', "utf-8")
            assert said() == chinese
            assert source.with_suffix(".mo").is_file()
        source.unlink()
        assert said() == "不再启动", "a wheel brings the compiled one alone"
        shutil.rmtree(folder)
        assert said() == ""
    finally:
        catalogue.read_catalogue.cache_clear()
        catalogue.translate.cache_clear()
