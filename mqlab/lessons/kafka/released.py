"""What a released client does against `mqlab serve kafka`: librdkafka, by confluent-kafka.

Each function is one experiment and gives its lines; where the client is not installed, or cannot
be (in a browser), it gives the reason instead. Nothing here waits for a clock: faults come at the
server's gate (`serve/gate.py`), or from a process that says how far it is.
"""

from __future__ import annotations

import importlib
import logging
import signal
import subprocess
import sys
import threading
from collections import Counter
from importlib.util import find_spec
from typing import Any

from ...kernel import Text, Words, tr
from ...serve import RunningBroker
from ...serve.gate_client import GateClient
from ...serve.kafka import serve

TOLD = Words("{sent} the program gets {got}, stored {n}×")
GETS = Words("{level} gets {got}")
GAVE_UP = Words("the client gave up: {error}")
#: what the loop of lab 08 prints before a value
SAYS = tr("begins at offset"), tr("committed:"), tr("not committed yet:")
LOOP_SAYS = {one.en: one for one in SAYS}
BROWSER = tr("A browser has no released client: this cell needs mqlab on your own machine.")
MISSING = tr("confluent-kafka is not installed: with it, this cell runs a released client.")
WAIT_S = 20
LOOP = "mqlab.lessons.kafka.copy_loop"
ORDERS = ("580538", "580539", "580540", "580541")
QUIET = logging.getLogger("mqlab.released")  # what a client logs is not what it tells its program
QUIET.propagate = False
QUIET.addHandler(logging.NullHandler())


def why_not() -> str:
    """Why there is no released client here; "" where there is one."""
    if sys.platform == "emscripten":
        return str(BROWSER)
    if find_spec("confluent_kafka") is None:
        return str(MISSING)
    return ""


def client() -> Any:
    """confluent-kafka, by its name: where it is missing, the lessons work all the same."""
    return importlib.import_module("confluent_kafka")


def make_producer(broker: RunningBroker, **settings: str | bool | int) -> Any:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    named = {"bootstrap.servers": broker.address, "linger.ms": 0, "log_level": 0, **given}
    return client().Producer(named, logger=QUIET)


def read_all(address: str, topic: str, level: str = "read_committed") -> list[str]:
    """The values in partition 0 of a topic, read to its end by a released client, with this
    isolation.level. It ends too where no message comes within WAIT_S."""
    kafka = client()
    consumer = kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"reader of {topic}",
            "isolation.level": level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([kafka.TopicPartition(topic, 0, 0)])
    values = []
    while (message := consumer.poll(WAIT_S)) is not None and message.error() is None:
        values.append(message.value().decode())
    consumer.close()
    return values


# ---- lab 05 ------------------------------------------------------------------------------------


def lose_an_answer(idempotent: bool) -> str:
    """Let a producer send one payment to a broker that stores it and dies before it has answered,
    and return a line: what was reported to the producer, and how often the payment is stored. Where
    no client is installed, why."""
    if why_not():
        return why_not()
    with serve() as broker:
        gate, errors = GateClient(broker.gate_url), []
        producer = make_producer(broker, enable_idempotence=idempotent)
        gate.hold("Produce")
        producer.produce("payments", ORDERS[0], callback=lambda error, _: errors.append(error))
        producer.poll(0)
        # the first attempt is stored, and the broker ends; the second attempt is let through
        gate.kill_after(gate.wait("Produce"))
        gate.let_go(gate.wait("Produce"))
        producer.flush(WAIT_S)
        gate.open()
        stored = Counter(read_all(broker.address, "payments"))
    sent = tr("idempotent:    ") if idempotent else tr("not idempotent:")
    answers = ["ok" if error is None else error.name() for error in errors]
    return str(TOLD(sent=sent, got=", ".join(answers), n=stored[ORDERS[0]]))


class HeldPayment:
    """An unmodified client pays once, by a transaction, and each request of it waits for you."""

    def __init__(self) -> None:
        self._end = why_not()
        if self._end:
            return
        from mqlab_widgets import Follow

        self.broker = serve(pace_ms=20)
        self.follow = Follow(self.broker, hold=True)
        self._end = str(tr("the client still waits"))
        self._thread = threading.Thread(target=self._pay, daemon=True)
        self._thread.start()

    def _pay(self) -> None:
        try:
            producer = make_producer(self.broker, transactional_id="order-service")
            producer.init_transactions(600)
            producer.begin_transaction()
            producer.produce("payments", ORDERS[0])
            producer.commit_transaction(600)
            self._end = "commit_transaction: ok"
        except client().KafkaException as error:
            self._end = str(GAVE_UP(error=error.args[0].name()))

    def finish(self) -> str:
        """Release what still waits, and say what was reported to the client and what was stored."""
        if why_not():
            return self._end
        self.follow.stop()
        self._thread.join(WAIT_S)
        stored = read_all(self.broker.address, "payments")
        self.broker.stop()
        return f"{self._end}; {GETS(level='read_committed', got=', '.join(stored))}"

    def _ipython_display_(self) -> None:
        if why_not():
            print(self._end)
        else:
            self.follow._ipython_display_()


# ---- lab 06 ------------------------------------------------------------------------------------


def fence_a_zombie() -> str:
    """Let two programs with one transactional.id meet, of which the first is not dead, only slow,
    and return lines: what came of each call, and what readers of each level get; where no client is
    installed, why."""
    if why_not():
        return why_not()
    kafka, lines = client(), []

    def note(who: str, method: str, call: Any) -> None:
        try:
            call()
            lines.append(f"{who:<7} {method}: ok")
        except kafka.KafkaException as error:
            fatal = tr(", fatal") if error.args[0].fatal() else ""
            lines.append(f"{who:<7} {method}: {error.args[0].name()}{fatal}")

    with serve() as broker:
        first, second = (make_producer(broker, transactional_id="order-service") for _ in range(2))
        note("first", "init_transactions", lambda: first.init_transactions(WAIT_S))
        first.begin_transaction()
        first.produce("payments", ORDERS[0])
        first.flush(WAIT_S)
        note("second", "init_transactions", lambda: second.init_transactions(WAIT_S))
        note("first", "commit_transaction", lambda: first.commit_transaction(WAIT_S))
        second.begin_transaction()
        second.produce("payments", ORDERS[1])
        note("second", "commit_transaction", lambda: second.commit_transaction(WAIT_S))
        for level in ("read_committed", "read_uncommitted"):
            got = ", ".join(read_all(broker.address, "payments", level))
            lines.append(str(GETS(level=level, got=got)))
    return "\n".join(lines)


# ---- lab 08 ------------------------------------------------------------------------------------


def kill_the_loop() -> str:
    """Start a loop that copies orders to invoices in a process of its own, kill it with kill -9 in
    its third transaction, and start it again. Returns lines: what both processes printed, and what
    readers of each level get then; where no client is installed, why."""
    if why_not():
        return why_not()
    with serve() as broker:
        producer = make_producer(broker, enable_idempotence=True)
        for order in ORDERS:
            producer.produce("orders", order)
        producer.flush(WAIT_S)
        lines = [
            *_run_loop(broker, tr("first life: "), ORDERS[2]),
            *_run_loop(broker, tr("second life: "), ""),
        ]
        for level in ("read_uncommitted", "read_committed"):
            got = ", ".join(read_all(broker.address, "invoices", level))
            lines.append(str(GETS(level=level, got=got)))
    return "\n".join(lines)


def _run_loop(broker: RunningBroker, attempt: Text, pause_at: str) -> list[str]:
    """What the loop says, until it is done or waits before the commit of `pause_at`."""
    command = [sys.executable, "-m", LOOP, broker.address, str(len(ORDERS)), pause_at]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            said, _, value = line.strip().rpartition(" ")
            lines.append(f"{attempt}{LOOP_SAYS[said]} {value}")
            if pause_at and line.startswith("not committed"):
                process.send_signal(signal.SIGKILL)
                lines.append(f"{attempt}kill -9")
    return lines
