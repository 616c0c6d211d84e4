"""Answers and pushes: what roles say, as commands.

Most commands are answered by SUCCESS or ERROR under the request's number; some have an answer of
their own, in which an error is a field. What the front has put together itself (`CommandAnswer`)
is written as it is, with the number.
"""

from __future__ import annotations

from typing import Any

from ....pulsar.messages import Answer, NewTxnResponse
from .asks import Ask, CommandAnswer, Notice, Push, Receipt
from .commands import Payload, encode_command, signed, unsigned, write_bits
from .proto import ERRORS

Fields = dict[str, Any]
#: a client's command → the answer that has room for an error
OWN = {
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
    if name in OWN:
        return encode_command(OWN[name], {**failure, **_own_fields(name, body, answer)})
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


def _own_fields(name: str, body: Any, answer: Answer) -> Fields:
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
    # Below the number of the first message nobody takes notice of it (ServerCnx#handleSend).
    is_highest = signed(body.highest_sequence_id) >= signed(body.sequence_id)
    fields["highest_sequence_id"] = body.highest_sequence_id if is_highest else 0
    return encode_command("SEND_RECEIPT", {**fields, "message_id": place})


# ---- pushes --------------------------------------------------------------------------------


def write_push(number: int, body: Any) -> tuple[bytes, bool]:
    """A frame that nobody answers."""
    if isinstance(body, Notice):
        return encode_command(body.name, dict(body.fields)), False
    push: Push = body
    message = push.message
    payload: Payload = message.values[0]
    place: Fields = {
        "ledgerId": push.ledger,
        "entryId": message.message_id.position,
        "partition": -1,
    }
    fields: Fields = {
        "consumer_id": push.consumer_id,
        "message_id": place,
    }
    if message.redelivery_count:
        fields["redelivery_count"] = message.redelivery_count
    if message.acked:
        fields["ack_set"] = write_bits(message.acked, payload.count)
    if push.epoch is not None:
        fields["consumer_epoch"] = push.epoch
    return encode_command("MESSAGE", fields, payload.data), False
