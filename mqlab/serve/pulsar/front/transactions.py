"""Commands to a coordinator, handed to it in the client's name.

A client says which coordinator it means, or which transaction; the coordinator's number is the
transaction's high half. Topics that a transaction names are written out in full, and made known,
so that a role answers for each of them in the end.

Source: ServerCnx#handleTcClientConnectRequest, #handleNewTxn, #handleAddPartitionToTxn,
#handleAddSubscriptionToTxn, #handleEndTxn (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Reply, Send
from ....pulsar.config import name_coordinator
from ....pulsar.errors import ServerError
from ....pulsar.messages import (
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    Answer,
    EndTxn,
    NewTxn,
    TcClientConnect,
    TxnID,
)
from ....pulsar.states import TxnAction
from ..wire.answers import Ask, Handed
from ..wire.commands import signed
from .topics import name_participants, read_name

if TYPE_CHECKING:
    from . import Front

Result = tuple["Front", Effects]
ACTIONS = (TxnAction.COMMIT, TxnAction.ABORT)
NO_COORDINATOR = Answer(ServerError.TransactionCoordinatorNotFound, "no such coordinator")


def hand(front: Front, caller: Caller, tc_id: int, body: Any, before: Effects = ()) -> Result:
    if not 0 <= tc_id < front.config.coordinators:
        return front, (Reply(caller, NO_COORDINATOR),)
    return front, (*before, Send(name_coordinator(tc_id), Handed(caller, body)))


def connect(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    tc_id = ask.command.body.tc_id
    return hand(front, caller, tc_id, TcClientConnect(tc_id))


def begin(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    command = ask.command.body
    return hand(front, caller, command.tc_id, NewTxn(command.tc_id, command.txn_ttl_millis))


def add_partitions(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    txn = _read_txn(ask)
    names = tuple(map(read_name, ask.command.body.partitions))
    request = AddPartitionToTxn(txn, names)
    return hand(front, caller, txn.most, request, name_participants(disk, names))


def add_subscriptions(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    txn = _read_txn(ask)
    where = tuple((read_name(s.topic), s.subscription) for s in ask.command.body.subscription)
    names = tuple(name for name, _ in where)
    request = AddSubscriptionToTxn(txn, where)
    return hand(front, caller, txn.most, request, name_participants(disk, names))


def end(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    txn = _read_txn(ask)
    return hand(front, caller, txn.most, EndTxn(txn, ACTIONS[ask.command.body.txn_action]))


def _read_txn(ask: Ask) -> TxnID:
    command = ask.command.body
    return TxnID(signed(command.txnid_most_bits), signed(command.txnid_least_bits))
