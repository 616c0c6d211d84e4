"""What belongs to the client: told by the Java client that the broker's release brings along."""

from __future__ import annotations

from dataclasses import replace

from mqlab.rocketmq.remoting import RequestCode, ResponseCode

from ..client import Lab
from ..stories import Story, lose_answers
from . import JAVA, program

KNOWN_S = 20.0  # 4.9's heartbeat comes a second after its start, on a machine that is idle


def wait_until_known(lab: Lab, group: str = "order-service") -> bool:
    """Whether the broker has a producer of this group to ask, at last."""

    def is_known() -> bool:
        answer = lab.ask(
            RequestCode.GET_PRODUCER_CONNECTION_LIST, producerGroup=lab.wire(group), sdkVersion=0
        )
        return answer.code == ResponseCode.SUCCESS

    return lab.wait_until(is_known, KNOWN_S)


@program("java-throws", "DefaultMQProducerImpl.sendMessageInTransaction", needs=(JAVA,))
def java_throws(lab: Lab) -> None:
    """An exception in the local transaction is UNKNOW, not ROLLBACK_MESSAGE."""
    lab.topic("orders")
    with Story(lab, "throws") as app:
        app.note_until("sent")
        lab.log("orders", 0)
        wait_until_known(lab)
        lab.round()
        app.note_next(1)
        lab.write_ops()
        lab.log("half", 2)
        lab.log("op", 1)
        lab.log("orders", 1)


@program("java-no-answer", "DefaultMQProducerImpl.checkTransactionState", needs=(JAVA,))
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
        lab.write_ops()
        lab.log("half", 4)
        lab.log("op", 1)
        lab.log("orders", 1)


@program(
    "java-answers-lost",
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


@program(
    "java-slave-not-available",
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
        lab.log("half", 1)
        lab.log("op", 1)
        lab.log("orders", 0)


@program("java-delay-level", "DefaultMQProducerImpl.sendMessageInTransaction", needs=(JAVA,))
def java_delay_level(lab: Lab) -> None:
    """4.9's client takes the level away, 5.5's refuses the message."""
    lab.topic("orders")
    with Story(lab, "delay") as app:
        app.note_until("sent")
        lab.write_ops()
        stored = 1 if lab.profile.name == "4.9" else 0
        lab.log("half", stored)
        lab.log("orders", stored)


@program("java-idle", "MQClientInstance.startScheduledTask: issues 386, 7567", needs=(JAVA,))
def java_idle(lab: Lab) -> None:
    """Is a producer that has sent nothing known to the broker? 4.9's is, through the route of
    TBW102; 5.5's is not."""
    lab.topic("orders")
    with Story(lab, "idle") as app:
        app.note_until("sent")
        known = wait_until_known(lab)
        lab.note("operator", "broker", "GetProducerConnectionList", "known" if known else "unknown")
