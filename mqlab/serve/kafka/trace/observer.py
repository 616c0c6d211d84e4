"""From steps to facts: what a lesson's `Run` tells, told of a server that goes on.

The broker's front is glass: a client's request is told as sent to the role that decides, an
answer as coming from it. What only fills the page is not told: fetches that found nothing,
long polls, what the metadata answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....kafka.coordinator import StateRecord
from ....kafka.log import Batch
from ....kafka.messages import Fetch, FetchResponse, ListOffsets, Unwatch, Watch, Watched
from ....kafka.picture import words
from ....kafka.picture.meaning import (
    Kind,
    explain_answer,
    explain_batch,
    explain_change,
    explain_record,
    explain_request,
)
from ....kafka.picture.unguarded import UNGUARDED
from ....kafka.picture.why import explain_fact
from ....kernel import (
    Append,
    Appended,
    Caller,
    Event,
    Fact,
    Fired,
    Put,
    Reply,
    Request,
    Send,
    Telling,
    Text,
    replace,
)
from ....kernel.reasons import say_unguarded
from ...trace.outside import Held, Outside
from ...trace.recorder import Step
from ...trace.teller import Teller
from ..front import BROKER, PARTS, Gathering
from ..front.internal import StateReader
from ..wire.api import Ask
from .model import Model

SILENT = (Watch, Unwatch, Watched)
POLLING = (Fetch, ListOffsets)  # asked again and again; of interest is an answer with records


class Observer(Teller):
    """`listener`, where given, is called with each fact, the model being as it was just then.
    `off`: safeguards that are switched off."""

    def __init__(
        self,
        coordinator: str,
        started_ms: int,
        log: Callable[[str], Any],
        off: tuple[str, ...] = (),
    ) -> None:
        self.model = Model(coordinator)
        super().__init__(self.model.lanes, started_ms)
        self.off = off
        self.draw = self.model.draw
        self.coordinator = coordinator
        self._log = log

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, self.model.find_kind)

    def _say_why(self, fact: Fact, telling: Telling) -> Text:
        return say_unguarded(super()._say_why(fact, telling), self.off, UNGUARDED)

    def take(self, step: Step, listener: Callable[[Fact], None] | None = None) -> None:
        """The next step; its facts are counted, and told where somebody listens."""
        at_ms, name, new, event, effects = step
        self._count(at_ms, listener)
        if new is None or isinstance(new, Outside):
            self._from_outside(name, new)
            return
        if isinstance(new, Held):
            self._hold(new.role, event, effects)
            return
        if isinstance(new, StateReader):
            return  # it only reads what another has written
        old = self.model.roles.get(name)
        self.model.roles[name] = new
        if name == BROKER:
            self._front(new, event, effects)
        elif event is None:
            self._recovered(name, new)
        else:
            self._began(name, old, new, event)
            for effect in effects:
                self._done(name, event, effect)

    def skip(self, step: Step) -> None:
        """A step that nobody will ever be told of: only what a later picture needs is noted.
        It counts as one fact, so that a follower sees by the numbers that it missed some."""
        at_ms, name, new, event, effects = step
        self._count(at_ms, None)
        self.facts += 1
        if new is None or isinstance(new, Outside):
            self._from_outside(name, new)
            return
        if isinstance(new, Held):
            return
        self.model.roles[name] = new
        if name == BROKER:
            if isinstance(event, Request) and isinstance(event.body, Ask):
                self._seen(event.caller.name, event.body)
            self._deleted(effects)
        elif event is None:
            self._recovered(name, new)
        else:
            for effect in effects:
                if isinstance(effect, Append):
                    self.model.note_append(effect.log, effect.entry)

    # -- clients and the front -----------------------------------------------------------------

    def _front(self, broker: Any, event: Event | None, effects: Any) -> None:
        """What the front sends on is told as the client's own request."""
        if isinstance(event, Request) and isinstance(event.body, Ask):
            self._seen(event.caller.name, event.body)
            if self.held.pop(event.caller, 0):
                effects = ()  # what it sends was told when it came to the door
        for effect in effects:
            if isinstance(effect, Send) and not isinstance(effect.body, (Fetch, *SILENT)):
                waiting = broker.open.get(effect.corr >> PARTS)
                if waiting is not None:
                    self._sent(waiting.caller.name, effect)
        self._deleted(effects)

    def _hold(self, broker: Any, event: Event | None, effects: Any) -> None:
        """A request that waits at the door is told as sent; `broker`: as it would be."""
        next_fact = self.facts + 1
        self._front(broker, event, effects)
        if self.facts >= next_fact and isinstance(event, Request):
            self.held[event.caller] = next_fact

    def _deleted(self, effects: Any) -> None:
        topics = {
            effect.key
            for effect in effects
            if isinstance(effect, Put) and effect.table == "topics" and effect.value is None
        }
        if topics:
            self.model.note_deletion(topics)

    def _seen(self, conn: str, ask: Ask) -> None:
        body = ask.body
        known = self.lanes.conns.get(conn)
        fetches = hasattr(body, "isolation_level") or hasattr(body, "require_stable")
        what = words.READER if fetches else (known.what if known else words.PRODUCER)
        title = find_name(body) or (known.title if known else "") or ask.client or conn
        self.lanes.note_client(conn, title, what)

    # -- roles ---------------------------------------------------------------------------------

    def _recovered(self, name: str, new: Any) -> None:
        if hasattr(new, "part") and name not in self.model.tails:
            self.model.note_recovery(name, self._log(name))
        empty = hasattr(new, "part") and not new.part.hw
        if name in self.lanes.used or (name == self.coordinator and new.entries):
            if not empty and self.lanes.admit(name, self.steps):
                self._add_recovery(name, new)

    def _began(self, name: str, old: Any, new: Any, event: Event) -> None:
        """What precedes the effects: a timer, a frontier that moved."""
        if isinstance(event, Fired):
            self._add_timer(name, event.timer)
        if old is not None and name in self.lanes.used:
            for text in new.describe_changes(old):
                self._add_change(name, text, self._explain_change(name, event))

    def _done(self, name: str, event: Event, effect: Any) -> None:
        model = self.model
        if isinstance(effect, Append):
            log, entry = effect.log, effect.entry
            model.note_append(log, entry)
            self._fact(name, "disk", effect, lambda: self._explain_append(log, entry))
        elif isinstance(effect, Send):
            self._sent(name, effect)
        elif isinstance(effect, Reply) and effect.caller.name == BROKER:
            self._answered(name, event, effect)
        elif isinstance(effect, Reply):
            self._replied(name, effect, event.body if isinstance(event, Request) else None)

    def _answered(self, name: str, event: Event, effect: Reply) -> None:
        """An answer to the front is an answer to its client."""
        waiting: Gathering | None = self.model.roles[BROKER].open.get(effect.caller.corr >> PARTS)
        body = effect.body
        if waiting is None or isinstance(body, SILENT):
            return
        conn = waiting.caller.name
        question = event.body if isinstance(event, Request) else None
        if isinstance(body, FetchResponse):
            if not body.batches:
                return
            self._sent(conn, Send(name, question))
        # Where the answer had to wait for a record to be safe, the event is not the question.
        self._replied(name, Reply(Caller(conn), body), question, find_txn_id(waiting.ask.body))

    def _sent(self, node: str, effect: Send) -> None:
        body = effect.body

        def explain() -> Telling:
            telling = explain_request(self.model, node, body)
            return replace(telling, fold=telling.fold or isinstance(body, POLLING))

        self._fact(node, effect.to, effect, explain)

    def _replied(self, node: str, effect: Reply, question: object, txn_id: str = "") -> None:
        model, peer, body = self.model, effect.caller.name, effect.body
        self._fact(node, peer, effect, lambda: explain_answer(model, node, question, body, txn_id))

    def _explain_append(self, log: str, entry: Any) -> Telling:
        """Of an append of which the model has taken note."""
        if isinstance(entry, StateRecord):
            return explain_record(self.model, entry.entry)
        if not isinstance(entry, Batch):
            return Telling(fold=True)
        return explain_batch(self.model.find_txn(log, entry.base), entry)

    def _explain_change(self, name: str, event: Event) -> Telling:
        model, part, newest = self.model, None, None
        if isinstance(event, Appended) and model.find_kind(name) is Kind.PARTITION:
            part, newest = model.find_part(name), model.find_batch(name, event.end)
        return explain_change(model, event, part, newest)


def find_name(body: object) -> str:
    """What a client is called by a request of the wire: by its transactional id or its group, which
    it says first where it asks for their coordinator; "" where it says neither."""
    keys = getattr(body, "coordinator_keys", None) or (getattr(body, "key", ""),)
    return find_txn_id(body) or str(getattr(body, "group_id", None) or keys[0])


def find_txn_id(body: object) -> str:
    """The transactional id in a request of the wire; "" where it has none."""
    names = ("transactional_id", "v3_and_below_transactional_id")
    return next((value for name in names if (value := getattr(body, name, None))), "")
