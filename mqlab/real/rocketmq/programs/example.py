"""A published example class of RocketMQ, unmodified, and the check rounds that it lives through."""

from __future__ import annotations

from dataclasses import replace

from ...stories import JAVA_FLAGS, Beside
from .. import example
from ..client import BROKER, LOG, Lab
from . import JAVA, program
from .java import is_known

APP = "app"


@program("java-example", example.CLASS, profiles=("5.5",), needs=(JAVA,))
def java_example(given: Lab) -> None:
    """Ten halves are stored, each check answers UNKNOW, COMMIT_MESSAGE or ROLLBACK_MESSAGE in turn;
    what stays UNKNOW is given up."""
    # The class has names of its own, and this program a broker of its own: no prefix.
    lab = replace(given, prefix="")
    lab.clients["rocketmq-client"] = example.VERSION
    lab.topic(example.TOPIC)
    command = ["java", *JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true"]
    command += [f"-Drocketmq.namesrv.addr={lab.target.name_server}"]
    app = Beside(example.CLASS, [*command, "-cp", example.find_class_path(), example.CLASS])
    try:
        _note_results(lab, app)
        lab.wait_until(lambda: is_known(lab, example.GROUP))
        lab.round()
        lab.wait_until(lambda: len(_list_ended(lab)) >= 6)
        lab.note(LOG, "op", "halves that ended", _list_ended(lab))
        found = sorted(record.body.decode() for record in lab.pull(example.TOPIC))
        lab.note(LOG, example.TOPIC, "Pull", "; ".join(found))
        # How far these come in the op topic depends on how many records the ends have shared.
        for _ in range(3):
            lab.round(told=False)
        lab.log("discard", 4)
        lab.log("half", 28)
    finally:
        app.close()


def _note_results(lab: Lab, app: Beside) -> None:
    """What the class prints of its halves; all else is the client's own log."""
    for number in range(example.COUNT):
        while (found := example.RESULT.search(app.hear())) is None:
            continue
        asked = f"SendMessage half {example.TOPIC} {number}"
        lab.note(APP, BROKER, asked, f"{found[1]} @{found[2]}")


def _list_ended(lab: Lab) -> list[int]:
    """The places of halves that op records name. Ends of one round come in any order, and any
    number of them shares a record."""
    lab.write_ops()
    bodies = [record.body.decode() for record in lab.pull("op")]
    return sorted({int(place) for body in bodies for place in body.split(",") if place})
