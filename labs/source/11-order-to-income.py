# %% [markdown]
# # Lab 11 · Is the sum right after a crash?
#
# *90 minutes, or a short way of 20* · PySpark 4.3 against the engine's Kafka server (legacy client:
# confluent-kafka), `transaction.version` 2
#
# **In one paragraph.** A day of real orders from a British online gift shop arrives in topic *Order*.
# A Spark job adds up the income of each minute and writes it to topic *Income*, for *accounting*. Each
# order must be counted once, although any process of the job may be killed at any moment. In this lab
# you find out which ways of writing are right after a kill, and you write the rule that decides it.
# Then your rule is put into the real job, which is killed with `kill -9`.
#
# **The short way:** Hook, Predict, Run, Write the rule, What you know now. It needs no Spark. The other
# parts are folded under headings that begin with *Deeper*. A click on *cells hidden* below a heading
# opens its part. The first of them starts a broker and Spark, and those after it need that:
# *Run All Above Selected Cell* in the menu *Run* runs what stands above a part.
#
# **You need** lab 08, or these two sentences. A *transaction* makes its records visible all together or
# not at all. A new process with the same `transactional.id` *fences* the old one: what the old one has
# left open is aborted.

# %% [markdown]
# ## Hook: the job finished without a complaint. Is the sum right?
#
# Spark works in *micro-batches* (微批): all orders up to some moment are one batch. Spark numbers the
# batches and keeps two notes for each in a folder, the *checkpoint* (检查点). Before batch 3 runs, it
# writes `offsets/3`, which says what the batch consists of. When the batch is done, it writes
# `commits/3`. The code that hands a batch to the outside is called the *sink* (接收端).
#
# Here the job counts two hours of orders, in batches of half an hour, and its sink sends plain records
# to Kafka. When all records of batch 3 are acknowledged, the job is killed with `kill -9`. It is started
# again, and finishes. This is what accounting finds in topic *Income*:

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Follow,
    IncomeError,
    Predict,
    Trials,
    check,
    income,
    say,
    scenario,
    vary,
)
from mqlab.lessons.spark.lab11 import (
    COMMIT_RULES,
    DECIDE,
    GONE,
    HALF_HOUR,
    KEPT,
    KILL_MOMENTS,
    KILL_SINKS,
    KILLED,
    MOMENTS,
    RESUME,
    STEPS,
    Bench,
    Point,
    amounts_of_batches,
    bestsellers,
    compare_outputs,
    consumer,
    copies,
    fetch_offsets,
    kill_broker,
    play_both,
    play_sink,
    pounds,
    recorded_kills,
    serve,
    tabulate_levels,
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
amounts = amounts_of_batches(HALF_HOUR)
print("income of the two hours:", pounds(sum(amounts)))
print("added up by accounting: ", pounds(sum(amounts) + amounts[KILLED]))

# %% [markdown]
# That is a quarter too much, and there is no error anywhere. `commits/3` was not written yet, so Spark
# handed batch 3 to the sink again, and the sink sent it again. Spark's documentation says that its Kafka
# sink is *at least once*.

# %% [markdown]
# ## Predict
#
# The obvious repair is to write each batch in **one Kafka transaction**. The picture shows such a job,
# reduced to one batch, the income of the half hour from 12:30. Its transaction has committed. Then the job is
# killed, before Spark has written its `commits` note. It is started again, and is handed the same batch.

# %% jupyter={"source_hidden": true}
Predict(
    "11-one-transaction",
    trace=scenario("""
# One transaction per batch; the job dies after the commit and starts again
system sink producers=job:income-job,again:income-job owed=12:30=1621 last=again calls=4
run job: init, begin, send income-0 12:30=1621, commit
kill job
run again: init, begin, send income-0 12:30=1621, commit
"""),
    step=24,
)

# %% [markdown]
# ## Run: which sink, and which moment of death?
#
# Choose a sink and the moment at which the job dies in batch 3. The picture opens at the kill; play it to
# its end. Batch 3 is the half hour from 13:00, and batch 4 the one from 13:30. *Money* compares what was
# ordered with what accounting has added up. The third sink keeps the number of the batch *in the same
# transaction* as the rows. After a restart it reads this *progress record* (进度记录) before it writes.
#
# Nine runs are possible. Before you play one, guess whether the light stays green.

# %%
vary(play_sink, sink=list(KILL_SINKS), killed=list(KILL_MOMENTS))

# %% [markdown]
# | written | by | when |
# |---|---|---|
# | `offsets/N`: what batch N consists of | Spark, in the checkpoint | before the batch runs |
# | the rows of batch N, and perhaps its number | the sink, in Kafka | while it runs |
# | `commits/N`: batch N is done | Spark, in the checkpoint | after the sink has returned |
#
# Between the second and the third line the batch is done, and Spark does not know it. **Without a
# transaction**, all rows that had left the sink are doubled. **With a transaction**, a death *inside* the
# sink does no harm: the restarted job fences the old one, and the half-written transaction is aborted. After
# the commit a transaction does not help: the whole batch is in the topic, and is then written once more. Only
# a sink that keeps the number *together with* the rows can tell that the batch has been written.

# %% [markdown]
# ## Write the rule
#
# Now write what the third sink does. `progress` is the number of the last batch whose transaction
# committed (−1: none yet), and `batch` is the number of the one that Spark hands over. Answer `"write"`,
# `"skip"`, or `"stop"` when a person must look.
#
# Your rule is tried in three crashes, with the shop's real amounts. In the second somebody deletes the
# checkpoint after the kill, and in the third somebody creates topic *Income* again, empty. Two hints wait:
# `print(DECIDE.hint(1))`, then `print(DECIDE.hint(2))`. If the rule is not right yet, the message says which
# sum comes out, and the run that shows it opens.

# %% nbgrader={"solution": true, "grade_id": "decide"}
def decide(progress: int, batch: int) -> str:
    """What to do with this batch: "write" it, "skip" it, or "stop" the job."""
    ### BEGIN SOLUTION
    if batch == progress:
        return "skip"  # handed over again after a crash: it is in already
    if batch == progress + 1:
        return "write"
    return "stop"  # sink and checkpoint disagree: a person must look
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "decide-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("decide", decide)
### END HIDDEN TESTS
check(DECIDE, decide)

# %% [markdown]
# ## What you know now
#
# A transaction alone is not exactly once. Put the progress into the same transaction as the result, look
# at it before you write, and stop when the two disagree.
#
# The short way ends here. The parts below go deeper; 5 of the 10 points are there. To go on
# with this job, run the whole year (`mqlab income --year`), kill it wherever you like
# (`mqlab income chaos`), or point it at a Kafka of your own (`--bootstrap-server`). The next lab asks
# which broker, and whether you need its transaction at all: [lab 12](12-which-one.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("11")

# %% [markdown] tags=["deeper"]
# ## Deeper: does the real job double it too?

# %% [markdown]
# The short way computed its sums from the shop's amounts. Here is the job itself: a broker, Spark, and
# `kill -9` for the Java machine and the Python driver. It is the case of the hook, a sink without a
# transaction, killed after all rows of batch 3 are acknowledged. The first run takes up to a minute,
# because Spark starts. Later runs take a few seconds.

# %% tags=["volatile"]
broker = serve()
address = broker.address
bench = Bench(address)

# %% tags=["nbval-check-output"]
hook = bench.kill("at-least-once", Point.COMMITTED)
print(f"income {pounds(hook.tenths)}, should be {bench.expected}: {hook.error}")

# %% [markdown]
# It is the sum of the hook, to the penny.

# %% [markdown] tags=["deeper"]
# ## Deeper: is every line of a whole day counted?

# %% [markdown]
# 2011-12-05 was the busiest day of the year. There is one message per order line, keyed by invoice, in two
# partitions. The job reads them from topic *Order* in eight batches and writes each batch in one
# transaction. A minute is written when no more orders are expected for it; the moment up to which that
# is so is the *watermark* (水位线). Run the next three cells. The picture follows the broker's own log while
# the job works.
#
# At the end the job accounts for every line of the file, which other code reads a second time.
# *Rejected* lines could not be read as an order; as messages they are *dead* letters. *Late* lines
# came after their minute was written. *Unaccounted* lines are those that were read and are neither
# counted nor dead; they must all be late.

# %% tags=["volatile"]
live = Follow(broker.trace_url)
live

# %% tags=["nbval-check-output"]
day = income(address, name="day", say=print)

# %% tags=["nbval-check-output"]
print(day.account)
print(day.reconciliation)
print("total", day.total, "without Spark", day.expected)

# %% [markdown]
# Every line that was sent was read, and counted once. The next chart shows the income minute by minute.

# %%
import plotly.graph_objects as go

chart = go.Figure(go.Bar(x=[row.minute for row in day.rows], y=[row.pounds for row in day.rows]))
chart.update_layout(
    title=say("Income per minute, 2011-12-05 (UTC)"),
    xaxis_title=say("minute"),
    yaxis_title="£",
    template="plotly_white",
    height=320,
    margin={"l": 60, "r": 20, "t": 50, "b": 50},
)
chart

# %% [markdown] tags=["deeper"]
# ## Deeper: does accounting see aborted rows if it sets no level?

# %% [markdown]
# A transaction protects only those who read committed data. Suppose that accounting is a program of its own,
# and sets no `isolation.level`. The next cell asks this lab's client, librdkafka, on this lab's broker. One
# record is aborted, and then another one is committed. Which is the first that a consumer gets?

# %% tags=["nbval-check-output"]
print(tabulate_levels(address))

# %% [markdown]
# librdkafka reads committed data unless it is told otherwise. Java's consumer does not: its default is
# read_uncommitted (`ConsumerConfig`, lab 07). So never rely on a default here.

# %% [markdown] tags=["deeper"]
# ## Deeper: which amounts are below zero, and where is the progress?

# %% [markdown]
# A cancellation is income with a minus sign. A job that drops "impossible" quantities reports too much.
# Money is counted in whole tenths of a penny here, because a sum of floating-point numbers depends on the
# order of the additions, and then "equal to the truth" means nothing.

# %% tags=["nbval-check-output"]
lowest = min(day.rows, key=lambda row: row.tenths)
print(lowest.minute, pounds(lowest.tenths), "order lines:", lowest.lines)
prices = [row.pounds for row in day.rows]
print("floats agree, forwards and backwards:", sum(prices) == sum(reversed(prices)))

# %% [markdown]
# The progress record is in the broker, as a note on the job's own offsets, and the transaction that writes
# the rows writes it too. You can read it as you read the offsets of any consumer group:

# %% tags=["nbval-check-output"]
for place in fetch_offsets(consumer(address, "spark-income-day"), "Order-day", 2):
    print(f"{place.topic}-{place.partition} offset {place.offset}: {place.metadata}")

# %% [markdown] tags=["deeper"]
# ## Deeper: which of seven moments kills the sum of the real job?

# %% [markdown]
# Choose a sink and the moment of death, and press the button. The job starts, dies in batch 3, is started
# again with the same checkpoint, and its output is added up. Before each trial, say which error you expect.
# While it runs, *Money* shows what accounting has added up so far (the bar) and the sum that is due (the
# mark). Watch it at the kill, and when the job is back. For the broker an amount is a few bytes, so its live
# picture shows no money.

# %%
SINKS = ["at-least-once", "transactions", "exactly-once"]
kills = Trials(
    {"sink": SINKS, "killed": list(Point)},
    run=bench.trial,
    columns=["income", "error"],
    button="kill -9",
    caption=f"Two hours of orders; the income should be {bench.expected}",
    money=True,
)
kills

# %% [markdown]
# The next cell adds the four trials that tell the sinks apart, whatever you have tried before.

# %% tags=["nbval-check-output", "long"]
for sink, point in [
    ("at-least-once", Point.HALF),
    ("transactions", Point.OUT),
    ("transactions", Point.COMMITTED),
    ("exactly-once", Point.COMMITTED),
]:
    print(*kills.try_out(sink, point), sep=" · ")

# %% [markdown]
# Did the real job do what the model in *Run* did? Death *in the sink, half of the rows out* is new: a sink
# without a transaction then doubles half of a batch, and the sum gives no hint which half.
#
# At which moments do even *transactions* without a progress record come out right? Find them with the
# button. What do these moments have in common?
#
# Nothing was *lost*: the source can be read again. Losses need a wrong order (progress first) or a lost
# checkpoint. (All three sinks at all seven moments: `mqlab income chaos` in a terminal.)

# %% [markdown] tags=["deeper"]
# ## Deeper: is Spark's own sink any better?

# %% [markdown]
# Spark's own sink is `format("kafka")`. It comes as a separate connector. None is published for Spark 4.3,
# so the one of 4.2 runs here (four jars, fetched by Maven). It dies at the same moment as our first sink.

# %% jupyter={"source_hidden": true}
Predict("11-own-sink")

# %% tags=["volatile", "long"]
try:
    own = bench.kill("Spark's own", Point.COMMITTED)
    print(f"income {pounds(own.tenths)}, should be {bench.expected}: {own.error}")
except IncomeError as missing:
    print(missing)

# %% [markdown]
# It doubles exactly the batch that our at-least-once sink doubled. (Without Maven the cell says what is
# missing.) The reason is in the connector's code: `KafkaDataWriter` sends without a transaction, and the
# methods with which Spark tells a sink that a batch is done, `KafkaStreamingWrite.commit` and `.abort`, are
# empty. A patch that would have made it exactly once, SPARK-28908, was never merged.

# %% [markdown] tags=["deeper"]
# ## Deeper: in which order does the sink work?

# %% [markdown]
# The sink that is exactly once takes five steps with each batch. Put them in order. If the order is wrong,
# the message says what it breaks. Run the cell, then move the pieces: each move is written between the
# brackets.

# %% nbgrader={"solution": true, "grade_id": "steps"}
order = STEPS.arrange([
    ### BEGIN SOLUTION
    "fence", "read", "decide", "write", "commit"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "steps-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("steps", order)
### END HIDDEN TESTS
check(STEPS, order)

# %% [markdown] tags=["deeper"]
# ## Deeper: does your rule survive a real kill?

# %% [markdown]
# `check` computed its sums from the amounts of the batches, in milliseconds. Now put your rule into the
# sink of the real job, right or wrong, and kill it. The sums must be the same.

# %% tags=["nbval-check-output"]
bench.try_rule(decide)

# %% [markdown] tags=["deeper"]
# ## Deeper: and if the broker dies?

# %% [markdown]
# Until now only the job has died. But the broker is a process too. In this run the job has its own broker,
# which keeps its logs in a folder. In three of its batches this broker is killed with `kill -9` and started
# again on the same folder. Nobody touches the job.

# %% jupyter={"source_hidden": true}
Predict("11-broker-killed")

# %% tags=["nbval-check-output", "long"]
survived = kill_broker(say=print)
print(f"income {pounds(survived.tenths)}, should be {bench.expected}: {survived.error or 'ok'}")

# %% [markdown]
# No part of the job had to be started again, and no batch was run twice. The rows, the state of the
# transaction and the group's offsets are in the broker's logs. The client connects again and goes on with the
# same producer id and epoch. It repeats the requests that were not answered, and the sequence numbers show
# the broker which of them it has already (lab 05).
#
# A power cut is another matter. Data that the operating system has not written yet is gone then, unless
# the broker forces each write (`--fsync`). Kafka does not; it relies on copies on other brokers (lab 06).

# %% [markdown] tags=["deeper"]
# ## Deeper: which two things are called "exactly once"?

# %% [markdown]
# **Of a messaging service:** a record that is sent is in the log once, however often it was sent. The
# leader remembers the last batches of each producer and recognises a repetition (lab 05).
#
#     producer ──  a  ──────────▶  log: a
#              ──  a (again) ──▶  log: a            a duplicate: answered, not written
#
# **Of read, compute, save:** each record that is read has its effect once, whichever process dies in
# between. For that the result *and the position of the reader* must be saved together, or not at all
# (lab 08).
#
#     topic Order ──▶ read ──▶ compute ──▶ ┌ rows to topic Income ┐
#                      ▲                   └ the progress record  ┘  one transaction
#                      └────────────── where to go on ──────────────┘
#
# The first does not give you the second. A transactional producer is always idempotent too, and yet the sink
# with transactions but without a progress record wrote a batch twice.

# %% [markdown] tags=["deeper"]
# ## Deeper: must both ends be Kafka?

# %% [markdown]
# An article says of exactly-once that source and sink must both be Kafka. The next cell lets you change both.
# As its sink the job may have a database, with one transaction per batch. As its source it has topic *Order*
# as it is (*kept*), or a source that forgets the records that it has delivered, as many queues do; here the
# broker deletes them. Which of these jobs is right after a kill? Guess first. Then try them with the button,
# or run the cell below it.

# %%
ends = Trials(
    {
        "source": [KEPT, GONE],
        "sink": [
            "a database", "a database that overwrites", "a database with the progress",
            "exactly-once",
        ],
        "killed": [Point.COMMITTED, Point.OUT],
    },
    run=bench.try_ends,
    columns=["income", "error"],
    button="kill -9",
    caption=f"Other ends than Kafka's; the income should be {bench.expected}",
    money=True,
)
ends

# %% tags=["nbval-check-output", "long"]
for source, sink, point in [
    (KEPT, "a database", Point.COMMITTED),
    (KEPT, "a database with the progress", Point.COMMITTED),
    (GONE, "exactly-once", Point.OUT),
]:
    print(*ends.try_out(source, sink, point), sep=" · ")

# %% [markdown]
# - **A database** needs the same as Kafka: rows and progress record in *its* transaction. A database that
#   *overwrites* (its key is the minute) is right without a progress record, as long as a batch that is handed
#   over again has the same rows.
# - **A source that forgets** makes a right sum impossible, although Kafka stands at both ends: the batch that
#   the dead job was working on no longer exists anywhere. The job finds that out, and stops.
#
# So “Kafka at both ends” is not the rule. The source must be one that can be read again from a known place,
# and the sink must know its progress, or give the same result when a batch is written to it twice. A mail
# server is no such sink: it keeps no progress for you, and a mail that is sent twice arrives twice.
#
# It was reported in public, for example: `mqlab incidents the-batch-is-there-twice`.

# %% [markdown] tags=["deeper"]
# ## Deeper: how does Flink do it, without batches?

# %% [markdown]
# Apache Flink computes record by record; it has no batches. To be able to start again, it stores the state of
# the whole job from time to time. The job manager (`jm`) tells the sources to send a *barrier* (屏障) down
# their channels, between two records. The records before it belong to this checkpoint, those behind it to the
# next. A task that gets the barrier notes its state: the source its offset, the counting task (`sum`) its
# count. At the barrier the sink stores the rows in an open transaction (*pre-commit*). When all tasks have
# acknowledged, the job manager writes the *checkpoint* to disk, and the sink commits.
#
# The next picture shows a small job of Flink's kind beside one of Spark's. Both get the orders a1 and a2. In
# both, the process that writes to the output is killed right after the decision, and started again. At that
# moment Flink's checkpoint is on disk, and the transaction of Spark's sink is committed.

# %% jupyter={"source_hidden": true}
Predict("11-same-crash")

# %%
play_both()

# %% [markdown]
# One slider moves both jobs. The moments that they share stand at the same height: the order arrives, the
# rows are written and hidden, the decision, the kill, the restart. In between each job takes its own
# steps. Compare the two after the restart: one commits, the other only writes a note.
#
# Then look at a2, which arrives while a1 is on its way into the output. In Spark it waits in topic
# *Order* for the next batch. In Flink it flows on behind the barrier, and reaches the sink *before* the
# checkpoint is on disk: a checkpoint is taken *asynchronously*, no task waits for it. After the
# restart the source sends a2 again: records behind the barrier are *computed again*.
#
# **Why can Flink not do it alone?** Suppose its sink commits at the barrier, without waiting for the
# checkpoint.

# %% jupyter={"source_hidden": true}
Predict("11-barriers-alone")

# %% [markdown]
# Choose the moment of death and the sinks. In the second choice each sink lacks one rule: Flink's does
# not wait for the checkpoint, Spark's does not look at its progress record. Below the picture
# a light names the promise that breaks. The second cell has all moments as a table.

# %%
vary(play_both, killed=list(MOMENTS), sinks=list(COMMIT_RULES))

# %% tags=["nbval-check-output"]
print(*(compare_outputs(sinks) for sinks in COMMIT_RULES), sep="\n\n")

# %% [markdown]
# Each sink fails at one moment only, and not at the same one. Flink's fails *before* the decision: there is
# no complete checkpoint, and a1 is computed again. Spark's fails *after* it: the checkpoint does not know
# yet. Barriers make each order count once in the job's *state*. The output is not part of that state. It must
# be able to hide rows until the checkpoint is on disk, and for that Flink needs Kafka's transactions. (Every
# crash of both models can be searched: `mqlab explore barriers`, `mqlab explore micro_batches`; `--off NAME`
# leaves a rule out.)

# %% [markdown] tags=["deeper"]
# ## Deeper: who ends a transaction that has outlived its process?

# %% [markdown]
# Now the real job gets a sink of Flink's kind, with Spark's batches in the place of barriers:
# pre-commit of batch N → `commits/N` is written → commit of batch N. It is killed between the last two.

# %% jupyter={"source_hidden": true}
Predict(
    "11-pre-commit",
    trace=scenario("""
# Pre-commit, then the checkpoint; killed before the commit
system sink producers=job:income-job,again:income-job owed=13:00=4667 last=again calls=1
run job: init, begin, send income-0 13:00=4667
kill job
run again: init
fire again
"""),
    step=14,
)

# %% [markdown]
# So the new process must not simply begin. First it must decide about the open transaction. `prepared` is the
# batch whose rows are in it, `checkpoint` the last batch that the checkpoint records as done (−1: none).
# Answer `"commit"`, `"abort"`, or `"stop"` when a person must look. In one of three deaths somebody sets the
# checkpoint back to an earlier batch before the restart, to have some orders counted again. Two hints wait:
# `print(RESUME.hint(1))`, then `print(RESUME.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "resume"}
def resume(prepared: int, checkpoint: int) -> str:
    """What to do with the open transaction of this batch: "commit" it, "abort" it, or "stop"."""
    ### BEGIN SOLUTION
    if prepared <= checkpoint:
        return "commit"  # Spark never hands it over again
    if prepared == checkpoint + 1:
        return "abort"  # Spark hands it over again, and nothing else that is in
    return "stop"  # batches come again that were committed long ago: a person must look
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "resume-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("resume", resume)
### END HIDDEN TESTS
check(RESUME, resume)

# %% [markdown]
# Now your rule is put into the sink of the real job. Which part is done again?

# %% tags=["nbval-check-output"]
bench.try_resume(resume)

# %% [markdown]
# Before the checkpoint, the whole batch is done again. After it, only the commit is.
#
# The next table is from a recorded run: the same day in this lab's job and in a real Flink with its own
# Kafka sink. Both were killed with `kill -9` at the same instants, and started again. (To repeat it in a
# terminal: `mqlab income flink --setup`, then `mqlab income flink --kill`.)

# %% tags=["nbval-check-output"]
print(recorded_kills())

# %% [markdown]
# Both jobs are right after every kill, if the sink is exactly once. *Seen twice* counts the minutes whose
# rows were written, aborted and written again. Only a reader that also takes aborted rows gets them twice.
# With at-least-once sinks every reader gets them twice. Spark's total is then too *small*, because the batch
# that is there twice holds two large cancellations. The seconds are those of one busy machine; after “both
# told” Flink had no minute left to write.
#
# | | Spark, as in this lab | Flink's Kafka sink |
# |---|---|---|
# | order | offsets → run → **sink commits** → commits | pre-commit at the barrier → checkpoint durable → **commit** |
# | the decision | the sink's own transaction, with the progress record in it | the checkpoint |
# | after a crash | the batch is handed over again, the progress record says whether it is done | transactions named in the checkpoint are committed again |
# | a transaction that timed out | the batch is run again: nothing is lost | fenced, logged, possibly lost: timeouts must be long |
# | readers wait for | an open transaction of some milliseconds | one open from barrier to checkpoint |
#
# A client library cannot end the transaction of another process. Flink sets producer id and epoch inside
# Kafka's client by reflection; the job above sends the request (EndTxn) by hand.
#
# It was reported in public, for example: `mqlab incidents checkpoint-complete-records-gone`.

# %% [markdown] tags=["deeper"]
# ## Deeper: where does one duplicate show?

# %% [markdown]
# Suppose a screen on the wall shows the income of each minute. Here it shows the job without a
# transaction, which was killed once:

# %%
rows, times = hook.rows, copies(hook.rows)
wall = go.Figure()
bars = [
    (1, say("counted once"), "#0072b2"),
    (2, say("counted twice"), "#d55e00"),
]
for which, name, colour in bars:
    part = {row.minute: row.pounds * which for row in rows if times[row.minute] == which}
    wall.add_bar(x=list(part), y=list(part.values()), name=name, marker_color=colour)
wall.update_layout(
    title=say("Income per minute as a screen shows it, 2011-12-05 (UTC)"),
    xaxis_title=say("minute"),
    yaxis_title="£",
    template="plotly_white",
    height=320,
    margin={"l": 60, "r": 20, "t": 50, "b": 50},
)
wall

# %% [markdown]
# A second screen shows the five best-selling products, from the same rows. Can anybody see there that
# something is wrong?

# %% tags=["nbval-check-output"]
once = {row.minute: row for row in rows}.values()
print(sum(n == 2 for n in times.values()), "of", len(times), "minutes show twice their income")
print(say("the five bestsellers are the same:"), bestsellers(rows) == bestsellers(once))
print(*bestsellers(rows), sep="; ")

# %% [markdown]
# A minute's income rests on a few rows, so a row that is counted twice is seen at once. A ranking rests on
# thousands, and stays as it is although many of them are counted twice. *Exactly once* is worth its price
# where people look at single numbers, or pay them. For a list of recommendations at least once may be enough.

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown]
# The last question has another store at the end. When you have answered it, the cell below stops the
# broker and Spark.

# %% jupyter={"source_hidden": true}
Predict("11-exit-ticket")

# %%
live.stop()
bench.stop()
broker.stop()
