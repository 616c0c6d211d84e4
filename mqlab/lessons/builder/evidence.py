"""An execution of a learner's coordinator, played to its end: what it shows of the file's
effects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from ...kafka.coordinator.entry import Entry, StateRecord
from ...kafka.messages import WriteTxnMarkers, WriteTxnMarkersResponse
from ...kafka.picture.view import View, read_world
from ...kafka.states import COMPLETED, TxnState
from ...kernel import (
    Append,
    Caller,
    Event,
    Reply,
    Request,
    Run,
    Send,
    Text,
    Words,
    parse,
    tr,
)
from ...kernel.role import FAILED
from .sittings import TC, BuildSystem


@dataclass(frozen=True)
class Done:
    """One thing that the file did: the node, the event in whose step, and the effect; no event: at
    a start; no effect: the step began."""

    node: str
    event: Event | None
    effect: Any


@dataclass(frozen=True)
class Answered:
    """Who asked for what, the answer, and the record that its id had when the answer left."""

    who: str
    request: Any
    answer: Any
    entry: Entry | None


@dataclass(frozen=True)
class Evidence:
    """An execution that was played to its end: `run`, its choices and facts; `seen`, its last
    world; `entries`, what the log holds; `done`, what the file did."""

    run: Run
    seen: View
    entries: tuple[Entry, ...]
    done: tuple[Done, ...]

    @property
    def system(self) -> BuildSystem:
        return cast(BuildSystem, self.run.system)

    @cached_property
    def latest(self) -> dict[str, Entry]:
        """By transactional id, its last record."""
        return {entry.txn_id: entry for entry in self.entries}

    @property
    def states(self) -> str:
        """What the log says now, of each id where there are several."""
        found = self.latest
        if len(found) == 1:
            return str(next(iter(found.values())).state)
        return ", ".join(f"{name} {entry.state}" for name, entry in found.items())

    @property
    def killed(self) -> bool:
        return any("kill" in str(one) for one in self.run.choices)

    @property
    def answered_first(self) -> bool:
        """Whether an answer has arrived whose step was not done to its end."""
        return any(parse(one).answers for one in self.run.choices)

    @property
    def moved(self) -> bool:
        """Whether another coordinator was elected."""
        return "call controller" in map(str, self.run.choices)

    @property
    def refused(self) -> list[WriteTxnMarkersResponse]:
        """The answers with which leaders have refused markers."""
        bodies = [fact.body for fact in self.run.trace]
        return [one for one in bodies if isinstance(one, WriteTxnMarkersResponse) and one.error]

    @property
    def unmarked(self) -> list[str]:
        """The partitions with a record of a decided transaction, and no marker for it."""
        return [
            partition
            for partition, rows in self.seen.rows.items()
            if any(txn is not None and not outcome for _, txn, outcome in rows)
        ]

    def list_effects(self, kind: type, since: int = 0) -> Iterator[tuple[Done, Any]]:
        """What it did of this kind, with the step."""
        return ((one, one.effect) for one in self.done[since:] if isinstance(one.effect, kind))

    def list_markers(self, since: int = 0) -> list[tuple[Done, Send]]:
        """The markers that it has sent."""
        sent = self.list_effects(Send, since)
        return [(one, effect) for one, effect in sent if isinstance(effect.body, WriteTxnMarkers)]

    def list_errors(self, name: str = "") -> list[str]:
        """The errors that it has answered, to this caller where one is named."""
        replies = (reply for _, reply in self.list_effects(Reply))
        return [
            str(reply.body.error)
            for reply in replies
            if getattr(reply.body, "error", None) and name in ("", reply.caller.name)
        ]

    @property
    def hasty(self) -> str:
        """The first request that is answered, without an error, in the step that writes a record
        for it; "" where there is none."""
        wrote = [one.event for one in self.done if isinstance(one.effect, Append)]
        for one in self.done:
            match one:
                case Done(
                    event=Request(caller=asker, body=ask), effect=Reply(caller=to, body=body)
                ):
                    # what is said to others, such as a copy of the log, is its broker's
                    if to == asker and one.event in wrote and not getattr(body, "error", True):
                        return type(ask).__name__
        return ""

    @cached_property
    def answered(self) -> list[Answered]:
        """What was asked of the file and what it answered, in the order of its answers."""
        asked: dict[Caller, Any] = {}
        last: dict[str, Entry] = {}
        found = []
        for one in self.done:
            match one:
                case Done(event=Request(caller=caller, body=body), effect=None):
                    asked[caller] = body
                case Done(effect=Append(entry=StateRecord(entry=entry))):
                    last[entry.txn_id] = entry
                case Done(effect=Reply(caller=caller, body=body)) if caller in asked:
                    ask = asked[caller]
                    found.append(Answered(caller.name, ask, body, last.get(ask.txn_id)))
        return found

    @property
    def start(self) -> int:
        """Where in `done` its last start is."""
        starts = [
            at for at, one in enumerate(self.done) if one.event is None and one.effect is None
        ]
        return starts[-1] if starts else 0

    def list_asked(self, kind: type) -> list[Any]:
        """The requests of this kind that have arrived."""
        began = [one.event for one in self.done if one.effect is None]
        asked = [one.body for one in began if isinstance(one, Request)]
        return [one for one in asked if isinstance(one, kind)]

    def find_cause(self, state: TxnState) -> Done | None:
        """The step in which the last record of this state was written."""
        found = [
            step
            for step, effect in self.list_effects(Append)
            if isinstance(effect.entry, StateRecord) and effect.entry.entry.state is state
        ]
        return found[-1] if found else None


def play(system: BuildSystem, schedule: tuple[str, ...]) -> Evidence:
    run, done = Run(system), []
    copies = system.cluster.copies(TC)
    for choice in schedule:
        for move in run.do(choice):
            if move.node in copies and move.what in ("step", "recover"):
                done.append(Done(move.node, move.event, move.stage.effect if move.stage else None))
    disk = run.world.disk(system.cluster.leader(run.world, TC))
    logs = disk.logs("__transaction_state")
    entries = tuple(record.entry for log in logs for record in disk.log(log).read(0))
    return Evidence(run, read_world(system.cluster, run.world), entries, tuple(done))


# ---- who waits, and who was refused ----------------------------------------------------

OLDER = tr(
    "the client is refused after its first end; an older client (`EndTxn.v2` is False) continues "
    "with the epoch that it has, so its end keeps it, and so does the marker"
)
UNWRITTEN = tr(
    "AddPartitionsToTxn is answered and the log still says Empty: its record says Ongoing, with "
    "all partitions so far, and EndTxn then ends that"
)
UNANSWERED = Words("{who} has sent {request}, and no step answers it; the log says {states}")
ASKS_AGAIN = Words("{who} waits, and last got {error}; the log says {states}")
WAITS = Words("{who} waits; the log says {states}")
NOBODY = tr("nothing")
WAS_REFUSED = Words("{who}: {call} {result}; the coordinator's last error was {error}")
WAS_TOLD = Words("{who}: {call} {result}; the log says {states}")


def explain_wait(evidence: Evidence) -> Text:
    """Say what still waits for the learner's coordinator at the end of an execution, and for which
    answer: the first caller that it has not answered; else a refusal; else an application that
    repeats its request after an error, or waits without one. Where no application waits, say what
    the log holds."""
    world, system = evidence.run.world, evidence.system
    states = evidence.states or str(NOBODY)
    role: Any = world.nodes[system.cluster.leader(world, TC)]
    # what the learner wrote; None while the node is down
    role = role.roles[0] if role.up else None
    # The first request that it has not answered, if there is one.
    for reply in getattr(role, "waiting", {}).values():
        request = type(reply.body).__name__.removesuffix("Response")
        return UNANSWERED(who=reply.caller.name, request=request, states=states)
    if refused := find_refused(evidence):
        return refused
    waits = [name for name, node in world.nodes.items() if node.app and node.app.waiting]
    if not waits:
        return explain_outcome(evidence)
    errors = evidence.list_errors(waits[0]) or evidence.list_errors()
    if errors:
        return ASKS_AGAIN(who=waits[0], error=errors[-1], states=states)
    return WAITS(who=waits[0], states=states)


def find_refused(evidence: Evidence) -> Text | None:
    """The first call that was refused, and with what."""
    states = [entry.state for entry in evidence.entries]
    if set(states) == {TxnState.EMPTY} and any(evidence.seen.rows.values()):
        return UNWRITTEN
    if evidence.system.client == "legacy" and any(state in COMPLETED for state in states):
        return OLDER
    for name, node in evidence.run.world.nodes.items():
        for one in node.app.results if node.app else ():
            if one.status != FAILED:
                continue
            if errors := evidence.list_errors(name) or evidence.list_errors():
                return WAS_REFUSED(who=name, call=one.call, result=one.result, error=errors[-1])
            return WAS_TOLD(who=name, call=one.call, result=one.result, states=evidence.states)
    return None


LOG_SAYS = Words("The log says {states}")
UNENDED = Words("The log says {states}, and the end is still to come")


def explain_outcome(evidence: Evidence) -> Text:
    states = ", ".join(str(entry.state) for entry in evidence.entries)
    ended = evidence.entries and evidence.entries[-1].state in COMPLETED
    return (LOG_SAYS if ended else UNENDED)(states=states)
