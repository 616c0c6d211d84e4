"""One round of the check, each row of the real broker's decisions."""

from __future__ import annotations

from typing import Any

import pytest

from mqlab.kernel import CancelTimer, MemoryDisk, SetTimer, replace
from mqlab.rocketmq import check
from mqlab.rocketmq.broker.timer import build_retry
from mqlab.rocketmq.check import (
    OP_BATCH,
    RoundResult,
    build_op,
    parse_op,
    record_end,
    run_round,
    write_batch,
)
from mqlab.rocketmq.group import ConsumerSendMsgBack, Producers
from mqlab.rocketmq.log import Stored, Writer
from mqlab.rocketmq.messages import (
    CHECK_IMMUNITY,
    CHECK_TIMES,
    PREPARED_QUEUE_OFFSET,
    CheckTransactionState,
    Message,
)
from mqlab.rocketmq.states import TransactionType, read_type, set_type
from tests.rocketmq.queues import (
    DISCARD,
    GROUP,
    HALF,
    OP,
    apply_all,
    in_queue,
    make_config,
    make_half,
    make_message,
    make_op,
    put,
    sent,
    words_in,
)

LIVE = Producers().register(GROUP, "app")
LATER = 60_000  # every half below is older than transactionTimeOut then

NEW, OLD = make_config(), make_config(release="4.9")


def examine(
    config: Any,
    disk: MemoryDisk,
    at: tuple[int, int] = (0, 0),
    at_ms: int = LATER,
    producers: Producers = LIVE,
) -> tuple[RoundResult, MemoryDisk]:
    found = run_round(config, disk, at_ms, *at, producers)
    return found, apply_all(disk, found.effects)


def progress(found: RoundResult) -> tuple[int, int]:
    return found.half_offset, found.op_offset


def asked(found: RoundResult) -> list[tuple[str, str, int]]:
    """Who is asked, about what, and with which number."""
    return [
        (client, ask.message.words, ask.message.check_times)
        for client, ask in sent(found.effects, CheckTransactionState)
    ]


def halves(config: Any, *orders: str, born_ms: int = 0) -> MemoryDisk:
    return put(MemoryDisk(), *(make_half(config, o, born_ms=born_ms) for o in orders))


# -- resolved ----------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "end"), [(NEW, 1), (OLD, 0)], ids=["5.5", "4.9"])
def test_a_foreign_tag_resolves_nothing(config, end):
    """Up to 5.0 such a record is never done with either."""
    foreign = make_op(config, "0").put(("TAGS", "x"))
    found, _ = examine(config, put(halves(config, "o1"), foreign))
    assert asked(found) == [("app", "o1", 1)]
    assert progress(found) == (1, end)


def test_before_anyone_is_asked_the_op_queue_is_drained():
    """The record that ends o1 is the 40th: it is not among the first 32 that a round reads."""
    ops = [make_op(NEW, "7") for _ in range(39)]
    found, _ = examine(NEW, put(halves(NEW, "o1"), *ops, make_op(NEW, "0")))
    assert asked(found) == []
    assert found.half_offset == 1


# -- pending -----------------------------------------------------------------------------


@pytest.mark.parametrize("most", [0, 1])
def test_a_maximum_below_two_still_gives_one_check(most):
    config = make_config(check_max=most)
    found, disk = examine(config, halves(config, "o1"))
    assert asked(found) == [("app", "o1", 1)]
    found, disk = examine(config, disk, (1, 0))
    assert asked(found) == [] and words_in(disk, DISCARD) == ["o1 (1)"]


def test_a_quick_store_lets_the_last_check_race_with_the_discard():
    """Its copy is seen by the same round, which parks it before anybody can answer."""
    config = make_config(same_round=1)
    half = make_half(config, "o1", (CHECK_TIMES, "2"))
    found, disk = examine(config, put(MemoryDisk(), half))
    assert asked(found) == [("app", "o1", 3)]
    assert words_in(disk, DISCARD) == ["o1 (3)"]
    assert progress(found) == (2, 0)


# -- too young, too old ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "age_ms", "is_asked"),
    [(NEW, 5_999, False), (NEW, 6_000, False), (NEW, 6_001, True), (OLD, 5_999, False),
     (OLD, 6_001, True)],
)  # fmt: skip
def test_a_young_half_is_not_asked_about(config, age_ms, is_asked):
    found, _ = examine(config, halves(config, "o1", born_ms=LATER - age_ms))
    assert bool(asked(found)) is is_asked
    assert progress(found) == (int(is_asked), 0)


# -- an immunity of its own --------------------------------------------------------------


def immune(config: Any, seconds: str) -> MemoryDisk:
    return put(MemoryDisk(), make_half(config, "o1", (CHECK_IMMUNITY, seconds)))


def test_each_copy_says_where_the_first_one_lies():
    disk, at = immune(NEW, "600"), (0, 0)
    for _ in range(2):
        found, disk = examine(NEW, disk, at)
        at = progress(found)
    assert [s.message.get(PREPARED_QUEUE_OFFSET) for s in in_queue(disk, HALF)] == [None, "0", "0"]


def test_a_second_record_for_the_first_half_ends_its_copy():
    """It is read behind a pending half, when the first one has been passed already."""
    copy = make_half(NEW, "o1", (CHECK_IMMUNITY, "60"), (PREPARED_QUEUE_OFFSET, "0"))
    disk = put(immune(NEW, "60"), make_half(NEW, "x"), copy)
    disk = put(disk, make_op(NEW, "0"), *[make_op(NEW, "7")] * 31, make_op(NEW, "0"))
    found, disk = examine(NEW, disk, at_ms=50_000)
    assert asked(found) == [("app", "x", 1)]
    assert words_in(disk, HALF) == ["o1", "x", "o1", "x (1)"]
    assert found.half_offset == 3


@pytest.mark.parametrize("text", ["-1", "soon"])
def test_what_is_no_number_means_the_timeout(text):
    found, _ = examine(NEW, immune(NEW, text), at_ms=6_001)
    assert asked(found) == [("app", "o1", 1)]
    found, disk = examine(NEW, immune(NEW, text), at_ms=5_000)
    assert asked(found) == [] and words_in(disk, HALF) == ["o1", "o1 (1)"]


# -- safeguards --------------------------------------------------------------------------


def test_a_record_that_names_a_half_twice_is_done_with_after_it_was_passed_once() -> None:
    """As a broker of 5.5.0 does: it keeps the halves that a record names as a set."""
    disk = put(MemoryDisk(), make_half(NEW, "o1"), make_op(NEW, "0,0,"))
    found, _ = examine(NEW, disk)
    assert progress(found) == (1, 1) and not asked(found)


# ---- What a half becomes: only the transaction's bits of its sysFlag change on the way

#: compressed by zlib (as 4.9 and as 5.5 say it), LZ4, ZSTD; bits that no release knows
PACKED = pytest.mark.parametrize("bits", [0x1, 0x301, 0x101, 0x201, 0x4000_0000])
CONFIG = make_config()


def store(message: Message) -> Stored:
    (stored,) = in_queue(put(MemoryDisk(), message), message.queue)
    return stored


@PACKED
def test_how_a_body_is_compressed_is_said_of_it_all_the_way(bits: int) -> None:
    sent = replace(make_message("o1"), sys_flag=bits | TransactionType.PREPARED_TYPE, flag=7)
    half = store(check.build_half(sent, CONFIG))
    copy = store(check.build_copy(half, 1))
    assert (half.message.sys_flag, copy.message.sys_flag) == (bits, bits)
    assert check.build_question(half, copy).message.sys_flag == bits
    assert check.build_parked(copy).sys_flag == bits
    committed = store(check.build_committed(half, CONFIG))
    assert committed.message.sys_flag == bits | TransactionType.COMMIT_TYPE
    retry = build_retry(ConsumerSendMsgBack("shop", 0), committed, CONFIG)
    assert retry.sys_flag == committed.message.sys_flag
    plain = replace(sent, sys_flag=bits | TransactionType.PREPARED_TYPE)
    unguarded = replace(CONFIG, on=CONFIG.on - {"half_topic"})
    assert check.build_half(plain, unguarded).sys_flag == bits


@pytest.mark.parametrize("kind", TransactionType)
def test_the_transaction_s_bits_are_two(kind: TransactionType) -> None:
    for bits in (0, 0x301, 0x30C, 0x7FFF_FFFF):
        marked = set_type(bits, kind)
        assert read_type(marked) == kind
        assert marked & ~0xC == bits & ~0xC


# ---- Op records: what they say, when they are written, and what a kill takes ---------


@pytest.mark.parametrize(
    ("body", "named"),
    [("0", (0,)), ("0,1,5,", (0, 1, 5)), ("", ()), ("x,3,", (3,)), (b"4,7,", (4, 7))],
)
def test_a_body_names_queue_offsets_of_halves(body, named):
    op = build_op("", NEW, 0)
    disk = put(MemoryDisk(), op)
    (stored,) = in_queue(disk, OP)
    assert parse_op(replace(stored, message=replace(op, body=body))) == named


def test_a_foreign_tag_names_nothing():
    disk = put(MemoryDisk(), build_op("0", NEW, 0).put(("TAGS", "x")))
    assert parse_op(in_queue(disk, OP)[0]) == ()


@pytest.mark.parametrize(
    ("at_ms", "since_ms", "after_ms"),
    [(0, 0, 3_000), (1_000, 0, 2_000), (2_999, 0, 1), (7_100, 7_100, 3_000), (9_000, 1_000, 1_000)],
)
def test_5_5_lets_ends_wait_until_the_service_comes_round(at_ms, since_ms, after_ms):
    """At intervals from the first end on, not from a round number of the clock."""
    writer = Writer(MemoryDisk(), at_ms)
    assert record_end(NEW, (), 7, writer, at_ms, since_ms) == (7,)
    assert writer.effects == (SetTimer(OP_BATCH, after_ms),)
    second = Writer(MemoryDisk(), at_ms)
    assert record_end(NEW, (7,), 8, second, at_ms, since_ms) == (7, 8)
    assert second.effects == ()


def test_a_full_record_is_not_waited_for():
    config = make_config(op_batch_chars=4)
    writer = Writer(MemoryDisk(), 0)
    assert record_end(config, (1,), 2, writer, 0, 0) == ()
    assert CancelTimer(OP_BATCH) in writer.effects
    assert words_in(apply_all(MemoryDisk(), writer.effects), OP) == ["1,2,"]


def test_an_end_does_not_look_at_those_that_wait():
    """Two thousand may wait, and a busy broker notes an end each half of a millisecond."""

    class Looked(int):
        def __gt__(self, other: int) -> bool:
            raise AssertionError("looked at")

        __lt__ = __str__ = __gt__  # type: ignore[assignment]

    waiting = tuple(map(Looked, range(100)))
    assert len(record_end(NEW, waiting, 100, Writer(MemoryDisk(), 0), 0, 0)) == 101


def test_a_record_takes_only_so_many():
    config = make_config(op_batch_chars=4)
    writer = Writer(MemoryDisk(), 0)
    assert write_batch(config, (1, 2, 3, 44, 5), writer, 0) == ()
    assert words_in(apply_all(MemoryDisk(), writer.effects), OP) == ["1,2,", "3,44,", "5,"]
