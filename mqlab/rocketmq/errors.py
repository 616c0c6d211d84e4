"""The remarks that go with a response code, in the words of the real broker.

Sources: EndTransactionProcessor, SendMessageProcessor, ConsumerSendMessageBack (5.5.0). The codes
themselves stand beside the protocol's other numbers, in `remoting/codes.py`.
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
BACK_NOT_FOUND = "look message by offset failed, {offset}"
