"""Stories that the Java client tells by itself, unmodified (`java/ClientStories.java`): what it
makes of a broker beyond single requests. Transactions wait for the check: its rounds are made here.
"""

from __future__ import annotations

import time
from functools import partial

from ..client import SETTLE_S, Lab
from ..stories import CLIENT_STORIES, FIELDS, Story, launch
from . import JAVA, program
from .java import wait_until_known

#: story → the classes of the client that it is about
BY_THEMSELVES = {
    "clustering": "RebalanceImpl, AllocateMessageQueueAveragely",
    "broadcasting": "MessageModel.BROADCASTING, LocalFileOffsetStore",
    "retries": "ConsumeMessageConcurrentlyService.processConsumeResult",
    "pulling": "DefaultLitePullConsumer",
    "ordered": "ConsumeMessageOrderlyService, MessageQueueSelector",
    "delayed": "Message.setDelayTimeLevel",
    "querying": "MQAdminImpl",
}


def play_client(story: str, lab: Lab) -> None:
    with Story(lab, story, launch(lab, CLIENT_STORIES)) as client:
        client.note_until("end")


for name, reference in BY_THEMSELVES.items():
    program(f"java-{name}", reference, needs=(JAVA,))(partial(play_client, name))


@program("java-transactions", "TransactionMQProducer", needs=(JAVA,))
def java_transactions(lab: Lab) -> None:
    """Commit, rollback, an exception, UNKNOW once and twice; a push consumer gets what was
    committed."""
    with Story(lab, "transactions", launch(lab, CLIENT_STORIES)) as client:
        client.note_until("sent")
        wait_until_known(lab, "transactions-producer")
        lab.write_ops()
        lab.round(noted=False)
        client.note_until("asked")
        lab.write_ops()
        lab.round(noted=False)
        client.note_until("end")


def every_field(codec: str, lab: Lab) -> None:
    """All that the client shows of its messages: ordinary, committed, retried, dead, and committed
    by a check."""
    for topic in ("ordinary", "committed", "checked"):
        lab.topic(topic)
    with Story(lab, codec, launch(lab, FIELDS)) as client:
        client.note_until("sent")
        wait_until_known(lab)
        time.sleep(SETTLE_S)  # a message is there before its op record
        lab.write_ops()
        lab.round(noted=False)
        client.note_until("end")


for codec in ("ZLIB", "LZ4", "ZSTD"):
    program(f"java-every-field-{codec.lower()}", "MessageDecoder, CompressionType", needs=(JAVA,))(
        partial(every_field, codec)
    )


@program("java-heir", "DefaultMQProducerImpl.checkTransactionState", needs=(JAVA,))
def java_heir(lab: Lab) -> None:
    """A producer dies between its local transaction and its end; another process of the same group
    is asked."""
    with Story(lab, "dying", launch(lab, CLIENT_STORIES)) as client:
        client.note_next(1)
    with Story(lab, "heir", launch(lab, CLIENT_STORIES)) as client:
        client.note_until("ready")
        wait_until_known(lab, "heirs-producer")
        lab.round(noted=False)
        client.note_until("end")
