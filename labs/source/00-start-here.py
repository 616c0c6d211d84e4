# %% [markdown]
# # Lab 00 · Start here
#
# *One order, three brokers: what can go wrong?* · 45 minutes · the engine plays Kafka 4.3; facts of
# RocketMQ 5.x and Pulsar 4.x stand beside it
#
# **In one paragraph.** A message queue lets two services talk without waiting for each other. Sooner
# or later one of them dies in the middle of something, and then somebody has paid and nobody has
# been paid. A transaction is the promise that this cannot happen. In this lab you kill a bank
# between two messages, look who lost what, and see the same kill do no harm. Then you learn the
# words, the six stages which every broker's transaction goes through, and where three brokers keep
# what.
#
# **Contents.** A pays B · What a message queue is · ACID, letter by letter · BASE, and three
# meanings of consistency · One order, three brokers · Where the brokers keep what · How it came
# about · Glossary · Map of the course · Exit ticket
#
# **Words.** *MQ*, message queue. *Record*: one message in a log. *Partition*: one log of a topic.
# *ACID* and *BASE*: two sets of promises, spelled out below. *HW*, high watermark: below it
# everything is replicated. *LSO*, last stable offset: below it everything is also decided.

# %%
from mqlab_widgets import Player, Playground, Predict

from mqlab.explore import Budget, explore
from mqlab.lessons import balances, playing, scenario, system
from mqlab.lessons.lab00 import broker_map, first, glossary, map_table, red_from

# %% [markdown]
# ## A pays B
#
# A owes B 5. The bank writes two records: a debit, `A-5`, into the log of account A (`accounts-0`)
# and a credit, `B+5`, into that of account B (`accounts-1`). Whoever reads both logs must find that
# the sum is 0: **money in = money out**. One light watches this through the whole course.
#
# Here the bank uses no transaction, and its process is killed when the debit has left.

# %% jupyter={"source_hidden": true}
lossy = scenario("""
# A pays B, without a transaction
system bank producers=bank:plain
kill bank when=Produce#1 after=1
run bank: send accounts-0 A-5, send accounts-1 B+5, flush
""")
Predict(
    "The debit is on its way and the bank is killed. What do the two accounts show in the end?",
    options=[
        "A −5, B +5: the queue finishes what was begun",
        "A −5, B 0: the money is gone",
        "A 0, B 0: the broker takes the debit back",
        "an error: a reader is told that the payment is incomplete",
    ],
    answer=1,
    explanations=[
        "The queue knows of one record. Nobody told it that another one belongs to it.",
        "A record that has left arrives, and the other one was never sent.",
        "The broker cannot know that this record was half of something.",
        "For the broker and for the reader nothing is wrong: one record, stored and read.",
    ],
    trace=lossy,
    step=1,
)

# %% tags=["nbval-check-output"]
print(balances(lossy))

# %% [markdown]
# Step through it with the arrow keys or the slider. Look at the first light on the right: at which
# step does *money in = money out* turn red?

# %%
Player(lossy, step=red_from(lossy, "money"))

# %% [markdown]
# Was this bad luck, a moment that hardly ever comes? A search through *every* schedule in which the
# bank is killed once finds the shortest one that loses money. And when the bank comes back and does
# its work again, it gets worse: A has paid twice.

# %% tags=["nbval-check-output"]
one_kill = Budget(kills=1, killable=("bank",))
plain = "bank producers=bank:plain 'bank=send accounts-0 A-5; send accounts-1 B+5; flush'"
broken = explore(system(plain), one_kill).counterexamples["money"]
print("without a transaction: money lost in", len(broken.schedule), "choices")
for fact in broken.trace():
    if not fact.fold:
        print("   ", fact.line(width=11))

again = scenario("""
system bank producers=bank:plain
kill bank when=Produce#1 after=1
run bank: send accounts-0 A-5, send accounts-1 B+5, flush
restart bank
""")
print(balances(again))

# %% [markdown]
# ### The same with a transaction
#
# Now the bank says which records belong together: `init` once, then `begin`, the two records,
# `commit`. It is killed at the same moment. Later it is started again and does its work anew.

# %% jupyter={"source_hidden": true}
safe = scenario("""
# A pays B, in a transaction
system bank
kill bank when=Produce#1 after=1
run bank: init, begin, send accounts-0 A-5, send accounts-1 B+5, commit
restart bank
fire bank
""")
undecided = first(safe, "recovered")
Predict(
    "The bank has just been started again; its debit is in the log. Who is shown it?",
    options=[
        "nobody: it is not yet in the log",
        "everybody: it is in the log",
        "who reads uncommitted; who reads committed is shown nothing",
        "who reads committed; a committed reader waits for nobody",
    ],
    answer=2,
    explanations=[
        "It is in the log like any other record, right after it arrived.",
        "In the log, yes. What a reader is given depends on what it asked for.",
        "The transaction is open: a reader of committed data stops before it.",
        "It is the other way round: a committed reader stops where the undecided begins.",
    ],
    trace=safe,
    step=undecided,
)

# %% tags=["nbval-check-output"]
print(balances(safe, undecided), "\n")
print("and when the bank has done its work again:")
print(balances(safe), "\n")
whole = "bank 'bank=init; begin; send accounts-0 A-5; send accounts-1 B+5; commit'"
verdict = explore(system(whole), Budget(kills=1))
print("every schedule with one kill, of whichever process, looked at:", verdict.complete)
print("money lost:", "money" in verdict.counterexamples)

# %%
Player(safe, step=undecided)

# %% [markdown]
# The first debit is still in the log; it was *aborted* when the bank came back. Who reads committed
# data never sees it. Who reads uncommitted data is not told, and counts five too little. And the
# search says that this was no good luck: no schedule with one kill, whoever is killed, loses money.
#
# ### Your turn
#
# The same bank, and nothing has happened yet. Let it call, deliver its messages, kill it or the
# coordinator (`tc`) after some of their effects, restart them. Try to lose money. (One way is left;
# *Durability* below shows it.)

# %%
Playground(playing(f"# Your bank\nsystem {whole}"))

# %% [markdown]
# ## What a message queue is
#
# A service that keeps messages between those who write and those who read. The writer is answered
# when the message is *kept*, not when somebody has read it: that is **asynchronous communication**.
# So the reader may be slow, or down. Try it: the clerk is killed before anything is sent.

# %% tags=["nbval-check-output"]
away = scenario("""
# The reader is away while the producer goes on
system bank producers=bank:plain readers=clerk
kill clerk
run bank: send accounts-0 A-5, send accounts-1 B+5, flush
restart clerk
run clerk: poll accounts-0, poll accounts-1
""")
flushed, back = first(away, "flush: ok"), first(away, "recovered")
assert flushed < back  # the producer had its answers before the reader was there again
for fact in away.facts:
    if fact.index >= back and not fact.fold:
        print(f"{fact.index:>3}  {fact.line(width=12)}")

# %% [markdown]
# The bank was done before the clerk was back, and the clerk got everything, in order: the log had
# kept it, and a reader needs no more than a position of its own to begin from. The price: the bank
# does not know *when* it will be read, nor what the clerk does with it. Everything in this course
# that is hard comes from that price.
#
# ## ACID, letter by letter
#
# A **transaction** groups several reads and writes into one unit, which succeeds or fails as a whole
# (so defines it Martin Kleppmann, *Designing Data-Intensive Applications*, in other words). A
# database promises four things of it:
#
# | letter | promise | here |
# |---|---|---|
# | **A**tomicity | all or nothing, also when somebody dies | the debit of the killed bank is aborted, not left half done |
# | **C**onsistency | a rule that held before holds after | money in = money out; the rule is the *application's* |
# | **I**solation | others do not see it half done | read_committed is shown nothing of the open transaction |
# | **D**urability | what was promised outlives a failure | next |
#
# The first three, with the lines of your runs that show them:

# %% tags=["nbval-check-output"]
abort = first(safe, "PrepareAbort")
print("A ", safe.facts[abort - 1].line(width=7))
print("C  the light: red from step", red_from(lossy, "money"), "without a transaction,", end=" ")
print("never with one" if not red_from(safe, "money") else "red with one too")
for reader in safe.snapshot(undecided).readers:
    print("I ", f"{reader.name:<17}", " ".join(g.label for g in reader.got) or "nothing")

# %% [markdown]
# Durability has a small print: *which* failure? Commit the payment, then stop the broker of account
# A and start it again. Once its process is killed, once its power is cut.

# %% tags=["nbval-check-output"]
for how in ("kill", "power-cut"):
    stopped = scenario(f"""
    system bank
    run bank: init, begin, send accounts-0 A-5, send accounts-1 B+5, commit
    {how} accounts-0
    restart accounts-0
    """)
    red = red_from(stopped, "money")
    print(f"{how:<9}  committed payment {'lost' if red else 'still there'}")
    print(balances(stopped), "\n")

# %% [markdown]
# Kafka answers when a record is **replicated**, not when it is on a disk's surface: it leaves the
# flush to the operating system. A killed process loses nothing, since the operating system still
# holds what was written. A power cut loses what was not flushed yet; here there is a single copy, so
# a committed payment is gone. With three copies the power of all in-sync copies must fail at once.
# RocketMQ flushes after its answer too, by default. Pulsar's bookies write a journal and flush it
# *before* they answer.
#
# ## BASE, and three meanings of consistency
#
# Waiting until everybody agrees is dear, and while the network is parted impossible. **BASE** is what
# one promises instead: **b**asically **a**vailable, **s**oft state, **e**ventually consistent. One
# run shows all three. The coordinator is killed when one of its two markers has left:

# %% tags=["nbval-check-output"]
base = scenario("""
# Eventually consistent: the coordinator is away between two markers
system bank producers=bank:payments,shop:plain
kill tc when=WriteTxnMarkers#1 after=1
run bank: init, begin, send accounts-0 A-5, send accounts-1 B+5, commit
run shop: send accounts-0 note, flush
restart tc
""")
half = first(base, "note @")
print("commit has returned:", first(base, "ok epoch=1") < half, "\n")
print("basically available: with the coordinator down,", base.facts[half - 1].line(), "\n")
print("soft state: decided, and not yet everywhere")
print(balances(base, half), "\n")
print("eventually consistent: when the coordinator is back")
print(balances(base))
assert not red_from(base, "money")  # no rule of the bank was broken at any step
assert all(light.ok for light in base.snapshot(half).lights)

# %% [markdown]
# For a while a reader of *committed* data is shown −5. Nothing is broken: the payment is decided, its
# second marker is on the way, and no light is red. So what does *consistent* mean? Three things,
# which articles like to mix up:
#
# | consistency | says | of whom |
# |---|---|---|
# | the C of ACID | a rule of the application holds after each transaction | the data |
# | the C of CAP, *strong* | every read sees the newest finished write | one value, many copies |
# | *eventual*, as MQ offer it | once everything is delivered all agree | several logs, several moments |
#
# The C of CAP (consistency, availability, tolerance of a parted network) is about copies of one
# thing. What you saw was two *different* logs that end a transaction the same way, each at its own
# moment. More on that in [lab 07](07-markers-and-lso.ipynb).

# %% [markdown]
# ## One order, three brokers: what can go wrong?
#
# An order is created, and a message must say so: both or neither. RocketMQ, Kafka and Pulsar do it
# in different ways, but each goes through the same six stages. Keep their names; every lab uses them.
#
# | stage | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | **reserve** | half message into `RMQ_SYS_TRANS_HALF_TOPIC` | `Ongoing {partitions}` into `__transaction_state` | partitions and subscriptions into `__transaction_log_0` |
# | **write** | your service writes its own database | records straight into the partitions | messages into the topics, acknowledgements into the pending-ack log |
# | **decide** | your database commits | `PrepareCommit` | `COMMITTING` |
# | **publish the decision** | END_TRANSACTION, one-way; if it is lost the broker asks | WriteTxnMarkers to each leader | end of transaction to each topic and subscription |
# | **make visible** | a second message, into the real topic | a marker: the LSO moves | a marker: maxReadPosition moves, acknowledgements count |
# | **forget** | an op record names the half | `CompleteCommit` | `COMMITTED`, and its records are dropped |
# | *your call returns* | after publishing, unanswered | after *decide* | after *forget* |
# | *silence means* | ask the producer | abort, after a timeout | abort, after a timeout |
#
# So "transactional message" is not one thing. In RocketMQ it ties *one message to your database*,
# and you decide. In Kafka and Pulsar it ties *many messages and read positions together*, and a
# coordinator in the broker decides. The Kafka column, held to the engine:

# %% tags=["nbval-check-output"]
paid = scenario("""
system bank
run bank: init, begin, send accounts-0 A-5, send accounts-1 B+5, commit
""")
stages = {
    "reserve": "Ongoing",
    "write": "A-5 @0",
    "decide": "PrepareCommit",
    "your call returns": "ok epoch=1",
    "publish the decision": "WriteTxnMarkers",
    "make visible": "commit marker",
    "forget": "CompleteCommit",
}
steps = [first(paid, words) for words in stages.values()]
assert steps == sorted(steps)
for stage, step in zip(stages, steps, strict=True):
    print(f"{stage:<21} {step:>3}  {paid.facts[step - 1].line(width=11)}")

# %% [markdown]
# Between any two stages somebody can die, a message can be late, a reader can look. What then goes
# wrong has a name:
#
# | name | what happens |
# |---|---|
# | lost write | what was acknowledged, or believed to be, is gone |
# | duplicate | one message is stored or delivered twice |
# | dirty read | somebody reads what is not decided |
# | aborted read | somebody reads what was rolled back |
# | torn read | one part of a transaction is visible and another not yet |
# | zombie write | a process that has been replaced goes on writing |
# | orphaned half message | RocketMQ: nobody is left who could say how it ended; after 15 checks it is parked and never delivered |
# | hanging transaction | Kafka: open in a partition, unknown to its coordinator, so the LSO stands still for ever |
# | ack conflict | Pulsar: two transactions acknowledge one message, and the second is refused |
# | stuck consumer | a reader waits behind a transaction of somebody else |
#
# Some of them you have seen: the bank without a transaction that paid twice is a *duplicate*, the
# power cut a *lost write*, the −5 between two markers a *torn read*, the −5 of uncommitted readers
# first a *dirty*, later an *aborted read*.
#
# ## Where the brokers keep what
#
# Three questions to put to each map. What is gone when a process is killed? Where is the *decision*
# kept? Where are messages of a transaction that is still open? Blue takes part in a transaction.
#
# ### Kafka
#
# Any article that draws ZooKeeper here is older than Kafka 4.0: the controllers keep the metadata,
# as a log.

# %%
broker_map("kafka")

# %% tags=["nbval-check-output"]
print(map_table("kafka"))

# %% [markdown]
# ### RocketMQ
#
# One commit log holds the messages of all topics; the queues only point into it. The broker has no
# table of transactions: the decision is in your database, which is why the broker has to ask.

# %%
broker_map("rocketmq")

# %% tags=["nbval-check-output"]
print(map_table("rocketmq"))

# %% [markdown]
# ### Pulsar
#
# Brokers compute and keep nothing, bookies store: a broker that dies is replaced without copying a
# message. Tenants share a cluster, and clusters may copy each other over continents. The
# transaction log and the pending acknowledgements are ledgers of their own, not topics.

# %%
broker_map("pulsar")

# %% tags=["nbval-check-output"]
print(map_table("pulsar"))

# The answers below, as far as the engine knows them: Kafka's.
tables = {str(table.name) for table in safe.snapshot(undecided).tables}
assert any("__transaction_state" in name for name in tables), tables
debit = safe.snapshot(undecided).logs[0].cells[0]
assert debit.label == "A-5" and not debit.readable  # in the real log, and not yet shown

# %% [markdown]
# **Answers.** Where the decision is kept: Kafka in `__transaction_state`, Pulsar in
# `__transaction_log_0`, RocketMQ in *your* database. Where open messages are: in Kafka and Pulsar in
# the real topic, among all others; in RocketMQ in a topic of their own.

#
# ## How it came about
#
# Kafka was made at LinkedIn, in Scala, became open source early in 2011 and left the Apache
# incubator in October 2012. RocketMQ, from Alibaba, borrows ideas from Kafka and is no copy of it:
# one commit log for all topics, and a transaction that serves an order and its database row.
# Transactions came to Kafka with 0.11, to RocketMQ with 4.3.0, to Pulsar with 2.8.0. TubeMQ, CKafka,
# TDMQ, CMQ, CDMQ and Hippo are Tencent's.

# %%
from mqlab.lessons.lab00 import timeline, timeline_table

timeline()

# %% tags=["nbval-check-output"]
print(timeline_table())

# %% [markdown]
# ## Glossary
#
# English and Chinese, one sentence each. `glossary("lso")` or `glossary("半消息")` gives single terms.

# %%
glossary()

# %% [markdown]
# ## Map of the course
#
# | lab | question |
# |---|---|
# | 00, this one | one order, three brokers: what can go wrong? |
# | [07 Markers and the last stable offset](07-markers-and-lso.ipynb) | what may a reader see, and when? |
# | [11 Order → income](11-order-to-income.ipynb) | how is every order counted once, whatever dies? |
#
# ## Exit ticket
#
# A hotel takes a booking in one transaction: *room −1* in one partition, *bill +120* in another. The
# process is killed between the two, comes back, and never repeats that booking. The lobby's screen
# reads uncommitted, the ledger reads committed.

# %% jupyter={"source_hidden": true}
Predict(
    "What have the two been shown, a day later?",
    options=[
        "both: room −1, since what is written is written",
        "the ledger nothing; the screen room −1, a booking that does not exist",
        "neither anything: aborted records are deleted",
        "the ledger room −1 and then the bill: the broker finishes the transaction",
    ],
    answer=1,
    explanations=[
        "In the log, yes; a reader of committed data is not given what was aborted.",
        "An aborted read: uncommitted readers are not told that it was taken back.",
        "They stay in the log; only readers of committed data skip them.",
        "Nobody but the hotel knows the bill: an open transaction can be aborted, not finished.",
    ],
)

# %% [markdown]
# **What you know now.** A queue keeps messages and promises nothing about two of them. A transaction
# makes them one: all or nothing, for those who read committed. Decided is not yet visible, and
# written is not yet durable. Next: [what may a reader see, and when?](07-markers-and-lso.ipynb)
