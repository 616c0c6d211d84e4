"""A history -> what no correct run can show, and what could not be decided.

Each message has a value of its own, so one pass notes who sent it, in which transaction, and where
it was read; all anomalies are then questions about these notes. Time and memory grow with the
number of lines.

Who drains a partition has read it from its first offset to its end. So what is there at last is
what the last one to drain it was given: a message that was read before may have been lost
since. Of a process that drains and has no `assign` the history does not say what it was given; then
whatever any reader was given counts as there.

What is *definite*: an abort that was confirmed, a transaction whose commit was never asked for, a
commit that was confirmed. What is *indefinite*: a commit that was asked for and not answered. Its
transaction may be there or not, but not in part.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from ..kernel.text import Text, Words, tr
from .history import (
    ABORTED,
    COMMIT,
    COMMITTED,
    UNKNOWN,
    Assign,
    Drained,
    End,
    Ended,
    Event,
    HistoryError,
    Init,
    Read,
    Send,
)

#: (topic, partition)
Partition = tuple[str, int]
#: (topic, partition, offset)
Place = tuple[str, int, int]

LOST, TORN, DUPLICATE = "lost", "torn", "duplicate"
ABORTED_READ, DIRTY_READ, UNKNOWN_VALUE = "aborted read", "dirty read", "unknown value"
REORDERED, NON_MONOTONIC, DIVERGENT = "reordered", "non-monotonic read", "divergent"
ZOMBIE = "zombie commit"
ANOMALIES = (
    LOST,
    TORN,
    ABORTED_READ,
    DIRTY_READ,
    DUPLICATE,
    REORDERED,
    NON_MONOTONIC,
    DIVERGENT,
    UNKNOWN_VALUE,
    ZOMBIE,
)
#: of a transaction, as a sentence names them
OUTCOMES = {
    "committed": tr("committed", "outcome"), "aborted": tr("aborted", "outcome"),
    "unknown": tr("unknown", "outcome"), "never": tr("never", "outcome"),
}  # fmt: skip
GONE = Words("{} was committed, but none of its messages is there any more; {} had been read")
CUT_OFF = Words("{} ends before offset {}, which was read before: its end is {}")
UNANSWERED = Words("commits without an answer: {}, of which {} were read and {} were not")
UNREAD = Words(
    "committed transactions in partitions that were not read to the end afterwards, so that they "
    "may be lost: {}"
)
ENDED_TWICE = Words(
    "{} ended as {} in line {} and as {} in line {}, so its outcome counts as unknown"
)
TWICE = Words("{} is sent twice, in lines {} and {}, so the two messages cannot be distinguished")


def name_anomaly(name: str) -> Text:
    """An anomaly as a history's head names it; before it, where Chinese is spoken, its Chinese."""
    zh = tr(name, "cell").zh
    return Text(name, f"{zh}（{name}）" if zh else "")


@dataclass(frozen=True, slots=True)
class Finding:
    """An anomaly: its name among ANOMALIES, one sentence, and the events that show it."""

    anomaly: str
    sentence: Text
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """`undecided`: a sentence for each thing that the history cannot show. `counts`: what it holds.
    `findings`: the anomalies."""

    findings: tuple[Finding, ...]
    undecided: tuple[Text, ...]
    counts: dict[str, int]


@dataclass(slots=True)
class Txn:
    """What a history says of one transaction. `sends`: its messages; `ended`: what was reported to
    its producer; `other`: an answer that contradicts it; `init`: its producer's last one before
    `end`."""

    name: str
    sends: list[Send] = field(default_factory=list)
    end: End | None = None
    ended: Ended | None = None
    other: Ended | None = None
    init: Init | None = None

    @property
    def outcome(self) -> str:
        """committed, aborted, unknown, or "never" where no producer asked to commit it."""
        if self.other is not None:
            return UNKNOWN
        if self.ended is not None and self.ended.outcome in (COMMITTED, ABORTED):
            return self.ended.outcome
        return UNKNOWN if self.asked_to_commit else "never"

    @property
    def asked_to_commit(self) -> bool:
        """A message outside a transaction has no `end`: handing it over is asking."""
        if self.end is None:
            return self.ended is not None and self.ended.outcome != ABORTED
        return self.end.how == COMMIT


class Notes:
    """One pass over a history."""

    def __init__(self, history: Iterable[Event]) -> None:
        """Sort all events of a history into notes that the rules below look up: by transaction, by
        value, by offset and by reader. Raises HistoryError where two processes send in one
        transaction."""
        self.txns: dict[str, Txn] = {}  # by name
        self.sent: dict[str, Send] = {}  # by value, the last message sent with it
        self.twice: dict[str, tuple[Send, Send]] = {}  # by value, two messages that have it
        # of each value, one read (the first) of each offset at which it was
        self.reads: dict[str, list[Read]] = defaultdict(list)
        # of each value, the first read by a reader that gets committed messages only
        self.committed_reads: dict[str, Read] = {}
        self.places: dict[Place, Read] = {}  # the first read of an offset
        self.divergent: list[tuple[Read, Read]] = []  # of one offset, with different values
        # two successive reads of one reader, where the offset did not rise
        self.steps_back: list[tuple[Read, Read]] = []
        self.drained: dict[Partition, Drained] = {}  # the last time it was read to its end
        # by value, the reads of the reader that has last read the partition to its end
        self.at_last: dict[Partition, dict[str, Read]] = {}
        # the furthest read of a partition that later ended at its offset or before it
        self.cut_off: dict[Partition, tuple[Read, Drained]] = {}
        self.uncommitted: set[str] = set()  # readers that get open and aborted messages too, now
        self.any_uncommitted = False  # whether there was such a reader
        self.mixed: set[Partition] = set()  # partitions that such a reader was the last to drain
        self.inits: dict[str, list[Init]] = defaultdict(list)  # of each identity
        self.identities: dict[str, Init] = {}  # of each process
        self.counts: Counter[str] = Counter()
        # by (reader, topic, partition), since it was assigned: its last read, its reads by value
        self._last: dict[tuple[str, str, int], Read] = {}
        self._given: dict[tuple[str, str, int], dict[str, Read]] = {}
        self._furthest: dict[Partition, Read] = {}  # the read of the highest offset, by any reader
        self._readers: set[str] = set()
        for event in _in_order(history):
            self.counts[event.name] += 1
            self._note(event)

    def txn(self, name: str) -> Txn:
        if name not in self.txns:
            self.txns[name] = Txn(name)
        return self.txns[name]

    def _note(self, event: Event) -> None:
        """Note one event of the history where the rules look it up: a producer's start, a message
        sent, a transaction's end, a reader's assignment or drained partition, a read."""
        match event:
            case Init(process=process, identity=identity):
                self.inits[identity].append(event)
                self.identities[process] = event
            case Send(process=process, txn=name, value=value):
                if value in self.sent:
                    self.twice[value] = (self.sent[value], event)
                self.sent[value] = event
                sends = self.txn(name).sends
                if sends and sends[0].process != process:
                    raise HistoryError(
                        'lines {} and {}: {} and {} send in one transaction, "{}": a transaction '
                        "has one producer, so give each a name of its own",
                        *(sends[0].line, event.line, sends[0].process, process, name),
                    )
                sends.append(event)
            case End(process=process, txn=name):
                txn = self.txn(name)
                # a request to commit stays: an abort after it may have come too late
                if txn.end is None or txn.end.how != COMMIT:
                    txn.end, txn.init = event, self.identities.get(process)
            case Ended(txn=name, outcome=outcome):
                txn = self.txn(name)
                if txn.ended is None or txn.ended.outcome == UNKNOWN:  # what was confirmed stays
                    txn.ended = event
                elif outcome not in (UNKNOWN, txn.ended.outcome):
                    txn.other = event
            case Drained(process=process, topic=topic, partition=partition):
                self.drained[topic, partition] = event
                self.mixed.discard((topic, partition))
                if process in self.uncommitted:
                    self.mixed.add((topic, partition))
                self.at_last.pop((topic, partition), None)
                # without an Assign nothing is known of what this process has read
                if process in self._readers:
                    reads_by_value = self._given.setdefault((process, topic, partition), {})
                    self.at_last[topic, partition] = reads_by_value
                furthest = self._furthest.get((topic, partition))
                if furthest is not None and furthest.offset >= event.end:
                    self.cut_off.setdefault((topic, partition), (furthest, event))
            case Assign(process=process, isolation=isolation):
                self._readers.add(process)
                self.uncommitted.discard(process)
                if "uncommitted" in isolation.casefold():
                    self.uncommitted.add(process)
                    self.any_uncommitted = True
                # it begins again, so it may read from a lower offset
                own_keys = [key for key in self._last if key[0] == process]
                for key in own_keys:
                    del self._last[key]
                    self._given[key] = {}
            case Read():
                self._note_read(event)

    def _note_read(self, read: Read) -> None:
        """Note a read: by value and offset, and whether its offset is not above the reader's
        previous one, or has had another value in an earlier read."""
        reader = (read.process, read.topic, read.partition)
        previous = self._last.get(reader)
        if previous is not None and read.offset <= previous.offset:
            self.steps_back.append((previous, read))
        self._last[reader] = read
        self._given.setdefault(reader, {})[read.value] = read
        # reader[1:]: the partition, (topic, number)
        furthest = self._furthest.setdefault(reader[1:], read)
        if furthest.offset < read.offset:
            self._furthest[reader[1:]] = read
        if read.process not in self.uncommitted:
            self.committed_reads.setdefault(read.value, read)
        place = (read.topic, read.partition, read.offset)
        first_read = self.places.setdefault(place, read)
        if first_read.value != read.value:
            self.divergent.append((first_read, read))
        # a second reader of the offset shows no second message of this value
        if first_read is read:
            self.reads[read.value].append(read)


def _in_order(history: Iterable[Event]) -> Iterator[Event]:
    """All events by time, those of one process as the history has them."""
    processes: dict[str, list[Event]] = defaultdict(list)
    for event in history:
        processes[event.process].append(event)
    return heapq.merge(*processes.values(), key=lambda event: (event.time, event.line))


def check(history: Iterable[Event], allowed: Collection[str] = ()) -> Report:
    """Judge a history by all rules, and return a report of the anomalies that it shows and of what
    it cannot decide. `allowed`: anomalies that the system does not promise to exclude; of these
    only the names of those found are reported, among the undecided. Raises HistoryError where
    reading `history` does, where two processes send in one transaction, and where `allowed` names
    no anomaly."""
    if strange := ", ".join(sorted(set(allowed) - set(ANOMALIES))):
        names = ", ".join(ANOMALIES)
        raise HistoryError('the head\'s "allowed" names {}: expected some of {}', strange, names)
    notes = Notes(history)
    findings = (
        *_find_cut_off(notes),
        *_find_lost_or_torn(notes),
        *_find_read_too_early(notes),
        *_find_duplicates(notes),
        *_find_reordered(notes),
        *_find_steps_back(notes),
        *_find_unknown(notes),
        *_find_zombies(notes),
    )
    # how many transactions had which outcome, beside how many events of each kind there are
    counts = Counter(txn.outcome for txn in notes.txns.values())
    judged = tuple(finding for finding in findings if finding.anomaly not in allowed)
    undecided = [
        Words("{}: not judged, because the history's head allows it")(name_anomaly(name))
        for name in sorted({finding.anomaly for finding in findings} & set(allowed))
    ]
    return Report(judged, (*undecided, *_list_undecided(notes)), dict(notes.counts) | dict(counts))


def _drained_after(notes: Notes, txn: Txn) -> bool:
    """Whether each partition of a transaction was read to its end after the transaction's end."""
    last = max(event.time for event in (txn.ended, txn.end, *txn.sends) if event is not None)
    ends = (notes.drained.get((send.topic, send.partition)) for send in txn.sends)
    return all(end is not None and end.time > last for end in ends)


def _find_lost_or_torn(notes: Notes) -> Iterator[Finding]:
    """Yield a finding for each transaction that was committed, or may have been (outcome
    "unknown"), and of which some messages (torn) or all (lost) are missing, although its partitions
    were read to the end after it. An unknown one is lost only where a message of it had been read
    before: else it may have been aborted."""
    for txn in notes.txns.values():
        if txn.outcome not in (COMMITTED, "unknown") or not _drained_after(notes, txn):
            continue
        known = txn.outcome == COMMITTED
        if not known and any((send.topic, send.partition) in notes.mixed for send in txn.sends):
            continue  # who has drained it was given aborted messages too
        present = [
            send
            for send in txn.sends
            # what is read of a value that is sent twice may be the other message; where the commit
            # is known, what is missing is an anomaly either way, torn or lost
            if _find_last_read(notes, send) and (known or send.value not in notes.twice)
        ]
        missing = [send for send in txn.sends if not _find_last_read(notes, send)]
        # the first read of each missing message that was read while it was still there
        read_before = [
            notes.committed_reads[send.value]
            for send in missing
            if send.value in notes.committed_reads and send.value not in notes.twice
        ]
        if missing and present:
            sentence = Words("{} ({}): {} of {} messages are missing, {} first")(
                txn.name, OUTCOMES[txn.outcome], len(missing), len(txn.sends), missing[0].value
            )
            events = (_find_last_read(notes, present[0]), missing[0])
            yield Finding(TORN, sentence, _lines(*events, txn.end, txn.ended))
        elif missing and (read_before or known):
            if not known:
                sentence = Words("{} was read, but none of its messages is there")(txn.name)
            elif not read_before:
                sentence = Words("{} was committed, but none of its messages is there")(txn.name)
            else:
                sentence = GONE(txn.name, read_before[0].value)
            yield Finding(LOST, sentence, _lines(missing[0], txn.end, txn.ended, *read_before[:1]))


def _find_last_read(notes: Notes, send: Send) -> Read | None:
    """By the one who drained its partition last; None where it was not there any more."""
    given = notes.at_last.get((send.topic, send.partition))
    if given is not None:
        return given.get(send.value)
    return next((read for read in notes.reads.get(send.value, ()) if _fits(send, read)), None)


def _fits(send: Send, read: Read) -> bool:
    """Whether a message was read in the partition that it was sent to."""
    return (send.topic, send.partition) == (read.topic, read.partition)


def _find_cut_off(notes: Notes) -> Iterator[Finding]:
    """An end of a log only moves forward."""
    for (topic, partition), (read, drained) in notes.cut_off.items():
        where = f"{topic}-{partition}"
        yield Finding(LOST, CUT_OFF(where, read.offset, drained.end), (read, drained))


def _find_read_too_early(notes: Notes) -> Iterator[Finding]:
    """Yield a finding for each message that a reader of committed messages was given although its
    transaction was aborted, or its commit was never requested, or was only requested later."""
    for value, read in notes.committed_reads.items():
        if value not in notes.sent or value in notes.twice:
            continue
        send = notes.sent[value]
        txn = notes.txns[send.txn]
        if txn.outcome == ABORTED:
            sentence = Words("{} was read although its transaction {} was aborted")(value, txn.name)
            yield Finding(ABORTED_READ, sentence, _lines(send, txn.ended, read))
        elif txn.outcome == "never":
            unasked = Words("{} was read although no commit of {} was requested")
            sentence = unasked(value, txn.name)
            yield Finding(DIRTY_READ, sentence, _lines(send, txn.end, read))
        # (`or send`: outside a transaction, sending requests the commit)
        elif read.time < (txn.end or send).time:
            sentence = Words("{} was read before a commit of {} was requested")(value, txn.name)
            yield Finding(DIRTY_READ, sentence, _lines(send, read, txn.end))


def _find_duplicates(notes: Notes) -> Iterator[Finding]:
    for value, reads in notes.reads.items():
        if len(reads) > 1 and value not in notes.twice:
            sentence = Words("{} was read at {} and {}")(value, *map(_place, reads[:2]))
            sent = (notes.sent[value],) if value in notes.sent else ()
            yield Finding(DUPLICATE, sentence, _lines(*sent, *reads[:2]))


def _find_reordered(notes: Notes) -> Iterator[Finding]:
    """Find messages of one process that are in a partition's log in another order than they were
    sent. Of a message that is there twice only the copy that was read first counts
    (`_find_duplicates` reports the others)."""
    # by (process, topic, partition): of the messages so far the one that was sent last
    latest: dict[tuple[str, str, int], Send] = {}
    for place in sorted(notes.places):
        value = notes.places[place].value
        repeated = notes.reads[value][0] is not notes.places[place]
        # unknown to the senders, or sent twice: which of the two it is cannot be told
        if value not in notes.sent or value in notes.twice or repeated:
            continue
        send = notes.sent[value]
        key = (send.process, *place[:2])
        before = latest.get(key)
        if before is not None and send.line < before.line:
            sentence = Words("{} was sent before {}, but comes after it in the log")
            reads = (notes.reads[before.value][0], notes.reads[send.value][0])
            events = (send, before, *reads)
            yield Finding(REORDERED, sentence(send.value, before.value), events)
        else:
            latest[key] = send


def _find_steps_back(notes: Notes) -> Iterator[Finding]:
    for before, read in notes.steps_back:
        sentence = Words("{} read {} after offset {}")
        told = sentence(read.process, _place(read), before.offset)
        yield Finding(NON_MONOTONIC, told, (before, read))
    for one, other in notes.divergent:
        values = (one.process, one.value, other.process, other.value)
        told = Words("at {}, {} read {}, but {} read {}")(_place(one), *values)
        yield Finding(DIVERGENT, told, (one, other))


def _find_unknown(notes: Notes) -> Iterator[Finding]:
    for value, reads in notes.reads.items():
        send = notes.sent.get(value)
        if send is None:
            sentence = Words("{} was read but never sent")(value)
            yield Finding(UNKNOWN_VALUE, sentence, (reads[0],))
        elif value not in notes.twice and not _fits(send, reads[0]):
            elsewhere = Words("{} was read in {}-{}, but never sent there")
            sentence = elsewhere(value, reads[0].topic, reads[0].partition)
            yield Finding(UNKNOWN_VALUE, sentence, (send, reads[0]))


def _find_zombies(notes: Notes) -> Iterator[Finding]:
    """Who has taken an identity over has fenced the one before it, whose commit is then refused.
    Where both asked for it at the same time, nothing says who came first: nobody is accused."""
    for txn in notes.txns.values():
        mine = txn.init
        if txn.outcome != COMMITTED or txn.end is None or mine is None:
            continue
        for heir in notes.inits[mine.identity]:
            is_later = mine.time < (heir.asked or heir.time) and heir.time < txn.end.time
            if is_later and heir.process != mine.process:
                sentence = Words("{} was committed after {} took its identity over")
                told = sentence(txn.name, heir.process)
                yield Finding(ZOMBIE, told, _lines(heir, txn.end, txn.ended))
                break


def _list_undecided(notes: Notes) -> Iterator[Text]:
    """Yield a sentence for each thing that the history cannot decide: unanswered commits,
    partitions that were not read to the end, values sent twice, transactions with two different
    ends, readers of uncommitted data, and a history in which nothing was read."""
    unanswered = [txn for txn in notes.txns.values() if txn.outcome == "unknown"]
    if unanswered:
        # of how many at least one message was read
        seen = sum(any(send.value in notes.reads for send in txn.sends) for txn in unanswered)
        yield UNANSWERED(len(unanswered), seen, len(unanswered) - seen)
    unread = [
        t for t in notes.txns.values() if t.outcome == COMMITTED and not _drained_after(notes, t)
    ]
    if unread:
        yield UNREAD(len(unread))
    for first, second in notes.twice.values():
        yield TWICE(first.value, first.line, second.line)
    for txn in notes.txns.values():
        if txn.ended is not None and txn.other is not None:
            ends = ((OUTCOMES[one.outcome], one.line) for one in (txn.ended, txn.other))
            yield ENDED_TWICE(txn.name, *chain(*ends))
    if notes.any_uncommitted:
        yield tr("a reader used read_uncommitted, so it may get aborted and dirty messages")
    if not (notes.counts["read"] or notes.counts["drained"]):
        yield tr("nothing was read, so only what the producers were told is checked")


def _lines(*events: Event | None) -> tuple[Event, ...]:
    return tuple(event for event in events if event is not None)


def _place(read: Read) -> Text:
    return Words("{} offset {}")(f"{read.topic}-{read.partition}", read.offset)


def _join(some: list[Text]) -> Text:
    return Text(", ".join(one.en for one in some), "；".join(one.of("zh") for one in some))


def tell_tried(done: Mapping[Text, int], never: Text) -> Iterator[Text]:
    """What a test run has done, and how often; `never`: what no test run of this workload does."""
    tried = [Words("{} {}×")(what, n) for what, n in done.items() if n]
    yield Words("tried: {}")(_join(tried) if tried else tr("nothing", "tried"))
    if missing := [what for what, n in done.items() if not n]:
        yield Words("not tried, too short or not possible here: {}")(_join(missing))
    yield Words("never tried by this command: {}")(never)
