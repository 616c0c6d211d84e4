# %% [markdown]
# # Lab 09 · Pulsar: coordinator and buffer
#
# *Where do uncommitted messages live?* · 90 minutes · Pulsar 4.2
#
# **In one paragraph.** An order service sends messages in a transaction that has not ended. Where
# are these messages now, who may read them, and who knows of them? You follow one order in Pulsar
# from the id of its transaction to the commit. You read the log of the transaction coordinator
# record by record, and look into the transaction buffer of a partition. Then you abort, kill the
# partition and the coordinator, and let a message come too late. You write three small functions of
# the broker, and at last a story for which Pulsar has no safeguard.
#
# **Contents.** Hook · Predict · Run · Investigate (1 out of the box, 2 the id, 3 the coordinator's
# log, 4 the buffer, 5 two transactions, 6 two partitions, 7 an abort, 8 reading sooner, 9 a load,
# 10 a partition that cannot be reached, 11 silence, 12 a late message) · Find the shortest run ·
# Modify · Make · Test · Transfer · Refuted · Exit ticket
#
# **Words.** *Partition*: one log of a topic; here `orders-0` and `payments-0`. *Entry*: what a log
# consists of; its *position* is its number. *Coordinator* (事务协调器): the part of a broker that
# numbers transactions and writes down how they end. *Transaction buffer* (事务缓冲区): what a partition
# keeps in memory about transactions. *maxReadPosition*: the last position that consumers may be
# sent. *Marker* (控制消息): an entry that holds no message and says how a transaction ended in this
# partition. *Subscription* (订阅): a group of consumers with a place of its own in the partition, its
# *cursor*. *Dispatcher*: the part of the broker that sends entries to a subscription. *Snapshot*
# (快照): what a buffer writes to disk now and then. *Low watermark* (低水位): all transactions of a
# coordinator up to this number have ended. *Ledger*: a log as BookKeeper stores it, the storage
# system below Pulsar.

# %% [markdown]
# ## Hook: three orders on their way to accounting
#
# These are again the real orders of 5 December 2011. An order service writes each order to
# `orders-0` and its payment to `payments-0`, in one transaction: both or neither. Its process `app`
# has sent order 580538 over £316.78, and now it waits for the card company. Meanwhile the web shop
# `web` sends two more orders, and it uses no transactions at all. Every send has returned `ok`.
# Accounting reads `orders-0`.
#
# In a scenario, `run app: new-transaction t1, send orders-0 580538 txn=t1` lets `app` make these
# calls. `hold tc-0→payments-0 EndTxnOnPartition` keeps a message back until `release`, and `at
# 60000` lets a minute pass. `kill` and `restart` name a process, a partition or the coordinator
# `tc-0`; `fire tc-0` lets one of its timers run out. In the picture → is a message, ⇒ an answer, ▮
# something written to disk, ⇨ a change in memory, ⏲ a timer, ✗ a death, ↻ a restart, ☞ what an
# application is told.

# %%
import plotly.graph_objects as go
from IPython.display import display

from mqlab.lab import (
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    scenario,
    vary,
)
from mqlab.lessons.pulsar.lab09 import (
    FINDING,
    HIDING,
    READING,
    RECOVERY,
    broker_map,
    first,
    list_entries,
    list_frontiers,
    list_records,
    list_safeguards,
    measure_waiting,
    read_recording,
    receive_all,
    tell_buffer,
    tell_searches,
)

# %%
waiting = scenario("""
# One open transaction, and two orders without any
system pulsar topic=orders,payments clients=app,web,accounting
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
# Two questions on this run. The first one is asked before the order is sent, the second one when
# all three orders are. Lock each answer, then run on.

# %% jupyter={"source_hidden": true}
Predict("09-where", trace=waiting, step=first(waiting, "ADD_PARTITION (0,0) orders-0"))

# %% jupyter={"source_hidden": true}
Predict("09-open-hides", trace=waiting, step=first(waiting, "580540: ok"))

# %% [markdown]
# ## Run
#
# Step through it. Look at two things: the place where 580538 lies, and the flag *maxReadPosition*.
# The map below shows the parts of a whole Pulsar. Its brokers keep nothing on disk: what must last
# lies on *bookies*, the servers of BookKeeper. So another broker can take a partition over without
# copying anything.

# %%
display(Player(waiting, step=first(waiting, "receive books: ok nothing")), broker_map("pulsar"))

# %% [markdown]
# Nothing is lost and no process has failed. All three orders lie in `orders-0`. But a subscription
# reads its partition in order, and only up to maxReadPosition. As long as t1 is open, that is the
# position before 580538. When t1 commits, all of them come at once.

# %% [markdown]
# ## Investigate
#
# **1. Out of the box**, and **2. the id.** Two questions on the first call that an application
# makes. A transaction's id, its *TxnID*, has 128 bits.

# %% jupyter={"source_hidden": true}
Predict("09-by-default")

# %% jupyter={"source_hidden": true}
Predict("09-id")

# %% tags=["nbval-check-output"]
BOTH = "run app: send orders-0 580538, new-transaction t1, send orders-0 580539 txn=t1"
for name, coordinators in {"out of the box": 0, "switched on": 1}.items():
    print(name)
    for fact in scenario(f"system pulsar coordinators={coordinators}\n{BOTH}"):
        if fact.glyph == "☞":
            print("  ", fact.text.en)
print()
SIX = ", ".join(f"new-transaction t{n}" for n in range(6))
for coordinators in (1, 3):
    ids = [
        fact.text.en.rpartition("ok ")[2]
        for fact in scenario(f"system pulsar coordinators={coordinators}\nrun app: {SIX}")
        if fact.glyph == "☞"
    ]
    print(f"{coordinators} coordinators:", *ids)
for first_half, second_half in ((2, 1), (15, 7)):
    whole = first_half << 64 | second_half
    print(f"({first_half},{second_half}): top 16 bits {whole >> 112}, top 64 bits {whole >> 64}")
print()
print(read_recording("pulsar-4.2.4/4.2", "ids", "NewTxn", "coordinatorStats"))

# %% [markdown]
# A broker has no coordinator unless its `transactionCoordinatorEnabled` is set, and it is `false`
# out of the box. Plain messages work without it. Our model refuses `newTransaction`. A real client
# of 4.2.4 with `enableTransaction(true)` is not even built: *The broker doesn't enable the
# transaction coordinator, or the transaction coordinator has not initialized.* Client and broker
# must both be told.
#
# The first half of an id is the coordinator, all 64 bits of it. The second half counts the
# transactions of that coordinator. Articles say *16 bits and 112 bits*, and so does the design
# document. If that were so, the top 16 bits would tell coordinators apart. They are 0 in every id.
#
# A standalone has one coordinator. The tools that set up a cluster make 16, and a client takes them
# in turn. Coordinator 3 runs on the broker that owns partition 3 of a topic named
# `transaction_coordinator_assign`. Kafka too finds its coordinator by a partition, but there the
# partition *is* the coordinator's log. Pulsar's topic stays empty.
#
# **3. What does the coordinator write?** One transaction with an order and its payment, and one
# that is aborted.

# %% jupyter={"source_hidden": true}
Predict("09-records")

# %% tags=["nbval-check-output"]
TWO_ENDS = """
# A commit and an abort
system pulsar topic=orders,payments clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, send payments-0 paid-580538 txn=t1
run app: commit t1
run app: new-transaction t2, send orders-0 580540 txn=t2, abort t2
run app: send orders-0 580539
run accounting: receive books
"""
both_ends = scenario(TWO_ENDS)
print(columns([("record", "says", "asked by"), *list_records(both_ends)]))
print()
print(read_recording("pulsar-4.2.4/4.2", "log-is-cleaned", "coordinatorInternalStats", "EndTxn"))

# %% [markdown]
# The records hold states and participants, no message and no position. So the log is short, and yet
# a coordinator that is loaded again knows from it what it still has to end. The second table is the
# real Pulsar 4.2.4: a transaction with one partition and one subscription writes five records, and
# when it has ended, none of them is *needed* any longer.
#
# A transaction can only go from OPEN over COMMITTING to COMMITTED, or from OPEN over ABORTING to
# ABORTED. COMMITTING is the decision. It is written before any partition hears of it, and there is
# no way back. The six stages of this course are these:
#
# | stage | here | written where |
# |---|---|---|
# | reserve | the transaction gets an id; each partition is registered | the coordinator's log |
# | write | the message | its partition |
# | decide | COMMITTING, or ABORTING | the coordinator's log |
# | publish the decision | a request to every partition that was registered | nowhere |
# | make visible | the marker; maxReadPosition moves | the partition |
# | forget | COMMITTED, or ABORTED | the coordinator's log |
#
# Articles say that the log is recorded by a Pulsar *topic*. It has a name like one,
# `__transaction_log_0`, but it is a bare ledger. Nobody can subscribe to it, and no dispatcher
# reads it. The same articles name the purpose of all this: *Pulsar Functions*, small programs that
# read a topic, compute, and write to another one. Here we look at the writing; reading follows in
# lab 10.
#
# **4. What does the buffer hold?** A transaction sends two orders, and plain ones lie between them.

# %% jupyter={"source_hidden": true}
Predict("09-buffer")

# %% tags=["nbval-check-output"]
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
    print(tell_buffer(story), end="\n\n")

# %% [markdown]
# The *transaction buffer* holds no message. It knows the position of the first message of each open
# transaction, and which transactions were aborted. It has forgotten those that were committed.
# Compare the two tables: the entries 0 to 3 have not moved. The commit has added entry 4, the
# marker. It takes a position, and nobody is sent it.
#
# **5. Two transactions in one partition.**

# %% jupyter={"source_hidden": true}
order_of_two = scenario("""
# t1 begins first, and t2 writes first
system pulsar clients=app,web,accounting
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

# %%
frontiers = list_frontiers(order_of_two)
rows = [("written to orders-0", "last position", "maxReadPosition")]
rows += [(entry, str(last), str(read)) for entry, last, read in frontiers]
print(columns(rows), end="\n\n")
rows = [("sent while 580538 is open", "orders that wait", "worth")]
for meanwhile in (0, 3, 6, 11):
    count, pence = measure_waiting(meanwhile)
    rows.append((str(meanwhile), str(count), f"£{pence / 100:,.2f}"))
print(columns(rows))
go.Figure(
    [
        go.Scatter(
            name=name,
            x=[entry for entry, *_ in frontiers],
            y=[row[place] for row in frontiers],
            mode="lines+markers",
            line={"shape": "hv", "dash": dash},
        )
        for name, place, dash in [("last position", 1, "dot"), ("maxReadPosition", 2, "solid")]
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#7c3aed", "#1a7f37"],
        "height": 280,
        "margin": {"t": 50, "b": 60},
        "title": "The first table: what is written, and what may be read",
        "xaxis": {"title": "entry of orders-0"},
        "yaxis": {"title": "position", "dtick": 1},
    },
)

# %% [markdown]
# What counts is where a transaction's first message lies *in this partition*. t1 has committed and
# `commit` has returned ok, but accounting still gets nothing of it, because the first message of t2
# lies before it. So one slow transaction holds back the quick ones of other services too.
#
# The second table takes the orders of one morning. Whatever is sent while 580538 is open waits with
# it, no matter who has sent it. So the longest transaction of a partition is the delay of all its
# subscriptions. The transaction's timeout (60 s unless a client asks for another) should be the
# limit. Parts 10 and 11 show where it is not.
#
# An article says that Pulsar never blocks, because each message is acknowledged by itself.
# Acknowledging one message blocks no other one. Reading does block.
#
# **6. Two partitions, one commit.** The marker for the payment is slow.

# %% jupyter={"source_hidden": true}
half_way = scenario("""
# The marker for the payment is slow
system pulsar topic=orders,payments clients=app,accounting
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
# All or nothing is true of the end. COMMITTING is written, so every partition will get its marker,
# whatever dies. It is not true of the moment: each partition shows its part when its own marker is
# there, as in Kafka, so a reader of both may see half. Pulsar's `commit` returns only when *all*
# markers are written; Kafka's returns when the decision is logged. So a service that tells others
# after its `commit` has returned is on the safe side, unless an older transaction is open in front
# of these messages, as in part 5.
#
# **7. An abort.** In the run of part 3, t2 sends order 580540 and is aborted.

# %% jupyter={"source_hidden": true}
Predict("09-aborted", trace=both_ends, step=first(both_ends, "t2 (0,1): ABORTING"))

# %% tags=["nbval-check-output"]
print(columns([("position", "entry", "for accounting"), *list_entries(TWO_ENDS)]))
print(tell_buffer(TWO_ENDS))
print()
GIVEN_UP = "new-transaction t{n}, send orders-0 {n} txn=t{n}, abort t{n}"
for many in (1, 2, 3):
    calls = ", ".join(GIVEN_UP.format(n=n) for n in range(many))
    print(f"aborts: {many};", tell_buffer(f"system pulsar snapshot_count=1\nrun app: {calls}"))
print()
print(read_recording("pulsar-4.2.4/4.2", "readers", "log"))

# %% [markdown]
# An article says that the messages in the buffer are *discarded*. Nothing is discarded: the message
# stays at its position, a marker is appended, and the buffer puts the transaction on a list. The
# dispatcher passes over both entries, and acknowledges them itself for each subscription. The real
# log in the last table says the same.
#
# So the list of aborted transactions grows, in memory and in every snapshot. The real broker takes
# an id off the list when the ledger in which its abort marker lies has been deleted, because its
# time is over (*retention*). This model has no retention.
#
# **8. Reading sooner.** Sometimes one would like to see what is not committed yet.

# %% jupyter={"source_hidden": true}
Predict("09-level")

# %% tags=["nbval-check-output"]
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
print()
print(read_recording("pulsar-4.2.4/4.2", "entries-with-flags", "log"))

# %% [markdown]
# There are five ways to read, and none of them goes further than the others. A proposal, PIP-298,
# describes an isolation level for consumers, and for a time a page of the documentation did. The
# code was never merged, and the page was taken back. What exists is in the recording, which lists
# the log before and after the end of a transaction: an administrator may look at single entries,
# and is told which of them are *uncommitted*. The plain message `d` behind the open transaction is
# marked in the same way.
#
# **9. A partition is loaded anew**, because its broker was restarted or because it was moved. t2 is
# open, and another transaction was aborted before. A buffer writes its snapshot after 1000 moves of
# maxReadPosition or after five seconds; `snapshot_count=1` makes it do so after each move.

# %% jupyter={"source_hidden": true}
LOADED = """
# A load, with one transaction open and one aborted
system pulsar clients=app,web,accounting {snapshots}
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

# %% tags=["nbval-check-output"]
for fact in loaded:
    if "Snapshot" in fact.text.en and fact.glyph == "▮":
        print(fact.text.en)
for then in ("", "run app: commit t2"):
    story = LOADED.format(snapshots="snapshot_count=1", then=then)
    print(f"{then or 'after the load':18} {tell_buffer(story)}; received: {receive_all(story)}")
without = LOADED.format(snapshots="off=replay_topic", then="")
print(f"{'not read again':18} {tell_buffer(without)}; received: {receive_all(without)}")

decided = scenario("""
# The coordinator is killed when it has decided
system pulsar clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
kill tc-0 when=EndTxnOnPartition#1
run app: commit t1
restart tc-0
run accounting: receive books
""")
print()
for fact in decided:
    if fact.index >= first(decided, "killed") and not fact.fold:
        print(fact.line(width=10))

# %% [markdown]
# A snapshot holds two things: maxReadPosition and the list of aborted transactions. That is enough,
# because whatever was open when it was taken had begun behind that position. The load reads the
# entries from there on, and does with each of them what was done when it was written. The line *not
# read again* shows a partition that leaves this out: accounting gets an order whose transaction is
# open. You will write this recovery below.
#
# The narration shows the coordinator, which recovers from its own log. It was killed when it had
# written COMMITTING, and the next client that connects has it loaded. It ends what is COMMITTING or
# ABORTING, and watches what is OPEN until the *old* deadline.
#
# There are two commit markers in it. The loaded coordinator ends the transaction again, and so does
# the client, which repeats its request. The second marker changes nothing: *markers are idempotent,
# not unique*. But look at what the application is told: TransactionNotFoundException, about a
# transaction that has committed. What has ended is forgotten, so this exception does not say how it
# ended.
#
# **10. A partition that cannot be reached.** A coordinator registers whatever partition it is told,
# and does not look whether it exists. Here `admin` has registered a partition of a namespace that
# does not exist. (A namespace is a group of topics; `0/0` is the transaction (0,0).)

# %% jupyter={"source_hidden": true}
FROZEN = """
# A participant that cannot be reached
system pulsar missing=elsewhere-0 clients=app,admin,accounting
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

# %% tags=["nbval-check-output"]
for seconds in (0, 4, 20):
    story = FROZEN.format(tries=try_again(seconds), then="")
    markers = sum("commit marker" in entry for _, entry, _ in list_entries(story))
    print(f"after {seconds:2} s: {markers:2} markers, received {receive_all(story)}")
story = FROZEN.format(
    tries=try_again(4),
    then="run admin: create-namespace elsewhere-0\nat 5000\nfire tc-0 retry (0,0)",
)
for fact in scenario(story):
    if fact.glyph == "☞" and fact.node in ("admin", "app"):
        print(f"{fact.node:6} {fact.text.en}")
print()
print(read_recording("pulsar-4.2.4/4.2", "commit-frozen"))

# %% [markdown]
# The order has been delivered, but the commit has not returned. The transaction's own timeout of 3
# s does nothing, and an abort is refused. About every second all participants are told again, and
# the healthy one writes one more marker. A real client stops waiting after 30 s, the broker does
# not. The recording shows the same: *commit markers, 6 or more*. As soon as somebody creates the
# namespace, the next try ends the transaction.
#
# **11. Silence.** `app` dies with t1 open. A live coordinator aborts t1 at its deadline, 60 s after
# it began. But what if the broker is restarted in between?

# %% jupyter={"source_hidden": true}
Predict("09-silence")

# %% tags=["nbval-check-output"]
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
    "nothing is restarted, 59 s": "at 59000",
    "nothing is restarted, 60.1 s": "at 60100\nfire tc-0 timeout (0,0)",
    "a restart, 10 minutes later": LATER,
    "then a client connects": f"{LATER}\nrun other: new-transaction t\nfire tc-0 timeout (0,0)",
}.items():
    print(f"{name:29} {receive_all(SILENT.format(then=then))}")
print()
SAID = ("Send", "kill", "Message", "NewTxn", "nothing", "ongoing")
print(read_recording("pulsar-4.2.4/4.2", "kill-and-nobody-comes", *SAID))

# %% [markdown]
# Silence means *abort*, and none of your processes need be there for it. But a restarted broker
# loads a coordinator only when a client with transactions connects to it. Where many services use
# transactions, that takes seconds. Where one job uses them once a night, the plain orders of a
# whole day wait. The recording is the real broker: `c` comes when `app` begins its next
# transaction.
#
# **12. A late message.** When a message of a transaction arrives, the partition does not ask the
# coordinator whether that transaction still exists. What protects it is the *low watermark*: with
# each end the coordinator sends the number up to which all of its transactions have ended. A
# message of one of these is refused.

# %% jupyter={"source_hidden": true}
LATE = """
# A message that comes after its transaction has ended
system pulsar clients=app,web,accounting,other timeout_ms=600000
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

# %% tags=["nbval-check-output"]
for name, restart in {"no restart": "", "a restart before it": RESTART}.items():
    story = LATE.format(restart=restart)
    sent = next(f.text.en for f in scenario(story) if f.text.en.startswith("send orders-0 late"))
    print(name, sent, sep=": ")
    print("  accounting", receive_all(story), "  audit", receive_all(story, "audit"))
print(columns([("position", "entry", "for consumers"), *list_entries(story)]))
print()
SAID = ("Send late", "kill", "Message", "entry 0", "entry 4")
print(read_recording("pulsar-4.2.4/4.2", "kill-forgets-watermarks", *SAID))

# %% [markdown]
# `reopen t1` stands for a client that slept through the end of its transaction. Its message is
# refused while the partition remembers a mark. But marks are kept in memory only. After the restart
# the message is taken, and t1 counts as open again. With the next end, that of t3, the partition
# learns that t1 has ended long ago, and aborts it. And whether a message was aborted is looked up
# by the id of its transaction alone, wherever the message lies. So the order 580538, which t1 has
# *committed*, counts as aborted too, and audit never gets it.
#
# In the recording of the real 4.2.4 the same happens to `a`, and no safeguard was off. Pulsar has
# no *fencing*: it knows an old process from a new one by no name, as Kafka does by its
# `transactional.id` (lab 06).

# %% [markdown]
# ## Find the shortest run
#
# The coordinator has decided to commit, and its request to `orders-0` is on its way. Click a
# message to deliver it, a timer to let it run out, a lane to kill a node and to start it again.
# *How few choices does it take until the partition has two markers of one transaction?*

# %%
play = continue_scenario("""
# The decision is written
system pulsar clients=app,accounting claims=one_marker
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
hold tc-0→orders-0 EndTxnOnPartition#1
run app: commit t1
""")
Playground(play, goal="one marker")

# %% [markdown]
# ## Modify: which safeguards are necessary?
#
# Eight safeguards belong to this lab. `max_read_position` stops dispatchers before what is open.
# `filter_aborted` leaves out what was aborted. `decision_before_markers` writes COMMITTING before a
# partition is told. `retry_until_answered` tells a partition again that was not reached.
# `replay_log` and `replay_topic` read the coordinator's log, and the partition, after a restart.
# `transaction_timeout` aborts what nobody ends. `low_watermark` refuses or aborts what comes too
# late. Say for each of them what will break without it. Then choose one of the first three in the
# menu, and look at what accounting is sent: the run is the same each time.

# %% jupyter={"source_hidden": true}
STORY = """
# Aborted, open, and a load
system pulsar clients=app,web,accounting
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

# %% tags=["nbval-check-output"]
print(tell_searches())

# %% [markdown]
# Each line of the first table takes one safeguard away, and a search has found the shortest run
# that breaks a promise. The second table takes nothing away. These promises Pulsar does not make:
# that an open transaction holds back only its own messages, that there is one marker, that an error
# means *not committed*, that a late message harms nobody, that what was committed stays readable,
# and that every transaction ends although no client connects.

# %% [markdown]
# ## Make: an id and a dispatcher
#
# First: write the function with which a client finds the coordinator of a transaction. It is given
# the 128 bits of a TxnID as one whole number, and returns the coordinator's number. Hints:
# `print(FINDING.hint(1))`, `print(FINDING.hint(2))`.
#
# Then: be the dispatcher. A subscription is new and has been sent nothing. You are given the
# entries of its partition, each one as a position, a kind (`"plain"`, `"message"`, `"commit"`,
# `"abort"`) and a transaction such as `"(0,3)"`, which is `""` for a plain one. You are also given
# what the buffer knows: `ongoing`, a dictionary from each open transaction to the position of its
# first message, and `aborted`, a list of transactions. Return the list of positions that the
# subscription is sent now. What you say is held against what a subscription received in four runs.
# Hints: `print(READING.hint(1))`, `print(READING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "finding"}
def find_coordinator(txn: int) -> int:
    """The coordinator of a transaction, from the 128 bits of its id."""
    ### BEGIN SOLUTION
    # The first half, all of it.
    return txn >> 64
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "finding-test", "points": 1}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("finding", find_coordinator)
### END HIDDEN TESTS
check(FINDING, find_coordinator)


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
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("reading", send_now)
### END HIDDEN TESTS
check(READING, send_now)

# %% [markdown]
# ## Make: a buffer that recovers
#
# The other half: where does a dispatcher's `ongoing` and `aborted` come from after a load? You are
# given the last snapshot, `max_read` and `aborted`, and the entries behind `max_read`, in the same
# form. Return two things: the dictionary of what is open, with the position of its first message
# here, and the list of all that is aborted.
#
# Your function is put into the partition, which is then killed and loaded at every moment of
# several stories. Two hints wait: `print(RECOVERY.hint(1))`, then `print(RECOVERY.hint(2))`.


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
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("recovery", recover)
### END HIDDEN TESTS
check(RECOVERY, recover)

# %% [markdown]
# ## Test: hide what was committed
#
# Now write a story like that of part 12 yourself, as short as you can. Its lines are put behind
# `system pulsar topic=orders,payments clients=app,web,accounting`. At its end a committed
# transaction must count as aborted in a partition. It can be done without a restart. You may use
# `run`, `kill`, `restart`, `hold`, `release` and all that you have seen above. Two hints wait:
# `print(HIDING.hint(1))`, then `print(HIDING.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "hiding"}
# The lines of the story, one below the other. Add what is missing to the first.
story = """
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
"""
### BEGIN SOLUTION
# The late message is taken, as no later end has brought a mark yet; the next end aborts it.
story += """
run app: reopen t1, send orders-0 late txn=t1
run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "hiding-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("hiding", story)
### END HIDDEN TESTS
check(HIDING, story)

# %% [markdown]
# ## Transfer: where do uncommitted messages live elsewhere?
#
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | an uncommitted message lies | in the topic, in its final place | in the topic, in its final place | in the half topic |
# | a commit | appends a marker | appends a marker | writes the message once more |
# | what holds readers back | maxReadPosition, for every consumer | the LSO, for read_committed only | nobody subscribes to the half topic |
# | who leaves out aborted messages | the dispatcher, at the broker | the consumer, with a list | nobody: they never leave the half topic |
# | what an open transaction hides | all behind its first message | the same, for read_committed | its own message |
# | `commit` returns | when all markers are written | when the decision is logged | at once, it is one-way |
# | what keeps an old process out | nothing | the epoch of its `transactional.id` | nothing |
#
# Ask of any queue that you meet: *where is the message before it is committed, and what keeps
# readers from it?*

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | Pulsar never blocks | reading waits for the oldest open transaction here | Run, 5 |
# | an open transaction hides only its own messages | it hides all behind its first one | Run, Make |
# | transactions are on by default | client and broker must both be told | 1 |
# | the top 16 bits of a TxnID are the coordinator | the top 64 bits are | 2, Make |
# | the transaction log is a topic | it is a bare ledger with a topic's name | 3 |
# | the coordinator's log holds the messages | it holds states and participants | 3 |
# | the buffer holds uncommitted messages | it holds ids and positions | 4 |
# | what commits first is read first | what lies before it must have ended too | 5 |
# | several partitions become visible together | each does with its own marker | 6 |
# | aborted messages are discarded | they stay; the dispatcher passes over them | 7, Make |
# | there is a level read_uncommitted | it was never merged | 8, Make |
# | a snapshot holds what is open | it holds what is aborted, and from where to read | 9, Make |
# | there is one marker per transaction and partition | there may be many | 9, 10 |
# | a timeout ends every transaction | open ones only, and only if the coordinator is loaded | 10, 11 |
# | what is committed stays readable | a late message can hide it | 12, Test |

# %% [markdown]
# ## Exit ticket

# %% jupyter={"source_hidden": true}
Predict("09-exit-ticket")

# %% [markdown]
# **What you know now.** An uncommitted message lies where it will stay. What a commit changes is
# one number, how far consumers may read, and the oldest open transaction of a partition decides it.
# The coordinator's log knows who takes part and how a transaction ended; the partition's entries
# know the rest. Keep transactions short, and never let an old process write on.
#
# **Next:** [lab 10, acknowledgement](10-acknowledgement.ipynb): what a transaction has read, and
# how it takes that back.
