"""What a broker of this project does not do, said in a sentence to the one who asks for it.

A request that no broker knows is refused as a real one refuses it, by its number. These a real
broker knows: a client that asks, `mqadmin` mostly, gets an error that names what is not here. The
page of differences is made from this table too.

Source: RequestCode, AdminBrokerProcessor#processRequest, the classes of
org.apache.rocketmq.tools.command (5.5.0).
"""

from __future__ import annotations

from ...kernel import frozen


@frozen
class Unserved:
    """`name`: of the request (RequestCode); `asked_by`: mqadmin's commands, or the client's
    method; `why`: what there is instead, or why there is nothing; `remark`: what is answered."""

    name: str
    asked_by: str
    why: str

    @property
    def remark(self) -> str:
        return f"{self.name} is not served by mqlab: {self.why}"


_KEYS = "the name server keeps no values under keys here"
_PERM = "the name server gives out a topic's own permission here: mqadmin updateTopicPerm"
_FIGURES = (
    "this broker hands out neither its settings nor its figures; of topics and groups there are "
    "mqadmin topicStatus and consumerProgress"
)
_CONFIG = "this broker takes its settings when it starts (mqlab serve rocketmq --help)"

UNSERVED: dict[int, Unserved] = {
    100: Unserved("PUT_KV_CONFIG", "updateKvConfig, updateOrderConf", _KEYS),
    101: Unserved("GET_KV_CONFIG", "updateOrderConf", _KEYS),
    102: Unserved("DELETE_KV_CONFIG", "deleteKvConfig, updateOrderConf", _KEYS),
    205: Unserved("WIPE_WRITE_PERM_OF_BROKER", "wipeWritePerm", _PERM),
    219: Unserved("GET_KVLIST_BY_NAMESPACE", "-", _KEYS),
    327: Unserved("ADD_WRITE_PERM_OF_BROKER", "addWritePerm", _PERM),
    25: Unserved("UPDATE_BROKER_CONFIG", "updateBrokerConfig", f"{_CONFIG}; nothing was changed"),
    45: Unserved("GET_ALL_DELAY_OFFSET", "-", "offsets of delay levels are not handed out here"),
    305: Unserved(
        "GET_SYSTEM_TOPIC_LIST_FROM_BROKER", "-",
        "topics of the system are in topicList here, and have no list of their own",
    ),
    306: Unserved("CLEAN_EXPIRED_CONSUMEQUEUE", "cleanExpiredCQ", "queues do not expire here"),
    316: Unserved(
        "CLEAN_UNUSED_TOPIC", "cleanUnusedTopic",
        "a deleted topic leaves no queues behind here, so there is nothing to clean",
    ),
    26: Unserved("GET_BROKER_CONFIG", "getBrokerConfig", _FIGURES),
    28: Unserved("GET_BROKER_RUNTIME_INFO", "brokerStatus, clusterList", _FIGURES),
    207: Unserved(
        "DELETE_SUBSCRIPTIONGROUP", "deleteSubGroup",
        "a group is not deleted here; where it goes on is changed: mqadmin resetOffsetByTime",
    ),
    315: Unserved("VIEW_BROKER_STATS_DATA", "statsAll", _FIGURES),
    317: Unserved(
        "GET_BROKER_CONSUME_STATS", "brokerConsumeStats",
        "progress is given here per group: mqadmin consumerProgress -g GROUP",
    ),
    318: Unserved("UPDATE_NAMESRV_CONFIG", "updateNamesrvConfig", f"{_CONFIG}"),
    319: Unserved(
        "GET_NAMESRV_CONFIG", "getNamesrvConfig",
        "name server and broker are one here, and the name server has no settings of its own",
    ),
    307: Unserved(
        "GET_CONSUMER_RUNNING_INFO", "consumerStatus",
        "this broker does not ask consumers what they are doing",
    ),
    309: Unserved(
        "CONSUME_MESSAGE_DIRECTLY", "sendMessage -c, queryMsgById -g",
        "this broker hands no single message to a chosen consumer",
    ),
    43: Unserved("GET_ALL_CONSUMER_OFFSET", "-", "offsets are given here per group and queue"),
    21: Unserved(
        "GET_ALL_TOPIC_CONFIG", "-", "topics are given here by name: topicRoute, topicList"
    ),
    201: Unserved(
        "GET_ALL_SUBSCRIPTIONGROUP_CONFIG", "-",
        "a group has one setting here, retryMaxTimes, and settings are not listed",
    ),
    321: Unserved("QUERY_CONSUME_QUEUE", "queryCq", "entries of a queue are not handed out here"),
    345: Unserved(
        "QUERY_SUBSCRIPTION_BY_CONSUMER", "-",
        "what a group subscribes to is given here with its connections: consumerConnection",
    ),
    370: Unserved(
        "RECALL_MESSAGE", "DefaultMQProducer.recallMessage",
        "a message that waits for its time cannot be taken back here",
    ),
}  # fmt: skip
