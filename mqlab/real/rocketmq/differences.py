"""Where this project's server answers otherwise than a real RocketMQ, and why that stands.

The table is the whole of it; the page datasets/recordings/DIFFERENCES-rocketmq.md is made from it.
Whoever finds a difference mends it or adds a row here with a reason one can argue about.
"""

from __future__ import annotations

from ..differences import Listed, write_page
from ..recording import FOLDER

PAGE = FOLDER / "DIFFERENCES-rocketmq.md"

#: what is not compared, and why
IGNORED = (
    ("commit log offsets", "are bytes in a real broker and records in the engine: a committed "
     "message is said to point to the half it was made from"),
    ("timestamps, addresses and ids of messages", "are left out, except an age that a program "
     "brings about itself"),
    ("names", "of topics, groups and clients are the program's own; on the wire each run gives "
     "them a prefix"),
    ("the order of the checks", "that one round sends is not RocketMQ's to promise, since a pool "
     "of threads sends them: they are noted by their half"),
    ("how far the round of the last check comes", "is not noted: whether it finds the copy that it "
     "has just put back, and parks it, is a race in a real broker; the round behind it is noted"),
    ("how Java words a null pointer", "becomes NullPointerException; a remark loses the exception "
     "it came as and the place in the source"),
    ("the time until a timer", "is not waited for: a check round, a batch of op records and the "
     "writing of offsets happen when the program asks for them"),
)  # fmt: skip

TABLE: tuple[Listed, ...] = ()

#: scenarios that are recorded and not compared, and those that are not recorded
OTHERS = (
    (
        "java-slave-not-available, stop-in-each-state",
        "recorded with settings of their own (brokerRole, transactionTimeOut), which the server "
        "does not take; the engine tells a master without its slave as a scenario (in_sync=2)",
    ),
    (
        "FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT",
        "not recorded: a client cannot make a disk or a slave slow. Scenarios of the engine",
    ),
    (
        "the metric of open halves (TransactionMetrics)",
        "not recorded: it is an exporter's, and goes below zero when a half is ended twice",
    ),
    (
        "the proxy and its gRPC clients",
        "not recorded and not modelled: its table of transactions is another one than the broker's",
    ),
    (
        "half messages in RocksDB (transRocksDBEnable)",
        "not recorded and not modelled: off by default in 5.5.0",
    ),
)


def page() -> str:
    """DIFFERENCES-rocketmq.md."""
    source = (
        "Made by `mqlab real rocketmq compare --page` from `mqlab/real/rocketmq/differences.py`."
    )
    return write_page("RocketMQ", source, TABLE, IGNORED, OTHERS)
