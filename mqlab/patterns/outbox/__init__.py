"""Transactional outbox: a table beside the row, a relay that reads it, consumers with an inbox.

A shop stores an order, stock and accounting must hear of it, and stock passes a follow-up on. No
broker transaction is asked for. Each service has one database of its own, and does everything that
must happen together in **one local transaction** there:

    shop    the order's row + the row of its message (the *outbox*)
    stock   its effect + the message's id (the *inbox*) + the row of its follow-up

A **relay** reads the oldest row of an outbox that is not marked, publishes it, and marks the row
when the broker has stored it. It keeps nothing itself: if it is killed between the two, the row is
published again. So a topic holds a message **at least once**, and it is the inbox that makes its
effect happen once.

The six stages that the brokers' transactions have are all here, with other owners: nothing is
reserved at the broker; row and message are *written* and *decided* by the database's commit; the
relay *publishes the decision*; the broker's append makes it *visible*; the mark lets the shop
*forget*. The broker needs no transactions at all, and a broker that is down delays messages but
stops no order.

What is durable: at a service `ordered` or `applied` with the message's row, then `sent`; at the
broker `message` and `acked`.

What can go wrong: two writes in place of one transaction (*dual write*) lose the message; a relay
that marks first loses it too; a relay that keeps one number for "read up to here" passes over a
transaction that took its number early and committed late; an inbox that knows messages by their
place in the topic does not recognise one that was published twice.

Left out: several relays of one outbox, deleting marked rows and old inbox rows, a message that can
never be applied (`message_transaction refuses=1` shows it).

Read on: Richardson, "Microservices Patterns", 2018, "Transactional outbox", "Polling publisher" and
"Idempotent consumer"; Kleppmann, "Designing Data-Intensive Applications", 2017, chapter 11.
"""
