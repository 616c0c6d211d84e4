"""Producers that are being opened: the topic's role decides, and its clients get the answer from
here.

A role says over and over whose turn it is; a client asks once and is answered under its request's
number: with `producer_ready` false while it waits, and again when its turn has come. What the
answer needs besides is kept until then.

Source: ServerCnx#handleProducer, #buildProducerAndAddTopic, #handleSend (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Effect, Effects, Reply, Send, frozen, replace
from ....pulsar.errors import ServerError
from ....pulsar.messages import OpenProducer, ProducerOpened
from ....pulsar.topic.access import PRESENT
from ..wire.answers import CommandAnswer, Handed, Notice

if TYPE_CHECKING:
    from .hosting import Hosted

SUCCESS = "PRODUCER_SUCCESS"


@frozen
class Opening(Handed):
    """An OpenProducer that the front hands on. `version`: of its schema; `number`: of the
    request."""

    version: bytes = b""
    number: int = 0


def take(hosted: Hosted, opening: Opening) -> tuple[Hosted, Effects]:
    """Keep it until it is answered; one whose producer waits already is refused."""
    name = opening.caller.name
    if name in hosted.openings:
        return hosted, (Reply(opening.caller, _say_error(ServerError.ServiceNotReady, PRESENT)),)
    return replace(hosted, openings=hosted.openings.set(name, opening)), ()


def forget(hosted: Hosted, effects: Effects) -> Hosted:
    """Those that are answered for good."""
    if not hosted.openings:
        return hosted
    done = [e.to for e in effects if isinstance(e, Send) and _is_last(e.body)]
    kept = hosted.openings
    for name in done:
        kept = kept.remove(name) if name in kept else kept
    return hosted if kept is hosted.openings else replace(hosted, openings=kept)


def _is_last(body: Any) -> bool:
    return isinstance(body, ProducerOpened) and body.ready


def place(hosted: Hosted, name: str, opened: ProducerOpened) -> Effect:
    """The message to the client: an answer, or beforehand that it has to wait."""
    opening = hosted.openings[name]
    if not opened.ok:
        return Reply(opening.caller, _say_error(opened.error, opened.message))
    fields = _fields(opening, opened)
    if opened.ready:
        return Reply(opening.caller, CommandAnswer(name=SUCCESS, fields=fields))
    conn = name.rpartition("@")[2].partition("/")[0]
    return Send(conn, Notice(SUCCESS, (("request_id", opening.number), *fields)))


def _fields(opening: Opening, opened: ProducerOpened) -> tuple[tuple[str, Any], ...]:
    assert isinstance(opening.body, OpenProducer)
    epoch = () if opened.topic_epoch is None else (("topic_epoch", opened.topic_epoch),)
    return (
        ("producer_name", opening.body.producer),
        ("last_sequence_id", opened.last_sequence),
        ("schema_version", opening.version),
        *epoch,
        ("producer_ready", opened.ready),
    )


def _say_error(error: ServerError, why: str) -> CommandAnswer:
    return CommandAnswer(name="ERROR", fields=(("error", error.name), ("message", why)))
