"""Fetch: read now; if that is too little, watch, and read again.

A fetch names a least number of bytes and a longest wait. All its partitions are read, one
after the other until the answer is full; if they hold enough, or one has an error, that is the
answer. Else every leader is asked to say when there is more than it just gave, and a timer is
set; whichever comes first, everything is read once more. Nothing is kept between two fetches:
sessions (KIP-227) are declined, and a client then names all of its partitions each time.

Source: KafkaApis#handleFetchRequest, ReplicaManager#fetchMessages, DelayedFetch (4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from ....kafka.errors import Error
from ....kafka.log import Batch
from ....kafka.messages import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Fetch,
    FetchResponse,
    Unwatch,
    Watch,
    Watched,
)
from ....kernel import Caller, CancelTimer, Effects, Map, Reply, Send, SetTimer, frozen, replace
from ..wire.answers import AbortedTransaction, Fetched, FetchedPartition, OfTopic
from ..wire.api import Ask
from ..wire.internal import as_sent
from .epochs import epoch_error
from .gathering import Gathering
from .groups import LEVELS

if TYPE_CHECKING:
    from . import Broker

#: bits of a request's number that tell its parts apart: no frame but a Produce is longer than
#: 2^20 bytes, and a part takes at least one of them
PARTS = 20
ANSWER = 16 << 20  # bytes of records in an answer (fetch.max.bytes), beyond the first batch
READING, WATCHING, LAST = "reading", "watching", "last reading"
FIRST_SESSION = (0, -1)  # epochs that ask for everything


@frozen
class Plan:
    """`reads`: of each partition its leader and what to ask it; `rows`: the answer's shape,
    with the place of a read or what is known; `bytes_left`: bytes that the answer may still grow
    by; `timed`: a timer is set."""

    reads: tuple[tuple[str, Fetch], ...]
    rows: tuple[tuple[str, UUID | None, tuple[tuple[int, int | FetchResponse], ...]], ...]
    bytes_left: int
    phase: str = READING
    timed: bool = False


def begin(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    """Handle Fetch: read from the leader of each wanted partition, one after the other, starting
    with the first. Partitions that are refused have their error in the plan; `take_part` goes on as
    the leaders answer. A partition named twice is read once, from where it was named last."""
    body = ask.body
    # -1: an older request, without fetch sessions, which this server does not keep
    if getattr(body, "session_epoch", -1) not in FIRST_SESSION:
        return broker, (Reply(caller, Fetched((), Error.FETCH_SESSION_ID_NOT_FOUND)),)
    isolation = READ_COMMITTED if body.isolation_level else READ_UNCOMMITTED
    if body.isolation_level not in LEVELS:
        return broker, (Reply(caller, _refuse_all(body, Error.UNKNOWN_SERVER_ERROR)),)
    reads: list[tuple[str, Fetch]] = []
    rows = []
    for name, topic_id, partitions in _wanted_partitions(body):
        topic = broker.topic(name, topic_id)
        # by partition: its refusal, or the index of its read in `reads`
        outcomes: list[tuple[int, int | FetchResponse]] = []
        for partition in partitions:
            leader = broker.partition(topic.name, partition.partition) if topic else None
            error = epoch_error(getattr(partition, "current_leader_epoch", -1))
            if leader is None:
                error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
            if error or leader is None:
                outcomes.append((partition.partition, FetchResponse(error)))
            else:
                outcomes.append((partition.partition, len(reads)))
                limit = min(partition.partition_max_bytes, body.max_bytes)
                reads.append((leader, Fetch(partition.fetch_offset, isolation, limit)))
        rows.append((topic.name if topic else name or "", topic_id, tuple(outcomes)))
    plan = Plan(tuple(reads), tuple(rows), _max_bytes(ask))
    if not reads:
        return broker, (Reply(caller, finish(Gathering(caller, ask, plan, 0))),)
    number, new = broker.begin(Gathering(caller, ask, plan, len(reads)))
    return new, (_read_partition(number, plan, part=0),)


def _refuse_all(body: Any, error: Error) -> Fetched:
    """The whole request (FetchRequest#getErrorResponse)."""
    rows = (
        OfTopic(
            name or "", tuple(FetchedPartition(part.partition, error) for part in parts), topic_id
        )
        for name, topic_id, parts in _wanted_partitions(body)
    )
    return Fetched(tuple(rows), error)


def _wanted_partitions(body: Any) -> list[tuple[str | None, UUID | None, list[Any]]]:
    """Each topic once, with each of its partitions once."""
    topics: dict[tuple[str | None, UUID | None], dict[int, Any]] = {}
    for topic in body.topics:
        key = getattr(topic, "topic", None), getattr(topic, "topic_id", None)
        topics.setdefault(key, {}).update({part.partition: part for part in topic.partitions})
    return [(name, topic_id, list(parts.values())) for (name, topic_id), parts in topics.items()]


def _max_bytes(ask: Ask) -> int:
    return max(min(int(ask.body.max_bytes), ANSWER), 0)


def _read_partition(number: int, plan: Plan, part: int) -> Send:
    """Ask for the next part. One after the other, each for no more than the answer has room
    for: so nothing is gathered that would not travel."""
    role, read = plan.reads[part]
    limit = min(read.max_bytes, plan.bytes_left)
    return Send(role, replace(read, max_bytes=limit), number << PARTS | part)


def take_part(
    broker: Broker, number: int, waiting: Gathering, part: int, answer: Any
) -> tuple[Broker, Effects]:
    """Take a leader's answer for number `part` of `plan.reads` of the waiting fetch `number`: the
    records read, or, while the partitions are watched, the notice of new ones, on which all are
    read again. After a read, read the next partition; after the last, answer the client if there is
    enough, one was refused or it does not wait, or else watch the partitions until there is or the
    client's time is over."""
    plan: Plan = waiting.plan
    if isinstance(answer, Watched):
        if plan.phase != WATCHING:
            # Another notice, or the timer, has begun a read already, which will find these records,
            # too.
            return broker, ()
        return _read_again(broker, number, waiting, READING)
    answer = _in_wire_format(broker, answer)
    plan = replace(plan, bytes_left=max(plan.bytes_left - sum(b.size for b in answer.batches), 0))
    # the answers so far, by number of the partition, and how many are still missing
    got = waiting.got.set(part, answer)
    waiting = replace(waiting, plan=plan, got=got, left=waiting.left - 1)
    if waiting.left:
        new = replace(broker, open=broker.open.set(number, waiting))
        return new, (_read_partition(number, plan, part + 1),)
    # LAST: the time is over, so whatever there is will do
    if plan.phase == LAST or _has_enough(waiting):
        timer = (CancelTimer(str(number)),) if plan.timed and plan.phase != LAST else ()
        return broker.end(number, waiting), (*timer, Reply(waiting.caller, finish(waiting)))
    return _watch(broker, number, waiting)


def _in_wire_format(broker: Broker, answer: FetchResponse) -> FetchResponse:
    """What a group coordinator wrote is turned into Kafka's records."""
    if all(b.size for b in answer.batches):
        return answer

    def topic_id(name: str) -> UUID | None:
        topic = broker.topic(name)
        return topic.uuid if topic is not None else None

    return replace(answer, batches=tuple(as_sent(b, topic_id) for b in answer.batches))


def _has_enough(waiting: Gathering) -> bool:
    body = waiting.ask.body
    answers = waiting.got.values()
    refused = any(isinstance(k, FetchResponse) for _, _, row in waiting.plan.rows for _, k in row)
    if refused or not body.max_wait or any(s.error for s in answers):
        return True
    return bool(sum(b.size for s in answers for b in s.batches) >= body.min_bytes)


def _watch(broker: Broker, number: int, waiting: Gathering) -> tuple[Broker, Effects]:
    """Wait for more than what was just read: for an end that has moved."""
    plan: Plan = waiting.plan
    watches = tuple(
        Send(role, Watch(_limit(waiting.got[i], read), read.isolation), number << PARTS | i)
        for i, (role, read) in enumerate(plan.reads)
    )
    wait_ms = round(waiting.ask.body.max_wait.total_seconds() * 1000)
    timer = () if plan.timed else (SetTimer(str(number), wait_ms),)
    still = replace(waiting, plan=replace(plan, phase=WATCHING, timed=True))
    return replace(broker, open=broker.open.set(number, still)), (*watches, *timer)


def _limit(answer: FetchResponse, read: Fetch) -> int:
    end = answer.lso if read.isolation == READ_COMMITTED else answer.hw
    return max(end, read.offset)


def _read_again(
    broker: Broker, number: int, waiting: Gathering, phase: str
) -> tuple[Broker, Effects]:
    plan: Plan = waiting.plan
    renewed = replace(plan, phase=phase, bytes_left=_max_bytes(waiting.ask))
    again = replace(waiting, plan=renewed, left=len(plan.reads), got=Map())
    new = replace(broker, open=broker.open.set(number, again))
    return new, (*unwatch(number, plan), _read_partition(number, renewed, 0))


def unwatch(number: int, plan: Plan) -> tuple[Send, ...]:
    """End the watches at the leaders: no answer is needed any more."""
    if plan.phase != WATCHING:
        return ()
    return tuple(Send(role, Unwatch(number << PARTS | i)) for i, (role, _) in enumerate(plan.reads))


def end_wait(broker: Broker, number: int) -> tuple[Broker, Effects]:
    """The longest wait is over: what there is now is the answer."""
    waiting: Gathering | None = broker.open.get(number)
    if waiting is None:
        # Answered in this very moment.
        return broker, ()
    if waiting.plan.phase == WATCHING:
        return _read_again(broker, number, waiting, LAST)
    last = replace(waiting, plan=replace(waiting.plan, phase=LAST))
    return replace(broker, open=broker.open.set(number, last)), ()


def finish(done: Gathering) -> Fetched:
    bytes_left = _max_bytes(done.ask)
    topics = []
    first = True
    for name, topic_id, row in done.plan.rows:
        partitions = []
        for index, known in row:
            answer: FetchResponse = done.got[known] if isinstance(known, int) else known
            batches = _fitting(answer.batches, bytes_left, first)
            if batches:
                first = False
                bytes_left -= sum(b.size for b in batches)
            partitions.append(_partition(index, answer, batches))
        topics.append(OfTopic(name, tuple(partitions), topic_id))
    return Fetched(tuple(topics))


def _fitting(batches: tuple[Batch, ...], bytes_left: int, first: bool) -> tuple[Batch, ...]:
    """As many as the answer has room for; the first batch of all always travels, or a
    reader would never get past it (KIP-74)."""
    if sum(b.size for b in batches) <= bytes_left:
        return batches
    kept = 0
    while kept < len(batches) and batches[kept].size <= bytes_left:
        bytes_left -= batches[kept].size
        kept += 1
    return batches[: max(kept, 1 if first else 0)]


def _partition(index: int, answer: FetchResponse, batches: tuple[Batch, ...]) -> FetchedPartition:
    if answer.error:
        # No frontiers with an error; an unknown partition has an empty list of aborted
        # transactions, one that is known has none.
        unknown = answer.error in (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID)
        return FetchedPartition(index, answer.error, aborted_transactions=() if unknown else None)
    aborted = None
    if answer.aborted is not None:
        aborted = tuple(AbortedTransaction(a.pid, a.first_offset) for a in answer.aborted)
    ends = answer.hw, answer.lso, answer.start
    return FetchedPartition(index, answer.error, *ends, aborted, batches)
