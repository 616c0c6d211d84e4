"""What pictures of all models share: lanes, logs of records, and one sentence why.

A step is explained by the name of what it does: a message by its class (or the `key` it gives
itself), a record by its first word, a timer by the first word of its name. What changes memory
only is `change`, with the name of the message that did it. A model lists its sentences under these
names, in its `why.toml`. What it lists no sentence for teaches nothing here, and is folded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from ..kernel import (
    NOTHING,
    Append,
    Cell,
    Effect,
    Event,
    Fact,
    FactKind,
    Fired,
    Got,
    Graph,
    GraphState,
    Lane,
    Log,
    Put,
    Reply,
    Request,
    Return,
    Send,
    Stage,
    System,
    Telling,
    Text,
    Word,
    Words,
    World,
    frozen,
    replace,
)
from ..kernel.moves import current
from ..kernel.reasons import DROPPED, Unguarded, find_unguarded, read_sentences
from .records import Record

LATE = Words("It was sent on a connection that has broken since; it arrives all the same.")
STOPPED = Words("Its memory is gone; each node that was connected hears that the connection broke.")
RECOVERED = Words("It knows no more than what is on its disk.")
BROKEN = Words(
    "What was in flight may be lost, or arrive all the same; the sender cannot tell which."
)
RETURNED = Words("What the application is told.")
AT_NODE = Words("{node}: {why}")


# ---- lanes and logs --------------------------------------------------------------------


def draw_lanes(world: World, titles: Iterable[tuple[str, Text]]) -> tuple[Lane, ...]:
    """(node, what it is) of each lane, in this order."""
    return tuple(Lane(name, Text(name), what, world.nodes[name].up) for name, what in titles)


def draw_log(
    name: str,
    records: Iterable[Record],
    label: Callable[[Record], str] | Mapping[str, str],
    control: Iterable[str] = (),
    hidden: Iterable[str] = (),
) -> Log:
    """Draw a log as a row of cells. `control`: the kinds of record that are drawn as decisions;
    `hidden`: those that no reader sees; `label` writes a cell's text, or has a short word for each
    kind whose own name is too long."""
    decisions, unseen = {*control}, {*hidden}
    if isinstance(label, Mapping):
        words = label
        label = lambda record: words.get(record.what, record.what)  # noqa: E731
    cells = (
        Cell(
            record.base,
            Word(label(record)),
            "control" if record.what in decisions else "data",
            record.txn,
            readable=record.what not in unseen,
        )
        for record in records
    )
    return Log(name, tuple(cells))


# ---- graphs and readers ----------------------------------------------------------------


def place_states(places: Mapping[str, tuple[int, int]]) -> tuple[GraphState, ...]:
    """The states of a graph, each with its column and row."""
    return tuple(GraphState(name, *place) for name, place in places.items())


def draw_latest(idle: Graph, title: Words, name: str, records: Iterable[Record]) -> Graph:
    """How far a node is with the latest transaction in its log: after the graph's first state, each
    record of it is the next one. `idle`: the graph without a transaction."""
    known = list(records)
    if not known:
        return idle
    txn = known[-1].txn
    path = (idle.states[0].name, *(record.what for record in known if record.txn == txn))
    return replace(idle, title=title(name=name, txn=txn), path=path, txn=txn)


def get_each(log: str, txns: Iterable[str]) -> tuple[Got, ...]:
    """What a reader gets: the record of each of these transactions."""
    return tuple(Got(log, txn, txn) for txn in txns)


# ---- the sentence why ------------------------------------------------------------------


@frozen
class Sentences:
    """What a model says of its steps, by the names that the module's head describes. `whys`: why
    each happens; `told`: which of them a reader who knows no protocol notices; `stages`: which
    stage of a transaction one begins; `unguarded`: what is true in the place of a sentence while a
    safeguard is off."""

    whys: Mapping[str, Words]
    told: Collection[str]
    stages: Mapping[str, Stage]
    unguarded: Unguarded


NO_SENTENCES = Sentences({}, (), {}, {})


def read_model(module: str) -> Sentences:
    """Read the `why.toml` beside a module's file."""
    data = read_sentences(module)
    stages = data.get("stages", {}).items()
    return Sentences(
        data["whys"],
        data["told"],
        {name: Stage[stage] for stage, names in stages for name in names},
        find_unguarded(data["unguarded"], data["whys"]),
    )


def explain(
    system: System,
    sentences: Sentences,
    world: World,
    role: str,
    event: Event | None,
    effect: Effect | None,
) -> Telling:
    """Explain an effect of a model's step, or its event where `effect` is None, by the sentence
    that the model has for it. An effect or a timer without a sentence is folded away (hidden until
    a reader unfolds it). `world`: the one after it; `role`: the role's name."""
    whys = sentences.whys
    subject = _find_subject(effect)  # the message or record of the effect
    if subject is not None:
        names = (f"{name_of(subject)} by {role}", name_of(subject))
        key = next((name for name in names if name in whys), "")
        why = whys.get(key)
        return Telling(
            _txn(subject),
            fold=why is None,
            why=_say(why, subject),
            stage=sentences.stages.get(key),
            story=AT_NODE if key in sentences.told else None,
        )
    match effect, event:
        case Return(value=value), _:
            return Telling(_txn(getattr(value, "call", None)), why=RETURNED())
        case None, Fired(timer=timer):
            word, _, txn = timer.partition(" ")  # such as "retry T1"
            why = whys.get(word)
            return Telling(txn, fold=why is None, why=_say(why, event))
        case None, Request(caller=caller, body=body):
            # on a connection that has broken since: there is a newer one
            late = current(system, world, caller.name, role) != caller.conn
            name = name_of(body)
            why = whys.get(f"late {name}", LATE) if late else whys.get(f"change {name}")
            return Telling(_txn(body), why=_say(why, body))
        case None, None:  # a fault
            return Telling(why=_fault(whys, world, role))
        case None, _:
            return Telling(why=_say(whys.get("change"), event))
    return Telling(fold=True)


def explain_fault(fact: Fact) -> Text:
    """Why, of what no role did by itself, where the model's own sentences say nothing."""
    sentence = FAULTS.get(fact.kind)
    return NOTHING if sentence is None else sentence()


#: what a fault means in every model
FAULTS = {
    FactKind.BREAK: BROKEN,
    FactKind.DROP: DROPPED,
    FactKind.RECOVERY: RECOVERED,
    FactKind.KILL: STOPPED,
    FactKind.POWER_CUT: STOPPED,
    FactKind.LATE: LATE,
}


def name_of(thing: object) -> str:
    """The name under which its sentence is listed."""
    return str(getattr(thing, "key", type(thing).__name__))


def _find_subject(effect: Effect | None) -> object:
    match effect:
        case Send(body=body) | Reply(body=body):
            return body
        case Append(entry=entry):
            return entry
        case Put(value=value) if hasattr(value, "key"):
            return value
    return None


def _txn(thing: object) -> str:
    return str(getattr(thing, "txn", ""))


def _say(why: Words | None, thing: object) -> Text:
    return NOTHING if why is None else why(txn=_txn(thing))


def _fault(whys: Mapping[str, Words], world: World, role: str) -> Text:
    """Of a stop, of a recovery that has not come to its end, else (a broken connection, which
    says enough) nothing."""
    node = world.nodes.get(role)
    if node is None or node.up:
        return NOTHING
    what, general = ("recovery", RECOVERED) if node.roles else ("stop", STOPPED)
    why = whys.get(f"{what} {role}") or whys.get(what, general)
    return why(txn="")
