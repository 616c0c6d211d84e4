"""What a topic's buffer forgets when retention deletes a ledger."""

from __future__ import annotations

from . import Admin, Lab, program
from .visibility import ORDERS, write


def give_up(lab: Lab, payload: str) -> None:
    txn = lab.begin("app")
    write(lab, txn, payload)
    lab.abort(txn)


@program(
    "aborts-forgotten", "TopicTransactionBufferRecoverTest.testTopicTransactionBufferDeleteAbort"
)
def aborts_forgotten(lab: Lab, admin: Admin) -> None:
    """The buffer looks at its next end whether the ledgers of its abort markers are still there:
    what lay in a deleted one is off the list, in the next snapshot as well."""
    give_up(lab, "a")
    admin.unload(ORDERS)
    give_up(lab, "b")
    admin.buffer_state(ORDERS)
    admin.trim(ORDERS)
    admin.buffer_state(ORDERS)
    txn = lab.begin("app")
    lab.send_unplaced("app", ORDERS, "c", txn)  # places are counted over the ledgers that are left
    lab.commit(txn)
    admin.buffer_state(ORDERS)
    admin.unload(ORDERS)
    admin.buffer_state(ORDERS)
