"""What of the real administration is not served: (method, path, what it is).

An administrator who asks for it is told so with status 501, and the page of differences is made from
the same table. A method of "" stands for any.
"""

from __future__ import annotations

import re

WHY = "mqlab's broker does not serve this: {what}"
_ANY = r"/[^?]*"

UNSERVED: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (method, re.compile(path), what)
    for method, path, what in (
        ("", f"/admin/v2/non-persistent{_ANY}", "a non-persistent topic"),
        ("POST", "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/terminate", "terminating a topic"),
        ("", "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/compaction", "compaction"),
        (
            "POST",
            "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/(subscription/[^/]+/|all_subscription/)"
            f"expireMessages{_ANY}",
            "expiry of messages",
        ),
        (
            "GET",
            "/admin/v2/persistent/.*/partitioned-(internalS|s)tats",
            "statistics of a partitioned topic as a whole",
        ),
        (
            "",
            r"/admin/v2/namespaces/[^/]+/[^/]+/deduplication",
            "deduplication set for one namespace or topic (there is --dedup)",
        ),
        (
            "",
            r"/admin/v2/persistent/[^/]+/[^/]+/[^/]+/deduplicationEnabled",
            "deduplication set for one namespace or topic (there is --dedup)",
        ),
        ("", rf"/admin/v2/namespaces/[^/]+/[^/]+{_ANY}", "a policy of a namespace"),
        ("", rf"/admin/v2/persistent/[^/]+/[^/]+/[^/]+{_ANY}", "a policy of a topic"),
        ("", f"/admin/v2/schemas{_ANY}", "administration of schemas"),
        ("", f"/admin/v2/clusters{_ANY}", "changing a cluster"),
        (
            "",
            f"/admin/v2/(brokers|broker-stats|bookies|resource-quotas|resourcegroups){_ANY}",
            "administration of brokers and bookies",
        ),
        (
            "",
            f"/admin/v3/(functions?|sinks?|sources?|packages){_ANY}",
            "functions, sources, sinks and packages",
        ),
        ("", f"/lookup/v2/topic{_ANY}", "lookup by HTTP (clients ask by the binary protocol)"),
    )
)

#: fields that a real broker tells and this one does not: there is nothing behind them here (rates,
#: bookies, quotas, filters), or it is not kept
_UNTOLD = """
X-Pulsar-publish-time __compaction active address allowOutOfOrderDelivery
allowed_clusters auth_policies averageMsgSize avgMessagesPerEntry backlogQuotaLimitSize
backlogQuotaLimitTime backlogSize backlog_quota_map blockedConsumerOnUnackedMsgs
blockedSubscriptionOnUnackedMsgs brokerClientSslFactoryPlugin brokerClientTlsEnabled
brokerClientTlsEnabledWithKeyStore brokerClientTlsKeyStoreType
brokerClientTlsTrustStoreType bundles bytesOutInternalCounter chunkedMessageRate
clientVersion clusterDispatchRate clusterSubscribeRate compactedLedger compaction
connectedSince consumersAfterMarkDeletePosition currentLedgerSize cursorLedger
cursorLedgerLastEntry delayedMessageIndexSizeInBytes
dispatchThrottledBytesEventsByBrokerLimit
dispatchThrottledBytesEventsBySubscriptionLimit dispatchThrottledBytesEventsByTopicLimit
dispatchThrottledMsgEventsByBrokerLimit dispatchThrottledMsgEventsBySubscriptionLimit
dispatchThrottledMsgEventsByTopicLimit drainingHashesClearedTotal drainingHashesCount
drainingHashesUnackedMessages earliestMsgPublishTimeInBacklog
earliestMsgPublishTimeInBacklogs encryption_required filterAcceptedMsgCount
filterProcessedMsgCount filterRejectedMsgCount filterRescheduledMsgCount
firstConsumedFlowTimestamp firstMessagesSentTimestamp isReplicated
is_allow_auto_update_schema lastAckedTime lastAckedTimestamp lastConsumedFlowTimestamp
lastConsumedTime lastConsumedTimestamp lastExpireTimestamp lastLedgerCreatedTimestamp
lastLedgerSwitchTimestamp lastMarkDeleteAdvancedTimestamp lastOffloadFailureTimeStamp
lastOffloadLedgerId lastOffloadSuccessTimeStamp lastPublishTimeStamp
latency_stats_sample_rate messageAckRate metadata migrated msgChunkPublished msgExpired
msgRateExpired msgRateIn msgRateOut msgRateRedeliver msgThroughputIn msgThroughputOut
nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize
offload_threshold offload_threshold_in_seconds offloadedStorageSize
oldestBacklogMessageAgeSeconds ownerBroker properties publishMaxMessageRate
publishRateLimitedTimes replicated replication replicatorDispatchRate schemaLedgers
schema_compatibility_strategy schema_validation_enforced state subscriptionDispatchRate
subscriptionHavePendingRead subscriptionHavePendingReplayRead subscriptionProperties
subscription_auth_mode subscription_types_enabled supportsPartialProducer
systemTopicBytesInCounter tlsAllowInsecureConnection topicDispatchRate totalMsgExpired
totalSize waitingPublishers waitingReadOp
"""
UNTOLD = frozenset(_UNTOLD.split())

#: (part of a request, part of the answer that is another, why)
OTHERWISE = (
    ("pendingAckStats", "reason", "a real broker runs into a null; the status is the same"),
    ("/partitions", "deserialize", "no words of a Java library; the status is the same"),
    ("/stats", "storageSize", "a marker has no bytes here"),
    ("/stats", "backlogSize", "a marker has no bytes here"),
    ("transactionBufferInternalStats", "waitingCursorsCount", "nobody reads the snapshots here"),
    ("transactionBufferInternalStats", "__system_reader", "nobody reads the snapshots here"),
)

#: what a client that speaks the binary protocol is refused, by name: what it is
NOT_FOR_CLIENTS = {
    "access mode": "producers that want a topic for themselves (Exclusive, WaitForExclusive, "
    "ExclusiveWithFencing)",
    "non-persistent": "non-persistent topics",
}


def list_refusals() -> list[tuple[str, str]]:
    """(who is refused what, what it is): the rows of the page of differences."""
    rows = [(f"a client: {name}", what) for name, what in NOT_FOR_CLIENTS.items()]
    rows += dict.fromkeys(("an administrator", what) for _, _, what in UNSERVED)
    rows += [(f"an administrator: {part} {field}", why) for part, field, why in OTHERWISE]
    rows.append(("an administrator: fields that are left out", ", ".join(sorted(UNTOLD))))
    return rows
