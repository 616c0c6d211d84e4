"""What `mqlab serve kafka` does not serve of a real 4.3.1: requests that it does not announce.

A client finds them missing in ApiVersions and does without, or says itself that the broker does not
support them (UnsupportedVersionException). One that sends such a request all the same loses its
connection, as with a real broker, and the server's log says why. The page of differences is made
from this table too.

Source: ApiKeys (4.3.1).
"""

from __future__ import annotations

from ..kernel.text import Text, Words, tr

WHY = Words("request {key} {name} is not served by mqlab: {why}")

_USERS = tr("there are no users: anyone who reaches the loopback address may do everything")
_TOKENS = tr("there are no users; a real broker refuses tokens on a plain connection")
_ACLS = tr("there are no users; without an authorizer a real broker refuses too")
_QUOTAS = tr("nobody is throttled")
_FOLDER = tr("there is one folder; how large it is the file system says")
_REPLICAS = tr("one broker has every replica and leads every partition")
_CONTROLLER = tr("there is one controller, and no log of metadata")
_CONFIGS = tr("configs of topics are set when a topic is created, and shown by DescribeConfigs")
_CONSUMER = tr(
    "groups of KIP-848 are not modelled; with group.protocol=consumer Java's client says so and "
    "librdkafka waits in silence, so leave it at classic"
)
_SHARE = tr("share groups (KIP-932) are not modelled: they take no part in transactions")
_STREAMS = tr("groups of KIP-1071 are not modelled; Streams uses the classic protocol")

#: number of the request → its name, and why it is not served
UNSERVED: dict[int, tuple[str, Text]] = {
    17: ("SaslHandshake", _USERS),
    29: ("DescribeAcls", _ACLS),
    30: ("CreateAcls", _ACLS),
    31: ("DeleteAcls", _ACLS),
    33: ("AlterConfigs", _CONFIGS),
    34: ("AlterReplicaLogDirs", _FOLDER),
    35: ("DescribeLogDirs", _FOLDER),
    36: ("SaslAuthenticate", _USERS),
    38: ("CreateDelegationToken", _TOKENS),
    39: ("RenewDelegationToken", _TOKENS),
    40: ("ExpireDelegationToken", _TOKENS),
    41: ("DescribeDelegationToken", _TOKENS),
    43: ("ElectLeaders", _REPLICAS),
    45: ("AlterPartitionReassignments", _REPLICAS),
    46: ("ListPartitionReassignments", _REPLICAS),
    48: ("DescribeClientQuotas", _QUOTAS),
    49: ("AlterClientQuotas", _QUOTAS),
    50: ("DescribeUserScramCredentials", _USERS),
    51: ("AlterUserScramCredentials", _USERS),
    55: ("DescribeQuorum", _CONTROLLER),
    57: ("UpdateFeatures", tr("transaction.version is chosen when the server starts")),
    64: ("UnregisterBroker", tr("there is one broker")),
    68: ("ConsumerGroupHeartbeat", _CONSUMER),
    69: ("ConsumerGroupDescribe", _CONSUMER),
    74: ("ListConfigResources", _CONFIGS),
    75: (
        "DescribeTopicPartitions",
        tr(
            "clients fall back on Metadata; kafka-topics --describe then says N/A for Elr and "
            "LastKnownElr"
        ),
    ),
    76: ("ShareGroupHeartbeat", _SHARE),
    77: ("ShareGroupDescribe", _SHARE),
    78: ("ShareFetch", _SHARE),
    79: ("ShareAcknowledge", _SHARE),
    80: ("AddRaftVoter", _CONTROLLER),
    81: ("RemoveRaftVoter", _CONTROLLER),
    83: ("InitializeShareGroupState", _SHARE),
    84: ("ReadShareGroupState", _SHARE),
    85: ("WriteShareGroupState", _SHARE),
    86: ("DeleteShareGroupState", _SHARE),
    87: ("ReadShareGroupStateSummary", _SHARE),
    88: ("StreamsGroupHeartbeat", _STREAMS),
    89: ("StreamsGroupDescribe", _STREAMS),
    90: ("DescribeShareGroupOffsets", _SHARE),
    91: ("AlterShareGroupOffsets", _SHARE),
    92: ("DeleteShareGroupOffsets", _SHARE),
}

#: to one who says on which brokers a topic's partitions are to be
NOT_PLACED = "mqlab has one broker, which holds every partition: leave the assignment out"
#: of AddPartitionsToTxn, versions 4 and 5
FROM_BROKERS = "a broker asks another one in these versions, and there is one; clients end at 3"
#: the one config that can be changed while the server runs
VERIFICATION = "transaction.partition.verification.enable"
#: to one who wants to change another
ONLY_VERIFICATION = Words(
    "mqlab does not serve this change: {why}; of a broker's, only {config} can be changed, by "
    "IncrementalAlterConfigs and set"
)(why=_CONFIGS, config=VERIFICATION)
#: to one who asks for the configs of something else
NO_SUCH_CONFIGS = "mqlab keeps no configs but those of topics and of its one broker"
