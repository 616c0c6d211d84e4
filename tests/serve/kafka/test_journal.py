"""The journal: what is no more is written out of it at a start, and nothing else."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from mqlab.kafka.coordinator import Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.group import GroupMetadata
from mqlab.kafka.group.members import Member
from mqlab.kafka.log import Batch
from mqlab.kafka.states import TxnState
from mqlab.kernel import Append, Put
from mqlab.serve.adapter import keep
from mqlab.serve.disk import ServerDisk
from mqlab.serve.journal import Journal
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.adapter import make_adapter
from mqlab.serve.kafka.entries import decode_effect, encode_effect
from mqlab.serve.kafka.front.topic import Topic
from mqlab.serve.kafka.wire.validation import parse_batch
from mqlab.serve.options import Options
from mqlab.serve.server import Server
from tests.serve.kafka.clients import create, producer, read, transaction
from tests.serve.kafka.raw import Raw, batch
from tests.serve.kafka.test_topics import delete

ADAPTER = make_adapter()
STATES = "__transaction_state-0"
TOPIC = Topic("t", 1, "6d716c61-6200-4b61-8000-746f70696373")


def opened(folder: Path) -> Journal:
    journal = Journal(folder, ADAPTER)
    list(journal.replay())
    return journal


def end_with(journal: Journal, *effects: Append | Put) -> None:
    for effect in effects:
        journal.note(effect)
    journal.write()
    journal.close()


def replayed(folder: Path) -> tuple[ServerDisk, Journal]:
    journal = Journal(folder, ADAPTER)
    disk = ServerDisk(ADAPTER.keeping)
    for effect in journal.replay():
        keep(ADAPTER, disk, effect)
    return disk, journal


def state(base: int, txn_id: str, state: TxnState = TxnState.ONGOING) -> Append:
    return Append(STATES, StateRecord(base, Entry(txn_id, 7, 0, state)))


def written(folder: Path, rounds: int = 12_000) -> None:
    """Thousands of records of two ids, one of them expired at the end, and some data."""
    journal = opened(folder)
    records = parse_batch(batch([b"a"])).records
    end_with(
        journal,
        Put("topics", "t", TOPIC),
        Append("t-0", Batch(records, base=0)),
        *(state(i, "ab"[i % 2]) for i in range(rounds)),
        state(rounds, "b", TxnState.DEAD),
        state(rounds + 1, "a"),
        *(Put("producer ids", "next block", i) for i in range(9)),
    )


def full(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


def kept(disk: ServerDisk) -> list[str]:
    return [str(effect) for effect in disk.effects()]


def test_only_the_latest_of_each_key_is_written_anew(tmp_path: Path) -> None:
    written(tmp_path)
    before = (tmp_path / "journal").stat().st_size
    disk, journal = replayed(tmp_path)
    assert journal.is_mostly_dead(disk.effects())
    everything = kept(disk)
    journal.rewrite(disk.effects())
    end_with(journal, state(12_002, "a"))
    assert (tmp_path / "journal").stat().st_size < before / 100
    again, journal = replayed(tmp_path)
    journal.close()
    assert not journal.is_mostly_dead(again.effects())
    assert again.log(STATES).end == 12_003
    assert [e.entry.txn_id for e in again.log(STATES).list_kept()] == ["a"], "b is expired"
    assert [e for e in kept(again) if STATES not in e] == [e for e in everything if STATES not in e]


def test_the_end_of_a_log_is_kept_even_by_a_tombstone() -> None:
    disk = ServerDisk(ADAPTER.keeping)
    disk.append(STATES, state(0, "b").entry)
    disk.append(STATES, state(1, "b", TxnState.DEAD).entry)
    again = ServerDisk(ADAPTER.keeping)
    for effect in disk.effects():
        assert isinstance(effect, Append)
        again.append(effect.log, effect.entry)
    assert again.log(STATES).end == 2


def test_a_small_journal_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, rounds=10)
    disk, journal = replayed(tmp_path)
    assert not journal.is_mostly_dead(disk.effects())
    assert not journal.is_mostly_dead(())
    journal.close()


def test_a_deleted_topic_is_dead(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    records = parse_batch(batch([b"x" * 800_000])).records
    data = (Append("t-0", Batch(records, base=base)) for base in range(2))
    end_with(journal, Put("topics", "t", TOPIC), *data)
    disk, journal = replayed(tmp_path)
    assert not journal.is_mostly_dead(disk.effects())
    end_with(journal, Put("topics", "t", None))
    disk, journal = replayed(tmp_path)
    assert journal.is_mostly_dead(disk.effects())
    journal.rewrite(disk.effects())
    journal.close()
    assert (tmp_path / "journal").stat().st_size < 100


def test_the_space_of_deleted_records_comes_back_at_the_next_start(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        create(broker.address, "t")
        who = producer(broker.address, "id")
        for i in range(4):
            transaction(who, "t", str(i) * 400_000)
        transaction(who, "t", "last")
        start = 8  # four transactions before the last, each with a record and a marker
        with Raw(broker.address) as client:
            assert delete(client, "t", start) == ("none", start)
        broker.stop()
        before = (tmp_path / "journal").stat().st_size
        broker.restart()
        assert before > 1_600_000
        assert (tmp_path / "journal").stat().st_size < before / 10
        assert read(broker.address, "t", start=start) == ["last"]
        transaction(producer(broker.address, "id"), "t", "one more")
        broker.kill()
        broker.restart()
        assert read(broker.address, "t", start=start) == ["last", "one more"]
        with Raw(broker.address) as client:
            assert client.fetch("t", 0).error_code.name == "offset_out_of_range"
            assert delete(client, "t", 0) == ("none", start), "the log still begins there"


def test_a_log_that_still_begins_inside_a_large_batch_is_left_alone(tmp_path: Path) -> None:
    """The batch that holds the new start is kept whole, so its bytes are alive."""
    journal = opened(tmp_path)
    end_with(
        journal,
        Put("topics", "t", TOPIC),
        Append("t-0", Batch(parse_batch(batch([b"x" * 600_000] * 2)).records, 2, base=0)),
        Put("log starts", "t-0", 1),
    )
    disk, journal = replayed(tmp_path)
    journal.close()
    assert not journal.is_mostly_dead(disk.effects())


def test_without_room_it_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    disk, journal = replayed(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        journal.rewrite(disk.effects())
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]
    end_with(journal, state(12_002, "a"))
    again, journal = replayed(tmp_path)
    journal.close()
    assert again.log(STATES).end == 12_003


def test_a_turn_that_finds_no_room_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, rounds=10)
    before = (tmp_path / "journal").read_bytes()
    _, journal = replayed(tmp_path)
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return write(file, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        for _ in range(9):
            journal.note(state(12, "a"))
        with pytest.raises(OSError, match="No space"):
            journal.write()
    assert (tmp_path / "journal").read_bytes() == before
    end_with(journal, state(12, "a"))
    again, journal = replayed(tmp_path)
    journal.close()
    assert again.log(STATES).end == 13


def test_a_server_without_room_says_so_in_one_line_and_starts_when_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)

    async def run() -> str:
        return await Server(ADAPTER, Options(port=0, data_dir=tmp_path)).run()

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert asyncio.run(run()) == "the data folder cannot be written: No space left on device"
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]
    with serve(data_dir=tmp_path) as broker:
        assert broker.running


def test_a_group_is_written_with_its_members_bytes() -> None:
    member = Member("a-1", "a", protocols=(("range", b"\0\xff"),), assignment=b"\x80")
    effect = Append("__consumer_offsets-0", GroupMetadata("g", "consumer", 3, "range", "a-1"))
    whole = Append("x", GroupMetadata("g", members=(member,)))
    for one in (effect, whole):
        assert decode_effect(encode_effect(one)) == one


def test_a_server_that_wrote_its_journal_anew_goes_on(tmp_path: Path) -> None:
    with serve(data_dir=tmp_path) as broker:
        create(broker.address, "t")
        who = producer(broker.address, "id")
        for i in range(5):
            transaction(who, "t", str(i))
        broker.stop()
        journal = opened(tmp_path)
        end_with(journal, *(Put("producer ids", "next block", 5_000 + i) for i in range(30_000)))
        before = (tmp_path / "journal").stat().st_size
        broker.restart()
        assert (tmp_path / "journal").stat().st_size < before / 10
        transaction(producer(broker.address, "id"), "t", "5")
        assert read(broker.address, "t") == [str(i) for i in range(6)]
        broker.kill()
        broker.restart()
        assert read(broker.address, "t") == [str(i) for i in range(6)]
