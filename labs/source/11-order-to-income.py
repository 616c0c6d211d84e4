# %% [markdown]
# # Lab 11 · Order → income: every order counted once, whatever dies
#
# *Is the sum right after a crash?* · 75 minutes · PySpark 4.3 against the engine's Kafka server
# (legacy client: confluent-kafka), `transaction.version` 2
#
# **In one paragraph.** A day of real orders from a British gift shop arrives in topic *Order*. A
# Spark job adds up the income of each minute and writes it to topic *Income*. It must count every
# order once: not lose one, not count one twice, although any of its processes may be killed at any
# moment. You will kill it, see which sinks go wrong and by how much, and write the rule that makes
# the difference.
#
# **Contents.** Hook · Predict · Run · Investigate · Break it · Make · Two meanings · Flink in one table · Exit ticket
#
# **Words.** *Micro-batch*: Spark's unit of work. *Checkpoint*: the folder where Spark notes what a
# batch consists of (`offsets/N`) and that it is done (`commits/N`). *WAL*, write-ahead log: written
# before the work. *Sink*: what hands a batch to the outside. *Marker* (here): the number of the last
# committed batch, kept inside the sink's own transaction. *Watermark*: before it no more orders are
# expected, so a minute may be closed.

# %% tags=["volatile"]
import plotly.graph_objects as go
from mqlab_widgets import Follow, Predict

from mqlab.lessons import check
from mqlab.lessons.lab11 import DECIDE
from mqlab.serve import serve
from mqlab.spark import Point, chaos, income

broker = serve()
address = broker.address

# %% [markdown]
# ## Hook: a fifth of the income is gone, and no error anywhere
#
# The job below writes its rows to Kafka and is killed once, just after the rows of a batch were
# acknowledged. It is started again, finishes without a complaint, and this is the error of its sum.

# %% tags=["nbval-check-output"]
hook = chaos(address, sinks=["at-least-once"], points=[Point.OUT], hard=False)
print(hook)

# %% [markdown]
# Spark's documentation says so in one sentence: Kafka's sink supports *at-least-once* delivery, and
# records may be written twice. A sum over the topic counts them twice. Why is it then too *low*? The
# batch that is in twice holds a large cancellation, and that one is in twice as well: doubles can hide
# as losses. *(Belief 16: "Spark's own Kafka sink is exactly once." It is not; a patch that would have
# made it so, SPARK-28908, was never merged.)*

# %% [markdown]
# ## Predict
#
# The rows of a batch and nothing else are now written in **one Kafka transaction**. The driver is
# killed after the commit, before Spark has noted the batch as done. It starts again. What does the
# sum say?

# %% jupyter={"source_hidden": true}
Predict(
    "One transaction a batch, killed between the sink's commit and commits/N: the sum is …",
    options=[
        "right: the transaction is atomic",
        "right: the restarted producer fences the old one",
        "wrong: the whole batch is in twice",
        "wrong: the transaction is aborted, the batch is missing",
    ],
    answer=2,
    explanations=[
        "Atomic, yes: the batch is in as a whole. And then it is in as a whole once more.",
        "Fencing aborts what is open. This transaction is committed: there is nothing to abort.",
        "Spark has not noted the batch as done, so it hands it over again, and the sink cannot know.",
        "It was committed before the kill, and a commit stays.",
    ],
)

# %% [markdown]
# ## Run: a real day
#
# 2011-12-05, the busiest day of the year: one message an order line, keyed by invoice, in two
# partitions. Watch the broker's own log while it runs: the player follows the live trace.

# %% tags=["volatile"]
live = Follow(broker.trace_url)
live

# %% tags=["nbval-check-output"]
day = income(address)
print(day.reconciliation)
print("total", day.total, "without Spark", day.expected)

# %% [markdown]
# The same numbers minute by minute; the chart first, the beginning of the table below it.

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

# %% tags=["nbval-check-output"]
print("\n".join(day.table.splitlines()[:12]))

# %% [markdown]
# ## Investigate
#
# **1. Is a negative minute an error?** Look for one, and at what it consists of.

# %% tags=["nbval-check-output"]
from mqlab.spark.files import DAY, read_lines
from mqlab.spark.orders import pounds

lines = read_lines(DAY)
lowest = min(day.rows, key=lambda row: row.tenths)
print(lowest.minute, pounds(lowest.tenths), f"from {lowest.lines} lines")
cancelled = [line for line in lines if line["InvoiceNo"].startswith("C")]
print(f"{len(cancelled)} of {len(lines):,} lines cancel something, for example:")
for line in cancelled[:3]:
    print(" ", line["InvoiceNo"], line["Quantity"], "x", line["UnitPrice"], line["Description"])

# %% [markdown]
# A cancellation is income with a minus sign. A job that drops "impossible" negative quantities
# reports too much.
#
# **2. May equal lines be dropped?** An easy way to "remove duplicates" is to drop lines that equal
# another one in every column.

# %% tags=["nbval-check-output"]
seen = set()
repeats = []
for line in lines:
    key = tuple(line.values())
    if key in seen:
        repeats.append(line)
    seen.add(key)
print(f"{len(repeats)} lines equal an earlier one of the same day: real orders, all of them")

# %% [markdown]
# Somebody bought the same thing twice on one invoice. A duplicate cannot be recognised by its
# content; only whoever made it twice can know.
#
# **3. Why whole numbers?** Money here is counted in tenths of a penny, as integers, because four of
# the year's prices have three decimals. Sum the day in floating point, forwards and backwards:

# %% tags=["nbval-check-output"]
prices = [int(line["Quantity"]) * float(line["UnitPrice"]) for line in lines]
forwards, backwards = sum(prices), sum(reversed(prices))
print("floats agree with themselves:", forwards == backwards)
print("integers:", pounds(day.tenths))

# %% [markdown]
# Two machines that add the same numbers in another order must get the same sum, or "equal to the
# truth" means nothing.
#
# **4. Where does a batch end?** Keyed by invoice, the two partitions run far apart in time. Read by
# equal counts, almost half of the day's lines would come too late for their minute. So the source
# ends each batch at the same minute in every partition, and nothing is late: *unaccounted* is 0, and
# so is the number of late lines computed without Spark.
#
# **5. What stands where after a crash?**
#
# | written | by | when |
# |---|---|---|
# | `offsets/N`: what batch N consists of | Spark | before the batch runs |
# | the rows and the marker N | the sink, in one transaction | while it runs |
# | `commits/N`: batch N is done | Spark | after the sink has returned |
#
# Between the second and the third line the batch is done and Spark does not know. In this window
# only the sink can tell, and only if it has kept the number *together with* the rows.

# %% [markdown]
# ## Break it
#
# Three sinks, killed in batch 3 at the points where they differ, restarted, summed up. `ok`: every
# minute is there once and exact. (All seven points, with kill -9 of the JVM and of the driver, take
# a few minutes more: `mqlab income chaos` in a terminal.)

# %% tags=["nbval-check-output"]
points = [Point.HALF, Point.OUT, Point.COMMITTED]
table = chaos(address, points=points, hard=False)
print(table)

# %% [markdown]
# - **At least once** doubles whatever was out.
# - **Transactions without a marker** heal a death *inside* the sink: the restarted query fences the old
#   producer, and its half-written transaction is aborted. Between commit and `commits/N` they double
#   the whole batch. *A transaction alone is not exactly once: the progress must be in it.*
# - **With the marker in the transaction** nothing doubles anywhere.
#
# Nothing was ever *lost*: the source can be read again. All errors here are doubles. Losses need a
# wrong order (progress first) or a lost checkpoint.

# %%
assert table.as_expected

# %% [markdown]
# ## Make: write the rule
#
# The sink's five steps are: fence → read the marker → **decide** → write rows and marker → commit.
# Write the third. `marker` is the number of the last batch whose transaction committed (−1: none
# yet), `batch` the one that Spark hands over. Answer `"write"`, `"skip"` or `"stop"`.
#
# Hint 1: what does Spark do after a kill between the sink's commit and `commits/N`? Hint 2: what do
# batch numbers mean after somebody has deleted the checkpoint folder?

# %% nbgrader={"solution": true, "grade_id": "decide"}
def decide(marker: int, batch: int) -> str:
    """What to do with this batch: "write" it, "skip" it, or "stop" the job."""
    ### BEGIN SOLUTION
    if batch == marker:
        return "skip"  # handed over again after a crash: it is in already
    if batch == marker + 1:
        return "write"
    return "stop"  # sink and checkpoint disagree: a person must look
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "decide-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.points", None)
from mqlab.lessons.points import grade

grade("decide", decide)
### END HIDDEN TESTS
check(DECIDE, decide)

# %% [markdown]
# ## Two things are called "exactly once"
#
# **Of a messaging service:** a record that is sent is in the log once, however often it was sent. The
# leader remembers the last batches of each producer and recognises a repetition.
#
#     producer ──  a  ──────────▶  log: a
#              ──  a (again) ──▶  log: a            a duplicate: answered, not written
#
# **Of read, compute, save:** what was read has its effect once, whoever dies in between. For that the
# result *and how far one has read* must be saved together, or not at all.
#
#     topic Order ──▶ read ──▶ compute ──▶ ┌ rows to topic Income ┐
#                      ▲                   └ progress: the marker ┘  one transaction
#                      └────────────── where to go on ──────────────┘
#
# The first is far from enough for the second: a transactional producer is always idempotent too, and
# the sink with transactions but without a marker still had a batch in twice.

# %% [markdown]
# ## Flink in one table
#
# Apache Flink reaches the same with other means: a *barrier* travels with the records, and when it
# has passed everywhere, the state behind it is one consistent snapshot.
#
# | | Spark, as here | Flink's Kafka sink |
# |---|---|---|
# | order | offsets → run → **sink commits** → commits | pre-commit at the barrier → checkpoint durable → **commit** |
# | what decides | the sink's own transaction, with the marker in it | the checkpoint |
# | after a crash | the batch is handed over again, the marker says if it is done | transactions named in the checkpoint are committed again |
# | a transaction that timed out | the batch is run again: nothing lost | fenced, logged, possibly lost: timeouts must be long |
# | what holds readers up | an open transaction of some milliseconds | one open from barrier to checkpoint |
#
# Spark needs no transaction that survives its process; Flink does, and so is a *two-phase* sink.
#
# **Both ends must play.** Exactly once from end to end needs a source that can be read again from a
# known place and a sink that knows its progress. Kafka at both ends is the easy case; a database that
# keeps the marker in the same transaction as the rows does as well. A mail that has been sent cannot
# be taken back.
#
# **Where it matters.** One variable a minute on a wall: little data, and one duplicate is visible to
# everybody. That is the case for exactly once; a recommendation list may live with at least once.

# %% [markdown]
# ## Exit ticket

# %% jupyter={"source_hidden": true}
Predict(
    "A colleague writes each batch into a database in one transaction, and commits the Kafka "
    "offsets afterwards. The process dies in between. What happens?",
    options=[
        "Nothing: both are transactions",
        "The batch is written twice, unless the database also holds the offsets",
        "The batch is lost",
        "Kafka rolls the database back",
    ],
    answer=1,
    explanations=[
        "Two transactions are not one. Between them there is a moment to die in.",
        "The same window as commits/N: progress must be in the same transaction as the rows.",
        "It is in the database. Only the progress is not.",
        "Kafka knows nothing of the database.",
    ],
)

# %%
live.stop()
broker.stop()

# %% [markdown]
# **What you know now.** Delivery is counted where the effects are. Put the progress into the same
# transaction as the result, look at it before you write, and stop when the two disagree.
