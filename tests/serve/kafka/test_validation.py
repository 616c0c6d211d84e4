"""What is looked at before a batch is kept: what is inside, within bounds."""

from __future__ import annotations

import random
import zlib

import pytest
from kio.records.readers import read_batch

from mqlab.kafka.errors import Error
from mqlab.real.kafka import batches
from mqlab.real.kafka.batches import number
from mqlab.serve.kafka.wire.bodies import decode_records, last, walk_records
from mqlab.serve.kafka.wire.compression import (
    GZIP,
    LZ4,
    NONE,
    OPENED,
    SNAPPY,
    ZSTD,
    TooLarge,
    Unreadable,
    compress,
    decompress,
)
from mqlab.serve.kafka.wire.validation import Records, Rules, inspect_batch
from tests.serve.kafka.raw import batch, record

KINDS = (NONE, GZIP, SNAPPY, LZ4, ZSTD)
NOW = 1_000_000
DATA = (b"", b"a", b"hello" * 9_999, random.Random(1).randbytes(200_000))


def crafted(body: bytes, count: int, bits: int = 0) -> bytes:
    """A batch whose checksum is right, whatever is in it."""
    return batches.batch(body, count, bits=bits, at_ms=NOW)


def judged(data: bytes, rules: Rules | None = None) -> str:
    _, flaw = inspect_batch(data, rules or Rules(), NOW, "orders-0")
    return flaw.error.name if flaw is not None else "kept"


# ---- compression ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", DATA, ids=("nothing", "a", "hello", "noise"))
def test_what_is_packed_is_opened_again(kind: int, data: bytes) -> None:
    assert decompress(kind, compress(kind, data, 3)) == data


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_bomb_is_not_opened(kind: int) -> None:
    """Ten times the bound, in a fraction of it."""
    bomb = compress(kind, bytes(10 * OPENED), 1)
    assert len(bomb) < OPENED
    with pytest.raises(TooLarge):
        decompress(kind, bomb)


def test_a_bomb_of_snappy_is_refused_by_what_it_says() -> None:
    with pytest.raises(TooLarge):
        decompress(SNAPPY, number(2**30)[:5] + b"x")


@pytest.mark.parametrize("kind", [*KINDS[1:], 5, 7])
def test_what_is_not_packed_is_not_opened(kind: int) -> None:
    with pytest.raises(Unreadable):
        decompress(kind, b"this is plain text, and nothing else")


def test_lz4_is_read_by_java() -> None:
    """Blocks that refer to each other are refused there: the flag says that ours do not."""
    made = compress(LZ4, b"hello" * 100_000, -1)
    assert made[4] & 0x20 and made[4] >> 6 == 1


# ---- the walk ----------------------------------------------------------------------------


def test_the_walk_sees_what_decoding_sees() -> None:
    values = [b"x" * n for n in (0, 1, 63, 64, 8_191, 8_192, 100_000)]
    stamps = [0, -5, 63, 64, 10**6, -(10**9), 10**12]
    keys = [None, b"", None, b"k" * 63, b"k" * 64, None, b"k" * 9_000]
    body = b"".join(
        record(v, k, i, s, given=[(b"h", None), (b"", b"x" * 70)] * (i % 3))
        for i, (v, k, s) in enumerate(zip(values, keys, stamps, strict=True))
    )
    found = walk_records(body, len(values), NOW)
    assert (
        found.stamps == [NOW + s for s in stamps] == [r.at_ms for r in decode_records(body, 7, NOW)]
    )
    assert found.keyless == [0, 2, 5]
    assert [r.key for r in decode_records(body, 7, NOW)] == keys
    assert [r.value for r in last(body, 7, NOW, 2)] == values[-2:]


def test_no_lie_about_the_records_is_kept() -> None:
    one = record(b"v")
    lies = {
        "2147483647 that are one": crafted(one, 2**31 - 1),
        "two that are one": crafted(one, 2),
        "one that is two": crafted(one + record(b"w", delta=1), 1),
        "text": crafted(b"hello world, no records here", 1),
        "nothing": crafted(b"", 1),
        "gzip of two for one": crafted(zlib.compress(one * 2, wbits=31), 1, GZIP),
    }
    assert {called: judged(data) for called, data in lies.items()} == dict.fromkeys(
        lies, "INVALID_RECORD"
    )
    assert judged(crafted(one, 1)) == "kept"
    assert judged(crafted(b"\xff" * 20, 1)) == "UNKNOWN_SERVER_ERROR"
    _, flaw = inspect_batch(batch([b"a"], magic=200), Rules(), NOW, "orders-0")
    assert flaw is not None and (flaw.words or "").endswith(": -56"), "a signed byte"


def test_a_batch_that_opens_beyond_the_bound_is_refused() -> None:
    bomb = compress(ZSTD, record(bytes(OPENED)), 1)
    assert judged(crafted(bomb, 1, ZSTD)) == "MESSAGE_TOO_LARGE"


def test_a_million_records_are_the_most() -> None:
    """86 kB of gzip that are eight million records held up everybody for 25 s."""
    many = compress(GZIP, record(b"") * 4_000_000, 1)
    data, flaw = inspect_batch(crafted(many, 4_000_000, GZIP), Rules(), NOW, "orders-0")
    assert data is not None and flaw is not None and flaw.error is Error.INVALID_RECORD


@pytest.mark.parametrize("kind", KINDS)
def test_a_topic_has_its_compression(kind: int) -> None:
    name = ("uncompressed", "gzip", "snappy", "lz4", "zstd")[kind]
    rules = Rules(compression_type=name, level=3)
    for sent in KINDS:
        body = record(b"v" * 500) + record(b"w" * 500, delta=1)
        kept, flaw = inspect_batch(crafted(compress(sent, body, 3), 2, sent), rules, NOW, "t-0")
        assert flaw is None and kept is not None and isinstance(kept.records, Records)
        assert kept.records.data[22] & 7 == kind
        found = kept.records.texts(2)
        assert [value for _, value in found] == [b"v" * 500, b"w" * 500]
        if kind == NONE:  # what kio can read, checksum included
            assert len(read_batch(kept.records.data, 0)[0].records) == 2


def test_a_topic_that_stamps_by_its_own_clock() -> None:
    kept, flaw = inspect_batch(crafted(record(b"v"), 1), Rules(append_time=True), NOW + 77, "t-0")
    assert flaw is None and kept is not None and kept.at_ms == NOW + 77
    assert kept.records.find_since(NOW + 77) == (0, NOW + 77)
    assert kept.records.find_since(NOW + 78) is None


def test_the_largest_stamp_is_the_largest() -> None:
    """A head that claims another one would spoil every look-up by time."""
    data = batches.batch(record(b"v", stamp=5), at_ms=NOW, max_ms=NOW + 10**9)
    kept, flaw = inspect_batch(data, Rules(), NOW, "t-0")
    assert flaw is None and kept is not None and kept.at_ms == NOW + 5
