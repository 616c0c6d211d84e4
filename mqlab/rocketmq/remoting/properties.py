"""Properties of a message as one text: name, 0x01, value, 0x02, and so on.

Source: common.message.MessageDecoder#messageProperties2String, #string2messageProperties and
MessageConst, 5.5.0. The text travels in a send request and is part of the commit log, where its
length has two bytes. 4.9.7 leaves off the last separator, 5.5.0 writes it. What the real reader
skips is skipped here: a piece without a name, or without a value.
"""

from __future__ import annotations

from collections.abc import Mapping

NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR = "\x01", "\x02"
MAX_BYTES = 32767  # Short.MAX_VALUE

#: names that Message#putUserProperty refuses (MessageConst.STRING_HASH_SET, 5.5.0)
RESERVED = frozenset(
    """
    1ST_POP_TIME ARRIVE_TIME BORN_TIMESTAMP BUYER_ID CLUSTER CONSUME_START_TIME CORRECTION_FLAG
    CORRELATION_ID DELAY DLQ_ORIGIN_MESSAGE_ID DLQ_ORIGIN_TOPIC DUP_INFO EXTEND_UNIQ_INFO
    INNER_MULTI_QUEUE_OFFSET INSTANCE_ID KEYS MAX_OFFSET MAX_RECONSUME_TIMES MIN_OFFSET MQ2_FLAG
    MSG_REGION MSG_TYPE ORIGIN_GROUP ORIGIN_MESSAGE_ID PGROUP POP_CK POP_CK_OFFSET PUSH_REPLY_TIME
    REAL_QID REAL_TOPIC RECONSUME_TIME REPLY_TO_CLIENT RETRY_TOPIC TAGS TIMER_DELAY_LEVEL
    TIMER_DELAY_MS TIMER_DELAY_SEC TIMER_DELIVER_MS TIMER_DEL_UNIQKEY TIMER_DEQUEUE_MS
    TIMER_ENQUEUE_MS TIMER_OUT_MS TIMER_ROLL_TIMES TRACE_ON TRANSFER_FLAG TRAN_MSG
    TRAN_PREPARED_QUEUE_OFFSET TTL UNIQ_KEY WAIT _SYS_MSG_PRIORITY_ __BORNHOST __CRC32#
    __LITE_TOPIC
""".split()  # noqa: SIM905
)


def encode_properties(properties: Mapping[str, str]) -> str:
    """In the order of the mapping."""
    return "".join(
        f"{name}{NAME_VALUE_SEPARATOR}{value}{PROPERTY_SEPARATOR}"
        for name, value in properties.items()
    )


def decode_properties(text: str) -> dict[str, str]:
    """Of a name that comes twice the last value."""
    properties = {}
    for piece in text.split(PROPERTY_SEPARATOR):
        name, _, value = piece.partition(NAME_VALUE_SEPARATOR)
        if name and value:
            properties[name] = value
    return properties
