"""RocketMQ's remoting protocol: how requests, answers and messages become bytes.

A program that talks to a RocketMQ (this project's recordings) and one that is talked to as one (its
server) write and read the same bytes here. No sockets, no meaning: what a request does stands in
the roles. Read in this order:

    codes.py       what is asked, what came of it, bits of flags
    command.py     one command and its frame; the header as JSON or in RocketMQ's own form
    properties.py  properties of a message as one text
    records.py     a message as it lies in the commit log, and inside a client's batch
    bodies.py      bodies that are JSON
    unserved.py    what a broker of this project does not do, each in a sentence

Both sides of a connection may ask. A one-way request is never answered, so its sender does
not learn whether it arrived: END_TRANSACTION and CHECK_TRANSACTION_STATE are such requests, and
that is why check-back exists.
"""

from .bodies import decode_json, encode_by_queue, encode_json
from .codes import (
    MessageSysFlag,
    PullSysFlag,
    RequestCode,
    ResponseCode,
    name_request,
    name_response,
)
from .command import (
    Flag,
    RemotingCommand,
    RemotingError,
    SerializeType,
    answer_to,
    cut_frame,
    decode_command,
    encode_command,
)
from .properties import decode_properties, encode_properties
from .records import (
    BatchMessage,
    MessageRecord,
    decode_batch,
    decode_record,
    decode_records,
    encode_batch,
    encode_record,
    make_msg_id,
    read_msg_id,
)

__all__ = [
    "BatchMessage",
    "Flag",
    "MessageRecord",
    "MessageSysFlag",
    "PullSysFlag",
    "RemotingCommand",
    "RemotingError",
    "RequestCode",
    "ResponseCode",
    "SerializeType",
    "answer_to",
    "cut_frame",
    "decode_batch",
    "decode_command",
    "decode_json",
    "decode_properties",
    "decode_record",
    "decode_records",
    "encode_batch",
    "encode_by_queue",
    "encode_command",
    "encode_json",
    "encode_properties",
    "encode_record",
    "make_msg_id",
    "name_request",
    "name_response",
    "read_msg_id",
]
