"""Faults of Kafka that spoil one line of the engine: see `tests/models/faults.py`."""

from mqlab.explore import Budget
from mqlab.kafka import coordinator
from mqlab.kafka import leader as produce
from mqlab.kafka.coordinator import Coordinator
from mqlab.kafka.errors import Error
from mqlab.kafka.group import commits
from mqlab.kafka.log import ABORT
from mqlab.kafka.log import role as fetch
from mqlab.kafka.log.role import Partition
from mqlab.kafka.states import TxnState
from mqlab.kernel import Send, replace
from mqlab.registry.cases.kafka import NEXT, SEARCHES, SHORT, TWIN
from tests.models.faults import change_result


def change_ask(patch, where, name, change):
    """What a request's handler is asked is changed: `handle(role, ask, …)`."""
    real = getattr(where, name)
    patch.setattr(where, name, lambda role, ask, *rest: real(role, change(ask), *rest))


# ---- a partition ---------------------------------------------------------------------------


def opens_nothing(patch):
    """A leader does not note that a transaction has begun."""
    change_result(patch, Partition, "with_data", lambda new, old, _: replace(new, open=old.open))


def closes_all(patch):
    """One marker ends every transaction that is open in its partition."""
    change_result(
        patch, Partition, "with_marker", lambda said, *_: (replace(said[0], open=()), said[1])
    )


def trusts_the_append(patch):
    """A transaction is done with when its marker is written, not when it is replicated."""
    change_result(
        patch,
        Partition,
        "with_marker",
        lambda said, *_: (replace(said[0], unreplicated=()), said[1]),
    )


def indexes_no_abort(patch):
    """An aborted transaction is not noted in the index."""
    change_result(patch, Partition, "with_marker", lambda said, *_: (said[0], None))


def indexes_from_the_second(patch):
    """The index says that an aborted transaction begins one offset later than it does."""

    def later(said, *_):
        part, entry = said
        return part, entry and replace(entry, first_offset=entry.first_offset + 1)

    change_result(patch, Partition, "with_marker", later)


def appends_again(patch):
    """A leader compares no numbers, so a retry is one more batch."""
    patch.setattr(Partition, "find_duplicate", lambda part, batch: None)
    patch.setattr(Partition, "_in_order", lambda part, batch: True)


def forgets_what_was_open(patch):
    """A leader that starts again takes every transaction in its log for ended."""
    real = Partition.replay

    def replay(*given, **more):
        part, aborted = real(*given, **more)
        return replace(part, open=()), aborted

    patch.setattr(Partition, "replay", staticmethod(replay))


def reads_to_the_watermark(patch):
    """read_committed is given everything below the high watermark."""
    patch.setattr(fetch, "upper_bound", lambda part, isolation: part.hw)


def lists_no_aborts(patch):
    """A fetch brings no list of aborted transactions."""
    patch.setattr(fetch, "collect_aborted_txns", lambda *_: ())


def answers_unwritten(patch):
    """A producer is told ok, and its batch is not appended."""
    real = produce.append

    def append(leader, ask, caller, guard, disk):
        new, effects = real(leader, ask, caller, guard, disk)
        if new.acks == leader.acks:
            return new, effects
        *_, (_, _, answer) = new.acks
        return leader, (produce.Reply(caller, answer),)

    patch.setattr(produce, "append", append)


# ---- the coordinator -----------------------------------------------------------------------


def commits_what_is_aborted(patch):
    """EndTxn commits, whatever was asked."""
    change_ask(patch, coordinator, "end_txn", lambda ask: replace(ask, commit=True))


def aborts_what_is_committed(patch):
    """EndTxn aborts, whatever was asked."""
    change_ask(patch, coordinator, "end_txn", lambda ask: replace(ask, commit=False))


def mixes_the_markers(patch):
    """The second partition of a transaction gets a marker of the other kind."""

    def mixed(said, *_):
        tc, sends = said
        return tc, tuple(
            Send(s.to, replace(s.body, commit=not s.body.commit)) if n else s
            for n, s in enumerate(sends)
        )

    change_result(patch, coordinator, "send_markers", mixed)


def owes_one_less(patch):
    """The last partition of a transaction gets no marker, and nobody waits for it."""

    def fewer(said, old, txn_id):
        tc, sends = said
        return replace(tc, owed=tc.owed.set(txn_id, tc.owed[txn_id][:-1])), sends[:-1]

    change_result(patch, coordinator, "send_markers", fewer)


def fences_nobody(patch):
    """EndTxn is taken from an older epoch, too."""

    def lenient(said, tc, ask, entry):
        if said[0] is Error.PRODUCER_FENCED and entry.state is TxnState.ONGOING:
            return Error.NONE, False
        return said

    change_result(patch, coordinator, "check_end_txn_v2", lenient)


def leaves_it_open(patch):
    """A newcomer gets its epoch, and the transaction of its older self stays as it is."""
    real = coordinator.init_producer_id

    def handle(tc, ask, caller, disk, at_ms):
        entry = tc.entries.get(ask.txn_id)
        if entry is not None and entry.state is TxnState.ONGOING:
            free = replace(entry, state=TxnState.EMPTY, partitions=())
            tc = replace(tc, entries=tc.entries.set(entry.txn_id, free))
        return real(tc, ask, caller, disk, at_ms)

    patch.setattr(coordinator, "init_producer_id", handle)
    # Not asked: the claim has to find the fault by itself.
    patch.setattr(Coordinator, "check_invariants", lambda tc, txn_id: None)


def recovers_as_aborted(patch):
    """A coordinator that finds PrepareCommit on its disk aborts."""
    real = coordinator.send_markers

    def send_markers(tc, txn_id):
        tc, sends = real(tc, txn_id)
        if tc.pending:
            return tc, sends
        return tc, tuple(Send(s.to, replace(s.body, commit=False)) for s in sends)

    patch.setattr(coordinator, "send_markers", send_markers)


# ---- a group -------------------------------------------------------------------------------


def counts_at_once(patch):
    """A position in a transaction counts as soon as it is written."""

    def note(gc, batch, records):
        return real(gc, replace(batch, transactional=False), records)

    real = commits.note_offsets
    patch.setattr(commits, "note_offsets", note)


def counts_what_was_aborted(patch):
    """An abort marker makes pending positions count."""
    real = commits.apply_marker

    def apply(gc, batch):
        said = "COMMIT" if batch.control == ABORT else batch.control
        return real(gc, replace(batch, control=said))

    patch.setattr(commits, "apply_marker", apply)


def asks_no_generation(patch):
    """A group takes positions from members that it has replaced."""
    patch.setattr(commits, "check_committer", lambda gc, ask: Error.NONE)


def tells_before_it_is_safe(patch):
    """A position is told before the group's log has been replicated that far."""
    real = commits.read_offsets
    patch.setattr(
        commits,
        "fetch_offsets",
        lambda gc, ask, caller, disk: (gc, (commits.Reply(caller, real(gc, ask)),)),
    )


ONE = f"kafka partitions=1 {SHORT}"
TWO = "kafka 'app=init; begin; send orders-0 a; flush; send orders-1 b; commit'"
TWINS = f"kafka partitions=1 {TWIN} {SHORT} {NEXT}"
BESIDE = (
    f"kafka partitions=1 producers=app:order-service,other:billing {SHORT} "
    "'other=init; begin; send orders-0 x; commit'"
)
ABORTS = "kafka partitions=1 'app=init; begin; send orders-0 a; abort'"
GIVEN_BACK = "kafka partitions=1 groups=1 'app=init; begin; send-offsets g orders-0@1; abort'"
READ = (
    "kafka partitions=1 groups=1 producers= readers=one,two "
    "'one=commit-offsets g orders-0@5' 'two=committed g orders-0'"
)
(GENERATIONS,) = (c for c in SEARCHES.cases if c.name == "generation_fencing")
LEADER = Budget(kills=1, killable=("orders-0",))
PATCHES = [
    (opens_nothing, ONE, Budget(), "clean read"),
    (closes_all, BESIDE, Budget(), "LSO waits"),
    (trusts_the_append, ONE, Budget(), "LSO waits"),
    (indexes_no_abort, ABORTS, Budget(), "clean read"),
    (indexes_from_the_second, ABORTS, Budget(), "clean read"),
    (appends_again, ONE, Budget(breaks=1), "once"),
    (forgets_what_was_open, ONE, LEADER, "LSO waits"),
    (reads_to_the_watermark, ONE, Budget(), "clean read"),
    (lists_no_aborts, ABORTS, Budget(), "clean read"),
    (answers_unwritten, ONE, Budget(), "no lost write"),
    (commits_what_is_aborted, ABORTS, Budget(), "as asked"),
    (aborts_what_is_committed, ONE, Budget(), "no lost write"),
    (mixes_the_markers, TWO, Budget(), "same outcome"),
    (owes_one_less, TWO, Budget(), "closed everywhere"),
    (fences_nobody, TWINS, Budget(timers=1), "decided as asked"),
    (leaves_it_open, TWINS, Budget(timers=1), "decided as asked"),
    (recovers_as_aborted, ONE, Budget(kills=1, killable=("coordinator",)), "decided first"),
    (counts_at_once, GIVEN_BACK, Budget(), "offsets with output"),
    (counts_what_was_aborted, GIVEN_BACK, Budget(), "offsets with output"),
    (asks_no_generation, GENERATIONS.line, GENERATIONS.budget, "in generation"),
    (tells_before_it_is_safe, READ, Budget(), "replicated positions"),
]
