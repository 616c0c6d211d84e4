"""What TCC looks like, and why: ledgers, what they add up to, what a reader sees of an order."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, Words, World
from ...kernel.reasons import build_unguarded
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_records
from .claims import TM, Parties, read_balance
from .roles import CANCELLED, CONFIRMED, DECISIONS, EMPTY, LOG, TRIED

SERVICE = Words("service", "服务")
GRAPH = Words("{name}: what has become of {txn}", "{name}：{txn} 的状态")
HALF = Words(
    "half of an order: {names} shows it, the others do not", "半个订单：{names} 已显示，其他还没有"
)

WHYS = {
    "PlaceOrder": Words(
        "One order needs something of every service, or nothing of any.",
        "一个订单需要每个服务都出一份，否则一份都不要。",
    ),
    "begun": Words(
        "After a restart one must know that something may be reserved somewhere.",
        "重启之后必须知道：某处可能已预留了资源。",
    ),
    "Try": Words("Check, and set one piece aside.", "检查，并预留一份。"),
    "tried": Words(
        "Reserved, in a local transaction of its own: nobody holds a lock, others may go on.",
        "已预留，是一个独立的本地事务：没有人持有锁，其他人可以继续。",
    ),
    "reserved": Words(
        "It can be confirmed now, whatever happens.", "从现在起无论如何都能 Confirm。"
    ),
    "not reserved": Words(
        "Nothing is set aside here, so the order cannot be had.", "这里没有预留，所以订单无法完成。"
    ),
    "confirm": Words(
        "The decision: everything is reserved, so everything will be used.",
        "决定：全部已预留，所以全部都会被使用。",
    ),
    "cancel": Words(
        "The decision: something is missing, so what was reserved goes back.",
        "决定：缺了一份，所以已预留的都要退还。",
    ),
    "Confirm": Words("Use what you have reserved.", "使用你预留的那一份。"),
    "Cancel": Words(
        "Give back what you have reserved, if you have reserved anything.",
        "如果预留过，就退还它。",
    ),
    "confirmed": Words(
        "Used. From now on a reader of this service sees the order.",
        "已使用。从现在起，读这个服务就能看到订单。",
    ),
    "cancelled": Words("Given back.", "已退还。"),
    "empty": Words(
        "Its Try never came: nothing goes back, but the Cancel is remembered.",
        "它的 Try 从未到达：什么也不退还，但记住这次 Cancel。",
    ),
    "ConfirmResponse": Words("It need not be told again.", "不必再通知它。"),
    "CancelResponse": Words("It need not be told again.", "不必再通知它。"),
    "end": Words("Everybody has followed: nothing is owed.", "各方都已照做：不再欠任何东西。"),
    "answer ok": Words(
        "The order is decided; some services may still have to hear of it.",
        "订单已决定；有些服务可能还没有得知。",
    ),
    "answer failed": Words("Nothing of {txn} will count.", "{txn} 不会生效。"),
    "tries": Words(
        "An answer to a Try has not come in time; it is taken for no.",
        "有一个 Try 没有按时应答；当作失败。",
    ),
    "retry": Words(
        "Somebody has not acknowledged: the same word again.",
        "有服务尚未确认：把同样的话再说一遍。",
    ),
    "late Try": Words(
        "A Try that was given up arrives all the same. Its Cancel may have been here before it.",
        "一个已被放弃的 Try 仍然到达。它的 Cancel 可能已经先到。",
    ),
    "stop tm": Words(
        "What is reserved stays so until it is back; but no database holds a lock for it.",
        "已预留的要等它回来；但没有数据库为它持有锁。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "begun_on_disk": (
            (
                WHYS["Try"],
                "check, and set one piece aside; the coordinator's disk does not know of this "
                "order.",
                "检查，并预留一份；协调者的磁盘上没有这个订单。",
            ),
            (
                WHYS["late Try"],
                "a Try that was given up arrives all the same, and perhaps no Cancel will "
                "follow it.",
                "一个已被放弃的 Try 仍然到达，它之后也许不会有 Cancel。",
            ),
            (
                WHYS["stop tm"],
                "what is reserved may stay so for ever: a restart forgets every order that is "
                "not decided.",
                "已预留的可能永远如此：一重启就忘了所有尚未决定的订单。",
            ),
        ),
        "decision_on_disk": (
            (
                WHYS["confirm"],
                "the decision is written after Confirm has left.",
                "Confirm 发出之后，决定才写下。",
            ),
            (
                WHYS["cancel"],
                "the decision is written after Cancel has left.",
                "Cancel 发出之后，决定才写下。",
            ),
            (
                WHYS["answer ok"],
                "the application is told before the decision is written: after a restart it may "
                "be another.",
                "决定还没有写下，应用就得到应答：重启之后可能是另一个决定。",
            ),
            (
                WHYS["Confirm"],
                "use what you have reserved, although the decision may not be on disk yet.",
                "使用你预留的那一份，尽管决定可能还没有写入磁盘。",
            ),
            (
                WHYS["Cancel"],
                "give back what you have reserved, although the decision may not be on disk yet.",
                "退还你预留的，尽管决定可能还没有写入磁盘。",
            ),
        ),
        "until_acknowledged": (
            (
                WHYS["Confirm"],
                "use what you have reserved; if the connection breaks, this is not sent again.",
                "使用你预留的那一份；连接断开后不会再发。",
            ),
            (
                WHYS["Cancel"],
                "give back what you have reserved; if the connection breaks, this is not sent "
                "again.",
                "退还你预留的；连接断开后不会再发。",
            ),
        ),
        "idempotent_confirm": (
            (
                WHYS["confirmed"],
                "a piece is used, even if this order was confirmed before.",
                "使用一份，即使这个订单以前已经 Confirm 过。",
            ),
        ),
        "idempotent_cancel": (
            (
                WHYS["cancelled"],
                "a piece is given back, even if this order was cancelled before.",
                "退还一份，即使这个订单以前已经 Cancel 过。",
            ),
        ),
        "empty_cancel": (
            (
                WHYS["Cancel"],
                "give back a piece, even if you have reserved nothing.",
                "退还一份，即使没有预留过。",
            ),
            (
                WHYS["cancelled"],
                "a piece is given back, even if nothing was reserved for this order.",
                "退还一份，即使没有为这个订单预留过。",
            ),
        ),
        "suspended_try": (
            (
                WHYS["tried"],
                "reserved, even if the Cancel has been here before: then nobody gives it back.",
                "已预留，即使 Cancel 已经先到：那样就没有人退还它。",
            ),
            (
                WHYS["reserved"],
                "a piece is reserved, although the order may be over.",
                "预留了一份，尽管订单可能已经结束。",
            ),
            (
                WHYS["late Try"],
                "a Try that was given up is carried out, even if its Cancel has been here "
                "before it.",
                "一个已被放弃的 Try 仍会执行，即使它的 Cancel 已经先到。",
            ),
            (
                WHYS["empty"],
                "its Try has not come: nothing goes back, and a Try that comes later will "
                "reserve a piece.",
                "它的 Try 还没有到：什么也不退还，而以后到达的 Try 仍会预留一份。",
            ),
        ),
    }
)

STATES = tuple(
    GraphState(name, *place)
    for name, place in {
        "nothing": (0, 0),
        TRIED: (1, 0),
        CONFIRMED: (2, 0),
        EMPTY: (1, 1),
        CANCELLED: (2, 1),
    }.items()
)
EDGES = (("nothing", TRIED), (TRIED, CONFIRMED), (TRIED, CANCELLED), ("nothing", EMPTY))
#: a decision is drawn as a diamond, which has room for a letter or two
SHORT = {TRIED: "try", CONFIRMED: "C", CANCELLED: "X", EMPTY: "E", "confirm": "C", "cancel": "X"}
FINAL = (CONFIRMED, CANCELLED, EMPTY, "confirm", "cancel")


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [
        ("app", Text("app"), Text("application", "应用")),
        (TM, Text(TM), Text("coordinator", "协调者")),
    ]
    titles += [(name, Text(name), SERVICE()) for name in parties.services]
    strips = [(TM, DECISIONS), *((name, LOG) for name in parties.services)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_strip(node, read_records(world.disk(node), log), _label, FINAL, (TRIED,))
            for node, log in strips
        ),
        readers=(_draw_reader(parties, world),),
        graphs=tuple(_draw_graph(world, name) for name in parties.services),
        tables=(_draw_balances(parties, world),),
    )


def _label(record: Record) -> str:
    return SHORT.get(record.what, record.what)


def _draw_graph(world: World, name: str) -> Graph:
    records = list(read_records(world.disk(name), LOG))
    if not records:
        return Graph(SERVICE(), STATES, EDGES)
    txn = records[-1].txn
    path = ("nothing", *(record.what for record in records if record.txn == txn))
    return Graph(GRAPH(name=name, txn=txn), STATES, EDGES, path, txn)


def _draw_balances(parties: Parties, world: World) -> Table:
    rows = []
    for name in parties.services:
        has = read_balance(world, name)
        rows.append((name, str(has.free), str(has.reserved), str(has.used)))
    return Table(
        Text("What each service has", "每个服务的余量"),
        ("", "free", "reserved", "used"),
        tuple(rows),
    )


def _draw_reader(parties: Parties, world: World) -> Reader:
    """Who reads every service gets what is confirmed there: perhaps half of an order."""
    got = tuple(
        Got(name, record.txn, record.txn)
        for name in parties.services
        for record in read_records(world.disk(name), LOG)
        if record.what == CONFIRMED
    )
    showing = sorted({one.log for one in got})
    torn = 0 < len(showing) < len(parties.services)
    return Reader("orders", got, HALF(names=", ".join(showing)) if torn else NOTHING)
