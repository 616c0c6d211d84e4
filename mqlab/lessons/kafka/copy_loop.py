"""A consume–transform–produce loop, as a program: `ADDRESS COUNT [PAUSE_AT]`.

It reads `COUNT` orders from partition 0 of `orders`, and for each writes an invoice and its own
position in one transaction. Before the commit for the order `PAUSE_AT` it says so and waits, so
that it can be killed just there.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

WAIT_S = 20
GROUP = {"group.id": "accounting", "enable.auto.commit": False}
ID = {"transactional.id": "accounting-0"}


def main(address: str, count: int, pause_at: str = "") -> None:
    """Copy orders to invoices, from the group's position on up to offset `count`: one order a
    transaction, together with the position after it. Before the commit of the order `pause_at` the
    program waits for ever, to be killed. Raises KafkaException where the client does."""
    kafka: Any = importlib.import_module("confluent_kafka")
    common = {"bootstrap.servers": address, "log_level": 0}
    producer = kafka.Producer({**common, **ID})
    producer.init_transactions(WAIT_S)  # what an earlier process left open is aborted
    consumer = kafka.Consumer({**common, **GROUP, "isolation.level": "read_committed"})
    (at,) = consumer.committed([kafka.TopicPartition("orders", 0)], WAIT_S)
    # it is negative where the group has committed none
    at.offset = max(at.offset, 0)
    print(f"begins at offset {at.offset}", flush=True)
    consumer.assign([at])
    for offset in range(at.offset, count):
        order = consumer.poll(WAIT_S).value().decode()
        producer.begin_transaction()
        producer.produce("invoices", f"invoice {order}")
        position = [kafka.TopicPartition("orders", 0, offset + 1)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), WAIT_S)
        if order == pause_at:
            producer.flush(WAIT_S)
            print(f"not committed yet: {order}", flush=True)
            threading.Event().wait()  # never set
        producer.commit_transaction(WAIT_S)
        print(f"committed: {order}", flush=True)
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
