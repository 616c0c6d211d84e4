"""What is wrong, from the facts of a Reading alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...kernel import Text, tr
from ..asking import load_cases
from ..reading import Evidence, Finding, Reading, Txn
from ..show import say_age
from .topics import SETTLED, Facts

LONG_MS = 60_000  # Pulsar's own default of a transaction's timeout
STALLED_MS = 30_000  # a broker gives up an operation of its own by then
FEW, SHARE = 4, 0.25  # so many aborted transactions, of all, are many
OPEN, UNKNOWN = "OPEN", "?"
UNTOUCHED = ("NoSnapshot", "None")  # of a topic, of a subscription: no transaction has come so far
NOT_LOADED, RECOVERS = tr("not loaded"), tr("recovering")


def judge(reading: Reading) -> list[Finding]:
    """The worst first."""
    cases = load_cases(Path(__file__).with_name("findings.toml"))
    order = list(cases)
    found = []
    for name, where, line, source, logs, made in _list_cases(reading.own, reading):
        proof = Evidence(line, f"{reading.source} {source}")
        found.append(cases[name].find(where, [proof], logs, **made))
    return sorted(found, key=lambda one: order.index(one.kind.name))


Row = tuple[str, str, str, str, tuple[str, ...], dict[str, Any]]


def _list_cases(facts: Facts, reading: Reading) -> Iterator[Row]:
    """Yield each case that was found: (its name in findings.toml, the place, a line of evidence,
    the request that answered it, the logs to show, what its words are filled with)."""
    # `live`: by id, the transactions that the coordinators list and nobody has decided yet; of the
    # others the last loop tells, as they cannot be aborted
    now, live = reading.at_ms, {txn.name: txn for txn in reading.txns if txn.state == OPEN}
    holding = {name for t in facts.topics for name in t.next_open or ()}
    holding |= {name for p in facts.pending for name in p.of or ()}
    # (`open`: how many transactions are open in the topic's buffer, or in the subscription; `age`,
    # below, is in ms)
    held_back = [t.name for t in facts.topics if t.open]
    held_back += [f"{p.topic}/{p.sub}" for p in facts.pending if p.open]
    # coordinators that are not ready; one line where no answer came from any
    states = [(f"state {state}", Text(state)) for state in facts.states if state != "Ready"]
    for line, state in [(facts.unloaded, NOT_LOADED)] if facts.unloaded and held_back else states:
        words: dict[str, Any] = {"state": state, "n": len(held_back)}
        yield "coordinator-not-ready", "coordinatorStats", line, "coordinatorStats", (), words
    if facts.missing:
        words = {"topic": facts.missing, "space": facts.missing.rpartition("/")[0]}
        line = f"Topic not found {facts.missing}"
        yield "participant-missing", facts.missing, line, "slowTransactions", (), words
    # topics whose buffer is not ready, or holds messages back; topics with many aborts.
    # `next_open`: the transactions that begin right after maxReadPosition, None where no
    # coordinator reports them; `refused`: the broker's words where it cannot load the topic;
    # `recovers`: the buffer still reads its log
    for t in facts.topics:
        source, logs = f"transactionBufferStats/{t.name}", (t.name,)
        line = f"state {t.state}, maxReadPosition {t.place}, ongoingTxnSize {t.open}"
        words = {"topic": t.name, "state": t.state, "place": t.place, "n": t.end - t.readable}
        words |= {"n": UNKNOWN} if not t.end else {}  # its entries were not saved
        next_txns = [live[name] for name in t.next_open or () if name in live]
        if t.refused or t.recovers or (t.state and t.state not in SETTLED):
            words |= {"state": RECOVERS if t.recovers else t.state or UNKNOWN}
            yield "buffer-not-ready", t.name, t.refused or line, source, logs, words
        elif t.open and t.next_open == ():  # open in the buffer, and in no coordinator
            yield "hanging", t.name, line, source, logs, words
        elif t.open and (t.next_open is None or _age(next_txns, now) > LONG_MS):
            yield "held-back", t.name, line, source, logs, words | _oldest(next_txns, now)
        if t.aborted >= max(FEW, SHARE * (t.aborted + t.committed)):
            line = f"abortedTxnCount {t.aborted}, committedTxnCount {t.committed}"
            words = {"n": t.aborted, "all": t.aborted + t.committed}
            yield "aborted-share", t.name, line, f"persistent/{t.name}/stats", logs, words
    places = {t.name: t.state for t in facts.topics}
    places |= {f"{p.topic}/{p.sub}": p.state for p in facts.pending}
    # transactions that wait for a participant, or are open or decided for too long
    for txn in reading.txns:
        age = _age([txn], now)
        for where in txn.where:
            if txn.state == OPEN and places.get(where) in UNTOUCHED and age > STALLED_MS:
                words = {"place": where, "state": places[where]} | _oldest([txn], now)
                line = f"{txn.name} {txn.state} {where}; state {places[where]} there"
                yield "first-write-waits", where, line, "slowTransactions", (), words
        # when it was decided is not known, only when it began
        decided_ms = LONG_MS if txn.name in holding else max(txn.timeout_ms, LONG_MS)
        if age > (txn.timeout_ms if txn.state == OPEN else decided_ms):
            words = {"state": txn.state, "timeout": say_age(txn.timeout_ms)} | _oldest([txn], now)
            name = "open-too-long" if txn.state == OPEN else "decided-not-ended"
            line = f"{txn.name} {txn.state} {' '.join(txn.where)}"
            yield name, txn.name, line, "slowTransactions", txn.where, words
    # subscriptions with acknowledgements that are pending for too long
    for p in facts.pending:
        # `of`: the transactions that acknowledge there, None where no coordinator reports them
        by = [live[name] for name in p.of or () if name in live]
        lost = p.open and p.of == ()  # of no transaction that a coordinator knows
        if p.state not in ("None", "Ready") or lost or (p.open and _age(by, now) > LONG_MS):
            words = {"n": p.open, "state": p.state, "topic": p.topic, "sub": p.sub}
            line = f"state {p.state}, ongoingTxnSize {p.open}"
            where = f"{p.topic}/{p.sub}"
            source = f"pendingAckStats/{where}"
            yield "pending-ack", where, line, source, (p.topic,), words | _oldest(by, now)


def _age(txns: list[Txn], now: int) -> int:
    """The age of the oldest, in ms; 0 where there is none."""
    return max((now - txn.since_ms for txn in txns), default=0)


def _oldest(txns: list[Txn], now: int) -> dict[str, str]:
    """Of the oldest transaction: its id, its age, and the two numbers of its id."""
    if not txns:
        return dict.fromkeys(("txn", "age", "most", "least"), UNKNOWN)
    oldest = min(txns, key=lambda txn: txn.since_ms)
    most, _, least = oldest.name.strip("()").partition(",")
    age = say_age(max(_age(txns, now), 0))
    return {"txn": oldest.name, "age": age, "most": most, "least": least}
