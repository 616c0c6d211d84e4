"""The first playground: one payment in two messages, and everything that may happen to it.

A shop's order service books a payment with two records: the customer's account loses the money,
the shop's account gets it. The player decides what happens next, and where the service stops.
Only what an outsider would notice is a choice: a message leaves or arrives, the service stops and
is started again, the broker decides or has waited long enough. What happens between (handshakes,
writes to a disk, answers) is done at once, in a fixed order. So the tree of choices is small
enough to be in a page, which needs no kernel. That no order of events loses the money is said by
the whole search.

    python -m mqlab.lessons.payment

searches again and writes `payment.json`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..explore import Budget, explore
from ..kafka.clients.calls import Commit, SendRecord
from ..kafka.messages import EndTxn, Produce, WriteTxnMarkers
from ..kernel import Snapshot, Text, Words, tr
from ..kernel.choice import Choice
from ..kernel.moves import apply, current, list_choices
from ..kernel.run import Run
from ..registry import system
from .kafka.systems.shop import ShopSystem, bookings

FILE = Path(__file__).with_name("payment.json")
PRICE = 31_678  # pence: what order 580538 of the shop's real orders cost
SERVICE, COORDINATOR = "order-service", "coordinator"
PAY = "send accounts-0 C-316.78; send accounts-1 S+316.78"
LINES = {
    "plain": f"shop producers={SERVICE}:plain '{SERVICE}={PAY}; flush'",
    "transaction": f"shop '{SERVICE}=init; begin; {PAY}; commit'",
}
ONE_STOP = Budget(kills=1, killable=(SERVICE,))
SEEN = (Produce, EndTxn, WriteTxnMarkers)  # requests whose arrival an outsider would notice
TO = {"accounts-0": "customer", "accounts-1": "shop", COORDINATOR: "broker"}

SENDS = Words("The service sends “{what}”."), Words("Send “{what}”")
ARRIVES = Words("“{what}” arrives."), Words("Deliver “{what}”")
LATE = (
    Words("“{what}” arrives, though its sender stopped."),
    Words("Deliver “{what}”, though its sender stopped"),
)
TAKE, GIVE, COMMIT = tr("customer \u2212\u2060£316.78"), tr("shop +£316.78"), tr("commit")


def _name_both(both: tuple[Words, Words], what: Text) -> tuple[Text, Text]:
    return both[0](what=what), both[1](what=what)


#: what may happen → how it is said, the button that lets it happen, its kind, at whom it happens
MOVES: dict[str, tuple[Text, Text, str, str]] = {
    "send customer": (*_name_both(SENDS, TAKE), "call", "service"),
    "send shop": (*_name_both(SENDS, GIVE), "call", "service"),
    "send commit": (
        tr("The service sends “commit”: both messages shall count."),
        tr("Send “commit”: both shall count"), "call", "service",
    ),
    "customer": (*_name_both(ARRIVES, TAKE), "arrive", "customer"),
    "shop": (*_name_both(ARRIVES, GIVE), "arrive", "shop"),
    "broker": (
        tr("“commit” arrives. The broker decides: both count."), ARRIVES[1](what=COMMIT),
        "arrive", "broker",
    ),
    "late customer": (*_name_both(LATE, TAKE), "arrive", "customer"),
    "late shop": (*_name_both(LATE, GIVE), "arrive", "shop"),
    "late broker": (*_name_both(LATE, COMMIT), "arrive", "broker"),
    "customer counts": (
        tr("The customer's account gets the commit: it counts."),
        tr("Tell the customer's account: it counts"), "hear", "customer",
    ),
    "shop counts": (
        tr("The shop's account gets the commit: it counts."),
        tr("Tell the shop's account: it counts"), "hear", "shop",
    ),
    "customer void": (
        tr("The customer's account gets the abort: it is void."),
        tr("Tell the customer's account: it is void"), "hear", "customer",
    ),
    "shop void": (
        tr("The shop's account gets the abort: it is void."),
        tr("Tell the shop's account: it is void"), "hear", "shop",
    ),
    "wait": (
        tr("The broker gives up waiting for the service: the payment does not count."),
        tr("Let the broker give up waiting"), "wait", "broker",
    ),
    "stop": (tr("The service stops."), tr("Stop it here"), "stop", "service"),
    "start": (
        tr("The service is started again. It remembers nothing."), tr("Start it again"),
        "start", "service",
    ),
}  # fmt: skip
MEANS = {
    "nothing": tr("Nothing is paid yet."),
    "written": tr("It is written. No reader sees it before the broker has decided."),
    "half": tr("Half of the payment can be read. The rest may still come."),
    "lost": tr("The customer has paid. The shop has not received it, and no process will send it."),
    "twice": tr("The customer has paid twice."),
    "paid": tr("The customer has paid £316.78, and the shop has it."),
    "short": tr("The customer has paid twice, and the shop has received it once."),
    "void": tr("Nobody has paid, and nothing is lost."),
    "decided": tr("The broker has decided. The decision has not reached every account yet."),
    "again": tr("The service has begun again. It does not remember the first payment."),
}
NAMES, MARKS = list(MOVES), list(MEANS)
DECIDED, UNDECIDED = ("Commit", "Abort"), 2

State = list[Any]
"""What is drawn: whether the service is up (0, 1); of each account its records, as 0 (readable),
1 (not yet) or 2 (never); what the broker has decided, as 0 (both count), 1 (both are void) or 2
(nothing yet); what the customer has paid and the shop has got, as a reader of committed
data adds it up, in pence; the number of what it means in `MARKS`; the moves, each the number of
its name in `NAMES` and that of the state after it."""


def explore_states(name: str) -> tuple[list[State], list[tuple[str, ...]]]:
    """Every state of the payment page that can be played from the moment at which the service has
    sent its first message, breadth first, and in a second list the engine's choices that lead to
    each. `name`: of a system in `LINES`. The service stops at most once and is started again at
    most once."""
    shop = system(LINES[name])
    assert isinstance(shop, ShopSystem)
    first = Run(shop)
    _settle(shop, first)
    first.do(f"call {SERVICE}")
    _settle(shop, first)
    # (the world, stops so far, starts so far) → the state's place in `states`
    numbers = {(first.world, 0, 0): 0}
    queue = deque([(first, 0, 0)])
    states, choices = [], []
    while queue:
        run, stops, starts = queue.popleft()
        moves = []
        for choice, move in _list_moves(shop, run, stops, starts):
            successor = run.fork()
            # a move is an outsider's choice and all that follows without one
            successor.do(choice)
            _settle(shop, successor)
            after = (stops + (move == "stop"), starts + (move == "start"))
            key = (successor.world, *after)
            if key not in numbers:
                numbers[key] = len(numbers)
                queue.append((successor, *after))
            moves.append([NAMES.index(move), numbers[key]])  # its name, the state after it
        states.append(_draw(run, moves, is_second=starts > 0))
        choices.append(tuple(run.choices))
    return states, choices


def _settle(built: ShopSystem, run: Run) -> None:
    """Do what happens between two choices of an outsider: what nodes still have to do, then what
    arrives, then the service's calls; a timer of its own, where it only waits."""
    order = {"local": 0, "response": 1, "request": 2, "call": 3}
    while True:
        choices = list_choices(built, run.world)
        inner = [c for c in choices if c.kind in order and not _name(built, run, c)]
        if not inner and all(c.kind == "fire" for c in choices):
            inner = [c for c in choices if c.a != COORDINATOR]
        if not inner:
            return
        run.do(min(inner, key=lambda c: order.get(c.kind, 4)))


def _list_moves(
    built: ShopSystem, run: Run, stops: int, starts: int
) -> Iterator[tuple[Choice | str, str]]:
    """What may be chosen now, as the engine's choice and the move's name."""
    up = run.world.nodes[SERVICE].up
    for choice in list_choices(built, run.world):
        if name := _name(built, run, choice):
            yield choice, name
        elif choice.kind == "fire" and choice.a == COORDINATOR and not up:
            yield choice, "wait"
    if up and not stops:
        yield f"kill {SERVICE}", "stop"
    if not up and not starts:
        yield f"restart {SERVICE}", "start"


def _name(shop: ShopSystem, run: Run, choice: Choice) -> str:
    """The name in `MOVES` of a choice of the engine, before it is made in `run`, that an outsider
    would notice: a call, or a request's arrival; "" for any other choice."""
    if choice.kind not in ("call", "request"):
        return ""
    # the event that the choice would bring about (`apply` leaves the run's world as it is), and in
    # it the call or the request
    body: Any = getattr(apply(shop, run.world, choice)[0].event, "body", None)
    if choice.kind == "call":
        match body:
            case Commit():
                return "send commit"
            case SendRecord():
                return f"send {TO[body.partition]}"
        return ""
    if not isinstance(body, SEEN):
        return ""
    if isinstance(body, WriteTxnMarkers):  # a marker arrives, which commits or aborts
        return f"{TO[choice.b]} {'counts' if body.commit else 'void'}"
    # from `choice.a` to `choice.b`, on a connection that the sender, since stopped, no longer has
    late = choice.conn != current(shop, run.world, choice.a, choice.b)
    return f"late {TO[choice.b]}" if late else TO[choice.b]


def _draw(run: Run, moves: list[list[int]], is_second: bool) -> State:
    """The state of the payment page after an execution (see `State`): the service, both logs, the
    decision, the sums, the mark (what customer and shop have, a key of `MEANS`) and the moves.
    `is_second`: whether the service was started again."""
    snapshot = run.snapshots[-1]
    logs = [  # 0: readable, 1: not yet, 2: never
        [2 if cell.aborted else 1 - cell.readable for cell in log.cells if cell.kind == "data"]
        for log in snapshot.logs
        if log.name in TO
    ]
    paid, received = sums = _add_up(snapshot)
    # the coordinator's state of the transaction; "" where there is no coordinator
    state = next((graph.path[-1] for graph in snapshot.graphs if graph.path), "")
    decided = next((number for number, end in enumerate(DECIDED) if state.endswith(end)), UNDECIDED)
    # nothing can happen any more but another stop or start
    # `MOVES[…][2]`: the move's kind
    over = not any(MOVES[NAMES[index]][2] not in ("stop", "start") for index, _ in moves)
    written = any(1 in log for log in logs)
    if over and not written and paid > received:
        mark = "short" if received else "lost"
    elif paid == received == 2 * PRICE:
        mark = "twice"
    elif paid != received:
        # without a transaction the service that was started again may pay a second time
        mark = "again" if is_second and not state else "half"
    elif written:
        mark = "written" if decided == UNDECIDED else "decided"
    else:
        mark = "paid" if paid else "void" if over else "nothing"
    is_up = int(run.world.nodes[SERVICE].up)
    return [is_up, *logs, decided, *sums, MARKS.index(mark), moves]


def _add_up(snapshot: Snapshot) -> tuple[int, int]:
    """What the customer has paid and the shop has got, in pence."""
    reader = next(one for one in snapshot.readers if one.name == "read_committed")
    amounts = [pair for got in reader.got for pair in bookings(got.label)]
    paid, got = (sum(p for account, p in amounts if account == side) for side in "CS")
    return -paid, got


def find_shortest(states: Sequence[State], mark: str) -> int:
    """In how many moves a state with this mark can be reached; 0: in none."""
    depth, queue = {0: 0}, deque([0])
    while queue:
        at = queue.popleft()
        *_, found, moves = states[at]
        if MARKS[found] == mark:
            return depth[at]
        for _, to in moves:
            if to not in depth:
                depth[to] = depth[at] + 1
                queue.append(to)
    return 0


def search_all() -> int:
    """How many states there are with a transaction in every order of events, handshakes among
    them, and one stop of the service. Raises ValueError where money can be lost in one."""
    verdict = explore(system(LINES["transaction"]), ONE_STOP)
    if not verdict.complete or "money" in verdict.counterexamples:
        raise ValueError("with a transaction the money can be lost")
    return verdict.states


def read_payment() -> dict[str, Any]:
    """All that the playground draws and says, in the language that is spoken."""
    found = json.loads(FILE.read_text("utf-8"))
    systems = {name: {"states": found[name]} for name in LINES}
    for name, mark in (("plain", "lost"), ("transaction", "twice")):
        systems[name] |= {"aim": MARKS.index(mark), "least": find_shortest(found[name], mark)}
    moves = [[said.of(), act.of(), kind, whose] for said, act, kind, whose in MOVES.values()]
    means = [text.of() for text in MEANS.values()]
    return {"systems": systems, "searched": found["searched"], "moves": moves, "means": means}


if __name__ == "__main__":
    found = {**{name: explore_states(name)[0] for name in LINES}, "searched": search_all()}
    FILE.write_text(json.dumps(found, separators=(",", ":")) + "\n", "utf-8")
