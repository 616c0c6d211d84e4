"""Small systems of Pulsar that every test run searches."""

from mqlab.explore import Budget
from mqlab.registry.cases.pulsar import GIVEN_UP, ORDER, PASS_ON, READ, SHOP
from mqlab.registry.searches import Searched

#: an abort that a load finds frees the message while the load itself sends it: it is sent twice
FREED = (
    "'app=subscribe orders-0 s from=earliest type=Shared; send orders-0 a; receive s; "
    "new-transaction t1; ack s orders-0@0 txn=t1; abort t1; "
    "new-transaction t2; ack s orders-0@0 txn=t2; commit t2'"
)

SMALL = (
    Searched("one order, stop", f"pulsar {ORDER}", Budget(kills=1)),
    Searched("one order, break", f"pulsar {SHOP} {ORDER} {READ}", Budget(breaks=1)),
    Searched("given up, timers", f"pulsar {SHOP} {GIVEN_UP} {READ}", Budget(timers=1)),
    Searched("pass on", f"pulsar {PASS_ON}", Budget()),
    Searched("freed by a load", f"pulsar {FREED}", Budget(kills=1, killable=("orders-0",))),
)
