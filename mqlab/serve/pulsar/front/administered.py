"""Administration of topics and subscriptions: unload, partitions, create, reset and delete.

    unload         a topic: the role ends and begins again from what is durable; its clients, whose
                   producers and consumers are closed, come back
    partitions     are topics of their own, made and deleted together
    subscription   made, moved, deleted

Source: PersistentTopicsBase (4.2).
"""

from __future__ import annotations

import re
from typing import Any

from ....kernel import Caller, Disk, Put, Reply, Send, replace
from ....pulsar.config import CURSORS
from ....pulsar.config import TOPIC as ROWS
from ....pulsar.messages import DeleteTopic, Seek, Unsubscribe
from ....pulsar.topic.access import DELETED
from ..wire.answers import AdminAnswer, Handed
from ..wire.commands import split_name
from . import inspecting, topics
from .asking import NO_TOPIC, NUMBER, PART, TOPIC, Call, Result
from .consuming import LONG_MAX, find_last_before
from .hosting import Hosted, write_close
from .inspecting import NO_CONTENT, NOT_FOUND, OK
from .places import BAD, CONFLICT, IN_USE, NOT_ACCEPTABLE
from .producing import SCHEMAS
from .topics import (
    PARTITIONED,
    TOPICS,
    TopicRow,
    check_namespace,
    find_row,
    is_beyond,
    make_row,
    open_topic,
    place_id,
)

MOST_PARTITIONS = 1_000
IS_PARTITIONED = (
    "{name} is a partitioned topic, instead of calling delete topic, please call "
    "delete-partitioned-topic."
)
USE_DELETE = "Instead of calling delete-partitioned-topic please call delete."
EXISTS = "This topic already exists"
NO_PARTITION = 'Can\'t create topic {name} with "-partition-" followed by '
NO_PARTS = "numeric value if there isn't a partitioned topic {of} created."
BEYOND = "a number smaller than number of partition of partitioned topic {of}"
NOT_MADE = "Topic does not exist and cannot be auto-created"
NO_SUB = "Subscription {name} not found for topic {topic}"


# ---- what is reported --------------------------------------------------------------------------


def _internal(call: Call, topic: str) -> Result:
    return call.at_topic(
        topic, lambda h, _: AdminAnswer(OK, topics.describe_internal(h.role, h.ledger))
    )


def _stats(call: Call, topic: str) -> Result:
    return call.at_topic(topic, lambda h, disk: AdminAnswer(OK, topics.describe_stats(h, disk)))


def _entry(call: Call, topic: str, ledger: str, entry: str) -> Result:
    def read(hosted: Hosted, disk: Disk) -> AdminAnswer:
        if int(ledger) != hosted.ledger:
            return inspecting.refuse(NOT_FOUND, "Message id not found")
        return inspecting.answer_entry(hosted.role, disk, hosted.ledger, int(entry))

    return call.at_topic(topic, read)


def _subscriptions(call: Call, topic: str) -> Result:
    return call.at_topic(topic, lambda h, _: AdminAnswer(OK, list(h.role.subs)))


# ---- topics ------------------------------------------------------------------------------------


def _unload(call: Call, topic: str) -> Result:
    """Its clients have to look it up again. What was acknowledged inside of batches is forgotten,
    but for what transactions have: their log has it (ManagedCursorImpl#recover, 4.2.4)."""
    row, table = find_row(call.disk, topic), f"{topic}/{CURSORS}"
    if row is None:
        return call.refuse(NOT_FOUND, NO_TOPIC.format(name=topic))
    sessions, closing = call.close_all(topic)
    cursors = call.disk.table(table).items()
    return call.with_sessions(sessions), (
        *(Put(table, name, replace(c, batches=())) for name, c in cursors if c.batches),
        _load(row),
        *closing,
        Reply(call.caller, AdminAnswer(NO_CONTENT)),
    )


def _create(call: Call, topic: str) -> Result:
    """One that was deleted, or that a transaction has named only, begins again."""
    if topic in call.disk.table(PARTITIONED) or call.has(topic):
        return call.refuse(CONFLICT, EXISTS)
    check_namespace(call.disk, topic)
    owner, number = split_name(topic)
    if number >= call.disk.table(PARTITIONED).get(owner, 0):
        why = BEYOND if is_beyond(call.disk, topic) else NO_PARTS
        name, of = (each.rpartition("/")[2] for each in (topic, owner))
        return call.refuse(IN_USE, NO_PARTITION.format(name=name) + why.format(of=of))
    effects = open_topic(call.disk, topic)
    row = find_row(call.disk, topic)
    if row is not None:
        effects = (Put(f"{topic}/{ROWS}", DELETED, None), _load(row))
    return call.say(NO_CONTENT, "", *effects)


def _load(row: TopicRow) -> Put:
    """The topic's role ends, and begins from what is durable."""
    return Put(TOPICS, row.name, replace(row, loads=row.loads + 1))


def _delete(call: Call, topic: str) -> Result:
    """One that is in use goes by force only."""
    if topic in call.disk.table(PARTITIONED):
        return call.refuse(CONFLICT, IS_PARTITIONED.format(name=topic))
    call.need(topic)
    if why := _find_users(call, topic):
        return call.refuse(IN_USE, why)
    return _drop(call, topic, call.caller)


def _find_users(call: Call, topic: str) -> str:
    """Who keeps a topic from going, in words; nothing where it may go. Subscriptions without a
    consumer do not (PersistentTopic#delete)."""
    kinds = [kind for kind, _, _ in call.front.sessions.using(topic)]
    if not kinds or call.forced:
        return ""
    clients = f"{len(kinds)} client{'s' if len(kinds) > 1 else ''}"
    return (
        f"Topic has {clients} connected Including {kinds.count('consumer')} consumers, "
        f"{kinds.count('producer')} producers, and 0 replicators."
    )


def _drop(call: Call, topic: str, caller: Caller) -> Result:
    """A topic goes, and `caller` is answered by it."""
    row = find_row(call.disk, topic)
    assert row is not None, "only a topic that is there is dropped"
    sessions, closing = call.close_all(topic)
    forget = Put(SCHEMAS, topic, None)
    gone = Send(topic, Handed(caller, DeleteTopic(topic)))
    return call.with_sessions(sessions), (_load(row), *closing, forget, gone)


# ---- partitions --------------------------------------------------------------------------------


def _create_partitions(call: Call, topic: str) -> Result:
    text = call.ask.body.strip()
    if not re.fullmatch(rb"-?\d{1,6}", text):
        return call.refuse(BAD, "the body is a whole number of partitions")
    count = int(text)
    if count < 1:
        return call.refuse(NOT_ACCEPTABLE, "Number of partitions should be more than 0")
    if count > MOST_PARTITIONS:
        return call.refuse(NOT_ACCEPTABLE, f"there may be {MOST_PARTITIONS} partitions here")
    if topic in call.disk.table(PARTITIONED) or call.has(topic):
        return call.refuse(CONFLICT, EXISTS)
    if "-partition-" in topic:
        return call.refuse(IN_USE, "Partitioned Topic Name should not contain '-partition-'")
    check_namespace(call.disk, topic)
    names = [f"{topic}-partition-{n}" for n in range(count)]
    new = [name for name in names if find_row(call.disk, name) is None]
    rows = [make_row(call.disk, name, place) for place, name in enumerate(new)]
    return call.say(NO_CONTENT, "", Put(PARTITIONED, topic, count), *rows)


def _partitions(call: Call, topic: str) -> Result:
    count = call.disk.table(PARTITIONED).get(topic, 0)
    if not count:
        call.need(topic)
    return call.say(OK, {"partitions": count, "deleted": False})


def _delete_partitions(call: Call, topic: str) -> Result:
    """Handle DELETE …/partitions: delete every partition of a topic that no producer or consumer
    uses. If one is in use the answer is an error, but the others are deleted all the same, as in a
    real broker."""
    nobody = Caller("")  # no client waits for a partition's answer
    count = call.disk.table(PARTITIONED).get(topic, 0)
    if call.has(topic) and not count:
        return call.refuse(CONFLICT, f"{topic} is a non-partitioned topic. {USE_DELETE}")
    if not count:
        return call.refuse(NOT_FOUND, NO_TOPIC.format(name=topic) + ".")
    effects: list[Any] = []
    refusals = []
    for part in filter(call.has, (f"{topic}-partition-{number}" for number in range(count))):
        if users := _find_users(call, part):
            refusals.append(users)
            continue
        call.front, drop_effects = _drop(call, part, nobody)
        effects += drop_effects
    if refusals:  # the other partitions have gone all the same
        return call.front, (*effects, Reply(call.caller, inspecting.refuse(IN_USE, refusals[0])))
    return call.say(NO_CONTENT, "", Put(PARTITIONED, topic, None), *effects)


# ---- subscriptions -----------------------------------------------------------------------------


def _create_sub(call: Call, topic: str, name: str) -> Result:
    """At the end of the topic, or where the body says: {"ledgerId", "entryId"}. It makes the
    topic."""
    if is_beyond(call.disk, topic):
        return call.refuse(IN_USE, NOT_MADE)
    made = open_topic(call.disk, topic)
    if call.find_cursor(topic, name) is not None:
        return call.refuse(CONFLICT, "Subscription already exists for topic")
    entry = None if made else _read_position(call, topic)
    effects = (*made, *call.subscribe(topic, name, "Latest" if entry is None else "Earliest"))
    if entry:
        effects = (*effects, Send(topic, Handed(Caller(""), Seek(topic, name, entry - 1))))
    return call.say(NO_CONTENT, "", *effects)


def _read_position(call: Call, topic: str) -> int | None:
    """The entry of the position in the body; None for the end."""
    given = call.body()
    entry = given.get("entryId") if isinstance(given, dict) else None
    if not isinstance(entry, int) or entry == LONG_MAX:
        return None
    row, ledger = call.disk.table(TOPICS)[topic], given.get("ledgerId")
    return max(place_id(row, ledger, entry) if isinstance(ledger, int) else entry, 0)


def _reset(call: Call, topic: str, name: str, time_ms: str = "") -> Result:
    """Handle a reset of the cursor of the subscription `name`, to a message or to a time: its
    consumers are disconnected, come back and go on from there. `time_ms` is "" where the body names
    a message."""
    call.need(topic)
    if call.find_cursor(topic, name) is None:
        return call.refuse(NOT_FOUND, NO_SUB.format(name=name, topic=topic))
    # position: the entry after which the subscription goes on; None for the end of the topic (its
    # ledger on the server's disk is FOLDER/LOG, both with the topic's name)
    if time_ms:
        log = call.disk.log(f"{topic}/{topic}")
        before = find_last_before(log, int(time_ms))
        later = any(entry.marker is None for entry in log.read(before + 1))
        position = before if later else None
    else:
        entry = _read_position(call, topic)
        # the message that is named is the next one
        position = None if entry is None else entry - 1
    # no client waits for the topic's answer: the administrator gets one at once
    handed = Handed(Caller(""), Seek(topic, name, position))
    return call.say(NO_CONTENT, "", Send(topic, handed))


def _unsubscribe(call: Call, topic: str, name: str) -> Result:
    call.need(topic)
    if name not in call.disk.table(f"{topic}/{CURSORS}"):
        return call.refuse(NOT_FOUND, NO_SUB.format(name=name, topic=topic))
    closing, sessions = [], call.front.sessions
    for conn, number in sessions.consuming(topic, name) if call.forced else ():
        closing.append(Send(conn, write_close("consumer", number)))
        sessions = sessions.drop_consumer(conn, number)
    call.front = call.with_sessions(sessions)
    return call.hand(topic, Unsubscribe(topic, name, force=call.forced), *closing)


PATH = f"/persistent{TOPIC}"
SUB = f"{PATH}/subscription/{PART}"
ROUTES = (
    ("GET", f"{PATH}/internalStats", _internal),
    ("GET", f"{PATH}/stats", _stats),
    ("GET", f"{PATH}/ledger/{NUMBER}/entry/{NUMBER}", _entry),
    ("PUT", f"{PATH}/unload", _unload),
    ("PUT", f"{PATH}/partitions", _create_partitions),
    ("GET", f"{PATH}/partitions", _partitions),
    ("DELETE", f"{PATH}/partitions", _delete_partitions),
    ("GET", f"{PATH}/subscriptions", _subscriptions),
    ("PUT", PATH, _create),
    ("DELETE", PATH, _delete),
    ("PUT", SUB, _create_sub),
    ("DELETE", SUB, _unsubscribe),
    ("POST", f"{SUB}/resetcursor", _reset),
    ("POST", f"{SUB}/resetcursor/{NUMBER}", _reset),
)
#: what is done for one partition at a time
OF_ONE = (_unload, _subscriptions, _create_sub, _unsubscribe, _reset)
