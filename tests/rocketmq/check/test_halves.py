"""What a half becomes: only the transaction's bits of its sysFlag change on the way."""

from __future__ import annotations

import pytest

from mqlab.kernel import MemoryDisk, replace
from mqlab.rocketmq import check
from mqlab.rocketmq.broker.timer import build_retry
from mqlab.rocketmq.group import ConsumerSendMsgBack
from mqlab.rocketmq.log import Stored
from mqlab.rocketmq.messages import Message
from mqlab.rocketmq.states import TransactionType, read_type, set_type
from tests.rocketmq.queues import in_queue, make_config, make_message, put

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


def test_an_application_s_flag_and_time_of_birth_come_with_a_commit() -> None:
    sent = replace(make_message("o1", born_ms=5), flag=7)
    half = store(check.build_half(sent, CONFIG))
    committed = check.build_committed(replace(half, store_ms=9), CONFIG)
    assert (committed.flag, committed.born_ms, committed.born_host) == (7, 5, sent.born_host)


def test_the_flag_is_lost_when_a_half_is_put_back_and_the_question_still_has_it() -> None:
    half = store(check.build_half(replace(make_message("o1"), flag=7), CONFIG))
    copy = store(check.build_copy(half, 1))
    assert (half.message.flag, copy.message.flag) == (7, 0)
    assert check.build_question(half, copy).message.flag == 7


@pytest.mark.parametrize("kind", TransactionType)
def test_the_transaction_s_bits_are_two(kind: TransactionType) -> None:
    for bits in (0, 0x301, 0x30C, 0x7FFF_FFFF):
        marked = set_type(bits, kind)
        assert read_type(marked) == kind
        assert marked & ~0xC == bits & ~0xC
