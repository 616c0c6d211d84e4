"""mqadmin, command by command: what an operator is told."""

from __future__ import annotations

from mqlab.rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC

from ..client import Lab
from ..mqadmin import Mqadmin
from ..producer import COMMIT, UNKNOW, Producer
from . import JAVA, program
from .checks import give_up
from .consumers import GROUP, subscribe
from .ends import begin

OWN = ("orders", "prices")


def own_topics(line: str) -> bool:
    """A real broker has topics of its own that have no meaning for this project's."""
    return any(name in line.split() for name in OWN)


@program(
    "java-mqadmin-topics",
    "org.apache.rocketmq.tools.command.topic",
    needs=(JAVA,),
    settings={"timerWheelEnable": "true"},  # without, 5.5.0 cannot delete a topic
)
def topics(lab: Lab) -> None:
    with Mqadmin(lab) as run:
        for command in (
            "updateTopic -b BROKER -t @orders -r 2 -w 2",
            "updateTopic -c DefaultCluster -t @prices -r 1 -w 1",
            "updateTopic -b BROKER -t TBW102",
            "updateTopicPerm -t @prices -p 4 -b BROKER",
            "topicClusterList -t @orders",
            "topicRoute -t @orders",
            "topicRoute -t @orders -l",
            "topicRoute -t @nothing",
            "topicStatus -t @nothing",
            "sendMessage -t @orders -p hello -k k1 -c tagA -b broker-a -i 0",
            "sendMessage -t @orders -p again -k k2 -b broker-a -i 0",
            "topicStatus -t @orders",
            "queryMsgByKey -t @orders -k k1",
            "queryMsgByKey -t @orders -k k9",
            "queryMsgByOffset -t @orders -b broker-a -i 0 -o 0",
            "queryMsgByOffset -t @orders -b broker-a -i 0 -o 9",
            "queryMsgByUniqueKey -t @orders -i 7F0000010000000000000000000000",
            "printMsg -t @orders -d true",
            "printMsgByQueue -t @orders -a broker-a -i 0 -p true -d true",
            "checkMsgSendRT -t @orders -a 1 -s 10",
        ):
            run(command)
        for command in ("topicList", "topicList -c"):
            run(command, keep=own_topics)
        for command in (
            "deleteTopic -c DefaultCluster -t @orders",
            "deleteTopic -c DefaultCluster -t @nothing",
        ):
            run(command)
        run("topicList", keep=own_topics)


@program(
    "java-mqadmin-groups",
    "org.apache.rocketmq.tools.command.consumer",
    needs=(JAVA,),
)
def groups(lab: Lab) -> None:
    """Of a group that has come, and of one that has not."""
    lab.topic("orders")
    app = Producer(lab)
    app.start()
    for words in ("o1", "o2"):
        app.end(app.send("orders-0", words), COMMIT)
    lab.log("orders", 2)
    subscribe(lab)
    with Mqadmin(lab) as run:
        for command in (
            "updateSubGroup -b BROKER -g @audit",
            "updateSubGroup -c DefaultCluster -g @audit -r 3",
            f"consumerProgress -g @{GROUP}",
            "consumerProgress -g @nobody",
            f"consumerConnection -g @{GROUP}",
            "consumerConnection -g @nobody",
            f"resetOffsetByTime -g @{GROUP} -t @orders -s 0",
            f"resetOffsetByTime -g @{GROUP} -t @orders -s -1 -b broker-a -q 0 -o 1",
            f"resetOffsetByTime -g @{GROUP} -t @nothing -s 0",
            "resetOffsetByTime -g @nobody -t @orders -s 0",
            f"consumerProgress -g @{GROUP}",
            f"skipAccumulatedMessage -g @{GROUP} -t @orders -f true",
            f"consumerProgress -g @{GROUP}",
            f"cloneGroupOffset -s @{GROUP} -d @audit -t @orders -o false",
            "producer -b BROKER",
            "producerConnection -g @order-service -t @orders",
            "producerConnection -g @nobody -t @orders",
        ):
            run(command)


@program(
    "java-mqadmin-watch",
    "org.apache.rocketmq.tools.command.topic",
    profiles=("5.5",),
    needs=(JAVA,),
)
def watch(lab: Lab) -> None:
    """What an operator looks at: a half that is asked about again and again, until it is parked."""
    with Mqadmin(lab) as run:
        app, (o1,) = begin(lab, "o1")
        app.end(o1, UNKNOW)
        run(f"topicStatus -t {HALF_TOPIC}")
        give_up(lab, app)
        lab.log("discard", 1)
        for topic in (HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC):
            run(f"topicStatus -t {topic}")
