"""Lab 09, coordinator and buffer: what its cells import."""

from __future__ import annotations

from ...kernel import Outcome, Run, Trace, Words
from ...kernel.trace import FactKind
from ...pulsar import PulsarSystem
from ...pulsar.client.calls import Receive
from ...pulsar.config import TRANSACTION_LOG
from ...pulsar.messages import (
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    EndTxn,
    LedgerEntry,
    NewTxn,
    TransactionMetadataEntry,
)
from ...pulsar.picture.snapshot import read_entries
from ...pulsar.topic import Topic
from ...registry import run_scenario
from ...registry.cases.pulsar import CLAIM_CASES, SAFEGUARD_CASES
from ...registry.searches import tabulate_cases
from ...registry.tables import in_words
from ...scenario.language import ScenarioError
from ..atlas.map_panel import broker_map as broker_map
from ..java import read_recording as read_recording
from ..menus import list_safeguards as list_safeguards
from ..patterns.systems import list_orders
from ..steps import first as first
from .exercises.lab09 import HIDING as HIDING
from .exercises.lab09 import NUMBERING as NUMBERING
from .exercises.lab09 import READING as READING
from .exercises.lab09 import RECOVERY as RECOVERY

REQUESTS = (NewTxn, AddPartitionToTxn, AddSubscriptionToTxn, EndTxn)


def list_records(trace: Trace, coordinator: int = 0) -> list[tuple[str, str, str]]:
    """Every record of a coordinator's log: its number, what it says, and which request of the
    application it goes back to."""
    records: list[tuple[str, str, str]] = []
    request = ""
    for fact in trace:
        if fact.kind is FactKind.SEND and isinstance(fact.body, REQUESTS):
            request = fact.text.en
        record = fact.body
        if fact.kind is FactKind.APPEND and isinstance(record, TransactionMetadataEntry):
            if record.txn.most == coordinator:
                records.append((str(len(records)), fact.text.en, request))
    return records


def list_entries(story: str, partition: str = "orders-0") -> list[tuple[str, str, str]]:
    """A partition's ledger when a story is over: position, entry, and what the dispatcher makes
    of it."""
    run = run_scenario(story)
    topic = _read_topic(run, partition)
    rows = []
    for entry in read_entries(run.world, partition):
        if entry.base > topic.readable:
            fate = "waits"
        elif entry.marker is not None or entry.txn in topic.buffer.aborts:
            fate = "passed over"
        else:
            fate = "delivered"
        rows.append((str(entry.base), str(entry).rpartition(" @")[0], fate))
    return rows


OPEN_FROM = Words("{txn} from {at}")
BUFFER = Words("{state}: open {open}; aborted {aborted}; maxReadPosition {at}")


def describe_buffer(story: str, partition: str = "orders-0") -> str:
    """What the buffer of a partition knows when a story is over; no message is in it."""
    buffer = _read_topic(run_scenario(story), partition).buffer
    ongoing = ", ".join(str(OPEN_FROM(txn=txn, at=at)) for txn, at in buffer.ongoing)
    aborts = ", ".join(str(txn) for txn in buffer.aborts)
    open_, aborted = (one or in_words("nothing") for one in (ongoing, aborts))
    return str(BUFFER(state=buffer.state, open=open_, aborted=aborted, at=buffer.readable))


def _read_topic(run: Run, partition: str) -> Topic:
    topic = run.world.role(partition)
    assert isinstance(topic, Topic), f"{partition} is not up"
    return topic


def list_frontiers(trace: Trace, partition: str = "orders-0") -> list[tuple[str, int, int]]:
    """How far a partition is written and how far consumers may read, after each of its entries."""
    frontiers: list[tuple[str, int, int]] = []
    for fact in trace:
        if fact.node != partition:
            continue
        if fact.kind is FactKind.APPEND and isinstance(fact.body, LedgerEntry):
            frontiers.append((fact.text.en.rpartition(" @")[0], fact.body.base, -1))
        if frontiers:
            frontiers[-1] = (*frontiers[-1][:2], _find_readable(trace, fact.index, partition))
    return frontiers


def _find_readable(trace: Trace, step: int, partition: str) -> int:
    """maxReadPosition at a step, as the picture has it: its flag is after that entry."""
    drawn = next(log for log in trace.snapshot(step).logs if log.name == partition)
    return next(flag.at - 1 for flag in drawn.frontiers if flag.name == "maxReadPosition")


def receive_all(story: str, subscription: str = "books") -> list[str]:
    """What the applications of a story have received on a subscription, in its order."""
    got = [
        fact.body.detail
        for fact in run_scenario(story).trace
        if isinstance(fact.body, Outcome) and fact.body.ok
        if fact.body.call == Receive(subscription)
    ]
    values = [value for one in got for value in one.split(", ")]
    return [value.split(" @")[0] for value in values if value != "nothing"]


def list_answers(story: str, *nodes: str) -> list[str]:
    """What was reported to the applications of a story; with `nodes` only theirs, each after its
    name."""
    answers = [fact for fact in run_scenario(story).trace if fact.glyph == "☞"]
    if not nodes:
        return [fact.text.en for fact in answers]
    return [f"{fact.node:6} {fact.text.en}" for fact in answers if fact.node in nodes]


def list_ids(coordinators: int, many: int) -> list[str]:
    """The ids of the first transactions of one client, as Pulsar prints them: "(1,0)"."""
    calls = ", ".join(f"new-transaction t{n}" for n in range(many))
    answers = list_answers(f"system pulsar coordinators={coordinators}\nrun app: {calls}")
    return [one.rpartition("ok ")[2] for one in answers]


def list_logs(story: str) -> list[tuple[str, str, str]]:
    """The logs of partitions and coordinators when a story is over: the name, how many entries it
    has, and the answer to a client that subscribes to it."""
    run = run_scenario(story)
    assert isinstance(run.system, PulsarSystem)
    rows = []
    for node in (*run.system.cluster.partitions, *run.system.cluster.coordinators):
        disk = run.world.disk(node)
        log = node if node in run.system.cluster.partitions else disk.logs(TRANSACTION_LOG)[0]
        rows.append((log, str(disk.log(log).end), _subscribe(story, log)))
    return rows


def _subscribe(story: str, topic: str) -> str:
    try:
        answer = list_answers(f"{story}\nrun app: subscribe {topic} spy from=earliest")[-1]
    except ScenarioError as error:
        return str(error).partition(": ")[2].partition(";")[0]
    return answer.rpartition(": ")[2]


def measure_waiting(open_for: int, many: int = 12) -> tuple[int, int]:
    """The first order of the day is sent in a transaction that stays open while `open_for` other
    orders are sent. How many of all `many` have waited, and what they are worth, in pence."""
    orders = list_orders(many)
    lines = [
        "system pulsar clients=app,web,accounting",
        "run accounting: subscribe orders-0 books from=earliest",
        f"run app: new-transaction t1, send orders-0 {orders[0].number} txn=t1",
        *(f"run web: send orders-0 {order.number}" for order in orders[1 : open_for + 1]),
    ]
    got = receive_all("\n".join([*lines, "run accounting: receive books"]))
    sent = orders[: open_for + 1]
    waiting = [order for order in sent if order.number not in got]
    return len(waiting), sum(order.pence for order in waiting)


#: what each safeguard of the coordinator and of the buffer is for; lab 10 takes the others
NEEDED = (
    *("max_read_position", "filter_aborted", "decision_before_markers", "retry_until_answered"),
    *("replay_log", "replay_topic", "transaction_timeout", "low_watermark"),
)
UNPROMISED = ("open-hides-plain", "two-markers", "error-and-committed", "late-send", "stale-write")


def tabulate_needed() -> str:
    """What breaks without each safeguard, by the shortest execution that a search finds now."""
    return tabulate_cases("without", [(name, SAFEGUARD_CASES[name]) for name in NEEDED])


def tabulate_unpromised() -> str:
    """What even Pulsar does not promise, by the shortest execution that a search finds now."""
    return tabulate_cases("with everything on", [(name, CLAIM_CASES[name]) for name in UNPROMISED])
