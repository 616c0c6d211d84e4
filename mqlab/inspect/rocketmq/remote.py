"""A running broker: what mqadmin asks too, a request after the other, at most 200 a second.

Nothing is written: pulls name the group TOOLS_CONSUMER, which every broker has (for another one it
would make a group), and commit no position. A broker of 4.9 lets no client pull from its own
topics; there a queue's entries are asked (QUERY_CONSUME_QUEUE) and then each message by its place.

Source: AdminBrokerProcessor, PullMessageProcessor, AclUtils#calSignature (4.9.7, 5.5.0).
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

from ...kernel import Text, Words, tr
from ...kernel.text import say_cause
from ...rocketmq.remoting import (
    MessageRecord,
    PullSysFlag,
    RemotingCommand,
    RemotingError,
    RequestCode,
    ResponseCode,
    cut_frame,
    decode_command,
    decode_json,
    decode_record,
    encode_command,
    name_response,
)
from ..asking import Refused, parse_settings, read_settings
from ..reading import Ask, Gap, Unreadable

PATIENCE_S = 10.0
PAUSE_S = 0.005
GROUP = "TOOLS_CONSUMER"
AT_ONCE = 32
GET_BROKER_CONFIG, GET_ALL_CONSUMER_OFFSET, QUERY_CONSUME_QUEUE = 26, 43, 321
#: a row of a table whose keys are objects, as fastjson writes them
ROW = re.compile(r'\{[^{}]*"queueId":(\d+)[^{}]*\}:(\{[^{}]*\})')
REFUSES = Words("the broker answers {code} {remark}")
NO_RIGHT = Words("{user} may not read it")
RIGHTS = Words(
    "the broker does not let this user read all that is asked for; needed are Sub, Get and List: "
    "mqadmin createAcl -b {broker} -s User:{user} -r 'Topic:*,Group:*,Cluster:*' -a Sub,Get,List "
    "-d Allow"
)
BROKEN = Words("an answer that cannot be read: {why}")
TORN = Words("messages of {topic}-{queue} after offset {at}")
#: of its own topics 4.9 says that there are none; a slave of 5.x is no one to pull from
NO_PULL = (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SYSTEM_BUSY)
MOVED = (ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED)

#: the first offset, and the one after the last, of each queue of a topic
Bounds = dict[int, tuple[int, int]]
#: group, topic, queue: what the group reads next
Places = dict[tuple[str, str, int], int]


class Broker:
    """A connection, as long as a `with` lasts. Each question may be Refused. `config`: a client's
    settings, of which accessKey and secretKey are used. Raises Unreadable where no broker
    answers."""

    def __init__(self, ask: Ask) -> None:
        """Connect to a running broker at `ask.target` (HOST:PORT). Raises Unreadable where none
        answers, or a name server does, or the settings in `ask.config` cannot be read."""
        self.name, self.now_ms = ask.target, ask.now_ms
        self.gaps: list[Gap] = []
        self._keys = read_settings(ask.config)
        self._denied = False
        self._numbers, self._buffer = count(1), bytearray()
        host, _, port = ask.target.rpartition(":")
        if not host or not port.isdecimal():
            raise Unreadable("{} is neither a folder nor HOST:PORT: name one of these", ask.target)
        try:
            self._socket = socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S)
        except (OSError, OverflowError) as error:
            raise Unreadable("no broker answers at {}: {}", ask.target, say_cause(error)) from error
        try:
            self._refuse_name_server(ask.target)
        except Refused:
            pass  # a broker does not answer this; a name server does
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def _refuse_name_server(self, target: str) -> None:
        """Raises Unreadable where it is one, with brokers at other ports: no broker answers this,
        but for this project's."""
        body = self.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body
        rows = decode_json(body).get("brokerAddrTable", {}).values()
        known = sorted(at for row in rows for at in row.get("brokerAddrs", {}).values())
        if not any(at.endswith(f":{target.rpartition(':')[2]}") for at in known):
            names = ", ".join(known) or "none"
            raise Unreadable("{} is a name server; name one of its brokers: {}", target, names)

    # -- asking ----------------------------------------------------------------------------

    def ask(self, code: int, **fields: Any) -> RemotingCommand:
        """Send a command (`code`: its number) and return the broker's answer; signed, where the
        settings have an access key. Raises Refused where the answer is an error, Unreadable where
        none comes."""
        header = {name: str(value) for name, value in fields.items()}
        if key := self._keys.get("accessKey"):
            header["AccessKey"] = key
            text = "".join(header[name] for name in sorted(header)).encode()
            signature = hmac.digest(self._keys.get("secretKey", "").encode(), text, "sha1")
            header["Signature"] = base64.b64encode(signature).decode()
        number = next(self._numbers)
        time.sleep(PAUSE_S)
        try:
            self._socket.sendall(encode_command(RemotingCommand(code, header, b"", number)))
            # what is no answer to this command is passed over
            while (answer := self._hear()).opaque != number or not answer.is_response:
                pass
        except (OSError, RemotingError) as error:
            raise Unreadable("{} stopped answering: {}", self.name, error) from error
        if answer.code != ResponseCode.SUCCESS:
            remark = (answer.remark or "")[:200]
            reason = REFUSES(code=name_response(answer.code), remark=remark)
            if "has no permission to access" in remark:  # authorizationEnabled of 5.x
                reason, rights = NO_RIGHT(user=key), RIGHTS(broker=self.name, user=key)
                if not self._denied:  # noted once: which rights the user needs
                    self._denied = True
                    self.gaps.append(Gap(Text(f"User:{key}"), rights))
            raise Refused(reason, failed=answer.code == ResponseCode.SYSTEM_BUSY, code=answer.code)
        return answer

    def _hear(self) -> RemotingCommand:
        while (frame := cut_frame(self._buffer)) is None:
            data = self._socket.recv(1 << 16)
            if not data:
                raise OSError(tr("it has closed the connection"))
            self._buffer += data
        return decode_command(frame)

    def _table(self, code: int, name: str, **fields: Any) -> Any:
        """A table of an answer that is JSON."""
        try:
            return decode_json(self.ask(code, **fields).body)[name]
        except (RemotingError, KeyError, TypeError) as error:
            raise Refused(BROKEN(why=str(error)), failed=True) from error

    # -- what is asked ---------------------------------------------------------------------

    def settings(self) -> Mapping[str, str]:
        return parse_settings(self.ask(GET_BROKER_CONFIG).body.decode(errors="replace"))

    def topics(self) -> Mapping[str, Any]:
        with suppress(Refused):
            return dict(self._table(RequestCode.GET_ALL_TOPIC_CONFIG, "topicConfigTable"))
        # one that is a name server as well, such as this project's
        names = self._table(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, "topicList")
        return dict.fromkeys(names)

    def places(self) -> Places:
        try:
            return parse_places(self._table(GET_ALL_CONSUMER_OFFSET, "offsetTable"))
        except Refused as refused:
            if refused.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise
        found: Places = {}
        for topic in self.topics():
            with suppress(Refused):
                code = RequestCode.QUERY_TOPIC_CONSUME_BY_WHO
                for group in self._table(code, "groupList", topic=topic):
                    rows = self._rows(RequestCode.GET_CONSUME_STATS, topic, consumerGroup=group)
                    found |= {(group, topic, n): row["consumerOffset"] for n, row in rows}
        return found

    def _rows(self, code: int, topic: str, **fields: Any) -> Iterator[tuple[int, dict[str, int]]]:
        """A table by queues."""
        text = self.ask(code, topic=topic, **fields).body.decode(errors="replace")
        return ((int(queue), json.loads(row)) for queue, row in ROW.findall(text))

    def bounds(self, topic: str) -> Bounds:
        try:
            rows = self._rows(RequestCode.GET_TOPIC_STATS_INFO, topic)
        except Refused:  # no topic of its table, as the half topic of 4.9
            return {0: (self._offset(RequestCode.GET_MIN_OFFSET, topic),
                        self._offset(RequestCode.GET_MAX_OFFSET, topic))}  # fmt: skip
        return {n: (max(row["minOffset"], 0), max(row["maxOffset"], 0)) for n, row in rows}

    def _offset(self, code: int, topic: str) -> int:
        return max(0, int(self.ask(code, topic=topic, queueId=0).fields.get("offset", "0")))

    def producers(self, groups: Collection[str]) -> frozenset[str]:
        with suppress(Refused):
            return frozenset(self._table(RequestCode.GET_ALL_PRODUCER_INFO, "data"))
        return frozenset(group for group in sorted(groups) if self._has_producer(group))

    def _has_producer(self, group: str) -> bool:
        try:
            return bool(self._table(
                RequestCode.GET_PRODUCER_CONNECTION_LIST, "connectionSet", producerGroup=group
            ))  # fmt: skip
        except Refused as refused:
            if refused.code == ResponseCode.SYSTEM_ERROR and "not exist" in str(refused):
                return False
            raise

    def readers(self, group: str) -> int:
        code = RequestCode.GET_CONSUMER_CONNECTION_LIST
        try:
            return len(self._table(code, "connectionSet", consumerGroup=group))
        except Refused as refused:
            if refused.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return 0
            raise

    # -- messages --------------------------------------------------------------------------

    def records(self, topic: str, queue: int, first: int, end: int) -> Iterator[MessageRecord]:
        at = first
        while at < end:
            data, after = self._pull(topic, queue, at)
            for record in self._cut(data, topic, queue, at):
                if at <= record.queue_offset < end:
                    yield record
            if after <= at:
                return
            at = after

    def _pull(self, topic: str, queue: int, offset: int) -> tuple[bytes, int]:
        """Pull messages of a queue from an offset on, AT_ONCE of them at most. Returns (their
        bytes, the offset from which to go on: the same where there are no more). Where the broker
        does not let this client pull, they are looked up one by one."""
        try:
            answer = self.ask(
                RequestCode.PULL_MESSAGE, consumerGroup=GROUP, topic=topic, queueId=queue,
                queueOffset=offset, maxMsgNums=AT_ONCE, sysFlag=int(PullSysFlag.SUBSCRIPTION),
                commitOffset=0, suspendTimeoutMillis=0, subscription="*", subVersion=0,
                expressionType="TAG",
            )  # fmt: skip
            return answer.body, int(answer.fields.get("nextBeginOffset", offset))
        except Refused as refused:
            if refused.code in NO_PULL:
                return self._look_up(topic, queue, offset)
            if refused.code in (ResponseCode.PULL_NOT_FOUND, *MOVED):
                return b"", offset
            raise

    def _look_up(self, topic: str, queue: int, at: int) -> tuple[bytes, int]:
        """The same by the queue's entries: of each, where its message is."""
        rows = self._table(
            QUERY_CONSUME_QUEUE, "queueData", topic=topic, queueId=queue, index=at, count=AT_ONCE,
            consumerGroup=GROUP,
        )  # fmt: skip
        view = RequestCode.VIEW_MESSAGE_BY_ID
        found = [self.ask(view, topic=topic, offset=row["physicOffset"]).body for row in rows or ()]
        return b"".join(found), at + len(found)

    def _cut(self, data: bytes, topic: str, queue: int, at: int) -> Iterator[MessageRecord]:
        place = 0
        while place < len(data):
            try:
                record, place = decode_record(data, place)
            except RemotingError as error:
                what = TORN(topic=topic, queue=queue, at=at)
                self.gaps.append(Gap(what, error.args[0], failed=True))
                return
            yield record


def parse_places(table: Mapping[str, Mapping[str, int]]) -> Places:
    """Keys are topic@group, and below them a queue's number. Raises ValueError, AttributeError."""
    rows = ((*key.rpartition("@")[::2], queues) for key, queues in table.items())
    return {(group, topic, int(n)): int(at) for topic, group, qs in rows for n, at in qs.items()}
