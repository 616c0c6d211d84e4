"""Lab 03, the half message: its exercises, and what its cells print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...kernel import FactKind, Run, Trace
from ...registry import run_scenario, system
from ...registry.cases.rocketmq import SAFEGUARD_CASES
from ...registry.searches import search, with_everything_on
from ...registry.tables import find_lines as find_lines
from ...registry.tables import list_calls as list_calls
from ...registry.tables import table as table
from ...rocketmq.config import HALF_TOPIC as HALF_TOPIC
from ...rocketmq.log import COMMIT_LOG, Stored
from ...rocketmq.messages import Message, SendMessage, Statement
from ...rocketmq.states import SendStatus, TransactionType
from ..atlas.map_panel import broker_map as broker_map
from ..atlas.map_panel import map_table as map_table
from ..check import go
from ..java import ask_java, open_rocketmq
from ..java import read_recording as read_recording
from ..laid import Laid
from ..menus import list_kills as list_kills
from ..menus import list_safeguards as list_safeguards
from ..patterns.systems import list_orders as list_orders
from ..steps import find_red_step as find_red_step
from ..steps import first as first
from .endings import die_everywhere
from .exercises.ending import ENDING as ENDING
from .exercises.keeping import KEEPING as KEEPING
from .exercises.listener import CANCELLATION as CANCELLATION
from .exercises.listener import DYING, Pair, with_listener
from .exercises.listener import ORDER as ORDER
from .exercises.telling import TELLING as TELLING
from .systems import COMMIT as COMMIT
from .systems import ROLLBACK as ROLLBACK
from .systems import SERVICES, OrderServiceSystem
from .systems import UNKNOWN as UNKNOWN

#: the shop's own listener, of which this lab asks for the first function and lab 04 for both
SERVICE = SERVICES["right"]
#: a story in which each status is what the half's send is answered
STATUSES = {
    SendStatus.SEND_OK: "system order_service\nrun app: send-in-transaction orders-0 580538",
    SendStatus.FLUSH_DISK_TIMEOUT: (
        "system order_service flush=sync 'app=send-in-transaction orders-0 580538'\n"
        "do call app\ndo app>broker\ndo app>broker\ndo fire broker acknowledge 0\ndo app<broker\n"
        "do broker.\ndo app>broker"
    ),
    SendStatus.FLUSH_SLAVE_TIMEOUT: (
        "system order_service release=4.9 slave=on in_sync=2\n"
        "hold broker→slave HaTransfer#2\n"
        "run app: send-in-transaction orders-0 580538\nfire broker acknowledge 0"
    ),
    SendStatus.SLAVE_NOT_AVAILABLE: (
        "system order_service release=4.9 in_sync=2\nrun app: send-in-transaction orders-0 580538"
    ),
}


def list_commit_log(story: str) -> str:
    """The broker's one log, record by record: what a story has written to it."""
    rows = [
        (stored.base, _short(stored.message.topic), stored.queue_offset, stored.message.words)
        for stored in _read_log(run_scenario(story))
    ]
    return table("commit log @ | topic | queue @ | body", rows)


def _read_log(run: Run) -> Iterator[Stored]:
    yield from run.world.disk("broker").log(COMMIT_LOG).read(0)


def _short(topic: str) -> str:
    return topic.removeprefix("RMQ_SYS_TRANS_") if topic != HALF_TOPIC else "HALF_TOPIC"


def compare_properties(story: str) -> str:
    """The table of one message's fields and properties at three times of a scenario: as it was
    sent, as half message, as consumers get it; “–” for a property that is not there."""
    run = run_scenario(story)
    sent = next(f.body.message for f in run.trace if isinstance(f.body, SendMessage))
    stored = [one.message for one in _read_log(run)]
    half = next(one for one in stored if one.topic == HALF_TOPIC)
    delivered = next(one for one in stored if one.transaction_type == TransactionType.COMMIT_TYPE)
    three = (sent, half, delivered)
    names = sorted({name for message in three for name in message.properties})
    rows = [
        ("topic", *(_short(message.topic) for message in three)),
        ("queue", *(message.queue_id for message in three)),
        ("transaction bits of sysFlag", *(_bits(message) for message in three)),
        *((name, *(message.get(name) or "–" for message in three)) for name in names),
    ]
    return table("field or property | as sent | as half message | as delivered", rows)


def _bits(message: Message) -> str:
    bits = message.transaction_type
    return f"{bits} {TransactionType(bits).name.removesuffix('_TYPE')}"


def tabulate_statuses() -> str:
    """What the client does with each status of the half."""
    rows = []
    for status, story in STATUSES.items():
        trace = run_scenario(story).trace
        call = next(line for line in list_calls(trace).splitlines()[2:])
        executed = any(isinstance(f.body, Statement) and f.kind is FactKind.SEND for f in trace)
        assert f" {status} " in call
        rows.append((status, "yes" if executed else "no", call.split()[-1]))
    return table("the half message is stored with | local transaction runs | it ends with", rows)


#: what a broker does beside answering the sender: heartbeats, records, checks
BESIDE = ("broker → ", "broker ▮", "broker ⇒ app  ok", "broker ⇒ twin  ok")


def tabulate_deaths(listener: Pair) -> str:
    """The sender killed at each of its steps, over an SQLite file; its second instance is asked
    afterwards. Deaths before the half message was sent are all alike: one of them is shown."""
    rows = []
    with TemporaryDirectory(prefix="mqlab-") as folder:
        for death in die_everywhere(with_listener(DYING.format(ORDER), listener), Path(folder)):
            if death.after.startswith(BESIDE):
                continue
            held = ", ".join(f"{key} {value}" for key, value in death.rows.items())
            after = " ".join(death.after.split()) or "nothing"
            rows.append((after, held or "–", ", ".join(death.delivered) or "–"))
    return table("killed after | rows in the file | delivered", rows)


def keep_orders(path: Path | str, many: int = 4) -> Trace:
    """The day's first orders and a cancellation, one after the other, through an order service
    that keeps its rows in this SQLite file."""
    numbers = (*(order.number for order in list_orders(many)), CANCELLATION)
    calls = "; ".join(f"send-in-transaction orders-0 {number}" for number in numbers)
    service = system(f"order_service service=refusing consumers=warehouse 'app={calls}'")
    assert isinstance(service, OrderServiceSystem)
    run = Run(replace(service, file=str(path)))
    go(run)
    return run.trace


def tabulate_safeguards(*names: str) -> str:
    """What breaks without each of these, and in how few choices; and with everything on."""
    rows = []
    for name in names:
        case = SAFEGUARD_CASES[name]
        kept = with_everything_on(case)
        finds = ", ".join(kept.counterexamples) or "nothing"
        rows.append((name, case.anomaly, len(search(case).schedule), finds))
    return table("switched off | anomaly | choices | switched on", rows)


def send_from_java(fetch: bool = False) -> Laid:
    """Six transactional messages of the released Java client, and what became of them."""
    return ask_java(open_rocketmq, "rocketmq-5.5.0/5.5/java-transactions", fetch)
