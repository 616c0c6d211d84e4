"""Kafka's own tools: what belongs to one run is taken out of what they print, and nothing else;
what each of them told about a real broker is recorded whole."""

from __future__ import annotations

import pytest

from mqlab.real.differences import find_listed
from mqlab.real.kafka.differences import TABLE
from mqlab.recordings.recording import Observation
from tests.oracle.compare import read_recordings
from tests.oracle.kafka.oracle import KAFKA
from tests.oracle.kafka.programs import JAVA, programs
from tests.oracle.kafka.tools import CLASSES, tidy

RECORDED = {
    name: recording
    for name, recording in read_recordings(KAFKA, "4.3.1").items()
    if name.startswith("tv2/tools-")
}


def tidied(*lines: str) -> list[str]:
    return tidy(lines, "127.0.0.1:40123", "tv2.tools-x.")


def test_addresses_prefixes_widths_and_ids_go() -> None:
    assert tidied(
        "GROUP              COORDINATOR (ID)      ASSIGNMENT-STRATEGY STATE #MEMBERS",
        "tv2.tools-x.billing 127.0.0.1:40123 (1)  -                   Empty 0",
        "Topic: tv2.tools-x.orders\tTopicId: 6Wx0-_AQ\tPartitionCount: 2",
        "CreateTime:1795311388538\tPartition:0\ta",
        "org.apache.kafka.common.errors.InvalidTopicException: no",
        "\tat org.apache.kafka.tools.TopicCommand.main(TopicCommand.java:85)",
    ) == [
        "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS",
        "billing HOST:PORT (1) - Empty 0",
        "Topic: orders TopicId: # PartitionCount: 2",
        "CreateTime:# Partition:0 a",
        "InvalidTopicException: no",
    ]


def test_columns_of_one_run_are_hidden_and_the_others_stay() -> None:
    assert tidied(
        "TransactionalId Coordinator ProducerId TransactionState",
        "tv2.tools-x.A   1           4711       Ongoing",
        "tv2.tools-x.B   2           4712       CompleteAbort",
    )[1:] == ["A 1 # Ongoing", "B 2 # CompleteAbort"]


def test_a_set_of_partitions_has_an_order_and_each_object_a_line() -> None:
    assert tidied("1 A Ongoing orders-1,bills-0,orders-0") == [
        "1 A Ongoing bills-0,orders-0,orders-1"
    ]
    assert tidied('{"producerId":7,"nextProducerId":-1,"startTimestampMs":5}{"epoch":3}') == [
        '{"producerId":#,"nextProducerId":-1,"startTimestampMs":#}',
        '{"epoch":3}',
    ]


def test_every_tool_is_recorded() -> None:
    told = {o.who for recording in RECORDED.values() for o in recording.observations}
    assert set(CLASSES) <= told
    for recording in RECORDED.values():
        assert JAVA in programs()[recording.scenario].needs
        for o in recording.observations:
            assert "127.0.0.1" not in o.answered and "mqlab-" not in o.answered, o


@pytest.mark.parametrize(
    ("scenario", "tool", "asked", "answer"),
    [
        ("tools-topics", "kafka-topics", "--delete --topic orders", "exit code 0"),
        ("tools-groups", "kafka-consumer-groups", "--describe --group billing",
         "billing orders 0 3 3 0 # - -"),
        ("tools-groups", "kafka-consumer-groups",
         "--reset-offsets --group billing --topic orders --shift-by -9 --execute",
         "billing orders 1 0"),
        ("tools-transactions", "kafka-transactions", "describe --transactional-id A",
         "1 A # 0 Ongoing 60000 # # orders-0,orders-1"),
        ("tools-records", "kafka-delete-records", "--offset-json-file 0.json",
         "partition: orders-0 low_watermark: 2"),
    ],
)  # fmt: skip
def test_the_recordings_say_what_the_tools_are_for(
    scenario: str, tool: str, asked: str, answer: str
) -> None:
    assert Observation(tool, "broker", asked, answer) in RECORDED[f"tv2/{scenario}"].observations


def test_only_what_is_not_offered_may_differ_in_the_list_of_requests() -> None:
    name = "tv2/tools-cluster"
    covered = {
        o.asked
        for o in RECORDED[name].observations
        if any(row.covers(o) for row in find_listed(name, TABLE))
    }
    assert "ShareFetch(78)" in covered and "DescribeTopicPartitions(75)" in covered
    assert not {"Produce(0)", "EndTxn(26)", "cluster-id"} & covered
