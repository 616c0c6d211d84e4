"""Layer 5: a broker's roles behind its own wire protocol.

    from mqlab.serve.kafka import serve

    with serve() as broker:
        ...  # any Kafka client, at broker.address; mqlab.serve.rocketmq and .pulsar have the same

The same role that a lesson steps through serves a real client here; only the driver differs.
Read in this order: `adapter.py` (what a broker and its protocol must say), `driver.py` (the
node that plays its roles), `disk.py` and `journal.py` (what is durable), `connection.py` and
`server.py` (sockets), `trace/` (what is going on, live). Then a broker's package, `kafka/`,
`rocketmq/` or `pulsar/`: `adapter.py`, `wire/` (what bytes mean), `front/` (what is between a
request and the roles), `trace/`.
"""

from .process import BrokerError, RunningBroker

__all__ = ["BrokerError", "RunningBroker"]
