"""Every field of a message, told so that two brokers can be compared: nothing is masked away.

What is never the same twice is told by what it refers to. A time is the sender's own or not before
the store of the record it was made from; an offset or an id names the record that lies there; an
address is the sender's or the broker's. A body is told twice: as bytes, and as what a client makes
of them by the sysFlag, for a body whose sysFlag is wrong is lost to its reader.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field

from mqlab.rocketmq.messages import ORIGIN_MESSAGE_ID, TRANSACTION_ID, UNIQ_KEY
from mqlab.rocketmq.remoting import MessageRecord, RemotingCommand, RequestCode

from .client import LOG, Lab

#: CompressionType: bits 8 to 10 of a sysFlag whose bit 0 says that the body is compressed
COMPRESSED, TYPE = 0x1, 0x700
CODECS = {"plain": 0, "lz4": 0x101, "zstd": 0x201, "zlib": 0x301, "zlib of 4.9": 0x1}
SIZES = (1, 4_095, 4_096, 1 << 20)  # a client compresses from 4,096 bytes on
#: properties whose values are ids
IDS = (UNIQ_KEY, TRANSACTION_ID, ORIGIN_MESSAGE_ID)
#: beside those that the broker looks at: two keys, a tag, a name that only applications know
PROPERTIES = {"KEYS": "k1 k2", "TAGS": "paid", "colour": "dark red", "Größe": "größer als 1"}


@dataclass(frozen=True, slots=True)
class Case:
    """One message: `written` by an application, `body` as its client sends it."""

    words: str
    codec: str
    written: bytes
    flag: int
    properties: tuple[tuple[str, str], ...]

    @property
    def body(self) -> bytes:
        return pack(self.codec, self.written)

    @property
    def sys_flag(self) -> int:
        return CODECS[self.codec]


def build_cases() -> list[Case]:
    """Each codec with each size; besides, a body of nothing and a message without properties."""
    own = tuple(PROPERTIES.items())
    sizes = [(codec, size, own) for codec in CODECS for size in SIZES]
    every = [*sizes, ("plain", 0, own), ("plain", 2, ())]
    return [
        Case(f"{codec} {size}" + ("" if given else " bare"), codec, write(size), 7 + at, given)
        for at, (codec, size, given) in enumerate(every)
    ]


def write(size: int) -> bytes:
    """A text of this many bytes, the same in every run, which can be compressed to about half."""
    return bytes(random.Random(size).choices(b"abcdefghijklmnop ", k=size))


def pack(codec: str, written: bytes) -> bytes:
    """As the client of this codec compresses (LZ4 and ZSTD are frames)."""
    import pyarrow  # only here, so that programs of other fields need it not

    if codec == "plain":
        return written
    if codec.startswith("zlib"):
        return zlib.compress(written)
    packed: bytes = pyarrow.compress(written, codec=codec, asbytes=True)
    return packed


def unpack(sys_flag: int, body: bytes, size: int) -> bytes:
    """As a client reads a body by its sysFlag (MessageDecoder#decode); `size`: of what was
    written. What cannot be read stays as it came."""
    import pyarrow

    if not sys_flag & COMPRESSED:
        return body
    try:
        if sys_flag & TYPE in (0, 0x300):
            return zlib.decompress(body)
        codec = {0x100: "lz4", 0x200: "zstd"}[sys_flag & TYPE]
        plain: bytes = pyarrow.decompress(body, size, codec=codec, asbytes=True)
        return plain
    except (zlib.error, KeyError, OSError):
        return body


@dataclass
class Reader:
    """Reads and describes the records of one run. `sender`: the address that the cases came from;
    `keys`: the unique key of each case, by its words; `born`: what its request said of its birth;
    `places`: physical offset → what lies there, and of which case; `stored`: physical offset →
    when that was; `counted`: physical offset → the message's number in its queue; `alike`: what is
    to be noted, and of which cases."""

    lab: Lab
    sender: tuple[str, int]
    keys: dict[str, str] = field(default_factory=dict)
    born: dict[str, int] = field(default_factory=dict)
    places: dict[int, tuple[str, str]] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    counted: dict[int, int] = field(default_factory=dict)
    alike: dict[tuple[str, str, str, str], list[str]] = field(default_factory=dict)

    @property
    def broker(self) -> tuple[str, int]:
        host, _, port = self.lab.target.address.rpartition(":")
        return host, int(port)

    def read(self, topic: str, end: int) -> list[MessageRecord]:
        """All messages of a topic's queue 0, when there are `end`, a little later."""
        self.lab.wait_until(lambda: self._end_of(topic) >= end)
        records: list[MessageRecord] = []
        while more := self.lab.pull(topic, offset=len(records)):
            records += more
        for number, record in enumerate(records):
            self.counted[record.physical_offset] = number
        return records

    def _end_of(self, topic: str) -> int:
        answer = self.lab.ask(RequestCode.GET_MAX_OFFSET, topic=self.lab.topic_of(topic), queueId=0)
        return int(answer.fields.get("offset", "0"))

    # -- describing --------------------------------------------------------------------------

    def note(self, name: str, case: Case, record: MessageRecord, source: int = -1) -> None:
        """`name`: of the record, of which there is one a case ("half"); `source`: the physical
        offset of the record that it was made from, -1 where a client sent it."""
        if name != "question":  # which is about a copy, and no record
            self.places[record.physical_offset] = name, case.words
            self.stored[record.physical_offset] = record.store_timestamp
        topic = self.short(record.topic)
        self.collect(LOG, topic, name, case, self.describe(case, record, source))
        self.collect(LOG, topic, f"{name}'s properties", case, self._properties(case, record))

    def collect(self, who: str, to: str, question: str, case: Case, answer: str) -> None:
        """What is told of several cases in the same words is noted once."""
        self.alike.setdefault((who, to, question, answer), []).append(case.words)

    def note_collected(self) -> None:
        for (who, to, question, answer), cases in self.alike.items():
            self.lab.note(who, to, f"{question}: {', '.join(cases)}", answer)
        self.alike.clear()

    def describe(self, case: Case, record: MessageRecord, source: int = -1) -> str:
        at = record.physical_offset
        values = {
            "queueId": record.queue_id,
            "queueOffset": self._number(record.queue_offset, self.counted.get(at, -1)),
            "body": self._body(case, record),
            "flag": "as sent" if record.flag == case.flag else record.flag,
            "sysFlag": f"0x{record.sys_flag:x}",
            "born": self._time(record.born_timestamp, self.born[case.words], source),
            "by": self._host(record.born_host),
            "stored": self._stored(record, source),
            "at": self._host(record.store_host),
            "reconsumeTimes": record.reconsume_times,
            "preparedTransactionOffset": self._origin(case, record, source),
            "physicalOffset": "behind it" if at > source else "not behind it",
        }
        return ", ".join(f"{name} {value}" for name, value in values.items())

    def _number(self, offset: int, counted: int) -> str:
        return "as counted" if offset == counted else f"{offset} for {counted}"

    def _body(self, case: Case, record: MessageRecord) -> str:
        raw = "as sent" if record.body == case.body else f"of {len(record.body)} other bytes"
        read = unpack(record.sys_flag, record.body, len(case.written))
        return f"{raw}, {'read' if read == case.written else 'NOT READ'} as written"

    def _stored(self, record: MessageRecord, source: int) -> str:
        """Of a question, the time of the half; a record's own is never so early, for a producer
        waits before it ends a half, and a round before it asks."""
        before = self.stored.get(source, -1)
        return self._time(record.store_timestamp, before, source)

    def _time(self, at: int, own: int, source: int) -> str:
        """`own`: what it is to be if it is not the time of a store."""
        if at == own:
            return "as it was"
        floor = self.stored.get(source, min(self.born.values()))
        if at >= floor:
            return "not before it" if source >= 0 else "later"
        return f"{floor - at} ms too early"

    def _host(self, host: tuple[str, int]) -> str:
        known = {self.sender: "the sender", self.broker: "the broker"}
        return known.get(host, "another")

    def _origin(self, case: Case, record: MessageRecord, source: int) -> str:
        """Of a committed message: its half. The first record of a broker lies at 0."""
        at = record.prepared_offset
        return "0" if at == 0 and source != 0 else self._place(case, at)

    def _place(self, case: Case, offset: int) -> str:
        """What lies there; of which case is said where it is another one."""
        if offset not in self.places:
            return str(offset)
        name, words = self.places[offset]
        return f"its {name}" if words == case.words else f"{name} of {words}"

    def short(self, name: str) -> str:
        return name.replace(self.lab.wire(""), "")

    def _properties(self, case: Case, record: MessageRecord) -> str:
        pairs = []
        for name, value in sorted(record.properties.items()):
            value = self._id(case, value) if name in IDS else self.short(value)
            pairs.append(f"{name}={value}")
        return "; ".join(pairs) or "none"

    def _id(self, case: Case, value: str) -> str:
        """By what it refers to: a record's place, or the message by its unique key."""
        if value == self.keys.get(case.words):
            return "its key" if case.properties else "its key, of the broker's making"
        ids = {self._id_of(offset): offset for offset in self.places}
        if value in ids:
            return f"offsetMsgId of {self._place(case, ids[value])}"
        return f"unknown {value}"

    def _id_of(self, offset: int) -> str:
        return MessageRecord("", store_host=self.broker, physical_offset=offset).msg_id

    def list_fields(self, case: Case, command: RemotingCommand, offset: int, counted: int) -> str:
        """The header of an answer or of a question that is about the record at `offset`, which is
        number `counted` of its queue."""
        pairs = []
        for name, value in sorted(command.fields.items()):
            if name in ("commitLogOffset", "msgId", "offsetMsgId", "transactionId"):
                right = value in (str(offset), self._id_of(offset))
                value = "where it lies" if right else self._id(case, value)
            elif name in ("queueOffset", "tranStateTableOffset"):
                value = self._number(int(value), counted)
            pairs.append(f"{name}={self.short(value)}")
        return "; ".join(pairs)
