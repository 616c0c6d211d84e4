"""Timed, random runs in which nodes are killed: what must be true when all is quiet again."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from mqlab.kernel import FactKind, simulate
from mqlab.kernel.simulate import simulate_world
from mqlab.pulsar import PulsarSystem
from mqlab.pulsar.messages import LedgerEntry, PushMessage, TxnID
from mqlab.pulsar.states import MarkerType
from mqlab.scenario import system_of

PARTITIONS = ("orders-0", "payments-0")
CALLS = "; ".join(
    f"new-transaction t{n}; send orders-0 o{n} txn=t{n}; send payments-0 p{n} txn=t{n}; "
    f"send orders-0 n{n}; {'abort' if n % 3 == 2 else 'commit'} t{n}"
    for n in range(5)
)
LINE = (
    f"pulsar topic=orders,payments clients=app,worker timeout_ms=3000 'app={CALLS}' "
    "'worker=subscribe orders-0 s from=earliest; subscribe payments-0 s from=earliest'"
)
SEEDS = range(12)
VICTIMS = ("tc-0", "orders-0", "payments-0", "app")


@dataclass
class Quiet:
    """A run that has come to rest: every partition's entries, and what was pushed to anybody."""

    entries: dict[str, list[LedgerEntry]]
    pushed: set[tuple[str, int]]
    readable: dict[str, int]

    def ends(self, txn: TxnID) -> set[MarkerType]:
        """The markers of a transaction, wherever they lie."""
        return {
            entry.marker
            for entries in self.entries.values()
            for entry in entries
            if entry.txn == txn and entry.marker is not None
        }


def run_killed(seed: int, off: str = "") -> Quiet:
    dice, faults = random.Random(seed), []
    for moment in range(4):
        node = VICTIMS[int(len(VICTIMS) * dice.random())]
        at = int(100 * moment + 90 * dice.random())
        faults += [(at, f"kill {node}"), (at + 5, f"restart {node}")]
    system = system_of(f"{LINE} off={off}" if off else LINE, {"pulsar": PulsarSystem})
    trace = simulate(system, seed, 200_000, faults)
    world = simulate_world(system, seed, 200_000, faults)
    disks = {name: world.disk(name).log(name) for name in PARTITIONS}
    roles = {name: world.role(name) for name in PARTITIONS}
    return Quiet(
        {name: list(log.read(0)) for name, log in disks.items()},
        {
            (fact.body.message_id.partition, fact.body.message_id.position)
            for fact in trace.facts
            if fact.kind is FactKind.SEND and isinstance(fact.body, PushMessage)
        },
        {name: role.readable - role.lac for name, role in roles.items()},
    )


def is_broken(quiet: Quiet) -> bool:
    """Whether a transaction has two ends or none, or is seen though not committed, or the other
    way round."""
    for name, entries in quiet.entries.items():
        for entry in entries:
            if entry.txn is not None and entry.marker is None:
                ends = quiet.ends(entry.txn)
                seen = (name, entry.base) in quiet.pushed
                if len(ends) != 1 or seen != (ends == {MarkerType.TXN_COMMIT}):
                    return True
    return False


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_committed_is_delivered_and_nothing_else(seed: int) -> None:
    quiet = run_killed(seed)
    assert not is_broken(quiet), "every transaction has ended, everywhere in the same way"
    for name, entries in quiet.entries.items():
        for entry in entries:
            if entry.marker is not None or entry.txn is None:
                assert ((name, entry.base) in quiet.pushed) is (entry.marker is None)
    assert quiet.readable == {"orders-0": 0, "payments-0": 0}, "one may read to the end again"


@pytest.mark.parametrize(
    "off",
    [
        "max_read_position",
        "filter_aborted",
        "retry_until_answered",
        "replay_topic",
        "transaction_timeout",
    ],
)
def test_without_a_safeguard_some_run_goes_wrong(off: str) -> None:
    """The other safeguards need a kill at one moment, which a search finds and chance does not."""
    assert any(is_broken(run_killed(seed, off)) for seed in range(40))
