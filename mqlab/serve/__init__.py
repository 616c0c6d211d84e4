"""Floor 5: the Kafka roles behind Kafka's own wire protocol.

    from mqlab.serve import serve

    with serve() as broker:
        ...  # any Kafka client, told broker.address

The same role that a lesson steps through serves a real client here; only the driver differs.
Read in this order: `wire/` (frames and record batches), `broker/` (what lies between a
request and the roles), `driver.py` (their node), `disk.py` and `journal.py` (what is
durable), `connection.py` and `server.py` (sockets), `trace/` (what is going on, live).
"""

from .process import BrokerError, RunningBroker, serve

__all__ = ["BrokerError", "RunningBroker", "serve"]
