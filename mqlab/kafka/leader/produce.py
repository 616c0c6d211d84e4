"""Produce: verify or add, check, append, answer.

A transactional batch that would open a transaction here first makes the leader ask the
coordinator: a legacy client must have added the partition (else the batch is refused), a
v2 client's partition is added now. While that question is open a *guard* stands; a marker
arriving meanwhile removes it, and a batch that comes back to a removed guard is refused.
So nothing late can open a transaction that nobody would end (KIP-890).

A broker reads no further request from a connection before the last one is answered. So a batch
waits where one of the same connection waits for the coordinator's word.

Sources: ReplicaManager#handleProduceAppend, AddPartitionsToTxnManager,
UnifiedLog#analyzeAndValidateProducerState, SocketServer#Processor (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Append, Caller, Disk, Effects, Reply, Send, SetTimer, replace
from ..errors import Error
from ..log import verification
from ..log.recovery import roll_segment
from ..log.verification import Verifying
from ..log.watching import add_ack
from ..messages import Produce, ProduceResponse

if TYPE_CHECKING:
    from . import Leader

Result = tuple["Leader", Effects]
#: the coordinator moves or loads: a producer is told something that it knows to retry
UNAVAILABLE = frozenset(
    {
        Error.NOT_COORDINATOR,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


def handle(leader: Leader, ask: Produce, caller: Caller, disk: Disk) -> Result:
    if _is_behind(leader, caller):
        return replace(leader, behind=(*leader.behind, (ask, caller))), ()
    return _take(leader, ask, caller, disk)


def _take(leader: Leader, ask: Produce, caller: Caller, disk: Disk) -> Result:
    part, batch = leader.part, ask.batch
    v2 = ask.version >= 12
    if batch.transactional and ask.txn_id is None:
        # Whether this id may be used cannot be looked up (KafkaApis#handleProduceRequest).
        refused = ProduceResponse(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return leader, (Reply(caller, refused),)
    # Asked before the log is looked at: a duplicate that comes when its transaction has ended
    # is refused like any other late batch, though the leader would know it again.
    if not part.needs_guard(batch):
        return append(leader, ask, caller, None, disk)
    if part.is_stale(batch):
        return leader, (Reply(caller, ProduceResponse(Error.INVALID_PRODUCER_EPOCH)),)
    if not v2 and not (ask.verify and "verification" in part.config.on):
        return append(leader, ask, caller, None, disk)
    return verification.ask_coordinator(leader, ask, caller, ask.txn_id or "", batch, disk, v2=v2)


def handle_verification(leader: Leader, corr: int, error: Error, disk: Disk) -> Result:
    """The coordinator has answered."""
    waiting: Verifying[Produce] | None = leader.verifying.get(corr)
    if waiting is None:
        return leader, ()
    if error is Error.CONCURRENT_TRANSACTIONS and waiting.ask.version >= 12:
        # The client's last transaction is still ending: spare it the error, for a while
        # (add.partitions.to.txn.retry.backoff.ms and .max.ms).
        config = leader.config
        if (waiting.again + 1) * config.add_retry_ms <= config.add_retry_max_ms:
            patient = replace(waiting, again=waiting.again + 1)
            new = replace(leader, verifying=leader.verifying.set(corr, patient))
            return new, (SetTimer(f"{verification.ADD}{corr}", config.add_retry_ms),)
    leader = verification.close_question(leader, corr)
    if error:
        refusal = ProduceResponse(translate_error(error, waiting.ask.version))
        return go_on(leader, (Reply(waiting.caller, refusal),), disk)
    return go_on(*append(leader, waiting.ask, waiting.caller, waiting.guard, disk), disk)


def _is_behind(leader: Leader, caller: Caller) -> bool:
    """Whether a request of this connection waits, for the coordinator's word or behind one."""
    waiting = (*(one.caller for one in leader.verifying.values()), *(c for _, c in leader.behind))
    return any((one.name, one.conn) == (caller.name, caller.conn) for one in waiting)


def go_on(leader: Leader, effects: Effects, disk: Disk) -> Result:
    """Behind these effects the next requests that stood behind a question, up to one that is
    appended: the log must have that before another one is numbered."""
    while not any(isinstance(effect, Append) for effect in effects):
        asking = {(one.caller.name, one.caller.conn) for one in leader.verifying.values()}
        places = enumerate(leader.behind)
        at = next((i for i, (_, c) in places if (c.name, c.conn) not in asking), None)
        if at is None:
            break
        ask, caller = leader.behind[at]
        leader = replace(leader, behind=(*leader.behind[:at], *leader.behind[at + 1 :]))
        leader, more = _take(leader, ask, caller, disk)
        effects += more
    return leader, effects


def ask_again(leader: Leader, timer: str) -> Result:
    """The pause before a question is over."""
    corr = int(timer.removeprefix(verification.ADD))
    waiting: Verifying[Produce] | None = leader.verifying.get(corr)
    if waiting is None:
        return leader, ()
    return leader, (Send(leader.config.coordinator, waiting.question, corr),)


def translate_error(error: Error, version: int) -> Error:
    """What a producer is told when the coordinator says no (AddPartitionsToTxnManager)."""
    if error is Error.PRODUCER_FENCED:
        return Error.INVALID_PRODUCER_EPOCH
    if error in UNAVAILABLE:
        return Error.NOT_ENOUGH_REPLICAS
    if error is Error.CONCURRENT_TRANSACTIONS and version < 12:
        return Error.NOT_ENOUGH_REPLICAS  # a disguise that old clients know to retry
    if error is Error.TRANSACTION_ABORTABLE and version < 11:
        return Error.INVALID_TXN_STATE
    return error


def handle_lost_coordinator(leader: Leader, disk: Disk) -> Result:
    """The connection to the coordinator broke: all that wait may try again."""
    refusal = ProduceResponse(Error.NOT_ENOUGH_REPLICAS)
    leader, callers, pauses = verification.give_up_questions(leader)
    return go_on(leader, (*pauses, *(Reply(caller, refusal) for caller in callers)), disk)


def append(leader: Leader, ask: Produce, caller: Caller, guard: int | None, disk: Disk) -> Result:
    part, batch = leader.part, ask.batch
    if ask.flaw:
        return leader, (Reply(caller, ProduceResponse(ask.flaw)),)
    seen = part.find_duplicate(batch)
    if seen is not None:
        # Success, with the offset of the first time. It may not be replicated yet, though.
        answer = ProduceResponse(Error.NONE, seen.first_offset, seen.at_ms)
        end = seen.first_offset + batch.count
        if end <= part.hw:
            return leader, (Reply(caller, answer),)
        return replace(leader, acks=add_ack(leader.acks, (end, caller, answer))), ()
    error = part.check_data(batch, guard)
    if error:
        return leader, (Reply(caller, ProduceResponse(error)),)
    log = disk.log(leader.name)
    base = log.end
    batch = replace(batch, base=base)
    ack = (base + batch.count, caller, ProduceResponse(Error.NONE, base, start=log.start))
    new = replace(leader, part=part.with_data(batch), acks=add_ack(leader.acks, ack))
    return new, (*roll_segment(part, leader.name, disk), Append(leader.name, batch))
