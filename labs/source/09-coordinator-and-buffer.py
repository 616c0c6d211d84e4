# %% [markdown]
# # Lab 09 · Pulsar: coordinator and buffer
#
# *Where do uncommitted messages live?* · 80 minutes · Pulsar 4.2
#
# **In one paragraph.** In Pulsar a message of a transaction is stored at once, in its topic and in
# its final place; what a commit adds is one more entry behind it, a marker. Until then a number
# keeps consumers away: maxReadPosition. You follow one order from its transaction's id to the
# marker, and read the coordinator's log record by record. You see how one forgotten transaction
# hides a whole partition, and what an abort leaves lying there. You kill partition and coordinator
# and write the recovery yourself. At the end you make the broker hide an order that it has
# committed, with all its safeguards on.
#
# **Contents.** Hook · Predict · Run · Investigate (1 switched on, 2 whose number, 3 the
# coordinator's log, 4 the buffer, 5 the oldest, 6 two partitions, 7 abort, 8 reading sooner, 9 a load,
# 10 a commit that cannot end, 11 silence, 12 a late message) · Find the shortest run · Modify · Make · Test · Transfer · Refuted · Exit ticket
#
# **Words.** *Partition*: one log of a topic; here `orders-0` and `payments-0`. *Entry*: what a log
# consists of; its *position* is its number. *Coordinator* (事务协调器): numbers transactions and
# decides how they end. *Transaction buffer* (事务缓冲区): what a partition knows of its open and
# aborted transactions. *maxReadPosition*: the last entry that consumers may be sent. *Marker*
# (控制消息): an entry without a message that says how a transaction ended here. *Subscription*: a
# group of consumers with its own place in the partition, its *cursor*. *Dispatcher*: the part of the
# broker that sends entries to a subscription. *Snapshot* (快照): what a buffer writes down now and
# then. *Low watermark* (低水位): below it every transaction has ended. *Ledger*: a stored log of
# BookKeeper, on which Pulsar stands.

# %%
import plotly.graph_objects as go
from IPython.display import display

from mqlab.lab import (
    Budget,
    Explorer,
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    scenario,
    system,
)
from mqlab.lessons.pulsar.lab09 import (
    HIDING,
    RECOVERY,
    broker_map,
    first,
    list_entries,
    list_frontiers,
    list_records,
    measure_waiting,
    read_recording,
    receive_all,
    tell_buffer,
    tell_searches,
)

# %% [markdown]
# ## Hook: four orders, and accounting gets none
#
# The real orders of 5 December 2011 again. An order service writes each order to `orders-0` and its
# payment to `payments-0`, in one transaction: both or neither. Its process `app` has begun with
# order 580538, £316.78, and now waits for the card company. Meanwhile the web shop `web` sends three
# more orders, and it uses no transactions at all. Every send has returned `ok`. Accounting reads
# `orders-0`.
#
# In a scenario `run app: new-transaction t1, send orders-0 580538 txn=t1` lets `app` make these
# calls. `hold tc-0→payments-0 EndTxnOnPartition` keeps a message on its way until `release`; `at
# 60000` lets a minute pass. `tc-0` is the coordinator. In the picture → is a message, ⇒ an answer, ▮
# something written to disk, ⇨ a change in memory, ⏲ a timer, ✗ a death, ↻ a restart, ☞ what an
# application is told.

# %%
waiting = scenario("""
# One open transaction, and three orders without any
system pulsar topic=orders,payments clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539, send orders-0 580540, send orders-0 580541
run accounting: receive books
run app: send payments-0 paid-580538 txn=t1, commit t1
run accounting: receive books
""")

# %% [markdown]
# ## Predict

# %% jupyter={"source_hidden": true}
Predict("09-open-hides", trace=waiting, step=first(waiting, "580541: ok"))

# %% [markdown]
# ## Run
#
# Step through it. Look at two things: the place where 580538 lies, and the flag *maxReadPosition*. The map
# below shows where all this stands in a whole Pulsar: brokers keep nothing, what is durable lies on
# *bookies*. So another broker can take a partition over without copying anything.

# %%
display(Player(waiting, step=first(waiting, "receive books: ok nothing")), broker_map("pulsar"))

# %% [markdown]
# Nothing was lost, nothing is late at the broker, and no process has failed. All four orders lie in
# `orders-0`. But a subscription reads its partition in order, and only up to maxReadPosition. As long
# as t1 is open, that is the entry before 580538. When t1 commits, everything comes at once.
#
# | stage | here | written where |
# |---|---|---|
# | reserve | the transaction gets an id; the partition is registered | the coordinator's log |
# | write | the message, in its final place | the partition |
# | decide | COMMITTING | the coordinator's log |
# | publish the decision | a request to every partition that was registered | nowhere |
# | make visible | the marker; maxReadPosition moves | the partition |
# | forget | COMMITTED; then the coordinator answers, and deletes its records | the coordinator's log |
#
# Pulsar's transactions were made for *Pulsar Functions*, which read a topic, compute, and write to
# another one. Lab 10 takes the reading; here is the writing.
#
# ## Investigate
#
# **1. Is it switched on?**

# %% jupyter={"source_hidden": true}
Predict("09-by-default")

# %% tags=["nbval-check-output"]
BOTH = "run app: send orders-0 580538, new-transaction t1, send orders-0 580539 txn=t1"
for name, coordinators in {"as it comes": 0, "switched on": 1}.items():
    print(name)
    for fact in scenario(f"system pulsar coordinators={coordinators}\n{BOTH}"):
        if fact.glyph == "☞":
            print("  ", fact.text.en)

# %% [markdown]
# A broker that has `transactionCoordinatorEnabled=false`, which is the default, has no coordinator. A
# real client with `enableTransaction(true)` is then not even built: *The broker doesn't enable the
# transaction coordinator, or the transaction coordinator has not initialized*, says 4.2.4. Plain
# messages are none the worse for it.
#
# **2. Whose number is it?** A transaction's id, the *TxnID*, has 128 bits.

# %% jupyter={"source_hidden": true}
Predict("09-id")

# %% tags=["nbval-check-output"]
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
# The first half is the coordinator, all 64 bits of it; the second half is a counter of that
# coordinator's. The articles, and the design, say *16 bits and 112 bits*. If it were so, the top 16
# bits would tell coordinators apart; they are 0 for every one of them.
#
# A standalone has one coordinator, a cluster 16; a client takes them in turn. Which broker runs
# number 3 is found with the partitions of a topic, `transaction_coordinator_assign`: whoever owns its
# partition 3 is coordinator 3. Kafka too finds its coordinator by a partition, but that partition *is*
# the coordinator's log. Pulsar's is empty.
#
# **3. What does the coordinator write?** One transaction with an order and its payment, and one that
# is aborted.

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
# States and participants: no message, no position. So the log is short, and what it says is all that
# a coordinator needs to end what it has begun. The second table is the real one: a transaction with
# one partition and one subscription writes five records, and when it has ended none is *needed* any
# more.
#
# Only these moves are possible: OPEN → COMMITTING → COMMITTED and OPEN → ABORTING → ABORTED. COMMITTING
# is the decision. It is written before any partition hears of it, and nothing leads back from it.
#
# Articles say that the log is recorded by a Pulsar *topic*. It is named like one,
# `__transaction_log_0`. But it is a bare ledger: nobody can subscribe to it, and no dispatcher reads
# it.
#
# **4. Where are the messages?** Take the moment at which `send` has returned.

# %% jupyter={"source_hidden": true}
Predict("09-where", trace=both_ends, step=first(both_ends, "Send 580538"))

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
# The *transaction buffer* buffers nothing. It knows of each open transaction the position of its
# first message, and of each aborted one that it was. Between the two tables the entries 0 to 3 have
# not moved. The commit has added entry 4, the marker. It takes a position, and nobody is sent it.
#
# **5. Which transaction is the oldest?**

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
Predict("09-oldest", trace=order_of_two, step=first(order_of_two, "EndTxn commit"))

# %% tags=["nbval-check-output"]
rows = [("written to orders-0", "last position", "maxReadPosition")]
rows += [(entry, str(last), str(read)) for entry, last, read in list_frontiers(order_of_two)]
print(columns(rows), end="\n\n")

rows = [("sent while 580538 is open", "orders that wait", "worth")]
for meanwhile in (0, 3, 6, 11):
    count, pence = measure_waiting(meanwhile)
    rows.append((str(meanwhile), str(count), f"£{pence / 100:,.2f}"))
print(columns(rows))

# %% jupyter={"source_hidden": true}
frontiers = list_frontiers(waiting)
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
        "height": 300,
        "margin": {"t": 50, "b": 60},
        "title": "The orders of the hook: what is written, and what may be read",
        "xaxis": {"title": "entry of orders-0"},
        "yaxis": {"title": "position", "dtick": 1},
    },
)

# %% [markdown]
# What counts is where a transaction's first message lies *in this partition*. t1 has committed,
# `commit` has returned ok, and accounting still gets nothing of it: t2 lies before it. So one slow
# transaction holds back quick ones of other services too.
#
# The second table takes the first orders of the morning: whatever is sent while 580538 is open waits with
# it, whoever has sent it. So your longest transaction is the delay of its partition, for every
# subscription. The timeout (60 s by default) is meant to be the upper bound; 10 and 11 show when it is
# none.
#
# "Pulsar never blocks, since each message is acknowledged by itself": that is the articles' sentence.
# Acknowledging never blocks. Reading does.
#
# **6. Two partitions, one commit.**

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
Predict("09-two-partitions", trace=half_way, step=first(half_way, "EndTxn commit"))

# %% tags=["nbval-check-output"]
for fact in half_way:
    if fact.glyph == "☞" and ("receive" in fact.text.en or "commit" in fact.text.en):
        print(f"{fact.node:11} {fact.text.en}")

# %% [markdown]
# All or nothing holds for the end: COMMITTING is written, so every partition will get its marker,
# whoever dies. It does not hold for the moment. Each partition shows its part when its own marker is
# there, as in Kafka; a reader of both may see half. Unlike Kafka's, Pulsar's `commit` returns only when
# *all* markers are written. So whoever waits for `commit` and then tells others is on the safe side,
# unless an older transaction is open before these messages, as in 5.
#
# **7. An abort.** In the run of 3 t2 sent order 580540 and was aborted.

# %% jupyter={"source_hidden": true}
Predict("09-aborted", trace=both_ends, step=first(both_ends, "EndTxn abort"))

# %% tags=["nbval-check-output"]
print(columns([("position", "entry", "for accounting"), *list_entries(TWO_ENDS)]))
print(tell_buffer(TWO_ENDS))
print()
GIVEN_UP = "new-transaction t{n}, send orders-0 {n} txn=t{n}, abort t{n}"
for many in (1, 2, 3):
    calls = ", ".join(GIVEN_UP.format(n=n) for n in range(many))
    print(f"aborts: {many};", tell_buffer(f"system pulsar snapshot_count=1\nrun app: {calls}"))
print()
print(read_recording("pulsar-4.2.4/4.2", "readers", "log", "Message"))

# %% [markdown]
# An article says that the messages in the buffer are *discarded*. Nothing is: the entry stays at its
# position, a second one is appended, and the buffer puts the transaction on a list. The dispatcher
# passes over both entries and acknowledges them itself, for each subscription.
#
# So the list of aborted ones grows, in memory and in every snapshot. The real broker takes an id off
# the list only once retention has deleted the ledger in which the abort marker lay; that part is not in
# this model.
#
# **8. Reading sooner.** One would sometimes like to see what is not committed.

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
# Five ways to read, and none goes further. A proposal, PIP-298, describes an isolation level for
# consumers, and so do documents that follow it; it was never merged. What there is you see in the
# recording: an administrator who looks at single entries is told which ones are *uncommitted*, and
# gets a plain message behind an open transaction marked so too.
#
# **9. A partition is loaded anew**, because its broker was restarted or because it was moved. t1 is
# open, and another transaction was aborted before.

# %% jupyter={"source_hidden": true}
LOADED = """
# A load, with one transaction open and one aborted
system pulsar clients=app,web,accounting {snapshots}
run accounting: subscribe orders-0 books from=earliest
run web: new-transaction t0, send orders-0 580539 txn=t0, abort t0
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580540
kill orders-0
restart orders-0
{then}
run accounting: receive books
"""
loaded = scenario(LOADED.format(snapshots="snapshot_count=1", then="run app: commit t1"))
Predict("09-loaded", trace=loaded, step=first(loaded, "killed"))

# %% tags=["nbval-check-output"]
for fact in loaded:
    if "Snapshot" in fact.text.en and fact.glyph == "▮":
        print(fact.text.en)
for then in ("", "run app: commit t1"):
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
# A snapshot holds two things: maxReadPosition and the aborted ones. That is enough, since whatever was
# open when it was taken began behind that position. The load reads the entries from there on, and does
# with each of them what it did when they were written. The last line shows a partition that does not:
# accounting gets an order whose transaction is open. You will write this recovery below.
#
# The coordinator, in the lines below, recovers in the same way from its own log. What is COMMITTING or
# ABORTING it ends again; what is OPEN it watches until the *old* deadline.
#
# Two commit markers: the coordinator that was loaded ends the transaction again, and so does the client,
# which repeats its request. The second marker changes nothing. *Markers are idempotent, not unique.* But
# look at the end of `commit`: TransactionNotFoundException, of a transaction that has committed. What has
# ended is forgotten, so this exception does not say how it ended.
#
# **10. A commit that cannot end.** Somebody has registered a partition whose namespace does not exist,
# a spelling mistake perhaps, as part of the transaction.

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


frozen = scenario(FROZEN.format(tries=try_again(4), then=""), recorded="commit-frozen")
Predict("09-frozen", trace=frozen, step=first(frozen, "ServiceNotReady"))

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
# The order has long been delivered; the commit has not returned; the transaction's own timeout of 3 s
# does nothing; an abort is refused. Every second all participants are told again, and the healthy one
# writes another marker. The real broker does the same, as the recording shows. An operator who creates
# the namespace ends it within a second.
#
# **11. Silence.** `app` dies with t1 open. A live coordinator aborts it at its deadline, 60 s after it
# began. But what if the coordinator has stopped as well?

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
STOPPED = "kill tc-0\nrestart tc-0\nat 600000"
for name, then in {
    "the coordinator lives, 59 s": "at 59000",
    "the coordinator lives, 60 s": "at 60100\nfire tc-0 timeout (0,0)",
    "it was restarted, 10 minutes": STOPPED,
    "then a client connects": f"{STOPPED}\nrun other: new-transaction t\nfire tc-0 timeout (0,0)",
}.items():
    print(f"{name:29} {receive_all(SILENT.format(then=then))}")

# %% [markdown]
# No process of yours needs to be there for the abort: what silence means is decided, *abort*. But the
# coordinator of a restarted broker is loaded only when a client with transactions connects to it. Where
# many services use transactions that is a matter of seconds. Where a single job runs once a night, the
# plain orders of the whole day wait.
#
# **12. A late message.** Nobody asks the coordinator whether a transaction still exists when a message
# arrives. What protects a partition is the *low watermark*: with each end the coordinator sends the
# number below which all of its transactions have ended. A message of one of those is refused.

# %% jupyter={"source_hidden": true}
LATE = """
# A message that comes after its transaction has ended
system pulsar clients=app,web,accounting,other timeout_ms=600000
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t0, send orders-0 580538 txn=t0, commit t0
run web: new-transaction t1, send orders-0 580539 txn=t1, commit t1
run accounting: receive books, ack books
{restart}
run app: reopen t0, send orders-0 late txn=t0
run web: new-transaction t2, send orders-0 580540 txn=t2, commit t2
run accounting: receive books
run other: subscribe orders-0 audit from=earliest
run other: receive audit
"""
RESTART = "kill orders-0\nkill tc-0\nrestart orders-0\nrestart tc-0"
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
print(read_recording("pulsar-4.2.4/4.2", "kill-forgets-watermarks", "Message", "log", "Send"))

# %% [markdown]
# `reopen t0` stands for a client that slept through its transaction's end. Its message is refused
# while the partition remembers a mark. But marks are in memory only. After the restart the message is
# taken, t0 counts as open again, and with the next end the broker sees that t0 has ended long ago and
# aborts it. But whether a message was aborted is looked up by the id of its transaction, wherever it lies.
# So t0's *committed* order 580538 counts as aborted as well, and audit never gets it.
#
# The recording is the real 4.2.4: no safeguard was off. Pulsar has no *fencing*, no name by which an old
# process could be told from its successor (Kafka's `transactional.id`, lab 06).
#
# ## Find the shortest run
#
# The coordinator has decided to commit, and its request to `orders-0` is on its way. Click a message to
# deliver it, a timer to let it run out, a lane to kill a node and to start it again. *How few choices
# until the partition has two markers of one transaction?*

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
# And here the machine searches, in every order of messages and with one kill of the partition. The
# safeguard `replay_topic` is off: a partition that is loaded does not read its entries again.

# %%
LINE = "pulsar clients=app,accounting off=replay_topic claims=behind_the_mark " + (
    "'app=new-transaction t1; send orders-0 580538 txn=t1; commit t1' "
    "'accounting=subscribe orders-0 books from=earliest'"
)
Explorer(system(LINE), Budget(kills=1, killable=("orders-0",)))

# %% [markdown]
# ## Modify: which safeguards are necessary?
#
# Each line of the first table takes one safeguard away and searches for the shortest run that breaks a
# promise. The second table takes nothing away: these promises Pulsar itself does not make. Say for each
# safeguard, before you run it, what will break.

# %% tags=["nbval-check-output"]
print(tell_searches())

# %% [markdown]
# ## Make: a buffer that recovers
#
# Write what a partition does when it is loaded. You are given the last snapshot, `max_read` and
# `aborted`, and the entries behind `max_read`: each one a position, a kind (`"plain"`, `"message"`,
# `"commit"`, `"abort"`) and a transaction as `"(0,3)"`, which is `""` for a plain one. Return two
# things: a dictionary of what is open, with the position of its first message here, and the list of all
# that is aborted. How far one may read follows from the first.
#
# It is put into the partition, which is then killed and loaded at every moment of several stories. Two
# hints wait: `print(RECOVERY.hint(1))`, then `print(RECOVERY.hint(2))`.


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


# %% nbgrader={"grade": true, "grade_id": "recovery-test", "points": 6}
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
# Write the story of Investigate 12 yourself, as short as you can: lines that are put behind `system
# pulsar topic=orders,payments clients=app,web,accounting`. At its end a committed transaction must
# count as aborted in a partition. No restart is necessary. You have `run`, `kill`, `restart`, `hold`,
# `release` and everything that you have seen above. Two hints: `print(HIDING.hint(1))`, then
# `print(HIDING.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "hiding"}
# The lines of the story, one below the other. Add what is missing to the first.
story = """
run app: new-transaction t0, send orders-0 580538 txn=t0, commit t0
"""
### BEGIN SOLUTION
# The late message is taken, as no later end has brought a mark yet; the next end aborts it.
story += """
run app: reopen t0, send orders-0 late txn=t0
run web: new-transaction t1, send orders-0 580539 txn=t1, commit t1
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "hiding-test", "points": 4}
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
# | what holds readers back | maxReadPosition, for everybody | the LSO, for read_committed only | that nobody subscribes to the half topic |
# | who drops aborted messages | the dispatcher, at the broker | the consumer, with a list | nobody needs to |
# | what an open transaction hides | all behind its first message | all behind its first message | nothing else |
# | `commit` returns | when all markers are written | when the decision is logged | at once, it is one-way |
# | who keeps an old process out | nobody | epochs of the `transactional.id` | nobody |
#
# Ask of any queue that you meet: *where is the message before it is committed, and who is in front of
# it?*
#
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | Pulsar never blocks | reading waits for the oldest open transaction here | Run, 5 |
# | an open transaction hides only its own messages | plain ones behind it as well | Run |
# | transactions are on by default | both sides must be switched on | 1 |
# | the top 16 bits of a TxnID are the coordinator | 64 bits and 64 bits | 2 |
# | the transaction log is a topic | a bare ledger with a topic's name | 3 |
# | the coordinator's log holds the messages | states and participants | 3 |
# | the buffer holds uncommitted messages | it holds ids and positions | 4 |
# | what commits first is read first | what lies before must have ended too | 5 |
# | several partitions become visible together | each with its own marker | 6 |
# | aborted messages are discarded | they stay; the dispatcher passes over them | 7 |
# | there is a level read_uncommitted | it was never merged | 8 |
# | a snapshot holds what is open | what is aborted, and from where to read | 9, Make |
# | there is one marker per transaction and partition | as many as it takes | 9, 10 |
# | a timeout ends every transaction | open ones only, and only if the coordinator is loaded | 10, 11 |
# | what is committed stays readable | a late message can hide it | 12, Test |
#
# ## Exit ticket

# %% jupyter={"source_hidden": true}
Predict("09-exit-ticket")

# %% [markdown]
# **What you know now.** An uncommitted message lies where it will lie for ever. What changes is one
# number, how far one may read, and the oldest open transaction of a partition decides it. The
# coordinator's log knows who takes part and how it ended; the partition's entries know the rest. Keep
# transactions short, and never let an old process write on.
#
# **Next:** [lab 10, acknowledgement](10-acknowledgement.ipynb): what a transaction has read, and how it
# takes that back.
