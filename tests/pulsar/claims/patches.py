"""Faults of Pulsar that spoil one line of the engine: see `tests/models/faults.py`."""

from mqlab.explore import Budget
from mqlab.kernel import Append, Map, Reply, replace
from mqlab.pulsar import coordinator, subscription
from mqlab.pulsar import topic as publishing
from mqlab.pulsar import topic as snapshots
from mqlab.pulsar.buffer import Buffer
from mqlab.pulsar.coordinator import Coordinator, TxnMeta
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import EndTxnOnPartitionResponse, NewTxnResponse, SendReceipt
from mqlab.pulsar.pending_ack import PendingAck
from mqlab.pulsar.states import MarkerType
from mqlab.pulsar.topic import Topic, access
from mqlab.registry.cases.pulsar import GIVEN_UP, ORDER, PASS_ON, SHARED

Buffer = Buffer
#: in the place of a role's own assertion: the claim has to find the fault by itself
NOT_ASKED = lambda role, disk=None: None  # noqa: E731

# ---- what is sent to consumers -------------------------------------------------------------


def sends_aborted_again(patch):
    """An aborted message is left out, but not where it is delivered again."""
    real = subscription._Round.handle

    def handle(this, entry):
        if entry.marker is None and entry.base in this.sub.counts:
            this.view = replace(this.view, aborts=Map())
        real(this, entry)

    patch.setattr(subscription._Round, "handle", handle)


def sends_again_beyond_max_read_position(patch):
    """What is delivered again is not kept below maxReadPosition."""
    real = subscription._Round.entries

    def entries(this):
        again, this.replay = this.replay, ()
        for position in again:
            yield from this.view.log.read(position, position + 1)
        yield from real(this)

    patch.setattr(subscription._Round, "entries", entries)


def sends_acknowledged_again(patch):
    """The dispatcher does not ask whether an entry was acknowledged already."""
    real = subscription._Round.handle

    def handle(this, entry):
        if entry.marker is None and this.sub.cursor.is_deleted(entry.base):
            this.send(entry, ())
        else:
            real(this, entry)

    patch.setattr(subscription._Round, "handle", handle)


# ---- what was answered ---------------------------------------------------------------------


def answers_and_forgets(patch):
    """A plain send is answered, and its entry stays in memory."""
    real = publishing._append

    def append(topic, ask, caller, disk):
        new, effects = real(topic, ask, caller, disk)
        if ask.txn is not None:
            return new, effects
        return topic, (Reply(caller, SendReceipt(position=disk.log(topic.name).end)),)

    patch.setattr(publishing, "_append", append)


def loses_committed_acks(patch):
    """A commit frees what a transaction has acknowledged, and the cursor stays."""
    patch.setattr(
        PendingAck, "commit", lambda pending, txn, cursor, *_: (pending.abort(txn)[0], cursor)
    )


def frees_for_all(patch):
    """An abort frees what other transactions have acknowledged, too."""
    real = PendingAck.abort

    def abort(pending, txn):
        new, freed = real(pending, txn)
        return replace(new, positions=Map(), of_txn=()), freed

    patch.setattr(PendingAck, "abort", abort)


def knows_no_duplicates(patch):
    """With deduplication on, a number that was seen is taken for a new one."""
    patch.setattr(publishing, "_find_duplicate", lambda topic, ask: None)


def forgets_its_numbers(patch):
    """A partition that is loaded knows no producer's number."""
    patch.setattr(publishing, "recover_sequences", lambda topic, log: topic)


# ---- the buffer and its snapshots ----------------------------------------------------------


def snapshot_without_aborts(patch):
    """A snapshot does not say what was aborted."""
    real = snapshots._take

    def take(topic, disk):
        new, (put,) = real(topic, disk)
        return new, (replace(put, entry=replace(put.entry, aborts=())),)

    patch.setattr(snapshots, "_take", take)


def snapshot_too_far(patch):
    """A snapshot says a maxReadPosition that is one too high."""
    real = snapshots._take

    def take(topic, disk):
        new, (put,) = real(topic, disk)
        further = put.entry.max_read_position + 1
        return new, (replace(put, entry=replace(put.entry, max_read_position=further)),)

    patch.setattr(snapshots, "_take", take)


def recovers_no_aborts(patch):
    """A buffer that recovers does not look at abort markers."""
    real = Buffer._take_marker

    def take(buffer, entry, marker):
        new = real(buffer, entry, marker)
        loading = buffer.state.name == "INITIALIZING"
        return replace(new, aborts=buffer.aborts) if loading else new

    patch.setattr(Buffer, "_take_marker", take)


def plain_moves_max_read_position(patch):
    """A plain message moves maxReadPosition while a transaction is open."""
    patch.setattr(Buffer, "_take_normal", lambda buffer, at: buffer._move(at))
    patch.setattr(Topic, "check_invariants", NOT_ASKED)


def any_marker_moves_max_read_position(patch):
    """A marker moves maxReadPosition past itself, whatever else is open."""
    real = Buffer._take_marker

    def take(buffer, entry, marker):
        return real(buffer, entry, marker)._move(entry.base)

    patch.setattr(Buffer, "_take_marker", take)
    patch.setattr(Topic, "check_invariants", NOT_ASKED)


def oldest_by_number(patch):
    """The oldest open transaction is the one with the lowest id."""
    real = Buffer._take_transactional

    def take(buffer, position, txn):
        new = real(buffer, position, txn)
        if new is buffer:
            return new
        ongoing = tuple(sorted(new.ongoing, key=lambda pair: pair[0].least))
        return replace(new, ongoing=ongoing)._move(ongoing[0][1] - 1)

    patch.setattr(Buffer, "_take_transactional", take)


def commits_in_memory(patch):
    """A commit closes a transaction here, and no marker is written."""

    def take(topic, disk, unsafe):
        if unsafe.entry.marker is not MarkerType.TXN_COMMIT:
            return real(topic, disk, unsafe)
        left = tuple(pair for pair in topic.buffer.ongoing if pair[0] != unsafe.entry.txn)
        new = replace(topic, buffer=replace(topic.buffer, ongoing=left))
        return new, (Reply(unsafe.caller, EndTxnOnPartitionResponse(txn=unsafe.entry.txn)),)

    real = Topic.append
    patch.setattr(Topic, "append", take)


# ---- the coordinator -----------------------------------------------------------------------


def changes_its_mind(patch):
    """A record that comes too late counts all the same: the second decision holds."""
    patch.setattr(TxnMeta, "accepts", lambda meta, entry: True)
    patch.setattr(Coordinator, "check_invariants", NOT_ASKED)


def forgets_subscriptions(patch):
    """A subscription that takes part is not remembered."""
    real = TxnMeta.apply
    patch.setattr(TxnMeta, "apply", lambda meta, e: replace(real(meta, e), subscriptions=()))


def waits_for_nobody(patch):
    """COMMITTED is logged before the participants have answered."""
    real = coordinator._end_if_answered
    patch.setattr(
        coordinator, "_end_if_answered", lambda tc, end, disk: real(tc, replace(end, owed=()), disk)
    )


def deletes_at_the_decision(patch):
    """The records of a transaction are deleted as soon as its end is decided."""
    real = coordinator.tell_participants

    def tell(tc, meta, caller, disk):
        tc, effects = tc.delete(meta.records)
        new, more = real(tc, meta, caller, disk)
        return new, (*effects, *more)

    patch.setattr(coordinator, "tell_participants", tell)


def answers_a_begin_first(patch):
    """A transaction's id is given before it is in the log."""
    real = Coordinator._begin

    def begin(tc, timeout_ms, caller, disk, at_ms):
        new, effects = real(tc, timeout_ms, caller, disk, at_ms)
        appended = next(e for e in effects if isinstance(e, Append))
        told = Reply(caller, NewTxnResponse(txn=appended.entry.txn))
        return replace(new, sequence=tc.sequence), (told, *effects)

    patch.setattr(Coordinator, "_begin", begin)


def gives_nothing_back(patch):
    """What an aborted transaction has acknowledged is free, and nobody is sent it again."""
    real = PendingAck.abort

    def abort(pending, txn):
        return real(pending, txn)[0], ()

    patch.setattr(PendingAck, "abort", abort)


def acknowledges_one_more(patch):
    """A commit moves the cursor over the wrong entry: the one behind."""
    real = Cursor.delete
    patch.setattr(Cursor, "delete", lambda c, at: real(c, tuple(p + 1 for p in at)))


def takes_from_the_fenced(patch):
    """Nobody asks whether the producer of a message was thrown out."""
    patch.setattr(access, "find_refusal", lambda topic, ask, caller: None)


def lets_two_in(patch):
    """A producer that fences leaves the others where they are."""
    patch.setattr(access, "_fence_all", lambda topic: (topic, ()))
    real = access._grant

    def grant(topic, ask, who, disk):
        before = topic.access.open
        new, effects = real(topic, ask, who, disk)
        both = Map((*before.items(), *new.access.open.items()))
        return replace(new, access=replace(new.access, open=both)), effects

    patch.setattr(access, "_grant", grant)


SUBSCRIBED = "app=subscribe orders-0 s from=earliest type=Shared"
EARLY = (
    f"pulsar '{SUBSCRIBED}; new-transaction t0; send orders-0 a txn=t0; new-transaction t1; "
    "ack s orders-0@0 txn=t1; abort t1; abort t0'"
)
BEYOND = (
    f"pulsar '{SUBSCRIBED}; send orders-0 a; send orders-0 b; receive s; ack s orders-0@1; "
    "redeliver s; receive s'"
)
BOTH = (
    f"pulsar '{SUBSCRIBED}; send orders-0 a; send orders-0 b; receive s; new-transaction t1; "
    "ack s orders-0@0 txn=t1; new-transaction t2; ack s orders-0@1 txn=t2; abort t2; commit t1'"
)
AGAIN = (
    "pulsar snapshot_count=1 'app=new-transaction t0; send orders-0 a txn=t0; abort t0; "
    "new-transaction t1; send orders-0 b txn=t1; commit t1'"
)
CROSSED = (
    "pulsar 'app=new-transaction t1; new-transaction t2; send orders-0 a txn=t2; "
    "send orders-0 b txn=t1; send orders-0 p; commit t1; abort t2'"
)
FENCING = (
    "pulsar clients=app,again 'app=producer orders-0 access=Exclusive; new-transaction t1; "
    "send orders-0 a txn=t1; commit t1' "
    "'again=producer orders-0 access=ExclusiveWithFencing; send orders-0 b'"
)
TWO = "pulsar 'app=new-transaction t1; new-transaction t2'"
HELD = f"pulsar 'app={SHARED}; new-transaction t1; ack s txn=t1"
NUMBERED = "pulsar dedup=1 'app=send orders-0 a' claims=stored_once"
PARTITION, COORDINATOR = (Budget(kills=1, killable=(n,)) for n in ("orders-0", "tc-0"))
PATCHES = [
    (sends_aborted_again, EARLY, Budget(), "clean read"),
    (sends_again_beyond_max_read_position, EARLY, Budget(), "clean read"),
    (sends_acknowledged_again, BEYOND, Budget(breaks=1), "acked is let go"),
    (answers_and_forgets, "pulsar 'app=send orders-0 a'", Budget(), "answered is kept"),
    (loses_committed_acks, f"{HELD}; commit t1'", Budget(), "committed acks kept"),
    (frees_for_all, BOTH, Budget(), "committed acks kept"),
    (knows_no_duplicates, NUMBERED, Budget(breaks=1), "stored once"),
    (forgets_its_numbers, NUMBERED, PARTITION, "stored once"),
    (snapshot_without_aborts, AGAIN, Budget(), "buffer kept"),
    (snapshot_too_far, AGAIN, Budget(), "buffer kept"),
    (recovers_no_aborts, f"pulsar {GIVEN_UP}", PARTITION, "buffer kept"),
    (plain_moves_max_read_position, CROSSED, Budget(), "max read position correct"),
    (any_marker_moves_max_read_position, CROSSED, Budget(), "max read position correct"),
    (oldest_by_number, CROSSED, Budget(), "max read position correct"),
    (commits_in_memory, f"pulsar {ORDER}", Budget(), "told to all"),
    (changes_its_mind, f"pulsar {ORDER}", Budget(timers=1), "as decided"),
    (forgets_subscriptions, f"pulsar {PASS_ON}", Budget(), "told to all"),
    (waits_for_nobody, f"pulsar {ORDER}", Budget(), "told to all"),
    (deletes_at_the_decision, f"pulsar {ORDER}", COORDINATOR, "ends"),
    (answers_a_begin_first, TWO, COORDINATOR, "ids grow"),
    (
        gives_nothing_back,
        f"{HELD}; abort t1' claims=nothing_passed_over",
        Budget(),
        "nothing passed over",
    ),
    (takes_from_the_fenced, FENCING, Budget(), "one writer"),
    (lets_two_in, FENCING, Budget(breaks=1), "one writer"),
    (acknowledges_one_more, f"{HELD}; commit t1'", Budget(), "committed acks kept"),
]
