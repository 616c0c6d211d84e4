"""From steps to facts: a lesson's `Run`, of a server that goes on.

The broker's front is invisible: a client's request is shown as sent to the broker, an answer as
coming from it. What only fills the page is left out: pulls that found nothing, positions, routes,
heartbeats after the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ....kernel import (
    Append,
    Caller,
    Effect,
    Effects,
    Event,
    Fact,
    Fired,
    Reply,
    Request,
    Send,
    Text,
)
from ....rocketmq.group import ConsumerSendMsgBack, PullMessageResponse
from ....rocketmq.log import Stored
from ....rocketmq.messages import (
    EndTransaction,
    EndTransactionResponse,
    SendMessage,
    SendMessageResponse,
)
from ....rocketmq.picture.telling import explain_answer, explain_record, explain_request
from ....rocketmq.picture.why import Kind, explain_fact
from ....rocketmq.picture.words import CONSUMER, PRODUCER
from ...trace.teller import Teller
from ..front import FRONT, Front
from ..front.clients import ClientBeat
from ..front.pulling import PULL
from ..wire import answers
from ..wire.answers import Ask, Messages, Question
from .model import Model, simplify, simplify_message

SHOWN_ANSWERS = (SendMessageResponse, EndTransactionResponse)


class Observer(Teller):
    """`listener`, where given, is called with each fact, the model being as it was just then."""

    def __init__(self, started_ms: int, log: Callable[[str], Any]) -> None:
        self.model = Model()
        super().__init__(self.model.lanes, started_ms)
        self.draw = self.model.draw

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, self._kind(fact.node))

    def tell_step(self, name: str, new: Any, event: Event | None, effects: Effects) -> None:
        old, self.model.broker = self.model.broker, new.broker
        if event is None:
            self._recovered(new)
            return
        self._began(old, new, event)
        for effect in effects:
            self._tell_effect(new, event, effect)
        self.model.note_step(new.broker)

    def note_step(self, name: str, front: Any, event: Event | None, effects: Effects) -> None:
        self.model.broker = front.broker
        if isinstance(event, Request) and isinstance(event.body, Ask):
            self._seen(event.caller.name, event.body)
        for effect in effects:
            match effect:
                case Append(entry=Stored() as stored):
                    self.model.note_message(simplify(stored))
                # (an answer without messages is not drawn)
                case Reply(caller=caller, body=Messages(messages=(_, *_) as messages)):
                    self.model.note_given(caller.name, tuple(map(simplify, messages)))
        self.model.note_step(front.broker)

    # -- clients -------------------------------------------------------------------------------

    def _seen(self, conn: str, ask: Ask) -> None:
        """A client is known by its group, and as a consumer once it has said that it is one, or
        where it pulls before it says anything."""
        known = self.lanes.conns.get(conn)
        title, what = (known.title, known.what) if known else ("", PRODUCER)
        match ask.body:
            case ClientBeat(consumers=(first, *_)):
                title, what = first.group, CONSUMER
            case ClientBeat(client_id=client_id):
                title = title or client_id
            case answers.PullMessage(group=group) if not title:
                title, what = group, CONSUMER
            case answers.Send(group=group) | EndTransaction(group=group) if what is PRODUCER:
                title = group or title
        self.lanes.note_client(conn, title, what)

    def _end_client(self, conn: str) -> None:
        self.model.forget_reader(conn)
        super()._end_client(conn)

    # -- the broker ------------------------------------------------------------------------------

    def _recovered(self, new: Front) -> None:
        if self.lanes.admit(FRONT, self.steps):
            self._add_recovery(FRONT, new.broker)

    def _began(self, old: Any, new: Front, event: Event) -> None:
        """What precedes the effects: a request, a timer, what has changed in memory."""
        if isinstance(event, Request) and isinstance(event.body, Ask):
            self._seen(event.caller.name, event.body)
            request = self._read(event.body.body)
            if request is not None:
                meaning = partial(explain_request, self.model.book, request)
                self._fact(event.caller.name, FRONT, Send(FRONT, request), meaning)
        if isinstance(event, Fired) and not event.timer.startswith(PULL):
            self._add_timer(FRONT, event.timer)
        for text in new.broker.describe_changes(old) if old is not None else ():
            self._add_change(FRONT, text)

    def _read(self, body: Any) -> Any:
        """A request in the words of a lesson; None for what is not shown."""
        match body:
            case answers.Send(messages=(first, *_), group=group):
                return SendMessage(simplify_message(first), group)
            case EndTransaction(queue_offset=place):
                txn = self.model.book.at_place(place)
                return replace(body, words=txn.order if txn is not None else "")
            case ConsumerSendMsgBack() | answers.UpdateAndCreateTopic():
                return body
        return None

    def _tell_effect(self, new: Front, event: Event, effect: Effect) -> None:
        """Tell the live trace of one effect of the broker's step: a message stored, a transaction
        check sent, messages delivered, an answer. Other effects are not drawn."""
        book = self.model.book  # what was stored so far, from which reasons are worded
        match effect:
            case Append(log=log, entry=Stored() as stored):
                record = simplify(stored)
                self.model.note_message(record)
                meaning = partial(explain_record, book, record)
                self._fact(FRONT, "disk", Append(log, record), meaning)
            case Send(to=to, body=Question(check=check)):
                check = replace(check, message=simplify_message(check.message))
                meaning = partial(explain_request, book, check, new.broker.config.check_max)
                self._fact(FRONT, to, Send(to, check), meaning)
            case Reply(caller=caller, body=Messages(messages=(_, *_) as messages)):
                delivered = tuple(map(simplify, messages))
                self.model.note_given(caller.name, delivered)
                self._answer(caller, event, PullMessageResponse(messages=delivered))
            case Reply(caller=caller, body=body) if isinstance(body, SHOWN_ANSWERS):
                self._answer(caller, event, body)

    def _answer(self, caller: Caller, event: Event, body: Any) -> None:
        ask = event.body if isinstance(event, Request) else None
        request = self._read(ask.body) if isinstance(ask, Ask) else None
        meaning = partial(explain_answer, self.model.book, request, body)
        self._fact(FRONT, caller.name, Reply(caller, body), meaning)

    def _kind(self, name: str) -> Kind:
        what = self.lanes.clients.get(name)
        if what is None:
            return Kind.BROKER
        return Kind.CONSUMER if what is CONSUMER else Kind.PRODUCER
