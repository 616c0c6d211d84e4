# %% [markdown]
# # Lab 07 · Markers and the last stable offset
#
# *What may a reader see, and when?* · 90 minutes · Kafka 4.3, `transaction.version` 2, a v2 client
# (Java 4.x)
#
# **In one paragraph.** A transaction writes into several partitions at once, in the middle of
# everybody else's records. When it ends, each partition gets one more record, a *marker*. A reader
# who wants only committed data stops at the *last stable offset*, partition by partition. From this
# follow some surprises: a commit can return while nobody can see it yet, half of a transaction can
# be visible, and an order that has nothing to do with a transaction may have to wait for it.
#
# **Contents.** Hook · Predict · Run · Who speaks to whom · Investigate · Find the crash · Modify ·
# Order · Make · Exit ticket
#
# **Words.** *HW*, high watermark (高水位): below it everything is replicated. *LSO*, last stable
# offset (not “log stable offset”): below it everything is also decided. *Marker*, control record
# (控制消息): C (commit) or A (abort). *Coordinator* (事务协调器): the broker that decides a
# transaction. *Torn read*: a reader sees part of one. *Dirty read* (脏读): it sees what is not
# decided yet.

# %%
from mqlab_widgets import Explorer, Player, Playground, Predict

from mqlab.explore import Budget, explore
from mqlab.lessons import check, playing, scenario, system
from mqlab.lessons.lab07 import END_TXN, HALF, LSO, who_asks_whom, whole
from mqlab.lessons.partition_log import partition_log

# %% [markdown]
# ## Hook: the commit returned, and the order is not there
#
# The order service writes an order into two partitions, `orders-0` and `orders-1`, in one
# transaction. Its `commit` returns `ok`. A billing service asks for committed orders at once, and
# gets one half of the order: the invoice is wrong, and no error was ever raised.
#
# In Java (or in the article's Scala) the order service is `initTransactions(); beginTransaction(); send(a); send(b);
# commitTransaction();`, and the line `run app: …` below says the same.
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
""", recorded="basic-commit")
answered = next(f.index for f in torn if f.label.en == "ok" and f.why.en.startswith("The client"))
half = next(f.index for f in torn if f.node == "orders-0" and f.peer == "reader")

# %% [markdown]
# ## Predict
#
# The coordinator has just answered `ok`. Nothing else has happened yet. Decide, lock your answer,
# then run on. The cell after it says the same as text: what each reader gets at that step.

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
    panels=["space-time", "graphs", "tables"],  # the other panels would give it away
)

# %% tags=["nbval-check-output"]
def readers(trace, position):
    for reader in trace.snapshot(position).readers:
        got = " ".join(f"{g.label}({g.txn})" for g in reader.got) or "nothing"
        print(f"{reader.name:<17} {got:<20} {reader.note}".rstrip())


readers(torn, answered)

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. The question at each step: what just happened, what
# is durable, who can see what? Rows that teach nothing here are folded; click the count to see
# them. Below it the same run as narration, from the decision to the read: `▮` is durable, `✗` a
# crash, `⇒` an answer. At the step with the yellow band the reader got `a`, and not `b`. Both
# belong to **T1**, and T1 is committed: its decision is on the coordinator's disk.

# %%
Player(torn, step=half)

# %% tags=["nbval-check-output"]
for fact in torn.facts[answered - 3 : half]:
    if not fact.fold:
        print(f"{fact.index:>3}  {fact.line(width=8)}")
print()
readers(torn, half)
for log in torn.snapshot(half).logs:
    cells = " ".join(f"{c.label}@{c.offset}" for c in log.cells)
    frontiers = ", ".join(f"{f.name}={f.at}" for f in log.frontiers)
    print(f"{log.name}  {cells:<14} {frontiers}")

# %% [markdown]
# | stage | here | who can tell |
# |---|---|---|
# | reserve | `Ongoing {orders-0, orders-1}` at the coordinator | its log |
# | write | Produce: `a`, `b` straight into the partitions | anyone who reads uncommitted |
# | decide | EndTxn: `PrepareCommit` | the client: its commit returns |
# | publish the decision | WriteTxnMarkers to each partition | nobody yet |
# | make visible | the marker is below the HW, the LSO moves | readers of *this* partition |
# | forget | `CompleteCommit` | nobody waits for it |
#
# After the restart the coordinator found `PrepareCommit` and sent every marker again, until each
# partition had answered: that is why the last `poll` gets `b`. The *outcome* was never in doubt.
# The *moment* is each partition's own: between partitions there is only eventual consistency.
#
# ## Who speaks to whom
#
# Many drawings of Kafka show arrows that do not exist. Say first what you think, then count.

# %% jupyter={"source_hidden": true}
Predict(
    "Who writes the commit marker into orders-0, and who tells the reader of it?",
    options=[
        "the producer writes it, the broker hands it to the reader",
        "the coordinator writes it and pushes it to the reader",
        "the leader of orders-0 writes it, and nobody tells the reader: it asks",
        "the reader's group coordinator writes it, once the reader has acknowledged",
    ],
    answer=2,
    explanations=[
        "A producer only sends EndTxn. It never builds a control record, and would be refused.",
        "The coordinator asks the leader (WriteTxnMarkers); it knows no consumers at all.",
        "A marker is a record of the partition's log; a reader finds its effect when it fetches.",
        "Only `__consumer_offsets` has its markers from the group coordinator, and no reader acks.",
    ],
)

# %% tags=["nbval-check-output"]
print(who_asks_whom(torn))
print("anybody asks the reader:", any(f.peer == "reader" and f.glyph != "⇒" for f in torn))
print("markers are written by:", *sorted({f.node for f in torn if "marker @" in f.text.en}))

# %% [markdown]
# This is the article's five-step figure as a list: find the coordinator, get an id, write, end, and
# let the coordinator write to the partitions. Nobody drives a reader: it asks, again and again, and
# gets what its partition may show. (How a producer finds its coordinator is lab 06.)
#
# ## Investigate
#
# **1. Why must others wait, and does everything?** `slow` has a transaction open in `orders-0`. Then
# `plain` writes `p` there and `q` into `orders-1` without any transaction, and `fast` runs a whole
# transaction with `f` in `orders-0`. All of them are answered `ok`.

# %%
behind = scenario("""
# An open transaction holds up everything behind it, in its own partition
system kafka partitions=2 producers=slow,plain:plain,fast readers=reader
run slow: init, begin, send orders-0 s
run plain: send orders-0 p, send orders-1 q, flush
run fast: init, begin, send orders-0 f, commit
""")

# %% jupyter={"source_hidden": true}
Predict(
    "What does a read_committed reader get while slow's transaction is open?",
    options=[
        "p, q and f: only slow's own record is hidden",
        "nothing at all: one open transaction stops the whole topic",
        "q alone: p and f lie behind s in their partition",
        "q and f: records without a transaction wait, committed ones do not",
        "fast's commit cannot return before slow has ended",
    ],
    answer=2,
    explanations=[
        "The LSO stands at s: everything behind it in orders-0 waits, whoever wrote it.",
        "Each partition has its own LSO, and slow never wrote into orders-1.",
        "A position has no holes: a reader cannot step over s and come back for it later.",
        "Both wait: what counts is the place in the log, not whose record it is.",
        "Writing and committing go on as ever; only readers of committed data wait, here.",
    ],
    trace=behind,
    step=len(behind),
    panels=["space-time", "graphs", "tables"],
)

# %% tags=["nbval-check-output"]
readers(behind, -1)
for fact in behind:
    if fact.text.en.endswith("commit: ok"):
        print(f"{fact.node} has committed, while slow is still open")
for log in behind.snapshot(-1).logs:
    print(log.name, " ".join(c.label for c in log.cells), *(f"{f.name}={f.at}" for f in log.frontiers))

# %% [markdown]
# So “one blocked transaction blocks all that follow” is half true: it holds up *readers* of committed
# data, in the partitions it wrote to, until it ends or its timeout ends it. Producers, other
# partitions and read_uncommitted go on.
#
# **2. Does a commit move the high watermark?** The high watermark says what is replicated. Look at
# HW and LSO before and after the marker: which of the two was already past the data?

# %% tags=["nbval-check-output"]
commit = scenario("""
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, send orders-0 b, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
""")
for fact in commit:
    if fact.glyph == "⇨":
        print(f"{fact.index:>3}  {fact.line(width=8)}")

# %% [markdown]
# HW had passed `a` and `b` long before the commit; the marker is one more record, so HW moves past
# it like past any other. What the commit moves is the LSO: from 0 to 3 at once.
#
# **3. Where do the offsets go?** Two records were written and committed, and a reader has both.

# %% jupyter={"source_hidden": true}
Predict(
    "The reader has a (offset 0) and b (offset 1). Where does it stand, and what is its lag?",
    options=[
        "position 2, lag 0: two records, two offsets",
        "position 2, lag 1 for ever: the marker can never be read",
        "position 3, lag 0: it has stepped over the marker",
        "position 1, lag 0: the position is the last record read",
    ],
    answer=2,
    explanations=[
        "The marker took offset 2. Offsets are places in the log, not numbers of messages.",
        "A tool that subtracts the last record's offset shows that; the consumer itself steps over.",
        "No application ever gets a marker, yet the position moves past it.",
        "A position is the next offset to read, so it is last + 1 at least.",
    ],
)

# %% tags=["nbval-check-output"]
for cell in commit.snapshot(-1).logs[0].cells:
    print(cell.offset, cell.label, cell.kind)
for fact in commit:
    if fact.node == "reader" and fact.glyph == "☞":
        print(fact.text)

# %% [markdown]
# A marker takes an offset. So offsets have gaps for a reader, `end offset − beginning offset` counts
# more than the messages, and whoever computes a lag from the last *record* sees 1 here for ever. The
# consumer's own lag is measured against the LSO under read_committed, and does reach 0.
#
# **4. The article's own log.** Plain records (`n`), a transaction that aborts (`x`) and one that
# commits (`c`), all in one partition. The article's picture shows such a log, with its marks
# between the messages. At the end `x` has a second transaction, which commits.

# %% tags=["nbval-check-output"]
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
mixed = partition_log(MIXED, "orders-0")
for batch in mixed.batches:
    kind = "plain" if not batch.transactional else "marker" if batch.control else "transactional"
    print(batch.base, f"{batch.control or batch.words:<7}", kind)

# %% jupyter={"source_hidden": true}
Predict(
    "A read_committed reader fetches this log from offset 0. What does the broker send it?",
    options=[
        "n0 n1 c3 c6 x8: the broker leaves out what was aborted",
        "n0 n1 c3 c6 x8: aborted records were deleted when the abort marker came",
        "everything up to the LSO, x2, x4 and the markers too, and a list of aborted transactions",
        "everything; the client keeps it back until it sees the end marker of each transaction",
    ],
    answer=2,
    explanations=[
        "The broker does not look into batches one by one: it cuts at the LSO and adds a list.",
        "An abort only appends. Records leave a log by retention or compaction, much later.",
        "The client drops the batches of the listed producers: filtering is done at the reader.",
        "No mode buffers. What is not decided is not sent, so there is nothing to keep back.",
    ],
)

# %% tags=["nbval-check-output"]
said = mixed.fetch(0)
print("sent     ", " ".join(b.control or b.words for b in said.batches))
print("the list ", [(a.pid, a.first_offset) for a in said.aborted])
print("delivered", " ".join(mixed.read(0)))
print("read_uncommitted delivered", " ".join(mixed.read(0, "read_uncommitted")))

# %% [markdown]
# The leader notes each aborted transaction in an index file beside the log (`.txnindex`) when the
# abort marker is written. The article prints its entry as ProducerId, StartOffset, EndOffset (11, 2,
# 5): that is what the *file* holds. What *travels* in a fetch is the producer id and the first
# offset alone. Why is that enough? One producer id has one transaction open at a time, and the abort
# marker in the log says where it ends: `x8`, of the same producer id, is kept. `by_hand` below is all
# of the client's filter.
#
# What names the producer in a batch is its id and epoch. The transactional id is not in the log of
# any partition: only the coordinator knows which id belongs to whom.

# %% tags=["nbval-check-output"]
def by_hand(batches, aborted):
    """What a read_committed client keeps, from (producer id, first offset) pairs alone."""
    dropping, kept, waiting = set(), [], sorted(aborted, key=lambda pair: pair[1])
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last:
            dropping.add(waiting.pop(0)[0])
        if batch.control == "ABORT":
            dropping.discard(batch.pid)
        elif not batch.control and not (batch.transactional and batch.pid in dropping):
            kept.append(batch.words)
    return kept


(entry,) = mixed.index
print("file  ", f"pid={entry.pid} first={entry.first_offset} last={entry.last_offset} LSO={entry.lso}")
travels = [(a.pid, a.first_offset) for a in said.aborted]
print("wire  ", *(f"pid={pid} first={first}" for pid, first in travels))
print("same  ", by_hand(said.batches, travels) == mixed.read(0))
batch = mixed.batches[2]
print("header", f"base={batch.base} pid={batch.pid} epoch={batch.epoch} firstSequence={batch.first_seq}")
print("transactional id in it:", any("txn_id" in name for name in batch.__slots__))

# %% [markdown]
# **5. Which level do you read at?** Isolation is the I of ACID: *read committed* means no dirty
# read. Here a transaction is open, and an application that has set nothing polls.

# %% jupyter={"source_hidden": true}
Predict(
    "An application sets no isolation.level. Which one does it get?",
    options=[
        "read_committed: it is the safe one",
        "read_uncommitted: it is the fast one",
        "the level the producer has chosen",
        "it depends on the client: Java read_uncommitted, librdkafka read_committed",
    ],
    answer=3,
    explanations=[
        "So it is in librdkafka (confluent-kafka in Python, Go, C#), but not in Java.",
        "So it is in Java's ConsumerConfig, but librdkafka's CONFIGURATION.md says otherwise.",
        "A producer cannot choose for its readers: both kinds may read one partition at once.",
        "The same bytes, two answers: set it yourself, always.",
    ],
)

# %% tags=["nbval-check-output"]
DEFAULTS = {"Java consumer": "read_uncommitted", "librdkafka": "read_committed"}
undecided = """
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a
"""
undecided_log = partition_log(undecided, "orders-0")
for client, level in DEFAULTS.items():
    got = " ".join(undecided_log.read(0, level)) or "nothing"
    print(f"{client:<14} {level:<17} sees {got}")
aborted_log = partition_log(undecided + "run app: abort", "orders-0")
print("after the abort a is still in the log:", [b.words for b in aborted_log.batches if not b.control])
print("read_committed sees", aborted_log.read(0))

# %% [markdown]
# read_uncommitted got `a` at once, without waiting for any marker: a dirty read, of an order that
# never was. read_committed was sent nothing, so it had nothing to keep back either.
#
# **6. When does a reader never see the whole?** That a transaction ends the same way everywhere does
# not mean that every reader gets all of it. Three ordinary reasons: the other partition is assigned
# to somebody else; the application seeks into the middle; the first records have been deleted
# because their time was over (retention). No application is told in any of them that something is
# missing.

# %% tags=["nbval-check-output"]
TWO = """
system kafka partitions=2 readers=one,two
run app: init, begin, send orders-0 a, send orders-1 b, commit
"""
shared = scenario(TWO + "run one: poll orders-0\nrun two: poll orders-1")
for fact in shared:
    if fact.node in ("one", "two") and fact.glyph == "☞":
        print(f"{fact.node} has one partition:  {fact.text}")

middle = scenario(MIXED + "run reader: seek orders-0@4, poll orders-0")
print("seek into the middle:  ", next(f.text for f in middle if f.text.en.startswith("poll")))

late = mixed.without(4)
print("retention, from 0:     ", late.fetch(0).error)
print("retention, from earliest:", " ".join(late.read(4)))

# %% [markdown]
# `c3` and `c6` are one transaction, and two of these readers got `c6` without `c3`. `x4` was skipped
# even from the middle: the list names a transaction that began *before* the fetched offset. And the
# OFFSET_OUT_OF_RANGE stays in the client: `auto.offset.reset` says where it goes on instead.
#
# **How does a database do it?** It keeps several versions of a row and shows a reader those of its
# *snapshot* (MVCC). A log overwrites nothing, so a *position* is enough: everything below the LSO is
# decided and stays as it is.

# %% tags=["nbval-check-output"]
import sqlite3
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "shop.db"
    writer, reader = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    writer.execute("pragma journal_mode = wal")
    writer.execute("create table orders (id text, paid int)")
    writer.execute("insert into orders values ('a', 0)")
    ask = "select id, paid from orders"
    reader.execute("begin")
    print("database, snapshot: ", reader.execute(ask).fetchall())
    writer.execute("update orders set paid = 1")
    print("after an update:    ", reader.execute(ask).fetchall(), "the old version, still")
    reader.execute("commit")
    print("a new snapshot:     ", reader.execute(ask).fetchall())
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
        print("log, from a position:", fact.text)

# %% [markdown]
# ## Find the crash
#
# Move the system yourself. The application has called `commit`; its request is under way. Deliver
# messages, hold them (what you do not deliver waits), kill a node after some of its effects. *Find
# the shortest run in which a reader gets half of a transaction.*

# %%
play = playing("""
system kafka partitions=2
hold app→tc EndTxn#1
run app: init, begin, send orders-0 a, send orders-1 b, commit
""")
Playground(play)

# %% [markdown]
# You need no crash at all: it is enough that one marker arrives before the other. A crash makes the
# moment last. **Find the kill** after which a reader has half of the order until the coordinator is
# back. One line: `kill tc when=Kind#n after=K` kills the coordinator in the step that sends the n-th
# message of that kind, when K effects of that step are done. (An answer is written with `⇒`, as in
# `⇒EndTxn#1`.)

# %% nbgrader={"solution": true, "grade_id": "kill"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill tc when=… after=…"
### BEGIN SOLUTION
# The step that sends the markers has one effect a partition: stop after the first of two.
kill = "kill tc when=WriteTxnMarkers#1 after=1"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kill-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.points", None)
from mqlab.lessons.points import grade

grade("half", kill)
### END HIDDEN TESTS
check(HALF, kill)

# %% [markdown]
# Now let the explorer look, at every schedule in which the coordinator dies once, whichever effect of
# whichever step is its last one. Press *Search*. One claim is broken, in the shortest way there is;
# the others hold. The cell after it says the same as text.

# %%
line = "kafka partitions=2 'app=init; begin; send orders-0 a; send orders-1 b; commit'"
searched, kills = system(line), Budget(kills=1, killable=("tc",))
wanted = ("same outcome", "clean read", "decided first", "commits", "read back")
claims = [claim for claim in searched.properties() if claim.name in wanted]
Explorer(searched, kills, (whole(searched), *claims))

# %% tags=["nbval-check-output"]
shortest = explore(searched, kills, (whole(searched),)).counterexamples["whole"]
print("half of it, in", len(shortest.schedule), "choices; the last:", *shortest.schedule[-3:], sep="  ")
verdict = explore(searched, kills)
print("two outcomes, dirty or aborted reads:", list(verdict.counterexamples) or "none", "in all schedules")
print("looked at all of them:", verdict.complete)

# %% [markdown]
# ## Modify: which safeguard is necessary?
#
# Each line of this table takes one safeguard away and searches for the shortest run that breaks a
# promise. Before you run it, say for each what will break.

# %% tags=["nbval-check-output"]
abort = "kafka partitions=1 'app=init; begin; send orders-0 x; abort'"
cases = [
    ("lso", abort, Budget(), "clean read", "dirty read (G1a, G1b)"),
    ("aborted_index", abort, Budget(), "clean read", "aborted read (G1a)"),
    (
        "prepare_before_markers",
        line.replace("send orders-1", "flush; send orders-1"),
        Budget(kills=1, killable=("tc",), timers=1),
        "same outcome",
        "two outcomes of one transaction",
    ),
]
found = {}
for name, words, budget, promise, anomaly in cases:
    verdict = explore(system(f"{words} off={name}"), budget)
    found[name] = verdict.counterexamples[promise]
    print(f"without {name:<23} {anomaly:<32} in {len(found[name].schedule)} choices")

# %% [markdown]
# G1a and G1b are Adya's names: an *aborted read* is of something that never was, a *dirty* one of
# something not decided yet. Without the durable decision a transaction may be committed in one
# partition and aborted in the other: atomicity itself is gone. Look at the last one:

# %%
Player(found["prepare_before_markers"].trace(), title="Markers before the decision")

# %% [markdown]
# ## Order: what does the coordinator do first?
#
# Five of these seven pieces are what the coordinator does when a client asks to commit. Put them in
# order. Each order you try is built into a coordinator, and every schedule with one kill and one
# timeout is searched; a wrong order gets the shortest run that shows why. *More than one order is
# right.* Run the cell, then move the pieces: each move is written between the brackets of its call.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = END_TXN.arrange([
    ### BEGIN SOLUTION
    # Kafka's own: the client is answered as soon as nothing can change the outcome any more.
    "prepare", "reply", "markers", "wait", "complete"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.points", None)
from mqlab.lessons.points import grade

grade("end_txn", order)
### END HIDDEN TESTS
check(END_TXN, order)

# %% [markdown]
# ## Make: write the rule
#
# A leader knows, for its partition, the *first offsets of all undecided transactions* (a tuple,
# perhaps empty) and its *high watermark*. Write the rule that says which offset a reader of committed
# data must not reach. It is put into the leader, and every schedule of three small systems is tried.
#
# Two hints wait, if you want them: `print(LSO.hint(1))`, then `print(LSO.hint(2))`. If it is not right
# yet, the message names the belief behind it, and the run that refutes it opens where it shows.

# %% nbgrader={"solution": true, "grade_id": "lso"}
def lso(first_offsets: tuple[int, ...], high_watermark: int) -> int:
    """The last stable offset: read_committed reads below it, never at or above it."""
    ### BEGIN SOLUTION
    # The lowest of all that can hold a reader back. An undecided transaction may begin above
    # the high watermark (not replicated yet), and there may be none at all.
    return min([*first_offsets, high_watermark])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lso-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.points", None)
from mqlab.lessons.points import grade

grade("lso", lso)
### END HIDDEN TESTS
check(LSO, lso)

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | commit returned, so it is visible | the answer leaves after PrepareCommit, before any marker | Run |
# | a reader gets a transaction all at once | each partition shows it with its own marker | Run |
# | the producer writes the markers | the leader does, asked by the coordinator | Who speaks |
# | the coordinator tells the consumers | readers ask; a marker is a record in the log | Who speaks |
# | an open transaction hides only its own messages | everything behind it waits, here | 1 |
# | one blocked transaction blocks all that follow | readers of its partitions only | 1 |
# | the commit advances the high watermark | replication does; the commit advances the LSO | 2 |
# | offsets are dense | markers take offsets | 3 |
# | aborted records are deleted, or filtered by the broker | they stay, and the client skips | 4 |
# | the aborted list has start and end | the file has; on the wire go id and first offset | 4 |
# | batches carry the transactional id | producer id and epoch | 4 |
# | the consumer buffers until the marker comes | no mode buffers; the broker withholds | 5 |
# | read_committed is the default | not in Java | 5 |
# | a reader gets the whole transaction in the end | not with half of the partitions | 6 |
#
# **What you know now.** A marker is a record. The LSO, not the high watermark, decides what a reader
# of committed data gets. Outcomes agree everywhere; moments do not.
#
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
