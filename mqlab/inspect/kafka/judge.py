"""What is wrong with a Kafka that was read: pure functions from the reading to findings.

A transaction that is open in a partition is compared with what its coordinator says of the
producer:

    the coordinator says             and then it is
    nothing, or another partition    hanging: it will never be ended
    that it is complete              hanging: a batch came after the marker (KIP-890)
    a newer epoch                    a zombie's
    PrepareCommit, PrepareAbort      decided, and its marker is missing
    Ongoing, for too long            overdue

Source: TransactionsCommand#FindHanging (tools), TransactionCoordinator#abortTimedOutTransactions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from ...kernel import Text, Words
from ...kernel.text import tr
from ..reading import Evidence, Finding, Kind, LogRead, Position, Reading, Txn
from ..show import say_age, say_time
from .internal import DECIDED, ONGOING, STATES, Own, State

SLACK_MS = 10_000  # so often a coordinator looks for timeouts
MOST_MS = 15 * 60_000  # transaction.max.timeout.ms
PENDING_MS = 10_000  # so long a position may be pending before it is a finding
SHARE, LEAST = 0.1, 10  # of the records: so many aborted ones, of so many, are worth a word
HANGING_STATE = "hanging"  # Kafka's own tool has found it
UNPLACED = "?"  # a partition that was not named

BLOCKS = tr(
    "Until it is ended, read_committed consumers get nothing after it in this partition; deletion "
    "and compaction stop there too."
)
HANGING = Kind(
    "hanging", tr("Hanging transaction"), BLOCKS,
    ("kafka/hanging-transaction", "kafka/hanging-found-and-aborted", "lab 07"),
)  # fmt: skip
ZOMBIE = Kind(
    "zombie", tr("A zombie's transaction"), BLOCKS,
    ("kafka/fenced-zombie", "kafka/late-batch-legacy", "lab 06"),
)  # fmt: skip
MISSING = Kind(
    "markers-missing", tr("Decided, with markers missing"),
    tr("Some partitions show the transaction and others do not; where the marker is missing, "
    "read_committed consumers wait."),
    ("kafka/marker-waits-for-a-leader", "kafka/torn-read", "lab 06"),
)  # fmt: skip
OVERDUE = Kind(
    "overdue", tr("Open longer than its timeout"),
    tr("In each of its partitions, read_committed consumers get nothing that comes after it."),
    ("kafka/timeout-abort", "lab 06"),
)  # fmt: skip
PENDING = Kind(
    "pending-offset", tr("A consumer group waits for a pending position"),
    tr("Until that transaction ends, a consumer that requests the group's position has to retry "
    "(UNSTABLE_OFFSET_COMMIT)."),
    ("kafka/offsets-commit", "lab 08"),
)  # fmt: skip
WASTE = Kind(
    "aborted-share", tr("Many records are aborted"),
    tr("Aborted records stay in the log: every consumer fetches them, and read_committed ones "
    "throw them away."),
    ("kafka/basic-abort", "lab 07"),
)  # fmt: skip
ONLY_MARKERS = Kind(
    "lag-of-markers", tr("Lag without a record to read"),
    tr("There is none for consumers, but an alarm that waits for a lag of 0 never clears."),
    ("kafka/group-lag", "lab 07"),
)  # fmt: skip
ORDER = (HANGING, ZOMBIE, MISSING, OVERDUE, PENDING, WASTE, ONLY_MARKERS)

FOUND_BY_TOOL = Words(
    "Kafka's own tool reports a hanging transaction of producer {pid} that begins at offset "
    "{first}."
)
UNKNOWN = Words(
    "The transaction of producer {pid} has been open since offset {first}, and no "
    "coordinator knows this producer."
)
VERY_OLD = Words(
    "The transaction of producer {pid} has been open since offset {first}, for {age}: "
    "longer than brokers allow by default. Its coordinator's record was not read."
)
ELSEWHERE = Words(
    "The transaction of producer {pid} has been open since offset {first}, but according to its "
    "coordinator {id} does not write to this partition."
)
ENDED = Words(
    "The transaction of producer {pid} has been open since offset {first}, but according to its "
    "coordinator {id} is {state}."
)
OLD_EPOCH = Words(
    "Epoch {old} of producer {pid} has been open since offset {first}, and {id} is at "
    "epoch {new}: another instance has taken its place."
)
NO_MARKER = Words("{id} is {state}; a marker is missing in {where}.")
MARKER_UNREAD = Words("{id} is {state}; a marker is missing in {where}, which was not read.")
MARKERS_UNREAD = Words(
    "{id} is {state}; a marker is missing in one or more of {where}, which were not read."
)
TOO_LONG = Words("{id} has been open for {age}; its timeout is {timeout}.")
WAITS = Words("{group} has a pending position in {log}; {who} must end first.")
WAITS_ONE_OF = Words(
    "{group} has a pending position in {log}. The transaction that holds it is one of {who}: the "
    "broker does not say which, as all of them write to the group's partition of "
    "__consumer_offsets."
)
WAITS_FOR = Words("{id} ({state})")
SHARE_IS = Words(
    "{lost} of the {records} records counted ({percent} %) belong to aborted transactions."
)
MARKERS_LEFT = Words(
    "{group} is at {at}, the log ends at {end}; between them are only markers or "
    "aborted records ({n})."
)

ABORT_IT = tr("When you are sure that its application has ended, abort it:")
FIND_IT = tr("Find out whether it hangs:")
FENCE_FIRST = tr("Find the old instance and stop it; then abort what it has left open:")
ASK_LEADER = tr(
    "Bring the partition's leader back: the coordinator sends the marker until it is answered. "
    "Which partitions have no leader:"
)
NOT_ABORTED = tr(
    "A running coordinator aborts it within 10 s. Find out which broker that is and whether it is "
    "healthy; an instance that starts with this id ends it too:"
)
AT_START = tr(
    "When the broker runs again, it aborts the transaction or sends its markers. Then check:"
)
END_OF_IT = tr("The group continues once the transaction has ended. Find out what holds it up:")
WHY_ABORT = tr("Find out which application aborts, and why:")
NO_LAG = tr(
    "Nothing is lost. Base the alarm on a lag that counts records, or on how long the position "
    "has not moved."
)


def judge(reading: Reading) -> tuple[Finding, ...]:
    """The findings, the worst first."""
    own = reading.own if isinstance(reading.own, Own) else Own()
    found = [*_judge_open(reading, own), *_judge_states(reading, own)]
    found += [one for log in reading.logs for one in _judge_share(log, reading, own)]
    found += [one for position in reading.positions for one in _judge_group(position, reading, own)]
    return tuple(sorted(found, key=lambda one: (ORDER.index(one.kind), one.where)))


# ---- transactions ------------------------------------------------------------------------


def _judge_open(reading: Reading, facts: Own) -> Iterator[Finding]:
    """Yield a finding for each open transaction of a partition that its coordinator's state does
    not explain: one that hangs, one of a fenced producer, or, where that state was not read, one
    that is far too old. `facts`: the coordinators' states, and whether all were read (`whole`)."""
    states = {str(state.pid): state for state in facts.states}
    for txn in reading.txns:
        if txn.seen == STATES:
            continue  # what a coordinator says, which is judged by _judge_states
        state = states.get(txn.owner)
        verdict = compare_with_state(txn, state, facts, reading.at_ms)
        if verdict is not None:
            kind, says = verdict
            evidence = [_show_open(txn), *([_show_state(state)] if state else [])]
            topic, _, number = txn.seen.rpartition("-")
            # words to fill in where the log's name is not known
            place = ("--topic", topic or "TOPIC", "--partition", number if topic else "NUMBER")
            words: tuple[str, ...] = ("abort", *place, "--start-offset", str(txn.first))
            advice = FENCE_FIRST if kind is ZOMBIE else ABORT_IT
            # Where batches are unreadable, the marker, or the newest state, may be among them.
            of_it = re.compile(rf"{re.escape(txn.seen)}(?![\w.-])|{STATES}")  # a-1, but not a-10
            damage = [Evidence(str(gap.why), str(gap.what)) for gap in reading.gaps
                      if gap.failed and of_it.match(gap.what.en)]  # fmt: skip
            if kind is OVERDUE or damage:
                words, advice = ("find-hanging", *place), FIND_IT
                evidence += damage[:1]
            command = ask_tool("transactions", reading, facts, *words)
            yield Finding(kind, txn.seen, says, tuple(evidence), (txn.seen,), advice, (command,))


def compare_with_state(
    txn: Txn, state: State | None, facts: Own, now_ms: int
) -> tuple[Kind, Text] | None:
    """Return what is wrong with an open transaction of a partition, given its coordinator's state
    (None: not known): (kind, sentence), or None where nothing is, or it is too young for the two to
    be compared. `facts.whole`: all states were read, so a producer without one is unknown to the
    broker."""
    pid, first = txn.owner, txn.first
    if txn.state == HANGING_STATE:
        return HANGING, FOUND_BY_TOOL(pid=pid, first=first)
    # the time of its first record is -1 where it is unknown
    age = now_ms - txn.since_ms if txn.since_ms >= 0 else 0
    if state is None and not facts.whole:
        return (
            (OVERDUE, VERY_OLD(pid=pid, first=first, age=say_age(age))) if age > MOST_MS else None
        )
    if age <= facts.sure_after_ms:
        return None
    if state is None:
        return HANGING, UNKNOWN(pid=pid, first=first)
    who = {"pid": pid, "first": first, "id": state.txn_id}
    is_open = state.state in (ONGOING, *DECIDED)
    # epochs are -1 where they are unknown
    ahead = state.epoch - txn.epoch if min(state.epoch, txn.epoch) >= 0 else 0
    # From transaction.version 2 on a decision raises the epoch by one (True counts as 1): more than
    # that is fencing. In Ongoing and Empty nothing is decided yet, so each raise is fencing.
    if ahead > (state.state not in (ONGOING, "Empty")):
        return ZOMBIE, OLD_EPOCH(**who, old=txn.epoch, new=state.epoch)
    if not is_open:
        return HANGING, ENDED(**who, state=state.state or "forgotten")
    # its coordinator names the transaction's partitions, and this one (`seen`) is none of them
    if state.partitions and txn.seen not in (UNPLACED, *state.partitions):
        return HANGING, ELSEWHERE(**who)
    return None


def _judge_states(reading: Reading, facts: Own) -> Iterator[Finding]:
    """Yield a finding for each transaction of which the coordinator itself says that something is
    wrong: decided, but markers are missing; or open for longer than its timeout and SLACK_MS.
    `facts.live`: the broker runs, so the advice is to ask it; else it is read from its folder."""
    # (producer id, partition) of all that is open
    open_in = {(txn.owner, txn.seen) for txn in reading.txns if txn.seen != STATES}
    logs_read = {log.name for log in reading.logs}
    for state in facts.states:
        describe = ask_tool(
            "transactions", reading, facts, "describe", "--transactional-id", state.txn_id
        )
        logs = tuple(name for name in state.partitions if name in logs_read)
        age = reading.at_ms - state.start_ms
        decided_at = state.update_ms if state.update_ms >= 0 else state.start_ms
        if state.state in DECIDED:
            if not facts.live and 0 <= reading.at_ms - decided_at < PENDING_MS:
                continue  # this is normal for a moment; a running cluster was asked twice
            # In a partition that was read and where nothing is open, the marker has arrived.
            missing = [name for name in state.partitions if (str(state.pid), name) in open_in]
            unread = [name for name in state.partitions if name not in logs_read]
            if missing or unread or not state.partitions:  # none: it is unknown which they are
                names = ", ".join(missing or unread) or "?"
                unseen = MARKERS_UNREAD if len(unread) > 1 else MARKER_UNREAD
                words = unseen if unread and not missing else NO_MARKER
                says = words(id=state.txn_id, state=state.state, where=names)
                down = ask_tool("topics", reading, facts, "--describe", "--unavailable-partitions")
                proof, advice = (_show_state(state),), ASK_LEADER if facts.live else AT_START
                yield Finding(MISSING, state.txn_id, says, proof, logs, advice, (down, describe))
        elif (  # (a start of 0 or -1 is not known)
            state.state == ONGOING and 0 <= state.timeout_ms < age - SLACK_MS and state.start_ms > 0
        ):
            says = TOO_LONG(id=state.txn_id, age=say_age(age), timeout=say_age(state.timeout_ms))
            proof, advice = (_show_state(state),), NOT_ABORTED if facts.live else AT_START
            yield Finding(OVERDUE, state.txn_id, says, proof, logs, advice, (describe,))


def _show_open(txn: Txn) -> Evidence:
    since = f" lastTimestamp={say_time(txn.since_ms)}" if txn.since_ms >= 0 else ""
    line = (
        f"producerId={txn.owner} producerEpoch={txn.epoch} currentTxnFirstOffset={txn.first}{since}"
    )
    return Evidence(line, txn.source)


def _show_state(state: State) -> Evidence:
    words = [f"transactionalId={state.txn_id} producerId={state.pid} state={state.state}"]
    words += [f"producerEpoch={state.epoch}"] if state.epoch >= 0 else []
    words += [f"partitions=[{', '.join(state.partitions)}]"] if state.partitions else []
    words += [f"start={say_time(state.start_ms)}"] if state.start_ms > 0 else []
    words += [f"timeoutMs={state.timeout_ms}"] if state.timeout_ms >= 0 else []
    return Evidence(" ".join(words), state.source)


# ---- logs and groups ---------------------------------------------------------------------


def _judge_share(log: LogRead, reading: Reading, own: Own) -> Iterator[Finding]:
    counts = dict(log.counts)
    records, lost = counts.get("records", 0), counts.get("aborted", 0)
    if records >= LEAST and lost >= SHARE * records:
        says = SHARE_IS(lost=lost, records=records, percent=round(100 * lost / records))
        line = f"records={records} aborted={lost} markers={counts.get('markers', 0)}"
        shown = (Evidence(line, log.source),)
        topic, _, number = log.name.rpartition("-")
        words = ("describe-producers", "--topic", topic, "--partition", number)
        asked = ask_tool("transactions", reading, own, *words)
        yield Finding(WASTE, log.name, says, shown, (log.name,), WHY_ABORT, (asked,))


def _judge_group(position: Position, reading: Reading, facts: Own) -> Iterator[Finding]:
    """Yield the findings on a group's position in a partition: an offset that has been pending in a
    transaction for too long (an unknown age counts as too long), and a lag without a record to
    read, only markers and aborted ones."""
    group, log = position.group, position.log
    line = f"group={group} partition={log} offset={position.at} logEndOffset={position.end}"
    evidence = Evidence(line, position.source)
    describe = ask_tool("consumer-groups", reading, facts, "--describe", "--group", group)
    holders = [txn for txn in reading.txns if txn.label in position.pending]
    ages = [reading.at_ms - txn.since_ms for txn in holders if txn.since_ms >= 0]
    if position.pending and max(ages, default=PENDING_MS) >= PENDING_MS:
        names = [WAITS_FOR(id=t.name, state=t.state) for t in holders if t.seen == STATES]
        waits_for = ", ".join(map(str, names or position.pending))
        # `more`, columns of the report's table: ("would become", the pending offset), where known
        would_be = "".join(f" {what}={value}" for what, value in position.more)
        evidence = Evidence(f"{line}{would_be.replace('would become', 'pending')}", position.source)
        # of a folder or a dump it is known which transactions; of a running cluster only where
        words = WAITS_ONE_OF if facts.live and len(position.pending) > 1 else WAITS
        says = words(group=group, log=log, who=waits_for)
        yield Finding(PENDING, group, says, (evidence,), (log,), END_OF_IT, (describe,))
    # what is left to read, in offsets: records, and those that hold none for it; (1, 0), which is
    # no finding, where they were not counted
    messages, markers = facts.left.get((group, log), (1, 0))
    if not messages and markers > 0:
        says = MARKERS_LEFT(group=group, at=position.at, end=position.end, n=markers)
        yield Finding(ONLY_MARKERS, group, says, (evidence,), (log,), NO_LAG)


def ask_tool(tool: str, reading: Reading, own: Own, *words: str) -> str:
    """A line that can be pasted into a shell, whatever the names in it are."""
    address = reading.source if own.live and ":" in reading.source else "HOST:PORT"
    rest: Sequence[str] = [shlex.quote(word) for word in words]
    return " ".join([f"kafka-{tool}.sh --bootstrap-server {shlex.quote(address)}", *rest])
