"""Forgetting: a transactional id that nobody used for a week, a producer id after a day;
here after seconds, by the broker's settings."""

from __future__ import annotations

from mqlab.real.kafka.admin import describe, describe_transaction
from mqlab.real.kafka.client import Lab
from mqlab.real.kafka.producer import Producer
from mqlab.real.program import NotOffered

from ..admin import producers
from ..stories import play_java
from . import CONTROL, JAVA, program

ID_SETTINGS = {
    "transactional.id.expiration.ms": "3000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
PID_SETTINGS = {
    "producer.id.expiration.ms": "2000",
    "producer.id.expiration.check.interval.ms": "500",
}


@program(
    "transactional-id-expires",
    "TransactionsExpirationTest#testFatalErrorAfterInvalidProducerIdMapping",
    profiles=("tv2", "tv0"),
    needs=(CONTROL,),
    settings=ID_SETTINGS,
)
def id_expires(lab: Lab) -> None:
    """An idle id is forgotten with its epochs; one with an open transaction is not."""
    lab.topic("orders", 2)
    idle, busy = Producer(lab, "idle", "idle"), Producer(lab, "busy", "busy")
    idle.init()
    busy.init()
    idle.send("orders-0", "a")
    idle.commit()
    busy.send("orders-1", "b")
    gone = "TRANSACTIONAL_ID_NOT_FOUND"
    lab.wait_until(lambda: lab.error_of(describe_transaction(lab, "idle")), gone)
    describe(lab, "idle")
    describe(lab, "busy", "Ongoing")
    if lab.profile.v2:
        idle.produce("orders-0", "c", seq=0)
    else:
        idle.add("orders-0")
    idle.commit()
    idle.init()
    idle.send("orders-0", "d")
    idle.commit()
    busy.commit()
    lab.log("orders-0", end=4)


@program(
    "producer-id-expires",
    "ProducerIdExpirationTest; ProducerStateManagerTest#testPidExpirationTimeout, "
    "#testProducersWithOngoingTransactionsDontExpire",
    profiles=("tv2", "tv0"),
    needs=(CONTROL,),
    settings=PID_SETTINGS,
)
def pid_expires(lab: Lab) -> None:
    """A leader forgets an idle producer, then takes any sequence number from it; it keeps one
    with an open transaction, and the coordinator keeps the id."""
    lab.topic("orders", 2)
    if not lab.offers(61, 0):
        raise NotOffered("DescribeProducers")
    plain, idle, busy = Producer(lab, None), Producer(lab, "idle", "idle"), Producer(lab, "busy")
    for app in (plain, idle, busy):
        app.init()
    plain.produce("orders-0", "a")
    idle.send("orders-0", "b")
    idle.commit()
    busy.send("orders-1", "c")
    lab.wait_until(lambda: lab.producers_of("orders-0"), 0)
    producers(lab, "orders-0")
    producers(lab, "orders-1")
    plain.produce("orders-0", "d", seq=7)
    idle.send("orders-0", "e")
    idle.commit()
    busy.commit()
    lab.log("orders-0", end=6)
    lab.log("orders-1", end=2)


@program(
    "java-expired",
    "TransactionsExpirationTest#testFatalErrorAfterInvalidProducerIdMapping: the Java client",
    profiles=("tv2", "tv0"),
    needs=(CONTROL, JAVA),
    settings=ID_SETTINGS,
)
def java_expired(lab: Lab) -> None:
    lab.topic("orders")
    play_java(lab, "ProducerStories.java", "expired", "6000")
    lab.wait_until(lambda: lab.stable_end("orders-0") == lab.end("orders-0"), True)
    lab.read("orders-0")
