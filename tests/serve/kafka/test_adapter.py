"""Kafka's adapter: which roles stand where, who answers for those that are no more."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kafka.coordinator import Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.log import Batch, index_of
from mqlab.kafka.messages import Fetch, FetchResponse, WriteTxnMarkers
from mqlab.kernel import Call, Caller, Put, Reply, Send, replace
from mqlab.serve.disk import CompactedLog
from mqlab.serve.driver import Driver
from mqlab.serve.kafka.adapter import BY_ID, find_compaction, make_adapter, weigh_batches
from mqlab.serve.kafka.front import BROKER, Topic
from tests.serve.test_driver import Notes

TOPIC = Topic("t", 2, "6d716c61-6200-4b61-8000-746f70696373")


def driver() -> Driver:
    made = Driver(make_adapter(), lambda conn, number, body: None)
    made.start()
    made.roles["a"] = Notes()
    return made


def test_one_node_plays_the_whole_cluster() -> None:
    assert set(driver().roles) >= {
        BROKER, "coordinator", "__consumer_offsets-49", "__transaction_state-0"
    }  # fmt: skip


def test_leaders_and_logs_come_and_go_with_a_topic() -> None:
    it = driver()
    roles = set(it.roles)
    it.deliver("a", Call((Put("topics", "t", TOPIC),)))
    assert set(it.roles) == {*roles, "t-0", "t-1"}
    leader = it.roles["t-0"]
    it.deliver("a", Call((Put("topics", "t", replace(TOPIC, count=3)),)))
    assert set(it.roles) == {*roles, "t-0", "t-1", "t-2"}
    assert it.roles["t-0"] is leader, "it goes on"
    for log in ("t-0", index_of("t-0"), "other-0"):
        it.disk.append(log, Batch())
    it.deliver("a", Call((Put("topics", "t", None),)))
    assert set(it.roles) == roles and it.disk.logs() == ("other-0",)


def test_what_is_sent_to_a_partition_that_is_no_more_is_answered() -> None:
    it = driver()
    it.deliver("a", Call((Send("t-0", WriteTxnMarkers("x", 1, 0, True)), Send("t-0", Fetch(0)))))
    marker, fetched = it.roles["a"].heard[1:]
    assert marker.error.name == "NONE" and fetched.error.name == "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.parametrize(
    ("log", "compacted"),
    [("__transaction_state-3", True), ("__transaction_state-0-0", False), ("t-0", False)],
)
def test_only_the_log_of_transactions_is_compacted(log: str, compacted: bool) -> None:
    assert (find_compaction(log) is not None) == compacted


def test_the_transaction_log_keeps_the_latest_record_of_an_id() -> None:
    log = CompactedLog(BY_ID)
    for base in range(1_000):
        log.append(StateRecord(base, Entry(f"id-{base % 3}", 1, 0)))
    assert [record.base for record in log.list_kept()] == [997, 998, 999]
    assert log.end == 1_000


def test_an_answer_weighs_what_its_batches_take() -> None:
    def weight(body: Any) -> int:
        return weigh_batches((Reply(Caller("broker"), body),))

    batches = (Batch(size=70), Batch(size=8))
    assert weight(FetchResponse(batches=batches)) == 78
    assert weight("ok") == 0 and weigh_batches(()) == 0
