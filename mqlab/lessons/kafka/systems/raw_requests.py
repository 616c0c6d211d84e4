"""Single requests, written by hand, to a transaction coordinator or a partition's leader.

Each verb is the name of the request; what is not given has the protocol's own default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ....kafka.log import Batch
from ....kafka.messages import AddPartitionsToTxn, EndTxn, InitProducerId, Produce, WriteTxnMarkers
from ....kernel import (
    Call,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Quiet,
    Response,
    Return,
    Send,
    build_failure,
    build_success,
    worded,
)

ADVICE = {
    "InitProducerId": "InitProducerId [pid=N epoch=N] [timeout_ms=N] [id=ID]",
    "AddPartitionsToTxn": "AddPartitionsToTxn TOPIC-PARTITION pid=N epoch=N [id=ID]",
    "EndTxn": "EndTxn commit|abort pid=N epoch=N [v=4] [id=ID]",
    "WriteTxnMarkers": "WriteTxnMarkers TOPIC-PARTITION commit|abort pid=N epoch=N coordinator=N",
    "Produce": "Produce TOPIC-PARTITION VALUE pid=N epoch=N seq=N [v=11] [id=ID]",
}
NUMBERS = ("pid", "epoch", "seq", "timeout_ms", "coordinator", "v")


@worded("{words}")
class Asked:
    """One request: `words` as written, `to` whom, and the message itself."""

    words: str
    to: str
    body: object


@dataclass(frozen=True, slots=True)
class Hand(Quiet):
    """One request after the other; a lost answer stays lost."""

    pending: Asked | None = None

    def step(self, event: Event, disk: Disk) -> tuple[Hand, Effects]:
        match event:
            case Call(body=Asked() as request):
                return replace(self, pending=request), (Send(request.to, request.body),)
            case Call(body=body):
                return self, (
                    Return(build_failure(body, "by hand one sends single requests only")),
                )
            case Response(body=answer) if self.pending is not None:
                error = getattr(answer, "error", None)
                make = build_failure if error else _succeed
                return Hand(), (Return(make(self.pending, error or answer)),)
            case ConnectionLost() if self.pending is not None:
                return Hand(), (Return(build_failure(self.pending, "no answer: connection lost")),)
        return self, ()


def hand(disk: Disk, at_ms: int) -> tuple[Hand, Effects]:
    """How a client by hand starts: with nothing."""
    return Hand(), ()


def _succeed(request: Asked, answer: object) -> Any:
    return build_success(request, str(answer).removeprefix("ok").strip())


def parse_request(
    words: tuple[str, ...], whose: str, coordinator: str, partitions: tuple[str, ...]
) -> Asked | None:
    """The request that a line stands for, None where it names none; ValueError with advice.
    `whose`: the transactional id where the line gives none."""
    if not words or words[0] not in ADVICE:
        return None
    given, plain = _given(words[0], words[1:])
    line, txn_id = " ".join(words), str(given.get("id", whose))
    to, body = _message(words[0], plain, given, txn_id, partitions)
    return Asked(line, to or coordinator, body)


def _given(verb: str, words: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    given: dict[str, Any] = {}
    for word in (w for w in words if "=" in w):
        name, _, value = word.partition("=")
        if name not in (*NUMBERS, "id") or (name in NUMBERS and not value.isdigit()):
            raise ValueError(f"{word!r}: expected `{ADVICE[verb]}`")
        given[name] = int(value) if name in NUMBERS else value
    return given, tuple(w for w in words if "=" not in w)


def _message(
    verb: str,
    plain: tuple[str, ...],
    given: Mapping[str, Any],
    txn_id: str,
    partitions: tuple[str, ...],
) -> tuple[str, object]:
    """(partition, "" for the coordinator; message)."""
    pid, epoch = given.get("pid", -1), given.get("epoch", -1)
    version = given.get("v")
    match verb, *plain:
        case ("InitProducerId",):
            return "", InitProducerId(txn_id, given.get("timeout_ms", 60_000), pid, epoch)
        case "AddPartitionsToTxn", where if where in partitions:
            return "", AddPartitionsToTxn(txn_id, pid, epoch, (where,))
        case "EndTxn", "commit" | "abort" as end:
            return "", EndTxn(txn_id, pid, epoch, end == "commit", version in (None, 5))
        case "WriteTxnMarkers", where, ("commit" | "abort") as end if where in partitions:
            by = given.get("coordinator", 0)
            return where, WriteTxnMarkers("", pid, epoch, end == "commit", by, 0)
        case "Produce", where, value if where in partitions:
            first = given.get("seq", 0)
            batch = Batch((value,), 1, -1, pid, epoch, first, transactional=True)
            return where, Produce(batch, txn_id, 12 if version is None else version)
    known = ", ".join(partitions)
    raise ValueError(f"expected `{ADVICE[verb]}`, with a partition of: {known}")
