"""A Pulsar cluster by its admin interface, running or by saved answers.

admin.py   who answers: an address, or files with JSON
topics.py  from the answers to a Reading: coordinators, transactions, topics, subscriptions
judge.py   what is wrong with them
play.py    what happens next: the engine goes on from them

Nothing is changed, but two questions make a broker do something: statistics of a topic load it
where no client uses it, and `slowTransactions` asks every topic that a transaction names.
"""

from __future__ import annotations

from ..reading import Ask, Reading
from .judge import judge

__all__ = ["TARGETS", "judge", "read"]

TARGETS = (
    "Reads the admin interface of a running cluster (http://HOST:8080; --config takes your "
    "client's settings), or its answers saved as JSON: a file, - for the standard input, or a "
    "folder. A file holds what one or several pulsar-admin commands have printed, and is named "
    "after its topic and subscription in public/default (orders.billing.json) or after the path "
    "that was requested (persistent/TENANT/NAMESPACE/TOPIC/stats.json)."
)


def read(ask: Ask) -> Reading:
    """Raises Unreadable."""
    from .admin import open_admin
    from .topics import read_admin

    return read_admin(open_admin(ask), ask)
