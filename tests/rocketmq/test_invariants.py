"""A broker or a round of the check whose memory is broken trips over it."""

from dataclasses import replace

import pytest

from mqlab.kernel import Caller, Fired, MemoryDisk
from mqlab.rocketmq.broker import Broker, Waiting
from mqlab.rocketmq.check import _Round
from mqlab.rocketmq.group import Producers
from mqlab.rocketmq.log import PERSIST
from mqlab.rocketmq.messages import SendMessageResponse
from tests.rocketmq.queues import make_config


@pytest.mark.parametrize(
    ("copied", "flush", "copy", "sound"),
    [
        (None, True, False, True),
        (3, False, True, True),
        (None, False, False, False),
        (4, False, True, False),
    ],
    ids=["for the disk", "for the slave", "for nothing", "for what the slave has"],
)
def test_an_answer_waits_only_for_what_its_record_lacks(copied, flush, copy, sound):
    waiting = Waiting(3, Caller("app"), SendMessageResponse(), flush, copy)
    broker = Broker(make_config(), copied=copied, waiting=(waiting,))
    if sound:
        assert broker.step(Fired(PERSIST), MemoryDisk())[0].waiting == (waiting,)
        return
    with pytest.raises(AssertionError, match="app"):
        broker.step(Fired(PERSIST), MemoryDisk())
    assert replace(broker, waiting=()).step(Fired(PERSIST), MemoryDisk())


def test_a_round_does_not_leave_an_op_record_that_names_a_half_behind():
    this = _Round(make_config(), MemoryDisk(), 0, 0, 0, Producers())
    this.named, this.done = {0: [], 1: [5]}, [0]
    this.check_invariants()
    this.done = [0, 1]
    with pytest.raises(AssertionError, match="5"):
        this.check_invariants()
