# %% [markdown]
# # Lab 12 · Which one?
#
# *60 minutes, or a short way of 25* · Kafka 4.3, RocketMQ 5.5, Pulsar 4.2, and an outbox
#
# **In one paragraph.** The gift shop has five jobs for a message queue, and four ways to be sure of a message:
# a transaction of Kafka, of RocketMQ or of Pulsar, or a table in its own database. In this lab you send one
# order each way, kill a process at the same moment of each, and count what it costs. Then you choose a way for
# each of the five jobs, and name the runs that forbid the others.
#
# **The short way:** Hook, Predict, Run, Choose, What you know now. The other parts are folded under headings
# that begin with *Deeper*. A click on *cells hidden* below a heading opens its part.
#
# **You need** labs 03, 06 and 09, or these sentences. In *RocketMQ* a message waits as a half until the
# sender's database row decides. In *Kafka* and *Pulsar* a *coordinator* (事务协调者) decides about records in
# several logs, together with what was read. An *outbox* (发件箱) is a table beside your rows: one local
# transaction writes a row and its message, and a process named *relay* (中继) sends what stands in the table.

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
# ## Hook: do you need a broker's transaction at all?
#
# An order is paid. The shop writes a row into its database. Stock and accounting must hear of it, and a
# follow-up goes to a second topic. Before you compare ways to do that, think of something smaller:

# %% jupyter={"source_hidden": true}
Predict("12-need")

# %% [markdown]
# Now answer six questions about a system of your own. Below stands what follows: a way, its price, its settings
# with the run that hurts without each, and the clients in your language. *Change one answer at a time: which of
# them change the advice?*

# %%
vary(advise_me, **list_menus())

# %% [markdown]
# ## Predict
#
# Here is the same order in Pulsar. The coordinator has written its decision, COMMITTING, and then it dies.
# Its three messages have left, and none of them has arrived. In a moment the coordinator is started again.
# Choose an answer and lock it; then the run goes on for about three minutes. The button ⏭ below the picture jumps
# to its end.

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
# The four pictures are one clock: **reserve → write → decide → publish the decision → make visible → forget**.
# They open at the end, at the level *Story*. Drag the slider of the first one. *Ask at each stage: who could read
# the order now, and what does the caller know?* At the level *Protocol* the line below it says what Kafka is
# doing: `Ongoing` reserves, `T1 @0` is the write, `PrepareCommit` decides, a `commit marker` publishes the
# decision, `T1; commit` is visible, and `CompleteCommit` forgets.

# %%
kill_ways()

# %% [markdown]
# Now choose after which stage a process dies. The *keeper* is the process that carries the decision on:
# Kafka's and Pulsar's coordinator, RocketMQ's broker, the outbox's relay. The *sender* is the process that has
# the order. At the end of each run it is replaced, or comes back.

# %%
vary(kill_ways, moment=list(MOMENTS), role=["keeper", "sender"])

# %% [markdown]
# In each of these runs stock gets the order exactly once in the end. The difference is in between: when it
# can be seen, what the caller is told, and who must do something.
#
# | | Kafka | RocketMQ | Pulsar | outbox |
# |---|---|---|---|---|
# | joins | records, and positions that were read | one message and your database's row | messages and acknowledgements | your row and its message |
# | decides | the coordinator's log | your database | the coordinator's log | your database |
# | votes | nobody | the local transaction | nobody | nobody |
# | your call returns | after *decide* | after *publish*, unanswered | after *forget* | after *decide* |
# | silence means | abort, after a timeout | ask the producer | abort, after a timeout | the relay tries again |

# %% [markdown]
# ## Choose
#
# Five jobs wait. Choose a way for each, and name the runs that forbid the ways that a colleague proposes.
#
# | situation | what is asked | the colleague proposes |
# |---|---|---|
# | order service | It writes a row of the order into its database, and stock must hear of every row. Stock knows orders by their numbers. | kafka, pulsar, plain |
# | aggregates | A job reads the topic of orders and writes the income of each minute to another topic. An old process may still live. | pulsar, outbox, rocketmq |
# | fan-out | Workers take tasks from a shared queue and pass each on to the next department's queue. One slow task must hold up no other one. | kafka, rocketmq, plain |
# | nightly file | Once a night a program sends the 500,000 lines of a file. It takes an hour, and when it breaks off it starts again from the top. Consumers store lines by their numbers. | kafka, pulsar |
# | payment provider | For each order a program calls a provider, which charges a card. No card may be charged twice. | kafka, pulsar, rocketmq, outbox, plain |
#
# The ways are `kafka`, `rocketmq`, `pulsar`, `outbox`, `plain` (messages without a transaction, sent until they
# are acknowledged) and `key` (an idempotency key that the one who is called stores with its effect). For the
# order service two ways fit; one is enough. These are the runs:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_runs())

# %%
vary(play_run, run=list(RUNS))

# %% [markdown]
# Write a line for each situation, as in `aggregates: outbox, because zombie and late-end`. A choice without a
# run earns nothing, and neither does a run that forbids nothing here. Two hints wait: `print(CHOICE.hint(1))`,
# then `print(CHOICE.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "choice"}
# A line for each of the five situations.
choice = ""
### BEGIN SOLUTION
# First what must happen together, then who can tell that something came again.
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
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
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
# The short way ends here, and all points of this lab are in it. The parts below go deeper. The next
# lab asks you to write a coordinator yourself: [lab 13](13-build-a-coordinator.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("12")

# %% [markdown] tags=["deeper"]
# ## Deeper: what becomes of the order, kill by kill?

# %% [markdown]
# Each cell of the next tables is a run: the orders that stock can have while the process is dead → in the end,
# and what the caller was told of its last call. First the sender dies after a stage, then the keeper. In the row
# *decide, nothing sent* the decision is in a log, and the process dies before it sends it.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_stages("sender"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_stages("keeper"))

# %% [markdown]
# Two things stand out. Pulsar's caller hears TransactionNotFoundException of a transaction that is
# committed: an exception of a commit does not say that nothing happened. And in the row *decide, nothing sent*
# the order is decided in all four ways, and nobody sees it until the keeper is back. Kafka's caller has heard
# `ok` by then. Nothing is lost, but it is late; with RocketMQ's sender the twin must be there to answer.

# %% [markdown] tags=["deeper"]
# ## Deeper: what does one order cost?

# %% [markdown]
# The next table counts the messages of all processes, the writes to their disks, and the flushes that somebody
# waits for, in the four runs above.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_prices())

# %% [markdown]
# The outbox tells its caller first: one local commit. It pays later, with the relay's and the consumers'
# writes. Kafka's and Pulsar's runs have no flush, because nobody in them waits for one: Kafka acknowledges
# when its replicas have a record in memory, and the model counts what Pulsar's bookies store as a write. The
# runs do not do the same work: Kafka's and Pulsar's write two topics and what was read, RocketMQ's writes one
# message.

# %% [markdown] tags=["deeper"]
# ## Deeper: which anomaly is possible where?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("kafka"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("pulsar"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("rocketmq"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("outbox"))

# %% [markdown]
# The sign says it first. ✓ *impossible* is a search that ended. ✗ *possible* is a run. ▣ *only if X is off* is
# both: a run with a safeguard off, and a search with it on. ◐ *only with X* is both too: a run with an option, and
# a search without it; ◐ *excluded with X* depends on what the client asks for. ○ *not covered* is about something
# outside of the transaction, so it can happen. Words in brackets say what a cell covers: Kafka's *duplicate* is
# about the retries of one session, and lab 05 shows two runs beyond it. `mqlab matrix --reasons` names all runs
# and searches, and `mqlab matrix --check` does them again.

# %% [markdown] tags=["deeper"]
# ## Deeper: what provides A, C, I and D?

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar | outbox |
# |---|---|---|---|---|
# | atomic | PrepareCommit decides for all partitions; markers follow | your database decides; the check asks until it hears | COMMITTING decides for all topics and subscriptions | the local commit decides for row and message |
# | consistent | your program's business | your program's business | your program's business | your database's constraints |
# | isolated | `read_committed`, which the Java consumer does not have by default; not at one moment in all partitions | a half is in a topic that nobody reads | maxReadPosition, for every consumer | a reader of the topic sees an order later than a reader of the table |
# | durable | replicas; a power cut of all of them may take a commit | by default a half is acknowledged before it is on the disk | as its ledgers are stored | your database's log |
#
# Articles say that all of them are two-phase commit. A partition of Kafka is not asked for a vote, and
# neither is a topic of Pulsar: the coordinator decides alone, and the second phase is there. RocketMQ's
# half is a prepare, and the local transaction is the one vote. One of them says that all keep transactional
# messages in a special topic. RocketMQ does; Kafka and Pulsar write them in place, and the special topic
# there is a *log of transactions*. RocketMQ has no such log, only halves and op records. It also says that
# Pulsar, which has transactions since 2.8.0, is closer to Kafka and has no check-back. That is right: in
# both of them silence means abort, after a timeout, and nobody asks the sender. RocketMQ's way is also
# called two-phase commit plus compensation. The check is no compensation: it undoes nothing, it asks what
# was decided.

# %% [markdown] tags=["deeper"]
# ## Deeper: a database row inside a Kafka transaction?

# %% [markdown]
# A team has Kafka and wants what RocketMQ has. It begins a Kafka transaction, sends the message, commits
# the row, and then commits in Kafka. There is no check-back: nobody asks the database after a crash.
#
# | the service dies | row | message |
# |---|---|---|
# | before the row's commit | no | aborted |
# | between the two commits | **yes** | aborted: nobody asks about the row |
# | behind both | yes | yes |
#
# Turned round, the middle line has a message without a row. An outbox has one commit, so it has no middle line.
#
# It is the same with **two clusters**. A transaction of Kafka ends at its cluster: one that reads in one
# cluster and writes in another has two commits. A position in the cluster of the output, or a consumer that
# knows numbers, mends that.
#
# **Kafka's share groups** (KIP-932) acknowledge messages one by one, as Pulsar does. In 4.2 these
# acknowledgements are outside of transactions, so for the fan-out above they are `plain`.

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | “transactional message” means the same everywhere | a row and one message, or many messages and what was read | Run |
# | exactly once needs only the broker | an effect outside is in no transaction: it needs a key, or the sink must be in it | Choose |
# | an exception means that nothing happened | the order is there, and commit throws | Predict |
# | a broker's transaction is always the safer way | an open one has a deadline, and holds others back | Choose |
# | an outbox loses what its relay has not sent | the row is there; the order is late | kill by kill |
# | all of them are two-phase commit | in Kafka and Pulsar nobody votes | A, C, I and D |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown]
# A bakery writes each sale into its database. Its accountant, in another company, reads the sales from a topic.

# %% jupyter={"source_hidden": true}
Predict("12-exit-ticket")
