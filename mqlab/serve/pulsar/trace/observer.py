"""From steps to facts: what a lesson's `Run` tells, told of a server that goes on.

The front is glass: what a client asks of a coordinator or a topic is told as sent to it, and an
answer as coming from there. What only fills the page is not told: lookups, permits, what an
administrator asks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....kernel import (
    Append,
    Caller,
    Effect,
    Event,
    Fact,
    Fired,
    Reply,
    Request,
    Send,
    Telling,
    Text,
    replace,
)
from ....pulsar.messages import (
    Ack,
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    Answer,
    CloseConsumer,
    EndTxn,
    LedgerEntry,
    NewTxn,
    Redeliver,
    Seek,
    SendMessage,
    Subscribe,
    TcClientConnect,
    TransactionMetadataEntry,
    Unsubscribe,
)
from ....pulsar.picture import words
from ....pulsar.picture.meaning import explain
from ....pulsar.picture.why import explain_fact
from ...trace.recorder import Step
from ...trace.teller import Teller
from ..front import FRONT
from ..front.hosting import Hosted
from ..wire.asks import Ask, Handed, Notice, Push
from .lanes import COORDINATOR, find_kind, make_lanes, name_lane
from .model import Model, simplify
from .picture import Picture

SHOWN = (
    Ack, AddPartitionToTxn, AddSubscriptionToTxn, CloseConsumer, EndTxn, NewTxn, Redeliver,
    Seek, SendMessage, Subscribe, TcClientConnect, Unsubscribe,
)  # fmt: skip


class Observer(Teller):
    def __init__(self, started_ms: int, log: Callable[[str], Any]) -> None:
        super().__init__(make_lanes(), started_ms)
        self.model = Model()
        self.picture = Picture(self.model, self.lanes)
        self.draw = self.picture.now

    def explain(self, fact: Fact) -> Text:
        if fact.node in self.lanes.clients:
            return explain_fact(fact, "client")
        is_tc = find_kind(fact.node) == COORDINATOR
        return explain_fact(fact, "coordinator" if is_tc else "partition")

    def _add(self, fact: Fact, telling: Telling) -> None:
        node, peer = name_lane(fact.node), name_lane(fact.peer)
        super()._add(replace(fact, node=node, peer=peer), telling)

    def take(self, step: Step, listener: Callable[[Fact], None] | None = None) -> None:
        """The next step; its facts are counted, and told where somebody listens."""
        at_ms, name, new, event, effects = step
        self._count(at_ms, listener)
        if new is None:
            self.model.forget_readers(name)
            self._end_client(name)
        elif name == FRONT:
            self._seen(event)
        elif isinstance(new, Hosted):
            self._hosted(name, new, event, effects)

    def skip(self, step: Step) -> None:
        """A step that nobody will ever be told of: only what a later picture needs is noted.
        It counts as one fact, so that a follower sees by the numbers that it missed some."""
        at_ms, name, new, event, effects = step
        self._count(at_ms, None)
        self.facts += 1
        if new is None:
            self.model.forget_readers(name)
            self._end_client(name)
        elif name == FRONT:
            self._seen(event)
        elif isinstance(new, Hosted):
            self.picture.roles[name] = new.role
            for effect in effects if event is not None else ():
                self._note(name, effect)

    # -- clients -------------------------------------------------------------------------------

    def _seen(self, event: Event | None) -> None:
        """A client is known by the first subscription that it has, or the name of its producer."""
        if not (isinstance(event, Request) and isinstance(event.body, Ask)):
            return
        conn, command = event.caller.name, event.body.command
        known = self.lanes.conns.get(conn)
        title = known.title if known is not None else ""
        if not title and command.name in ("SUBSCRIBE", "PRODUCER"):
            body = command.body
            title = body.subscription if command.name == "SUBSCRIBE" else body.producer_name
        self.lanes.note_client(conn, title, words.CLIENT)

    # -- coordinators and topics -----------------------------------------------------------------

    def _hosted(
        self, name: str, new: Hosted, event: Event | None, effects: tuple[Effect, ...]
    ) -> None:
        old, self.picture.roles[name] = self.picture.roles.get(name), new.role
        if event is None:
            self._recovered(name, new)
            return
        self._began(name, old, new, event)
        for effect in effects:
            self._note(name, effect)
            self._done(name, event, effect)

    def _recovered(self, name: str, new: Hosted) -> None:
        if self.lanes.admit(name, self.steps):
            self._add_recovery(name, new.role)

    def _began(self, name: str, old: Any, new: Hosted, event: Event) -> None:
        """What precedes the effects: a request, a timer, what has changed in memory."""
        request = _find_body(event)
        if isinstance(request, SHOWN) and isinstance(event, Request):
            conn = _find_conn(event.body.caller)
            self._add_effect(conn, name, event, Send(name, simplify(request)))
        if isinstance(event, Fired) and self.lanes.admit(name, self.steps):
            self._add_timer(name, event.timer)
        if old is None or not self.lanes.admit(name, self.steps):
            return
        for text in new.role.describe_changes(old):
            self._add_change(name, text)

    def _note(self, name: str, effect: Effect) -> None:
        """What a later picture needs of an effect."""
        match effect:
            case Append(entry=LedgerEntry() as entry):
                self.model.note_entry(name, simplify(entry))
            case Append(entry=TransactionMetadataEntry() as record):
                self.model.note_record(name, record)
            case Send(to=conn, body=Push(message=message)):
                self.model.note_sent(f"{conn}/{message.subscription}", simplify(message))

    def _done(self, name: str, event: Event, effect: Effect) -> None:
        match effect:
            case Append(log=log, entry=entry):
                short = Append(log.removeprefix(f"{name}/"), simplify(entry))
                self._add_effect(name, "disk", event, short)
            case Send(to=conn, body=Push(message=message)):
                self._add_effect(name, conn, event, Send(conn, simplify(message)))
            case Send(to=to, body=body) if to != name and not isinstance(body, Notice):
                self._add_effect(name, to, event, effect)
            case Reply(caller=caller, body=Answer() as body) if _is_shown(event):
                peer = _find_conn(caller)
                self._add_effect(name, peer, event, Reply(replace(caller, name=peer), body))

    def _add_effect(self, node: str, peer: str, event: Event, effect: Effect) -> None:
        request = _find_body(event)
        inner = replace(event, body=request) if isinstance(event, Request) else event
        meaning = partial(explain, self.model.written, partial(self._entries, node), inner, effect)
        self._fact(node, peer, effect, meaning)

    def _entries(self, topic: str) -> list[LedgerEntry]:
        strip = self.model.strips.get(topic)
        return list(strip.cells) if strip is not None else []


def _find_body(event: Event) -> Any:
    """What somebody asks of a role; who it is makes no difference."""
    if not isinstance(event, Request):
        return None
    return event.body.body if isinstance(event.body, Handed) else event.body


def _is_shown(event: Event) -> bool:
    """Whether an answer belongs to what was told: an answer that came later does always."""
    return not (isinstance(event, Request) and isinstance(event.body, Handed)) or isinstance(
        event.body.body, SHOWN
    )


def _find_conn(caller: Caller) -> str:
    """The connection of a client, or of its consumer; any other asker is a role."""
    return f"conn-{caller.conn}" if caller.conn else _read_conn(caller.name)


def _read_conn(name: str) -> str:
    """A consumer that is closed with its connection asks nothing more by itself."""
    return name.rpartition("@")[2].partition("/")[0] if "@conn-" in name else name
