"""Kafka's words in its picture: each has a sentence in both languages, and stands in it."""

from __future__ import annotations

import re

from mqlab.kafka import KafkaSystem
from mqlab.kafka.picture.words import TERMS
from mqlab.kernel.run import Run

OPTIONS = {"groups": "1", "readers": "reader", "replicas": "2", "partitions": "1"}
ELSEWHERE = {"marker", ".txnindex: aborted transactions"}  # said in facts; empty at first


def test_every_word_has_one_sentence_in_both_languages() -> None:
    for name, means in TERMS.items():
        assert re.fullmatch(r"[A-Z][^.]*(transaction\.version 2[^.]*)?\.", means.en), name
        assert re.search(r"[一-鿿]", means.zh) and means.zh.endswith("。"), name


def test_every_word_stands_in_the_picture_as_it_is_written_there() -> None:
    names: set[str] = set()
    for options in (OPTIONS, {**OPTIONS, "replicas": "1"}):
        snapshot = Run(KafkaSystem.from_options(options)).snapshots[0]
        names |= {lane.title.en for lane in snapshot.lanes}
        names |= {lane.subtitle.en for lane in snapshot.lanes}
        names |= {table.name.en for table in snapshot.tables}
        names |= {frontier.name for log in snapshot.logs for frontier in log.frontiers}
        names |= {reader.name for reader in snapshot.readers}
        names |= {column for table in snapshot.tables for column in table.columns}
        names |= {state.name for graph in snapshot.graphs for state in graph.states}
    assert {name.en for name in TERMS} - names == ELSEWHERE
