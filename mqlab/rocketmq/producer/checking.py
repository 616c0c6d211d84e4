"""Answering the broker's question: what became of this transaction?

Sources: ClientRemotingProcessor#checkTransactionState, DefaultMQProducerImpl#checkTransactionState,
#initTransactionEnv (one thread; 5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effects, Send, replace
from ..application.listener import Finished, Task
from ..messages import PGROUP, CheckTransactionState, EndTransaction
from ..states import END_OF

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]

CHECK = 1


def take_check(producer: Producer, ask: CheckTransactionState) -> Result:
    """A producer of another group says nothing; else the question waits for its turn."""
    if ask.message.get(PGROUP) != producer.config.group:
        return producer, ()
    task = Task(ask.message.words, ask.message.check_times, about=ask)
    new = replace(producer, checks=(*producer.checks, task))
    return new.run(CHECK) if len(new.checks) == 1 else (new, ())


def answer_check(producer: Producer, task: Task, result: Finished) -> Result:
    """The answer, one-way, with the offsets of the question: they name the copy that the broker
    put back. Null is no answer at all: the thread fails before it sends one."""
    new = replace(producer, checks=producer.checks[1:])
    sent: Effects = ()
    if result.state is not None:
        ask: CheckTransactionState = task.about
        answer = EndTransaction(
            new.config.group,
            END_OF[result.state],
            ask.queue_offset,
            ask.commit_log_offset,
            from_check=True,
            words=task.order,
            remark=result.error,
        )
        sent = (Send(new.config.cluster.broker, answer),)
    if not new.checks:
        return new, sent
    new, more = new.run(CHECK)
    return new, (*sent, *more)
