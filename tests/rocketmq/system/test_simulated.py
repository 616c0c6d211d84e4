"""Timed, random runs in which processes are killed: what must be true when all is quiet again."""

from __future__ import annotations

import random

import pytest

from mqlab.kernel import FactKind, Trace, simulate
from mqlab.rocketmq.log import Stored
from mqlab.rocketmq.messages import KEYS
from mqlab.scenario import system_of
from tests.rocketmq.driven import SYSTEMS

ORDERS = [f"o{n}" for n in range(1, 5)]
LINE = (
    "rocketmq release={release} early=on check_interval_ms=7000 check_max=3 timeout_ms=1000 "
    "op_batch_ms=300 persist_ms=500 producers=app:order-service,twin:order-service "
    f"'app={'; '.join(f'send-in-transaction orders-0 {order}' for order in ORDERS)}'"
)


def run_killed(release: str, seed: int) -> Trace:
    """The run of this seed, with a process killed and started again at each of three moments."""
    dice, faults = random.Random(seed), []
    for moment in range(3):
        node = ("app", "broker", "app")[moment]
        at = int(moment * 3_000 + 120 * dice.random())
        faults += [(at, f"kill {node}"), (at + 1 + int(2_000 * dice.random()), f"restart {node}")]
    return simulate(system_of(LINE.format(release=release), SYSTEMS), seed, 200_000, faults)


def written(trace: Trace, kind: str) -> set[str | None]:
    """The orders of all records of this kind; nothing ever takes one away again."""
    return {
        fact.body.message.get(KEYS)
        for fact in trace.facts
        if isinstance(fact.body, Stored) and fact.body.kind == kind
    }


@pytest.mark.parametrize("release", ["4.9", "5.5"])
@pytest.mark.parametrize("seed", range(12))
def test_no_row_is_without_its_message_or_a_parked_half(release: str, seed: int) -> None:
    """And nothing is delivered without its row; each half was ended or given up."""
    trace = run_killed(release, seed)
    rows = {
        order
        for order in ORDERS
        for fact in trace.facts
        if fact.kind is FactKind.PUT and f"[{order}]" in fact.text.en
    }
    delivered, parked = written(trace, "message"), written(trace, "discard")
    assert rows <= delivered | parked
    assert delivered <= rows
    assert written(trace, "half") == delivered | parked
    assert trace.facts[-1].at_ms < 100_000, "it comes to rest"


def test_the_kills_make_a_difference() -> None:
    """Over all seeds: halves that were asked about, and halves that were given up."""
    traces = [run_killed("5.5", seed) for seed in range(12)]
    told = [str(fact.text) for trace in traces for fact in trace.facts]
    assert any(line.startswith("CheckTransactionState") for line in told)
    assert any(written(trace, "discard") for trace in traces)
