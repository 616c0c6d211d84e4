"""Groups and positions deleted by an administrator. The answers are those of a real 4.3.1
broker to the same raw requests."""

from __future__ import annotations

import struct
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Fields

from mqlab.kafka.group.members import subscribed_topics
from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from tests.serve.kafka.raw import Raw, batch, build_positions
from tests.serve.kafka.test_groups import SUBSCRIPTION

HALF_A_MINUTE = timedelta(seconds=30)


class Admin(Raw):
    """A raw client; topics `probe` (the one in SUBSCRIPTION) and `other` exist."""

    def delete(self, *groups: str) -> list[str]:
        return [r.error_code.name for r in self.ask(42, 2, groups_names=groups).results]

    def commit(self, group: str, topic: str, offset: int, member: str = "", gen: int = -1) -> str:
        answer = self.ask(
            8, 7, group_id=group, generation_id_or_member_epoch=gen, member_id=member,
            group_instance_id=None, topics=build_positions(topic, offset),
        )  # fmt: skip
        return answer.topics[0].partitions[0].error_code.name

    def commit_in_transaction(self, group: str, txn: str, pid: int, epoch: int) -> str:
        answer = self.ask(
            28, 2, transactional_id=txn, group_id=group, producer_id=pid, producer_epoch=epoch,
            topics=build_positions("probe", 9),
        )  # fmt: skip
        return answer.topics[0].partitions[0].error_code.name

    def positions(self, group: str) -> dict[str, int]:
        answer = self.ask(9, 7, group_id=group, topics=None, require_stable=False)
        return {t.name: p.committed_offset for t in answer.topics for p in t.partitions}

    def delete_offsets(self, group: str, *wanted: tuple[str, int]) -> tuple[str, list[str]]:
        topics = tuple(
            Fields(name=name, partitions=(Fields(partition_index=i),)) for name, i in wanted
        )
        answer = self.ask(47, 0, group_id=group, topics=topics)
        rows = [p.error_code.name for t in answer.topics for p in t.partitions]
        return answer.error_code.name, rows

    def join(self, group: str) -> tuple[str, int]:
        """A member that reads `probe`: its id and generation."""
        joined = self.ask(
            11, 3, group_id=group, session_timeout=HALF_A_MINUTE, rebalance_timeout=HALF_A_MINUTE,
            member_id="", protocol_type="consumer",
            protocols=(Fields(name="range", metadata=SUBSCRIPTION),),
        )  # fmt: skip
        me, generation = joined.member_id, joined.generation_id
        self.ask(
            14, 1, group_id=group, generation_id=generation, member_id=me,
            assignments=(Fields(member_id=me, assignment=b""),),
        )  # fmt: skip
        return me, generation


def admin(address: str) -> Admin:
    client = Admin(address)
    for name in ("probe", "other"):
        client.create(name, 2)
    return client


def test_positions_are_deleted_one_by_one(broker: RunningBroker) -> None:
    with admin(broker.address) as client:
        assert client.delete_offsets("nobody", ("probe", 0)) == ("group_id_not_found", [])
        client.commit("one", "probe", 5)
        client.commit("one", "other", 7)
        wanted = [("probe", 0), ("probe", 9), ("nope", 0), ("other", 1)]
        unknown = "unknown_topic_or_partition"
        expected = ["none", unknown, unknown, "none"]
        assert client.delete_offsets("one", *wanted) == ("none", expected)
        assert client.positions("one") == {"other": 7}


def test_a_deleted_topic_takes_the_positions_of_all_groups_with_it(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as running, admin(running.address) as client:
        for group in ("one", "two"):
            client.commit(group, "probe", 5)
            client.commit(group, "other", 7)
        client.ask(20, 5, topic_names=("probe",), timeout=HALF_A_MINUTE)
        client.create("probe", 2)
        assert [client.positions(group) for group in ("one", "two")] == [{"other": 7}] * 2
    with serve(data_dir=tmp_path) as running, admin(running.address) as client:
        assert client.positions("two") == {"other": 7}


def test_a_deleted_record_is_no_answer_to_a_time(broker: RunningBroker, topic: str) -> None:
    with admin(broker.address) as client:
        client.create(topic)
        first, second = batch([b"a", b"b", b"c"], 9, 0, 0, stamps=(5, 0, 3)), batch([b"d"])
        for records in (first, second):
            client.produce(topic, 0, records)
        gone = (Fields(name=topic, partitions=(Fields(partition_index=0, offset=1),)),)
        client.ask(21, 1, topics=gone, timeout=HALF_A_MINUTE)
        times = (-3, 0, 1001, 1004)
        assert [client.offset(topic, at_ms, False).offset for at_ms in times] == [0, 1, 2, -1]
        assert client.produce(topic, 0, first).log_start_offset == 1  # a duplicate


def test_a_deleted_group_is_gone_and_stays_gone(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as running, admin(running.address) as client:
        assert client.commit("one", "probe", 5) == "none"
        assert client.commit("two", "probe", 6) == "none"
        assert client.delete("one", "nobody") == ["none", "group_id_not_found"]
        assert client.delete("one") == ["group_id_not_found"]
        assert client.positions("one") == {}
    with serve(data_dir=tmp_path) as running, admin(running.address) as client:
        assert client.positions("one") == {}
        assert client.positions("two") == {"probe": 6}
        assert client.delete("one") == ["group_id_not_found"]


def test_what_members_read_stays(broker: RunningBroker) -> None:
    with admin(broker.address) as client:
        me, generation = client.join("busy")
        for topic in ("probe", "other"):
            assert client.commit("busy", topic, 5, me, generation) == "none"
        assert client.delete("busy") == ["non_empty_group"]
        expected = ["group_subscribed_to_topic", "none"]
        assert client.delete_offsets("busy", ("probe", 0), ("other", 0)) == ("none", expected)
        assert client.positions("busy") == {"probe": 5}
        client.ask(13, 0, group_id="busy", member_id=me)
        assert client.delete("busy") == ["none"]


def test_a_position_that_is_still_pending_never_counts(broker: RunningBroker) -> None:
    with admin(broker.address) as client:
        mine = client.init("deleter")
        client.commit("three", "probe", 5)
        who = (mine.producer_id, mine.producer_epoch)
        client.ask(
            25, 3, transactional_id="deleter", producer_id=who[0], producer_epoch=who[1],
            group_id="three",
        )  # fmt: skip
        assert client.commit_in_transaction("three", "deleter", *who) == "none"
        assert client.delete_offsets("three", ("probe", 0)) == ("none", ["none"])
        assert client.end("deleter", *who, True).error_code.name == "none"
        assert client.positions("three") == {}


def test_a_subscription_is_read_from_its_bytes() -> None:
    assert subscribed_topics(SUBSCRIPTION) == ("probe",)
    assert subscribed_topics(("a", "b")) == ("a", "b")
    for broken in (b"", b"\0\0", struct.pack(">hi", 0, 2**31 - 1), SUBSCRIPTION[:9]):
        assert subscribed_topics(broken) == ()
