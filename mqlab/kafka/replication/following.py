"""Following: fetch from the leader, cut off what it never had, append what it sends.

Sources: ReplicaFetcherThread#processPartitionData, AbstractFetcherThread#truncateOnFetchResponse
(Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...kernel import Disk, Effects, Map, Send
from . import copying
from .messages import FetchReplica, FetchReplicaResponse

if TYPE_CHECKING:
    from .replica import Replica

Result = tuple["Replica", Effects]


def build_fetch(r: Replica, disk: Disk) -> Send:
    """The question with which a follower says where its copy ends."""
    assert r.mine is not None
    logs = tuple(
        (g, disk.log(g).end, copying.find_last_epoch(disk, g), r.hw.get(g, 0))
        for g in r.config.logs
    )
    return Send(r.mine.role, FetchReplica(r.config.number, r.mine.epoch, logs))


def handle_fetched(r: Replica, peer: str, fetched: FetchReplicaResponse, disk: Disk) -> Result:
    """What the leader sent is appended (after what it never had was cut off)."""
    mine = r.mine
    if mine is None or r.leads or peer != mine.role or fetched.error:
        # From an older leader, or from one that this follower is behind: the news that is
        # under way makes it ask again.
        return r, ()
    hw, effects, ends = copying.append_copied(r.hw, fetched, disk)
    cuts = {one.log: one.cut for one in fetched.logs if one.cut >= 0}
    since = Map((g, min(at, cuts.get(g, at))) for g, at in r.since.items())
    for g in r.config.logs:
        ends.setdefault(g, (disk.log(g).end, copying.find_last_epoch(disk, g)))
    logs = tuple((g, *ends[g], hw.get(g, 0)) for g in r.config.logs)
    again = FetchReplica(r.config.number, mine.epoch, logs)
    return replace(r, hw=hw, since=since), (*effects, Send(mine.role, again))
