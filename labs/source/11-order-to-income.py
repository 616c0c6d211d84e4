# %% [markdown]
# # Lab 11 · Order → income: every order counted once, whatever dies
#
# *Is the sum right after a crash?* · 90 minutes · PySpark 4.3 against the engine's Kafka server
# (legacy client: confluent-kafka), `transaction.version` 2
#
# **In one paragraph.** A day of real orders from a British online gift shop arrives in topic *Order*.
# A Spark job adds up the income of each minute and writes it to topic *Income*, for *accounting*. It
# must count every order once: lose none, count none twice, although any of its processes may be killed
# at any moment. You kill it with `kill -9`, see which sinks go wrong and by how much, and write the
# rule that makes the difference. It is then your rule that is killed.
#
# **Contents.** Hook · Predict · Run · Investigate · Break it (playground) · Spark's own sink · Modify ·
# Put it into order · Make · The broker dies · Two meanings · Kafka at both ends? · Barriers beside
# batches · Two phases, as in Flink · Where one duplicate shows · Exit ticket
#
# **Words.** *Micro-batch* (微批): Spark's unit of work. *Checkpoint* (检查点): the folder where Spark
# notes what a batch consists of (`offsets/N`) and that it is done (`commits/N`). *Sink* (接收端): what
# hands a batch to the outside. *Progress record* (进度记录): the number of the last committed batch,
# kept inside the sink's own transaction. *Watermark* (水位线): before it no more orders are expected, so
# a minute may be closed. *Barrier* (屏障): a mark between two records of a stream; what is before it
# belongs to a checkpoint of Flink's, what is behind it does not.

# %% tags=["volatile"]
import plotly.graph_objects as go

from mqlab.lab import (
    Follow,
    IncomeError,
    Point,
    Predict,
    Trials,
    check,
    income,
    scenario,
    serve,
    vary,
)
from mqlab.lessons.spark.lab11 import (
    COMMIT_RULES,
    DECIDE,
    GONE,
    KEPT,
    MOMENTS,
    RESUME,
    STEPS,
    Bench,
    bestsellers,
    compare_outputs,
    copies,
    kill_broker,
    play_both,
    pounds,
    recorded_kills,
)

broker = serve()
address = broker.address
bench = Bench(address)

# %% [markdown]
# ## Hook: a quarter too much, and no error anywhere
#
# The job below counts two hours of orders, in batches of half an hour. It writes its rows to Kafka, and
# once all rows of a batch are acknowledged, the Java machine and the Python driver are killed with
# `kill -9`. The job is started again and finishes without a complaint. This is the income that
# accounting adds up. (The first run takes up to a minute: Spark starts. Later ones take a few seconds.)

# %% tags=["nbval-check-output"]
hook = bench.kill("at-least-once", Point.COMMITTED)
print(f"income {pounds(hook.tenths)}, should be {bench.expected}: {hook.error}")

# %% [markdown]
# The rows of one batch are in topic *Income* twice. Spark's documentation says so in one sentence: its
# Kafka sink supports *at-least-once* delivery, and records may be written twice.

# %% [markdown]
# ## Predict
#
# Many articles say: write each batch in **one Kafka transaction**, and the job is exactly once. The
# picture below is such a job, reduced to one batch. Its transaction has committed; then the job is
# killed, before Spark has noted the batch as done. It starts again, and is handed the same batch.

# %% jupyter={"source_hidden": true}
Predict(
    "11-one-transaction",
    trace=scenario("""
# One transaction per batch; the job dies after the commit and starts again
system kafka topic=income partitions=1 producers=job:income-job
run job: init, begin, send income-0 12:30=1433, commit
kill job
restart job
"""),
    step=24,
)

# %% [markdown]
# ## Run: a real day
#
# 2011-12-05, the busiest day of the year: one message per order line, keyed by invoice, in two
# partitions. The job reads them from topic *Order* in eight batches and writes each batch in one
# transaction. Run the next two cells: the picture follows the broker's own log while the job works.

# %% tags=["volatile"]
live = Follow(broker.trace_url)
live

# %% tags=["nbval-check-output"]
day = income(address, name="day", say=print)
print(day.reconciliation)
print("total", day.total, "without Spark", day.expected)

# %% [markdown]
# Every line that was fed was read, and counted once. The same minute by minute:

# %%
chart = go.Figure(go.Bar(x=[row.minute for row in day.rows], y=[row.pounds for row in day.rows]))
chart.update_layout(
    title="Income per minute, 2011-12-05 (UTC)",
    xaxis_title="minute",
    yaxis_title="£",
    template="plotly_white",
    height=320,
    margin={"l": 60, "r": 20, "t": 50, "b": 50},
)
chart

# %% [markdown]
# ## Investigate
#
# **1. What is below zero?** A cancellation is income with a minus sign. A job that drops "impossible"
# quantities reports too much. And money is counted in whole tenths of a penny: floating point would
# depend on the order of the additions, and then "equal to the truth" means nothing.

# %% tags=["nbval-check-output"]
lowest = min(day.rows, key=lambda row: row.tenths)
print(lowest.minute, pounds(lowest.tenths), "order lines:", lowest.lines)
prices = [row.pounds for row in day.rows]
print("floats agree, forwards and backwards:", sum(prices) == sum(reversed(prices)))

# %% [markdown]
# **2. Where is the progress?** In the broker, as a note on the job's own offsets, written by the same
# transaction as the rows. Ask for it as any consumer group's offsets:

# %% tags=["nbval-check-output"]
from mqlab.lessons.spark.lab11 import consumer, fetch_offsets

for place in fetch_offsets(consumer(address, "spark-income-day"), "Order-day", 2):
    print(f"{place.topic}-{place.partition} offset {place.offset}: {place.metadata}")

# %% [markdown]
# **3. What stands where after a crash?**
#
# | written | by | when |
# |---|---|---|
# | `offsets/N`: what batch N consists of | Spark, in the checkpoint | before the batch runs |
# | the rows and the progress record N | the sink, in one transaction | while it runs |
# | `commits/N`: batch N is done | Spark, in the checkpoint | after the sink has returned |
#
# Between the second and the third line the batch is done and Spark does not know. In this window only
# the sink can tell, and only if it has kept the number *together with* the rows.

# %% [markdown]
# ## Break it: a playground with a real `kill -9`
#
# Choose a sink and the moment of death, and press the button. The job starts, dies in batch 3, is
# started again with the same checkpoint, and what it wrote is added up. Before each trial, say which
# error you expect. While it runs, *Money* shows what accounting has added up so far (the bar) and what it
# must come to (the mark): watch it at the kill, and when the job is back. To the broker amounts are bytes,
# so the picture above, which goes on following it, has no money.

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

# %% tags=["nbval-check-output"]
for sink, point in [
    ("at-least-once", Point.HALF),
    ("transactions", Point.OUT),
    ("transactions", Point.COMMITTED),
    ("exactly-once", Point.COMMITTED),
]:
    print(*kills.try_out(sink, point), sep=" · ")

# %% [markdown]
# - **At least once** doubles whatever was out.
# - **Transactions without a progress record** heal a death *inside* the sink: the restarted job fences
#   the old producer, and the half-written transaction is aborted. Between the commit and `commits/N`
#   they double the whole batch. *A transaction alone is not exactly once: the progress must be in it.*
# - **With the progress record in the transaction** nothing doubles anywhere.
#
# Nothing was *lost*: the source can be read again. Losses need a wrong order (progress first) or a lost
# checkpoint. (All three sinks at all seven moments: `mqlab income chaos` in a terminal.)

# %% [markdown]
# ## Spark's own sink
#
# Many articles say that Spark with Kafka is exactly once out of the box. Its own sink is
# `format("kafka")`. It comes as a separate connector; none is published for Spark 4.3, so the one of
# 4.2 runs here (four jars, fetched by Maven). It stands beside ours, and dies at the same moment.

# %% tags=["volatile"]
try:
    own = bench.kill("Spark's own", Point.COMMITTED)
    print(f"income {pounds(own.tenths)}, should be {bench.expected}: {own.error}")
except IncomeError as missing:
    print(missing)

# %% [markdown]
# It doubles exactly what our at-least-once sink doubled. (Without Maven the cell says what is missing.)
# The connector's code has the reason: `KafkaDataWriter` sends without a transaction, and the methods
# with which Spark tells a sink that a batch is done, `KafkaStreamingWrite.commit` and `.abort`, are
# empty. A patch that would have made it exactly once, SPARK-28908, was never merged.

# %% [markdown]
# ## Modify
#
# Change the moment of death below so that even *transactions* without a progress record come out right.
# There are several such moments. What do they have in common?

# %%
changed = bench.kill("transactions", Point.COMMITTED)
print(f"{changed.point}: {changed.error or 'right'}")

# %% [markdown]
# ## Put it into order
#
# The sink that is exactly once takes five steps with each batch. Put them in order; a wrong order hears
# what it breaks. Run the cell, then move the pieces: each move is written between the brackets.

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

# %% [markdown]
# ## Make: write the rule
#
# Write the third step. `progress` is the number of the last batch whose transaction committed (−1: none
# yet), `batch` the one that Spark hands over. Answer `"write"`, `"skip"` or `"stop"`.
#
# Hint 1: what does Spark do after a kill between the sink's commit and `commits/N`? Hint 2: what do
# batch numbers mean after somebody has deleted the checkpoint folder?

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
# That was computed from the amounts of the batches, in milliseconds. Now put your rule into the sink of
# the real job, right or wrong, and kill it: the sums must be the same.

# %% tags=["nbval-check-output"]
bench.try_rule(decide)

# %% [markdown]
# ## The broker dies
#
# Until now it was the job that died. But the broker is a process too. In this run the job has a broker
# of its own, which keeps its logs in a folder. In three of its batches this broker is killed with
# `kill -9` and started again on the same folder. Nobody touches the job.

# %% jupyter={"source_hidden": true}
Predict("11-broker-killed")

# %% tags=["nbval-check-output"]
survived = kill_broker(say=print)
print(f"income {pounds(survived.tenths)}, should be {bench.expected}: {survived.error or 'ok'}")

# %% [markdown]
# Nothing of the job had to be started again, and no batch was run twice. The rows, the state of the
# transaction and the group's offsets are in the broker's logs. The client connects again and goes on
# with the same producer id and epoch; what it had sent without an answer it sends again, and the
# sequence numbers show which of that is a repetition (lab 05).
#
# A power cut is another matter. What the operating system has not yet written is gone then, unless the
# broker forces each write (`--fsync`). Kafka does not; it relies on copies on other brokers (lab 06).

# %% [markdown]
# ## Two things are called "exactly once"
#
# **Of a messaging service:** a record that is sent is in the log once, however often it was sent. The
# leader remembers the last batches of each producer and recognises a repetition (lab 05).
#
#     producer ──  a  ──────────▶  log: a
#              ──  a (again) ──▶  log: a            a duplicate: answered, not written
#
# **Of read, compute, save:** what was read has its effect once, whoever dies in between. For that the
# result *and how far one has read* must be saved together, or not at all (lab 08).
#
#     topic Order ──▶ read ──▶ compute ──▶ ┌ rows to topic Income ┐
#                      ▲                   └ the progress record  ┘  one transaction
#                      └────────────── where to go on ──────────────┘
#
# The first does not give you the second: a transactional producer is always idempotent too, and the
# sink with transactions but without a progress record still had a batch in twice.

# %% [markdown]
# ## Kafka at both ends?
#
# Many articles say that source and sink must both be Kafka. First the sink: here the job writes its
# rows into a database, one transaction per batch. Then the source: topic *Order* as it is (*kept*), or
# a source that forgets what it has delivered, as many queues do; the broker deletes those records.
# Which of these jobs is right after a kill? Say it first, then try them with the button, or run the
# cell below it.

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

# %% tags=["nbval-check-output"]
for source, sink, point in [
    (KEPT, "a database", Point.COMMITTED),
    (KEPT, "a database with the progress", Point.COMMITTED),
    (GONE, "exactly-once", Point.OUT),
]:
    print(*ends.try_out(source, sink, point), sep=" · ")

# %% [markdown]
# - **A database** needs the same as Kafka: rows and progress record in *its* transaction. One that
#   *overwrites* (the minute is the key) is right without a progress record, as long as a batch that is
#   handed over again has the same rows.
# - **A source that forgets** makes it impossible, although Kafka stands at both ends: the batch that the
#   dead job had in its hands is nowhere any more. The job finds that out, and stops.
#
# So the rule is not “Kafka at both ends” but: a source that can be read again from a known place, and a
# sink that knows its progress or may be written twice. A mail server is no such sink: it keeps no
# progress for you, and a mail that is sent twice arrives twice.

# %% [markdown]
# ## Barriers beside batches
#
# Apache Flink computes record by record; it has no batches. To be able to start again it takes a
# picture of the whole job now and then. The job manager (`jm`) tells the sources to send a *barrier*
# down their channels, between two records. Whoever gets the barrier notes its state: the source its
# offset, the counting task (`sum`) its count. At the barrier the sink stores the rows in an open
# transaction (*pre-commit*). When everybody has acknowledged, the job manager writes the *checkpoint*
# to disk, and the sink commits.
#
# The next picture shows a small job of Flink's kind beside one of Spark's. Both get the orders a1 and
# a2. In both, the process that writes to the output is killed right after the decision, and started
# again: in Flink the checkpoint is on disk, in Spark the sink's transaction is committed.

# %% jupyter={"source_hidden": true}
Predict("11-same-crash")

# %%
play_both()

# %% [markdown]
# One slider moves both jobs. What they have in common stands at the same height: the order arrives, the
# rows are written and hidden, the decision, the kill, the restart. In between each job takes its own
# steps. Compare what the two do after the restart: one commits, the other only writes a note.
#
# Then look at a2, which arrives while a1 is on its way into the output. In Spark it waits in topic
# *Order* for the next batch. In Flink it flows on behind the barrier, and reaches the sink *before* the
# checkpoint is on disk: a checkpoint is taken *asynchronously*, nobody stands still for it. And after
# the restart the source sends a2 again: what came after the barrier is *computed again*.
#
# **Why can Flink not do it alone?** Suppose its sink commits at the barrier, without waiting for the
# checkpoint.

# %% jupyter={"source_hidden": true}
Predict("11-barriers-alone")

# %% [markdown]
# Choose the moment of death and the sinks. In the second choice each sink lacks one rule: Flink's does
# not wait for the checkpoint, Spark's does not look at its progress record. In the tab *What stands
# now* a light says what breaks. The second cell has all moments as a table.

# %%
vary(play_both, killed=list(MOMENTS), sinks=list(COMMIT_RULES))

# %% tags=["nbval-check-output"]
print(*(compare_outputs(sinks) for sinks in COMMIT_RULES), sep="\n\n")

# %% [markdown]
# Each sink fails at one moment only, and not at the same one. Flink's fails *before* the decision: there
# is no complete checkpoint, and a1 is computed again. Spark's fails *after* it: the checkpoint does not
# know yet. Barriers make each order count once in the job's *state*. The output is not part of that
# state. It must be able to hide rows until the checkpoint is on disk, and for that Flink needs Kafka's
# transactions. (Every crash of both models can be searched: `mqlab explore barriers`,
# `mqlab explore micro_batches`; with `--off NAME` a rule is missing.)

# %% [markdown]
# ## Two phases, as in Flink
#
# Now the real job gets a sink of Flink's kind, with Spark's batches in the place of barriers:
# pre-commit of batch N → `commits/N` is written → commit of batch N. It is killed between the last two.

# %% jupyter={"source_hidden": true}
Predict(
    "11-pre-commit",
    trace=scenario("""
# Pre-commit, then the checkpoint; killed before the commit
system kafka topic=income partitions=1 producers=job:income-job,again:income-job
run job: init, begin, send income-0 13:00=4667
kill job
run again: init
"""),
    step=14,
)

# %% [markdown]
# So the new process must not simply begin. It must end the open transaction, in one of two ways.
# `prepared` is the batch whose rows are in it, `checkpoint` the last batch that the checkpoint has as
# done (−1: none). Answer `"commit"` or `"abort"`.
#
# Hint 1: which batch does Spark hand over next? Hint 2: is `prepared` among those that are still to come?

# %% nbgrader={"solution": true, "grade_id": "resume"}
def resume(prepared: int, checkpoint: int) -> str:
    """How to end the open transaction that holds this batch: "commit" or "abort"."""
    ### BEGIN SOLUTION
    return "commit" if prepared <= checkpoint else "abort"
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
# Your rule in the sink of the real job, killed before and after the checkpoint. Which part is done again?
#
# The table below the result is from a recorded run: the same day in this lab's job and in a real Flink
# with its own Kafka sink. Both were killed with `kill -9` at the same instants, and started again.
# (To repeat it in a terminal: `mqlab income flink --setup`, then `mqlab income flink --kill`.)

# %% tags=["nbval-check-output"]
bench.try_resume(resume)
print("", recorded_kills(), sep="\n")

# %% [markdown]
# Before the checkpoint, the whole batch is done again; after it, only the commit.
#
# In the recorded run both jobs are right after every kill, if the sink is exactly once. *Seen twice*
# counts the minutes whose rows were written, aborted and written again: only a reader that also takes
# aborted rows gets them twice. With at-least-once sinks every reader does. Spark's total is then too
# *small*, because the batch that is there twice holds two large cancellations. The seconds are those of
# one busy machine; after “both told” Flink had no minute left to write.
#
# | | Spark, as in this lab | Flink's Kafka sink |
# |---|---|---|
# | order | offsets → run → **sink commits** → commits | pre-commit at the barrier → checkpoint durable → **commit** |
# | what decides | the sink's own transaction, with the progress record in it | the checkpoint |
# | after a crash | the batch is handed over again, the progress record says whether it is done | transactions named in the checkpoint are committed again |
# | a transaction that timed out | the batch is run again: nothing is lost | fenced, logged, possibly lost: timeouts must be long |
# | what holds readers up | an open transaction of some milliseconds | one open from barrier to checkpoint |
#
# A client library cannot end the transaction of another process. Flink sets producer id and epoch inside
# Kafka's client by reflection; the job above sends the request (EndTxn) by hand.

# %% [markdown]
# ## Where one duplicate shows
#
# Suppose a screen on the wall shows the income of each minute. This is what it shows of the job in
# the hook, which was killed once:

# %%
rows, times = hook.rows, copies(hook.rows)
wall = go.Figure()
for which, name, colour in [(1, "counted once", "#0072b2"), (2, "counted twice", "#d55e00")]:
    part = {row.minute: row.pounds * which for row in rows if times[row.minute] == which}
    wall.add_bar(x=list(part), y=list(part.values()), name=name, marker_color=colour)
wall.update_layout(
    title="Income per minute as a screen shows it, 2011-12-05 (UTC)",
    xaxis_title="minute",
    yaxis_title="£",
    template="plotly_white",
    height=320,
    margin={"l": 60, "r": 20, "t": 50, "b": 50},
)
wall

# %% [markdown]
# A second screen shows the five articles of which most pieces are sold, from the same rows. Does anybody
# see there that something is wrong?

# %% tags=["nbval-check-output"]
once = {row.minute: row for row in rows}.values()
print(sum(n == 2 for n in times.values()), "of", len(times), "minutes show twice their income")
print("the five bestsellers are the same:", bestsellers(rows) == bestsellers(once))
print(*bestsellers(rows), sep="; ")

# %% [markdown]
# A minute's income rests on a few rows, so one row counted twice is seen at once. A ranking rests on
# thousands, and stays as it is although many of them are counted twice. *Exactly once* is worth its price
# where single numbers are looked at or paid; a list of recommendations may live with at least once.

# %% [markdown]
# ## Exit ticket

# %% jupyter={"source_hidden": true}
Predict("11-exit-ticket")

# %%
live.stop()
bench.stop()
broker.stop()

# %% [markdown]
# **What you know now.** A delivery is counted where its effects are. Put the progress into the same
# transaction as the result, look at it before you write, and stop when the two disagree.
#
# This is the last lab there is. To go on: run the whole year (`mqlab income --year`), kill it wherever
# you like (`mqlab income chaos`), or point the job at a Kafka of your own (`--bootstrap-server`).
# Back to the map: [lab 00](00-start-here.ipynb).
