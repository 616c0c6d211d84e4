"""Pulling: what a consumer gets, and how long it waits where there is nothing.

A pull that finds nothing is held, up to the time that the client allows, and looked at again when
a message with one of its tags has come into its queue (long polling, `held.py`); so a push
consumer is one that pulls. Messages whose tag the group has not subscribed to are passed over here;
a client that has to ask again at once moves on after them.

Source: PullMessageProcessor#processRequest, PullRequestHoldService, DefaultMessageStore#getMessage
(5.5.0). Left out: SQL expressions, reading from a slave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, CancelTimer, Disk, Effects, Reply, SetTimer, replace
from ....kernel.role import LogView
from ....rocketmq.log import Stored, is_readable, measure, offset_key, read_stored
from ....rocketmq.messages import TAGS
from ....rocketmq.remoting import ResponseCode
from ..wire.answers import Ask, Messages, PullMessage
from ..wire.headers import RequestError
from .clients import Subscription
from .held import Arrival, Held
from .offsets import find_queue, note_position
from .topics import READ, find_topic, group_fault

if TYPE_CHECKING:
    from . import Front

MOST = 32  # maxTransferCountOnMessageInMemory: messages in one answer
BYTES = 256 << 10  # maxTransferBytesOnMessageInMemory; the first message goes in any case
PASSED = 800  # maxFilterMessageSize: entries that one pull looks at
LONGEST_MS = 60_000
PULL = "pull "  # how the names of timers begin that end a wait
NO_GROUP_AT_ALL = "subscription group [{group}] does not exist, "
NOT_READABLE = "the topic[{topic}] pulling message is forbidden"
NO_GROUP = "the consumer's group info not exist"
NO_SUBSCRIPTION = "the consumer's subscription not exist"
NOT_LATEST = "the consumer's subscription not latest"
NOT_PARSED = "parse the consumer's subscription failed"
Result = tuple["Front", Effects]


# ---- asking ----------------------------------------------------------------------------------


def begin_pull(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Handle PULL_MESSAGE: note the offset that it commits, then answer with messages; if there are
    none yet, hold the pull until some arrive or its time is over. Refused where group, topic, queue
    or subscription does not exist, or the topic may not be read."""
    body: PullMessage = ask.body
    if group_fault(body.group, older=front.is_older):
        remark = NO_GROUP_AT_ALL.format(group=body.group)
        raise RequestError(remark, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    topic = find_topic(disk, body.topic)
    if topic is not None and not topic.perm & READ:
        raise RequestError(NOT_READABLE.format(topic=body.topic), ResponseCode.NO_PERMISSION)
    queue = find_queue(front, disk, body.topic, body.queue_id)
    subscription = find_subscription(front, body)
    new, commit_effects = front, Effects()
    if body.commit is not None and body.commit >= 0:
        new, commit_effects = note_position(front, body.group, queue, body.commit, disk)
    held = Held(caller, body, queue, subscription)
    # an administrator has set the group to another offset: that is its answer, once
    if offset_key(body.group, queue) in new.resets:
        new, answer = take_reset(new, held, disk)
        return new, (*commit_effects, Reply(caller, answer))
    answer = read_messages(held, disk)
    if answer.code != ResponseCode.PULL_NOT_FOUND or body.suspend_ms <= 0:
        return note_pulled(new, held, answer), (*commit_effects, Reply(caller, answer))
    new, hold_effects = hold(new, held)
    return new, (*commit_effects, *hold_effects)


def find_subscription(front: Front, body: PullMessage) -> Subscription:
    """What the request brings along, or what the group's heartbeats have said; those may say
    anything. Raises RequestError."""
    found: Subscription | None = body.subscription
    if found is not None and not found.text.replace("||", ""):
        raise RequestError(NOT_PARSED, ResponseCode.SUBSCRIPTION_PARSE_FAILED)
    if found is None:
        group = front.clients.find(body.group)
        if group is None:
            raise RequestError(NO_GROUP, ResponseCode.SUBSCRIPTION_NOT_EXIST)
        found = group.subscriptions.get(body.topic)
        if found is None:
            raise RequestError(NO_SUBSCRIPTION, ResponseCode.SUBSCRIPTION_NOT_EXIST)
        if found.version < body.version:
            raise RequestError(NOT_LATEST, ResponseCode.SUBSCRIPTION_NOT_LATEST)
    found.check_kind()
    return found


def read_messages(held: Held, disk: Disk) -> Messages:
    """GetMessageStatus, which is the remark, and the code that it becomes."""
    log, at = disk.log(held.queue), held.body.offset
    start, end = log.start, log.end
    if end == 0 or not start <= at <= end:
        back = start if at < start else end  # an empty queue starts and ends at 0
        moved = ResponseCode.PULL_OFFSET_MOVED if at != back else ResponseCode.PULL_NOT_FOUND
        outside = "OFFSET_TOO_SMALL" if at < start else "OFFSET_OVERFLOW_BADLY"
        return build_answer(moved, outside if end else "NO_MESSAGE_IN_QUEUE", back, log)
    if at == end:
        return build_answer(ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", at, log)
    messages, behind = choose_messages(held, disk)
    if not messages:
        code = ResponseCode.PULL_RETRY_IMMEDIATELY
        return build_answer(code, "NO_MATCHED_MESSAGE", behind, log)
    return build_answer(ResponseCode.SUCCESS, "FOUND", behind, log, messages)


def choose_messages(held: Held, disk: Disk) -> tuple[tuple[Stored, ...], int]:
    """Choose the messages of a queue that a pull returns: those that its subscription wants, as
    many and as large as an answer may be. Returns them and the offset from which the next pull
    should go on; all before it were returned or passed over."""
    offset, max_count = held.body.offset, max(1, min(held.body.most, MOST))
    messages: list[Stored] = []
    total_bytes = 0
    # PASSED: at most so many entries are looked at, wanted or not
    for entry in disk.log(held.queue).read(offset, offset + PASSED):
        stored = read_stored(disk, entry.commit_log_offset)
        if stored is None:  # not in the commit log
            break
        size = measure(stored)
        # nothing more is passed over once the answer is full (#isTheBatchFull)
        if messages and (len(messages) == max_count or total_bytes + size > BYTES):
            break
        if held.wanted.wants(stored.message.get(TAGS)) and is_readable(stored):
            total_bytes += size
            messages.append(stored)
        offset = entry.last + 1
    return tuple(messages), offset


def take_reset(front: Front, held: Held, disk: Disk) -> tuple[Front, Messages]:
    """The group was set back, or forward: once it gets the new offset, and goes on from there
    (OFFSET_RESET)."""
    key, log = offset_key(held.body.group, held.queue), disk.log(held.queue)
    code, to = ResponseCode.PULL_OFFSET_MOVED, front.resets[key]
    answer = build_answer(code, "OFFSET_RESET", to, log)
    return replace(front, resets=front.resets.remove(key)), answer


def note_pulled(front: Front, held: Held, answer: Messages) -> Front:
    """How far a group that is here has been sent messages; consumerProgress reports it."""
    if not answer.messages or front.clients.find(held.body.group) is None:
        return front
    key = offset_key(held.body.group, held.queue)
    behind = int(dict(answer.fields)["nextBeginOffset"])
    return replace(front, pulled=front.pulled.set(key, behind))


def build_answer(
    code: ResponseCode, status: str, behind: int, log: LogView, messages: tuple[Stored, ...] = ()
) -> Messages:
    fields = (
        ("suggestWhichBrokerId", "0"),
        ("nextBeginOffset", str(behind)),
        ("minOffset", str(log.start)),
        ("maxOffset", str(log.end)),
    )
    return Messages(code, status, fields, messages)


# ---- waiting ---------------------------------------------------------------------------------


def hold(front: Front, held: Held) -> Result:
    number = front.last + 1
    new = replace(front, last=number, held=front.held.add(number, held))
    return new, (SetTimer(name_timer(number), min(held.body.suspend_ms, LONGEST_MS)),)


def name_timer(number: int) -> str:
    return f"{PULL}{number}"


def end_wait(front: Front, number: int, disk: Disk) -> Result:
    """Its time is over: it gets what there is, which may be nothing."""
    held = front.held.pulls.get(number)
    if held is None:
        return front, ()
    answer = read_messages(held, disk)
    return note_pulled(drop(front, number), held, answer), (Reply(held.caller, answer),)


def wake(front: Front, stored: tuple[Arrival, ...], disk: Disk) -> Result:
    """These messages have come. A pull that waits for one of them is answered as if it asked
    now."""
    new, effects = front, list[Any]()
    for number in front.held.find(stored):
        held = new.held.pulls[number]
        answer = read_messages(held, disk)
        if answer.code != ResponseCode.PULL_NOT_FOUND:
            new = note_pulled(drop(new, number), held, answer)
            effects += (CancelTimer(name_timer(number)), Reply(held.caller, answer))
    return new, tuple(effects)


def drop(front: Front, number: int) -> Front:
    return replace(front, held=front.held.remove(number))


def forget_client(front: Front, client: str) -> Result:
    """No client is there any more to get the answers."""
    new, effects = front, list[Any]()
    for number in front.held.list_of(client):
        new = drop(new, number)
        effects.append(CancelTimer(name_timer(number)))
    return new, tuple(effects)
