"""Small systems of RocketMQ that every test run searches."""

from mqlab.explore import Budget
from mqlab.registry.cases.rocketmq import ASKED, ORDER, SHOP
from mqlab.registry.searches import Searched

SMALL = (
    Searched("one order", f"{ASKED} {ORDER}", Budget(timers=2)),
    Searched("one order, break", f"{ASKED} {ORDER}", Budget(timers=1, breaks=1)),
    Searched("one order, stop", f"{ASKED} {ORDER}", Budget(kills=1, timers=1)),
    Searched("one order, shop", f"{ASKED} {ORDER} {SHOP}", Budget(timers=1)),
)
