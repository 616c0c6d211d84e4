"""What a batch's head holds of its transaction: one real batch, taken apart.

`BATCH` is what Kafka 4.3.1 gave to a fetch after confluent-kafka 2.16.1 (librdkafka), with the
transactional id `order-service`, had written and committed `order-17`. Its 61 bytes of head:

    base offset 8 · length 4 · leader epoch 4 · magic 1 · CRC-32C 4 · attributes 2 ·
    last offset delta 4 · base and max timestamp 8+8 · producer id 8 · epoch 2 ·
    base sequence 4 · count 4

Source: DefaultRecordBatch (Kafka 4.3).
"""

from __future__ import annotations

import struct

TRANSACTIONAL_ID = "order-service"
BATCH = bytes.fromhex(
    "0000000000000000000000400000000002c26fea31001000000000000001340d3c9000000001340d"
    "3c90000000000000000001000000000000000000011c00000001106f726465722d313700"
)
HEAD = struct.Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL = 0x10, 0x20


def header(data: bytes = BATCH) -> dict[str, int]:
    """The fields that have to do with transactions; ValueError for what is too short."""
    if len(data) < HEAD.size:
        raise ValueError(f"{len(data)} bytes: the head of a batch has {HEAD.size}")
    base, _, _, _, _, bits, _, _, _, pid, epoch, sequence, count = HEAD.unpack_from(data)
    return {
        "base offset": base,
        "transactional bit": int(bool(bits & TRANSACTIONAL)),
        "control bit": int(bool(bits & CONTROL)),
        "producer id": pid,
        "epoch": epoch,
        "base sequence": sequence,
        "records": count,
    }
