"""Message transaction: a local transaction, a message about it, and a consumer that repeats.

A shop stores an order; a warehouse is to set its goods aside. No coordinator asks both. The shop
writes the order **and the message about it in one local transaction** (the message waits in a
table of the same database, the *outbox*), and sends it until the queue has acknowledged. The queue
keeps it and gives it to the warehouse until that has acknowledged. So each step is either done or
repeated, and what is repeated must be recognised: the consumer writes what it has applied together
with its effect, and acknowledges only then.

What is durable: at the shop `ordered` with its message, then `sent`; in the queue `message` and
`acked`; at the warehouse `applied`.

What it gives: once an order is stored, its goods are set aside **in the end** (eventual
consistency, the E of BASE). What it gives up: there is a time at which one is there without the
other, and the warehouse cannot undo the shop. An order whose goods cannot be set aside at all is
delivered again for ever; brokers give up after some time and put it into a dead-letter queue, and
then a person or a compensation must help. That is what `refuses` shows.

Brokers with transactional messages move the outbox into the broker: RocketMQ's half message is
stored first and confirmed after the local transaction. The rest stays as here.

Left out: the order of messages, several consumers, the dead-letter queue itself.

Read on: Pritchett, "BASE: An ACID Alternative", ACM Queue 2008, which tells it with code;
Richardson, "Microservices Patterns", 2018, "Transactional outbox".
"""
