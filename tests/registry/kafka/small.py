"""Small systems of Kafka that every test run searches."""

from mqlab.explore import Budget
from mqlab.registry.cases.kafka import APP
from mqlab.registry.searches import Searched

SMALL = (
    Searched("commit", f"kafka {APP}"),
    Searched("commit, break", f"kafka {APP}", Budget(breaks=1)),
    Searched("commit, stop", f"kafka {APP}", Budget(kills=1, killable=("coordinator",))),
)
