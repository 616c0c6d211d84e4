"""How fast one raw client is against a server: transactions and messages a second.

A client of nothing but sockets, so that what is measured is the server. Measuring, not testing: the
figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import itertools
import socket
import time
import uuid
from collections.abc import Callable

from ...rocketmq.remoting import (
    Flag,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    cut_frame,
    decode_command,
    encode_command,
    encode_properties,
    read_msg_id,
)
from ...rocketmq.states import TransactionType

BODY = b"v" * 100
UNDER_WAY = 64  # requests that the client has not heard the answer of


class Sender:
    """One connection of a producer, to one queue of a topic that nobody has used."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._numbers = itertools.count(1)
        self.topic = f"bench-{uuid.uuid4().hex[:8]}"

    def close(self) -> None:
        self._socket.close()

    def send(
        self, code: int, fields: dict[str, str], body: bytes = b"", oneway: bool = False
    ) -> None:
        flag = Flag.ONEWAY if oneway else 0
        command = RemotingCommand(code, fields, body, next(self._numbers), flag)
        self._socket.sendall(encode_command(command))

    def hear(self) -> RemotingCommand:
        """The next answer. Raises ConnectionError where the server has gone, or refuses."""
        while (frame := cut_frame(self._buffer)) is None:
            data = self._socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the server has closed the connection")
            self._buffer += data
        answer = decode_command(frame)
        if answer.code != ResponseCode.SUCCESS:
            raise ConnectionError(f"refused: {answer.remark}")
        return answer

    def send_message(self, properties: dict[str, str]) -> None:
        fields = {
            "a": self.topic, "b": self.topic, "c": "TBW102", "d": "1", "e": "0", "f": "0",
            "g": str(int(time.time() * 1000)), "h": "0", "i": encode_properties(properties),
            "j": "0", "k": "false", "m": "false",
        }  # fmt: skip
        self.send(RequestCode.SEND_MESSAGE_V2, fields, BODY)


def transactions_per_second(address: str, seconds: float = 5.0) -> float:
    """One after the other: a half, its answer, its end, one-way as clients send it."""
    sender, done = Sender(address), 0
    start = time.perf_counter()
    while not done or (passed := time.perf_counter() - start) < seconds:
        key = f"{sender.topic}-{done}"
        sender.send_message({"TRAN_MSG": "true", "PGROUP": sender.topic, "UNIQ_KEY": key})
        half = sender.hear()
        _, offset = read_msg_id(half.fields["msgId"])
        end = {
            "producerGroup": sender.topic,
            "tranStateTableOffset": half.fields["queueOffset"],
            "commitLogOffset": str(offset),
            "commitOrRollback": str(int(TransactionType.COMMIT_TYPE)),
            "fromTransactionCheck": "false",
            "msgId": key,
        }
        sender.send(RequestCode.END_TRANSACTION, end, oneway=True)
        done += 1
    sender.close()
    return done / passed


def messages_per_second(address: str, messages: int = 20_000) -> float:
    """Plain messages of 100 bytes, so many under way at once, until all are answered."""
    sender, heard = Sender(address), 0
    start = time.perf_counter()
    for sent in range(messages):
        sender.send_message({"UNIQ_KEY": f"{sender.topic}-{sent}"})
        if sent - heard >= UNDER_WAY:
            sender.hear()
            heard += 1
    while heard < messages:
        sender.hear()
        heard += 1
    sender.close()
    return messages / (time.perf_counter() - start)


FIGURES: dict[str, Callable[[str], float]] = {
    "transactions/s, one after the other": transactions_per_second,
    "messages/s": messages_per_second,
}
