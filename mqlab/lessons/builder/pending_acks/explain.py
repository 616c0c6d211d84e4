"""What an execution shows of pending acks, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from ....kernel import Text, Words, World, run_choices, tr
from ....pulsar.pending_ack import ACK
from .hosting import list_acked
from .sittings import Held, Load, PendingAckSystem, find_unowed, list_held, list_loads

BREAKS = Words("the code of the pending acks breaks: {broken}")
NOTHING_DONE = tr("no execution commits anything")
UNLIKE = Words(
    "By its log the subscription holds {granted}, and a load finds {loaded}: each record of the "
    "log is taken as it was the first time, refusals, too"
)
NOT_GIVEN = Words(
    "A load now does not give the cursor message {at}, which a transaction has committed: a crash "
    "may come before the cursor's row, so `load` gives what each commit in the log had"
)
TOO_MUCH = Words(
    "A load now gives the cursor message {at}, which no transaction in the log has committed"
)
NOT_COMMITTED = Words(
    "Message {at} is acknowledged for good, and {txn}, which has it, has not committed: a commit "
    "gives the cursor what its own transaction had"
)
NOBODYS = Words(
    "Message {at} is acknowledged for good, but no committed transaction had acknowledged it"
)
ENDED = Words(
    "{has} has ended, and still holds message {at}: a commit or an abort releases all that the "
    "transaction had"
)
ACKED = Words(
    "Message {at} is acknowledged for good, and {has} holds it: no transaction holds what the "
    "cursor has, and none may acknowledge it again"
)
FREE = Words(
    "{should} has acknowledged message {at}, which was free, and does not hold it: it is held "
    "until this transaction ends, whatever others do"
)
PARTLY = Words(
    "{has} holds message {at} of a request that was to be refused: a request is granted whole or "
    "not at all"
)
TAKEN = Words(
    "{should} has message {at}, and {has} has taken it over: until a transaction ends, no other "
    "may acknowledge what it has"
)
HELD = Words("message {at} for {txn}")
NONE_HELD = tr("nothing", "held")
TO_THE_END = tr("Play the example to its end")


def explain(system: PendingAckSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this execution."""
    world = run_choices(system, schedule).world
    return REASONS.get(claim) or _explain_held(system, world, claim)


def _explain_held(system: PendingAckSystem, world: World, claim: str) -> Text:
    """Say in one sentence which acknowledgement the learner's code, a subscription's handle of
    those pending in transactions, keeps, frees or loads wrongly; `claim` is the name of the one
    that breaks. TO_THE_END where `world` does not show it."""
    match claim:
        case "granted":
            # `held`: pending acks in the learner's handle; `granted`: by the records of its log
            for sub, held, granted in list_held(system, world):
                if held != granted:
                    records = world.disk(sub.partition).log(sub.log).read(0)
                    # a record's `op` is ACK, or else the end of its transaction
                    ended = {str(one.txn) for one in records if one.op != ACK}
                    acked = {at for at in held if sub.cursor.is_deleted(at)}
                    return _explain_difference(held, granted, acked, ended)
        case "loaded":
            for load in list_loads(system, world):
                if not load.is_right:
                    return _explain_load(load)
        case "for good":
            for at, txn in find_unowed(system, world).items():
                return NOT_COMMITTED(at=at, txn=txn) if txn else NOBODYS(at=at)
    return TO_THE_END


def _explain_load(load: Load) -> Text:
    if load.held != load.granted:
        return UNLIKE(granted=_name(load.granted), loaded=_name(load.held))
    given, due = set(list_acked(load.cursor)), set(list_acked(load.done))
    missing = due - given
    return NOT_GIVEN(at=min(missing)) if missing else TOO_MUCH(at=min(given - due))


def _explain_difference(held: Held, granted: Held, acked: set[int], ended: set[str]) -> Text:
    at = min(at for at in {*held, *granted} if held.get(at) != granted.get(at))
    has, should = held.get(at), granted.get(at)
    if has in ended:
        sentence = ENDED
    elif at in acked:
        sentence = ACKED
    elif has is None:
        sentence = FREE
    else:
        sentence = PARTLY if should is None else TAKEN
    return sentence(at=at, has=has, should=should)


def _name(held: Held) -> Text:
    each = [HELD(at=at, txn=txn) for at, txn in held.items()]
    if not each:
        return NONE_HELD
    return Text(", ".join(one.en for one in each), "、".join(one.zh for one in each))


REASONS = {
    "committed acks kept": tr(
        "A transaction has committed, and the cursor does not have what it had acknowledged: "
        "`commit` gives these messages, and `load` gives those of each commit in the log"
    ),
    "nothing passed over": tr(
        "A message is neither held nor acknowledged, and will not be delivered: `abort` gives the "
        "messages that the transaction had, and they are delivered again"
    ),
    "answered": tr(
        "A transaction got ok for a message that was taken, by another one or by itself: "
        "`may_acknowledge` is False then"
    ),
}
