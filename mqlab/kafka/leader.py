"""The partition leader: who orders, and who says how far one may read.

**Durable** are the log (data and markers in one sequence of offsets) and the index of
aborted transactions beside it. Everything else (`log/role.py`) is rebuilt from the log.

    Produce           here          verify or add, check, append; answered once replicated
    WriteTxnMarkers   here          one control batch, one offset, the transaction is over
    Fetch, …          ../log        up to LSO or HW, with the list of aborted transactions
    DeleteRecords     here          the log begins later
    DeleteTopic, …    here          nothing is left; a topic of that name may come again
    (a segment rolls) ../log        what a restart need not read the whole log for

*What can go wrong.* A batch may come twice (its answer was lost), out of order, from an
older self of its producer, or after its transaction has ended. Each has its check, in the
order of the real broker. *Invariants:* offsets only grow; LSO ≤ HW ≤ log end; a marker
takes exactly one offset; the LSO never passes an open transaction.

With several replicas this role is the leader's half only: `replication/` copies the log and
says what is safe. *Left out:* compaction, and retention by itself.
Read on in ReplicaManager, UnifiedLog, ProducerStateManager (Kafka 4.3).
"""

from __future__ import annotations

from functools import partial

from ..kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Truncate,
    frozen,
    replace,
)
from ..kernel.disk import LOG_STARTS
from .config import KafkaConfig
from .errors import Error
from .log import batch_at, index_of, role
from .log.role import (
    EXPIRE,
    LEAST_BYTES,
    DescribeProducers,
    DescribeProducersResponse,
    Partition,
    ReaderRequest,
    Verifying,
    Watchers,
    add_ack,
    answer_reader,
    append_marker,
    forget_idle,
    recover_partition,
    roll_segment,
    schedule_expiry,
    take_safe,
    tell_frontiers,
    wake_watchers,
)
from .messages import (
    AddPartitionsToTxnResponse,
    CreateTopic,
    DeleteRecords,
    DeleteRecordsResponse,
    DeleteTopic,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    Produce,
    ProduceResponse,
    TopicResponse,
    Unwatch,
    Watch,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)

# ---- DeleteRecords: the log begins later than it did ---------------------------------
#
# Nothing is copied: the *log start offset* moves, and what is wholly below it may be thrown
# away. It never passes the high watermark, and never goes back. A transaction that is open
# below it stays open; the LSO is then the beginning of the batch that holds the new
# start, because nothing before it can be read.
#
# **Durable** is the table `STARTS`; the disk lets go of what it no longer needs to keep.
#
# Source: Partition#deleteRecordsOnLeader, UnifiedLog#maybeIncrementLogStartOffset,
# #fetchLastStableOffsetMetadata (core and storage, Kafka 4.3).

Result = tuple["Leader", Effects]
STARTS = LOG_STARTS  # table: partition → log start offset
TO_THE_END = -1


def delete_records(
    leader: Leader, ask: DeleteRecords, caller: Caller, disk: Disk
) -> tuple[Leader, Effects]:
    log, hw = disk.log(leader.name), leader.part.hw
    start = hw if ask.offset == TO_THE_END else ask.offset
    if not 0 <= start <= hw:
        refused = DeleteRecordsResponse(-1, Error.OFFSET_OUT_OF_RANGE)
        return leader, (Reply(caller, refused),)
    if start <= log.start:
        return leader, (Reply(caller, DeleteRecordsResponse(log.start)),)
    part = replace(leader.part, start=batch_at(log, start))
    done = Reply(caller, DeleteRecordsResponse(start))
    return replace(leader, part=part), (Put(STARTS, leader.name, start), done)


# ---- A topic that is deleted, and perhaps created again -------------------------------
#
# Who still has to do with a partition that is no more must get an answer. A coordinator that owes
# it a marker is answered without an error: the transaction is over there, with everything else.
# Where a topic of the same name is there again by then, the marker goes to that one: no check tells
# whether it is the same topic (KAFKA-5202).
#
# **Durable** is the table `DELETED`. Sources: TransactionMarkerChannelManager
# #addTxnMarkersToBrokerQueue, ReplicaManager#stopPartitions, LogManager#asyncDelete (Kafka 4.3).

DELETED = "deleted topics"  # table: partition → whether it is gone
GONE = Error.UNKNOWN_TOPIC_OR_PARTITION


def answer_gone(body: object, caller: Caller) -> Effects:
    """The refusal of a request to a partition that was deleted, or was never created. A transaction
    marker is acknowledged instead: the transaction is over there, and its coordinator must not wait
    for ever."""
    match body:
        case WriteTxnMarkers(txn_id=txn_id, pid=pid, epoch=epoch):
            return (Reply(caller, WriteTxnMarkersResponse(txn_id, pid, epoch=epoch)),)
        case Produce():
            return (Reply(caller, ProduceResponse(GONE)),)
        case Fetch():
            return (Reply(caller, FetchResponse(GONE)),)
        case DeleteRecords():
            return (Reply(caller, DeleteRecordsResponse(-1, GONE)),)
        case DescribeProducers():
            return (Reply(caller, DescribeProducersResponse(error=GONE)),)
        case ListOffsets():
            return (Reply(caller, ListOffsetsResponse(-1, error=GONE)),)
        case DeleteTopic():
            return (Reply(caller, TopicResponse(GONE)),)
    return ()  # a long poll or the end of one: its timer answers the client


@frozen
class Gone(Quiet):
    """In the place of a leader that there is not."""

    def step(self, event: Event, disk: Disk) -> tuple[Gone, Effects]:
        # An answer, an append or a timer of the leader that was: nothing is left to do.
        return self, answer_gone(event.body, event.caller) if isinstance(event, Request) else ()


def delete_topic(leader: Leader, caller: Caller, disk: Disk) -> Result:
    """Refuse all that wait here because the topic is deleted, and empty the disk."""
    name = leader.name
    tables = (STARTS, role.table_of(name))
    rows = [(table, key) for table in tables for key in disk.table(table)]
    kept = tuple(Put(table, key, None) for table, key in rows if table != STARTS or key == name)
    logs = (Truncate(name, 0), Truncate(index_of(name), 0))
    new = Leader(leader.config, name, Partition(leader.config), gone=True)
    told = (*leader.resign(GONE), Reply(caller, TopicResponse()))
    return new, (*logs, *kept, Put(DELETED, name, True), *told)


# ---- Produce: verify or add, check, append, answer -----------------------------------
#
# A transactional batch that would open a transaction here first makes the leader ask the
# coordinator: a legacy client must have added the partition (else the batch is refused), a
# v2 client's partition is added now. While that question is open there is a *guard*; a marker
# arriving meanwhile removes it, and a batch that comes back to a removed guard is refused.
# So nothing late can open a transaction that would never be ended (KIP-890).
#
# A broker reads no further request from a connection before the last one is answered. So a batch
# waits where one of the same connection waits for the coordinator's word.
#
# Sources: ReplicaManager#handleProduceAppend, AddPartitionsToTxnManager,
# UnifiedLog#analyzeAndValidateProducerState, SocketServer#Processor (Kafka 4.3).

#: the coordinator moves or loads: a producer gets an error that it knows to retry
UNAVAILABLE = frozenset(
    {Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS}
)


def handle_produce(leader: Leader, ask: Produce, caller: Caller, disk: Disk) -> Result:
    if _is_behind(leader, caller):
        return replace(leader, behind=(*leader.behind, (ask, caller))), ()
    return _verify_or_append(leader, ask, caller, disk)


def _verify_or_append(leader: Leader, ask: Produce, caller: Caller, disk: Disk) -> Result:
    """Handle a Produce request: append its batch at once or, if the batch would open a transaction
    here, first ask the transaction coordinator whether it is open (verification, KIP-890)."""
    part, batch = leader.part, ask.batch
    # from this version on the coordinator adds the partition for the client; before, it only
    # verifies
    is_v2 = ask.version >= 12
    if batch.transactional and ask.txn_id is None:
        # without the id it cannot be checked whether it may be used
        # (KafkaApis#handleProduceRequest)
        refused = ProduceResponse(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return leader, (Reply(caller, refused),)
    # The coordinator is asked before the log is searched for a duplicate: a duplicate that arrives
    # after its transaction has ended is refused like any other late batch.
    if not part.needs_guard(batch):
        return append(leader, ask, caller, guard=None, disk=disk)
    if part.is_stale(batch):
        return leader, (Reply(caller, ProduceResponse(Error.INVALID_PRODUCER_EPOCH)),)
    # an older client's transaction, and this leader is not to verify it
    if not is_v2 and not (ask.verify and "verification" in part.config.on):
        return append(leader, ask, caller, guard=None, disk=disk)
    return role.ask_coordinator(leader, ask, caller, ask.txn_id or "", batch, disk, v2=is_v2)


def handle_verification(leader: Leader, corr: int, error: Error, disk: Disk) -> Result:
    """Take the coordinator's answer to a verification: append the batch that waited for it, or
    refuse it. While the client's previous transaction is still ending, the coordinator is asked
    again for a while, if the client is of version 2. `corr`: the number of the request; the answer
    to one that was given up changes nothing."""
    waiting: Verifying[Produce] | None = leader.verifying.get(corr)
    if waiting is None:
        return leader, ()
    if error is Error.CONCURRENT_TRANSACTIONS and waiting.ask.version >= 12:
        # The client's last transaction is still ending: spare it the error, for a while
        # (add.partitions.to.txn.retry.backoff.ms and .max.ms).
        config = leader.config
        if (waiting.again + 1) * config.add_retry_ms <= config.add_retry_max_ms:
            with_retry = replace(waiting, again=waiting.again + 1)
            new = replace(leader, verifying=leader.verifying.set(corr, with_retry))
            return new, (SetTimer(f"{role.ADD}{corr}", config.add_retry_ms),)
    leader = role.close_question(leader, corr)
    if error:
        refusal = ProduceResponse(translate_error(error, waiting.ask.version))
        return go_on(leader, (Reply(waiting.caller, refusal),), disk)
    return go_on(*append(leader, waiting.ask, waiting.caller, waiting.guard, disk), disk)


def _is_behind(leader: Leader, caller: Caller) -> bool:
    """Whether a request of this connection waits, for the coordinator's answer or after one that
    does."""
    waiting = (*(one.caller for one in leader.verifying.values()), *(c for _, c in leader.behind))
    return any((one.name, one.conn) == (caller.name, caller.conn) for one in waiting)


def go_on(leader: Leader, effects: Effects, disk: Disk) -> Result:
    """Handle the requests that had to wait for an earlier one of their connection (`behind`), which
    the coordinator has now answered; returns their effects after these. An append among the effects
    ends it: the next batch gets its offset only after the log has that one."""
    while not any(isinstance(effect, Append) for effect in effects):
        asking = {(one.caller.name, one.caller.conn) for one in leader.verifying.values()}
        places = enumerate(leader.behind)
        at = next((i for i, (_, c) in places if (c.name, c.conn) not in asking), None)
        if at is None:
            break
        ask, caller = leader.behind[at]
        leader = replace(leader, behind=(*leader.behind[:at], *leader.behind[at + 1 :]))
        leader, more = _verify_or_append(leader, ask, caller, disk)
        effects += more
    return leader, effects


def ask_again(leader: Leader, timer: str) -> Result:
    """The pause before a question is over."""
    corr = int(timer.removeprefix(role.ADD))
    waiting: Verifying[Produce] | None = leader.verifying.get(corr)
    ask = waiting and Send(leader.config.coordinator, waiting.question, corr)
    return leader, (ask,) if ask else ()


def translate_error(error: Error, version: int) -> Error:
    """What is answered to a producer when the coordinator refuses (AddPartitionsToTxnManager)."""
    if error is Error.PRODUCER_FENCED:
        return Error.INVALID_PRODUCER_EPOCH
    is_busy = error is Error.CONCURRENT_TRANSACTIONS and version < 12
    if is_busy or error in UNAVAILABLE:
        return Error.NOT_ENOUGH_REPLICAS  # a disguise that old clients know to retry
    if error is Error.TRANSACTION_ABORTABLE and version < 11:
        return Error.INVALID_TXN_STATE
    return error


def handle_lost_coordinator(leader: Leader, disk: Disk) -> Result:
    """The connection to the coordinator broke: all that wait may try again."""
    refusal = ProduceResponse(Error.NOT_ENOUGH_REPLICAS)
    leader, callers, pauses = role.give_up_questions(leader)
    return go_on(leader, (*pauses, *(Reply(caller, refusal) for caller in callers)), disk)


def append(leader: Leader, ask: Produce, caller: Caller, guard: int | None, disk: Disk) -> Result:
    """Append a batch that passes the checks of size, duplicate, epoch and sequence; any other is
    refused. It is acknowledged once the high watermark has passed it. `guard`: the number under
    which its transaction was verified; None: no verification was needed."""
    part, batch = leader.part, ask.batch
    max_bytes, size = leader.config.max_message_bytes, batch.size or LEAST_BYTES * batch.count
    # flaw: an error that was found before, in the bytes or the timestamp of the batch
    if (flaw := ask.flaw) or 0 <= max_bytes < size:  # -1: checked elsewhere
        return leader, (Reply(caller, ProduceResponse(flaw or Error.MESSAGE_TOO_LARGE)),)
    log = disk.log(leader.name)
    first_write = part.find_duplicate(batch)
    if first_write is not None:
        # a duplicate: acknowledged with the offset of its first write, which must be replicated too
        answer = ProduceResponse(Error.NONE, first_write.first_offset, first_write.at_ms, log.start)
        end = first_write.first_offset + batch.count
        if end <= part.hw:
            return leader, (Reply(caller, answer),)
        return replace(leader, acks=add_ack(leader.acks, (end, caller, answer))), ()
    error = part.check_data(batch, guard)
    if error:
        return leader, (Reply(caller, ProduceResponse(error)),)
    base = log.end
    batch = replace(batch, base=base)
    ack = (base + batch.count, caller, ProduceResponse(Error.NONE, base, start=log.start))
    new = replace(leader, part=part.with_data(batch), acks=add_ack(leader.acks, ack))
    # roll_segment: a snapshot of the producers, where the segment is full
    return new, (*roll_segment(part, leader.name, disk), Append(leader.name, batch))


#: what is sent to a partition's leader
LeaderRequest = (
    Produce | WriteTxnMarkers | DeleteRecords | DeleteTopic | CreateTopic | ReaderRequest
)


@frozen
class Leader:
    """`acks`: (end, who, answer) of appends that are not yet replicated. `verifying`:
    batches whose transaction the coordinator is being asked about. `behind`: batches that came
    on the connection of one of these. `watchers`: long polls. `gone`: its topic was deleted."""

    config: KafkaConfig
    name: str
    part: Partition
    acks: tuple[tuple[int, Caller, ProduceResponse | WriteTxnMarkersResponse], ...] = ()
    verifying: Map[int, Verifying[Produce]] = Map()
    behind: tuple[tuple[Produce, Caller], ...] = ()
    watchers: Watchers = Map()
    gone: bool = False

    def step(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        new, effects = self._handle_event(event, disk)
        new.check_invariants(disk)
        return new, (*effects, *schedule_expiry(self.config, self.part, new.part))

    def check_invariants(self, disk: Disk) -> None:
        """AssertionError where more could be reported to a reader than the log has."""
        part = self.part
        assert part.lso <= part.hw <= disk.log(self.name).end, (part.lso, part.hw)

    def _handle_event(self, event: Event, disk: Disk) -> tuple[Leader, Effects]:
        """Handle one event: a request, an append that is durable or has failed, the transaction
        coordinator's answer to a verification, the loss of its connection, or a timer."""
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self.handle_request(body, caller, disk, at_ms)
            case Appended(end=end):
                # go_on: with requests that waited for an earlier one of their connection
                return go_on(*self.finish_appends(end), disk)
            case AppendFailed(error=error):
                return self._fail_appends(error)
            case Response(corr=corr, body=AddPartitionsToTxnResponse(error=error)):
                return handle_verification(self, corr, error, disk)
            case ConnectionLost(peer=peer) if peer == self.config.coordinator:
                return handle_lost_coordinator(self, disk)
            case Fired(timer=timer, at_ms=at_ms) if timer == EXPIRE:
                return forget_idle(self, at_ms)
            case Fired(timer=timer):
                return ask_again(self, timer)
        # a call, or a broken connection to anybody else, changes nothing
        return self, ()

    def _fail_appends(self, error: str) -> tuple[Leader, Effects]:
        """This broker leads no more, or too few replicas are left: what was appended may
        be cut off again, so refuse all that wait for it instead of reporting it as safe."""
        refusals = tuple(Reply(c, answer.refuse(Error[error])) for _, c, answer in self.acks)
        return replace(self, acks=()), refusals

    def handle_request(
        self, body: LeaderRequest, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        """Pass a request to the function that handles it, by its type. A partition that was deleted
        (`gone`) can only be created again; a marker for it is acknowledged, `Watch` and `Unwatch`
        are not answered, and any other request is refused."""
        match body:
            case CreateTopic() if not self.gone:
                return self, (Reply(caller, TopicResponse(Error.TOPIC_ALREADY_EXISTS)),)
            case CreateTopic():
                done = (Put(DELETED, self.name, False), Reply(caller, TopicResponse()))
                return replace(self, gone=False), done
            case _ if self.gone:
                return self, answer_gone(body, caller)
            case DeleteTopic():
                return delete_topic(self, caller, disk)
            case Produce():
                ahead_ms, max_ahead_ms = body.batch.at_ms - at_ms, self.config.max_ahead_ms
                if 0 <= max_ahead_ms < ahead_ms:  # -1: no limit (LogValidator#validateTimestamp)
                    # refused later: first the partition is added to the batch's transaction
                    body = replace(body, flaw=Error.INVALID_TIMESTAMP)
                return handle_produce(self, body, caller, disk)
            case WriteTxnMarkers():
                return self._write_marker(body, caller, disk, at_ms)
            case Fetch() | ListOffsets() | DescribeProducers() | Watch() | Unwatch():
                return answer_reader(self, body, caller, disk)
            case DeleteRecords():
                return delete_records(self, body, caller, disk)
        raise TypeError(f"a partition leader is never sent {type(body).__name__}")

    def _write_marker(
        self, ask: WriteTxnMarkers, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        error = self.part.check_marker(ask)
        if error:
            answer = WriteTxnMarkersResponse(ask.txn_id, ask.pid, error, ask.epoch)
            return self, (Reply(caller, answer),)
        part, effects, marker = append_marker(self.part, self.name, ask, disk, at_ms)
        done = WriteTxnMarkersResponse(ask.txn_id, ask.pid, epoch=ask.epoch)
        ack = (marker.last + 1, caller, done)
        return replace(self, part=part, acks=add_ack(self.acks, ack)), effects

    def finish_appends(self, end: int) -> tuple[Leader, Effects]:
        """Everything below `end` is safe: the HW moves, who waited for it is answered."""
        part = self.part.advance(end)
        safe, acks = take_safe(self.acks, end)
        ready = tuple(Reply(caller, answer) for _, caller, answer in safe)
        watchers, woken = wake_watchers(self.watchers, partial(role.upper_bound, part))
        return replace(self, part=part, acks=acks, watchers=watchers), (*ready, *woken)

    def describe_changes(self, old: Leader | None) -> tuple[Text, ...]:
        return tell_frontiers(None if old is None else old.part, self.part)

    def resign(self, error: Error = Error.NOT_LEADER_OR_FOLLOWER) -> Effects:
        """Another broker leads now, or none: refuse all that wait here with this error."""
        refusal = ProduceResponse(error)
        _, callers, pauses = role.give_up_questions(self)
        asking = tuple(
            Reply(caller, refusal) for caller in (*callers, *(c for _, c in self.behind))
        )
        return (*pauses, *asking, *self._fail_appends(error.name)[1])

    @classmethod
    def recover(
        cls,
        config: KafkaConfig,
        name: str,
        disk: Disk,
        at_ms: int,
        hw: int | None = None,
        since: int | None = None,
        spare: bool = False,
    ) -> tuple[Leader, Effects]:
        """Build the leader from its log when it starts. `hw`: up to where the log is known to be
        replicated; None: this is the only replica, so all of it is. `since`: the offset from which
        on this replica has copied the log since its start, and knows its producers. `spare`: the
        partition does not exist until it is created."""
        part, effects = recover_partition(config, name, disk, hw, since)
        gone = disk.table(DELETED).get(name, spare)
        return cls(config, name, part, gone=gone), (*effects, *schedule_expiry(config, None, part))
