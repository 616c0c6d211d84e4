"""The listener: what becomes of each message that came, and when its offset is acknowledged.

Sources: ConsumeMessageConcurrentlyService#processConsumeResult,
ConsumeMessageOrderlyService#processConsumeResult (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Disk, Effect, Effects, Put, replace
from ..group import ConsumerSendMsgBack, PullMessageResponse
from ..log import Stored
from ..messages import KEYS
from .calls import Outcome

if TYPE_CHECKING:
    from . import Consumer

Result = tuple["Consumer", Effects]

#: the consumer's own table: order → how often it was applied
APPLIED = "applied"


class _Turn:
    """What the listener did with the messages of one turn, one after the other."""

    def __init__(self, consumer: Consumer, disk: Disk) -> None:
        self.on = consumer.config.cluster.on
        self.applied = disk.table(APPLIED)
        self.effects: list[Effect] = []
        self.back: list[ConsumerSendMsgBack] = []
        self.outcomes: list[str] = []

    def apply(self, stored: Stored) -> None:
        """Look the order up, then apply it; without the look-up it is applied each time."""
        order = stored.message.get(KEYS) or stored.message.words
        times: int = self.applied.get(order, 0)
        if times and "idempotent_consumer" in self.on:
            self.outcomes.append(f"{order} known")
            return
        self.applied = self.applied.set(order, times + 1)
        self.effects.append(Put(APPLIED, order, times + 1))
        self.outcomes.append(order)

    def fail(self, consumer: Consumer, stored: Stored) -> None:
        """Send it back; in broadcasting mode, and without retries, it is written to a log file."""
        config, words = consumer.config, stored.message.words
        if config.broadcasting or "consumer_retry" not in self.on:
            self.outcomes.append(f"{words} dropped")
            return
        self.back.append(ConsumerSendMsgBack(config.group, stored.base, words=words))
        self.outcomes.append(f"{words} sent back")


def listen(consumer: Consumer, disk: Disk) -> Result:
    """Hand everything that came to the listener. The offset moves over a message that was sent
    back as over one that was processed; where an orderly listener suspends its queue, it stops."""
    assert consumer.call is not None
    turn = _Turn(consumer, disk)
    positions = consumer.positions
    for pulled in consumer.pulled:
        positions = positions.set(pulled.queue, _go_through(consumer, turn, pulled))
    new = replace(consumer, positions=positions, outcomes=tuple(turn.outcomes))
    new, rest = new.ask(*turn.back) if turn.back else new.finish_turn()
    return new, (*turn.effects, *rest)


def _go_through(consumer: Consumer, turn: _Turn, pulled: PullMessageResponse) -> int:
    """The messages of one queue; gives the offset where the queue is to be read on."""
    assert consumer.call is not None
    for stored in pulled.messages:
        match consumer.call.of(stored.message.words):
            case Outcome.SUCCESS:
                turn.apply(stored)
            case Outcome.LATER:
                turn.fail(consumer, stored)
            case Outcome.SUSPEND:
                turn.outcomes.append(f"{stored.message.words} suspended")
                return stored.queue_offset
    return max(pulled.next_offset, consumer.positions[pulled.queue])
