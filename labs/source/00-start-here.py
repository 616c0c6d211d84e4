# %% [markdown]
# # Lab 00 · One order, three brokers: what can go wrong?
#
# *45 minutes, or a quick route of 25*
#
# A customer pays £316.78. The shop's order service sends two messages: one takes the money from the
# customer's account, the other gives it to the shop's. Press *Shift+Enter* twice. Then it is your turn:
# **make the £316.78 disappear.**

# %% jupyter={"source_hidden": true}
from mqlab.lessons.lab00 import payment

payment()

# %% [markdown]
# When the money is lost, press *in a transaction* and try again. Something else can still go wrong there.
#
# A *message queue*, or *broker*, keeps messages between the services that write them and the services
# that read them. This course has three of them. This lab steps through Kafka 4.3, and compares it with
# RocketMQ 5.x and Pulsar 4.x.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Budget,
    Fold,
    Player,
    Predict,
    check,
    explore,
    glossary,
    say,
    scenario,
    system,
    table,
)
from mqlab.lessons.lab00 import (
    BOOKED_TWICE,
    balances,
    broker_maps,
    cost,
    find_red_step,
    first,
    timeline,
)

# %% [markdown]
# ## What if the service simply does it again?
#
# All labs follow one British gift shop, which sells over the web. Its order 580538 costs £316.78. You
# have seen what happens when its **order service** dies after the first message, `C-316.78`, which takes
# the money from the customer. The second, `S+316.78`, would give it to the shop, and is never sent.
#
# Now the service is restarted and does all its work once more. Who has paid what in the end? Choose an
# answer, lock it, and press *Run*.

# %% jupyter={"source_hidden": true}
lossy = scenario("""
# An order and its money, without a transaction
system shop producers=order-service:plain
kill order-service when=Produce#1 after=1
run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush
restart order-service
""")
calm = ("diagram", "readers")
Predict(
    "00-done-again",
    trace=lossy,
    step=first(lossy, "recovered"),
    panels=calm,
    told=(*calm, "money"),
    level="story",
)

# %% [markdown]
# ## Step through it
#
# These are the same steps at the level *Protocol*. The switch above a picture changes between *Story*,
# *Protocol* and *Everything*, and keeps the current step. Click the picture, then step with the arrow
# keys.
#
# Each log has its own line here. The word below a name is its role: a *producer* writes records, and the
# *leader* of a log stores them. An arrow is a message, a filled block a written record, a red cross a
# killed process; `?` explains all signs. Two flags in a log, HW and LSO, mark how far it may be read:
# here always to its end. They matter once there is a transaction.
#
# In *Money* a mark shows what customers have paid, and a bar what the shop has received. *Money* turns
# red at the step at which the picture opens. Why there, and not where the service is killed?

# %%
Player(lossy, step=find_red_step(lossy, "money"), level="protocol")

# %% [markdown]
# ## The same with a transaction
#
# Now the order service marks which records belong together. It calls `init` once, then `begin`, the two
# sends, and `commit`. A part of the broker, the **coordinator**, keeps the state of the transaction. The
# order service is killed at the same moment as before, and restarted later.
#
# A program that reads, a *consumer*, chooses its *isolation level*. With **read_uncommitted** it gets
# every record in the log. With **read_committed** it gets only records whose transaction has been
# committed, and records outside any transaction.

# %% jupyter={"source_hidden": true}
safe = scenario("""
# An order and its money, in a transaction
system shop
kill order-service when=Produce#1 after=1
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
restart order-service
fire order-service
""")
undecided = first(safe, "recovered")
Predict(
    "00-started-again",
    trace=safe,
    step=undecided,
    panels=("diagram",),
    level="story",
)

# %% [markdown]
# Play this to its end at the level *Story*. The bar above the names shows the six stages of a
# transaction. Then go back to *The broker decides: T2 counts* and choose *Protocol*. Each log carries two
# flags: consumers may read up to **HW**, the *high watermark*, and read_committed consumers only up to
# **LSO**, the *last stable offset*. What happens to the flags when the decision reaches a log?

# %%
Player(safe, step=undecided, level="story")

# %% [markdown]
# The first `C-316.78` stays in the log, struck out. The coordinator *aborted* its transaction when the
# order service came back and called `init` under the same name. A read_committed consumer never gets that
# record. A read_uncommitted consumer has read it and learns nothing of the abort, so its sum is £316.78
# too low. Then the order service does its work again, and the order is booked once.

# %% [markdown]
# ## Book it twice
#
# Two customers have ordered now, 580538 for £316.78 and 580539 for £310.73. Each order has its own
# transaction:
#
#     run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
#     run order-service: begin, send accounts-0 C-310.73, send accounts-1 S+310.73, commit
#
# The order service is killed once. It restarts, remembers nothing, and does all of this again. **Write
# the line that kills it so that both orders are booked twice**: the customers have paid £1,255.02 instead
# of £627.51.
#
# The line `kill order-service when=Kind#n after=K` kills the service in the step that sends its n-th
# message of that kind, after K effects of that step. With `after=0` this message is not sent. The picture
# above has a message of each kind.

# %% nbgrader={"solution": true, "grade_id": "booked-twice"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill order-service when=… after=…"
### BEGIN SOLUTION
# An order is booked when its commit is decided. The second request must be sent, and the service must die
# before its answer arrives.
kill = "kill order-service when=EndTxn#2 after=1"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "booked-twice-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("booked_twice", kill)
### END HIDDEN TESTS
check(BOOKED_TWICE, kill)

# %% [markdown]
# ## Map of the course
#
# | lab | question |
# |---|---|
# | 00 Start here, this one | one order, three brokers: what can go wrong? |
# | [01 Delivery](01-how-often.ipynb) | how often does my message arrive? |
# | [02 Two databases](02-who-decides.ipynb) | who decides that an order is done? |
# | [03 RocketMQ](03-half-message.ipynb) | how do a message and a database row become one? |
# | [04 RocketMQ](04-check-back.ipynb) | what if the outcome never arrives? |
# | [05 Kafka](05-idempotent-producer.ipynb) | why does a retry not duplicate? |
# | [06 Kafka](06-coordinator.ipynb) | what does commit do, step by step? |
# | [07 Kafka](07-markers-and-lso.ipynb) | what may a reader see, and when? |
# | [08 Kafka](08-consume-transform-produce.ipynb) | how do offsets join the transaction? |
# | [09 Pulsar](09-coordinator-and-buffer.ipynb) | where do uncommitted messages live? |
# | [10 Pulsar](10-acknowledgement.ipynb) | can a transaction un-acknowledge? |
# | [11 Spark and Flink](11-order-to-income.ipynb) | is the sum right after a crash? |
# | [12 Which one?](12-which-one.ipynb) | do I need a broker's transaction, and whose? |
# | [13 Build a coordinator](13-build-a-coordinator.ipynb) | can I write one that survives every crash? |
# | [14 The real thing](14-the-real-thing.ipynb) | is the model true? |
# | [15 Articles on trial](15-articles-on-trial.ipynb) | does the engine agree with what I read? |
# | [16 On call](16-on-call.ipynb) | what would I do at night? |

# %% [markdown]
# ## What you know now
#
# A queue keeps messages and promises nothing about two of them together. A transaction makes them one:
# all or nothing, for read_committed consumers. It does not make them happen *once*: a service that does
# its work again books it again.
#
# The quick route ends here, and has both points of this lab. The parts below go deeper, in any order.
# They also explain the words that all labs use: the six stages, the names of what goes wrong, and a
# glossary. The next lab asks what *once* would need: [how often does my message
# arrive?](01-how-often.ipynb)

# %% [markdown] tags=["deeper"]
# ## Was this bad luck?

# %% [markdown]
# The first crash of this lab may look like one that hardly ever happens. The next cell searches for the
# shortest path to it, in the notation that all labs use:
#
# | line | meaning |
# |---|---|
# | `system shop producers=order-service:plain` | who takes part: a shop whose order service is a *plain* producer, without transactions |
# | `run order-service: send accounts-0 C-316.78, … flush` | what the application calls, in sequence; `flush` waits until every record sent is acknowledged |
# | `kill order-service when=Produce#1 after=1` | the process is killed in the step that sends its first `Produce`, after one effect of that step |
# | `restart order-service` | restarts it, at the first line of its application |
# | `fire order-service` | a timer of this process runs out |
#
# `explore` needs the application within the system line. It tries **every** schedule: at each step it
# *chooses* which of the possible events happens next, until it has tried all choices. A `Budget` limits
# what may go wrong: here one process may be killed, and only the order service.
#
# At the level *Everything* a picture shows *invariants*, statements that must always be true. *Money in =
# money out* is one of them. It is checked only when nothing is in flight: while the order service is at
# work or an account is down, it keeps its colour. `counterexamples` contains, for each invariant, the
# execution with the fewest choices that turns it red. In text each step has a sign:
#
# | in text | in the picture | what has happened |
# |---|---|---|
# | → | an arrow | a message was sent; `Produce` carries a record |
# | ⇒ | a dashed arrow | an answer was sent |
# | ⇥ | an arrow of dots and dashes | a message arrives although its sender is gone |
# | ▮ | a filled block | a record was written to the log of this process; it survives a restart, but perhaps not a power cut; `@0` is its place there, the *offset* |
# | ⇨ | a hollow diamond | the process has changed something in its memory, here how far consumers may read |
# | ✗ | a red cross | a process was killed, or a connection broke |
# | ↻ | a hollow circle | a process was restarted and has recovered its state from its disk |
# | ☞ | a pointing hand | the application calls something, or gets its result |

# %% tags=["nbval-check-output"]
one_kill = Budget(kills=1, killable=("order-service",))
plain = (
    "shop producers=order-service:plain "
    "'order-service=send accounts-0 C-316.78; send accounts-1 S+316.78; flush'"
)
broken = explore(system(plain), one_kill).counterexamples["money"]
count = len(broken.schedule)
print(say("without a transaction the invariant can turn red after {count} choices:", count=count))
for fact in broken.trace():
    if not fact.fold:
        print("  ", fact.line(width=13))

# %% tags=["nbval-check-output"]
print(say("without a transaction, when the order service has done its work again:"))
print(balances(lossy))
whole = "shop 'order-service=init; begin; send accounts-0 C-316.78; send accounts-1 S+316.78; commit'"
verdict = explore(system(whole), Budget(kills=1))
print(say("\nwith one, every schedule in which one process is killed was tried:"), verdict.complete)
print(say("the invariant can turn red:"), "money" in verdict.counterexamples)

# %% [markdown]
# Nothing rare is needed: the order service sends and dies, and its record arrives. Doing the work again
# makes it worse: the customer has now paid twice, and the shop received £316.78. With a transaction no
# single crash turns the invariant red, whichever process is killed.

# %% [markdown] tags=["deeper"]
# ## What does a message queue promise?

# %% [markdown]
# The writer gets its answer when its message is *stored*, not when a reader has read it. This is called
# **asynchronous communication**. So the reader may be slow, or down. Here *accounting*, which reads both
# accounts with `poll`, is down before anything is sent. When is the order service done?

# %%
away = scenario("""
# The reader is away while the producer continues
system shop producers=order-service:plain readers=accounting
kill accounting
run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush
restart accounting
run accounting: poll accounts-0, poll accounts-1
""")
flushed, back = first(away, "flush: ok"), first(away, "recovered")
assert flushed < back  # the producer had its answers before the reader was there again
assert first(away, "poll accounts-1 read_committed: ok S+316.78") > back
Player(away, step=back)

# %% [markdown]
# The order service was done before accounting was back, and accounting got both records: the logs had
# kept them, and a reader needs only a position from which to continue. Within one log records arrive in
# sequence; between two logs the sequence depends on which one the reader polls first.
#
# This has a cost: the order service learns neither *when* its records are read, nor what accounting does
# with them. Everything that is hard in this course follows from that.

# %% [markdown] tags=["deeper"]
# ## What does each letter of ACID promise?

# %% [markdown]
# A **transaction** groups several reads and writes into one unit, which succeeds or fails as a whole.
# (Martin Kleppmann defines it similarly in *Designing Data-Intensive Applications*.) A database promises
# four things about it:
#
# | letter | promise | here |
# |---|---|---|
# | **A**tomicity | all or nothing, even when a process dies | the record that the killed service had sent is aborted, not left half done |
# | **C**onsistency | a rule that held before holds afterwards | money in = money out; the rule is the *application's* |
# | **I**solation | others do not see it half done | read_committed consumers get nothing of the open transaction |
# | **D**urability | an acknowledged result outlives a failure | next |
#
# The first three, with the lines above that show them. (`PrepareAbort` is the coordinator's record that
# it has decided to abort.)

# %% tags=["nbval-check-output"]
abort = first(safe, "PrepareAbort")
print("A ", safe.facts[abort - 1].line(width=11))
red = find_red_step(lossy, "money")
print("C ", say("the invariant: red from step {red} without a transaction,", red=red), end=" ")
print(say("red with one too") if find_red_step(safe, "money") else say("never with one"))
for reader in safe.snapshot(undecided).readers:
    print("I ", f"{reader.name:<17}", " ".join(g.label for g in reader.got) or say("nothing"))

# %% [markdown]
# Durability has small print: *which* failure does it survive? Here the order is committed, and every call
# has returned without an error. Now the broker that stores the customer's account loses power.


# %% jupyter={"source_hidden": true}
def stop_broker(how):
    return scenario(f"""
    # {say("The order is committed, then a broker is stopped: {how}", how=how)}
    system shop
    run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
    {how} accounts-0
    restart accounts-0
    """)


cut = stop_broker("power-cut")
Predict("00-power-cut", trace=cut, step=first(cut, "power cut") - 1)

# %% tags=["nbval-check-output"]
for how in ("kill", "power-cut"):
    red = find_red_step(stop_broker(how), "money")
    lost = say("the committed order is lost in part")
    print(f"{how:<9} ", lost if red else say("the committed order is still there"))
    print(balances(stop_broker(how)), "\n")

# %% [markdown]
# Kafka answers when a record is **replicated**, not when it is on the surface of a disk: it leaves the
# flush to the operating system. A killed process loses nothing, since the operating system still has what
# was written. A power cut loses what was not flushed yet. Here there is a single copy, so half of a
# committed order is gone. With three copies, that takes a power cut of all in-sync copies at once. By
# default RocketMQ also flushes after its answer. Pulsar's bookies write a journal and flush it *before*
# they answer.

# %% [markdown] tags=["deeper"]
# ## Which consistency is meant?

# %% [markdown]
# Waiting until all machines agree takes time, and while the network is split it is impossible. **BASE**
# is a weaker promise: **b**asically **a**vailable, **s**oft state, **e**ventually consistent. One example
# shows all three. When a commit is decided, the coordinator has a *marker* written into each partition, a
# record that means commit or abort. It is killed once the first of its two markers has been sent:

# %%
base = scenario("""
# Eventually consistent: the coordinator is away between two markers
system shop producers=order-service,billing:plain
kill coordinator when=WriteTxnMarkers#1 after=1
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
run billing: send accounts-0 invoice, flush
restart coordinator
""")
half = first(base, "invoice @")
assert first(base, "commit: ok") < half  # the commit has returned
assert not find_red_step(base, "money")  # no rule of the shop was broken at any step
assert all(light.ok for light in base.snapshot(half).lights)
Player(base, step=half)

# %% [markdown]
# - *Basically available*: the coordinator is down, and `billing` writes its invoice all the same.
# - *Soft state*: the order is decided and `commit` has returned, yet a read_committed consumer gets
#   `C-316.78` and not `S+316.78`. Its sum is −316.78. The invariant does not turn red, because a marker
#   is still pending.
# - *Eventually consistent*: go to the last step. The coordinator is back, and the sum is 0.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
Fold(
    "the same as text: the sums between the two markers, and at the end",
    f"{balances(base, half)}\n\n{balances(base)}",
)

# %% [markdown]
# So what does *consistent* mean? One of three things, which articles often mix up:
#
# | consistency | promises | about |
# |---|---|---|
# | the C of ACID | a rule of the application holds after each transaction | the data |
# | the C of CAP, *strong* | every read returns the newest finished write | one value, many copies |
# | *eventual*, as message queues offer it | once everything is delivered, all readers agree | several logs, several moments |
#
# The C of CAP (consistency, availability, tolerance of a split network) is about copies of one thing.
# What you saw was two *different* logs that end a transaction with the same outcome, but not at the same
# time. [Lab 07](07-markers-and-lso.ipynb) is about the time between.

# %% [markdown] tags=["deeper"]
# ## Does “transaction” mean the same in all three brokers?

# %% [markdown]
# An order is created, and a message must announce it: both or neither. RocketMQ, Kafka and Pulsar do this
# differently, but each goes through the same six stages. Remember their names; every lab uses them.
#
# | stage | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | **reserve** | half message into `RMQ_SYS_TRANS_HALF_TOPIC` | the coordinator records the partitions: `Ongoing {…}` | partitions and subscriptions into `__transaction_log_0` |
# | **write** | your service writes its own database | records and read positions, straight into the logs | messages into the topics, acknowledgements into the pending-ack log |
# | **decide** | your database commits | `PrepareCommit` or `PrepareAbort` | `COMMITTING` or `ABORTING` |
# | **publish the decision** | END_TRANSACTION, one-way; if it is lost the broker asks | WriteTxnMarkers to each leader | end of transaction to each topic and subscription |
# | **make visible** | a second message, into the real topic | the marker is below the HW: the LSO moves | a marker: maxReadPosition moves, acknowledgements count |
# | **forget** | an op record names the half message | `CompleteCommit` or `CompleteAbort` | `COMMITTED` or `ABORTED`, and its records are dropped |
# | *your call returns* | after publishing, which gets no answer | after *decide* | after *forget* |
# | *silence means* | ask the producer | abort, after a timeout | abort, after a timeout |
#
# Kafka's `init` and `begin` come before these stages: `init` gives the producer its identity, and `begin`
# sends nothing. A record outside any transaction has one stage, *write*.
#
# So "transactional message" is not one thing. In RocketMQ it ties *one message to your database*, and you
# decide. In Kafka and Pulsar it ties *many messages and read positions together*, and a coordinator in
# the broker decides. Here is the Kafka column, step by step:

# %% tags=["nbval-check-output"]
paid = scenario("""
system shop
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
""")
stages = {
    "reserve": "Ongoing",
    "write": "C-316.78 @0",
    "decide": "PrepareCommit",
    "(your call returns)": "ok epoch=1",
    "publish the decision": "WriteTxnMarkers",
    "make visible": "HW=2 LSO=2",
    "forget": "CompleteCommit",
}
steps = [first(paid, words) for words in stages.values()]
assert steps == sorted(steps)
told = [paid.facts[step - 1].line(width=13) for step in steps]
print(table("stage | step | what happens", zip(stages, steps, told, strict=True)), "\n")

BOOK = "send accounts-0 C-316.78, send accounts-1 S+316.78"
orders = {
    "2 records, no transaction": ("order-service:plain", f"{BOOK}, flush"),
    "2 records, one transaction": ("order-service", f"init, begin, {BOOK}, commit"),
    "8 records, one transaction": (
        "order-service",
        f"init, begin, {', '.join([BOOK] * 4)}, commit",
    ),
}
costs = [
    (name, *cost(scenario(f"system shop producers={producer}\nrun order-service: {calls}")))
    for name, (producer, calls) in orders.items()
]
print(table("what it costs | records | markers | decided | messages", costs))

# %% [markdown]
# *Decided* counts the coordinator's records; the cost of `init`, once in a producer's life, is left out.
# A transaction has a fixed cost: one marker in each partition, which takes an offset there, and a few
# coordinator records. Eight records in one transaction pay it once, so throughput needs many records in a
# transaction. But a read_committed consumer gets none of them before the commit: the time between two
# commits is its delay.
#
# Between any two stages a process can die, a message can be late, a consumer can read. Each kind of
# failure has a name, and all labs use these names:
#
# | name | what happens |
# |---|---|
# | lost write | a record that was acknowledged, or believed to be, is gone |
# | duplicate | one message is stored or delivered twice |
# | fractured outcome | one part of a transaction has happened and the other never will, such as half a payment |
# | dirty read | a consumer reads a record that is not decided yet (P1 of Berenson and others, 1995) |
# | aborted read | a consumer reads a record that was rolled back (G1a of Adya, 1999) |
# | torn read | one part of a transaction is visible and another not yet |
# | zombie write | a process that has been replaced continues to write |
# | orphaned half message | RocketMQ: no producer is left that could report the outcome; after 15 checks it is set aside in a topic of its own, until a late answer or an operator ends it |
# | hanging transaction | Kafka: open in a partition and unknown to its coordinator, so it never ends and the LSO never moves again |
# | ack conflict | Pulsar: two transactions acknowledge one message, and the second is refused |
# | stuck consumer | an open transaction of another producer keeps a consumer waiting |
#
# You have seen some of them in this lab. The order service without a transaction made half a payment, a
# *fractured outcome*; after its restart the customer's payment was a *duplicate*. The power cut caused a
# *lost write*. The −316.78 between two markers was a *torn read*. The read_uncommitted consumer made
# first a *dirty* and later an *aborted read*.

# %% [markdown] tags=["deeper"]
# ## Where does each broker keep what?

# %% [markdown]
# Once more a coordinator is killed after sending the first of its two markers. `billing` continues to
# write.

# %% jupyter={"source_hidden": true}
Predict("00-new-coordinator", trace=base, step=first(base, "killed"))

# %% [markdown]
# And the other two brokers? Open the maps and find out, for each of the three: What is gone when a
# process is killed? Where is the *decision*? Where are messages whose transaction is still open? Blue
# parts take part in a transaction.

# %%
broker_maps()

# %% [markdown]
# <details><summary>Answers</summary>
#
# What is in the column *in memory* is gone. The decision is in `__transaction_state` (Kafka), in
# `__transaction_log_0` (Pulsar), and in *your* database (RocketMQ): a RocketMQ broker has no table of
# transactions, which is why it has to ask the producer. Messages of open transactions are in the real
# topic among all others (Kafka, Pulsar), or in a topic of their own (RocketMQ).
#
# </details>
#
# Kafka's controllers keep the metadata as a log. In production they are usually three or five separate
# nodes; a node can also be broker and controller at once. An article that draws ZooKeeper in their place
# describes a release before Kafka 4.0.
#
# In RocketMQ one commit log holds the messages of all topics, and the queues only point into it. In
# Pulsar brokers compute and bookies store, so a dead broker is replaced without copying a message.
# Tenants share a cluster, and clusters may replicate each other across continents.

# %% [markdown] tags=["deeper"]
# ## How did these brokers come about?

# %% [markdown]
# Kafka was written in Scala at LinkedIn. It became open source early in 2011, and left the Apache
# incubator in October 2012. RocketMQ, from Alibaba, borrows ideas from Kafka without copying it: it has
# one commit log for all topics, and a transaction for a message and a database row. Transactions came to
# Kafka with 0.11, to RocketMQ with 4.3.0, to Pulsar with 2.8.0. Other names in articles, TubeMQ, CKafka,
# TDMQ, CMQ, CDMQ and Hippo, are queues of Tencent's.

# %%
timeline()

# %% [markdown]
# Kafka's transactions did not come all at once. Its improvement proposals (KIPs), by number:
#
# <details><summary>The KIPs that these labs use</summary>
#
# | KIP | since | what it added | lab |
# |---|---|---|---|
# | 98 | 0.11 | idempotent producer and transactions | 05, 06, 07 |
# | 360 | 2.5 | a producer continues after an error by raising its own epoch | 05, 06 |
# | 447 | 2.5 | one producer per process: the group's generation keeps out a replaced worker | 08 |
# | 588 | 2.7 | a transaction that timed out can be aborted by its producer, which then continues | 06 |
# | 664 | 3.0 | tools that find hanging transactions and abort them | 06 |
# | 679 | 3.0 | `acks=all` and, from 3.0.1, 3.1.1 and 3.2.0, idempotence are the Java producer's defaults | 05 |
# | 890 | 3.6, 4.0 | a leader verifies a transaction with the coordinator; an epoch per transaction (`transaction.version` 2) | 06 |
# | 939 | not yet | Kafka takes part in another system's two-phase commit; its client API was removed again before each release from 4.1 to 4.4 | – |
#
# </details>

# %% [markdown] tags=["deeper"]
# ## What does that word mean?

# %% [markdown]
# The glossary explains each term in English and Chinese, in a sentence or two. `glossary("lso")` or
# `glossary("半消息")` shows one term, and `glossary()` shows all of them:

# %%
glossary()

# %% [markdown] tags=["deeper"]
# ## What did the hotel show?

# %% [markdown]
# A hotel takes a booking in one transaction: *room −1* in one partition, *bill +120* in another. The
# process is killed between the two, restarts, and never retries that booking. The screen in the lobby
# uses read_uncommitted, the ledger read_committed.

# %% jupyter={"source_hidden": true}
Predict("00-exit-ticket")

# %% [markdown]
# Remember three things. A decided transaction is not yet visible everywhere. A written record does not
# yet survive every failure. And each broker means something else by *transaction*.

