# %% [markdown]
# # Lab 10 · Can a transaction un-acknowledge?
#
# *90 minutes, or a quick route of 20* · Pulsar 4.2
#
# **In one paragraph.** A Pulsar transaction can send messages, and it can also acknowledge the messages that
# it has read. The gift shop's billing department uses that. One day it cannot print its bills, and aborts. In
# this lab you find out what became of that day's orders, and write the calls that get them billed.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden* under
# a heading to open one. If a part needs what is above it, first choose *Run All Above Selected Cell* in the
# menu *Run*.
#
# **You need** lab 09, or these words. A *subscription* (订阅) is a named cursor on a topic that tracks which
# messages are done. To *acknowledge* (确认) a message is to declare it done: by itself (*individually*, 单条确认),
# or with all messages before it (*cumulatively*, 累积确认). The *coordinator* (事务协调者) is the part of the broker
# that keeps the state of each transaction.

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Play,
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    say,
    scenario,
    vary,
)
from mqlab.lessons.pulsar.lab10 import (
    ACKING,
    ALONE,
    NEEDED,
    PASSING,
    RETURNING,
    answer_second,
    compare_types,
    compare_with_kafka,
    fence,
    first,
    list_calls,
    list_orders,
    list_pending_logs,
    list_received,
    list_records,
    list_safeguards,
    pass_on,
    put_beside_kafka,
    read_recording,
    receive_last,
    store_repeated,
    tabulate_searches,
    zombie,
    zombie_ends,
)

# %% [markdown]
# ## The printer is out of paper. Where are the orders?
#
# These are again the real orders of 5 December 2011. The shop sends them to the topic `orders`, and a worker
# of the billing department reads them there. Three orders arrive. The worker begins a transaction,
# acknowledges all three with one cumulative acknowledgement, and starts to write the bills. That fails,
# because the printer is out of paper. So the worker aborts the transaction. Then it asks for orders again.
#
# In Java these are the calls `newTransaction()…build()`, `acknowledgeCumulativeAsync(id, txn)`, `txn.abort()`
# and `receive()`. The lines `run worker: …` below make them. `orders-0` is the topic's partition, `tc-0` the
# coordinator, and `billing` the subscription. A message is named by its partition and position: `orders-0@2`.
#
# Every transaction in this course goes through the same six stages. Keep them in view:
# **reserve → write → decide → publish the decision → make visible → forget**.

# %%
orders = list_orders(3)
pounds = sum(order.pence for order in orders) / 100
print(*(f"{order.number}: £{order.pence / 100}" for order in orders), say("together"), f"£{pounds}")
printer = scenario(
    """
# The printer is out of paper
system billing clients=shop,worker
run worker: subscribe orders-0 billing
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1
run worker: ack-cumulative billing orders-0@2 txn=t1
run worker: abort t1
run worker: receive billing
""",
    recorded="cumulative-and-abort",
)

# %% [markdown]
# ## Predict
#
# The broker has stored the acknowledgement, and the worker is about to abort. Choose an answer and lock it;
# then the execution continues.

# %% jupyter={"source_hidden": true}
Predict("10-abort", trace=printer, step=first(printer, "orders-0@2 txn=t1: ok"), level="protocol")

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. The picture opens at the step at which the acknowledgement was
# accepted. Look at the subscription: the three messages are *pending* (待定确认). They are neither acknowledged
# nor free. *Money* compares the orders that were sent (the mark) with those acknowledged for good (the bar).
# Step to the abort, and then to the last `receive`. Ask at each step: what is stored, and what does the
# broker send?

# %%
Player(printer, step=first(printer, "orders-0@2 txn=t1: ok"))

# %% [markdown]
# The abort takes the acknowledgement back, and the subscription counts the three orders as not done. But the
# broker does not send them again. After a *cumulative* acknowledgement it leaves that to the consumer, and
# this consumer waits for new messages. £1032.34 is neither billed nor lost, and no call has reported an
# error.
#
# A released Pulsar 4.2.4 was given the same calls and did the same. The first of the folded parts shows the
# recording.

# %% [markdown]
# ## Bill the orders
#
# The printer has paper again. Write the lines that follow the abort. The worker, or another process of the
# department, must receive each of the three orders exactly once more. In the end all of them must be
# acknowledged for good. These lines come before yours:
#
#     system pulsar clients=shop,worker,twin
#     run worker: subscribe orders-0 billing
#     run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
#     run worker: receive billing, new-transaction t1
#     run worker: ack-cumulative billing orders-0@2 txn=t1
#     run worker: abort t1
#
# You can use these lines:
#
# | line | what it does |
# |---|---|
# | `run worker: receive billing` | takes the messages that have arrived |
# | `run worker: new-transaction t2`, `commit t2`, `abort t2` | begins and ends a transaction |
# | `run worker: ack billing orders-0@0`, `ack-cumulative billing orders-0@2` | acknowledges; with `txn=t2` after it, in the transaction |
# | `run worker: subscribe orders-0 billing`, `close billing` | connects a consumer, closes it |
# | `run worker: redeliver billing` | redeliverUnacknowledgedMessages() |
# | `kill worker`, `kill orders-0`, `restart orders-0` | ends a process or the partition's broker, starts it again |
#
# `twin`, a second instance, has the same calls as `worker`. Put commas between several calls on one line.
# Begin a new `run` line with each `receive`, because it takes only messages that have arrived. Several
# solutions are right. Two hints are available: `print(RETURNING.hint(1))`, then `print(RETURNING.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "returning"}
# The lines that follow the abort, one below the other.
story = ""
### BEGIN SOLUTION
# The broker sends nothing again by itself; the orders that come then are acknowledged in a second transaction.
story = """
run worker: redeliver billing
run worker: receive billing, new-transaction t2, ack-cumulative billing orders-0@2 txn=t2, commit t2
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "returning-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("returning", story)
### END HIDDEN TESTS
check(RETURNING, story)

# %% [markdown]
# ## What you know now
#
# An acknowledgement in a transaction is pending until the transaction ends, and an abort takes it back.
# Taking it back does not send the messages again: after a cumulative acknowledgement the consumer has to
# request that itself.
#
# The quick route ends here. 8 of the 10 points are in the parts below. The next lab takes the same orders all
# the way to the income of each minute: [lab 11](11-order-to-income.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("10")

# %% [markdown] tags=["deeper"]
# ## What does the broker write for an acknowledgement?

# %% [markdown]
# Does only our model behave like this? Pulsar's own Java client 4.2.4 made the same calls to a real broker,
# with orders called a, b and c, and one more call at the end. This is the recording. In a clone of the
# project, with Java 17 and Maven, `redeliver_to_java(fetch=True)` fetches the client (242 MB with its broker,
# once) and also runs it against this project's own server.

# %%
from mqlab.lessons.pulsar.lab10 import redeliver_to_java

redeliver_to_java()

# %% [markdown]
# The messages come when the consumer requests redelivery (`Redeliver`, the last call). They would also come
# to a consumer that reconnects.
#
# The next table shows another execution: one of three orders is acknowledged in a transaction that commits.
# An acknowledgement goes through the same six stages as a message.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
STAGES = """
# The records of an acknowledgement
system billing clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1, ack billing orders-0@1 txn=t1, commit t1
"""
print(columns([("written by", "in which log", "the record"), *list_records(STAGES)]))

# %% [markdown]
# | stage | here | written where |
# |---|---|---|
# | reserve | the subscription is registered with the coordinator | the coordinator's log |
# | write | the acknowledgement is recorded as pending | the subscription's pending-ack log |
# | decide | COMMITTING, or ABORTING | the coordinator's log |
# | publish the decision | the coordinator sends it to the subscription until it answers | nowhere |
# | make visible | the message becomes acknowledged, or it is free again | pending-ack log, then the cursor |
# | forget | COMMITTED, or ABORTED | the coordinator's log |
#
# The *cursor* (游标) records which of a subscription's messages are acknowledged. Up to its *mark-delete*
# position all of them are.

# %% [markdown] tags=["deeper"]
# ## What comes again after an abort?

# %% [markdown]
# Four orders are received. One of them, 580539, is acknowledged *individually* in a transaction, and the
# transaction aborts. A subscription's *type* says how its consumers share the messages. This one is
# Exclusive: it has one consumer, which gets everything in order. With Failover one consumer gets everything
# and the others wait to replace it. With Shared each message goes to one of the consumers. Key_Shared does
# the same, but all messages with one key go to one consumer.

# %% jupyter={"source_hidden": true}
exclusive = scenario(
    """
# One of four is acknowledged, and the transaction aborts
system billing clients=shop,worker
run worker: subscribe orders-0 billing
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540, send orders-0 580541
run worker: receive billing, new-transaction t1
run worker: ack billing orders-0@1 txn=t1
run worker: abort t1
run worker: receive billing
""",
    recorded="ack-and-abort-exclusive",
)
Predict("10-exclusive", trace=exclusive, step=first(exclusive, "ack billing orders-0@1 txn=t1: ok"))

# %% [markdown]
# The next cell runs the same scenario for each type, with an individual and with a cumulative
# acknowledgement. *Redelivery* (重新投递) means that a message is delivered once more. Where the broker counts
# it, the table says *again 1*.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_types())

# %% [markdown]
# A Shared subscription tracks each message that it has delivered, so it can send exactly this one again, and
# counts that. Exclusive and Failover promise delivery in order. To keep that promise, they go back to the
# first message that is not acknowledged and send *everything* from there again, without counting. The worker
# gets 580538, 580540 and 580541 twice, although they were not part of the transaction. After a cumulative
# acknowledgement the broker sends nothing, as you saw at the beginning. On Shared and Key_Shared, where a
# consumer holds only some of the messages, the client refuses a cumulative acknowledgement.
#
# So an abort undoes the acknowledgement. Which messages come again, and when, depends on the type.
#
# A public report of it: `mqlab incidents aborted-and-never-again`.

# %% [markdown] tags=["deeper"]
# ## May two transactions acknowledge one message?

# %% [markdown]
# `worker` has acknowledged order 580538 in its transaction t1. Then `twin`, another process of the same
# department, obtains the message's id and acknowledges it in its transaction t2.

# %% jupyter={"source_hidden": true}
conflict = scenario(
    """
# Two transactions acknowledge one message
system billing clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1 timeout=600000, ack billing orders-0@0 txn=t1
run twin: subscribe orders-0 billing type=Shared
run twin: new-transaction t2 timeout=600000, ack billing orders-0@0 txn=t2
run worker: commit t1
run twin: commit t2
""",
    recorded="two-transactions-one-message",
)
Predict("10-conflict", trace=conflict, step=first(conflict, "t2 timeout=600000: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(conflict, "worker", "twin"))

# %% [markdown]
# The first one wins, and the second one is refused at once. When twin then commits, its client sends an abort
# instead and raises an exception, because it does not commit a transaction in which something failed.
#
# Now nine cases. Each line has two acknowledgements, one after the other. Guess for each line whether the
# broker accepts the *second* one, and then run the cell.

# %% tags=["nbval-check-output"]
A, B = "ack billing orders-0@0", "ack billing orders-0@1"
UP_TO_A, UP_TO_B = "ack-cumulative billing orders-0@0", "ack-cumulative billing orders-0@1"
cases = {
    "the same message, another transaction": ("Shared", f"{A} txn=t1", f"{A} txn=t2"),
    "the same message, the same transaction": ("Shared", f"{A} txn=t1", f"{A} txn=t1"),
    "another message": ("Shared", f"{A} txn=t1", f"{B} txn=t2"),
    "both at once, one of them is taken": ("Shared", f"{A} txn=t1", f"{B} orders-0@0 txn=t2"),
    "after the commit of t1": ("Shared", f"{A} txn=t1, commit t1", f"{A} txn=t2"),
    "after the abort of t1": ("Shared", f"{A} txn=t1, abort t1", f"{A} txn=t2"),
    "up to the first, then further": ("Exclusive", f"{UP_TO_A} txn=t1", f"{UP_TO_B} txn=t1"),
    "up to the first, then t2 further": ("Exclusive", f"{UP_TO_A} txn=t1", f"{UP_TO_B} txn=t2"),
    "up to the second, then one below it": ("Exclusive", f"{UP_TO_B} txn=t1", f"{A} txn=t2"),
}
rows = [(name, answer_second(*case)) for name, case in cases.items()]
print(columns([("", "the second acknowledgement"), *rows]))

# %% [markdown]
# A message is pending for one transaction at most, and even the same transaction may not acknowledge it
# again. A request is all or nothing. A committed acknowledgement stays, so another transaction that
# acknowledges the message is in *conflict* too. A subscription can hold one pending cumulative
# acknowledgement, and only the transaction that made it may move it forward.
#
# The last line shows a gap: the broker does not compare cumulative acknowledgements with individual ones.
# Use only one kind in a subscription.

# %% [markdown] tags=["deeper"]
# ## What does an acknowledgement without a transaction do?

# %% [markdown]
# 580538 is pending for t1. The worker acknowledges it once more, this time *plainly*, without a transaction.
# Then t1 aborts. The design document of Pulsar's transactions (PIP-31) says that such an acknowledgement is
# dropped. Articles say that no other transaction can acknowledge the message, and do not mention a plain
# acknowledgement.

# %% jupyter={"source_hidden": true}
plain = scenario(
    """
# A plain acknowledgement of a pending message
system billing clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1 timeout=600000, ack billing orders-0@0 txn=t1
run worker: ack billing orders-0@0
run worker: abort t1
run worker: receive billing
""",
    recorded="plain-ack-beats-pending",
)
Predict("10-plain", trace=plain, step=first(plain, "pending for (0,0)"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(plain, "worker"))

# %% [markdown]
# A plain acknowledgement belongs to no transaction. It is applied at once, and no abort takes it back. A real
# broker does the same:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SAID = ("Ack billing", "EndTxn", "receive", "pendingAckStats")
print(read_recording("pulsar-4.2.4/4.2", "plain-ack-beats-pending", *SAID))

# %% [markdown]
# The subscription still counts t1 as open (`ongoing 1`), so its abort still has an effect: on an Exclusive
# subscription the broker then sends the *other* unacknowledged messages again. So a conflict protects
# transactions from each other. Nothing protects them from a worker, or from a line of old code, that
# acknowledges without one.

# %% [markdown] tags=["deeper"]
# ## Can you write the conflict rule?

# %% [markdown]
# Now you are the subscription. A transaction `txn` (a text such as `"(0,1)"`) asks to acknowledge the
# messages `asked`, a tuple of numbers such as `(0, 2)`. You are also given `acked`, the numbers of all
# messages that are acknowledged for good, and `pending`, a tuple of pairs such as `((0, "(0,0)"),)`: message
# 0 is pending for transaction (0,0). Return `True` if the transaction may acknowledge them, and `False` for a
# conflict.
#
# Your rule is put into the broker, and thirteen short programs are tried with it, each in every sequence of
# events. In these programs workers read real orders, send their income and acknowledge them, in transactions
# that commit or abort. In one of them the broker may be killed; it then replays its log and applies your rule
# again. No income may be stored twice, and a message that is free must not be refused. May a transaction
# acknowledge its own message once more? Pulsar refuses it, but no promise depends on it, so both answers
# pass. Two hints are available: `print(ACKING.hint(1))`, then `print(ACKING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "acking"}
def may_ack(txn: str, asked: tuple, acked: tuple, pending: tuple) -> bool:
    """Whether this transaction may acknowledge all of these messages."""
    ### BEGIN SOLUTION
    # Each message by itself: neither acknowledged for good nor held by a transaction, and all or nothing.
    held = {message for message, holder in pending}
    return not any(message in held or message in acked for message in asked)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "acking-test", "points": 5}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("acking", may_ack)
### END HIDDEN TESTS
check(ACKING, may_ack)

# %% [markdown] tags=["deeper"]
# ## Which state survives when a process dies?

# %% [markdown]
# An article says that Kafka keeps the unacknowledged state in the broker, and Pulsar in the client. Three
# orders were received: 580538 is acknowledged in t1, 580539 plainly, 580540 not at all. Then the worker's
# process dies, and `twin` asks for orders.

# %% jupyter={"source_hidden": true}
DIES = """
# Something dies
system billing clients=shop,worker,twin
run worker: subscribe orders-0 billing type={type}
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1 timeout=600000
run worker: {acks}
{dies}
run twin: subscribe orders-0 billing type={type}
run twin: receive billing
"""
ACKS = "ack billing orders-0@0 txn=t1, ack billing orders-0@1"
client_dies = scenario(DIES.format(type="Shared", acks=ACKS, dies="kill worker"))
Predict("10-client-dies", trace=client_dies, step=first(client_dies, "killed"))

# %% [markdown]
# Now other processes die. In the column *individually* the acknowledgements are as above. In the column
# *cumulatively* the first two orders are acknowledged with one cumulative acknowledgement in t1, on an
# Exclusive subscription.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
deaths = {
    "the client": "kill worker",
    "the partition's broker": "kill orders-0\nrestart orders-0\nrun worker: close billing",
    "the coordinator's broker": "kill tc-0\nrestart tc-0\nrun worker: close billing",
}
rows = [("which dies", "individually", "cumulatively")]
UP_TO = "ack-cumulative billing orders-0@1 txn=t1"
for name, dies in deaths.items():
    one = DIES.format(type="Shared", acks=ACKS, dies=dies)
    up_to = DIES.format(type="Exclusive", acks=UP_TO, dies=dies)
    rows.append((name, receive_last(one), receive_last(up_to)))
print(columns(rows))

# %% [markdown]
# Look at the column *individually*. In each line the next consumer gets 580540 and nothing else. 580539 is
# recorded in the cursor and 580538 in the pending-ack log, and both are on the disks of the bookies (lab 09),
# so killing the broker destroys neither. The client had only the transaction's handle. When it dies, no
# process is left that would end t1 before its timeout; nothing else is lost.
#
# The cumulative acknowledgement is in the log as well, but it holds nothing back. When messages are sent
# again, the broker leaves out *individually* pending ones only.
#
# | state | where it is | survives the client | survives the broker |
# |---|---|---|---|
# | acknowledged | cursor, on disk | yes | yes |
# | pending | pending-ack log, on disk | yes | yes |
# | delivered, not acknowledged | the broker's memory, for each consumer | goes to another consumer | is sent again |
# | number of redeliveries | the broker's memory | until the last consumer is gone | no |
# | sent ahead, not received yet | the client's queue | no | no: the client empties it and gets the messages again |
# | the transaction's handle | the client's memory | no | yes |
#
# So the article is wrong about Pulsar: both systems keep this state in the broker. In Kafka the pending
# offsets are in `__consumer_offsets` (lab 08).

# %% [markdown] tags=["deeper"]
# ## Who ends a transaction that its client left open?

# %% [markdown]
# The client died with t1 open, and 580538 is held back from every consumer. When is it free again? The
# timeout of t1 is 60 s. To make it harder, the coordinator's broker is killed as well, and comes back after
# 50 s. Then a client connects to the coordinator.

# %% jupyter={"source_hidden": true}
LEFT_OPEN = """
# Client and coordinator die with a transaction open
system billing clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing orders-0@0 txn=t1
kill worker
kill tc-0
run twin: subscribe orders-0 billing type=Shared
at 50000
restart tc-0
{comes}
run twin: receive billing
at 60001
{fires}
run twin: receive billing
"""
COMES = "run twin: new-transaction t2"
left_open = scenario(LEFT_OPEN.format(comes=COMES, fires="fire tc-0"))
Predict("10-timeout", trace=left_open, step=first(left_open, "loaded: OPEN"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [("", "twin receives at 50 s", "and at 60 s")]
for name, comes, fires in [
    ("a client connects to the coordinator", COMES, "fire tc-0"),
    ("no client does", "", ""),
]:
    rows.append((name, *list_received(LEFT_OPEN.format(comes=comes, fires=fires))[1:]))
print(columns(rows))

# %% [markdown]
# The coordinator finds t1 in its log and aborts it at its old deadline. Then the message comes again. An
# article says that the timeout makes client and broker consistent again. That is right for a transaction that
# is *open*, with one reservation, shown in the second line: after a restart a coordinator loads its log only
# when a client with transactions connects to it. A running client does so by itself. Without one, no process
# watches the deadline.
#
# In the next table t1 was being committed, and one of its *participants* (the partitions and subscriptions
# that must receive its outcome) is in a *namespace* (命名空间, a named group of topics) that does not exist.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
FROZEN = """
# A commit that does not end
system pulsar missing=gone-0 clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing txn=t1, register 0/0 gone-0, commit t1
kill worker
run twin: subscribe orders-0 billing type=Shared
at 600000
run twin: coordinator-stats 0, end-by-id abort 0/0, position-stats billing orders-0@0
run twin: create-namespace gone-0
fire tc-0
run twin: coordinator-stats 0
"""
print(list_calls(scenario(FROZEN), "twin"))

# %% [markdown]
# A decision is final, and no deadline applies to it: the coordinator tries again every second. After ten
# minutes it still counts one transaction (`ongoingTxnSize=1`), and an abort is refused. Both change only when
# an operator creates the namespace. In `orders-0` the acknowledgement was carried out long before:
# `MarkDelete` is the broker's word for *acknowledged*.

# %% [markdown] tags=["deeper"]
# ## Do two subscriptions change at one moment?

# %% [markdown]
# Billing and stock both read the topic, each with a subscription of its own. One process does both jobs, and
# acknowledges order 580538 in both subscriptions in one transaction. The coordinator sends the commit to each
# subscription. The message to the second one is slow.

# %% jupyter={"source_hidden": true}
TWO = """
# One transaction in two subscriptions
system billing clients=shop,worker,audit
run worker: subscribe orders-0 billing type=Shared, subscribe orders-0 stock type=Shared
run shop: send orders-0 580538
run worker: receive billing, receive stock, new-transaction t1
run worker: ack billing txn=t1, ack stock txn=t1
hold tc-0→orders-0 EndTxnOnSubscription#2
run worker: commit t1
run audit: position-stats billing orders-0@0, position-stats stock orders-0@0
release tc-0→orders-0 EndTxnOnSubscription#2
run audit: position-stats billing orders-0@0, position-stats stock orders-0@0
"""
two = scenario(TWO, recorded="two-subscriptions")
Predict("10-two", trace=two, step=first(two, "COMMITTING (0,0)"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(two, "audit", "worker"))

# %% [markdown]
# Pulsar promises all or nothing. Both will be acknowledged, since the decision is in the coordinator's log,
# and the coordinator retries its request until both subscriptions have answered. It does not promise that
# both change at the same moment: for a while `stock` was still `PendingAck`. `commit` returns only when both
# have answered, so after it no difference is visible. Kafka's commit returns earlier (lab 06).
#
# An article says that pending acknowledgements are kept in a pending-ack log, which it takes for the cursor's
# *ledger* (a stored log; topics and Pulsar's own logs consist of ledgers). Where are they?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("log", "records"), *list_pending_logs(TWO)]))

# %% [markdown]
# Each subscription has a separate ledger for them, beside its cursor's. It holds the positions of messages,
# but no messages.

# %% [markdown] tags=["deeper"]
# ## How often does an order come back if every attempt aborts?

# %% [markdown]
# An order cannot be billed, because its address is missing. Each time, the worker acknowledges it in a
# transaction, finds out about the address, and aborts. The consumer has a policy for a *dead letter topic*
# (死信主题), a topic for messages that were delivered too often. Its `maxRedeliverCount` is 1.

# %% jupyter={"source_hidden": true}
DEAD = """
# An order that cannot be billed
system billing topic=orders,dead clients=shop,worker,clerk
run clerk: subscribe dead-0 letters
run worker: subscribe orders-0 billing type={type} dead_letter=dead-0 max_redeliver=1
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing txn=t1, abort t1
run worker: receive billing
run worker: new-transaction t2, ack billing txn=t2, abort t2
run worker: receive billing
run worker: new-transaction t3, ack billing txn=t3, abort t3
run worker: receive billing
run clerk: receive letters
"""
dead = scenario(DEAD.format(type="Shared"), recorded="dead-letters")
Predict("10-dead", trace=dead, step=first(dead, "abort t1: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [("type", "received by the worker", "in the dead letter topic")]
for kind in ("Shared", "Exclusive"):
    *received, letters = list_received(DEAD.format(type=kind))
    rows.append((kind, " | ".join(received), letters))
print(columns(rows))

# %% [markdown]
# Each abort makes the broker redeliver the order, and that is counted. With Shared the order is delivered
# twice, and the third time it goes to the dead letter topic, where a person must deal with it. Exclusive does
# not count, so the order comes again after every abort.

# %% [markdown] tags=["deeper"]
# ## In what sequence should a worker forward an order?

# %% [markdown]
# This is what such a transaction is for: a worker reads an order from `orders` and writes its income to
# `income`, where the books are kept. Put the worker's calls into a sequence that keeps every promise,
# although the worker may be killed between any two of them, and the transaction may time out. You do not need
# every piece, and more than one sequence is right. Run the cell, move the pieces, and run the next cell.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = PASSING.arrange(
    [
        ### BEGIN SOLUTION
        # The message that was read and the message that is written belong in one transaction.
        "receive",
        "begin",
        "send",
        "ack",
        "commit",
        ### END SOLUTION
    ]
)

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("passing", order)
### END HIDDEN TESTS
check(PASSING, order)

# %% [markdown] tags=["deeper"]
# ## What stops a worker that was replaced?

# %% [markdown]
# The worker reads an order, and sends its income to the topic `income`. The acknowledgement and the message
# are in *one* transaction. First without a fault:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [(f"the worker ends with {end}", *pass_on(end)) for end in ("commit", "abort")]
print(columns([("", "the books receive", "the worker receives next"), *rows]))

# %% [markdown]
# A commit makes both count, and an abort takes both back. An article describes this in four steps: *open,
# publish, acknowledge, end*. Publishing and acknowledging may change places. Each of them is part of the
# transaction only if its call names the transaction.
#
# Now the worker is slow. Its connection to `orders-0` breaks, and the broker gives the order to `twin`. Then
# the worker, which has not noticed, continues.

# %% jupyter={"source_hidden": true}
slow = zombie(acknowledges=True)
Predict("10-zombie", trace=slow, step=first(slow, "commit t2: ok"))

# %% [markdown]
# The slow worker's *acknowledgement* is refused, and with it the whole of its transaction: the books get the
# income once. The conflict over the message that both have read stops the worker here. But a worker that only
# sends is in no conflict.
#
# Pulsar has no `transactional.id` with which a new process could fence the old one, as in Kafka (lab 06). A
# producer can ask to be the only one on its topic. In Java this is `accessMode(ExclusiveWithFencing)` at the
# producer's builder: the topic's epoch rises, and all producers before this one are *fenced*. In the next
# execution the worker only sends. It has sent the income in t1 when `twin` fences it. Then `twin` forwards
# the order itself, in t2, and commits t2.

# %% jupyter={"source_hidden": true}
fenced = fence(sends_first=True)
Predict("10-fenced", trace=fenced, step=first(fenced, "commit t2: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("the slow worker", "its commit", "the books receive"), *zombie_ends()]))
SAID = ("Send zombie", "EndTxn", "Message")
print()
print(read_recording("pulsar-4.2.4/4.2", "fencing-stops-sends", *SAID))

# %% [markdown]
# In the third line of the first table the fence comes first. The worker's send gets a
# ProducerFencedException, and its client then does not commit the transaction. So *sends* can be fenced,
# topic by topic, if a producer asks for it. *Commits* cannot, and messages that were sent before the fence
# count. The second table shows a released Pulsar 4.2.4, which did both.
#
# An article promises that each message is written or processed exactly once even when something fails. The
# next table is about one plain send. Its answer is lost, and the client sends again:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("a send whose answer was lost is retried", "stored"), *store_repeated()]))

# %% [markdown]
# The broker recognises the duplicate only with deduplication, which is off by default.

# %% [markdown] tags=["deeper"]
# ## What becomes of these orders in Kafka?

# %% [markdown]
# The worker has read three orders. The first one, 580538, cannot be processed yet, because its price is
# missing. The other two are processed in one transaction. In Kafka the worker commits a position, and the
# position after the third order is 3. In Pulsar it acknowledges the two messages. Then another process takes
# over.

# %% jupyter={"source_hidden": true}
Predict("10-kafka")

# %%
put_beside_kafka()

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_with_kafka())

# %% [markdown]
# A Kafka position stands for everything before it, so a worker has only bad choices: it skips 580538 for good
# (3), does the other two again later (0), or waits. In Pulsar each acknowledgement stands for one message: an
# order that waits holds up no other.
#
# An article concludes from this that Pulsar never blocks. In the next execution another process *sends*
# 580538 in a transaction that is still open.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
BLOCKED = scenario("""
# An open transaction that *sends* to orders
system pulsar clients=shop,till,worker
run worker: subscribe orders-0 billing type=Shared
run till: new-transaction t1, send orders-0 580538 txn=t1
run shop: send orders-0 580539
run worker: receive billing
run till: abort t1
run worker: receive billing
""")
print(list_calls(BLOCKED, "worker"))

# %% [markdown]
# The plain message 580539 after it is held back from every consumer until that transaction ends (lab 09). The
# article is right about acknowledgements only.

# %% [markdown] tags=["deeper"]
# ## What is the shortest way to lose an order?

# %% [markdown]
# This worker passes orders on in a transaction, but acknowledges them plainly, as its old program did. It has
# begun its transaction, and the order's income is in flight. Click a message to deliver it, a timer to let it
# run out, a lane to kill a process. *After how few choices is an order acknowledged and its income not
# counted? At which moment?* No fault is needed to reach it. Then make the moment last: kill a process, or let
# the transaction time out.

# %% jupyter={"source_hidden": true}
play = continue_scenario(ALONE)
play.go_on(held=["worker>income-0"])  # everything happens, but the income stays in flight
Playground(Play(play.system, play.choices, play.title), goal="passed on")

# %% [markdown] tags=["deeper"]
# ## Which safeguards are necessary?

# %% [markdown]
# Four safeguards are about acknowledgements. `pending_ack_conflict` refuses a message that another
# transaction has acknowledged. `pending_ack_log` answers an acknowledgement only when it is in the log.
# `pending_ack_filter` leaves out pending messages when the broker delivers again. `redeliver_aborted`
# delivers the messages again that an aborted transaction had acknowledged. Guess what breaks without each of
# them. Then choose one in the menu: the scenario is the same each time.

# %% jupyter={"source_hidden": true}
STORY = """
# Two workers, an abort, and a restart of the broker
system pulsar clients=shop,worker,twin
off {off}
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing orders-0@0 txn=t1
run twin: subscribe orders-0 billing type=Shared
kill orders-0
restart orders-0
run twin: receive billing, new-transaction t2, ack billing orders-0@0 txn=t2
run worker: abort t1
run worker: receive billing
run twin: receive billing
"""


def draw(off):
    return Player(scenario(STORY.format(off=off)))


vary(draw, off=list_safeguards("pulsar", *NEEDED))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_searches())

# %% [markdown]
# For each line of the first table one safeguard is removed, and a search finds the shortest execution that
# breaks a promise. In the second table every safeguard is on. It shows three things that Pulsar does not
# promise by itself: that an old process is stopped, that a repeated send is stored once, and that an error
# means *not committed*.

# %% [markdown] tags=["deeper"]
# ## How do other brokers take back a message that was read?

# %% [markdown]
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | joins the transaction | single messages, or all up to one | a position for each partition | nothing: a consumer is in no transaction |
# | waits where | a pending-ack log for each subscription | `__consumer_offsets` | – |
# | two transactions for one message | the second is refused | the older member of the group is fenced | – |
# | after an abort | redelivered, or sent from mark-delete on, or only on request | the application must `seek` | no abort: a message that fails is delivered again, at most 16 times |
# | when no client ends it | aborted at its deadline | aborted at its deadline | – |
# | an old process | refused if it acknowledges; its sends can be fenced per topic, its commits cannot | fenced by its epoch | not stopped |
#
# Ask this of any queue that you meet: *after an abort, who receives the message next?*

# %% [markdown] tags=["deeper"]
# ## Which beliefs did this lab refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | an abort gives me my messages back | individually, yes; a cumulative one redelivers nothing | Run |
# | exactly the acknowledged messages come again | on Exclusive and Failover all messages that are not acknowledged | after an abort |
# | two transactions can acknowledge one message, the last one wins | the second one gets TransactionConflictException | two transactions |
# | a pending message can be acknowledged by nobody else | a plain acknowledgement is applied at once | without a transaction |
# | unacknowledged state lives in the client | it is in the broker, and pending acks are in a log | a process dies |
# | pending acks are kept in the cursor's ledger | each subscription has a log of its own for them | two subscriptions |
# | a timeout puts everything right | it ends open transactions; COMMITTING has no deadline | left open |
# | a transaction shows everywhere at once | it reaches each participant at its own time | two subscriptions |
# | an aborted message comes until it succeeds | on Shared, with a dead letter policy, it goes to the dead letters | how often |
# | each message is written exactly once | deduplication is off, and an old worker that only sends is not stopped | was replaced |
# | a fence stops the old process | it stops later sends to one topic; a commit of what was sent before goes through | was replaced |
# | Pulsar never blocks | acknowledgements do not; an open transaction that sends does | in Kafka |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A library lends books. Returned books are messages, and the desk checks them in with transactions.

# %% jupyter={"source_hidden": true}
Predict("10-exit-ticket")
