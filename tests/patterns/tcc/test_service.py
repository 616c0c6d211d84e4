"""A service of TCC: what each operation does after each other one, and what it moves."""

import pytest

from mqlab.kernel import Caller, Config, MemoryDisk, Reply, Request
from mqlab.patterns.records import read_records
from mqlab.patterns.tcc.claims import SAFEGUARDS
from mqlab.patterns.tcc.roles import LOG, Balance, Cancel, Confirm, Service, Try, add_up

ON = frozenset(SAFEGUARDS)
WORDS = {"try": Try("T1"), "confirm": Confirm("T1"), "cancel": Cancel("T1")}


def run(*operations, on=ON, lacks=False):
    """The ledger's words, what it adds up to from two pieces, and the last answer."""
    role, disk = Service(Config(on=on), lacks), MemoryDisk()
    said = []
    for operation in operations:
        role, effects = role.step(Request(Caller("tm"), WORDS[operation]), disk)
        for effect in effects:
            disk = disk.apply(effect)
        said += [str(effect.body) for effect in effects if isinstance(effect, Reply)]
    ledger = list(read_records(disk, LOG))
    return [record.what for record in ledger], add_up(ledger, 2), said[-1]


@pytest.mark.parametrize(
    ("operations", "ledger", "balance", "answer"),
    [
        ("try", ["tried"], Balance(1, 1, 0), "reserved"),
        ("try confirm", ["tried", "confirmed"], Balance(1, 0, 1), "ok"),
        ("try cancel", ["tried", "cancelled"], Balance(2, 0, 0), "ok"),
        ("try confirm confirm", ["tried", "confirmed"], Balance(1, 0, 1), "ok"),
        ("try cancel cancel", ["tried", "cancelled"], Balance(2, 0, 0), "ok"),
        ("cancel", ["empty"], Balance(2, 0, 0), "ok"),
        ("cancel cancel", ["empty"], Balance(2, 0, 0), "ok"),
        ("cancel try", ["empty"], Balance(2, 0, 0), "not reserved"),
        ("try cancel try", ["tried", "cancelled"], Balance(2, 0, 0), "not reserved"),
        ("try confirm cancel", ["tried", "confirmed"], Balance(1, 0, 1), "ok"),
    ],
)
def test_each_operation_after_each_other(operations, ledger, balance, answer):
    assert run(*operations.split()) == (ledger, balance, answer)


@pytest.mark.parametrize(
    ("off", "operations", "balance"),
    [
        ("idempotent_confirm", "try confirm confirm", Balance(1, -1, 2)),
        ("idempotent_cancel", "try cancel cancel", Balance(3, -1, 0)),
        ("empty_cancel", "cancel", Balance(3, -1, 0)),
        ("suspended_try", "cancel try", Balance(1, 1, 0)),
    ],
)
def test_what_each_safeguard_prevents(off, operations, balance):
    assert run(*operations.split(), on=ON - {off})[1] == balance
