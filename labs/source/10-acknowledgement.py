# %% [markdown]
# # Lab 10 · Acknowledgement
#
# *Can a transaction un-acknowledge?* · 90 minutes · Pulsar 4.2
#
# **In one paragraph.** In Pulsar a transaction may not only send messages but also acknowledge
# those that it has read. Until it ends, such an acknowledgement is *pending*: neither given nor not
# given. You find out who may acknowledge what, what comes back after an abort and to whom, what a
# broker and a client remember when they die, and what happens when nobody ends the transaction. You
# put a worker's calls into an order that survives every kill, write the rule by which a broker
# refuses an acknowledgement, and see the same orders pass through Kafka and Pulsar side by side.
#
# **Contents.** Hook · Predict · Run · Investigate (1 after an abort, 2 two transactions, 3 without
# a transaction, 4 who remembers, 5 nobody ends it, 6 two subscriptions, 7 again and again, 8
# passing on, 9 beside Kafka) · Find the shortest run · Modify · Order · Make · Transfer · Refuted ·
# Exit ticket
#
# **Words.** *Subscription* (订阅): a named place in a topic, with its own account of what was
# acknowledged; its *type* says how its consumers share the messages. *Cursor*: that account.
# *Individual* acknowledgement (单条确认): of one message. *Cumulative* acknowledgement (累积确认): of a
# message and all before it. *Pending ack* (待定确认): an acknowledgement in a transaction that has not
# ended. *Conflict*: the broker refuses an acknowledgement. *Redelivery* (重新投递): a message is
# delivered once more. *Dead letter topic* (死信主题): where messages go that were delivered too often.
# *Participant*: a partition or a subscription that must hear how a transaction ends.

# %%
from mqlab.lab import (
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
    answer_ack,
    compare_with_kafka,
    end_last,
    first,
    list_calls,
    list_orders,
    list_received,
    list_records,
    list_safeguards,
    list_states,
    put_beside_kafka,
    read_recording,
    receive_last,
    tell_searches,
)

# %% [markdown]
# ## Hook: three orders that nobody is billed for
#
# These are again the real orders of 5 December 2011. The shop sends them to the topic `orders`, and
# the worker of the billing department reads them there. Three orders come. The worker begins a
# transaction, acknowledges all three with one cumulative acknowledgement, and starts to write the
# bills. That fails: the printer is out of paper. So it aborts the transaction, which means that
# none of this has happened, and waits for the orders to come again.
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
printer = scenario(f"""
# The printer is out of paper
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing
{THREE}
run worker: receive billing, new-transaction t1
run worker: ack-cumulative billing orders-0@2 txn=t1
run worker: abort t1
run worker: receive billing
""")

# %% [markdown]
# ## Predict
#
# The acknowledgement is pending, and the worker is about to abort. Lock your answer, then run on.

# %% jupyter={"source_hidden": true}
Predict("10-abort", trace=printer, step=first(printer, "orders-0@2 txn=t1: ok"))

# %% [markdown]
# ## Run
#
# Is that our model's invention? The same calls, told to a released Pulsar 4.2.4 with orders called
# a, b and c:

# %% tags=["nbval-check-output"]
SAID = ("Ack", "EndTxn", "receive", "Redeliver", "Message")
print(read_recording("pulsar-4.2.4/4.2", "cumulative-and-abort", *SAID))

# %% [markdown]
# After the abort the acknowledgement is gone. But the broker does not send the orders again: after
# a cumulative acknowledgement it leaves that to the consumer. They come when the worker asks for
# redelivery, or when it connects anew. Until then £1032.34 is neither billed nor lost, and no error
# was raised.
#
# An acknowledgement goes through the six stages as well. These are the records of one whose
# transaction commits:

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
#
# The pending-ack log belongs to one subscription of one partition. An article calls it the cursor's
# ledger; it is a ledger of its own, `orders-0-billing__transaction_pending_ack`, and holds
# positions, no messages.
#
# ## Investigate
#
# **1. What comes again after an abort?** Four orders are received. One of them, 580539, is
# acknowledged *individually* in a transaction, and the transaction aborts. The subscription is of
# the type Exclusive: one consumer, which gets everything in order.

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
exclusive = scenario(ABORTED.format(type="Exclusive", ack=ONE))
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
# counting: the worker gets 580538, 580540 and 580541 twice although it had nothing to do with the
# transaction. After a cumulative acknowledgement nothing moves at all, as in the hook. And a
# subscription that hands out single messages cannot be acknowledged cumulatively.
#
# So an abort undoes the acknowledgement. What comes again, and when, depends on the type.
#
# **2. Two transactions, one message.** `worker` has acknowledged order 580538 in its transaction
# t1. Then `twin`, another process of the same department, gets hold of the order's number and
# acknowledges it in its transaction t2.

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
conflict = scenario(CONFLICT)
Predict("10-conflict", trace=conflict, step=first(conflict, "t2 timeout=600000: ok"))

# %% tags=["nbval-check-output"]
print(list_calls(conflict, "worker", "twin"))

# %% [markdown]
# The first one wins, and the second one is told at once. Its client then refuses to commit t2: a
# transaction in which something failed can only be aborted. Before you run the next cell, say for
# each line whether the second acknowledgement is let in.

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
# acknowledge it again. A request is all or nothing. What was committed stays acknowledged, so it is
# a conflict as well. For cumulative acknowledgements there is a single slot in the whole
# subscription, and only its holder may move it on.
#
# The last line is a gap: cumulative and individual acknowledgements are not compared with each
# other. Use one kind per subscription.
#
# **3. And without a transaction?** 580538 is pending for t1. Somebody acknowledges it *plainly*, as
# one does without transactions. Then t1 aborts. The design document of Pulsar's transactions says
# that such an acknowledgement is dropped; articles say that nobody else can acknowledge the
# message.

# %% jupyter={"source_hidden": true}
plain = scenario("""
# A plain acknowledgement of a pending message
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1 timeout=600000, ack billing orders-0@0 txn=t1
run worker: ack billing orders-0@0
run worker: abort t1
run worker: receive billing
""")
Predict("10-plain", trace=plain, step=first(plain, "pending for (0,0)"))

# %% tags=["nbval-check-output"]
print(list_calls(plain, "worker"), "\n")
SAID = ("Ack billing", "EndTxn", "receive", "pendingAckStats")
print(read_recording("pulsar-4.2.4/4.2", "plain-ack-beats-pending", *SAID))

# %% [markdown]
# A plain acknowledgement asks no transaction. It is applied at once, and no abort takes it back:
# the real broker answers the same. The subscription still counts t1 as open (`ongoing 1`), so its
# abort is not without effect: on an Exclusive subscription it sends the *other* messages again that
# are not acknowledged. So a conflict protects transactions from each other, and nothing protects
# them from a worker, or a line of old code, that acknowledges without one.
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
# Whatever dies, the next consumer gets 580540 and nothing else: 580539 stands in the cursor, 580538
# in the pending-ack log, and both are on the broker's disk. What the client had was a handle, the
# name t1; with it, only the chance to end the transaction is lost.
#
# The last column is the same with a cumulative acknowledgement of the first two, on an Exclusive
# subscription. It survives as well, but it holds nothing back: only *individually* pending messages
# are left out when messages are sent again.
#
# | what | where | survives the client | survives the broker |
# |---|---|---|---|
# | acknowledged | cursor, on disk | yes | yes |
# | pending | pending-ack log, on disk | yes | yes |
# | delivered, not acknowledged | the broker's memory, for each consumer | goes to another consumer | is sent again |
# | how often it was redelivered | the broker's memory | with the last consumer it is forgotten | no |
# | received, not processed | the client's queue | no | yes |
# | the transaction's handle | the client's memory | no | yes |
#
# So the article has it the wrong way round. In Kafka, too, pending offsets are in the broker, in
# `__consumer_offsets` (lab 08).
#
# **5. Nobody ends it.** The client died with t1 open, and 580538 is held back from everybody. Who
# gives it back, and when? The timeout of t1 is 60 s. And to make it harder, the coordinator's
# broker is killed as well, and is back after 50 s.

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
    ("twin begins a transaction of its own", COMES, "fire tc-0"),
    ("nobody begins one", "", ""),
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
run twin: receive billing, transaction-metadata 0/0
run twin: create-namespace gone-0
fire tc-0
run twin: transaction-metadata 0/0
"""
rows = [("", "the state of t1")]
rows += zip(("after ten minutes", "when the namespace exists"), list_states(FROZEN), strict=True)
print(columns(rows))

# %% [markdown]
# The coordinator finds t1 in its log and aborts it at its old deadline. Then the message comes
# again. So the claim that the timeout brings client and broker together again is right for a
# transaction that is *open*, and with one reservation, in the second line: a coordinator that was
# restarted loads its log only when a client asks it for something. As long as nobody does, no
# deadline is watched.
#
# In the second table t1 was being committed. One of its participants lies in a namespace that does
# not exist, and never answers. A decision is final and a deadline does not apply to it: the
# transaction stays COMMITTING, here for ten minutes, until an operator creates the namespace. Its
# acknowledgement in `orders-0` was carried out long before.
#
# **6. Two subscriptions.** Billing and stock both read the topic, each with a subscription of its
# own. One process does both jobs, and acknowledges order 580538 in both subscriptions in one
# transaction. The coordinator tells both participants that t1 is committed. The second of these
# messages is slow.

# %% jupyter={"source_hidden": true}
TWO = """
# One transaction in two subscriptions
system pulsar topic=orders,returns clients=shop,worker,audit
run worker: subscribe orders-0 billing type=Shared, subscribe returns-0 stock type=Shared
run shop: send orders-0 580538, send returns-0 580538
run worker: receive billing, receive stock, new-transaction t1
run worker: ack billing txn=t1, ack stock txn=t1
hold tc-0→returns-0 EndTxnOnSubscription#1
run worker: commit t1
run audit: position-stats billing orders-0@0, position-stats stock returns-0@0
release tc-0→returns-0 EndTxnOnSubscription#1
run audit: position-stats billing orders-0@0, position-stats stock returns-0@0
"""
two = scenario(TWO)
Predict("10-two", trace=two, step=first(two, "COMMITTING (0,0)"))

# %% tags=["nbval-check-output"]
print(list_calls(two, "audit", "worker"))

# %% [markdown]
# All or nothing: both will be acknowledged, since the decision is in the coordinator's log and it
# asks until everybody has answered. At one and the same moment: no. `commit` returns only when both
# have answered, so after it nobody sees the difference. Kafka's answer comes earlier (lab 06).
#
# **7. Again and again.** An order cannot be billed: its address is missing. Each time the worker
# acknowledges it in a transaction, finds that out, and aborts. The consumer has a dead letter
# policy with `maxRedeliverCount` 1.

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
dead = scenario(DEAD.format(type="type=Shared"))
Predict("10-dead", trace=dead, step=first(dead, "abort t1: ok"))

# %% tags=["nbval-check-output"]
rows = [("type", "received by the worker", "in the dead letter topic")]
for kind in ("Shared", "Exclusive"):
    *received, letters = list_received(DEAD.format(type=f"type={kind}"))
    rows.append((kind, " | ".join(received), letters))
print(columns(rows))

# %% [markdown]
# Each abort counts as a redelivery. With Shared the order is delivered twice, and the third time it
# goes to the dead letter topic, where somebody must look. Exclusive does not count, so the order
# comes for ever.
#
# **8. Passing on.** Now to what all this is for: the worker reads an order, and sends its income to
# the topic `income`. Acknowledgement and message are in *one* transaction, so both count or
# neither. The worker is slow, its connection to `orders-0` breaks, and the broker gives the order
# to `twin`. Then the worker, who knows nothing of that, goes on.

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
# books get the income once. A worker that only sends is refused nothing, and the income is there
# twice. Pulsar has no `transactional.id` and no epoch that would stop an old process (lab 06). What
# stops it here is the conflict over the message that both have read.
#
# An article promises that each message is written exactly once even when something fails. The
# second table is about one plain send: its answer is lost, and the client sends again. Only with
# deduplication, which is off unless one turns it on, the broker recognises it.
#
# The article's flow for all this is *open, publish, acknowledge, end*. Publishing and acknowledging
# may change places, and both are part of the transaction only if they are told its name.
#
# **9. Beside Kafka.** The worker has read three orders. The first one, 580538, cannot be worked out
# yet: its price is missing. The other two are done in one transaction. In Kafka the worker commits
# a position, and the position behind the third order is 3. In Pulsar it acknowledges the two
# messages. Then the work goes to another process.

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
# 580538 for good (3), do the other two again later (0), or wait. In Pulsar each message stands for
# itself: an order that waits holds up no other one.
#
# From this an article concludes that nothing ever blocks in Pulsar. That holds for acknowledgements
# alone. In the last table somebody else *sends* 580538 in a transaction that is still open. The
# plain message 580539 behind it is held back from every consumer until that transaction ends (lab
# 09).
#
# ## Find the shortest run that loses an order
#
# This worker passes orders on in a transaction, but acknowledges them plainly, as its old program
# did: receive, begin, send, acknowledge, commit. The order is there, and the worker is about to
# subscribe. Click a message to deliver it, a timer to let it run out, a lane to kill a process.
# *How few choices until the light "passed on" turns red? Which moment is it?*

# %%
play = continue_scenario("""
# A worker acknowledges plainly
system passing pieces=receive,begin,send,plain,commit
hold worker→orders-0 Subscribe#1
run shop: send orders-0 580538
""")
Playground(play, goal="passed on")

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
# breaks a promise. The second table takes nothing away: that an old process is stopped, that a send
# is stored once, and that an error means *not committed*, Pulsar does not promise.
#
# ## Order: pass an order on
#
# Put the worker's calls into an order that keeps every promise, although the worker may be killed
# between any two of them, and the transaction may time out. Not every piece belongs there, and more
# than one order is right. Run the cell, move the pieces, and run the next cell.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = PASSING.arrange(
    [
        ### BEGIN SOLUTION
        # What was read and what is written belong into one transaction.
        "receive",
        "begin",
        "send",
        "ack",
        "commit",
        ### END SOLUTION
    ]
)

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passing", order)
### END HIDDEN TESTS
check(PASSING, order)

# %% [markdown]
# ## Make: the rule of conflict
#
# Now you are the subscription. A transaction `txn` (a text such as `"(0,1)"`) asks to acknowledge
# the messages `asked`, a tuple of numbers such as `(0, 2)`. You are also given `acked`, the numbers
# of all messages that are acknowledged for good, and `pending`, a tuple of pairs such as `((0,
# "(0,0)"),)`: message 0 is pending for transaction (0,0). Return `True` if it may, and `False` for
# a conflict.
#
# Your rule is put into the broker. Thirteen short programs are tried with it, each in every
# schedule: workers that read real orders, send their income and acknowledge them, in transactions
# that commit and abort; in one of them the broker may be killed, and replays its log by asking your
# rule again. No income may be stored twice, and nobody may be refused a message that is free. No
# promise depends on whether a transaction may acknowledge its own message once more: both answers
# pass, and Pulsar refuses it. Two hints wait: `print(ACKING.hint(1))`, then
# `print(ACKING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "acking"}
def may_ack(txn: str, asked: tuple, acked: tuple, pending: tuple) -> bool:
    """Whether this transaction may acknowledge all of these messages."""
    ### BEGIN SOLUTION
    # Each message by itself: neither acknowledged for good nor held by anybody, and all or nothing.
    held = {message for message, holder in pending}
    return not any(message in held or message in acked for message in asked)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "acking-test", "points": 6}
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
# | two transactions for one message | the second is refused | the older member of the group is fenced | both consume |
# | after an abort | redelivered, or sent from mark-delete on, or only on request | the application must `seek` | delivered again until it is acknowledged |
# | when nobody ends it | aborted at its deadline | aborted at its deadline | – |
# | an old process | refused if it acknowledges, not if it only sends | fenced by its epoch | goes on |
#
# Ask of any queue that you meet: *who gets it next, after I have taken my word back?*
#
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | an abort gives me my messages back | individually, yes; a cumulative one redelivers nothing | Hook |
# | exactly what was acknowledged comes again | on Exclusive and Failover everything that is not acknowledged | 1 |
# | two transactions can acknowledge one message, the last one wins | the second one gets TransactionConflictException | 2 |
# | a pending message can be acknowledged by nobody else | a plain acknowledgement is applied at once | 3 |
# | unacknowledged state lives in the client | it is in the broker, and pending acks are in a log | 4 |
# | pending acks are kept in the cursor's ledger | each subscription has a log of its own for them | Run |
# | a timeout puts everything right | of open transactions; COMMITTING has no deadline | 5 |
# | a transaction shows everywhere at once | each participant hears of it in its own time | 6 |
# | an aborted message comes until it succeeds | on Shared it may go to the dead letters | 7 |
# | each message is written exactly once | deduplication is off, and nobody is fenced | 8 |
# | Pulsar never blocks | acknowledgements do not; an open transaction that sends does | 9 |
#
# ## Exit ticket
#
# A library lends books. Returned books are messages, and the desk checks them in with transactions.

# %% jupyter={"source_hidden": true}
Predict("10-exit-ticket")

# %% [markdown]
# **What you know now.** An acknowledgement in a transaction is a promise that the broker keeps on
# its disk. An abort takes it back; who then gets the message depends on the type of the
# subscription, and after a cumulative one on you. One message, one transaction: that is the whole
# rule, and it does not bind those who acknowledge without one. Next: [order → income on
# Spark](11-order-to-income.ipynb)
