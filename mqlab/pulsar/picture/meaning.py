"""What a Pulsar fact means: its transaction, whether it may be folded, one sentence why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ...kernel import (
    Append,
    Effect,
    Event,
    Put,
    Reply,
    Return,
    Send,
    Telling,
    Words,
    World,
    replace,
)
from ...kernel.role import Outcome
from ..client import Client, calls
from ..errors import ServerError
from ..messages import (
    Ack,
    AckResponse,
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    Answer,
    BufferSnapshot,
    CloseConsumer,
    CloseProducer,
    EndTxn,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    EndTxnResponse,
    Flow,
    LedgerEntry,
    NewTxn,
    NewTxnResponse,
    OpenProducer,
    PendingAckEntry,
    ProducerOpened,
    PushMessage,
    RecoverBuffer,
    Redeliver,
    Seek,
    SendMessage,
    SendReceipt,
    Subscribe,
    Subscribed,
    TcClientConnect,
    TransactionMetadataEntry,
    TxnID,
    Unsubscribe,
)
from ..states import MarkerType, TxnAction, TxnStatus
from . import words as sentences
from .ledgers import Cluster, Written, label_effect, read_coordinators, read_entries

DECIDED = {
    TxnStatus.COMMITTING: sentences.DECIDED_COMMIT,
    TxnStatus.ABORTING: sentences.DECIDED_ABORT,
}
PENDING = {
    "ACK": sentences.PENDING_RECORD,
    "COMMIT": sentences.PENDING_COMMIT,
    "ABORT": sentences.PENDING_ABORT,
}
#: requests that mean the same whatever they carry
REQUESTS: dict[type, Words] = {
    TcClientConnect: sentences.CONNECT,
    NewTxn: sentences.NEW,
    AddPartitionToTxn: sentences.ADD_PARTITION,
    AddSubscriptionToTxn: sentences.ADD_SUBSCRIPTION,
    EndTxnOnSubscription: sentences.TELL_SUBSCRIPTION,
    OpenProducer: sentences.OPEN,
    CloseProducer: sentences.CLOSE_PRODUCER,
    Subscribe: sentences.SUBSCRIBE,
    Subscribed: sentences.SUBSCRIBED,
    PushMessage: sentences.PUSH,
    Redeliver: sentences.REDELIVER,
    Seek: sentences.SEEK,
    CloseConsumer: sentences.CLOSE,
    Unsubscribe: sentences.UNSUBSCRIBE,
    RecoverBuffer: sentences.RECOVER,
}


def annotate(
    cluster: Cluster, world: World, role: str, event: Event | None, effect: Effect | None
) -> Telling:
    """What the system adds to a fact: `effect` of `role` at `event`, or (None) a change in its
    memory, or what came before both. `world` is as the fact has left it."""
    written = read_coordinators(cluster, world)
    match effect:
        case Return(value=Outcome(call=call)):
            name = written.name(_find_own(world.role(role), call))
            label = label_effect(effect, name)
            return Telling(name, fold=isinstance(call, calls.AskAdmin), label=label)
    return explain(written, partial(read_entries, world, role), event, effect)


def explain(
    written: Written,
    entries: Callable[[], Iterable[LedgerEntry]],
    event: Event | None,
    effect: Effect | None,
) -> Telling:
    """The same of a coordinator or a partition, where `entries` gives what lies in the latter."""
    telling = _explain_effect(written, entries, event, effect)
    return replace(telling, label=label_effect(effect, telling.txn))


def _explain_effect(
    written: Written,
    entries: Callable[[], Iterable[LedgerEntry]],
    event: Event | None,
    effect: Effect | None,
) -> Telling:
    match effect:
        case None:
            return Telling(written.name(find_txn(getattr(event, "body", None))))
        case Append(entry=LedgerEntry() as entry):
            return _explain_entry(entries, entry, written)
        case Append(entry=BufferSnapshot()):
            return Telling(why=sentences.SNAPSHOT())
        case Append(entry=TransactionMetadataEntry() as record):
            return Telling(written.name(record.txn), why=_explain_record(record)())
        case Append(entry=PendingAckEntry() as record):
            return Telling(written.name(record.txn), why=PENDING[record.op]())
        case Put():
            return Telling(fold=True)
        case Send(body=body):
            return _explain_request(body, written)
        case Reply(body=SendReceipt(position=at) as receipt) if at >= 0:
            name = written.name(next((e.txn for e in entries() if e.base == at), None))
            return Telling(name, why=_explain_receipt(getattr(event, "body", None), receipt)())
        case Reply(body=body):
            return _explain_answer(getattr(event, "body", None), body, written)
    return Telling(fold=True)


def find_txn(body: object) -> TxnID | None:
    """The transaction that a message or a record speaks of."""
    txn = getattr(body, "txn", None)
    return txn if isinstance(txn, TxnID) else None


def _find_own(client: Client | None, call: object) -> TxnID | None:
    """The transaction that a client's call is about: a client knows it by a name of its own."""
    by_name = isinstance(call, (calls.NewTransaction, calls.Commit, calls.Abort))
    name = getattr(call, "name" if by_name else "txn", "")
    own = client.txns.get(name) if client is not None else None
    return None if own is None else own.id


# ---- what is written -------------------------------------------------------------------


def _explain_entry(
    entries: Callable[[], Iterable[LedgerEntry]], entry: LedgerEntry, written: Written
) -> Telling:
    name = written.name(entry.txn)
    if entry.marker is None:
        words = sentences.MESSAGE_RECORD if entry.txn is not None else sentences.PLAIN_RECORD
        return Telling(name, why=words())
    before = (other for other in entries() if other.base < entry.base)
    if any(other.marker is not None and other.txn == entry.txn for other in before):
        return Telling(name, why=sentences.MARKER_AGAIN())
    commits = entry.marker is MarkerType.TXN_COMMIT
    return Telling(name, why=(sentences.COMMIT_MARKER if commits else sentences.ABORT_MARKER)())


def _explain_record(record: TransactionMetadataEntry) -> Words:
    if record.status is None:
        return sentences.NEW_RECORD if record.op == "NEW" else sentences.ADD_RECORD
    return DECIDED.get(record.status, sentences.DONE)


# ---- messages --------------------------------------------------------------------------


def _explain_request(body: object, written: Written) -> Telling:
    name = written.name(find_txn(body))
    match body:
        case EndTxn(action=action):
            commits = action is TxnAction.COMMIT
            return Telling(name, why=(sentences.COMMIT if commits else sentences.ABORT)())
        case EndTxnOnPartition(action=action):
            commits = action is TxnAction.COMMIT
            return Telling(name, why=(sentences.TELL_COMMIT if commits else sentences.TELL_ABORT)())
        case SendMessage(txn=txn):
            words = sentences.SEND_PLAIN if txn is None else sentences.SEND_IN_TXN
            return Telling(name, why=words())
        case Ack(txn=txn):
            return Telling(name, why=(sentences.ACK if txn is None else sentences.ACK_IN_TXN)())
        case ProducerOpened():
            return Telling(why=_explain_opening(body)())
        case Subscribe(durable=False):
            return Telling(why=sentences.READER())
        case Flow():
            return Telling(fold=True)
    sentence = REQUESTS.get(type(body), sentences.ADMIN)
    return Telling(name, why=sentence())


def _explain_answer(request: object, body: object, written: Written) -> Telling:
    """`request`: where it is at hand."""
    name = written.name(find_txn(body) or find_txn(request))
    match body:
        case NewTxnResponse() if body.ok:
            return Telling(name, why=sentences.BEGUN())
        case SendReceipt():
            return Telling(name, why=_explain_receipt(request, body)())
        case AckResponse() if body.ok:
            return Telling(name, why=sentences.ACKED())
        case AckResponse(error=ServerError.TransactionConflict):
            return Telling(name, why=sentences.CONFLICT())
        case EndTxnOnPartitionResponse() | EndTxnOnSubscriptionResponse():
            words = sentences.ANSWERED if body.ok else sentences.NOT_ANSWERED
            return Telling(name, why=words())
        case EndTxnResponse():
            words = sentences.ENDED if body.ok else sentences.ENDED_BADLY
            return Telling(name, why=words())
        case Answer() if not body.ok:
            return Telling(name, why=sentences.REFUSED())
    return Telling(name, fold=True)


def _explain_opening(answer: ProducerOpened) -> Words:
    if not answer.ok:
        return sentences.FENCED
    return sentences.OPENED_SHARED if answer.topic_epoch is None else sentences.OPENED


def _explain_receipt(request: object, receipt: SendReceipt) -> Words:
    if receipt.error is ServerError.NotAllowedError:
        return sentences.STALE
    if receipt.error is ServerError.ServiceNotReady:
        return sentences.NOT_OPEN
    if receipt.error is ServerError.ProducerBusy:
        return sentences.FENCED
    if not receipt.ok:
        return sentences.REFUSED
    if receipt.position < 0:
        return sentences.SWALLOWED
    plain = isinstance(request, SendMessage) and request.txn is None
    return sentences.STORED_PLAIN if plain else sentences.STORED
