"""A coordinator whose memory is broken trips over it at its next step."""

import pytest

from mqlab.kernel import Config, Fired, Map, MemoryDisk
from mqlab.patterns.saga.roles import Orchestrator, Saga
from mqlab.patterns.tcc import roles as tcc
from mqlab.patterns.two_phase import roles as two_phase

TWO = ("orders", "stock")


@pytest.mark.parametrize(
    ("role", "sound", "broken"),
    [
        (Orchestrator(Config(), TWO), Saga(at=1), Saga(at=2)),
        (Orchestrator(Config(), TWO), Saga(at=0, back=True), Saga(at=-1, back=True)),
        (tcc.Coordinator(Config(), TWO), tcc.Txn(("stock",)), tcc.Txn(())),
        (
            two_phase.Coordinator(Config(), TWO),
            two_phase.Txn(yes=("stock",)),
            two_phase.Txn(yes=TWO),
        ),
    ],
    ids=["beyond the last step", "before the first", "no answer is missing", "all have voted"],
)
def test_a_fault_in_its_memory_trips_a_coordinator(role, sound, broken):
    field = "sagas" if isinstance(role, Orchestrator) else "txns"
    tick = Fired("retry T9")
    type(role)(role.config, TWO, **{field: Map([("T1", sound)])}).step(tick, MemoryDisk())
    with pytest.raises(AssertionError, match="T1"):
        type(role)(role.config, TWO, **{field: Map([("T1", broken)])}).step(tick, MemoryDisk())
