"""sendMessageInTransaction: the half, the local transaction, the end.

Sources: DefaultMQProducerImpl#sendMessageInTransaction, #endTransaction (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Effects, Outcome, Send, build_failure, build_success, replace
from ...kernel.outcome import UNKNOWN
from ..application.listener import Finished, Task
from ..messages import (
    CHECK_IMMUNITY,
    DELAY,
    KEYS,
    PGROUP,
    STORED,
    TRAN_MSG,
    UNIQ_KEY,
    EndTransaction,
    Message,
    ResumeCheckHalfMessage,
    SendMessage,
    SendMessageResponse,
    split_queue,
)
from ..states import END_OF, LocalTransactionState, SendStatus, TransactionType
from .calls import End, Resume, SendInTransaction, SendPlain

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]

EXECUTE = 0
ROLLBACK = Finished(LocalTransactionState.ROLLBACK_MESSAGE)
NO_DELAY = "MQClientException: Transactional messages do not support delayed delivery"


def begin_send(producer: Producer, call: SendInTransaction | SendPlain, at_ms: int) -> Result:
    in_transaction = isinstance(call, SendInTransaction)
    if in_transaction and call.delay and producer.config.cluster.release != "4.9":
        return producer.finish(build_failure(call, NO_DELAY))
    message = _build_message(producer, call, at_ms)
    new = replace(
        producer, half=SendMessage(message, producer.config.group), sent=producer.sent + 1
    )
    if in_transaction and "half_before_execute" not in new.config.cluster.on:
        return replace(new, local=Task(call.order)).run(EXECUTE)
    return _send_half(new)


def _build_message(producer: Producer, call: SendInTransaction | SendPlain, at_ms: int) -> Message:
    """The message; UNIQ_KEY is given here and stays the same when the send is repeated."""
    config = producer.config
    topic, queue_id = split_queue(call.queue)
    key = f"{config.name}.{producer.life}.{producer.sent + 1}"
    message = Message(topic, queue_id, call.order, born_ms=at_ms, born_host=config.name)
    message = message.put((UNIQ_KEY, key), (KEYS, call.order))
    match call:
        case SendPlain(delay=delay):
            return message.put((DELAY, str(delay))) if delay else message
        case SendInTransaction(immunity=immunity):  # a delay level is cleared
            message = message.put((TRAN_MSG, "true"), (PGROUP, config.group))
            message = message.mark(TransactionType.PREPARED_TYPE)
            return message.put((CHECK_IMMUNITY, immunity)) if immunity else message


def _send_half(producer: Producer) -> Result:
    new, heartbeat = producer.use_connection()
    new = replace(new, tries=new.tries + 1)
    return new, (*heartbeat, Send(new.config.cluster.broker, new.half))


def try_again(producer: Producer) -> Result:
    """The connection broke. A send is repeated; what it had stored already is stored twice. What
    was sent by hand is not, and a local transaction under way has nothing to do with it. After the
    last try the client throws (DefaultMQProducerImpl#sendDefaultImpl); any try may be stored."""
    call = producer.call
    if isinstance(call, End | Resume):
        return producer.finish(Outcome(call, UNKNOWN, "the connection broke"))
    if producer.half is None or producer.tries == 0:
        return producer, ()
    if producer.tries >= producer.config.tries:
        return producer.finish(Outcome(call, UNKNOWN, "MQClientException: no answer"))
    return _send_half(producer)


def handle_sent(producer: Producer, answer: SendMessageResponse) -> Result:
    """The half is stored, or it is not. Only SEND_OK lets the local transaction run; of the other
    three statuses nobody can say what a restart would leave, so it ends with ROLLBACK."""
    call, message = producer.call, producer.half.message
    if answer.code not in STORED:
        why = f"MQClientException: {answer}"
        return producer.finish(build_failure(call, why))
    new = replace(producer, half=None, results=producer.results.set(message.words, answer))
    if isinstance(call, SendPlain):
        return new.finish(build_success(call, str(answer)))
    if new.decided is not None:  # the local transaction was not made to wait
        return _end(new, answer, new.decided)
    if answer.status is not SendStatus.SEND_OK:
        return _end(new, answer, ROLLBACK)
    return replace(new, local=Task(call.order, about=answer)).run(EXECUTE)


def finish_local(producer: Producer, result: Finished) -> Result:
    """The local transaction is over. Null and an exception both leave the state at UNKNOW."""
    if result.error and "exception_is_unknown" not in producer.config.cluster.on:
        result = replace(ROLLBACK, error=result.error)
    if result.state is None:
        result = Finished(LocalTransactionState.UNKNOW)
    if producer.half is not None:
        return _send_half(replace(producer, decided=result))
    return _end(producer, producer.results[producer.call.order], result)


def _end(producer: Producer, answer: SendMessageResponse, result: Finished) -> Result:
    """endTransaction, in every case, for UNKNOW too. The call returns what happened *here*."""
    assert result.state is not None
    call = producer.call
    end = EndTransaction(
        producer.config.group,
        END_OF[result.state],
        answer.queue_offset,
        answer.commit_log_offset,
        words=call.order,
        remark=result.error,
    )
    new, heartbeat = producer.use_connection()
    meaning = (answer.status, result.state)
    new, returned = new.finish(build_success(call, f"{answer.status} {result.state}", meaning))
    return new, (*heartbeat, Send(new.config.cluster.broker, end), *returned)


def send_by_hand(producer: Producer, call: End | Resume) -> Result:
    """A request that a tester or an operator makes, and whose answer is looked at."""
    broker = producer.config.cluster.broker
    if isinstance(call, Resume):
        return producer, (Send(broker, ResumeCheckHalfMessage(call.commit_log_offset)),)
    answer = producer.results.get(call.order)
    if answer is None:
        return producer.finish(build_failure(call, f"no half of {call.order} was sent from here"))
    queue_offset = answer.queue_offset if call.queue_offset is None else call.queue_offset
    offset = call.commit_log_offset
    ask = EndTransaction(
        call.group or producer.config.group,
        END_OF[LocalTransactionState(call.end)],
        queue_offset,
        answer.commit_log_offset if offset is None else offset,
        call.from_check,
        oneway=call.end == LocalTransactionState.UNKNOW,
        words=call.order,
    )
    if ask.oneway:  # nobody answers an UNKNOW, and who waited would wait for ever
        new, returned = producer.finish(build_success(call))
        return new, (Send(broker, ask), *returned)
    return producer, (Send(broker, ask),)
