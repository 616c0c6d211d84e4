"""Answers and pushes: what roles say, as commands.

Most commands are answered by SUCCESS or ERROR under the request's number; some have an answer of
their own, in which an error is a field. What the front has put together itself (`CommandAnswer`)
is written as it is, with the number.
"""

from __future__ import annotations

import json
from typing import Any

from ....kernel import Caller, frozen, worded
from ....pulsar.messages import Answer, NewTxnResponse, PushMessage, SendReceipt
from ...http import Exchange, HttpError
from .commands import Command, Payload, encode_command, signed, split_name, unsigned, write_bits
from .proto import ERRORS

# What a client asks, on its way to the front, and what only the server's own roles say

Host = tuple[str, int]


@frozen
class Ask:
    """A command as it came, and the address at which it has reached us."""

    command: Command
    here: Host = ("127.0.0.1", 0)

    def __str__(self) -> str:
        return self.command.name


@worded("{method} {path}")
class AdminAsk:
    """A request of the admin interface, and the address at which it has reached us."""

    method: str
    path: str
    body: bytes = b""
    here: Host = ("127.0.0.1", 0)


@frozen
class Handed:
    """What the front hands on: the role answers `caller`, who is the client, by itself. `epoch`:
    of a consumer, where it says a new one."""

    caller: Caller
    body: Any
    epoch: int | None = None

    def __str__(self) -> str:
        return str(self.body)


# ---- answers of the front's own ------------------------------------------------------


@frozen
class CommandAnswer(Answer):
    """A command as an answer: its fields without the request's number."""

    name: str = "SUCCESS"
    fields: tuple[tuple[str, Any], ...] = ()


@frozen
class Receipt(SendReceipt):
    """A receipt, with the ledger of the message."""

    ledger: int = -1


@frozen
class AdminAnswer:
    """`body`: JSON, or a message's bytes. `headers`: what is said of an entry."""

    status: int
    body: Any = ""
    headers: tuple[tuple[str, str], ...] = ()


# ---- pushes --------------------------------------------------------------------------


@frozen
class Push:
    """MESSAGE, on its way to consumer `consumer_id` of a connection. `ledger`: of the topic."""

    consumer_id: int
    ledger: int
    message: PushMessage
    epoch: int | None = None

    def __str__(self) -> str:
        return str(self.message)


@worded("{name}")
class Notice:
    """A command that the broker sends unasked."""

    name: str
    fields: tuple[tuple[str, Any], ...] = ()


Fields = dict[str, Any]
#: a client's command → the answer that has room for an error
RESPONSES = {
    "ACK": "ACK_RESPONSE",
    "TC_CLIENT_CONNECT_REQUEST": "TC_CLIENT_CONNECT_RESPONSE",
    "NEW_TXN": "NEW_TXN_RESPONSE",
    "ADD_PARTITION_TO_TXN": "ADD_PARTITION_TO_TXN_RESPONSE",
    "ADD_SUBSCRIPTION_TO_TXN": "ADD_SUBSCRIPTION_TO_TXN_RESPONSE",
    "END_TXN": "END_TXN_RESPONSE",
    "PARTITIONED_METADATA": "PARTITIONED_METADATA_RESPONSE",
    "LOOKUP": "LOOKUP_RESPONSE",
}
SCHEMAS = ("GET_SCHEMA", "GET_OR_CREATE_SCHEMA")


def write_answer(ask: Ask, answer: Answer) -> bytes:
    name, body = ask.command.name, ask.command.body
    if isinstance(answer, CommandAnswer):
        return encode_command(answer.name, {**dict(answer.fields), **_numbers(answer.name, body)})
    if isinstance(answer, Receipt):
        return _write_receipt(body, answer)
    failure: Fields = {} if answer.ok else {"error": _number(answer), "message": _words(answer)}
    if name in RESPONSES:
        return encode_command(RESPONSES[name], {**failure, **_response_fields(name, body, answer)})
    if name in SCHEMAS:  # in their answers the error's field is called otherwise
        fields = {"error_code": _number(answer), "error_message": _words(answer)}
        return encode_command(f"{name}_RESPONSE", {"request_id": body.request_id, **fields})
    return encode_command("SUCCESS" if answer.ok else "ERROR", {**_numbers("", body), **failure})


def _numbers(name: str, body: Any) -> Fields:
    """By what the client tells which request is answered."""
    if name in ("CONNECTED", "PONG"):
        return {}
    if name in ("SEND_RECEIPT", "SEND_ERROR"):
        return {"producer_id": body.producer_id, "sequence_id": body.sequence_id}
    return {"request_id": body.request_id}


def _number(answer: Answer) -> int:
    number: int = ERRORS.values_by_name[answer.error.name].number
    return number


def _words(answer: Answer) -> str:
    return answer.message or answer.error.name


def _response_fields(name: str, body: Any, answer: Answer) -> Fields:
    fields: Fields = {"request_id": body.request_id}
    if name in ("PARTITIONED_METADATA", "LOOKUP"):
        return {**fields, "response": "Failed"}
    if name == "ACK":
        fields["consumer_id"] = body.consumer_id
    if isinstance(answer, NewTxnResponse) and answer.txn is not None:
        fields["txnid_most_bits"] = unsigned(answer.txn.most)
        fields["txnid_least_bits"] = unsigned(answer.txn.least)
    elif name not in ("ACK", "NEW_TXN", "TC_CLIENT_CONNECT_REQUEST"):
        fields["txnid_most_bits"] = body.txnid_most_bits
        fields["txnid_least_bits"] = body.txnid_least_bits
    return fields


def _write_receipt(body: Any, answer: Receipt) -> bytes:
    fields: Fields = {"producer_id": body.producer_id, "sequence_id": body.sequence_id}
    if not answer.ok:
        error = {"error": _number(answer), "message": _words(answer)}
        return encode_command("SEND_ERROR", {**fields, **error})
    ledger = answer.ledger if answer.position >= 0 else -1
    place = {"ledgerId": unsigned(ledger), "entryId": unsigned(answer.position)}
    # Below the number of the first message it is ignored (ServerCnx#handleSend).
    is_highest = signed(body.highest_sequence_id) >= signed(body.sequence_id)
    fields["highest_sequence_id"] = body.highest_sequence_id if is_highest else 0
    return encode_command("SEND_RECEIPT", {**fields, "message_id": place})


# ---- pushes --------------------------------------------------------------------------


def write_push(number: int, body: Any) -> tuple[bytes, bool]:
    """Encode what a consumer is sent unasked, a message or a notice, as a frame. Returns (frame,
    False): Pulsar's clients do not answer pushes. `number` is not used, for that reason."""
    if isinstance(body, Notice):
        return encode_command(body.name, dict(body.fields)), False
    push: Push = body
    message = push.message
    payload: Payload = message.values[0]
    message_id: Fields = {
        "ledgerId": push.ledger,
        "entryId": message.message_id.position,
        "partition": split_name(message.message_id.partition)[1],
    }
    fields: Fields = {"consumer_id": push.consumer_id, "message_id": message_id}
    if message.redelivery_count:
        fields["redelivery_count"] = message.redelivery_count
    if message.acked:
        fields["ack_set"] = write_bits(message.acked, payload.count)
    if push.epoch is not None:
        fields["consumer_epoch"] = push.epoch
    return encode_command("MESSAGE", fields, payload.data), False


# ---- The admin interface's answers as HTTP; what is the same for all servers is in `serve/http.py`
#
# The admin interface has no port of its own here. A frame of the binary protocol begins with its
# size, whose first byte is 0, and a request of HTTP with a letter; so the first byte that a client
# sends says which of the two it speaks.


def speaks_http(buffer: bytes | bytearray) -> bool:
    return bool(buffer) and chr(buffer[0]).isalpha()


def write_response(exchange: Exchange, answer: AdminAnswer) -> bytes:
    body, kind = answer.body, "application/octet-stream"
    if not isinstance(body, bytes):
        body, kind = b"" if body == "" else json.dumps(body).encode(), "application/json"
    headers = [("Content-Type", kind)]
    headers += [(f"X-Pulsar-{name}", value) for name, value in answer.headers]
    return exchange.respond(answer.status, headers, body)


def write_refusal(exchange: Exchange, error: HttpError) -> bytes:
    return write_response(exchange, AdminAnswer(error.status, {"reason": str(error)}))
