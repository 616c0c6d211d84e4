"""Records compared in columns: what passes that comparison passes the walk, and nothing else."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest

from mqlab.real.kafka.batches import number
from mqlab.serve.kafka.wire import bodies
from mqlab.serve.kafka.wire.alike import TOGETHER, Shape, count_alike
from mqlab.serve.kafka.wire.bodies import decode_records, walk_records

NOW = 1_700_000_000_000
ONE_BY_ONE = 1 << 40  # a stretch so long that no record is compared with another


def record(
    delta: int, stamp: int, key: bytes | None, value: bytes | None, headers: int = 0
) -> bytes:
    body = b"\0" + number(stamp) + number(delta)
    for data in (key, value):
        body += number(-1) if data is None else number(len(data)) + data
    body += number(headers) + (number(1) + b"h" + number(-1)) * headers
    return number(len(body)) + body


#: a key, a value, stamps as wide as each other, a first delta, so that some become wider
BATCHES = {
    "no key": (None, b"v", range(40), 0),
    "no value": (b"k", None, [0] * 40, 50),
    "a long value": (b"", b"v" * 70, range(64, 104), 100),
    "old stamps": (None, b"", [-(10**12) + i for i in range(40)], 8_170),
}


def made(key: bytes | None, value: bytes | None, stamps: list[int], first: int) -> list[bytes]:
    return [record(first + i, stamp, key, value) for i, stamp in enumerate(stamps)]


def outcome(body: bytes, count: int) -> object:
    try:
        return walk_records(body, count, NOW)
    except Exception as error:
        return type(error), str(error)


@pytest.fixture(autouse=True)
def _compared_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the batches here can be short."""
    monkeypatch.setattr(bodies, "STRETCH", 16)


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_alike_records_have_their_own_stamps(batch: tuple) -> None:
    records = made(*batch)
    body = b"".join(records)
    found = walk_records(body, len(records), NOW)
    assert found.stamps == [r.at_ms for r in decode_records(body, len(records), NOW)]
    assert found.stamps == [NOW + stamp for stamp in batch[2]]
    assert found.keyless == (list(range(40)) if batch[0] is None else [])
    assert (found.oldest, found.newest) == (min(found.stamps), max(found.stamps))


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_every_broken_bit_has_the_outcome_of_the_walk(
    batch: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = made(*batch)
    body, starts = b"".join(records), list(accumulate(map(len, records), initial=0))
    broken = [body[:-1], body + b"\0", body + records[-1], body[: starts[-2]]]
    for start, end in pairwise(starts):
        # What a value holds does not matter: of a long one its first and last bytes are broken.
        for at in {*range(start, min(start + 14, end)), *range(max(end - 3, start), end)}:
            broken += [body[:at] + bytes([body[at] ^ 1 << i]) + body[at + 1 :] for i in range(8)]
    compared = [outcome(data, 40) for data in broken]
    monkeypatch.setattr(bodies, "STRETCH", ONE_BY_ONE)
    assert compared == [outcome(data, 40) for data in broken]
    assert len({str(one) for one in compared}) > 40, "some are kept, others are not"


def test_records_are_alike_up_to_the_first_that_differs() -> None:
    records = [record(i, i % 64, None, b"v" * 80) for i in range(64)]
    shape, size = Shape(records[0], 0, len(records[0])), len(records[0])

    def alike(others: list[bytes], most: int = 10_000) -> int:
        return count_alike(records[0] + b"".join(others), shape, size, size, most)

    assert shape.plain and shape.keyless
    assert alike(records[1:]) == 63
    assert alike(records[1:], most=7) == 7
    assert alike([]) == 0
    assert alike([*records[1:20], records[20][:-1]]) == 19
    other = {
        "a wider delta": record(64, 5, None, b"v" * 79),
        "a wider stamp": record(5, 64, None, b"v" * 79),
        "a key": record(5, 5, b"k", b"v" * 79),
        "a header": record(5, 5, None, b"v" * 77, headers=1),
        "shorter": record(5, 5, None, b"v" * 79),
    }
    assert {len(data) for name, data in other.items() if name != "shorter"} == {size}
    for name, data in other.items():
        assert alike([*records[1:9], data, *records[9:]]) == 8, name


def test_no_more_than_a_bound_are_compared_at_once() -> None:
    one = record(0, 0, None, b"")
    assert count_alike(one * 5_000, Shape(one, 0, len(one)), len(one), len(one), 9_999) == TOGETHER
    assert len(walk_records(one * 5_000, 5_000, NOW).stamps) == 5_000


def test_a_record_with_headers_is_no_pattern() -> None:
    one = record(0, 0, b"k", b"v", headers=2)
    assert not Shape(one, 0, len(one)).plain
    assert walk_records(one * 200, 200, NOW).stamps == [NOW] * 200
