# %% [markdown]
# # Lab 07 · Markers and the last stable offset
#
# *What may a reader see, and when?* · 60 minutes · Kafka 4.3, `transaction.version` 2, a v2 client
# (Java 4.x)
#
# **In one paragraph.** A transaction writes into several partitions at once, in the middle of
# everybody else's records. When it ends, each partition gets one more record, a *marker*. A reader
# who wants only committed data stops at the *last stable offset*, partition by partition. From this
# follow some surprises: a commit can return while nobody can see it yet, half of a transaction can
# be visible, and an order that has nothing to do with a transaction may have to wait for it.
#
# **Contents.** Hook · Predict · Run · Investigate · Find the crash · Modify · Make · Exit ticket
#
# **Words.** *HW*, high watermark: below it everything is replicated. *LSO*, last stable offset:
# below it everything is also decided. *Marker*, control record: C (commit) or A (abort).
# *Coordinator*: the broker that decides a transaction. *Torn read*: a reader sees part of one.

# %%
from mqlab_widgets import Player, Playground, Predict

from mqlab.explore import Budget, explore
from mqlab.lessons import check, scenario, system
from mqlab.lessons.lab07 import LSO

# %% [markdown]
# ## Hook: the commit returned, and the order is not there
#
# The order service writes an order into two partitions, `orders-0` and `orders-1`, in one
# transaction. Its `commit` returns `ok`. A billing service asks for committed orders at once, and
# gets one half of the order: the invoice is wrong, and no error was ever raised.
#
# Every transaction in this course goes through the same six stages. Keep them in view:
# **reserve → write → decide → publish the decision → make visible → forget**.

# %%
torn = scenario("""
# Commit survives a coordinator crash
system kafka partitions=2 producers=app:order-service,billing readers=reader
run app: init, begin, send orders-0 a
run billing: init, begin, send orders-0 x
run app: send orders-1 b, commit
kill tc when=WriteTxnMarkers#1 after=1
run reader: poll orders-0, poll orders-1
restart tc
run reader: poll orders-1
""")
answered = next(f.index for f in torn if f.label.en == "ok" and f.why.en.startswith("The client"))
half = next(f.index for f in torn if f.node == "orders-0" and f.peer == "reader")

# %% [markdown]
# ## Predict
#
# The coordinator has just answered `ok`. Nothing else has happened yet. Decide, lock your answer,
# then run on.

# %% jupyter={"source_hidden": true}
Predict(
    "The client has its ok. What does a read_committed reader get from the two partitions now?",
    options=[
        "a and b: the commit has returned",
        "nothing: no marker is written yet",
        "a, x and b: all three are in the log",
        "a or b, whichever was written first",
    ],
    answer=1,
    explanations=[
        "commit returns when PrepareCommit is durable at the coordinator, before any marker leaves.",
        "A partition shows a transaction when its own marker is in its own log.",
        "That is read_uncommitted: it reads up to the high watermark, decided or not.",
        "Writing makes nothing visible. Each partition waits for its own marker.",
    ],
    trace=torn,
    step=answered,
)

# %% [markdown]
# The same as text, for those who cannot use the widget: what each reader gets at that step.

# %%
# NBVAL_CHECK_OUTPUT
def readers(trace, position):
    for reader in trace.snapshot(position).readers:
        got = " ".join(f"{g.label}({g.txn})" for g in reader.got) or "nothing"
        print(f"{reader.name:<17} {got:<20} {reader.note}".rstrip())


readers(torn, answered)

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. The question at each step: what just happened, what
# is durable, who can see what? Rows that teach nothing here are folded; click the count to see them.

# %%
Player(torn, step=half)

# %% [markdown]
# The narration of the same run, from the decision to the read. `▮` is durable, `✗` a crash, `⇒` an
# answer.

# %%
# NBVAL_CHECK_OUTPUT
for fact in torn.facts[answered - 3 : half]:
    if not fact.fold:
        print(f"{fact.index:>3}  {fact.line(width=8)}")

# %% [markdown]
# At the step with the yellow band the reader got `a`, and not `b`. Both belong to **T1**, and T1 is
# committed: its decision is on the coordinator's disk.

# %%
# NBVAL_CHECK_OUTPUT
readers(torn, half)
print()
for log in torn.snapshot(half).logs:
    cells = " ".join(f"{c.label}@{c.offset}" for c in log.cells)
    frontiers = ", ".join(f"{f.name}={f.at}" for f in log.frontiers)
    print(f"{log.name}  {cells:<14} {frontiers}")

# %% [markdown]
# | stage | here | who can tell |
# |---|---|---|
# | reserve | `Ongoing {orders-0, orders-1}` at the coordinator | its log |
# | write | `a`, `b` in the partitions | anyone who reads uncommitted |
# | decide | `PrepareCommit` | the client: its commit returns |
# | publish the decision | WriteTxnMarkers to each partition | nobody yet |
# | make visible | the marker is below the HW, the LSO moves | readers of *this* partition |
# | forget | `CompleteCommit` | nobody waits for it |
#
# Nobody drives a reader: it asks, again and again, and gets what its partition may show. No mode of
# reading buffers records until a marker comes; what must not be read is not sent.

# %% [markdown]
# ## Investigate
#
# **1. Why must `x` wait, and does everything?** `x` was written by billing, in a transaction of its
# own that is still open. The LSO of `orders-0` stands before it. Say what happens to a record that
# belongs to no transaction at all and is written now: then check.

# %%
# NBVAL_CHECK_OUTPUT
behind = scenario("""
# An open transaction holds up everything behind it, in its own partition
system kafka partitions=2 producers=slow,plain:plain,fast readers=reader
run slow: init, begin, send orders-0 s
run plain: send orders-0 p, send orders-1 q, flush
run fast: init, begin, send orders-0 f, commit
""")
readers(behind, -1)

# %% [markdown]
# `p` belongs to no transaction, `f` to one that is committed, and both wait behind `s`. `q` does not:
# it is in the other partition. Other producers go on writing and committing meanwhile; only readers
# of committed data wait, in this partition, until `slow` ends or its timeout ends it.

# %%
Player(behind)

# %% [markdown]
# **2. Does a commit move the high watermark?** The high watermark says what is replicated. Look at
# HW and LSO before and after the marker: which of the two was already past the data?

# %%
# NBVAL_CHECK_OUTPUT
commit = scenario("""
system kafka partitions=1
run app: init, begin, send orders-0 a, send orders-0 b, commit
""")
for fact in commit:
    if fact.glyph == "⇨":
        print(f"{fact.index:>3}  {fact.line(width=8)}")

# %% [markdown]
# HW had passed `a` and `b` long before the commit; the marker is one more record, so HW moves past
# it like past any other. What the commit moves is the LSO: from 0 to 3 at once.
#
# **3. Where do the offsets go?** Two records were written, and the log ends at 3.

# %%
# NBVAL_CHECK_OUTPUT
log = commit.snapshot(-1).logs[0]
for cell in log.cells:
    print(cell.offset, cell.label, cell.kind)

# %% [markdown]
# A marker takes an offset. So offsets have gaps for a reader, `end offset − beginning offset` counts
# more than the messages, and a reader that has everything may stand well above its last record.
#
# An abort writes a marker too, and deletes nothing: the aborted records stay where they are. The
# leader notes each aborted transaction in an index file beside the log (`.txnindex`); a fetch brings
# the list along, and the *client* skips what was aborted.

# %%
# NBVAL_CHECK_OUTPUT
aborted = scenario("""
# An aborted record stays in the log
system kafka partitions=1 producers=app,plain:plain readers=reader,other
run app: init, begin, send orders-0 x
run plain: send orders-0 p, flush
run app: abort
run reader: poll orders-0
run other: poll orders-0 read_uncommitted
""")
for fact in aborted:
    if fact.peer in ("reader", "other") or fact.node in ("reader", "other"):
        print(fact.line(width=8))
print()
for table in aborted.snapshot(-1).tables:
    if "txnindex" in str(table.name):
        print(*table.columns, sep="  ")
        for row in table.rows:
            print(*(f"{cell:<{len(name)}}" for name, cell in zip(table.columns, row, strict=True)), sep="  ")

# %% [markdown]
# Both readers were sent `x`: the broker does not filter it out. Only the reader with the list of
# aborted transactions dropped it.

# %% [markdown]
# ## Find the crash
#
# Move the system yourself. Deliver messages, hold them (what you do not deliver waits), kill a node
# after some of its effects. *Find the shortest run in which a reader gets half of a transaction.*

# %%
from mqlab.lessons import playing

play = playing("system kafka partitions=2\nrun app: init, begin, send orders-0 a, send orders-1 b")
Playground(play)

# %% [markdown]
# You need no crash at all: it is enough that one marker arrives before the other. A crash only makes
# the moment last. What *cannot* happen is that the two partitions end differently. Here is every
# schedule with one kill of the coordinator, each effect of each step a possible last one:

# %%
# NBVAL_CHECK_OUTPUT
line = "kafka partitions=2 'app=init; begin; send orders-0 a; send orders-1 b; commit'"
verdict = explore(system(line), Budget(kills=1, killable=("tc",)))
print(verdict)

# %% [markdown]
# ## Modify: which safeguard is necessary?
#
# Each line of this table takes one safeguard away and searches for the shortest run that breaks a
# promise. Before you run it, say for each what will break.

# %%
# NBVAL_CHECK_OUTPUT
abort = "kafka partitions=1 'app=init; begin; send orders-0 x; abort'"
cases = [
    ("lso", abort, Budget()),
    ("aborted_index", abort, Budget()),
    ("prepare_before_markers", line, Budget(kills=1, killable=("tc",), timers=1)),
]
found = {}
for name, words, budget in cases:
    verdict = explore(system(f"{words} off={name}"), budget)
    promise, example = next(iter(verdict.counterexamples.items()))
    found[name] = example
    print(f"without {name:<23} broken: {promise:<15} in {len(example.schedule)} choices")

# %% [markdown]
# What a database calls these anomalies: without the LSO a *dirty read* (Adya's G1a, G1b), without the
# aborted list an *aborted read* (G1a), without the durable decision a transaction that is committed
# in one partition and aborted in the other: atomicity itself is gone. Look at the last one:

# %%
Player(found["prepare_before_markers"].trace(), title="Markers before the decision")

# %% [markdown]
# ## Make: write the rule
#
# A leader knows, for its partition, the *first offsets of all undecided transactions* (a tuple,
# perhaps empty) and its *high watermark*. Write the rule that says which offset a reader of committed
# data must not reach. It is put into the leader, and every schedule of three small systems is tried.
#
# Two hints wait, if you want them: `print(LSO.hint(1))`, then `print(LSO.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "lso"}
def lso(first_offsets: tuple[int, ...], high_watermark: int) -> int:
    """The last stable offset: read_committed reads below it, never at or above it."""
    ### BEGIN SOLUTION
    # The lowest of all that can hold a reader back. An undecided transaction may begin above
    # the high watermark (not replicated yet), and there may be none at all.
    return min([*first_offsets, high_watermark])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lso-test", "points": 5}
verdict = check(LSO, lso)
print(verdict)
assert verdict.ok, str(verdict)

# %% [markdown]
# If it is not right yet, the message names the belief behind it, and the next cell plays the shortest
# run that refutes it.

# %%
verdict.player()

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | commit returned, so it is visible | the answer leaves after PrepareCommit, before any marker | Run |
# | a reader gets a transaction all at once | each partition shows it with its own marker | Run |
# | the coordinator tells the consumers | readers ask; a marker is a record in the log | Run |
# | the consumer buffers until the marker comes | no mode buffers; the broker withholds | Run |
# | an open transaction hides only its own messages | everything behind it waits | Investigate 1 |
# | the commit advances the high watermark | replication does; the commit advances the LSO | Investigate 2 |
# | offsets are dense, lag reaches 0 | markers take offsets | Investigate 3 |
# | aborted records are deleted, or filtered by the broker | they stay, and the client skips | Investigate 3 |
# | the producer writes the markers | the leader does, told by the coordinator | Run |
#
# Whether you read committed data is your choice, and the default is not the same everywhere: the Java
# consumer reads *uncommitted* unless told otherwise, librdkafka reads *committed*.

# %% [markdown]
# ## Exit ticket
#
# A parcel service writes *picked up* into one partition and *paid* into another, in one transaction.
# A dashboard with read_committed shows a parcel as picked up and not paid, for a second. A colleague
# says: "That is a bug in Kafka; a transaction is atomic." Which answer is right?

# %% jupyter={"source_hidden": true}
Predict(
    "What do you answer?",
    options=[
        "Yes: read_committed must never show half of a transaction",
        "No: every partition ends it the same way, but each at its own moment",
        "No: the dashboard must have read uncommitted data",
        "Yes: the producer should have waited for commit to return",
    ],
    answer=1,
    explanations=[
        "No isolation level of Kafka promises that: each partition has its own LSO.",
        "The outcome is one, the moment is not. A dashboard that joins both must wait for both.",
        "Both records are committed; one marker was simply written earlier than the other.",
        "commit returns before the markers are written, so waiting for it changes nothing.",
    ],
)

# %% [markdown]
# **What you know now.** A marker is a record. The LSO, not the high watermark, decides what a reader
# of committed data gets. Outcomes agree everywhere; moments do not.
