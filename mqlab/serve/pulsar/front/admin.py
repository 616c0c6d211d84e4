"""The admin interface: what an operator asks and does by HTTP, at the address of the broker itself.

A real broker has a second port for it (webServicePort). Here is the part of it with which one
debugs transactions; `mqlab/pulsar/unserved.py` lists what is known and not served. What it changes
goes the same way as what a client changes: it asks the same roles.

    admin.py            which path is answered by what, and how an answer is found
    administered.py     topics and subscriptions
    places.py           namespaces, coordinators
    transacting.py      transactions
    inspecting.py       what is read of a role; in numbers: topics.py

A role answers by itself, read as it is (`Inspect`); where several know a part of an answer, one
sends the question on to the next (`visit`).

Source: org.apache.pulsar.broker.admin.v2.PersistentTopics, Namespaces, admin.v3.Transactions (4.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ....kernel import Caller, Disk, Effects, Reply
from ....pulsar.errors import ServerError
from ....pulsar.messages import Answer
from ....pulsar.unserved import AS_A_WHOLE, UNSERVED, WHY
from ..wire.answers import AdminAnswer, AdminAsk
from . import administered, places, transacting
from .asking import Call, Result
from .inspecting import BROKEN, NO_CONTENT, NOT_FOUND, refuse
from .topics import PARTITIONED, Refusal, read_name

if TYPE_CHECKING:
    from . import Front

NOWHERE = "there is no such path, or it is not served here"
Row = tuple[str, re.Pattern[str], Callable[..., Result]]


def answer(front: Front, caller: Caller, ask: AdminAsk, disk: Disk) -> tuple[Front, Effects]:
    """Answer a request to the admin API: find the handler of its method and path, and let it
    answer with the decoded parts of the path. Paths that this server does not serve, or does not
    know, get an error. Parts are decoded after the path was cut, since a name may contain an
    encoded slash."""
    path, _, query = ask.path.partition("?")
    reply = refuse(NOT_FOUND, NOWHERE)
    for method, pattern, handler in ROUTES:
        match = pattern.fullmatch(path) if method == ask.method else None
        if match is not None:
            parts = [unquote(part) for part in match.groups() if part is not None]
            try:
                if "topic" in pattern.groupindex:  # it is the first part
                    parts[0] = read_name(f"persistent://{parts[0]}")
                    if handler in administered.OF_ONE and parts[0] in disk.table(PARTITIONED):
                        reply = refuse(places.NOT_IMPLEMENTED, WHY.format(what=AS_A_WHOLE))
                        break
                return handler(Call(front, caller, ask, disk, query), *parts)
            except Refusal as refusal:  # the path names no topic, or one that nobody may use
                barred = refusal.answer.error is ServerError.NotAllowedError
                reply = refuse(places.CONFLICT if barred else NOT_FOUND, refusal.answer.message)
                break
    else:  # no handler: is it a path that only a real broker serves?
        for method, pattern, what in UNSERVED:
            # "": whatever the method
            if method in (ask.method, "") and pattern.fullmatch(path):
                reply = refuse(places.NOT_IMPLEMENTED, WHY.format(what=what))
                break
    return front, (Reply(caller, reply),)


def _compile(prefix: str, rows: tuple[tuple[str, str, Callable[..., Result]], ...]) -> list[Row]:
    return [(method, re.compile(prefix + path), handler) for method, path, handler in rows]


#: (method, path, handler): what is served
ROUTES: tuple[Row, ...] = (
    *_compile("/admin/v2", administered.ROUTES),
    *_compile("/admin/v2", places.ROUTES),
    *_compile("/admin/v3/transactions", transacting.ROUTES),
)


def write_status(outcome: Answer) -> AdminAnswer:
    """What a role answers to an administrator who has changed something."""
    if outcome.ok:
        return AdminAnswer(NO_CONTENT)
    if outcome.error is ServerError.SubscriptionNotFound:
        return refuse(NOT_FOUND, "Subscription not found")
    if outcome.error is ServerError.ConsumerBusy:
        return refuse(places.IN_USE, outcome.message)
    return refuse(BROKEN, outcome.message or str(outcome.error))


__all__ = ["ROUTES", "answer", "write_status"]
