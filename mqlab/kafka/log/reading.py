"""The requests of readers: a question to a partition that appends nothing to it.

A leader and a group coordinator answer them alike. Only a long poll changes the role at all:
it remembers who waits.
"""

from __future__ import annotations

from ...kernel import Caller, Disk, Effects, Reply, replace
from ..messages import Fetch, ListOffsets, Unwatch, Watch
from . import fetch, watching
from .messages import DescribeProducers, describe_producers
from .role import R

ReaderRequest = Fetch | ListOffsets | DescribeProducers | Watch | Unwatch


def answer_reader(role: R, body: ReaderRequest, caller: Caller, disk: Disk) -> tuple[R, Effects]:
    """(role, effects): the answer at once, but for a Watch that finds nothing new."""
    match body:
        case Fetch():
            return role, (Reply(caller, fetch.answer_fetch(role.part, role.name, body, disk)),)
        case ListOffsets():
            answer = fetch.answer_list_offsets(role.part, role.name, body, disk)
            return role, (Reply(caller, answer),)
        case DescribeProducers():
            return role, (Reply(caller, describe_producers(role.part)),)
        case Watch(isolation=isolation):
            end = fetch.upper_bound(role.part, isolation)
            watchers, effects = watching.add_watcher(role.watchers, caller, body, end)
            return replace(role, watchers=watchers), effects
        case Unwatch(corr=corr):
            left = watching.remove_watcher(role.watchers, caller, corr)
            return replace(role, watchers=left), ()
