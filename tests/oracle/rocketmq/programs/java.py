"""What belongs to the client: told by the Java client that the broker's release brings along."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from mqlab.rocketmq.remoting import RequestCode, ResponseCode
from tests.oracle.rocketmq.client import SETTLE_S, Lab
from tests.oracle.rocketmq.libraries import LIBRARIES, Library
from tests.oracle.rocketmq.programs import JAVA, LIBRARY, TIMERS, program
from tests.oracle.rocketmq.stories import CLIENT_STORIES, FIELDS, Story, launch, lose_answers

KNOWN_S = 20.0  # 4.9's heartbeat comes a second after its start, on a machine that is idle


def wait_until_known(lab: Lab, group: str = "order-service") -> bool:
    """Whether the broker has a producer of this group to ask, at last."""

    def is_known() -> bool:
        answer = lab.ask(
            RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup=lab.wire(group), sdkVersion=0
        )
        return answer.code == ResponseCode.SUCCESS

    return lab.wait_until(is_known, KNOWN_S)


@program("DefaultMQProducerImpl.sendMessageInTransaction", needs=(JAVA,))
def java_throws(lab: Lab) -> None:
    """An exception in the local transaction is UNKNOW, not ROLLBACK_MESSAGE."""
    lab.topic("orders")
    with Story(lab, "throws") as app:
        app.note_until("sent")
        lab.log("orders", 0)
        wait_until_known(lab)
        lab.round()
        app.note_next(1)
        lab.written_logs(half=2, op=1, orders=1)


@program("DefaultMQProducerImpl.checkTransactionState", needs=(JAVA,))
def java_no_answer(lab: Lab) -> None:
    """A local transaction that returns null is UNKNOW; a check that returns null, or throws, leaves
    the half pending. Each counts."""
    lab.topic("orders")
    with Story(lab, "no-answer") as app:
        app.note_until("sent")
        wait_until_known(lab)
        for noted in (True, True, False):
            lab.round(noted=noted)
            app.note_next(1)
        lab.written_logs(half=4, op=1, orders=1)


@program(
    "DefaultMQProducerImpl.sendDefaultImpl: retryTimesWhenSendFailed",
    profiles=("5.5",),
    needs=(JAVA,),
)
def java_answers_lost(lab: Lab) -> None:
    """The connection breaks before each answer. After three tries the call fails, and the local
    transaction is not run; three halves are stored, so all three are asked about and delivered."""
    lab.topic("orders")
    with lose_answers(lab) as names, Story(lab, "lost", name_server=names) as app:
        app.note_until("sent")
        lab.log("half", 3)
        wait_until_known(lab)
        lab.round()
        app.note_next(3)
        lab.write_ops()
        before = len(lab.notes)
        lab.log("orders", 3)
    # Several threads of the broker ask and hear the ends, so any of the copies may come first.
    lab.notes[before:] = [
        replace(o, answered=o.answered.partition(" of half")[0]) for o in lab.notes[before:]
    ]


@program("DefaultMQProducerImpl.sendDefaultImpl", needs=(JAVA,))
def java_master_dead(lab: Lab) -> None:
    """The broker is killed while a local transaction is at work. Its end is told to nobody, and the
    client does not say so. Sends that follow fail: nothing listens at that address. When the broker
    is back, it asks about the first; of the others it knows nothing."""
    lab.topic("orders")
    with Story(lab, "dead") as app:
        app.note_until("executing")
        lab.close()
        lab.target.control.kill()
        app.note_until("sent")
        lab.target.control.start()
        lab.note("broker", "broker", "kill -9", "started again")
        lab.logs(half=1, orders=0)
        wait_until_known(lab)
        lab.round()
        app.note_next(1)
        lab.written_logs(half=2, op=1, orders=1)


@program(
    "DefaultMQProducerImpl.sendMessageInTransaction: SLAVE_NOT_AVAILABLE",
    profiles=("4.9",),
    needs=(JAVA,),
    settings={"brokerRole": "SYNC_MASTER"},
)
def java_slave_not_available(lab: Lab) -> None:
    """A master without its slave has stored the half, and says so in no kind way: the local
    transaction is not run, the end is a rollback."""
    lab.topic("orders")
    with Story(lab, "status") as app:
        app.note_until("sent")
        lab.logs(half=1, op=1, orders=0)


@program("DefaultMQProducerImpl.sendMessageInTransaction", needs=(JAVA,))
def java_delay_level(lab: Lab) -> None:
    """4.9's client takes the level away, 5.5's refuses the message."""
    lab.topic("orders")
    with Story(lab, "delay") as app:
        app.note_until("sent")
        lab.write_ops()
        stored = 1 if lab.profile.name == "4.9" else 0
        lab.logs(half=stored, orders=stored)


@program("MQClientInstance.startScheduledTask: issues 386, 7567", needs=(JAVA,))
def java_idle(lab: Lab) -> None:
    """Is a producer that has sent nothing known to the broker? 4.9's is, through the route of
    TBW102; 5.5's is not."""
    lab.topic("orders")
    with Story(lab, "idle") as app:
        app.note_until("sent")
        known = wait_until_known(lab)
        lab.note("operator", "broker", "GetProducerConnectionList", "known" if known else "unknown")


# ---- Stories that the Java client tells by itself, unmodified (`java/ClientStories.java`): what
# it
#
# makes of a broker beyond single requests. Transactions wait for the check: its rounds are made
# here.

#: story → the classes of the client that it is about
BY_THEMSELVES = {
    "clustering": "RebalanceImpl, AllocateMessageQueueAveragely",
    "subscriptions": "RebalanceImpl.rebalanceByTopic",
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
    program(reference, name=f"java-{name}", needs=(JAVA,))(partial(play_client, name))


@program("TransactionMQProducer", needs=(JAVA,))
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


@program("MessageDecoder, CompressionType", name="java-every-field-zlib", needs=(JAVA,))
def every_field(lab: Lab) -> None:
    """All that the client shows of its messages: ordinary, committed, retried, dead, and committed
    by a check."""
    for topic in ("ordinary", "committed", "checked"):
        lab.topic(topic)
    with Story(lab, "ZLIB", launch(lab, FIELDS)) as client:
        client.note_until("sent")
        wait_until_known(lab)
        time.sleep(SETTLE_S)  # a message is there before its op record
        lab.write_ops()
        lab.round(noted=False)
        client.note_until("end")


@program("DefaultMQProducerImpl.checkTransactionState", needs=(JAVA,))
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


# ---- The table of client libraries: each tells the same story, and then its log is looked at


def play_library(library: Library, lab: Lab) -> None:
    """Its checks come with a round that is made here."""
    lab.topic("orders")
    command = library.story()
    lab.clients[library.name] = library.version
    with Story(lab, "orders", command) as app:
        app.note_until("sent")
        wait_until_known(lab)
        lab.write_ops()
        lab.round()
        app.note_until("end")
    lab.written_logs(half=4, op=2, orders=library.messages)


for one in LIBRARIES:
    program(
        "a transaction committed, rolled back and asked about, told by a client library",
        name=one.scenario,
        profiles=("5.5",),
        needs=(JAVA, LIBRARY),  # whatever its language, it asks a name server, as Java's does
        settings=TIMERS,
    )(partial(play_library, one))
