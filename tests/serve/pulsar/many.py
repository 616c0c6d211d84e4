"""Commands that name many things: what each costs for one thing, by how many are named.

python -m tests.serve.pulsar.many 100,1000,10000     a dictionary of figures, for `make bench`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.serve.many import Next, measure_all
from tests.serve.pulsar.raw import make_message
from tests.serve.pulsar.test_unread import EVERYTHING, TOPIC, Wire, make_driver, send

TXN = {"txnid_most_bits": 0, "txnid_least_bits": 0}
SPACE = "persistent://public/default"
#: a case: all that the last command is about, and with each value told, that command
Case = Callable[[Wire, int], Next]


def positions(wire: Wire, n: int) -> list[dict[str, Any]]:
    """The ids of the first entries of the topic."""
    row = wire.driver.disk.table("topics")[TOPIC]
    return [{"ledgerId": row.number, "entryId": entry} for entry in range(n)]


def receive(wire: Wire, n: int) -> None:
    """A shared subscription has so many messages."""
    send(wire, n)
    wire.room = EVERYTHING
    wire.subscribe("s", 1)


def begin(wire: Wire) -> None:
    wire.tell("TC_CLIENT_CONNECT_REQUEST", tc_id=0, request_id=1)
    wire.tell("NEW_TXN", txn_ttl_millis=600_000, tc_id=0, request_id=2)


def name_topics(wire: Wire, n: int) -> list[str]:
    """Topics with a subscription each."""
    names = [f"{SPACE}/t{i}" for i in range(n)]
    for number, name in enumerate(names, 9):
        wire.tell("SUBSCRIBE", topic=name, subscription="s", subType=1, consumer_id=number,
                  initialPosition=1, request_id=number)  # fmt: skip
    return names


def acknowledge(wire: Wire, n: int) -> Next:
    receive(wire, n)
    return partial(wire.tell, "ACK", consumer_id=0, ack_type=0, message_id=positions(wire, n))


def acknowledge_in_transaction(wire: Wire, n: int) -> Next:
    receive(wire, n)
    begin(wire)
    where = [{"topic": TOPIC, "subscription": "s"}]
    wire.tell("ADD_SUBSCRIPTION_TO_TXN", subscription=where, request_id=3, **TXN)
    ids = positions(wire, n)
    return partial(wire.tell, "ACK", consumer_id=0, ack_type=0, message_id=ids, request_id=4, **TXN)


def acknowledge_one_by_one(wire: Wire, n: int) -> Next:
    """Every other message of a batch."""
    send_batch(wire, n)()
    wire.room = EVERYTHING
    wire.subscribe("s", 1)
    words = [0x5555_5555_5555_5555] * -(-n // 64)
    ids = [{**positions(wire, 1)[0], "ack_set": words, "batch_size": n}]
    return partial(wire.tell, "ACK", consumer_id=0, ack_type=0, message_id=ids)


def give_up(wire: Wire, n: int) -> Next:
    receive(wire, n)
    ids = positions(wire, n)
    return partial(wire.tell, "REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0, message_ids=ids)


def permit(wire: Wire, n: int) -> Next:
    send(wire, n)
    wire.room = EVERYTHING
    wire.tell("SUBSCRIBE", topic=TOPIC, subscription="s", subType=1, consumer_id=0,
              initialPosition=1, request_id=1)  # fmt: skip
    return partial(wire.tell, "FLOW", consumer_id=0, messagePermits=n)


def send_batch(wire: Wire, n: int) -> Next:
    message = make_message(b"a" * max(n, 6), 0, num_messages_in_batch=n)
    return partial(wire.tell, "SEND", message, producer_id=0, sequence_id=0, num_messages=n)


def add_partitions(wire: Wire, n: int) -> Next:
    begin(wire)
    names = name_topics(wire, n)
    return partial(wire.tell, "ADD_PARTITION_TO_TXN", partitions=names, request_id=3, **TXN)


def add_subscriptions(wire: Wire, n: int) -> Next:
    begin(wire)
    rows = [{"topic": name, "subscription": "s"} for name in name_topics(wire, n)]
    return partial(wire.tell, "ADD_SUBSCRIPTION_TO_TXN", subscription=rows, request_id=3, **TXN)


def end(add: Case, wire: Wire, n: int) -> Next:
    add(wire, n)()
    return partial(wire.tell, "END_TXN", txn_action=0, request_id=4, **TXN)


def list_topics(wire: Wire, n: int) -> Next:
    name_topics(wire, n)
    return partial(wire.tell, "GET_TOPICS_OF_NAMESPACE", namespace="public/default", request_id=3)


def leave(wire: Wire, n: int) -> Next:
    name_topics(wire, n)
    return partial(wire.driver.disconnect, f"conn-{wire.number}")


CASES: dict[str, Case] = {
    "ACK": acknowledge,
    "ACK in a transaction": acknowledge_in_transaction,
    "ACK, messages of a batch": acknowledge_one_by_one,
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": give_up,
    "FLOW": permit,
    "ADD_PARTITION_TO_TXN": add_partitions,
    "ADD_SUBSCRIPTION_TO_TXN": add_subscriptions,
    "END_TXN, partitions": partial(end, add_partitions),
    "END_TXN, subscriptions": partial(end, add_subscriptions),
    "END_TXN, acknowledgements": partial(end, acknowledge_in_transaction),
    "GET_TOPICS_OF_NAMESPACE": list_topics,
    "a client that leaves, consumers": leave,
}


def prepare(name: str, n: int) -> Next:
    """The command of this case, about n things that are there, with all that follows at once."""
    driver, wire = make_driver()
    command = CASES[name](wire, n)

    def handle() -> None:
        command()
        while (due := driver.next_timer()) is not None and due < driver.now + 1_000:
            driver.now = due  # short pauses end at once
            driver.fire()

    return handle


if __name__ == "__main__":
    print(measure_all(prepare, sys.argv[2:] or CASES, [int(n) for n in sys.argv[1].split(",")]))
