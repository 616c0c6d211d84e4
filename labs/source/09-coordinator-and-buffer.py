# %% [markdown]
# # Lab 09 · Where do uncommitted messages live?
#
# *90 minutes, or a quick route of 20* · Pulsar 4.2
#
# **In one paragraph.** An order service sends a message in a transaction that has not ended. Where is this
# message now, and which readers may get it? You follow one of the gift shop's real orders from the id of its
# transaction to the commit. Then you do the work of the part that sends messages to consumers.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden* under
# a heading to open one. Each can be done on its own day. If a part needs what is above it, first choose *Run
# All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 00, or these words. A *partition* is one log of a topic, here `orders-0`. It consists of
# *entries*; the *position* of an entry is its number. A *subscription* (订阅) is a group of consumers with its
# own cursor on the partition. The *coordinator* (事务协调者) is the part of a broker that numbers transactions and
# records how they end; here it is called `tc-0`.

# %% [markdown]
# ## Why does accounting get no orders?
#
# These are real orders of 5 December 2011. The order service `app` has sent order 580538 for £316.78 to
# `orders-0`. It also has to write the payment to `payments-0`, in one transaction: both or neither. Now it
# waits for the card company. Meanwhile the web shop `web` sends two more orders, and it uses no transactions
# at all. Every send has returned `ok`. Accounting reads `orders-0`.
#
# In the scenario below, `run app: new-transaction t1, send orders-0 580538 txn=t1` makes `app` do these two
# calls. Every transaction in this course goes through the same six stages: **reserve → write → decide →
# publish the decision → make visible → forget**.

# %% jupyter={"source_hidden": true}
import plotly.graph_objects as go

from mqlab.lab import (
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    say,
    scenario,
    vary,
)
from mqlab.lessons.pulsar.lab09 import (
    HIDING,
    NUMBERING,
    READING,
    RECOVERY,
    broker_map,
    describe_buffer,
    first,
    list_answers,
    list_entries,
    list_frontiers,
    list_ids,
    list_logs,
    list_records,
    list_safeguards,
    measure_waiting,
    read_recording,
    receive_all,
    tabulate_needed,
    tabulate_unpromised,
)

# %%
waiting = scenario("""
# One open transaction, and two orders without any
system books clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539, send orders-0 580540
run accounting: receive books
run app: send payments-0 paid-580538 txn=t1, commit t1
run accounting: receive books
""")

# %% [markdown]
# ## Predict
#
# There are two questions. The first comes before the order is sent, the second when all three orders have
# been sent. Choose an answer and lock it; then the execution continues.

# %% jupyter={"source_hidden": true}
Predict("09-where", trace=waiting, step=first(waiting, "ADD_PARTITION (0,0) orders-0"), level="protocol")

# %% jupyter={"source_hidden": true}
Predict("09-open-hides", trace=waiting, step=first(waiting, "580540: ok"))

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. Watch where 580538 is, and the flag *maxReadPosition* in
# `orders-0`. No message after this position may be sent to a consumer. *Money* compares what accounting has
# received (the bar) with the orders that count (the mark): those without a transaction, and those of a
# committed one. The picture opens when accounting's request returns nothing.

# %%
Player(waiting, step=first(waiting, "receive books: ok nothing"))

# %% [markdown]
# Nothing is lost and no process has failed. All three orders are in `orders-0`, and the two plain ones count:
# £715.56, of which accounting has received nothing. But a subscription gets its partition in order, and only
# up to maxReadPosition. As long as t1 is open, that is the position before 580538. When t1 commits, all three
# orders come at once.
#
# | stage | here | written where |
# |---|---|---|
# | reserve | the transaction gets an id; each partition is registered | the coordinator's log |
# | write | the message | its partition |
# | decide | COMMITTING | the coordinator's log |
# | publish the decision | a request to every partition that was registered | nowhere |
# | make visible | a *marker* (控制消息), an entry without a message; maxReadPosition moves | the partition |
# | forget | COMMITTED | the coordinator's log |

# %% [markdown]
# ## Be the dispatcher
#
# The *dispatcher* is the part of the broker that sends the entries of a partition to a subscription. One
# question first, about a transaction that does not commit.

# %% jupyter={"source_hidden": true}
TWO_ENDS = """
# A commit and an abort
system books clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, send payments-0 paid-580538 txn=t1
run app: commit t1
run app: new-transaction t2, send orders-0 580540 txn=t2, abort t2
run app: send orders-0 580539
run accounting: receive books
"""
both_ends = scenario(TWO_ENDS)
Predict("09-aborted", trace=both_ends, step=first(both_ends, "t2 (0,1): ABORTING"))

# %% [markdown]
# Now write the rule of the dispatcher. A subscription is new and has received nothing. You are given three
# things. `entries` are the entries of the partition, each one as a position, a kind (`"plain"`, `"message"`,
# `"commit"`, `"abort"`) and a transaction such as `"(0,3)"`, which is `""` for a plain message. `ongoing` is
# a dictionary from each open transaction to the position of its first message here. `aborted` is a list of
# transactions. Return the list of the positions that the subscription is sent now.
#
# Your answer is compared with what a subscription received in four executions. Two hints are available:
# `print(READING.hint(1))`, then `print(READING.hint(2))`. If the rule is not right yet, the message names the
# belief behind it, and an example that refutes it opens at that step.


# %% nbgrader={"solution": true, "grade_id": "reading"}
def send_now(entries: tuple, ongoing: dict, aborted: list) -> list:
    """The positions that a new subscription is sent, in their order."""
    ### BEGIN SOLUTION
    end = min(ongoing.values(), default=len(entries))
    return [
        position
        for position, kind, txn in entries
        if position < end and kind in ("plain", "message") and txn not in aborted
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "reading-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("reading", send_now)
### END HIDDEN TESTS
check(READING, send_now)

# %% [markdown]
# ## What you know now
#
# An uncommitted message is already in its final place. A commit moves maxReadPosition, the last position that
# may be sent to consumers. The oldest open transaction of a partition holds it back, so keep transactions
# short.
#
# The quick route ends here. 7 of the 10 points are in the parts below. The next lab asks how a transaction
# takes back what it has read: [lab 10](10-acknowledgement.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("09")

# %% [markdown] tags=["deeper"]
# ## Which parts are involved, and how are they switched on?

# %% [markdown]
# The map shows the parts of a whole Pulsar. Its brokers keep nothing on disk: everything that must last is on
# *bookies*, the servers of BookKeeper, in logs called *ledgers*. So another broker can take over a partition
# without copying anything. Articles name *Pulsar Functions* as the purpose of transactions: small programs
# that read a topic, compute, and write to another topic. This lab looks at the writing.

# %% jupyter={"source_hidden": true}
broker_map("pulsar")

# %% jupyter={"source_hidden": true}
Predict("09-by-default")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
BOTH = "run app: send orders-0 580538, new-transaction t1, send orders-0 580539 txn=t1"
for name, coordinators in {say("out of the box"): 0, say("switched on"): 1}.items():
    print(name)
    for said in list_answers(f"system pulsar coordinators={coordinators}\n{BOTH}"):
        print("  ", said)

# %% [markdown]
# A broker has no coordinator unless its `transactionCoordinatorEnabled` is set, and it is `false` by default.
# Plain messages work without it. Our model refuses `newTransaction`. A real client of 4.2.4 with
# `enableTransaction(true)` is not even built: *The broker doesn't enable the transaction coordinator, or the
# transaction coordinator has not initialized.* Both sides must be configured.

# %% [markdown] tags=["deeper"]
# ## What does a transaction's id say?

# %% [markdown]
# A transaction's id, its *TxnID*, has 128 bits. It is printed as two numbers.

# %% jupyter={"source_hidden": true}
Predict("09-id")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for coordinators in (1, 3):
    print(say("coordinators: {n}; ids:", n=coordinators), *list_ids(coordinators, 8))
print()
print(read_recording("pulsar-4.2.4/4.2", "ids", "NewTxn", "coordinatorStats"))

# %% [markdown]
# The first 64 bits of an id are the coordinator. The other 64 count that coordinator's transactions. Articles
# say *16 bits and 112 bits*, and so does the design document. If that were so, the top 16 bits would
# distinguish coordinators. They are 0 in every id.
#
# A standalone Pulsar has one coordinator, and the table shows the ids that a real one gave. The tools that set
# up a cluster create 16 coordinators, and a client uses them in turn, beginning with number 1. Coordinator 3
# runs on the broker that owns partition 3 of a topic named `transaction_coordinator_assign`. Kafka too finds
# its coordinator by a partition, but there the partition *is* the coordinator's log (lab 06). Pulsar's topic
# stays empty; only its owner matters. (Our model has one broker, so its client has nothing to look up. This
# comes from the released source.)
#
# **Write the next id.** One client has begun transactions and ended none. You are given their ids in order,
# each one as a whole number of 128 bits, and the number of coordinators. Return the id of the transaction
# that this client begins next. Two hints are available: `print(NUMBERING.hint(1))`, then
# `print(NUMBERING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "numbering"}
def next_id(ids: tuple[int, ...], coordinators: int) -> int:
    """The id of a client's next transaction; it has begun at least one."""
    ### BEGIN SOLUTION
    # The coordinator that has its turn, and how many ids it has given.
    turn = ((ids[-1] >> 64) + 1) % coordinators
    return turn << 64 | sum(one >> 64 == turn for one in ids)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "numbering-test", "points": 1}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("numbering", next_id)
### END HIDDEN TESTS
check(NUMBERING, next_id)

# %% [markdown] tags=["deeper"]
# ## What does the coordinator write?

# %% [markdown]
# One transaction with an order and its payment commits, and another is aborted.

# %% jupyter={"source_hidden": true}
Predict("09-records")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("record", "says", "asked by"), *list_records(both_ends)]))

# %% [markdown]
# The records hold states and participants, no message and no position. So the log is short, and yet a
# coordinator that is reloaded finds in it what it still has to end. A transaction goes from OPEN via
# COMMITTING to COMMITTED, or from OPEN via ABORTING to ABORTED. COMMITTING is the decision. It is written
# before any partition gets it, and there is no way back.
#
# The next table is from the real Pulsar 4.2.4. A transaction with one partition and one subscription writes
# five records, and when it has ended, none of them is *needed* any longer.
#
# Articles say that this log is a Pulsar *topic*. A topic can be subscribed to, so the last table tries: one
# transaction has sent an order and has committed, and then a client subscribes to each log.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
STORED = "system pulsar clients=app\nrun app: new-transaction t, send orders-0 580538 txn=t, commit t"
print(read_recording("pulsar-4.2.4/4.2", "log-is-cleaned", "coordinatorInternalStats", "EndTxn"))
print()
print(columns([("log", "entries", "a subscription is told"), *list_logs(STORED)]))

# %% [markdown]
# The coordinator's log has a name like a topic's, but it is a bare ledger (`MLTransactionLogImpl`). It has one
# cursor, the coordinator's own, and no dispatcher reads it. A released Pulsar never loads a topic of that name
# either (`TransactionTest#brokerNotInitTxnManagedLedgerTopic`).

# %% [markdown] tags=["deeper"]
# ## What does the buffer hold?

# %% [markdown]
# The *transaction buffer* (事务缓冲区) is what a partition keeps in memory about transactions. Here one
# transaction sends two orders, with plain orders between them.

# %% jupyter={"source_hidden": true}
Predict("09-buffer")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
OPEN = """
# An open transaction between other orders
system pulsar clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run web: send orders-0 580539
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580540
run app: send orders-0 580541 txn=t1{then}
run accounting: receive books
"""
for then in ("", ", commit t1"):
    story = OPEN.format(then=then)
    print(columns([("position", "entry", "for accounting"), *list_entries(story)]))
    print(describe_buffer(story))

# %% [markdown]
# The buffer holds no message. It keeps the position of each open transaction's first message, and the list of
# aborted transactions. Committed ones are removed. The upper half of the table is before the commit, the
# lower half after it. The entries 0 to 3 have not moved. The commit has added entry 4, the marker. It takes a
# position, but is never sent to a consumer.

# %% [markdown] tags=["deeper"]
# ## Which of two open transactions decides?

# %% jupyter={"source_hidden": true}
order_of_two = scenario("""
# t1 begins first, and t2 writes first
system books topic=orders clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1
run web: new-transaction t2, send orders-0 580539 txn=t2
run app: send orders-0 580538 txn=t1
run web: send orders-0 580540
run app: commit t1
run accounting: receive books
run web: abort t2
run accounting: receive books
""")
Predict("09-oldest", trace=order_of_two, step=first(order_of_two, "t1 (0,0): COMMITTING"))

# %% jupyter={"source_hidden": true}
frontiers = list_frontiers(order_of_two)
go.Figure(
    [
        go.Scatter(
            name=name,
            x=[entry for entry, *_ in frontiers],
            y=[row[place] for row in frontiers],
            mode="lines+markers",
            line={"shape": "hv", "dash": dash},
        )
        for name, place, dash in [
            (say("last position"), 1, "dot"),
            ("maxReadPosition", 2, "solid"),
        ]
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#7c3aed", "#1a7f37"],
        "height": 280,
        "margin": {"t": 50, "b": 60},
        "title": say("What is written, and what may be read"),
        "xaxis": {"title": say("entry of orders-0")},
        "yaxis": {"title": say("position"), "dtick": 1},
    },
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [("written to orders-0", "last position", "maxReadPosition")]
rows += [(entry, str(last), str(read)) for entry, last, read in frontiers]
print(columns(rows), end="\n\n")
rows = [("sent while 580538 is open", "orders that wait", "worth")]
for meanwhile in (0, 3, 6, 11):
    count, pence = measure_waiting(meanwhile)
    rows.append((str(meanwhile), str(count), f"£{pence / 100:,.2f}"))
print(columns(rows))

# %% [markdown]
# The position of a transaction's first message *in this partition* decides. t1 has committed and `commit` has
# returned ok, but accounting still gets none of it, because the first message of t2 is before it. So one slow
# transaction holds back the quick ones of other services too.
#
# The second table uses the orders of one morning. Every order that is sent while 580538 is open waits with
# it, whichever service sent it. So the longest transaction in a partition delays all its subscriptions. The
# transaction's timeout (60 s unless a client sets another) should be the limit. The parts on an unreachable
# partition and on silence show where it is not.
#
# An article says that Pulsar never blocks, because each message is acknowledged by itself. Acknowledging one
# message blocks no other. Reading does block.

# %% [markdown] tags=["deeper"]
# ## Do two partitions show a commit at once?

# %% [markdown]
# One transaction has written an order and its payment. The marker for the payment is slow: the line
# `hold tc-0→payments-0 EndTxnOnPartition` keeps that request back until `release`.

# %% jupyter={"source_hidden": true}
half_way = scenario("""
# The marker for the payment is slow
system books clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run accounting: subscribe payments-0 bank from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, send payments-0 paid-580538 txn=t1
hold tc-0→payments-0 EndTxnOnPartition
run app: commit t1
run accounting: receive books, receive bank
release tc-0→payments-0 EndTxnOnPartition
run accounting: receive bank
""")
Predict("09-two-partitions", trace=half_way, step=first(half_way, "t1 (0,0): COMMITTING"))

# %% [markdown]
# Every partition reaches the same outcome: COMMITTING is written, so every partition will get its marker,
# whatever dies. But not at the same time: each partition shows its part when its own marker is there, as in
# Kafka, so a reader of both may see only one part. Pulsar's `commit` returns only when *all* markers are
# written; Kafka's returns when the decision is logged. So a service may safely notify others after `commit`
# has returned, unless an older transaction is open before these messages.

# %% [markdown] tags=["deeper"]
# ## Does the list of aborted transactions ever shrink?

# %% [markdown]
# In *Be the dispatcher*, t2 sent order 580540 and was aborted. The table shows `orders-0` afterwards, and the
# lines below it what the buffer holds after one, two and three aborts.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("position", "entry", "for accounting"), *list_entries(TWO_ENDS)]))
print(describe_buffer(TWO_ENDS))
print()
GIVEN_UP = "new-transaction t{n}, send orders-0 {n} txn=t{n}, abort t{n}"
for many in (1, 2, 3):
    calls = ", ".join(GIVEN_UP.format(n=n) for n in range(many))
    print(say("aborts: {n};", n=many), describe_buffer(f"system pulsar snapshot_count=1\nrun app: {calls}"))

# %% [markdown]
# An article says that the messages in the buffer of an aborted transaction are *discarded*. Nothing is
# discarded: the message stays at its position, a marker is appended, and the buffer puts the transaction on a
# list. The dispatcher skips both entries, and acknowledges them itself for each subscription. A real Pulsar's
# log shows the same, in the first table below.
#
# So the list of aborted transactions grows, in memory and in every snapshot. When does it shrink? This model
# deletes nothing, so the second table is the answer of a real Pulsar as well. It has aborted two
# transactions, whose markers are in two ledgers, and retention deletes the older ledger (`trim`).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("pulsar-4.2.4/4.2", "readers", *(f"entry {place}" for place in (1, 2, 3, 4))))
print()
print(read_recording("pulsar-4.2.4/4.2", "aborts-forgotten", "trim", "commit", "Stats"))

# %% [markdown]
# The ledger is gone and the list still has two transactions. The buffer checks its list only when it writes
# the next marker. Then it removes the id whose marker was deleted. Before the last line the partition was
# reloaded, so the snapshot has one id left as well.
#
# A client can defeat the filter. The dispatcher looks for the transaction's id in the *metadata* of a
# message. The Go client 0.19.0 puts the id only into the command that carries the message, and not into its
# metadata (its issue #1498). So the broker has recorded that the transaction was aborted, and still sends
# its messages.

# %% [markdown] tags=["deeper"]
# ## Can a consumer read sooner?

# %% jupyter={"source_hidden": true}
Predict("09-level")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
ways = [f"subscribe orders-0 books from=earliest type={one}" for one in TYPES]
for way in (*ways, "reader orders-0 books from=earliest"):
    got = receive_all(f"""
# Before the commit
system pulsar clients=app,accounting
run accounting: {way}
run app: send orders-0 580538, new-transaction t1, send orders-0 580539 txn=t1
run accounting: receive books
""")
    print(f"{way:57} {', '.join(got)}")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("pulsar-4.2.4/4.2", "entries-with-flags", "log"))

# %% [markdown]
# There are five ways to read, and none goes further than the others. A proposal, PIP-298, describes an
# isolation level for consumers, and for a time the documentation did too. The code was never merged, and the
# page was withdrawn. The recording shows what exists. It lists the log before and after the end of a
# transaction: an administrator may look at single entries, which are marked where they are *uncommitted*. The
# plain message `d` after the open transaction is marked in the same way.

# %% [markdown] tags=["deeper"]
# ## What does a partition recover when it is reloaded?

# %% [markdown]
# A partition is reloaded when its broker has restarted, or when it has moved to another broker. Here t2 is
# open, and another transaction was aborted before. A buffer writes a *snapshot* (快照) after 1000 moves of
# maxReadPosition or after five seconds; `snapshot_count=1` makes it do so after each move.

# %% jupyter={"source_hidden": true}
LOADED = """
# A load, with one transaction open and one aborted
system books topic=orders clients=app,web,accounting {snapshots}
run accounting: subscribe orders-0 books from=earliest
run web: new-transaction t1, send orders-0 580539 txn=t1, abort t1
run app: new-transaction t2, send orders-0 580538 txn=t2
run web: send orders-0 580540
kill orders-0
restart orders-0
{then}
run accounting: receive books
"""
loaded = scenario(LOADED.format(snapshots="snapshot_count=1", then="run app: commit t2"))
Predict("09-loaded", trace=loaded, step=first(loaded, "killed"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for fact in loaded:
    if "Snapshot" in fact.text.en and fact.glyph == "▮":
        print(fact.text)
for then in ("", "run app: commit t2"):
    story = LOADED.format(snapshots="snapshot_count=1", then=then)
    when = then or say("after the load")
    print(f"{when:18} {describe_buffer(story)};", say("received:"), receive_all(story))
without = LOADED.format(snapshots="off=replay_topic", then="")
print(f"{say('not read again'):18} {describe_buffer(without)};", say("received:"), receive_all(without))

# %% [markdown]
# A snapshot holds two things: maxReadPosition and the list of aborted transactions. That is enough, because
# every transaction that was open when it was taken had begun after that position. The load reads the entries
# from there on, and processes each as when it was written. The line *not read again* shows a partition that
# omits this: accounting gets an order whose transaction is open.
#
# **Write this recovery.** You are given the last snapshot, `max_read` and `aborted`, and the entries after
# `max_read`, each one as a position, a kind (`"plain"`, `"message"`, `"commit"`, `"abort"`) and a
# transaction. Return two things: the dictionary of all open transactions, with the position of their first
# message here, and the list of all that are aborted. Your function is put into the partition, which is then
# killed and loaded at every moment of several scenarios. Two hints are available: `print(RECOVERY.hint(1))`,
# then `print(RECOVERY.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "recovery"}
def recover(max_read: int, aborted: tuple, entries: tuple) -> tuple[dict, list]:
    """What a buffer knows after a load: what is open and from where, and what is aborted."""
    ### BEGIN SOLUTION
    ongoing, ended = {}, list(aborted)
    for position, kind, txn in entries:
        if kind == "message":
            # Only the first message here counts.
            ongoing.setdefault(txn, position)
        if kind in ("commit", "abort"):
            ongoing.pop(txn, None)
        if kind == "abort":
            ended.append(txn)
    return ongoing, ended
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "recovery-test", "points": 4}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("recovery", recover)
### END HIDDEN TESTS
check(RECOVERY, recover)

# %% [markdown] tags=["deeper"]
# ## What does a coordinator do when it is reloaded?

# %% [markdown]
# The coordinator recovers from its own log. Here it is killed when it has written COMMITTING. The next client
# that connects makes the broker load it. Step through the rest, and count the markers in `orders-0`.

# %%
decided = scenario("""
# The coordinator is killed when it has decided
system books topic=orders clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
kill tc-0 when=EndTxnOnPartition#1
run app: commit t1
restart tc-0
run accounting: receive books
""")
Player(decided, step=first(decided, "killed"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
for fact in decided:
    if fact.index >= first(decided, "killed") and not fact.fold:
        print(fact.line(width=10))

# %% [markdown]
# The loaded coordinator ends every transaction that is COMMITTING or ABORTING, and watches the OPEN ones until
# their *old* deadline.
#
# There are two commit markers. The loaded coordinator ends the transaction again, and so does the client,
# which retries its request. The second marker changes nothing: *markers are idempotent, not unique*. But look
# at the application's answer: TransactionNotFoundException, about a transaction that has committed. The
# coordinator removes a transaction that has ended, so this exception does not show how it ended.
#
# Now do it yourself. The decision is written, and the coordinator's request to `orders-0` is in flight. Click
# a message to deliver it, a timer to let it run out, a lane to kill a node and to start it again. *After how
# few choices does the partition have two markers of one transaction?*

# %%
play = continue_scenario("""
# The decision is written
system books topic=orders clients=app,accounting claims=one_marker
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
hold tc-0→orders-0 EndTxnOnPartition#1
run app: commit t1
""")
Playground(play, goal="one marker")

# %% [markdown] tags=["deeper"]
# ## What if a partition cannot be reached?

# %% [markdown]
# A coordinator registers any partition that a request names, and does not check whether it exists. Here
# `admin` has registered a partition of a namespace that does not exist. (A namespace is a group of topics;
# `0/0` is the transaction (0,0).)

# %% jupyter={"source_hidden": true}
FROZEN = """
# A participant that cannot be reached
system books topic=orders missing=elsewhere-0 clients=app,admin,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1 timeout=3000, send orders-0 580538 txn=t1
run admin: register 0/0 elsewhere-0
run app: commit t1
{tries}
run accounting: receive books
run admin: transaction-metadata 0/0, end-by-id abort 0/0
{then}
"""


def try_again(seconds):
    return "\n".join(f"at {n * 1000}\nfire tc-0 retry (0,0)" for n in range(1, seconds + 1))


frozen = scenario(FROZEN.format(tries=try_again(4), then=""))
Predict("09-frozen", trace=frozen, step=first(frozen, "t1 (0,0): COMMITTING"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for seconds in (0, 20):
    story = FROZEN.format(tries=try_again(seconds), then="")
    markers = sum("commit marker" in entry for _, entry, _ in list_entries(story))
    print(say("after {s} s: {n} markers, received", s=f"{seconds:2}", n=f"{markers:2}"), receive_all(story))
story = FROZEN.format(
    tries=try_again(4),
    then="run admin: create-namespace elsewhere-0\nat 5000\nfire tc-0 retry (0,0)",
)
for said in list_answers(story, "admin", "app"):
    print(said)
print()
print(read_recording("pulsar-4.2.4/4.2", "commit-frozen", "markers", "by its id"))

# %% [markdown]
# The order has been delivered, but the commit has not returned. The transaction's own timeout of 3 s does
# nothing, and an abort is refused. About every second the coordinator sends its request to all participants
# again, and the healthy one writes one more marker. A real client stops waiting after 30 s, the broker does
# not. The recording shows the same: *commit markers, 6 or more*. As soon as an operator creates the namespace,
# the next attempt ends the transaction.

# %% [markdown] tags=["deeper"]
# ## What if the application falls silent?

# %% [markdown]
# `app` dies with t1 open. A live coordinator aborts t1 at its deadline, 60 s after it began. But what if the
# broker is restarted in between?

# %% jupyter={"source_hidden": true}
Predict("09-silence")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SILENT = """
# The application dies
system pulsar clients=app,web,other,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539
kill app
{then}
run accounting: receive books
"""
RESTART = "kill orders-0\nkill tc-0\nrestart orders-0\nrestart tc-0"
LATER = f"{RESTART}\nat 600000"
for name, then in {
    say("nothing is restarted, 59 s"): "at 59000",
    say("nothing is restarted, 60.1 s"): "at 60100\nfire tc-0 timeout (0,0)",
    say("a restart, 10 minutes later"): LATER,
    say("then a client connects"): f"{LATER}\nrun other: new-transaction t\nfire tc-0 timeout (0,0)",
}.items():
    print(f"{name:29} {receive_all(SILENT.format(then=then))}")

# %% [markdown]
# Silence means *abort*, and none of your processes need be running for it. But a restarted broker loads a
# coordinator only when a client with transactions connects to it. Where many services use transactions, that
# takes seconds. Where one job uses them once per night, a whole day's plain orders wait. The next table is
# from the real broker: `c` comes when `app` begins its next transaction.
#
# A public report of it: `mqlab incidents the-job-cannot-be-restored`.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SAID = ("Send", "kill", "Message", "NewTxn", "nothing", "ongoing")
print(read_recording("pulsar-4.2.4/4.2", "kill-and-nobody-comes", *SAID))

# %% [markdown] tags=["deeper"]
# ## What harm can a late message do?

# %% [markdown]
# When a message of a transaction arrives, the partition does not ask the coordinator whether that transaction
# still exists. Its protection is the *low watermark* (低水位): with each end the coordinator sends the number up
# to which all of its transactions have ended. A message of one of these is refused. `reopen t1` stands for a
# client that was paused while its transaction ended.

# %% jupyter={"source_hidden": true}
RESTART = "kill orders-0\nkill tc-0\nrestart orders-0\nrestart tc-0"
LATE = """
# A message that comes after its transaction has ended
system books topic=orders clients=app,web,accounting,other timeout_ms=600000
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2
run accounting: receive books, ack books
{restart}
run app: reopen t1, send orders-0 late txn=t1
run web: new-transaction t3, send orders-0 580540 txn=t3, commit t3
run accounting: receive books
run other: subscribe orders-0 audit from=earliest
run other: receive audit
"""
hidden = scenario(LATE.format(restart=RESTART))
Predict("09-late", trace=hidden, step=first(hidden, "send orders-0 late"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for name, restart in {say("no restart"): "", say("a restart before it"): RESTART}.items():
    story = LATE.format(restart=restart)
    sent = next(said for said in list_answers(story) if "send orders-0 late" in said)
    print(name, sent, sep=": ")
    print("  accounting", receive_all(story), "  audit", receive_all(story, "audit"))
print(columns([("position", "entry", "for consumers"), *list_entries(story)]))

# %% [markdown]
# The message is refused while the partition has a low watermark. But that is kept in memory only. After the
# restart the message is accepted, and t1 counts as open again. With the next end, that of t3, the partition
# gets a low watermark above t1, and aborts it. The buffer keeps the ids of aborted transactions, without
# positions. So the order 580538, which t1 has *committed*, counts as aborted too, and audit never gets it. In
# the recording of the real 4.2.4 the same happens to `a`, and no safeguard was off:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SAID = ("Send late", "kill", "Message", "entry 0", "entry 4")
print(read_recording("pulsar-4.2.4/4.2", "kill-forgets-watermarks", *SAID))

# %% [markdown]
# Can Pulsar keep such an old process out? Only its *sends*, topic by topic, if the new process requests that
# with the access mode `ExclusiveWithFencing`. Its *commit* cannot be fenced: a transaction has no name that
# the next process takes over, as it has in Kafka with its `transactional.id` (lab 06). Lab 10 runs both.
#
# **Write a scenario in which a committed order is hidden**, as short as you can. Its lines are put after
# `system pulsar topic=orders,payments clients=app,web,accounting`. At its end a committed transaction must
# count as aborted in a partition. It can be done without a restart. You may use `run`, `kill`, `restart`,
# `hold`, `release` and all that you have seen above. Two hints are available: `print(HIDING.hint(1))`, then
# `print(HIDING.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "hiding"}
# The lines of the scenario, one below the other. Add what is missing to the first.
story = """
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
"""
### BEGIN SOLUTION
# The late message is taken, as no later end has sent a low watermark yet; the next end aborts it.
story += """
run app: reopen t1, send orders-0 late txn=t1
run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "hiding-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("hiding", story)
### END HIDDEN TESTS
check(HIDING, story)

# %% [markdown] tags=["deeper"]
# ## Which safeguard is necessary?

# %% [markdown]
# Eight safeguards belong to this lab. `max_read_position` stops dispatchers before the first open message.
# `filter_aborted` leaves out aborted messages. `decision_before_markers` writes COMMITTING before it is sent
# to a partition. `retry_until_answered` sends it again to a partition that did not answer. `replay_log` and
# `replay_topic` read the coordinator's log, and the partition, after a restart. `transaction_timeout` aborts
# a transaction that its client leaves open. `low_watermark` refuses or aborts a message that comes too late.
#
# Guess for each of them what will break without it. Then choose one of the first three in the menu, and look
# at the money that accounting gets: the scenario is the same each time.

# %% jupyter={"source_hidden": true}
STORY = """
# Aborted, open, and a load
system books topic=orders clients=app,web,accounting
off {off}
run accounting: subscribe orders-0 books from=earliest
run web: new-transaction t1, send orders-0 580539 txn=t1, abort t1
run app: new-transaction t2, send orders-0 580538 txn=t2
run web: send orders-0 580540
run accounting: receive books
kill orders-0
restart orders-0
run accounting: receive books
"""


def draw(off):
    return Player(scenario(STORY.format(off=off)))


SEEN = ("max_read_position", "filter_aborted", "replay_topic")
vary(draw, off=list_safeguards("pulsar", *SEEN))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_needed())

# %% [markdown]
# For each line one safeguard is removed, and a search finds the shortest execution that breaks a promise. In
# the next table every safeguard is on. Pulsar does not make these promises: that an open transaction holds
# back only its own messages, that there is one marker, that an error means *not committed*, that a late
# message does no harm, and that a committed message stays readable.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_unpromised())

# %% [markdown] tags=["deeper"]
# ## Where do other brokers keep uncommitted messages?

# %% [markdown]
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | an uncommitted message is | in the topic, in its final place | in the topic, in its final place | in the half topic |
# | a commit | appends a marker | appends a marker | writes the message once more |
# | readers are held back by | maxReadPosition, for every consumer | the LSO, for read_committed only | the half topic, which no consumer subscribes to |
# | aborted messages are left out by | the dispatcher, at the broker | the consumer, with a list | none needed: they never leave the half topic |
# | an open transaction hides | everything after its first message | the same, for read_committed | its own message |
# | `commit` returns | when all markers are written | when the decision is logged | at once, it is one-way |
# | an old process is kept out | from sending, per topic, if the producer asks for it (ExclusiveWithFencing); not from committing | by the epoch of its `transactional.id` | not at all |
#
# Ask of any queue that you meet: *where is the message before it is committed, and what keeps readers from it?*

# %% [markdown] tags=["deeper"]
# ## Which beliefs did this lab refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | Pulsar never blocks | reading waits for the oldest open transaction of the partition | Run, two open |
# | an open transaction hides only its own messages | it hides everything after its first one | Run, Be the dispatcher |
# | aborted messages are discarded | they stay; the dispatcher skips them | Be the dispatcher, the list |
# | transactions are on by default | client and broker must both be configured | switched on |
# | the top 16 bits of a TxnID are the coordinator | the top 64 bits are | the id |
# | the transaction log is a topic | it is a bare ledger with a topic's name | the coordinator |
# | the coordinator's log holds the messages | it holds states and participants | the coordinator |
# | the buffer holds uncommitted messages | it holds ids and positions | the buffer |
# | a transaction that commits first is read first | all that is before it must have ended too | two open |
# | several partitions become visible together | each does with its own marker | two partitions |
# | there is a level read_uncommitted | it was never merged | reading sooner |
# | a snapshot holds what is open | it holds what is aborted, and from where to read | a load |
# | there is one marker per transaction and partition | there may be many | a coordinator's load, a partition out of reach |
# | a timeout ends every transaction | open ones only, and only if the coordinator is loaded | a partition out of reach, silence |
# | a committed message stays readable | a late message can hide it | a late message |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% jupyter={"source_hidden": true}
Predict("09-exit-ticket")
