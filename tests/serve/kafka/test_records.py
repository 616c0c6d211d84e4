"""Record batches as bytes, and what a journal makes of effects."""

from __future__ import annotations

from pathlib import Path

import pytest
from kio.records.readers import read_batch

from mqlab.kafka.coordinator import Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.group import Offsets
from mqlab.kafka.log import ABORT, COMMIT, AbortedTxn, Batch
from mqlab.kafka.messages import Position
from mqlab.kafka.states import TxnState
from mqlab.kernel import Append, Put, Truncate
from mqlab.serve.journal import Journal, JournalError
from mqlab.serve.kafka.adapter import make_adapter
from mqlab.serve.kafka.front.topic import Topic, topic_id
from mqlab.serve.kafka.trace import name_record
from mqlab.serve.kafka.wire.validation import Records, pack_batches, parse_batch
from tests.serve.kafka.raw import TRANSACTIONAL, batch

ADAPTER = make_adapter()
DATA = batch([b"a", b"bc"], pid=7, epoch=2, seq=5, bits=TRANSACTIONAL, stamps=[0, 9])


def data_at(base: int) -> Batch:
    found = parse_batch(DATA)
    assert isinstance(found, Batch)
    return Batch(**{**{f: getattr(found, f) for f in Batch.__slots__}, "base": base})


def test_the_head_of_a_batch_is_read() -> None:
    found = data_at(40)
    assert (found.pid, found.epoch, found.first_seq, found.count) == (7, 2, 5, 2)
    assert (found.last, found.transactional, found.at_ms, found.size) == (41, True, 1009, len(DATA))


@pytest.mark.parametrize("control", [COMMIT, ABORT])
def test_a_marker_is_a_batch_of_78_bytes(control: str) -> None:
    marker = Batch(
        base=5, pid=7, epoch=2, transactional=True, control=control, coordinator_epoch=3, at_ms=1000
    )
    written = pack_batches([marker])
    found, size = read_batch(written, 0)  # checks the CRC
    assert size == len(written) == 78
    record = found.records[0]
    kind = b"\0\1" if control == COMMIT else b"\0\0"
    assert (record.key, record.value) == (b"\0\0" + kind, b"\0\0\0\0\0\3")
    assert (found.base_offset, found.producer_id, found.producer_epoch) == (5, 7, 2)


def test_a_fetch_gives_a_batch_its_place_and_leaves_its_bytes() -> None:
    found, _ = read_batch(pack_batches([data_at(40)]), 0)
    assert [r.offset for r in found.records] == [40, 41]
    assert [r.value for r in found.records] == [b"a", b"bc"]


def test_a_record_is_found_by_its_stamp() -> None:
    records = Records(DATA)
    assert records.find_since(1000) == (0, 1000)
    assert records.find_since(1001) == (1, 1009)
    assert records.find_since(1010) is None
    assert Records(DATA[:-3]).find_since(1009) is None
    assert Records(batch([b"?"], bits=3)).find_since(0) is None  # lz4: not looked into


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (None, b"short", "short"),
        (b"key", b"a value that is long", "key"),
        (None, b"a value that is long", "a … long"),
        (b"\xff", b"\xfe", "·"),
        (None, None, "·"),
        (b"k", b"a\nb", "k"),
    ],
)
def test_labels_are_short_and_printable(key: bytes, value: bytes, said: str) -> None:
    assert name_record(key, value) == said


EFFECTS = [
    Put("topics", "t", Topic("t", 2, topic_id("t", 1), (("retention.ms", "-1"),))),
    Append("t-0", data_at(0)),
    Append("t-0", Batch(base=2, pid=7, transactional=True, control=ABORT, size=78)),
    Append("t-0.txnindex", AbortedTxn(0, 7, 0, 2, 3)),
    Append(
        "__transaction_state-3",
        StateRecord(0, Entry("id ü", 7, 2, TxnState.ONGOING, ("t-0", "t-1"), start_ms=5)),
    ),
    Append("__consumer_offsets-0", Batch((Offsets("g", (Position("t-0", 3, "m"),)),), base=0)),
    Put("leadership", "epoch", 2),
    Truncate("t-0", 2),
    Put("topics", "t", None),
]


def kept(folder: Path) -> list[object]:
    journal = Journal(folder, ADAPTER)
    found = list(journal.replay())
    journal.close()
    return found


def test_a_journal_gives_back_what_was_noted(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "new", ADAPTER, fsync=True)
    assert list(journal.replay()) == []
    for effect in EFFECTS:
        journal.note(effect)
    journal.write()
    journal.close()
    found = kept(tmp_path / "new")
    assert found[0] == EFFECTS[0] and found[2:] == EFFECTS[2:]
    batch_kept = found[1].entry  # type: ignore[attr-defined]
    assert batch_kept.records.data == DATA and batch_kept.base == 0 and batch_kept.pid == 7


def test_one_server_a_data_folder(tmp_path: Path) -> None:
    journal = Journal(tmp_path, ADAPTER)
    with pytest.raises(JournalError, match="another server"):
        Journal(tmp_path, ADAPTER)
    journal.close()
    (tmp_path / "journal").write_bytes(b"something else entirely\n" * 4)
    with pytest.raises(JournalError, match="another folder"):
        kept(tmp_path)
