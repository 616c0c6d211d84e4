"""Requests that name many things: what each costs for one thing, by how many are named.

Each case makes what it is about, then hands the driver one request, and with it whatever follows.

    python -m tests.serve.kafka.many 100,1000,10000     a dictionary of figures, for `make bench`
    python -m tests.serve.kafka.many 100,1000 Produce   of one case
"""

from __future__ import annotations

from tests.serve.kafka.many import groups, topics
from tests.serve.kafka.many.driven import Many, Next, Prepare

__all__ = ["CASES", "prepare"]

CASES: dict[str, Prepare] = {
    "Metadata, new topics": topics.metadata(create=False),
    "Metadata, topics": topics.metadata(create=True),
    "CreateTopics": topics.create_topics,
    "CreatePartitions": topics.create_partitions,
    "DeleteTopics": topics.delete_topics,
    "DescribeConfigs": topics.describe_configs,
    "IncrementalAlterConfigs": topics.alter_topics,
    "Produce": topics.prepare_produce(11, None, adds=False),
    "Produce in a transaction, partitions added": topics.prepare_produce(11, "id0", adds=True),
    "Produce in a transaction, partitions implied": topics.prepare_produce(12, "id0", adds=False),
    "Fetch, a long poll": topics.fetch,
    "Fetch, clients at one partition": topics.fetch_of_many,
    "ListOffsets": topics.list_offsets,
    "DeleteRecords": topics.delete_records,
    "OffsetForLeaderEpoch": topics.epochs,
    "OffsetCommit": groups.commit_offsets,
    "OffsetFetch, partitions": groups.fetch_offsets,
    "OffsetFetch, groups": groups.fetch_of_groups,
    "OffsetFetch, groups with open transactions": groups.fetch_pending,
    "OffsetDelete": groups.delete_offsets,
    "TxnOffsetCommit and EndTxn": groups.commit_in_transaction,
    "DeleteGroups": groups.delete_groups,
    "DeleteGroups with open transactions": groups.delete_pending,
    "DescribeGroups": groups.describe_groups,
    "ListGroups": groups.list_groups,
    "AddPartitionsToTxn, partitions": groups.add_partitions,
    "EndTxn, partitions": groups.end_transaction,
    "DescribeTransactions": groups.describe_transactions,
    "ListTransactions": groups.list_transactions,
    "DescribeProducers": groups.describe_producers,
    "WriteTxnMarkers": groups.markers,
    "FindCoordinator": groups.find_coordinators,
    "LeaveGroup, members": groups.leave,
    "JoinGroup, protocols": groups.join_with_protocols,
    "SyncGroup": groups.sync,
}


def prepare(name: str, n: int) -> Next:
    """The request of this case, about n things that are there."""
    return CASES[name](Many(), n)
