# %% [markdown]
# # Lab 07 · What may a reader see, and when?
#
# *90 minutes, or a quick route of 25* · Kafka 4.3, `transaction.version` 2, a v2 client (Java 4.x)
#
# **In one paragraph.** A transaction writes into several partitions at once, among the records of all
# other producers. An order service commits one, and the commit returns. In this lab you find out who can
# read what at that moment, you stop the system at the worst possible moment, and you write the line that
# crashes it there.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 06, or these four terms. A *partition* is one log of a topic. The *coordinator* (事务协调者)
# is the broker that keeps the state of a transaction. The *high watermark*, HW (高水位), is the offset below
# which everything is replicated. A consumer with the setting *read_committed* gets no record of a
# transaction that has not committed.

# %% [markdown]
# ## The commit returned. What did the billing service read?
#
# The gift shop's order service writes order 580538 into one topic and its payment into another, in one
# transaction. Its `commit` returns `ok`. The billing service reads both topics at once, with
# read_committed. It sends a wrong invoice, and no error is ever raised.
#
# In Java the order service is `initTransactions(); beginTransaction(); send("orders", …);
# send("payments", …); commitTransaction();`. The lines `run app: …` below make the same calls. The line
# `kill coordinator …` kills the coordinator at one step, and `restart` starts it again. `reader` is the
# part of the billing service that reads. `invoice` is a record of another transaction, which is still
# open.
#
# Every transaction in this course goes through the same six stages: **reserve → write → decide → publish
# the decision → make visible → forget**.

# %% jupyter={"source_hidden": true}
import sqlite3
import tempfile
from pathlib import Path

from mqlab.lab import (
    Budget,
    Explorer,
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    explore,
    in_words,
    say,
    scenario,
    system,
    table,
)
from mqlab.lessons.kafka.lab07 import (
    BATCH,
    HALF,
    LSO,
    MARKER,
    TRANSACTIONAL_ID,
    by_hand,
    data_flow,
    first,
    frontiers,
    header,
    lag_table,
    list_index_steps,
    partition_log,
    read_recording,
    readers,
    whole,
)

# %%
torn = scenario("""
# The coordinator dies between an order and its payment
system orders producers=app:order-service,billing readers=reader
run app: init, begin, send orders-0 580538
run billing: init, begin, send orders-0 invoice
run app: send payments-0 paid-580538, commit
kill coordinator when=WriteTxnMarkers#1 after=1
run reader: poll orders-0, poll payments-0
restart coordinator
run reader: poll payments-0
""", recorded="basic-commit")
answered = first(torn, "ok epoch=1")
half = next(f.index for f in torn if f.node == "orders-0" and f.peer == "reader")

# %% [markdown]
# ## Predict
#
# The coordinator has just answered `ok`. Nothing else has happened yet. Choose an answer and lock it;
# then the scenario continues.

# %% jupyter={"source_hidden": true}
Predict("07-commit-returned", trace=torn, step=answered, panels=["diagram", "graphs", "tables"], level="protocol")

# %% [markdown]
# ## Step through the torn read
#
# Step with the arrow keys, or drag the slider. Ask at each step: what just happened, what is durable, who
# can see what? Bookkeeping rows are folded; a click on the count shows them.
#
# Each log carries two flags. Below **HW** everything is replicated. Below **LSO**, the *last stable
# offset*, everything is also decided. The diamond at the end is a *marker*, a control record (控制消息) for a
# commit (C) or an abort (A).
#
# The picture opens at the step at which the reader got `580538` and not `paid-580538`. Both belong to
# **T1**, and T1 is committed: its decision is on the coordinator's disk. This reader sees an order for
# £316.78 but no payment. *Money* calls that *not settled yet*, because a marker is still pending.

# %%
Player(torn, step=half)

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
# The same as text: the readers when the client is answered, and when one of them polls.
readers(torn, answered)
print()
readers(torn, half)
frontiers(torn, half)

# %% [markdown]
# | stage | here | who can tell |
# |---|---|---|
# | reserve | `Ongoing {orders-0, payments-0}` at the coordinator | its log |
# | write | Produce: `580538` and `paid-580538` go straight into the partitions | anyone who reads uncommitted |
# | decide | EndTxn: `PrepareCommit` | the client: its commit returns |
# | publish the decision | WriteTxnMarkers to each partition | no reader yet |
# | make visible | the marker is below the HW, and the LSO moves | readers of *this* partition |
# | forget | `CompleteCommit` | only this producer's next transaction waits for it |
#
# After its restart the coordinator found `PrepareCommit` and sent every marker again until each partition
# had answered. So the last `poll` got `paid-580538`. The *outcome* was never in doubt, but each partition
# reaches it in its own time: between partitions there is only eventual consistency. The billing service
# had a *torn read* (撕裂读): it saw part of a transaction.

# %% [markdown]
# ## Find the crash
#
# Now you drive the system. The application has called `commit` for order 580538, and its request is in
# flight. Click a message to deliver it or to hold it back. Click a lane to kill that process. Click the
# red mark between two rows to go back and kill the node exactly there. *Find the fewest choices after
# which a reader gets half of order 580538.* It needs no crash at all: one marker arrives before the
# other. A crash makes the moment last.

# %%
play = continue_scenario("""
system orders claims=whole_read
hold app→coordinator EndTxn#1
run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit
""")
Playground(play, goal="whole read")

# %% [markdown]
# Then **write the line that kills the coordinator**. Two orders are sent, one after the other, each in
# its own transaction. From the crash until the coordinator is back, a reader must have all of order
# 580538 and half of order 580539.
#
# The line `kill coordinator when=Kind#n after=K` kills the coordinator in the step that sends the n-th
# message of that kind, after K effects of that step. An answer is written with `⇒`: `kill = "kill
# coordinator when=⇒InitProducerId#1 after=0"` kills it before it answers the first InitProducerId.

# %% nbgrader={"solution": true, "grade_id": "kill"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill coordinator when=… after=…"
### BEGIN SOLUTION
# Order 580538 had two markers, so those of order 580539 are the third and the fourth. One step sends both, and
# it stops after the first.
kill = "kill coordinator when=WriteTxnMarkers#3 after=1"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kill-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("half", kill)
### END HIDDEN TESTS
check(HALF, kill)

# %% [markdown]
# ## What you know now
#
# A marker is a record. The LSO, not the high watermark, decides what a read_committed consumer gets.
# Every partition reaches the same outcome, but not at the same time.
#
# The quick route ends here. The parts below go deeper, in any order; 8 of the 10 points are there. The
# next lab asks how a consumer's positions join a transaction: [lab
# 08](08-consume-transform-produce.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("07")

# %% [markdown] tags=["deeper"]
# ## Who sends requests to whom?

# %% [markdown]
# Many diagrams of Kafka show arrows that do not exist. Answer first, then look.

# %% jupyter={"source_hidden": true}
Predict("07-who-writes")

# %%
# The reader gets no request, and only leaders write markers.
assert not any(f.peer == "reader" and f.glyph != "⇒" for f in torn)
assert {f.node for f in torn if "marker @" in f.text.en} == {"orders-0", "payments-0"}
data_flow()

# %% [markdown]
# This is the figure from lab 06, in which the five steps have the numbers that articles give them. Look
# at the consumer's line. A consumer polls again and again, and gets the records that its partition may
# show. The coordinator sends it no request.

# %% [markdown] tags=["deeper"]
# ## Who else must wait, and why?

# %% [markdown]
# `slow` has a transaction open in `orders-0`. Then `plain` writes `p` there and `q` into `orders-1`
# without any transaction, and `fast` runs a whole transaction with `f` in `orders-0`. All of them get the
# answer `ok`.

# %% jupyter={"source_hidden": true}
behind = scenario("""
# Three producers, and one of them takes its time
system kafka partitions=2 producers=slow,plain:plain,fast readers=reader
run slow: init, begin, send orders-0 s
run plain: send orders-0 p, send orders-1 q, flush
run fast: init, begin, send orders-0 f, commit
""")
Predict(
    "07-open-transaction",
    trace=behind,
    step=len(behind),
    panels=["space-time", "graphs", "tables"],
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
readers(behind, -1)
for fact in behind:
    if fact.text.en.endswith("commit: ok"):
        print(say("{node} has committed, while slow is still open", node=fact.node))
frontiers(behind, -1)

# %% [markdown]
# So “one blocked transaction blocks all that follow” is half true. It holds up *read_committed consumers*
# in the partitions it wrote to, until it ends or its timeout ends it. Producers, other partitions and
# read_uncommitted consumers continue.

# %% [markdown] tags=["deeper"]
# ## Does a commit move the high watermark?

# %% [markdown]
# All records below the high watermark are replicated. An application sends `a` and `b` in a transaction,
# and commits.

# %% jupyter={"source_hidden": true}
ends = scenario("""
# Two records and a commit
system kafka partitions=1
run app: init, begin, send orders-0 a, send orders-0 b, commit
""")
Predict("07-high-watermark", trace=ends, step=first(ends, "EndTxn"))

# %% [markdown]
# How safe is *replicated*? The next cell kills a broker (its memory is lost), and cuts its power (records
# that were not flushed are lost as well), with one copy of the log and with two.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for fact in ends:
    if fact.glyph == "⇨":
        print(fact.line(width=8))
print()
WRITTEN = "system kafka partitions=1 replicas={n}\nrun app: init, begin, send orders-0 paid, commit\n"
for stop in ("kill", "power-cut"):
    alone = scenario(WRITTEN.format(n=1) + f"{stop} orders-0\nrestart orders-0")
    pair = scenario(WRITTEN.format(n=2) + f"{stop} orders-0@1\nrun controller: fence orders-0 1")
    for copies, run in ((say("one copy "), alone), (say("two copies"), pair)):
        got = " ".join(g.label for g in run.snapshot(-1).readers[0].got) or say("nothing")
        print(f"{stop:<10} {copies:<11}", say("an acknowledged commit is read as:"), got)

# %% [markdown]
# HW had passed `a` and `b` before the commit, as the first lines show. The marker is one more record, so
# HW moves past it as past any other. The commit moves the LSO from 0 to 3 at once.
#
# Three words mean different things here. *Written* means that the record is in the log of one broker, in
# the memory that the operating system keeps for files: it survives a killed process, but perhaps not a
# power cut. *Replicated* means that every in-sync copy has written it. *Flushed* means that the disk has
# it, and only that survives a power cut of all copies.
#
# Kafka acknowledges on replication, not on a flush. With one copy a power cut can take an
# acknowledged payment away, and no error reports it.
#
# A public report of such offsets: `mqlab incidents two-records-end-offset-four`.

# %% [markdown] tags=["deeper"]
# ## Where do the offsets go?

# %% [markdown]
# Two records were written and committed, and a reader gets both.

# %% jupyter={"source_hidden": true}
commit = scenario("""
# Two records, a commit, and a reader that keeps polling
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, send orders-0 b, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
run app: begin, send orders-0 c, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
""")
Predict("07-position", trace=commit, step=first(commit, "Fetch @0") - 1)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
cells = commit.snapshot(-1).logs[0].cells
print(table("offset | record | kind", [(one.offset, one.label, one.kind) for one in cells]), "\n")
print(lag_table(commit))

# %% [markdown]
# A marker takes an offset. So a reader sees gaps between offsets, and `end offset − beginning offset`
# counts more than the messages. A tool that computes a lag from the last *record* never shows 0, however
# idle the topic is: a well-known false alarm. The consumer's own lag is measured from its position to the
# LSO, and it does reach 0.

# %% [markdown] tags=["deeper"]
# ## What happens to aborted records?

# %% [markdown]
# One partition holds plain records (`n`), a transaction that aborts (`x`) and one that commits (`c`). At
# the end `x` has a second transaction, which commits. Many articles draw such a log, with markers between
# the messages.

# %% jupyter={"source_hidden": true}
MIXED = """
# Plain, aborted and committed records side by side
system kafka partitions=1 producers=n:plain,x,c readers=reader,other
run x: init
run c: init
run n: send orders-0 n0, send orders-0 n1, flush
run x: begin, send orders-0 x2
run c: begin, send orders-0 c3
run x: send orders-0 x4, abort
run c: send orders-0 c6, commit
run x: begin, send orders-0 x8, commit
"""
mixed, mixed_run = partition_log(MIXED, "orders-0"), scenario(MIXED)
Predict("07-fetch", trace=mixed_run, step=len(mixed_run), panels=["space-time", "logs"])

# %% jupyter={"source_hidden": true}
Predict("07-aborted-list")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
said, (entry,) = mixed.fetch(0), mixed.index
travels = [(a.pid, a.first_offset) for a in said.aborted]
print(say("in the log  "), " ".join(b.control or b.words for b in mixed.batches))
print(say("sent        "), " ".join(b.control or b.words for b in said.batches))
print(say("delivered   "), " ".join(mixed.read(0)), end="   ")
print("read_uncommitted:", " ".join(mixed.read(0, "read_uncommitted")))
written = f"pid={entry.pid} first={entry.first_offset} last={entry.last_offset} LSO={entry.lso}"
print(say("index file  "), written)
print(say("the list    "), *(f"pid={pid} first={offset}" for pid, offset in travels))
print(say("by hand     "), by_hand(said.batches, travels) == mixed.read(0))
print(say("\nwhen is the index written?"))
print(list_index_steps(mixed_run))

# %% [markdown]
# The leader sends records up to the LSO and adds a list of aborted transactions; the client skips their
# records. The leader notes an aborted transaction in its index file (`.txnindex`) when the abort marker
# is written, just before the LSO moves on, as the three lines under *when is the index written?* show.
# `by_hand` filters by the list alone, as a client does. A client drops the records of a listed producer
# from the first offset up to its abort marker, so `x8` of the same producer id is kept.
#
# The next cell takes apart a batch that librdkafka wrote to Kafka 4.3.1. Which of a producer's three
# identifiers does it contain: the transactional id, the producer id, the epoch?

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(say("the header of a real batch:"))
print(table("field | value", header().items()))
size, is_in = len(BATCH), TRANSACTIONAL_ID.encode() in BATCH
print(say("its transactional id is in its {size} bytes: {is_in}", size=size, is_in=is_in))

# %% [markdown]
# The header contains the producer id, the epoch and one bit for *transactional*. The transactional id is
# in no partition's log.

# %% [markdown] tags=["deeper"]
# ## Which isolation level do you read at?

# %% [markdown]
# Isolation is the I of ACID, and *read committed* means no *dirty read* (脏读): a reader never sees a record
# that is not decided yet. Here a transaction is open, and an application that has set no level polls.

# %% jupyter={"source_hidden": true}
undecided = """
# A record of an open transaction
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, flush
"""
undecided_run = scenario(undecided)
Predict("07-isolation", trace=undecided_run, step=len(undecided_run))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
undecided_log = partition_log(undecided, "orders-0")
for level in ("read_committed", "read_uncommitted"):
    print(f"{level:<16}", say("sees"), " ".join(undecided_log.read(0, level)) or say("nothing"))
aborted_log = partition_log(undecided + "run app: abort", "orders-0")
print(say("after the abort a is still in the log:"), [b.words for b in aborted_log.batches if not b.control])
print(say("read_committed sees"), aborted_log.read(0))
print()
print(read_recording("kafka-4.3.1/tv2", "default-levels", "Java", "librdkafka"))

# %% [markdown]
# read_uncommitted got `a` at once, without waiting for any marker. That was a dirty read, of an order
# that never existed. The read_committed consumer got nothing, so it had nothing to hold back either: at
# neither level does a consumer buffer undecided records.
#
# The table comes from a real Kafka 4.3.1. Its partition contains an aborted record, followed by a
# committed one. Each line shows a consumer, the level that it sets, and the first record that it got.
# With no level set, the Java consumer 4.3.1 got the aborted record, and librdkafka 2.16 the committed
# one.

# %% [markdown] tags=["deeper"]
# ## When does a reader never get the whole transaction?

# %% [markdown]
# Every partition reaches the same outcome, and yet a reader may not get the whole transaction. There are
# three ordinary reasons. The other partition is assigned to another consumer. The application seeks into
# the middle. The first records were deleted because their retention time had passed. In none of these
# cases does the application get an error.
#
# **How does a database do it?** It keeps several versions of a row and shows a reader those of its
# *snapshot* (MVCC). The second half of the output compares SQLite with our log.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
TWO = """
system kafka partitions=2 readers=one,two
run app: init, begin, send orders-0 a, send orders-1 b, commit
"""
shared = scenario(TWO + "run one: poll orders-0\nrun two: poll orders-1")
for fact in shared:
    if fact.node in ("one", "two") and fact.glyph == "☞":
        print(fact.node, say("has one partition: "), fact.text)

middle = scenario(MIXED + "run reader: seek orders-0@4, poll orders-0")
print(say("seek into the middle:  "), next(f.text for f in middle if f.text.en.startswith("poll")))

late = mixed.without(4)
print(say("retention, from 0:     "), late.fetch(0).error)
print(say("retention, from earliest:"), " ".join(late.read(4)))
print()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "shop.db"
    writer, reader = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    writer.execute("pragma journal_mode = wal")
    writer.execute("create table orders (id text, paid int)")
    writer.execute("insert into orders values ('a', 0)")
    ask = "select id, paid from orders"
    reader.execute("begin")
    print(say("database, snapshot: "), reader.execute(ask).fetchall())
    writer.execute("update orders set paid = 1")
    print(say("after an update:    "), reader.execute(ask).fetchall(), say("the old version, still"))
    reader.execute("commit")
    print(say("a new snapshot:     "), reader.execute(ask).fetchall())
    writer.close(), reader.close()

twice = scenario("""
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a-unpaid, commit
run reader: poll orders-0
run app: begin, send orders-0 a-paid, commit
run reader: poll orders-0
""")
for fact in twice:
    if fact.node == "reader" and fact.glyph == "☞":
        print(say("log, from a position:"), fact.text)

# %% [markdown]
# `c3` and `c6` are one transaction, and two of these readers got `c6` without `c3`. `x4` was skipped even
# from the middle, because the list names a transaction that began *before* the fetched offset. The client
# handles OFFSET_OUT_OF_RANGE itself: `auto.offset.reset` sets where it continues.
#
# A log overwrites nothing, so a *position* is enough where a database needs a snapshot: everything below
# the LSO is decided and does not change.

# %% [markdown] tags=["deeper"]
# ## Does a search find your crash?

# %% [markdown]
# The explorer tries every schedule in which the coordinator dies once, at each effect of each step. Press
# *Search*. One claim is broken, with the fewest choices possible; the others hold. The cell after it
# prints the same as text.

# %%
line = "kafka partitions=2 'app=init; begin; send orders-0 a; send orders-1 b; commit'"
searched, kills = system(line), Budget(kills=1, killable=("coordinator",))
wanted = ("same outcome", "clean read", "decided first", "commits", "read back")
claims = [claim for claim in searched.properties() if claim.name in wanted]
Explorer(searched, kills, (whole(searched), *claims))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
shortest = explore(searched, kills, (whole(searched),)).counterexamples["whole"]
count = len(shortest.schedule)
print(say("half of it, in {count} choices; the last of them:", count=count))
for fact in list(shortest.trace())[-4:]:
    print("  ", fact.line(width=11))
verdict = explore(searched, kills)
found = list(verdict.counterexamples) or say("none")
print(say("two outcomes, dirty or aborted reads:"), found, say("in all schedules"))
print(say("all of them were searched:"), verdict.complete)

# %% [markdown] tags=["deeper"]
# ## Which safeguard is necessary?

# %% [markdown]
# Each line of this table switches off one safeguard and searches for the shortest example that breaks a
# promise. Guess first, for each line, what will break.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
abort = "kafka partitions=1 'app=init; begin; send orders-0 x; abort'"
cases = [
    ("lso", abort, Budget(), "clean read", "dirty read (P1)"),
    ("aborted_index", abort, Budget(), "clean read", "aborted read (G1a)"),
    (
        "prepare_before_markers",
        "orders 'app=init; begin; send orders-0 580538; flush; send payments-0 paid-580538; commit'",
        Budget(kills=1, killable=("coordinator",), timers=1),
        "same outcome",
        "fractured outcome",
    ),
]
found = {}
for name, words, budget, promise, anomaly in cases:
    verdict = explore(system(f"{words} off={name}"), budget)
    found[name] = verdict.counterexamples[promise]
    print(say("without"), f"{name:<23} {in_words(anomaly):<32}", say("in {n} choices", n=len(found[name].schedule)))

# %% [markdown]
# P1 and G1a are names from the literature. P1, from a critique of the isolation levels of ANSI SQL, is a
# *dirty read*: a record is read before it is decided. G1a, from Adya's thesis, is an *aborted read*: a
# record is read although it was rolled back. Without the durable decision a transaction may be committed
# in one partition and aborted in the other, a *fractured outcome*: atomicity itself is gone. Step through
# the last one until the order and its payment can never agree again. At the start of this lab half an
# order was a matter of time; here *Money* turns red, and stays so.

# %%
title = say("Markers before the decision")
Player(verdict.counterexamples["money"].trace(), title=title)

# %% [markdown] tags=["deeper"]
# ## What does a leader do with a marker, step by step?

# %% [markdown]
# In lab 06 you arranged the coordinator's steps. Now the other end: the coordinator has asked the leader
# of a partition to write a marker, for a commit or for an abort. Four of these seven pieces belong to the
# leader's work. Each sequence you try is built into a leader that may die between any two pieces, and
# every schedule is searched. For a wrong sequence you get the shortest example that shows why. *More than
# one sequence is right.* Run the cell, then move the pieces: each move is written between the brackets of
# its call.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = MARKER.arrange([
    ### BEGIN SOLUTION
    # Kafka's own: one append writes marker and index entry; the high watermark releases the rest.
    "append", "index", "lso", "answer"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("marker", order)
### END HIDDEN TESTS
check(MARKER, order)

# %% [markdown] tags=["deeper"]
# ## Write the rule for the LSO

# %% [markdown]
# A leader keeps two facts about its partition: the *first offsets of all undecided transactions* (a
# tuple, perhaps empty) and its *high watermark*. Write the rule that computes the offset which a
# read_committed consumer must not reach. It is put into the leader, and every schedule of three small
# systems is tried.
#
# Two hints are available: `print(LSO.hint(1))`, then `print(LSO.hint(2))`. If the rule is not right yet,
# the message names the belief behind it, and the example that refutes it opens at the step that shows
# why.

# %% nbgrader={"solution": true, "grade_id": "lso"}
def lso(first_offsets: tuple[int, ...], high_watermark: int) -> int:
    """The last stable offset: read_committed reads below it, never at or above it."""
    ### BEGIN SOLUTION
    # The lowest offset that can hold a reader back. An undecided transaction may begin above
    # the high watermark (not replicated yet), and there may be none at all.
    return min([*first_offsets, high_watermark])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lso-test", "points": 5}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("lso", lso)
### END HIDDEN TESTS
check(LSO, lso)

# %% [markdown] tags=["deeper"]
# ## What hides undecided messages in the other brokers?

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar |
# |---|---|---|---|
# | where undecided messages are | in their partition, among all others | in a topic of their own (half messages) | in their topic, among all others |
# | what makes one visible | a marker in each partition, the LSO | a second message, in the real topic | a marker in each topic, maxReadPosition |
# | what an open transaction holds up | read_committed consumers, in its partitions | nothing | every consumer, in its topics |
# | who filters out aborted messages | the client, by a list | nothing to leave out: it was never copied | the broker |
# | a torn read | for a moment, between two markers | there is one message only | for a moment, between two markers |
#
# Ask this about any queue that you use: *what does a reader wait for, and what makes it wait?*

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | commit returned, so it is visible | the answer is sent after PrepareCommit, before any marker | torn read |
# | a reader gets a transaction all at once | each partition shows it with its own marker | torn read |
# | the producer writes the markers | the leader does, on the coordinator's request | requests |
# | the coordinator notifies the consumers | consumers poll; a marker is a record in the log | requests |
# | an open transaction hides only its own messages | in its partition it hides everything after it | others wait |
# | one blocked transaction blocks all that follow | readers of its partitions only | others wait |
# | the commit advances the high watermark | replication does; the commit advances the LSO | high watermark |
# | offsets are dense | markers take offsets; a lag from the last record never reaches 0 | offsets |
# | aborted records are deleted, or filtered by the broker | they stay, and the client skips them | aborted |
# | the aborted list has start and end | the file has; the answer contains id and first offset | aborted |
# | batches carry the transactional id | producer id and epoch | aborted |
# | the consumer buffers until the marker comes | no consumer buffers; the broker withholds | level |
# | read_committed is the default | not in Java | level |
# | a reader gets the whole transaction in the end | not with half of the partitions | the whole |
# | acknowledged means flushed | it means replicated: with one copy a power cut can take it away | high watermark |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A parcel service writes *picked up* into one partition and *paid* into another, in one transaction. A
# dashboard with read_committed shows a parcel as picked up and not paid, for a second. A colleague
# claims: "That is a bug in Kafka; a transaction is atomic." Which answer is right?

# %% jupyter={"source_hidden": true}
Predict("07-exit-ticket")
