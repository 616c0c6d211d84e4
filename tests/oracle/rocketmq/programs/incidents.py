"""Public reports, asked of a broker; the stories are in datasets/scenarios/incidents."""

from __future__ import annotations

from ..client import Lab
from ..producer import COMMIT, ROLLBACK, Producer
from . import program
from .ends import begin

HOUR_MS = 3_600_000


@program("a-clock-one-hour-ahead", "issue 9640: TransactionalMessageServiceImpl#check")
def a_clock_one_hour_ahead(lab: Lab) -> None:
    """A half of an hour from now is of a negative age, and asked about at once."""
    app, _ = begin(lab)
    o1 = app.send("orders-0", "o1", True, -HOUR_MS)
    lab.round(young=True)
    app.answer_check(COMMIT)
    app.end(o1, COMMIT)
    lab.write_ops()
    lab.log("orders", 2)


@program("the-stranger-in-the-group", "issue 9791: ProducerManager#getAvailableChannel")
def the_stranger_in_the_group(lab: Lab) -> None:
    """One of the same group that knows nothing of the order answers ROLLBACK."""
    app, _ = begin(lab, "o1")
    app.leave()
    reports = Producer(lab, "reports")
    reports.start()
    lab.round()
    reports.answer_check(ROLLBACK)
    lab.write_ops()
    lab.round()
    lab.log("orders", 0)


@program("a-control-character", "issue 4955: MessageDecoder#string2messageProperties")
def a_control_character(lab: Lab) -> None:
    """What follows 0x02 in a value is a property of its own, here the keys of the message."""
    app, _ = begin(lab)
    app.send("orders-0", "o1", False, KEYS="o1")
    app.send("orders-0", "o2", False, KEYS="o2", note="see\x02KEYS\x01o1")
    _, second = lab.log("orders", 2)
    lab.note("log", "orders-0", "KEYS of o2", second.properties["KEYS"])
