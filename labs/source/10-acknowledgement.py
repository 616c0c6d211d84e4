# %% [markdown]
# # Lab 10 · Acknowledgement
#
# *Can a transaction un-acknowledge?* · 90 minutes · Pulsar 4.2
#
# **In one paragraph.** In Pulsar a transaction may not only send messages but also acknowledge
# those that it has read. Until it ends, such an acknowledgement is *pending*: it does not count
# yet. You find out who may acknowledge what, what comes back after an abort and to whom, what a
# broker and a client remember when they die, and what happens when nobody ends the transaction. You
# put a worker's calls into an order that survives every kill, bill the orders of an aborted
# transaction, write the rule by which a broker refuses an acknowledgement, and see the same orders
# pass through Kafka and Pulsar side by side.
#
# **Contents.** Hook · Predict · Run · Investigate (1 after an abort, 2 two transactions, 3 without
# a transaction, 4 who remembers, 5 nobody ends it, 6 two subscriptions, 7 again and again, 8
# passing on, 9 beside Kafka) · Find the shortest run · Modify · Order · Test · Make · Transfer ·
# Refuted · Exit ticket
#
# **Words.** *Subscription* (订阅): a named place in a topic, with its own account of what was
# acknowledged; its *type* says how its consumers share the messages. *Cursor*: that account.
# *Mark-delete*: the place in it up to which everything is acknowledged. *Individual*
# acknowledgement (单条确认): of one message. *Cumulative* acknowledgement (累积确认): of a message and
# all before it. *Pending ack* (待定确认): an acknowledgement in a transaction that has not ended.
# *Conflict*: the broker refuses an acknowledgement. *Redelivery* (重新投递): a message is delivered
# once more. *Dead letter topic* (死信主题): where messages go that were delivered too often.
# *Participant*: a partition or a subscription that must hear how a transaction ends. *Ledger*: a
# stored log, on which topics and Pulsar's own logs stand. *Namespace* (命名空间): a named group of
# topics.

# %%
from mqlab.lab import (
    Play,
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    scenario,
    vary,
)
from mqlab.lessons.pulsar.lab10 import (
    ACKING,
    NEEDED,
    PASSING,
    RETURNING,
    answer_ack,
    compare_with_kafka,
    end_last,
    first,
    list_calls,
    list_orders,
    list_pending_logs,
    list_received,
    list_records,
    list_safeguards,
    put_beside_kafka,
    read_recording,
    receive_last,
    tell_searches,
)

# %% [markdown]
# ## Hook: the printer is out of paper
#
# These are again the real orders of 5 December 2011. The shop sends them to the topic `orders`, and
# the worker of the billing department reads them there. Three orders come. The worker begins a
# transaction, acknowledges all three with one cumulative acknowledgement, and starts to write the
# bills. That fails: the printer is out of paper. So it aborts the transaction. Then it asks for
# orders again.
#
# In the runs below `shop` and `worker` are processes, `orders-0` is the broker's partition of the
# topic, `tc-0` the broker's transaction coordinator, and `billing` the subscription. A message is
# named by its partition and place: `orders-0@2`. A scenario says what happens: `kill` and `restart`
# a process or a partition's broker, `at 60001` lets so many milliseconds pass, `fire tc-0` lets the
# coordinator's timer run out, `hold` keeps a message back until it is released. In the picture → is
# a message, ⇒ an answer, ▮ something written to disk, ⇨ a change in memory, ⏲ a timer, ✗ a death or
# a broken connection, ↻ a restart, ☞ what an application is told.

# %%
orders = list_orders(3)
pounds = sum(order.pence for order in orders) / 100
print(*(f"{order.number}: £{order.pence / 100}" for order in orders), f"together £{pounds}")
THREE = "run shop: " + ", ".join(f"send orders-0 {order.number}" for order in orders)
printer = scenario(
    f"""
# The printer is out of paper
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing
{THREE}
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
# The acknowledgement is pending, and the worker is about to abort. Lock your answer, then run on.

# %% jupyter={"source_hidden": true}
Predict("10-abort", trace=printer, step=first(printer, "orders-0@2 txn=t1: ok"))

# %% [markdown]
# ## Run
#
# Does only our model do this? A released Pulsar 4.2.4 was given the same calls, with orders called
# a, b and c, and at the end one call more:

# %% tags=["nbval-check-output"]
SAID = ("Ack", "EndTxn", "receive", "Redeliver", "Message")
print(read_recording("pulsar-4.2.4/4.2", "cumulative-and-abort", *SAID))

# %% [markdown]
# After the abort the acknowledgement is gone. But the broker does not send the orders again: after
# a cumulative acknowledgement it leaves that to the consumer. They come when the worker asks for
# redelivery (`Redeliver`, the last call), or when it connects anew. Until then £1032.34 is neither
# billed nor lost, and no error was raised.
#
# An acknowledgement goes through the same six stages as a message. These are the records of one
# whose transaction commits:

# %% tags=["nbval-check-output"]
STAGES = f"""
# The records of an acknowledgement
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
{THREE}
run worker: receive billing, new-transaction t1, ack billing orders-0@1 txn=t1, commit t1
"""
print(columns([("written by", "in which log", "the record"), *list_records(STAGES)]))

# %% [markdown]
# | stage | here | written where |
# |---|---|---|
# | reserve | the subscription is registered with the coordinator | the coordinator's log |
# | write | the acknowledgement is recorded as pending | the subscription's pending-ack log |
# | decide | COMMITTING, or ABORTING | the coordinator's log |
# | publish the decision | the coordinator tells the subscription, until it answers | nowhere |
# | make visible | the cursor takes the message over; or it is free again | pending-ack log, then cursor |
# | forget | COMMITTED, or ABORTED | the coordinator's log |

# %% [markdown]
# ## Investigate
#
# **1. What comes again after an abort?** Four orders are received. One of them, 580539, is
# acknowledged *individually* in a transaction, and the transaction aborts. The subscription is of
# the type Exclusive: one consumer, which gets everything in order. (The other types: with Failover
# one consumer gets everything and the others wait to replace it; with Shared each message goes to
# one of the consumers; with Key_Shared as well, and messages of the same key to the same one.)

# %% jupyter={"source_hidden": true}
ABORTED = """
# One of four is acknowledged, and the transaction aborts
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type={type}
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540, send orders-0 580541
run worker: receive billing, new-transaction t1
run worker: {ack} txn=t1
run worker: abort t1
run worker: receive billing
"""
ONE, ALL = "ack billing orders-0@1", "ack-cumulative billing orders-0@1"
story = ABORTED.format(type="Exclusive", ack=ONE)
exclusive = scenario(story, recorded="ack-and-abort-exclusive")
Predict("10-exclusive", trace=exclusive, step=first(exclusive, f"{ONE} txn=t1: ok"))

# %% tags=["nbval-check-output"]
rows = [("type", "acknowledged", "received again after the abort")]
for kind in ("Exclusive", "Failover", "Shared", "Key_Shared"):
    for name, ack in {"individually": ONE, "cumulatively": ALL}.items():
        story = ABORTED.format(type=kind, ack=ack)
        told = answer_ack(story)
        again = receive_last(story) if told == "ok" else f"refused: {told}"
        rows.append((kind, name, again))
print(columns(rows))

# %% [markdown]
# A Shared subscription keeps account of each message that it has delivered, so it can send exactly
# this one again, and it counts ("again 1"). Exclusive and Failover promise an order. To keep it
# they go back to the first message that is not acknowledged and send *everything* again, without
# counting: the worker gets 580538, 580540 and 580541 twice, although they were not part of the
# transaction. After a cumulative acknowledgement the broker sends nothing, as in the hook. And the
# client refuses a cumulative acknowledgement on Shared and Key_Shared, where a consumer holds only
# some of the messages.
#
# So an abort undoes the acknowledgement. What comes again, and when, depends on the type.
#
# **2. Two transactions, one message.** `worker` has acknowledged order 580538 in its transaction
# t1. Then `twin`, another process of the same department, learns the message's id and acknowledges
# it in its transaction t2.

# %% jupyter={"source_hidden": true}
CONFLICT = """
# Two transactions acknowledge one message
system pulsar clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1 timeout=600000, ack billing orders-0@0 txn=t1
run twin: subscribe orders-0 billing type=Shared
run twin: new-transaction t2 timeout=600000, ack billing orders-0@0 txn=t2
run worker: commit t1
run twin: commit t2
"""
conflict = scenario(CONFLICT, recorded="two-transactions-one-message")
Predict("10-conflict", trace=conflict, step=first(conflict, "t2 timeout=600000: ok"))

# %% tags=["nbval-check-output"]
print(list_calls(conflict, "worker", "twin"))

# %% [markdown]
# The first one wins, and the second one is told at once. When twin then commits, its client sends
# an abort instead and raises an exception: it does not commit a transaction in which something
# failed. Before you run the next cell, say for each line whether the broker accepts the second
# acknowledgement.

# %% tags=["nbval-check-output"]
WHO = """
# Who may acknowledge what?
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing{type}
run shop: send orders-0 580538, send orders-0 580539
run worker: receive billing, new-transaction t1 timeout=600000, new-transaction t2 timeout=600000
run worker: {first}
run worker: {then}
"""
A, B = "ack billing orders-0@0", "ack billing orders-0@1"
UP_TO_A, UP_TO_B = (one.replace("ack ", "ack-cumulative ") for one in (A, B))
SHARED = " type=Shared"
cases = {
    "the same message, another transaction": (SHARED, f"{A} txn=t1", f"{A} txn=t2"),
    "the same message, the same transaction": (SHARED, f"{A} txn=t1", f"{A} txn=t1"),
    "another message": (SHARED, f"{A} txn=t1", f"{B} txn=t2"),
    "both at once, one of them is taken": (SHARED, f"{A} txn=t1", f"{B} orders-0@0 txn=t2"),
    "after the commit of t1": (SHARED, f"{A} txn=t1, commit t1", f"{A} txn=t2"),
    "after the abort of t1": (SHARED, f"{A} txn=t1, abort t1", f"{A} txn=t2"),
    "up to the first, then further": ("", f"{UP_TO_A} txn=t1", f"{UP_TO_B} txn=t1"),
    "up to the first, then t2 further": ("", f"{UP_TO_A} txn=t1", f"{UP_TO_B} txn=t2"),
    "up to the second, then one below it": ("", f"{UP_TO_B} txn=t1", f"{A} txn=t2"),
}
rows = [("", "the second acknowledgement")]
for name, (kind, one, two) in cases.items():
    rows.append((name, answer_ack(WHO.format(type=kind, first=one, then=two))))
print(columns(rows))

# %% [markdown]
# A message is pending for one transaction at most, and even the same transaction may not
# acknowledge it again. A request is all or nothing. What was committed stays acknowledged, so
# another transaction that acknowledges it is in conflict too. Of cumulative acknowledgements a
# subscription has room for one: only the transaction that holds it may move it on.
#
# The last line shows a gap: the broker does not compare cumulative acknowledgements with individual
# ones. Use only one kind in a subscription.
#
# **3. And without a transaction?** 580538 is pending for t1. The worker acknowledges it once more,
# this time *plainly*, as one does without transactions. Then t1 aborts. The design document of
# Pulsar's transactions says that such an acknowledgement is dropped. Articles say that no other
# transaction can acknowledge the message, and say nothing of a plain one.

# %% jupyter={"source_hidden": true}
plain = scenario(
    """
# A plain acknowledgement of a pending message
system pulsar clients=shop,worker
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
print(list_calls(plain, "worker"), "\n")
SAID = ("Ack billing", "EndTxn", "receive", "pendingAckStats")
print(read_recording("pulsar-4.2.4/4.2", "plain-ack-beats-pending", *SAID))

# %% [markdown]
# A plain acknowledgement belongs to no transaction. It is applied at once, and no abort takes it
# back; the second table shows that the real broker does the same. The subscription still counts t1
# as open (`ongoing 1`), so its abort is not without effect: on an Exclusive subscription the broker
# then sends the *other* messages again that are not acknowledged. So a conflict protects
# transactions from each other, and nothing protects them from a worker, or a line of old code, that
# acknowledges without one.
#
# **4. Who remembers what?** An article says that Kafka keeps what is not acknowledged in the
# broker, and Pulsar in the client. Three orders were received: 580538 is acknowledged in t1, 580539
# plainly, 580540 not at all. Then something dies. What is delivered to whoever asks next?

# %% jupyter={"source_hidden": true}
DIES = """
# Something dies
system pulsar clients=shop,worker,twin
run worker: subscribe orders-0 billing{type}
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1 timeout=600000
run worker: {acks}
{dies}
run twin: receive billing
"""
ACKS = "ack billing orders-0@0 txn=t1, ack billing orders-0@1"
TWIN = "run twin: subscribe orders-0 billing{type}"
GONE = "kill worker\n" + TWIN
client_dies = scenario(DIES.format(type=SHARED, acks=ACKS, dies=GONE.format(type=SHARED)))
Predict("10-client-dies", trace=client_dies, step=first(client_dies, "killed"))

# %% tags=["nbval-check-output"]
deaths = {
    "the client": GONE,
    "the partition's broker": "kill orders-0\nrestart orders-0\nrun worker: close billing\n" + TWIN,
    "the coordinator's broker": "kill tc-0\nrestart tc-0\nrun worker: close billing\n" + TWIN,
}
rows = [("what dies", "individually", "cumulatively")]
UP_TO = "ack-cumulative billing orders-0@1 txn=t1"
for name, dies in deaths.items():
    one = DIES.format(type=SHARED, acks=ACKS, dies=dies.format(type=SHARED))
    up_to = DIES.format(type="", acks=UP_TO, dies=dies.format(type=""))
    rows.append((name, receive_last(one), receive_last(up_to)))
print(columns(rows))

# %% [markdown]
# Look at the column *individually*. Whatever dies, the next consumer gets 580540 and nothing else:
# 580539 is recorded in the cursor and 580538 in the pending-ack log, and both are on the broker's
# disk. All that the client had was the transaction's handle. When the client dies, nobody is left
# who would end t1 before its timeout; nothing else is lost.
#
# In the last column the first two orders are acknowledged with a cumulative acknowledgement in t1,
# on an Exclusive subscription. It is in the log as well, but it holds nothing back: only
# *individually* pending messages are left out when messages are sent again.
#
# | what | where | survives the client | survives the broker |
# |---|---|---|---|
# | acknowledged | cursor, on disk | yes | yes |
# | pending | pending-ack log, on disk | yes | yes |
# | delivered, not acknowledged | the broker's memory, for each consumer | goes to another consumer | is sent again |
# | how often it was redelivered | the broker's memory | until the last consumer is gone | no |
# | sent ahead, not received yet | the client's queue | no | no: the client empties it and is sent it again |
# | the transaction's handle | the client's memory | no | yes |
#
# So what the article says of Pulsar is wrong: both systems keep it in the broker. In Kafka the
# pending offsets are in `__consumer_offsets` (lab 08).
#
# **5. Nobody ends it.** The client died with t1 open, and 580538 is held back from everybody. When
# is it free again? The timeout of t1 is 60 s. And to make it harder, the coordinator's broker is
# killed as well, and is back after 50 s. Then a client connects to the coordinator.

# %% jupyter={"source_hidden": true}
LEFT_OPEN = """
# Client and coordinator die with a transaction open
system pulsar clients=shop,worker,twin
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

# %% tags=["nbval-check-output"]
rows = [("", "twin receives at 50 s", "and at 60 s")]
for name, comes, fires in [
    ("a client connects to the coordinator", COMES, "fire tc-0"),
    ("no client does", "", ""),
]:
    rows.append((name, *list_received(LEFT_OPEN.format(comes=comes, fires=fires))[1:]))
print(columns(rows), "\n")
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
# The coordinator finds t1 in its log and aborts it at its old deadline. Then the message comes
# again. An article says that the timeout makes client and broker consistent again. That is right
# for a transaction that is *open*, with one reservation, in the second line: after a restart a
# coordinator loads its log only when a client with transactions connects to it. A client that is
# running does so by itself. As long as there is none, nobody watches the deadline.
#
# In the second table t1 was being committed, and one of its participants lies in a namespace that
# does not exist. A decision is final, and no deadline applies to it: the coordinator tries again
# every second. After ten minutes it still counts one transaction (`ongoingTxnSize=1`), and an abort
# is refused. That ends when an operator creates the namespace. In `orders-0` the acknowledgement
# was carried out long before: `MarkDelete` is the broker's word for *acknowledged*.
#
# **6. Two subscriptions.** Billing and stock both read the topic, each with a subscription of its
# own. One process does both jobs, and acknowledges order 580538 in both subscriptions in one
# transaction. The coordinator tells each subscription that t1 is committed. The message to the
# second one is slow.

# %% jupyter={"source_hidden": true}
TWO = """
# One transaction in two subscriptions
system pulsar clients=shop,worker,audit
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

# %% tags=["nbval-check-output"]
print(list_calls(two, "audit", "worker"), "\n")
print(columns([("log", "records"), *list_pending_logs(TWO)]))

# %% [markdown]
# Pulsar promises all or nothing: both will be acknowledged, since the decision is in the
# coordinator's log, and the coordinator repeats its request until both subscriptions have answered.
# It does not promise that both change at the same moment: for a while `stock` was still
# `PendingAck`. `commit` returns only when both have answered, so after it nobody sees the
# difference. Kafka's commit returns earlier (lab 06).
#
# The second table shows where the acknowledgements were written. An article calls this place the
# cursor's ledger. But each subscription has a ledger of its own for it, beside its cursor. It holds
# the positions of messages, and no messages.
#
# **7. Again and again.** An order cannot be billed: its address is missing. Each time, the worker
# acknowledges it in a transaction, finds out about the address, and aborts. The consumer has a dead
# letter policy with `maxRedeliverCount` 1.

# %% jupyter={"source_hidden": true}
DEAD = """
# An order that cannot be billed
system pulsar topic=orders,dead clients=shop,worker,clerk
run clerk: subscribe dead-0 letters
run worker: subscribe orders-0 billing {type} dead_letter=dead-0 max_redeliver=1
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing txn=t1, abort t1
run worker: receive billing
run worker: new-transaction t2, ack billing txn=t2, abort t2
run worker: receive billing
run worker: new-transaction t3, ack billing txn=t3, abort t3
run worker: receive billing
run clerk: receive letters
"""
dead = scenario(DEAD.format(type="type=Shared"), recorded="dead-letters")
Predict("10-dead", trace=dead, step=first(dead, "abort t1: ok"))

# %% tags=["nbval-check-output"]
rows = [("type", "received by the worker", "in the dead letter topic")]
for kind in ("Shared", "Exclusive"):
    *received, letters = list_received(DEAD.format(type=f"type={kind}"))
    rows.append((kind, " | ".join(received), letters))
print(columns(rows))

# %% [markdown]
# Each abort makes the broker redeliver the order, and that is counted. With Shared the order is
# delivered twice, and the third time it goes to the dead letter topic, where somebody must look
# after it. Exclusive does not count, so the order comes again after every abort.
#
# **8. Passing on.** This is what all of it is for: the worker reads an order, and sends its income
# to the topic `income`. Acknowledgement and message are in *one* transaction. First without any
# trouble:

# %% tags=["nbval-check-output"]
PASS_ON = """
# An order is passed on
system pulsar topic=orders,income clients=shop,worker,books
run books: subscribe income-0 books
run worker: subscribe orders-0 work type=Shared
run shop: send orders-0 580538
run worker: receive work, new-transaction t1, send income-0 31678 txn=t1, ack work txn=t1, {end} t1
run books: receive books
run worker: receive work
"""
rows = [("", "the books receive", "the worker receives next")]
for end in ("commit", "abort"):
    _, income, again = list_received(PASS_ON.format(end=end))
    rows.append((end, income, again))
print(columns(rows))

# %% [markdown]
# A commit makes both count, and an abort takes both back.
#
# Now the worker is slow. Its connection to `orders-0` breaks, and the broker gives the order to
# `twin`. Then the worker, which knows nothing of that, goes on.

# %% jupyter={"source_hidden": true}
ZOMBIE = """
# Two workers pass the same order on
system pulsar topic=orders,income clients=shop,worker,twin,books
run books: subscribe income-0 books
run worker: subscribe orders-0 work type=Shared
run shop: send orders-0 580538
run worker: receive work, new-transaction t1, send income-0 31678 txn=t1
run twin: subscribe orders-0 work type=Shared
break worker orders-0
run twin: receive work, new-transaction t2, send income-0 31678 txn=t2, ack work txn=t2, commit t2
run worker: {acks}commit t1
run books: receive books
"""
ACK_TOO = "ack work orders-0@0 txn=t1, "
zombie = scenario(ZOMBIE.format(acks=ACK_TOO))
Predict("10-zombie", trace=zombie, step=first(zombie, "commit t2: ok"))

# %% tags=["nbval-check-output"]
rows = [("the slow worker", "its commit", "what the books receive")]
for name, acks in {"acknowledges in t1": ACK_TOO, "sends only": ""}.items():
    story = ZOMBIE.format(acks=acks)
    rows.append((name, end_last(story), receive_last(story)))
print(columns(rows), "\n")
AGAIN = """
# The answer to a send is lost, and the client sends once more
system pulsar dedup={dedup}
do run app send orders-0 580538
do call app
do break app orders-0
do app.
do app>orders-0
do app>orders-0#1
"""
rows = [("a send whose answer was lost is repeated", "stored")]
for name, dedup in {"as Pulsar comes": 0, "with deduplication": 1}.items():
    (stored,) = (log for log in scenario(AGAIN.format(dedup=dedup)).snapshot(-1).logs[:1])
    rows.append((name, " ".join(cell.label for cell in stored.cells)))
print(columns(rows))

# %% [markdown]
# The slow worker's *acknowledgement* is refused, and with it the whole of its transaction: the
# books get the income once. If the worker only sends, nothing is refused, and the income is there
# twice. Pulsar has no `transactional.id` and no epoch that would stop an old process (lab 06). What
# stops it here is the conflict over the message that both have read.
#
# An article promises that each message is written exactly once even when something fails. The
# second table is about one plain send: its answer is lost, and the client sends again. The broker
# recognises the repetition only with deduplication, which is off by default.
#
# The article describes all this in four steps: *open, publish, acknowledge, end*. Publishing and
# acknowledging may change places. Each of them is part of the transaction only if its call names
# the transaction.
#
# **9. Beside Kafka.** The worker has read three orders. The first one, 580538, cannot be worked out
# yet: its price is missing. The other two are done in one transaction. In Kafka the worker commits
# a position, and the position behind the third order is 3. In Pulsar it acknowledges the two
# messages. Then another process takes over.

# %% jupyter={"source_hidden": true}
Predict("10-kafka")

# %%
put_beside_kafka()

# %% tags=["nbval-check-output"]
print(compare_with_kafka())
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
# A Kafka position stands for everything in front of it, so a worker has only bad choices: skip
# 580538 for good (3), do the other two again later (0), or wait. In Pulsar each acknowledgement
# stands for one message: an order that waits holds up no other one.
#
# An article concludes from this that nothing ever blocks in Pulsar. That is true of
# acknowledgements only. In the last table somebody else *sends* 580538 in a transaction that is
# still open. The plain message 580539 behind it is held back from every consumer until that
# transaction ends (lab 09).

# %% [markdown]
# ## Find the shortest run that loses an order
#
# This worker passes orders on in a transaction, but acknowledges them plainly, as its old program
# did: receive, begin, send, acknowledge, commit. It has begun its transaction, and the order's
# income is on its way. Click a message to deliver it, a timer to let it run out, a lane to kill a
# process. *How few choices do you need until an order is done with and its income is not counted?
# Which moment is it?* No fault is needed to reach it. Then make the moment last, by a kill or by
# the transaction's timeout.

# %%
play = continue_scenario("""
# A worker acknowledges plainly
system passing pieces=receive,begin,send,plain,commit
hold worker→orders-0 Subscribe#1
run shop: send orders-0 580538
""")
play.go_on(held=["worker>income-0"])  # everything happens, but the income stays under way
Playground(Play(play.system, play.choices, play.title), goal="passed on")

# %% [markdown]
# ## Modify: which safeguards are necessary?
#
# Four safeguards are about acknowledgements. `pending_ack_conflict` refuses a message that another
# transaction has acknowledged. `pending_ack_log` answers an acknowledgement only when it is in the
# log. `pending_ack_filter` leaves out what is pending when messages are delivered again.
# `redeliver_aborted` delivers again what an aborted transaction had acknowledged. Say what breaks
# without each of them. Then choose one in the menu: the run is the same each time.

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

# %% tags=["nbval-check-output"]
print(tell_searches())

# %% [markdown]
# Each line of the first table takes one safeguard away and searches for the shortest run that
# breaks a promise. The second table takes nothing away. It shows three things that Pulsar does not
# promise: that an old process is stopped, that a repeated send is stored once, and that an error
# means *not committed*.

# %% [markdown]
# ## Order: pass an order on
#
# Put the worker's calls into an order that keeps every promise, although the worker may be killed
# between any two of them, and the transaction may time out. You do not need every piece, and more
# than one order is right. Run the cell, move the pieces, and run the next cell.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = PASSING.arrange(
    [
        ### BEGIN SOLUTION
        # What was read and what is written belong in one transaction.
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
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passing", order)
### END HIDDEN TESTS
check(PASSING, order)

# %% [markdown]
# ## Test: bill the three orders
#
# Back to the hook. The printer has paper again. Write the lines that follow the abort: the worker
# must receive each of the three orders once more, and in the end all of them must be acknowledged
# for good. These lines stand in front of yours:
#
#     system pulsar clients=shop,worker,twin
#     run worker: subscribe orders-0 billing
#     run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
#     run worker: receive billing, new-transaction t1
#     run worker: ack-cumulative billing orders-0@2 txn=t1
#     run worker: abort t1
#
# You have the calls of this lab, and `redeliver billing`, `close billing`, `kill`, `restart`. Give
# each `receive` a `run` line of its own: it takes what has arrived. There are several ways. Two
# hints wait: `print(RETURNING.hint(1))`, then `print(RETURNING.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "returning"}
# The lines that follow the abort, one below the other.
story = ""
### BEGIN SOLUTION
# The broker sends nothing again by itself; what comes then is acknowledged in a second transaction.
story = """
run worker: redeliver billing
run worker: receive billing, new-transaction t2, ack-cumulative billing orders-0@2 txn=t2, commit t2
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "returning-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("returning", story)
### END HIDDEN TESTS
check(RETURNING, story)

# %% [markdown]
# ## Make: the rule of conflict
#
# Now you are the subscription. A transaction `txn` (a text such as `"(0,1)"`) asks to acknowledge
# the messages `asked`, a tuple of numbers such as `(0, 2)`. You are also given `acked`, the numbers
# of all messages that are acknowledged for good, and `pending`, a tuple of pairs such as `((0,
# "(0,0)"),)`: message 0 is pending for transaction (0,0). Return `True` if the transaction may
# acknowledge them, and `False` for a conflict.
#
# Your rule is put into the broker, and thirteen short programs are tried with it, each in every
# order of events. In these programs workers read real orders, send their income and acknowledge
# them, in transactions that commit or abort. In one of them the broker may be killed; it then
# replays its log by asking your rule again. No income may be stored twice, and a message that is
# free must not be refused. May a transaction acknowledge its own message once more? Pulsar refuses
# it, but no promise depends on it, so both answers pass. Two hints wait: `print(ACKING.hint(1))`,
# then `print(ACKING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "acking"}
def may_ack(txn: str, asked: tuple, acked: tuple, pending: tuple) -> bool:
    """Whether this transaction may acknowledge all of these messages."""
    ### BEGIN SOLUTION
    # Each message by itself: neither acknowledged for good nor held by anybody, and all or nothing.
    held = {message for message, holder in pending}
    return not any(message in held or message in acked for message in asked)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "acking-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("acking", may_ack)
### END HIDDEN TESTS
check(ACKING, may_ack)

# %% [markdown]
# ## Transfer: how do others take back what was read?
#
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | what joins the transaction | single messages, or all up to one | a position for each partition | nothing: a consumer is in no transaction |
# | where it waits | a pending-ack log for each subscription | `__consumer_offsets` | – |
# | two transactions for one message | the second is refused | the older member of the group is fenced | – |
# | after an abort | redelivered, or sent from mark-delete on, or only on request | the application must `seek` | no abort: what fails is delivered again, at most 16 times |
# | when nobody ends it | aborted at its deadline | aborted at its deadline | – |
# | an old process | refused if it acknowledges, not if it only sends | fenced by its epoch | not stopped |
#
# Ask of any queue that you meet: *after an abort, who receives the message next?*

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | an abort gives me my messages back | individually, yes; a cumulative one redelivers nothing | Hook |
# | exactly what was acknowledged comes again | on Exclusive and Failover everything that is not acknowledged | 1 |
# | two transactions can acknowledge one message, the last one wins | the second one gets TransactionConflictException | 2 |
# | a pending message can be acknowledged by nobody else | a plain acknowledgement is applied at once | 3 |
# | unacknowledged state lives in the client | it is in the broker, and pending acks are in a log | 4 |
# | pending acks are kept in the cursor's ledger | each subscription has a log of its own for them | 6 |
# | a timeout puts everything right | of open transactions; COMMITTING has no deadline | 5 |
# | a transaction shows everywhere at once | each participant hears of it in its own time | 6 |
# | an aborted message comes until it succeeds | on Shared, with a dead letter policy, it goes to the dead letters | 7 |
# | each message is written exactly once | deduplication is off, and nobody is fenced | 8 |
# | Pulsar never blocks | acknowledgements do not; an open transaction that sends does | 9 |

# %% [markdown]
# ## Exit ticket
#
# A library lends books. Returned books are messages, and the desk checks them in with transactions.

# %% jupyter={"source_hidden": true}
Predict("10-exit-ticket")

# %% [markdown]
# **What you know now.** An acknowledgement in a transaction is pending until the transaction ends,
# and the broker keeps it on its disk. An abort takes it back. Whether the broker then sends the
# message again depends on the type of the subscription; after a cumulative acknowledgement you must
# ask for it yourself. A message is pending for one transaction at most, and this rule does not stop
# a program that acknowledges without a transaction. Next: [order → income on
# Spark](11-order-to-income.ipynb)
