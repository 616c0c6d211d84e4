"""How fast one raw client is with a server: transactions and messages a second.

A client of nothing but sockets, so that what is measured is the server. Measuring, not testing: the
figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable

from mqlab.rocketmq.remoting import (
    Flag,
    RemotingCommand,
    RequestCode,
    ResponseCode,
    cut_frame,
    decode_command,
    decode_json,
    encode_command,
    encode_properties,
    read_msg_id,
)
from mqlab.rocketmq.states import TransactionType

from .servers import RawConnection, count_per_second, pipeline_per_second

BODY = b"v" * 100


class Sender(RawConnection):
    """One connection of a producer, to one queue of a topic that was never used."""

    def __init__(self, address: str) -> None:
        super().__init__(address, cut_frame)
        self._numbers = itertools.count(1)
        self._last = 0
        self.topic = f"bench-{uuid.uuid4().hex[:8]}"

    def send(
        self, code: int, fields: dict[str, str], body: bytes = b"", oneway: bool = False
    ) -> None:
        flag = Flag.ONEWAY if oneway else 0
        self._last = next(self._numbers)
        command = RemotingCommand(code, fields, body, self._last, flag)
        self.socket.sendall(encode_command(command))

    def hear(self) -> RemotingCommand:
        """The next answer. Raises ConnectionError where the server has gone, or refuses."""
        answer = decode_command(self.read_frame())
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            raise ConnectionError(f"this is a name server; {self.find_broker()}")
        if answer.code != ResponseCode.SUCCESS:
            raise ConnectionError(f"refused: {answer.remark}")
        return answer

    def find_broker(self) -> str:
        """Where the name server behind this connection knows a broker."""
        self.send(RequestCode.GET_BROKER_CLUSTER_INFO, {})
        number = self._last
        while (answer := decode_command(self.read_frame())).opaque != number:
            pass  # the refusal of a message that was in flight
        table = decode_json(answer.body)["brokerAddrTable"]
        named = ", ".join(broker["brokerAddrs"]["0"] for broker in table.values())
        return f"name its broker, which is at {named}" if named else "it knows no broker yet"

    def send_message(self, properties: dict[str, str]) -> None:
        fields = {
            "a": self.topic, "b": self.topic, "c": "TBW102", "d": "1", "e": "0", "f": "0",
            "g": str(int(time.time() * 1000)), "h": "0", "i": encode_properties(properties),
            "j": "0", "k": "false", "m": "false",
        }  # fmt: skip
        self.send(RequestCode.SEND_MESSAGE_V2, fields, BODY)

    def run_transaction(self) -> None:
        """A half message, its answer, its end, one-way as clients send it."""
        key = f"{self.topic}-{next(self._numbers)}"
        self.send_message({"TRAN_MSG": "true", "PGROUP": self.topic, "UNIQ_KEY": key})
        half = self.hear()
        _, offset = read_msg_id(half.fields["msgId"])
        end = {
            "producerGroup": self.topic,
            "tranStateTableOffset": half.fields["queueOffset"],
            "commitLogOffset": str(offset),
            "commitOrRollback": str(int(TransactionType.COMMIT_TYPE)),
            "fromTransactionCheck": "false",
            "msgId": key,
        }
        self.send(RequestCode.END_TRANSACTION, end, oneway=True)


def transactions_per_second(address: str, seconds: float = 5.0) -> float:
    """One after the other."""
    sender = Sender(address)
    figure = count_per_second(sender.run_transaction, seconds)
    sender.close()
    return figure


def messages_per_second(address: str, messages: int = 20_000) -> float:
    """Plain messages of 100 bytes, so many in flight at once, until all are answered."""
    sender = Sender(address)

    def send(number: int) -> None:
        sender.send_message({"UNIQ_KEY": f"{sender.topic}-{number}"})

    figure = pipeline_per_second(send, sender.hear, messages)
    sender.close()
    return figure


FIGURES: dict[str, Callable[[str], float]] = {
    "transactions/s, one after the other": transactions_per_second,
    "messages/s": messages_per_second,
}
