"""A topic is deleted: entries, snapshot, subscriptions with their logs.

The next message or subscription makes it again, with nothing in it. Until then the end of a
transaction has nothing to do here, and succeeds.

Source: PersistentTopic#deleteTopic, TopicTransactionBuffer#clearSnapshot (4.2).
*Left out:* that a topic in use is deleted by force only, which closes its clients; the server sees
to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Effects, Map, Put, Reply, Truncate, replace
from ..buffer import Buffer
from ..config import CURSORS, SNAPSHOT_LOG, TOPIC
from ..messages import Answer
from ..states import BufferState

if TYPE_CHECKING:
    from . import Topic

Result = tuple["Topic", Effects]

#: the row of the table "topic" that says so
DELETED = "deleted"


def was_deleted(rows: Map[str, bool]) -> bool:
    return DELETED in rows


def revive(topic: Topic) -> Result:
    """Somebody uses the topic: there is one again."""
    if topic.exists:
        return topic, ()
    return replace(topic, exists=True), (Put(TOPIC, DELETED, None),)


def delete(topic: Topic, caller: Caller) -> Result:
    subscriptions: Effects = ()
    for name, sub in topic.subs.items():
        subscriptions = (*subscriptions, Truncate(sub.log, 0), Put(CURSORS, name, None))
    new = type(topic)(
        topic.config, topic.name, buffer=Buffer(BufferState.NO_SNAPSHOT), exists=False
    )
    forgotten = () if topic.access.epoch < 0 else (Put(TOPIC, "epoch", None),)
    return new, (
        Put(TOPIC, DELETED, True),
        *forgotten,
        *subscriptions,
        Truncate(SNAPSHOT_LOG, 0),
        Truncate(topic.name, 0),
        Reply(caller, Answer()),
    )
