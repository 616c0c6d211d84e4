"""Every scenario (.scn) in which no broker suffers, asked of a real broker.

The engine runs the story; what its clients ask, in the order in which it arrives, is then
asked on the wire, each question when the coordinator there has come as far as the engine's
had. So a line of narration can be laid beside what a real broker said to that very question
at that very moment, and carry the evidence.

Left out are stories with stops, timers and cut networks, with safeguards off, with several
brokers: there the recordings are programs of their own, or there are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from mqlab.kafka import KafkaSystem
from mqlab.kafka.evidence import role_of
from mqlab.kafka.messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    Fetch,
    InitProducerId,
    InitProducerIdResponse,
    OffsetCommit,
    OffsetFetch,
    Produce,
    TxnOffsetCommit,
)
from mqlab.kernel import Reply, Request, Run
from mqlab.places import SCENARIOS
from mqlab.real.kafka.admin import describe_transaction, fetch_offsets
from mqlab.real.kafka.client import Lab
from mqlab.recordings.recording import Observation
from mqlab.scenario import Golden, load, parse_script, system_of
from mqlab.scenario.language import Registry, Script
from tests.oracle.kafka.producer import Producer

from ..admin import commit_plain
from . import program

FOLDERS = ("kafka", "incidents")
HARMLESS = {"run", "hold", "release", "lose", "late", "break", "fire", "at"}
STOPS = {"kill", "power-cut", "restart"}  # of a client
#: what is read here depends on a marker that only a story can hold back
RACES = ("committed-and-not-there-yet", "committed-and-not-there-yet-helped")
SOON_MS = 1_000  # until a transaction of a story with timers times out
UNTOUCHED = ("replicas", "off", "workers", "admins", "segment_records", "skip_leaderless_marker",
             "id_expiration_ms", "pid_expiration_ms", "order", "rules", "release",
             "max_message_bytes", "max_ahead_ms")  # fmt: skip
KINDS = (
    InitProducerId,
    AddPartitionsToTxn,
    AddOffsetsToTxn,
    Produce,
    EndTxn,
    TxnOffsetCommit,
    OffsetCommit,
    OffsetFetch,
    Fetch,
)
PREFIX = "scn-"
REGISTRY: Registry = {KafkaSystem.name: KafkaSystem}


@dataclass(frozen=True, slots=True)
class Question:
    """A client's question as it arrives: at which role, what it is answered in the end, and
    the state of every transactional id just before."""

    who: str
    to: str
    body: Any
    answer: Any
    states: tuple[tuple[str, str], ...]


def profile_of(system: KafkaSystem) -> str:
    if system.transaction_version == 0:
        return "tv0"
    return "tv2" if system.client == "v2" else "tv2-legacy"


def replayable(script: Script) -> bool:
    """Whether the clients of this story could live through it at a healthy broker."""
    if script.system.split()[0] != KafkaSystem.name:
        return False
    system, plain = system_of(script.system, REGISTRY), KafkaSystem()
    assert isinstance(system, KafkaSystem)
    clients = _clients(system)
    speakers = {line.words[0] for line in script.lines if line.command == "run"}
    if not speakers & {name for name, _ in system.producers}:
        return False
    return all(
        line.command in HARMLESS or (line.command in STOPS and line.words[0] in clients)
        for line in script.lines
    ) and all(getattr(system, name) == getattr(plain, name) for name in UNTOUCHED)


def _clients(system: KafkaSystem) -> set[str]:
    return {name for name, _ in system.producers} | set(system.readers)


@cache
def stories() -> dict[str, tuple[Path, Script]]:
    """Every scenario that can be replayed, by name; none where the tests are not installed."""
    paths = [path for name in FOLDERS for path in sorted((SCENARIOS / name).glob("*.scn"))]
    scripts = {path: parse_script(path.read_text("utf-8")) for path in paths}
    return {
        path.stem: (path, script)
        for path, script in scripts.items()
        if path.stem not in RACES and replayable(script)
    }


def questions(golden: Golden) -> list[Question]:
    """What the clients of a story ask, in the order of arrival."""
    system = golden.run.system
    assert isinstance(system, KafkaSystem)
    clients = _clients(system)
    arrivals: list[Question] = []
    open_: dict[tuple[Any, str], list[int]] = {}  # unanswered, by who asked whom
    run = Run(system)
    for choice in golden.run.choices:
        before = run.world
        for move in run.do(choice):
            event = move.event
            if move.what != "step" or move.stage is None:
                continue
            if isinstance(event, Request) and move.stage.effect is None:
                if event.caller.name in clients and isinstance(event.body, KINDS):
                    entries = before.role("coordinator").entries
                    states = tuple((i, str(entry.state)) for i, entry in entries.items())
                    open_.setdefault((event.caller, move.role), []).append(len(arrivals))
                    arrivals.append(
                        Question(event.caller.name, move.role, event.body, None, states)
                    )
            if isinstance(move.stage.effect, Reply):
                waiting = open_.get((move.stage.effect.caller, move.role))
                if waiting:
                    place = waiting.pop(0)
                    arrivals[place] = replace(arrivals[place], answer=move.stage.effect.body)
    return arrivals


def replay(lab: Lab, path: Path) -> None:
    golden = load(path, REGISTRY)
    system = golden.run.system
    assert isinstance(system, KafkaSystem)
    for topic in system.topic.split(","):
        lab.topic(topic, system.partitions)
    ids = dict(system.producers)
    apps = {who: Producer(lab, _id(ids[who]), who) for who in ids}
    pids: dict[int, int] = {-1: -1}
    reached: dict[str, str] = {}
    fired = [line.words[0] for line in golden.script.lines if line.command == "fire"]
    timed = system.config.coordinator in fired
    for one in questions(golden):
        for txn_id, state in one.states:
            if not state.startswith("Prepare") and reached.get(txn_id) != state:
                lab.wait_until(partial(_state, lab, txn_id), state, 15.0 if timed else 2.0)
                # Where a story holds back what brokers say to each other, this is never so.
                reached[txn_id] = state
        body = _renumbered(one.body, pids)
        app = apps.get(one.who) or Producer(lab, None, one.who)
        app.pid = getattr(body, "pid", getattr(getattr(body, "batch", None), "pid", app.pid))
        place = len(lab.notes)
        _ask(lab, app, one, body if not timed else _hastened(body))
        seen = lab.notes[place]
        lab.notes[place] = Observation(one.who, role_of(one.to), str(body), seen.answered)
        if isinstance(one.answer, InitProducerIdResponse) and app.pid >= 0:
            pids.setdefault(one.answer.pid, app.pid)


def _id(txn_id: str) -> str | None:
    return None if txn_id in ("-", "plain") else txn_id


def _state(lab: Lab, txn_id: str) -> str:
    row = describe_transaction(lab, txn_id)
    return str(row.state) if row is not None else ""


def _renumbered(body: Any, pids: dict[int, int]) -> Any:
    """The question with the producer id that the broker has given."""
    if isinstance(body, Produce):
        return replace(body, batch=replace(body.batch, pid=pids.get(body.batch.pid, -1)))
    if hasattr(body, "pid"):
        return replace(body, pid=pids.get(body.pid, -1))
    return body


def _hastened(body: Any) -> Any:
    """With a timeout that a story's reader need not wait for."""
    return replace(body, timeout_ms=SOON_MS) if isinstance(body, InitProducerId) else body


def _ask(lab: Lab, app: Producer, one: Question, body: Any) -> None:
    # Only a fence's first answer is certain to say CONCURRENT_TRANSACTIONS; any other is a
    # matter of how fast the markers were.
    once = isinstance(body, InitProducerId) and dict(one.states).get(body.txn_id or "") == "Ongoing"
    match body:
        case InitProducerId():
            app.init(body.pid, body.epoch, body.timeout_ms, once=once)
        case AddPartitionsToTxn():
            app.add(*body.partitions, epoch=body.epoch)
        case AddOffsetsToTxn():
            app.add_offsets(body.group, epoch=body.epoch)
        case EndTxn():
            app.end(body.commit, epoch=body.epoch, version=5 if body.v2 else 4)
        case Produce(batch=batch):
            app.produce(
                one.to, *map(str, batch.records), pid=batch.pid, epoch=batch.epoch,
                seq=batch.first_seq, version=body.version, transactional=batch.transactional,
            )  # fmt: skip
        case TxnOffsetCommit() | OffsetCommit():
            _commit(lab, app, body)
        case OffsetFetch():
            fetch_offsets(lab, body.group, *(body.partitions or ()), stable=body.require_stable)
        case Fetch():
            lab.fetch(one.to, body.offset, body.isolation, one.who)


def _commit(lab: Lab, app: Producer, body: TxnOffsetCommit | OffsetCommit) -> None:
    at = {p.partition.replace("-", "_"): p.offset for p in body.positions}
    member = (body.member, body.generation) if body.member else None
    if isinstance(body, OffsetCommit):
        commit_plain(lab, body.group, member, **at)
    else:
        app.commit_offsets(body.group, member, epoch=body.epoch, version=body.version, **at)


def _register() -> None:
    for name, (path, script) in stories().items():
        system = system_of(script.system, REGISTRY)
        assert isinstance(system, KafkaSystem)
        comments = script.comments[1:] or script.comments or (name,)
        reference = comments[0].strip().removeprefix("Kafka: ")
        program(reference, name=PREFIX + name, profiles=(profile_of(system),))(
            partial(replay, path=path)
        )


_register()
