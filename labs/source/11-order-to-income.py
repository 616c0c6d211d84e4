# %% [markdown]
# # Lab 11 · Is the sum right after a crash?
#
# *90 minutes, or a quick route of 20* · PySpark 4.3 against the engine's Kafka server (legacy client:
# confluent-kafka), `transaction.version` 2
#
# **In one paragraph.** A day of real orders from a British online gift shop arrives in topic *Order*. A Spark
# job adds up the income of each minute and writes it to topic *Income*, for *accounting*. Each order must be
# counted once, although any process of the job may be killed at any moment. In this lab you find out which
# sinks are right after a crash, and you write the rule that makes one right. Then your rule is put into the
# real job, which is killed with `kill -9`.
#
# **The quick route** ends with *What you know now*, and needs no Spark. The parts below it are folded: click
# *cells hidden* under a heading to open one. The first of them starts a broker and Spark for those after it.
# If a part needs what is above it, first choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 08, or these two sentences. A *transaction* makes its records visible all together or not
# at all. A new process with the same `transactional.id` *fences* the old one: a transaction that the old one
# left open is aborted.

# %% [markdown]
# ## The job finished without an error. Is the sum right?
#
# Spark works in *micro-batches* (微批): all orders up to some moment are one batch. Spark numbers the batches
# and keeps two files for each in a folder, the *checkpoint* (检查点). Before batch 3 runs, it writes
# `offsets/3`, which says what the batch consists of. When the batch is done, it writes `commits/3`. The code
# that writes a batch to the outside is called the *sink* (接收端).
#
# Here the job counts two hours of orders, in batches of half an hour, and its sink sends plain records to
# Kafka. When all records of batch 3 are acknowledged, the job is killed with `kill -9`. It is started again,
# and finishes. Accounting finds this in topic *Income*:

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Follow,
    IncomeError,
    Predict,
    Trials,
    check,
    in_words,
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
print(say("income of the two hours:"), pounds(sum(amounts)))
print(say("added up by accounting: "), pounds(sum(amounts) + amounts[KILLED]))

# %% [markdown]
# That is a quarter too much, and there is no error anywhere. `commits/3` was not written yet, so Spark
# handed batch 3 to the sink again, and the sink sent it again. Spark's documentation says that its Kafka
# sink is *at least once*.

# %% [markdown]
# ## Predict
#
# The obvious repair is to write each batch in **one Kafka transaction**. The picture shows such a job,
# reduced to one batch, the income of the half hour from 12:30. Its transaction has committed. Then the job is
# killed, before Spark has written its `commits` file. It is started again, and Spark gives it the same batch.

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
# ## Run: which sink, and which moment of the crash?
#
# Choose a sink and the moment at which the job dies in batch 3. The picture opens at the crash; play it to
# its end. Batch 3 is the half hour from 13:00, and batch 4 the one from 13:30. *Money* compares what was
# ordered with what accounting has added up. The third sink writes the number of the batch *in the same
# transaction* as the rows. After a restart it reads this *progress record* (进度记录) before it writes.
#
# There are nine combinations. Before you play one, guess whether *money* stays green.

# %%
vary(play_sink, sink=list(KILL_SINKS), killed=list(KILL_MOMENTS))

# %% [markdown]
# | written | by | when |
# |---|---|---|
# | `offsets/N`: what batch N consists of | Spark, in the checkpoint | before the batch runs |
# | the rows of batch N, and perhaps its number | the sink, in Kafka | while it runs |
# | `commits/N`: batch N is done | Spark, in the checkpoint | after the sink has returned |
#
# Between the second and the third line the batch is done, but Spark has not recorded it. **Without a
# transaction**, all rows that the sink has sent are doubled. **With a transaction**, a crash *inside* the
# sink does no harm: the restarted job fences the old one, and the half-written transaction is aborted. After
# the commit a transaction does not help: the whole batch is in the topic, and is written once more. Only a
# sink that keeps the number *together with* the rows can tell that the batch has been written.

# %% [markdown]
# ## Write the rule
#
# Now write the third sink's rule. `progress` is the number of the last batch whose transaction committed (−1:
# none yet), and `batch` is the number of the one that Spark hands over. Answer `"write"`, `"skip"`, or
# `"stop"` when a person must look.
#
# Your rule is tried in three crashes, with the shop's real amounts. In the second an operator deletes the
# checkpoint after the crash, and in the third topic *Income* is recreated, empty. Two hints are available:
# `print(DECIDE.hint(1))`, then `print(DECIDE.hint(2))`. If the rule is not right yet, the message gives the
# wrong sum, and an example that shows it opens.

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
from mqlab.lessons.course.points import grade

grade("decide", decide)
### END HIDDEN TESTS
check(DECIDE, decide)

# %% [markdown]
# ## What you know now
#
# A transaction alone is not exactly once. Put the progress into the same transaction as the result, check it
# before you write, and stop when sink and checkpoint disagree.
#
# The quick route ends here. 5 of the 10 points are in the parts below. To continue with this job, run the
# whole year (`mqlab income --year`), kill it wherever you like (`mqlab income chaos`), or point it at a Kafka
# of your own (`--bootstrap-server`). The next lab asks which broker, and whether you need its transaction at
# all: [lab 12](12-which-one.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("11")

# %% [markdown] tags=["deeper"]
# ## Does the real job double it too?

# %% [markdown]
# The quick route computed its sums from the shop's amounts. Here is the job itself: a broker, Spark, and
# `kill -9` for the Java virtual machine and the Python driver. It has the sink without a transaction, and is
# killed after all rows of batch 3 are acknowledged. The first execution takes up to a minute, because Spark
# starts; later ones take a few seconds.

# %% tags=["volatile"]
broker = serve()
address = broker.address
bench = Bench(address)

# %% tags=["nbval-check-output"]
hook = bench.kill("at-least-once", Point.COMMITTED)
print(say("income"), f"{pounds(hook.tenths)},", say("should be"), f"{bench.expected}: {hook.error}")

# %% [markdown]
# It is the sum from the beginning, to the penny.

# %% [markdown] tags=["deeper"]
# ## Is every line of a whole day counted?

# %% [markdown]
# 2011-12-05 was the busiest day of the year. There is one message per order line, keyed by invoice, in two
# partitions. The job reads them from topic *Order* in eight batches and writes each batch in one transaction.
# A minute is written when no more orders are expected for it. The *watermark* (水位线) is the moment up to which
# no more are expected. Run the next three cells. The picture follows the broker's own log while the job
# works.
#
# At the end the job accounts for every line of the file, which separate code reads again for comparison.
# *Rejected* lines could not be read as an order; as messages they are *dead* letters. *Late* lines came after
# their minute was written. *Unaccounted* lines are those that were read and are neither counted nor dead;
# they must all be late.

# %% tags=["volatile"]
live = Follow(broker.trace_url)
live

# %% tags=["nbval-check-output"]
day = income(address, name="day", say=print)

# %% tags=["nbval-check-output"]
print(day.account)
print(day.reconciliation)
print(say("total"), day.total, say("without Spark"), day.expected)

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
# ## Does accounting see aborted rows if it sets no level?

# %% [markdown]
# A transaction protects only read_committed consumers. Suppose that accounting is a separate program, and
# sets no `isolation.level`. The next cell tries it with this lab's client, librdkafka. One record is aborted,
# and then another one is committed. Which is the first that a consumer gets?

# %% tags=["nbval-check-output"]
print(tabulate_levels(address))

# %% [markdown]
# librdkafka reads committed data by default. Java's consumer does not: its default is read_uncommitted
# (`ConsumerConfig`, lab 07). So never rely on a default here.

# %% [markdown] tags=["deeper"]
# ## Which amounts are below zero, and where is the progress?

# %% [markdown]
# A cancellation is income with a minus sign. A job that drops "impossible" quantities reports too much. Money
# is counted in whole tenths of a penny here, because a sum of floating-point numbers depends on the sequence
# of the additions, and then equality can no longer be tested.

# %% tags=["nbval-check-output"]
lowest = min(day.rows, key=lambda row: row.tenths)
print(lowest.minute, pounds(lowest.tenths), say("order lines:"), lowest.lines)
prices = [row.pounds for row in day.rows]
print(say("floats agree, forwards and backwards:"), sum(prices) == sum(reversed(prices)))

# %% [markdown]
# The progress record is in the broker, as metadata of the job's own offsets, and the transaction that writes
# the rows writes it too. You can read it like the offsets of any consumer group:

# %% tags=["nbval-check-output"]
for place in fetch_offsets(consumer(address, "spark-income-day"), "Order-day", 2):
    print(f"{place.topic}-{place.partition} offset {place.offset}: {place.metadata}")

# %% [markdown] tags=["deeper"]
# ## At which of seven moments does a crash spoil the real sum?

# %% [markdown]
# Choose a sink and the moment of the crash, and press the button. The job starts, dies in batch 3, is started
# again with the same checkpoint, and its output is added up. Before each trial, say which error you expect.
# While it runs, *Money* shows what accounting has added up so far (the bar) and the sum that is due (the
# mark). Watch it at the crash, and when the job is back. To the broker an amount is just bytes, so its live
# picture shows no money.

# %%
SINKS = ["at-least-once", "transactions", "exactly-once"]
kills = Trials(
    {"sink": SINKS, "killed": list(Point)},
    run=bench.trial,
    columns=["income", "error"],
    button="kill -9",
    caption=say("Two hours of orders; the income should be {sum}", sum=bench.expected),
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
    print(*map(in_words, kills.try_out(sink, point)), sep=" · ")

# %% [markdown]
# Did the real job do what the model in *Run* did? A crash *in the sink, half of the rows out* is new: a sink
# without a transaction then doubles half of a batch, and the sum does not show which half.
#
# At which moments do even *transactions* without a progress record come out right? Find them with the
# button. What do these moments have in common?
#
# Nothing was *lost*: the source can be read again. A loss takes a wrong sequence (progress first) or a
# lost checkpoint. (All three sinks at all seven moments: `mqlab income chaos` in a terminal.)

# %% [markdown] tags=["deeper"]
# ## Is Spark's own sink any better?

# %% [markdown]
# Spark's own sink is `format("kafka")`. It comes as a separate connector. None is published for Spark 4.3, so
# the one for 4.2 runs here (four jars, fetched by Maven). It is killed at the same moment as our first sink.

# %% jupyter={"source_hidden": true}
Predict("11-own-sink")

# %% tags=["volatile", "long"]
try:
    own = bench.kill("Spark's own", Point.COMMITTED)
    print(say("income"), f"{pounds(own.tenths)},", say("should be"), f"{bench.expected}: {own.error}")
except IncomeError as missing:
    print(missing)

# %% [markdown]
# It doubles exactly the batch that our at-least-once sink doubled. (Without Maven the cell says what is
# missing.) The reason is in the connector's code: `KafkaDataWriter` sends without a transaction, and the
# methods with which Spark tells a sink that a batch is done, `KafkaStreamingWrite.commit` and `.abort`, are
# empty. A patch that would have made it exactly once, SPARK-28908, was never merged.

# %% [markdown] tags=["deeper"]
# ## In what sequence does the sink work?

# %% [markdown]
# The exactly-once sink takes five steps with each batch. Put them in sequence. If it is wrong, the message
# says what it breaks. Run the cell, then move the pieces: each move is written between the brackets.

# %% nbgrader={"solution": true, "grade_id": "steps"}
order = STEPS.arrange([
    ### BEGIN SOLUTION
    "fence", "read", "decide", "write", "commit"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "steps-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("steps", order)
### END HIDDEN TESTS
check(STEPS, order)

# %% [markdown] tags=["deeper"]
# ## Does your rule survive a real crash?

# %% [markdown]
# `check` computed its sums from the amounts of the batches, in milliseconds. Now put your rule into the
# sink of the real job, right or wrong, and kill it. The sums must be the same.

# %% tags=["nbval-check-output"]
bench.try_rule(decide)

# %% [markdown] tags=["deeper"]
# ## What if the broker dies?

# %% [markdown]
# Until now only the job has died. But the broker is a process too. This time the job has its own broker,
# which keeps its logs in a folder. In three of its batches this broker is killed with `kill -9` and started
# again on the same folder. The job is left alone.

# %% jupyter={"source_hidden": true}
Predict("11-broker-killed")

# %% tags=["nbval-check-output", "long"]
survived = kill_broker(say=print)
found = survived.error or "ok"
print(say("income"), f"{pounds(survived.tenths)},", say("should be"), f"{bench.expected}: {found}")

# %% [markdown]
# No part of the job had to be restarted, and no batch was run twice. The rows, the state of the transaction
# and the group's offsets are in the broker's logs. The client reconnects and continues with the same producer
# id and epoch. It retries the requests that were not answered, and the sequence numbers show the broker which
# of them it has already stored (lab 05).
#
# A power cut is different. It destroys data that the operating system has not written yet, unless the broker
# forces each write (`--fsync`). Kafka does not; it relies on copies on other brokers (lab 06).

# %% [markdown] tags=["deeper"]
# ## Which two things are called "exactly once"?

# %% [markdown]
# **A messaging service:** a record that is sent is in the log once, however often it was sent. The leader
# tracks the last batches of each producer and recognises a duplicate (lab 05).
#
#     producer ──  a  ──────────▶  log: a
#              ──  a (again) ──▶  log: a            a duplicate: answered, not written
#
# **Read, compute, save:** each record that is read has its effect once, whichever process dies in between.
# For that the result *and the position of the reader* must be saved together, or not at all (lab 08).
#
#     topic Order ──▶ read ──▶ compute ──▶ ┌ rows to topic Income ┐
#                      ▲                   └ the progress record  ┘  one transaction
#                      └──────────── where to continue ─────────────┘
#
# The first does not give you the second. A transactional producer is always idempotent too, and yet the sink
# with transactions but without a progress record wrote a batch twice.

# %% [markdown] tags=["deeper"]
# ## Must both ends be Kafka?

# %% [markdown]
# An article claims that exactly-once needs Kafka as source and as sink. The next cell lets you change both.
# The sink may be a database, with one transaction per batch. The source is topic *Order* as it is (*kept*),
# or a source that deletes the records it has delivered, as many queues do. Which of these jobs is right after
# a crash? Guess first. Then try them with the button, or run the cell below it.

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
    caption=say("Ends other than Kafka; the income should be {sum}", sum=bench.expected),
    money=True,
)
ends

# %% tags=["nbval-check-output", "long"]
for source, sink, point in [
    (KEPT, "a database", Point.COMMITTED),
    (KEPT, "a database with the progress", Point.COMMITTED),
    (GONE, "exactly-once", Point.OUT),
]:
    print(*map(in_words, ends.try_out(source, sink, point)), sep=" · ")

# %% [markdown]
# - **A database** needs the same as Kafka: rows and progress record in *its* transaction. A database that
#   *overwrites* (its key is the minute) is right without a progress record, as long as a batch that is handed
#   over again has the same rows.
# - **A source that forgets** makes a right sum impossible, although Kafka is at both ends: the batch that
#   the dead job was working on no longer exists anywhere. The job finds that out, and stops.
#
# So “Kafka at both ends” is not the rule. The source must be readable again from a known position. The sink
# must store its progress, or give the same result when a batch is written twice. A mail server is no such
# sink: it stores no progress for you, and a mail that is sent twice arrives twice.
#
# A public report of it: `mqlab incidents the-batch-is-there-twice`.

# %% [markdown] tags=["deeper"]
# ## How does Flink do it, without batches?

# %% [markdown]
# Apache Flink computes record by record; it has no batches. To be able to restart, it stores the state of the
# whole job from time to time. The job manager (`jm`) makes the sources send a *barrier* (屏障) down their
# channels, between two records. The records before it belong to this checkpoint, those after it to the next.
# A task that gets the barrier saves its state: the source its offset, the counting task (`sum`) its count. At
# the barrier the sink stores the rows in an open transaction (*pre-commit*). When all tasks have
# acknowledged, the job manager writes the *checkpoint* to disk, and the sink commits.
#
# The next picture shows a small job like Flink's beside one like Spark's. Both get the orders a1 and a2. In
# both, the process that writes to the output is killed right after the decision, and started again. At that
# moment Flink's checkpoint is on disk, and the transaction of Spark's sink is committed.

# %% jupyter={"source_hidden": true}
Predict("11-same-crash")

# %%
play_both()

# %% [markdown]
# One slider moves both jobs. The moments that they share are at the same height: the order arrives, the rows
# are written and hidden, the decision, the crash, the restart. In between each job takes its own steps.
# Compare the two after the restart: one commits, the other only writes a file.
#
# Then look at a2, which arrives while a1 is on its way into the output. In Spark it waits in topic *Order*
# for the next batch. In Flink it follows the barrier, and reaches the sink *before* the checkpoint is on
# disk: a checkpoint is taken *asynchronously*; no task waits for it. After the restart the source sends a2
# again: records after the barrier are *computed again*.
#
# **Why do barriers alone not make it exactly once?** Suppose Flink's sink commits at the barrier,
# without waiting for the checkpoint.

# %% jupyter={"source_hidden": true}
Predict("11-barriers-alone")

# %% [markdown]
# Choose the moment of the crash and the sinks. In the second choice each sink lacks one rule: Flink's does
# not wait for the checkpoint, Spark's does not check its progress record. Below the picture the invariant
# that breaks turns red. The second cell shows all moments in a table.

# %%
vary(play_both, killed=list(MOMENTS), sinks=list(COMMIT_RULES))

# %% tags=["nbval-check-output"]
print(*(compare_outputs(sinks) for sinks in COMMIT_RULES), sep="\n\n")

# %% [markdown]
# Each sink fails at one moment only, and not at the same one. Flink's fails *before* the decision: there is
# no complete checkpoint, and a1 is computed again. Spark's fails *after* it: the checkpoint does not contain
# the batch yet. Barriers make each order count once in the job's *state*. The output is not part of that
# state. It must be able to hide rows until the checkpoint is on disk, and for that Flink needs Kafka's
# transactions. (To search every crash of both models: `mqlab explore barriers`, `mqlab explore
# micro_batches`; `--off NAME` omits a rule.)

# %% [markdown] tags=["deeper"]
# ## Who ends a transaction that has outlived its process?

# %% [markdown]
# Now the real job gets a sink like Flink's, with Spark's batches in place of barriers: pre-commit of batch N
# → `commits/N` is written → commit of batch N. It is killed between the last two.

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
# Answer `"commit"`, `"abort"`, or `"stop"` when a person must look. In one of three crashes an operator sets
# the checkpoint back to an earlier batch before the restart, to have some orders counted again. Two hints are
# available: `print(RESUME.hint(1))`, then `print(RESUME.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "resume"}
def resume(prepared: int, checkpoint: int) -> str:
    """What to do with the open transaction of this batch: "commit" it, "abort" it, or "stop"."""
    ### BEGIN SOLUTION
    if prepared <= checkpoint:
        return "commit"  # Spark never hands it over again
    if prepared == checkpoint + 1:
        return "abort"  # Spark hands it over again, and no other that is in
    return "stop"  # batches come again that were committed long ago: a person must look
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "resume-test", "points": 3}
### BEGIN HIDDEN TESTS
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
# The next table was recorded: the same day in this lab's job and in a real Flink with its own Kafka sink.
# Both were killed with `kill -9` at the same instants, and started again. (To repeat it in a terminal: `mqlab
# income flink --setup`, then `mqlab income flink --kill`.)

# %% tags=["nbval-check-output"]
print(recorded_kills())

# %% [markdown]
# Both jobs are right after every crash, if the sink is exactly once. *Seen twice* counts the minutes whose
# rows were written, aborted and written again. Only a read_uncommitted consumer gets them twice. With
# at-least-once sinks every reader gets them twice. Spark's total is then too *small*, because the batch that
# is there twice holds two large cancellations. The seconds were measured on one busy machine; after “both
# told” Flink had no minute left to write.
#
# | | Spark, as in this lab | Flink's Kafka sink |
# |---|---|---|
# | sequence | offsets → run → **sink commits** → commits | pre-commit at the barrier → checkpoint durable → **commit** |
# | the decision | the sink's own transaction, with the progress record in it | the checkpoint |
# | after a crash | the batch is handed over again, the progress record says whether it is done | transactions named in the checkpoint are committed again |
# | a transaction that timed out | the batch is run again: nothing is lost | fenced, logged, possibly lost: timeouts must be long |
# | readers wait for | an open transaction of some milliseconds | one open from barrier to checkpoint |
#
# A client library cannot end the transaction of another process. Flink sets producer id and epoch inside
# Kafka's client by reflection; the job above sends the EndTxn request itself.
#
# A public report of it: `mqlab incidents checkpoint-complete-records-gone`.

# %% [markdown] tags=["deeper"]
# ## Where does one duplicate show?

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
# A second screen shows the five best-selling products, from the same rows. Does it show that something is
# wrong?

# %% tags=["nbval-check-output"]
once = {row.minute: row for row in rows}.values()
twice = sum(n == 2 for n in times.values())
print(say("{n} of {all} minutes show twice their income", n=twice, all=len(times)))
print(say("the five bestsellers are the same:"), bestsellers(rows) == bestsellers(once))
print(*bestsellers(rows), sep="; ")

# %% [markdown]
# A minute's income is the sum of a few rows, so a row that is counted twice shows at once. A ranking depends
# on thousands of rows, and stays the same although many of them are counted twice. *Exactly once* is worth
# its cost where people look at single numbers, or pay by them. For a list of recommendations at least once
# may be enough.

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# The last question is about a sink that writes to another store. When you have answered it, the cell below
# stops the broker and Spark.

# %% jupyter={"source_hidden": true}
Predict("11-exit-ticket")

# %%
live.stop()
bench.stop()
broker.stop()
