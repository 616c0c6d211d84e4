"""A client that is nothing but bytes: the recordings' connection, with what many tests ask."""

from __future__ import annotations

import time
from typing import Any

from mqlab.rocketmq.remoting import (
    MessageRecord,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    decode_records,
    encode_json,
    encode_properties,
    read_msg_id,
)
from tests.oracle.rocketmq.wire import Connection

PATIENCE_S = 600
SUCCESS = ResponseCode.SUCCESS
#: SendMessageRequestHeaderV2's short names
SHORT = {"group": "a", "topic": "b", "queues": "d", "queue": "e", "flags": "f", "born": "g"}


class Raw(Connection):
    def __init__(self, address: str, timeout_s: float = PATIENCE_S) -> None:
        super().__init__(address, timeout_s)

    def wait_for_checks(self, count: int) -> list[RemotingCommand]:
        while len(self.checks) < count:
            self.hear()
        return self.checks

    def wait_for_news(self, count: int) -> list[RemotingCommand]:
        while len(self.told) < count:
            self.hear()
        return self.told

    @property
    def closed(self) -> bool:
        """Whether the server closes this connection, now or in a moment."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    # -- what clients ask ----------------------------------------------------------------------

    def create(self, topic: str, queues: int = 1, perm: int = 6) -> RemotingCommand:
        return self.ask(
            RequestCode.UPDATE_AND_CREATE_TOPIC, topic=topic, defaultTopic="TBW102",
            readQueueNums=queues, writeQueueNums=queues, perm=perm, topicFilterType="SINGLE_TAG",
        )  # fmt: skip

    def put(
        self, topic: str, body: bytes, group: str = "raw", queue: int = 0, **properties: str
    ) -> RemotingCommand:
        fields = {
            "a": group, "b": topic, "c": "TBW102", "d": 4, "e": queue, "f": 0,
            "g": int(time.time() * 1000), "h": 0, "i": encode_properties(properties), "j": 0,
            "k": "false", "m": "false",
        }  # fmt: skip
        return self.ask(RequestCode.SEND_MESSAGE_V2, body, **fields)

    def half(
        self, topic: str, body: bytes, group: str, key: str, queue: int = 0, **more: str
    ) -> RemotingCommand:
        return self.put(
            topic, body, group, queue, TRAN_MSG="true", PGROUP=group, UNIQ_KEY=key, **more
        )

    def end(
        self, half: RemotingCommand, group: str, commit: int, oneway: bool = False, **more: Any
    ) -> RemotingCommand | None:
        """The end of a transaction by the answer to its half; `commit`: 8, 12 or 0."""
        _, offset = read_msg_id(half.fields["msgId"])
        fields = {
            "producerGroup": group, "tranStateTableOffset": half.fields["queueOffset"],
            "commitLogOffset": offset, "commitOrRollback": commit,
            "fromTransactionCheck": "false", "msgId": half.fields.get("transactionId", ""), **more,
        }  # fmt: skip
        number = self.begin(RequestCode.END_TRANSACTION, oneway=oneway, **fields)
        return None if oneway else self.answer(number)

    def answer_check(self, check: RemotingCommand, group: str, commit: int) -> None:
        fields = {
            "producerGroup": group, "commitOrRollback": commit, "fromTransactionCheck": "true",
            "tranStateTableOffset": check.fields["tranStateTableOffset"],
            "commitLogOffset": check.fields["commitLogOffset"], "msgId": check.fields["msgId"],
        }  # fmt: skip
        self.begin(RequestCode.END_TRANSACTION, oneway=True, **fields)

    def beat(
        self, client: str, producers: tuple[str, ...] = (), consumers: dict[str, Any] | None = None
    ) -> RemotingCommand:
        """A heartbeat; `consumers`: by group, what it subscribes to, by topic."""
        rows = [
            {"groupName": group, "subscriptionDataSet": _subscriptions(topics)}
            for group, topics in (consumers or {}).items()
        ]
        body = {
            "clientID": client,
            "producerDataSet": [{"groupName": group} for group in producers],
            "consumerDataSet": rows,
        }
        return self.ask(RequestCode.HEART_BEAT, encode_json(body))

    def begin_pull(self, topic: str, offset: int, group: str = "raw", **more: Any) -> int:
        """Of all tags, unless `more` says something else; sysFlag 4: the subscription is here."""
        fields = {
            "consumerGroup": group, "topic": topic, "queueId": 0, "queueOffset": offset,
            "maxMsgNums": 32, "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 15000,
            "subscription": "*", "subVersion": 0, "expressionType": "TAG", **more,
        }  # fmt: skip
        return self.begin(RequestCode.PULL_MESSAGE, **fields)

    def pull(self, topic: str, offset: int, group: str = "raw", **more: Any) -> RemotingCommand:
        return self.answer(self.begin_pull(topic, offset, group, **more))

    def read(self, topic: str, queue: int = 0) -> list[MessageRecord]:
        """All that a queue holds."""
        found: list[MessageRecord] = []
        while True:
            got = self.pull(topic, len(found), queueId=queue)
            if got.code != SUCCESS:
                return found
            found += decode_records(got.body)


def _subscriptions(topics: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "subString": text, "subVersion": 1, "expressionType": "TAG"}
        for topic, text in topics.items()
    ]


def bodies(records: list[MessageRecord]) -> list[str]:
    return [record.body.decode() for record in records]
