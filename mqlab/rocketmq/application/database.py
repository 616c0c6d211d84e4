"""The order service's database: one table of rows, each statement a transaction of its own.

It is a node of its own, because the processes of a producer group share it: any of them that is
asked about an order must be able to look it up, also where another process has written it. A
process that dies takes nothing of it along. *What can go wrong:* the connection breaks after the
statement was committed and before its answer arrived. The caller gets an exception then, and
the row is there all the same.

A service can also write down that an order will never have its row: it *inserts* the row with the
value "refused", before the order does. One statement looks and writes, as with a primary key in
any SQL database, so of two that insert the same row one is told what the other has written.

*Left out:* transactions of several statements. A service that writes two rows in one transaction
writes one value here.
"""

from __future__ import annotations

from ...kernel import Disk, Effects, Event, Flush, Put, Quiet, Reply, Request, frozen
from ..messages import Statement, StatementResponse

TABLE = "orders"
#: the value of a row that is no order: it says that there will be none
REFUSED = "refused"


@frozen
class Database(Quiet):
    """All that it knows is on its disk."""

    def step(self, event: Event, disk: Disk) -> tuple[Database, Effects]:
        match event:
            case Request(caller=caller, body=Statement(verb="get", key=key)):
                return self, (Reply(caller, StatementResponse(disk.table(TABLE).get(key))),)
            case Request(caller=caller, body=Statement(verb="insert", key=key, value=value)):
                there = disk.table(TABLE).get(key)
                if there is not None:
                    return self, (Reply(caller, StatementResponse(there)),)
                answer = Reply(caller, StatementResponse(value))
                return self, (Put(TABLE, key, value), Flush(), answer)
            case Request(caller=caller, body=Statement(verb=verb, key=key, value=value)):
                write = Put(TABLE, key, None if verb == "delete" else value)
                return self, (write, Flush(), Reply(caller, StatementResponse()))
        # It asks nobody and waits for nothing.
        return self, ()

    @classmethod
    def recover(cls, disk: Disk, at_ms: int) -> tuple[Database, Effects]:
        return cls(), ()
