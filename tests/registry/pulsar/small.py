"""Small systems of Pulsar that every test run searches."""

from mqlab.explore import Budget
from mqlab.registry.cases.pulsar import GIVEN_UP, ORDER, PASS_ON, READ, SHOP
from mqlab.registry.searches import Searched

SMALL = (
    Searched("one order, stop", f"pulsar {ORDER}", Budget(kills=1)),
    Searched("one order, break", f"pulsar {SHOP} {ORDER} {READ}", Budget(breaks=1)),
    Searched("given up, timers", f"pulsar {SHOP} {GIVEN_UP} {READ}", Budget(timers=1)),
    Searched("pass on", f"pulsar {PASS_ON}", Budget()),
)
