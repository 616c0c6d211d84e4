"""An execution for a reader who knows no protocol: one plain sentence for each step that matters to
people, and how far a transaction has come.

Whatever the broker, a transaction passes six stages; each record or message that begins one says
so (`Telling.stage`). What a sentence says comes from the fact itself, its kind and its body. A
broker or a model gives the sentences about its own messages and records (`Telling.story`); what is
the same everywhere, a process that dies or an application that gets no answer, is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from .role import FAILED, UNKNOWN, ConnectionLost, Outcome
from .snapshot import Lane
from .text import NOTHING, Text, Words, tr
from .trace import Fact, FactKind


class Stage(StrEnum):
    """How far a transaction has come, in this order."""

    RESERVE = "reserve"
    WRITE = "write"
    DECIDE = "decide"
    PUBLISH = "publish"
    SHOW = "make visible"
    FORGET = "forget"


STAGE_NAMES: dict[str, Text] = {
    Stage.RESERVE: tr("reserve"),
    Stage.WRITE: tr("write"),
    Stage.DECIDE: tr("decide"),
    Stage.PUBLISH: tr("publish"),
    Stage.SHOW: tr("make visible"),
    Stage.FORGET: tr("forget"),
}

FAULTS = {
    FactKind.KILL: Words("{node} dies. What it had only in memory is gone."),
    FactKind.POWER_CUT: Words("The power of {node} fails. What was not yet on its disk is gone."),
    FactKind.RECOVERY: Words("{node} is started again. It knows what is on its disk."),
    FactKind.BREAK: Words("The connection between {node} and {peer} breaks."),
    FactKind.DROP: Words("{peer} throws away what {node} has sent, and nobody is told."),
    FactKind.LATE: Words("What {node} had sent before arrives only now."),
}
NOBODY = Words("{node} finds nobody at the address of {peer}.")
NO_ANSWER = Words("{node} gets no answer: it cannot know whether it has happened.")
TOLD_NO = Words("{node} is told that it has not worked.")
TOLD_YES = Words("{node} is told that it is done.")

PART = Words("{part} ({name})")
BROKER = tr("broker")
"""What its coordinators, leaders and logs are parts of."""

TWICE = Words("{story} It was there before.")
ASKED_AGAIN = Words("{node} got no answer, and sends the same again.")
RECENT = 50
"""Facts among which a request that is repeated, and the break between, are looked for."""

SOME = tr("a transaction")
"""One that no fact names, as of a producer that was replaced and is not fenced."""

LONG = 14
"""Letters of a name that says nothing to an outsider."""

#: a sentence that still lacks who does it. It is called with `node` and `peer`, who are named as an
#: outsider knows them, with `at`, the node's own name, with `txn`, with `what`, the record, and
#: with `why`, the step's own sentence why
Story = Callable[..., Text]


def tell(fact: Fact, story: Story | None, lanes: Iterable[Lane], **values: object) -> Text:
    """The sentence of a fact; nothing where an outsider would notice nothing. `values`: what else
    the story speaks of."""
    refused = isinstance(fact.body, ConnectionLost)
    story = story or (NOBODY if refused else FAULTS.get(fact.kind))
    if story is None and fact.kind is FactKind.RETURN and isinstance(fact.body, Outcome):
        story = {UNKNOWN: NO_ANSWER, FAILED: TOLD_NO}.get(fact.body.status)
    if story is None:
        return NOTHING
    names = {lane.name: call(lane) for lane in lanes}
    node, peer = (names.get(name, Text(name)) for name in (fact.node, fact.peer))
    return story(node=node, peer=peer, at=fact.node, **values)


def tell_again(story: Text, record: Text, fact: Fact, before: Sequence[Fact]) -> Text:
    """The sentence of a fact (`story`, empty where it has none), changed where the same happened
    before. Of a record that this node has already, it goes on with "It was there before". A request
    without a sentence gets one where the same request was sent before its connection last broke,
    as far as the last RECENT facts show. `record`: the record's name in the sentence, or empty;
    `before`: the facts so far."""
    is_stored = fact.kind in (FactKind.APPEND, FactKind.CHANGE)
    if is_stored and record.en and record.en in story.en:
        # startswith: the earlier sentence may itself go on with "It was there before"
        stored = any(old.node == fact.node and old.story.en.startswith(story.en) for old in before)
        return TWICE(story=story) if stored else story
    if story.en or fact.kind is not FactKind.SEND:
        return story
    ends, recent = {fact.node, fact.peer}, before[-RECENT:]
    breaks = [i for i, old in enumerate(recent)
              if old.kind is FactKind.BREAK and {old.node, old.peer} == ends]  # fmt: skip
    request = (fact.kind, fact.node, fact.peer, fact.body)
    before_break = recent[: breaks[-1]] if breaks else ()
    repeats = any((old.kind, old.node, old.peer, old.body) == request for old in before_break)
    return ASKED_AGAIN(node=fact.node) if repeats else story


def call(lane: Lane) -> Text:
    """What an outsider calls a participant."""
    if not lane.part.en or lane.part == lane.title:
        return lane.title
    if len(lane.name) > LONG:
        return lane.part
    return PART(part=lane.part, name=lane.title)
