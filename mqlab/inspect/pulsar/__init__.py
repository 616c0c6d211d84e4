"""A Pulsar cluster by its admin interface, running or by saved answers.

admin.py   who answers: an address, or files with JSON
topics.py  from the answers to a Reading: coordinators, transactions, topics, subscriptions
judge.py   what is wrong with them
play.py    what happens next: the engine goes on from them

Nothing is changed, but two questions make a broker do something: statistics of a topic load it
where nobody uses it, and `slowTransactions` asks every topic that a transaction names.
"""

from __future__ import annotations

from ...kernel import tr
from ..reading import Ask, Reading
from .judge import judge

__all__ = ["TARGETS", "judge", "read"]

TARGETS = tr(
    "The admin interface (http://host:8080); or its saved answers: a folder of JSON files named by "
    "the path that was asked, or as TOPIC.KIND.json and TOPIC.SUBSCRIPTION.json."
)


def read(ask: Ask) -> Reading:
    """Raises Unreadable."""
    from .admin import open_admin
    from .topics import read_admin

    return read_admin(open_admin(ask), ask)
