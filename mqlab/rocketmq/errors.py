"""The remarks that go with a response code, in the words of the real broker.

Sources: EndTransactionProcessor, SendMessageProcessor, ConsumerSendMessageBack (5.5.0). The codes
themselves are with the protocol's other numbers, in `remoting/codes.py`.
"""

from __future__ import annotations

from .remoting.codes import ResponseCode

__all__ = ["ResponseCode"]

HALF_NOT_FOUND = "Find prepared transaction message failed"
GROUP_WRONG = "The producer group wrong"
QUEUE_OFFSET_WRONG = "The transaction state table offset wrong"
COMMIT_LOG_OFFSET_WRONG = "The commit log offset wrong"
FLAG_WRONG = "commitOrRollback field wrong"
NOT_ALLOWED = "Sending message to topic[{topic}] is forbidden."
TOO_LARGE = (
    "he message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 4194304B, msg properties length limit 32KB."
)
#: a send begins it in small letters, the end of a transaction does not
SEND_TOO_LARGE, END_TOO_LARGE = f"t{TOO_LARGE}", f"T{TOO_LARGE}"
NOT_RESUMED = "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."
#: of a slave, to what only a master stores: since 5.0, and before
REJECTED = "[REJECTREQUEST]system busy, start flow control for a while"
NOT_NOW = "service not available now."
BACK_NOT_FOUND = "look message by offset failed, {offset}"
