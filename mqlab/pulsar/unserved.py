"""What `mqlab serve pulsar` does not serve, in tables: the server refuses by them, and the page of
differences is made from them.

An administrator who asks for a row of UNSERVED gets status 501 with its sentence; a method of ""
means any. Clients that ask for a row of NOT_FOR_CLIENTS hear NotAllowed with that sentence.
"""

from __future__ import annotations

import re

WHY = "mqlab's broker does not serve this: {what}"
AS_A_WHOLE = "a partitioned topic's statistics, subscriptions and unload (ask for its partitions)"
_ANY = r"/[^?]*"

#: (method, path as a pattern, what it is)
_UNSERVED = (
    ("", f"/admin/v2/non-persistent{_ANY}", "a non-persistent topic"),
    ("", f"/admin/v2/(clusters|tenants)({_ANY})?", "administration of clusters and tenants"),
    ("", "/admin/v2/namespaces/[^/]+(/[^/]+)?", "listing and deleting namespaces"),
    ("",
     f"/admin/v2/persistent/[^/]+/[^/]+/[^/]+/subscription/[^/]+/"
     f"(position{_ANY}|analyzeBacklog|skip{_ANY}|skip_all)",
     "looking into a subscription's backlog and skipping over it (there is resetcursor)"),
    ("GET", "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/lastMessageId",
     "the id of a topic's last message (clients ask by the binary protocol)"),
    ("POST", "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/partitions",
     "more partitions for a topic that is there"),
    ("GET", f"/admin/v3/transactions/(transactionBuffer|pendingAck)InternalStats{_ANY}",
     "the logs below a transaction buffer and pending acks"),
    ("POST", "/admin/v3/transactions/transactionCoordinator/replicas",
     "more coordinators while it runs (there is --coordinators)"),
    ("POST", "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/terminate", "terminating a topic"),
    ("", "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/compaction", "compaction"),
    ("POST",
     "/admin/v2/persistent/[^/]+/[^/]+/[^/]+/(subscription/[^/]+/|all_subscription/)"
     f"expireMessages{_ANY}",
     "expiry of messages"),
    ("GET", "/admin/v2/persistent/.*/partitioned-(internalS|s)tats",
     AS_A_WHOLE),
    ("", r"/admin/v2/namespaces/[^/]+/[^/]+/deduplication",
     "deduplication set for one namespace or topic (there is --dedup)"),
    ("", r"/admin/v2/persistent/[^/]+/[^/]+/[^/]+/deduplicationEnabled",
     "deduplication set for one namespace or topic (there is --dedup)"),
    ("", rf"/admin/v2/namespaces/[^/]+/[^/]+{_ANY}", "a policy of a namespace"),
    ("", rf"/admin/v2/persistent/[^/]+/[^/]+/[^/]+{_ANY}", "a policy of a topic"),
    ("", f"/admin/v2/schemas{_ANY}", "administration of schemas"),
    ("", f"/admin/v2/(brokers|broker-stats|bookies|resource-quotas|resourcegroups){_ANY}",
     "administration of brokers and bookies"),
    ("", f"/admin/v3/(functions?|sinks?|sources?|packages){_ANY}",
     "functions, sources, sinks and packages"),
    ("", f"/lookup/v2/topic{_ANY}", "lookup by HTTP (clients ask by the binary protocol)"),
)  # fmt: skip
UNSERVED: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (method, re.compile(path), what) for method, path, what in _UNSERVED
)

#: fields that a real broker reports and this one does not: there is nothing to report here (rates,
#: bookies, quotas, filters), or it is not kept
_UNTOLD = """
X-Pulsar-batch-size X-Pulsar-publish-time active address allowOutOfOrderDelivery averageMsgSize
avgMessagesPerEntry backlogQuotaLimitSize backlogQuotaLimitTime backlogSize
blockedConsumerOnUnackedMsgs blockedSubscriptionOnUnackedMsgs bytesOutInternalCounter
chunkedMessageRate clientVersion compactedLedger compaction connectedSince
consumersAfterMarkDeletePosition currentLedgerSize cursorLedger cursorLedgerLastEntry
delayedMessageIndexSizeInBytes dispatchThrottledBytesEventsByBrokerLimit
dispatchThrottledBytesEventsBySubscriptionLimit dispatchThrottledBytesEventsByTopicLimit
dispatchThrottledMsgEventsByBrokerLimit dispatchThrottledMsgEventsBySubscriptionLimit
dispatchThrottledMsgEventsByTopicLimit drainingHashesClearedTotal drainingHashesCount
drainingHashesUnackedMessages earliestMsgPublishTimeInBacklog earliestMsgPublishTimeInBacklogs
filterAcceptedMsgCount filterProcessedMsgCount filterRejectedMsgCount filterRescheduledMsgCount
firstConsumedFlowTimestamp firstMessagesSentTimestamp isReplicated lastAckedTime
lastAckedTimestamp lastConsumedFlowTimestamp lastConsumedTime lastConsumedTimestamp
lastExpireTimestamp lastLedgerCreatedTimestamp lastLedgerSwitchTimestamp
lastMarkDeleteAdvancedTimestamp lastOffloadFailureTimeStamp lastOffloadLedgerId
lastOffloadSuccessTimeStamp lastPublishTimeStamp messageAckRate metadata msgChunkPublished
msgExpired msgRateExpired msgRateIn msgRateOut msgRateRedeliver msgThroughputIn msgThroughputOut
nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize
offloadedStorageSize oldestBacklogMessageAgeSeconds ownerBroker properties
publishRateLimitedTimes replicated replication schemaLedgers state subscriptionHavePendingRead
subscriptionHavePendingReplayRead subscriptionProperties supportsPartialProducer
systemTopicBytesInCounter totalMsgExpired totalSize waitingPublishers waitingReadOp
"""
UNTOLD = frozenset(_UNTOLD.split())

#: (part of a request, part of the answer that is another, why)
OTHERWISE = (
    ("pendingAckStats", "reason", "a real broker runs into a null; the status is the same"),
    ("/partitions", "deserialize", "no words of a Java library; the status is the same"),
    ("/stats", "storageSize", "a marker has no bytes here"),
    ("/stats", "backlogSize", "a marker has no bytes here"),
)

#: what a real 4.2.4 does not refuse to a client, how it is refused here, and why
REFUSED = (
    ("a topic's name of more than 512 characters", "InvalidTopicName",
     "a real broker takes 65,536 too. Here each step of a transaction is kept and drawn with "
     "the names of its topics"),
    ("a batch that says it has no message, fewer than none, or more than its bytes can hold",
     "ChecksumError",
     "a real broker stores it and gives it to consumers, but no client can read its messages"),
    ("an acknowledgement of part of a batch in a transaction, where an open one has all of it",
     "TransactionConflict", "a real broker runs into a null and does not answer"),
)  # fmt: skip

NON_PERSISTENT = "topics are persistent here"
#: what a client is refused, and the words in which it is
NOT_FOR_CLIENTS = (("a non-persistent topic", NON_PERSISTENT),)
