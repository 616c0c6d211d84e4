# %% [markdown]
# # Lab 12 · Which one?
#
# *60 minutes, or a quick route of 25* · Kafka 4.3, RocketMQ 5.5, Pulsar 4.2, and an outbox
#
# **In one paragraph.** The gift shop has five jobs for a message queue, and four ways to make sure of a
# message: a Kafka, RocketMQ or Pulsar transaction, or a table in its own database. In this lab you send one
# order each way, kill a process at the same moment in each, and count what it costs. Then you choose a
# solution for each of the five jobs, and name the examples that rule out the others.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden* under
# a heading to open one.
#
# **You need** labs 03, 06 and 09, or these sentences. In *RocketMQ* a message waits as a half message until
# the sender's database row decides. In *Kafka* and *Pulsar* a *coordinator* (事务协调者) decides about records in
# several logs, together with what was read. An *outbox* (发件箱) is a table beside your rows: one local
# transaction writes a row and its message, and a process called the *relay* (中继) sends the messages in the
# table.

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, vary
from mqlab.lessons.lab12 import (
    CHOICE,
    MOMENTS,
    RUNS,
    advise_me,
    compare_anomalies,
    compare_prices,
    compare_stages,
    die_after_deciding,
    first,
    kill_ways,
    list_menus,
    list_runs,
    play_run,
)

# %% [markdown]
# ## Do you need a broker's transaction at all?
#
# An order is paid. The shop writes a row into its database. Stock and accounting need a message about it, and
# a follow-up goes to a second topic. Before you compare ways to do that, think of something smaller:

# %% jupyter={"source_hidden": true}
Predict("12-need")

# %% [markdown]
# Now answer six questions about a system of your own. The advice appears below: a solution, its cost, its
# settings with an example of what goes wrong without each, and the clients in your language. *Change one
# answer at a time: which of them change the advice?*

# %%
vary(advise_me, **list_menus())

# %% [markdown]
# ## Predict
#
# Here is the same order in Pulsar. The coordinator has written its decision, COMMITTING, and then it dies.
# Its three messages were sent, and none of them has arrived. In a moment the coordinator is started again.
# Choose an answer and lock it; then the execution continues for about three minutes. The button ⏭ below the
# picture jumps to its end.

# %% jupyter={"source_hidden": true}
pulsar = die_after_deciding("pulsar")
seen = ("diagram", "readers", "lights")
Predict(
    "12-told",
    trace=pulsar,
    step=first(pulsar, "killed"),
    panels=seen,
    told=seen,
    level="story",
)

# %% [markdown]
# ## Run: one order, four ways, one clock
#
# The four pictures share one clock: **reserve → write → decide → publish the decision → make visible →
# forget**. They open at the end, at the level *Story*. Drag the slider of the first one. *Ask at each stage:
# who could read the order now, and what has the caller been sent?* At the level *Protocol* the line below the
# slider shows what Kafka is doing: `Ongoing` reserves, `T1 @0` is the write, `PrepareCommit` decides, a
# `commit marker` publishes the decision, `T1; commit` is visible, and `CompleteCommit` forgets.

# %%
kill_ways()

# %% [markdown]
# Now choose after which stage a process dies. The *coordinator* here is the process that carries out the
# decision: Kafka's and Pulsar's coordinator, RocketMQ's broker, the outbox's relay. The *sender* is the
# process that has the order. At the end each is replaced, or comes back.

# %%
vary(kill_ways, moment=list(MOMENTS), role=["coordinator", "sender"])

# %% [markdown]
# In the end stock gets the order exactly once, with one exception: RocketMQ's client gives up a send after
# three attempts. If the broker dies before it has stored the half message, the caller has to send the order
# again. The difference is in between: when the order can be seen, what answer the caller gets, and which
# process must act.
#
# | | Kafka | RocketMQ | Pulsar | outbox |
# |---|---|---|---|---|
# | joins | records, and positions that were read | one message and your database's row | messages and acknowledgements | your row and its message |
# | decides | the coordinator's log | your database | the coordinator's log | your database |
# | votes | no process | the local transaction | no process | no process |
# | your call returns | after *decide* | after *publish*, unanswered | after *forget* | after *decide* |
# | silence means | abort, after a timeout | ask the producer | abort, after a timeout | the relay tries again |

# %% [markdown]
# ## Choose
#
# Choose a solution for each of five jobs, and name the examples that rule out what a colleague proposes.
#
# | situation | what is asked | the colleague proposes |
# |---|---|---|
# | order service | It writes a row of the order into its database, and stock must get every order. Stock recognises orders by their numbers. | kafka, pulsar, plain |
# | aggregates | A job reads the topic of orders and writes the income of each minute to another topic. An old process may still be alive. | pulsar, outbox, rocketmq |
# | fan-out | Workers take tasks from a shared queue and pass each on to the next department's queue. One slow task must not hold up the others. | kafka, rocketmq, plain |
# | nightly file | Once a night a program sends the 500,000 lines of a file. It takes an hour, and if it is interrupted it starts again from the top. Consumers store lines by their numbers. | kafka, pulsar |
# | payment provider | For each order a program calls a provider, which charges a card. No card may be charged twice. | kafka, pulsar, rocketmq, outbox, plain |
#
# The solutions are `kafka`, `rocketmq`, `pulsar`, `outbox`, `plain` (messages without a transaction, sent
# until they are acknowledged) and `key` (an idempotency key that the called service stores with its effect).
# For the order service two solutions fit; one is enough. These are the examples:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_runs())

# %%
vary(play_run, example=list(RUNS))

# %% [markdown]
# Write a line for each situation, as in `aggregates: outbox, because zombie and late-end`. A choice without
# an example earns nothing, and neither does an example that rules out nothing here. Two hints are available:
# `print(CHOICE.hint(1))`, then `print(CHOICE.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "choice"}
# A line for each of the five situations.
choice = ""
### BEGIN SOLUTION
# First what must happen together, then which side can recognise a duplicate.
choice = """
order service: outbox, because row-beside
aggregates: kafka, because zombie, published-twice and late-end
fan-out: pulsar, because position-first and worked-twice
nightly file: plain, because too-slow
payment provider: key, because counted-again
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "choice-test", "points": 10}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("choice", choice)
### END HIDDEN TESTS
check(CHOICE, choice)

# %% [markdown]
# ## What you know now
#
# “Transactional message” means two things. In RocketMQ it is one message and a local transaction, and your
# database decides. In Kafka and Pulsar it is many messages and what was read, and a coordinator decides. First
# ask what must happen together; then the choice is small, and sometimes it is *none of them*.
#
# The quick route ends here, and has all points of this lab. In the next lab you write a coordinator yourself:
# [lab 13](13-build-a-coordinator.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("12")

# %% [markdown] tags=["deeper"]
# ## What becomes of the order, crash by crash?

# %% [markdown]
# Each cell of the next tables is an execution: the orders that stock can have while the process is dead → in
# the end, and the answer to the caller's last call. First the sender dies after a stage, then the
# coordinator. In the row *decide, nothing sent* the decision is in a log, and the process dies before sending
# it.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_stages("sender"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_stages("coordinator"))

# %% [markdown]
# Three things stand out:
#
# - In the first row RocketMQ's caller gets no answer, and stock never gets the order. Nothing was stored, so
#   the caller has to send the order again.
# - Pulsar's caller gets TransactionNotFoundException for a transaction that is committed. A commit exception
#   does not mean that nothing happened.
# - In the row *decide, nothing sent* the order is decided in all four solutions, but invisible until the
#   coordinator is back. By then Kafka's caller already has `ok`. Nothing is lost, but it is late. When
#   RocketMQ's sender dies, a second instance must answer the check.

# %% [markdown] tags=["deeper"]
# ## What does one order cost?

# %% [markdown]
# The next table counts the messages of all processes, the writes to their disks, and the flushes that a
# process waits for, in the four executions above.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_prices())

# %% [markdown]
# The outbox answers its caller first: one local commit. Its cost comes later: the relay's and the consumers'
# writes. Kafka shows no flush, because it acknowledges when its replicas have a record in memory. Pulsar's
# bookies flush before they answer; the table counts each time as a write only. The four do not do the same
# work: Kafka and Pulsar write two topics and what was read, RocketMQ writes one message.

# %% [markdown] tags=["deeper"]
# ## Which anomaly is possible where?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("kafka"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("pulsar"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("rocketmq"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("outbox"))

# %% [markdown]
# The sign gives the evidence. ✓ *impossible*: a search covered everything and found nothing. ✗ *possible*:
# there is an example. ▣ *only if X is off* has both: an example with a safeguard off, and a search with it
# on. So has ◐ *only with X*: an example with an option, and a search without it. ◐ *excluded with X* depends
# on what the client requests. ○ *not covered* is outside of the transaction, so it can happen. Words in
# brackets limit a cell: Kafka's *duplicate* is about the retries of one session, and lab 05 shows two
# examples beyond it. `mqlab matrix --reasons` lists all examples and searches, and `mqlab matrix --check`
# repeats them.

# %% [markdown] tags=["deeper"]
# ## What provides A, C, I and D?

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar | outbox |
# |---|---|---|---|---|
# | atomic | PrepareCommit decides for all partitions; markers follow | your database decides; the broker checks until it gets an answer | COMMITTING decides for all topics and subscriptions | the local commit decides for row and message |
# | consistent | your program's business | your program's business | your program's business | your database's constraints |
# | isolated | `read_committed`, which the Java consumer does not have by default; not at one moment in all partitions | a half message is in a topic that no consumer reads | maxReadPosition, for every consumer | a reader of the topic sees an order later than a reader of the table |
# | durable | replicas; a power cut of all of them may take a commit | by default a half message is acknowledged before it is on the disk | as its ledgers are stored | your database's log |
#
# Articles say that all of them are two-phase commit. But no Kafka partition and no Pulsar topic votes: the
# coordinator decides alone, and only the second phase is there. RocketMQ's half message is a prepare, and the
# local transaction is the one vote. One article says that all keep transactional messages in a special topic.
# RocketMQ does; Kafka and Pulsar write them in place, and their special topic is a *transaction log*.
# RocketMQ has no such log, only half messages and op records. The article also says that Pulsar, which has
# had transactions since 2.8.0, is closer to Kafka and has no check-back. That is right: in both, silence
# means abort, after a timeout, and the sender is not asked. RocketMQ's protocol is also called two-phase
# commit plus compensation. But the check compensates for nothing: it undoes nothing, it asks what was
# decided.

# %% [markdown] tags=["deeper"]
# ## A database row inside a Kafka transaction?

# %% [markdown]
# A team has Kafka and wants what RocketMQ has. It begins a Kafka transaction, sends the message, commits the
# row, and then commits in Kafka. There is no check-back: after a crash Kafka does not ask the database.
#
# | the service dies | row | message |
# |---|---|---|
# | before the row's commit | no | aborted |
# | between the two commits | **yes** | aborted: Kafka does not ask about the row |
# | after both | yes | yes |
#
# In the opposite sequence, the middle line has a message without a row. An outbox has one commit, so it has
# no middle line.
#
# It is the same with **two clusters**. A Kafka transaction ends at its cluster: a program that reads in one
# cluster and writes in another has two commits. The remedy is to store the position in the output's cluster,
# or a consumer that recognises numbers.
#
# **Kafka's share groups** (KIP-932) acknowledge messages one by one, as Pulsar does. In 4.2 these
# acknowledgements are outside of transactions, so for the fan-out above they are `plain`.

# %% [markdown] tags=["deeper"]
# ## Which beliefs did this lab refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | “transactional message” means the same everywhere | a row and one message, or many messages and what was read | Run |
# | exactly once needs only the broker | an effect outside is in no transaction: it needs a key, or the sink must be in it | Choose |
# | an exception means that nothing happened | the order is there, and commit throws | Predict |
# | a broker's transaction is always safer | an open one has a deadline, and holds others back | Choose |
# | an outbox loses what its relay has not sent | the row is there; the order is late | crash by crash |
# | all of them are two-phase commit | in Kafka and Pulsar no participant votes | A, C, I and D |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A bakery writes each sale into its database. Its accountant, in another company, reads the sales from a topic.

# %% jupyter={"source_hidden": true}
Predict("12-exit-ticket")
