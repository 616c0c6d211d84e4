"""RocketMQ's remoting protocol: how requests, answers and messages become bytes.

A program that talks to a RocketMQ (this project's recordings) and one that is talked to as one (its
server) write and read the same bytes here. No sockets, no meaning: what a request does is in the
roles. Read in this order:

    codes.py       what is asked, what came of it, bits of flags
    command.py     one command and its frame; the header as JSON or in RocketMQ's own form
    properties.py  properties of a message as one text
    records.py     a message as it is in the commit log, and inside a client's batch
    bodies.py      bodies that are JSON
    unserved.py    what a broker of this project does not do, each in a sentence

Both sides of a connection may ask. A one-way request is never answered, so its sender does
not learn whether it arrived: END_TRANSACTION and CHECK_TRANSACTION_STATE are such requests, and
that is why check-back exists.
"""

from .bodies import decode_json as decode_json
from .bodies import encode_by_queue as encode_by_queue
from .bodies import encode_json as encode_json
from .codes import MessageSysFlag as MessageSysFlag
from .codes import PullSysFlag as PullSysFlag
from .codes import RequestCode as RequestCode
from .codes import ResponseCode as ResponseCode
from .codes import name_request as name_request
from .codes import name_response as name_response
from .command import Flag as Flag
from .command import RemotingCommand as RemotingCommand
from .command import RemotingError as RemotingError
from .command import SerializeType as SerializeType
from .command import answer_to as answer_to
from .command import cut_frame as cut_frame
from .command import decode_command as decode_command
from .command import encode_command as encode_command
from .properties import decode_properties as decode_properties
from .properties import encode_properties as encode_properties
from .records import BatchMessage as BatchMessage
from .records import MessageRecord as MessageRecord
from .records import decode_batch as decode_batch
from .records import decode_record as decode_record
from .records import decode_records as decode_records
from .records import encode_batch as encode_batch
from .records import encode_record as encode_record
from .records import make_msg_id as make_msg_id
from .records import read_msg_id as read_msg_id
