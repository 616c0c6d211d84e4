"""What a Pulsar fact means: its transaction, whether it may be folded, one sentence why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ...kernel import (
    Append,
    Effect,
    Event,
    Named,
    Put,
    Reply,
    Return,
    Send,
    Stage,
    Telling,
    Text,
    Words,
    World,
    name_plainly,
    replace,
)
from ...kernel.reasons import read_sentences
from ...kernel.role import Outcome
from ...kernel.story import TOLD_YES
from ...kernel.text import NOTHING, say_both
from ..client import Client, calls
from ..config import CURSORS
from ..errors import ServerError
from ..messages import (
    Ack,
    AckResponse,
    Answer,
    BufferSnapshot,
    CloseConsumer,
    DeleteTopic,
    EndTxn,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    EndTxnResponse,
    Flow,
    LedgerEntry,
    NewTxnResponse,
    PendingAckEntry,
    ProducerOpened,
    PushMessage,
    Seek,
    SendMessage,
    SendReceipt,
    Subscribe,
    TransactionMetadataEntry,
    TxnID,
)
from ..states import MarkerType, TxnAction, TxnStatus
from . import words as sentences
from .snapshot import Cluster, Written, label_effect, read_coordinators, read_entries

# What an effect of a Pulsar role is called where a stop shows if it had been done.


ANSWER = Words("the answer"), Words("answers")
MARKER = Words("the marker"), Words("markers")
MESSAGE = Words("the message"), Words("messages")
SNAPSHOT = Words("the snapshot"), Words("snapshots")
RECORD = Words("the record {what}"), Words("records")
CURSOR = Words("the cursor on the disk"), Words("cursors")
TOLD = (Words("the end for {who}"), Words("notices of the end"))
PUSHED = Words("a message for a consumer"), Words("messages")


def name_effect(effect: Effect) -> Named | None:
    """The label of an effect in the diagram of a step, and what its kind is called; None for
    permits (FLOW), which are given again with each connection. The constants are pairs: the words
    of the label, and those of the kind."""
    match effect:
        case Send(body=Flow()):
            return None
        case Append(entry=LedgerEntry(marker=marker)):
            label, kind_name = MESSAGE if marker is None else MARKER
        case Append(entry=BufferSnapshot()):
            label, kind_name = SNAPSHOT
        case Append(entry=TransactionMetadataEntry() | PendingAckEntry() as record):
            return Named(RECORD[0](what=record), RECORD[1]())
        case Put(table=table) if table == CURSORS:
            label, kind_name = CURSOR
        case Send(to=to, body=EndTxnOnPartition() | EndTxnOnSubscription()):
            return Named(TOLD[0](who=to), TOLD[1]())
        case Send(body=PushMessage()):
            label, kind_name = PUSHED
        case Reply():
            label, kind_name = ANSWER
        case _:
            return name_plainly(effect)
    return Named(label(), kind_name())


DECIDED = {
    TxnStatus.COMMITTING: sentences.DECIDED_COMMIT,
    TxnStatus.ABORTING: sentences.DECIDED_ABORT,
}
PENDING = {
    "ACK": sentences.PENDING_RECORD,
    "COMMIT": sentences.PENDING_COMMIT,
    "ABORT": sentences.PENDING_ABORT,
}
DECIDES: dict[TxnStatus | None, tuple[Stage, Words | None]] = {
    None: (Stage.RESERVE, None),
    TxnStatus.COMMITTING: (Stage.DECIDE, sentences.TOLD_COMMIT),
    TxnStatus.ABORTING: (Stage.DECIDE, sentences.TOLD_ABORT),
}
TOLD_PENDING = {
    "ACK": (Stage.WRITE, sentences.TOLD_PENDING),
    "COMMIT": (Stage.SHOW, sentences.TOLD_TAKEN),
    "ABORT": (Stage.SHOW, sentences.TOLD_GIVEN_BACK),
}
#: requests that mean the same whatever they carry, by the names of their classes
REQUESTS: Mapping[str, Words] = read_sentences(__file__)["requests"]


def annotate(
    cluster: Cluster, world: World, role: str, event: Event | None, effect: Effect | None
) -> Telling:
    """All that the system adds to a fact of the narration: transaction, label, sentence why, stage.
    The fact is `effect` of `role` when it handled `event`; without an effect (None) it is a change
    in the role's memory. `world`: after the fact."""
    written = read_coordinators(cluster, world)
    match effect:
        case Return(value=Outcome(call=call) as outcome):
            # _find_own: the id of the client's transaction that the call is about
            name = written.name(_find_own(world.role(role), call))
            label, story, read = label_effect(effect, name), None, NOTHING
            if outcome.ok and isinstance(call, (calls.Commit, calls.Abort)):
                story = TOLD_YES
            elif outcome.ok and isinstance(call, calls.Receive):
                story, read = sentences.TOLD_READ, say_both(outcome.say_detail)
            return Telling(
                name, fold=isinstance(call, calls.AskAdmin), label=label, story=story, record=read
            )
    return explain(written, partial(read_entries, world, role), event, effect)


def explain(
    written: Written,
    entries: Callable[[], Iterable[LedgerEntry]],
    event: Event | None,
    effect: Effect | None,
) -> Telling:
    """The same of a coordinator or a partition, where `entries` gives what is in the latter."""
    telling = _explain_effect(written, entries, event, effect)
    return replace(telling, label=label_effect(effect, telling.txn))


def _explain_effect(
    written: Written,
    entries: Callable[[], Iterable[LedgerEntry]],
    event: Event | None,
    effect: Effect | None,
) -> Telling:
    """Explain an effect for the picture: the name of its transaction, why it happens, the stage of
    the transaction that begins with it, and the sentence of the story. `effect` None: a change in
    the role's memory by `event`. `written`: what the
    coordinators have written, which gives transactions their names (T1, T2 …); `entries` reads the
    entries of the partition's topic."""
    match effect:
        case None:
            return Telling(written.name(find_txn(getattr(event, "body", None))))
        case Append(entry=LedgerEntry() as entry):
            return _explain_entry(entries, entry, written)
        case Append(entry=BufferSnapshot()):
            return Telling(why=sentences.SNAPSHOT())
        case Append(entry=TransactionMetadataEntry() as record):
            stage, story = DECIDES.get(record.status, (Stage.FORGET, None))
            why = _explain_record(record)()
            return Telling(written.name(record.txn), why=why, stage=stage, story=story)
        case Append(entry=PendingAckEntry() as record):
            why, (stage, story) = PENDING[record.op](), TOLD_PENDING[record.op]
            return Telling(written.name(record.txn), why=why, stage=stage, story=story)
        case Put():
            return Telling(fold=True)
        case Send(body=CloseConsumer()) if isinstance(
            getattr(event, "body", None), Seek | DeleteTopic
        ):
            return Telling(why=sentences.CLOSED())
        case Send(body=body):
            return _explain_request(body, written)
        # the receipt of a stored message; one with -1 refuses it, and is an answer like others
        case Reply(body=SendReceipt(position=at) as receipt) if at >= 0:
            stored = next((e for e in entries() if e.base == at), None)
            why = _explain_receipt(receipt, stored)()
            if stored is not None and stored.txn is not None and _is_ended(entries, stored):
                why = sentences.LATE_RECORD()
            return Telling(written.name(stored.txn if stored else None), why=why)
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
    """Explain an entry that was appended to a topic: a message, plain or in a transaction, or a
    marker. A marker is a repetition if the transaction has one already. `entries` reads the topic;
    `written` names transactions."""
    txn_name = written.name(entry.txn)
    if entry.marker is None:
        record = Text(", ".join(map(str, entry.values)))
        if entry.txn is None:
            why, story = sentences.PLAIN_RECORD(), sentences.TOLD_PLAIN
            return Telling(txn_name, why=why, story=story, record=record)
        why, story = sentences.MESSAGE_RECORD(), sentences.TOLD_WRITTEN
        if _is_ended(entries, entry):
            why, story = sentences.LATE_RECORD(), sentences.TOLD_LATE
        return Telling(txn_name, why=why, stage=Stage.WRITE, story=story, record=record)
    if _is_ended(entries, entry):
        return Telling(txn_name, why=sentences.MARKER_AGAIN())
    commits = entry.marker is MarkerType.TXN_COMMIT
    why = (sentences.COMMIT_MARKER if commits else sentences.ABORT_MARKER)()
    story = sentences.TOLD_SHOWN if commits else sentences.TOLD_SKIPPED
    return Telling(txn_name, why=why, stage=Stage.SHOW, story=story)


def _is_ended(entries: Callable[[], Iterable[LedgerEntry]], entry: LedgerEntry) -> bool:
    """Whether the topic has a marker of this entry's transaction before it."""
    earlier = (other for other in entries() if other.base < entry.base)
    return any(other.marker is not None and other.txn == entry.txn for other in earlier)


def _explain_record(record: TransactionMetadataEntry) -> Words:
    if record.status is None:
        return sentences.NEW_RECORD if record.op == "NEW" else sentences.ADD_RECORD
    return DECIDED.get(record.status, sentences.DONE)


# ---- messages --------------------------------------------------------------------------


def _explain_request(body: object, written: Written) -> Telling:
    """Explain a request for the picture: its transaction's name (`written` has the names) and the
    sentence why it is sent."""
    txn_name = written.name(find_txn(body))
    match body:
        case EndTxn(action=action):
            commits = action is TxnAction.COMMIT
            return Telling(txn_name, why=(sentences.COMMIT if commits else sentences.ABORT)())
        case EndTxnOnPartition(action=action):
            commits = action is TxnAction.COMMIT
            why = (sentences.TELL_COMMIT if commits else sentences.TELL_ABORT)()
            return Telling(txn_name, why=why, stage=Stage.PUBLISH)
        case SendMessage(txn=txn):
            words = sentences.SEND_PLAIN if txn is None else sentences.SEND_IN_TXN
            return Telling(txn_name, why=words())
        case Ack(txn=txn):
            return Telling(txn_name, why=(sentences.ACK if txn is None else sentences.ACK_IN_TXN)())
        case ProducerOpened():  # an answer, but sent as a request of the broker's own
            return Telling(why=_explain_opening(body)())
        case Subscribe(durable=False):
            return Telling(why=sentences.READER())
        case Flow():
            return Telling(fold=True)
    sentence = REQUESTS.get(type(body).__name__, sentences.ADMIN)
    return Telling(txn_name, why=sentence())


def _explain_answer(request: object, body: object, written: Written) -> Telling:
    """Explain an answer for the picture: its transaction's name (`written` has the names) and the
    sentence why it is so; one without a sentence is folded away (hidden until a reader unfolds it).
    `request`: what it answers, or None where that is not known."""
    txn_name = written.name(find_txn(body) or find_txn(request))
    match body:
        case NewTxnResponse() if body.ok:
            return Telling(txn_name, why=sentences.BEGUN())
        case SendReceipt():
            return Telling(txn_name, why=_explain_receipt(body)())
        case AckResponse() if body.ok:
            return Telling(txn_name, why=sentences.ACKED())
        case AckResponse(error=ServerError.TransactionConflict):
            return Telling(txn_name, why=sentences.CONFLICT(), story=sentences.TOLD_CONFLICT)
        case EndTxnOnPartitionResponse() | EndTxnOnSubscriptionResponse():
            words = sentences.ANSWERED if body.ok else sentences.NOT_ANSWERED
            return Telling(txn_name, why=words())
        case EndTxnResponse():
            words = sentences.ENDED if body.ok else sentences.ENDED_BADLY
            return Telling(txn_name, why=words())
        case Answer() if not body.ok:
            return Telling(txn_name, why=sentences.REFUSED())
    return Telling(txn_name, fold=True)


def _explain_opening(answer: ProducerOpened) -> Words:
    if not answer.ok:
        return sentences.FENCED
    return sentences.OPENED_SHARED if answer.topic_epoch is None else sentences.OPENED


def _explain_receipt(receipt: SendReceipt, stored: LedgerEntry | None = None) -> Words:
    """Why a send is answered so. `stored`: the entry that it has become, where it is known."""
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
    return sentences.STORED_PLAIN if stored and stored.txn is None else sentences.STORED
