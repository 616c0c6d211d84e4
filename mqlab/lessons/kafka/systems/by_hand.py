"""A client that sends exactly the batch it is told to: what no real producer lets one do.

    run hand: produce payments-0 p1 seq=0, produce payments-0 p2|p3 seq=1 epoch=0 pid=7

It asks for no producer id, counts nothing, repeats nothing; a lost answer stays lost. So a
lesson can put one question after the other to a leader and note what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....kafka.config import KafkaConfig
from ....kafka.log import MAX_SEQUENCE, Batch
from ....kafka.messages import Produce, ProduceResponse
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
)

PID = 7
ADVICE = "produce TOPIC-PARTITION VALUE|VALUE… seq=NUMBER [epoch=NUMBER] [pid=NUMBER]"


@dataclass(frozen=True, slots=True)
class ProduceBatch:
    """One batch with the header it shall have; its answer is the call's result."""

    partition: str
    values: tuple[str, ...]
    seq: int
    epoch: int = 0
    pid: int = PID

    @property
    def batch(self) -> Batch:
        return Batch(self.values, len(self.values), -1, self.pid, self.epoch, self.seq)

    def __str__(self) -> str:
        more = "" if self.epoch == 0 else f" epoch={self.epoch}"
        more += "" if self.pid == PID else f" pid={self.pid}"
        return f"produce {self.partition} {'|'.join(self.values)} seq={self.seq}{more}"


def produce_call(partition: str, values: str, options: tuple[str, ...]) -> ProduceBatch:
    """The call of a `produce` line; ValueError says what was expected."""
    numbers = {"epoch": 0, "pid": PID}
    for option in options:
        name, _, number = option.partition("=")
        if name not in ("seq", "epoch", "pid") or not number.isdigit():
            raise ValueError(f"{option!r}: expected `{ADVICE}`")
        numbers[name] = int(number)
    if "seq" not in numbers or numbers["seq"] > MAX_SEQUENCE:
        raise ValueError(f"a batch needs a sequence number up to {MAX_SEQUENCE}: `{ADVICE}`")
    return ProduceBatch(
        partition, tuple(values.split("|")), numbers["seq"], numbers["epoch"], numbers["pid"]
    )


@dataclass(frozen=True, slots=True)
class ByHand(Quiet):
    """`pending`: the batch under way; `answer`: what was said last, with its batch."""

    config: KafkaConfig
    pending: ProduceBatch | None = None
    answer: tuple[ProduceBatch, ProduceResponse] | None = None

    def step(self, event: Event, disk: Disk) -> tuple[ByHand, Effects]:
        match event:
            case Call(body=ProduceBatch() as call):
                new = replace(self, pending=call, answer=None)
                return new, (Send(call.partition, Produce(call.batch)),)
            case Call(body=body):
                return self, (Return(build_failure(body, "a client by hand can only produce")),)
            case Response(body=ProduceResponse() as response) if self.pending is not None:
                new = replace(self, pending=None, answer=(self.pending, response))
                result = build_failure if response.error else build_success
                return new, (Return(result(self.pending, _short(response))),)
            case ConnectionLost() if self.pending is not None:
                lost = build_failure(self.pending, "no answer: the connection is lost")
                return replace(self, pending=None), (Return(lost),)
        return self, ()


def _short(response: ProduceResponse) -> str:
    return response.error.name if response.error else f"@{response.base_offset}"
