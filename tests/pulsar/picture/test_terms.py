"""Pulsar's words in its picture: each has a sentence in both languages, and stands in it."""

import re

from mqlab.pulsar.picture.snapshot import TERMS
from mqlab.registry import run_scenario

STORY = """system pulsar clients=app
run app: producer orders-0 access=Exclusive
run app: subscribe orders-0 s, send orders-0 a, receive s, new-transaction t1, ack s txn=t1
"""


def test_every_word_has_one_sentence_in_both_languages() -> None:
    for name, means in TERMS.items():
        assert re.fullmatch(r"[A-Z][^.]*\.", means.en), name
        assert re.search(r"[一-鿿]", means.zh) and means.zh.endswith("。"), name


def test_every_word_stands_in_the_picture_as_it_is_written_there() -> None:
    run = run_scenario(STORY)
    snapshot = run.snapshots[-1]
    names = {lane.subtitle.en for lane in snapshot.lanes}
    names |= {table.name.en for table in snapshot.tables}
    names |= {column for table in snapshot.tables for column in table.columns}
    names |= {log.name for log in snapshot.logs}
    names |= {frontier.name for log in snapshot.logs for frontier in log.frontiers}
    names |= {state.name for graph in snapshot.graphs for state in graph.states}
    assert {name.en for name in TERMS} <= names
    assert run.trace.terms == tuple(TERMS.items())
