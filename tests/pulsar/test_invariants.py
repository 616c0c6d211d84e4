"""A role of Pulsar's whose memory is broken trips over it."""

from dataclasses import replace

import pytest

from mqlab.kernel import Append, Appended, Caller, Map, MemoryDisk
from mqlab.pulsar import subscription
from mqlab.pulsar.buffer import Buffer
from mqlab.pulsar.coordinator import Coordinator, End, TxnMeta
from mqlab.pulsar.messages import LedgerEntry, PendingAckEntry, TxnID
from mqlab.pulsar.states import BufferState, TxnAction, TxnStatus
from mqlab.pulsar.subscription import Subscription
from mqlab.pulsar.topic import Topic
from tests.pulsar.subscription.stand import NAME, TOPIC, Stand

T1 = TxnID(0, 1)
CONFIG = Stand().config
ONE = MemoryDisk().apply(Append(TOPIC, LedgerEntry(0, ("a",), txn=T1)))
READY = Buffer(BufferState.READY)


def test_nobody_is_told_an_end_that_was_not_decided():
    decided = TxnMeta(T1, TxnStatus.COMMITTING)
    end = End(0, T1, TxnAction.COMMIT, None, ((0, (TOPIC, "")),))
    sound = Coordinator(CONFIG, txns=Map([(T1, decided)]), ends=(end,))
    assert sound.step(Appended(sound.log, 0), MemoryDisk())[0] == sound
    for status in (TxnStatus.OPEN, TxnStatus.ABORTING):
        broken = replace(sound, txns=Map([(T1, replace(decided, status=status))]))
        with pytest.raises(AssertionError, match=str(status)):
            broken.step(Appended(sound.log, 0), MemoryDisk())


@pytest.mark.parametrize(
    ("lac", "buffer"),
    [
        (1, READY),
        (0, replace(READY, max_read_position=1)),
        (0, replace(READY, max_read_position=0, ongoing=((T1, 0),))),
    ],
    ids=["a confirmed entry is missing", "one that is readable", "an open one is readable"],
)
def test_nothing_is_readable_that_is_not_there_or_is_open(lac, buffer):
    sound = Topic(CONFIG, TOPIC, lac=0, buffer=replace(READY, ongoing=((T1, 0),)))
    assert sound.step(Appended(TOPIC, 1), ONE)[0] == sound
    with pytest.raises(AssertionError):
        replace(sound, lac=lac, buffer=buffer).step(Appended(TOPIC, 1), ONE)


def test_pending_acks_wait_in_the_order_of_their_log():
    first, second = (
        subscription.Waiting(PendingAckEntry(base, "COMMIT", T1), Caller("tc-0")) for base in (0, 1)
    )
    sub = Subscription(CONFIG, TOPIC, NAME, waiting=(first, second))
    assert subscription.finish_append(sub, 1, -1, MemoryDisk())[0].waiting == (second,)
    with pytest.raises(AssertionError, match="base=0"):
        subscription.finish_append(replace(sub, waiting=(second, first)), 1, -1, MemoryDisk())
