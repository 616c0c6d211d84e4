# %% [markdown]
# # Lab 06 · Kafka's transaction coordinator
#
# *What does commit do, in order?* · 90 minutes · Kafka 4.3, `transaction.version` 2 and 0, clients
# old and new
#
# **In one paragraph.** Every transactional producer has one broker that decides for it, its
# *transaction coordinator*. The coordinator gives it a number and an epoch, notes which partitions
# it writes to, writes down how each transaction ends, and sees to it that every partition learns of
# it. It asks nobody for a vote. What protects your money is one small rule, fencing, and one order
# of steps: first the decision is safe, then the client is answered, then the partitions are told.
#
# **Contents.** Hook · Predict · Run · Who decides · The log that decides · Investigate (what each
# request does, no answer, too slow) · When things go wrong · Find the kill · Modify · Order · Make
# · Transfer · Exit ticket
#
# **Words.** *Transaction coordinator* (事务协调器). *Producer id*, *epoch*: a number, and how often its
# holder was born again. *Fencing* (隔离): refusing an older epoch. *Zombie* (僵尸实例): an instance that
# was replaced and does not know it. *Marker* (控制消息): the record that ends a transaction in one
# partition. *Hanging transaction* (悬挂事务): open for ever. *TV0, TV2*: Kafka's setting
# `transaction.version`; *v2 client*: Java 4.0 and later; *legacy client*: all others.

# %%
from mqlab_widgets import Player, Predict

from mqlab.explore import Budget, explore
from mqlab.kafka.lesson import SAFEGUARD_CASES
from mqlab.lessons import check, judge, scenario, system
from mqlab.lessons.lab06 import (
    ADMIT,
    COMMIT,
    answers,
    broker_map,
    check_kill,
    coordinator_of,
    due,
    first,
    heard,
    latest,
    map_table,
    never_unknown,
    reading,
    recorded,
    records,
    requests,
    table,
    told,
    transitions,
)
from mqlab.lessons.safeguards import search, with_everything_on

# %% [markdown]
# ## Hook: the payment that was made twice
#
# A payment service stops for a minute: a long garbage collection. The platform takes it for dead
# and starts another one. The new instance finds order 17 unpaid and pays it. Then the old one wakes
# up, in the middle of its work, and pays order 17.
#
# Both run the same program, in Java `initTransactions(); beginTransaction(); send(…);
# commitTransaction();` (or `abortTransaction()`). Here Kafka's fencing is switched off.

# %% tags=["nbval-check-output"]
STORY = """
# Two instances of one payment service
system kafka topic=pay partitions=1 producers=old:payment-service,new:payment-service{off}
run old: init
run new: init, begin, send pay-0 order-17, commit
run old: begin, send pay-0 order-17, commit
"""
unfenced = scenario(STORY.format(off=" off=epoch_fencing"))
print(told(unfenced))
print(reading(unfenced))

# %% [markdown]
# Every call returned `ok`, and a reader of committed data books order 17 twice. Nothing is wrong
# with either transaction; what is wrong is that there were two.
#
# Keep the six stages of the course in view: **reserve → write → decide → publish the decision →
# make visible → forget**.
#
# ## Predict
#
# The same story with fencing on.

# %% jupyter={"source_hidden": true}
Predict(
    "The new instance has paid. What happens to the old one when it wakes up?",
    options=[
        "nothing: Kafka cannot know that it was replaced",
        "the broker closed its connection when the new one came",
        "begin fails: the broker knows that it is old",
        "begin and send return, the leader refuses the record, and commit fails",
        "commit waits until the new instance has stopped",
    ],
    answer=3,
    explanations=[
        "It knows: both gave the same transactional.id, and each birth got its own epoch.",
        "Connections say nothing about who holds an id. No broker closes them for that.",
        "begin asks nobody: it is local. So it cannot learn anything.",
        "Its epoch 0 is older than the epoch 1 of the new one: nothing with it is accepted.",
        "Nobody waits for anybody: the older one is simply refused.",
    ],
)

# %% tags=["nbval-check-output"]
fenced = scenario(STORY.format(off="") + "run old: abort")
print(told(fenced, "old"))
print(reading(fenced))

# %% [markdown]
# ## Run: fencing, step by step
#
# The leader's refusal is *abortable*: abort, and then look. The old instance does, and then knows.
# Now let it stop in the *middle* of a transaction. Watch three numbers: its epoch *e*, the epoch
# *e*+1 with which the coordinator aborts what it left open, and *e*+2, which the new one gets. Step
# with the arrow keys; what each reader gets, and the state of the transaction, stand below.

# %%
zombie = scenario("""
# An old instance is fenced in the middle of its transaction
system kafka client=legacy topic=pay partitions=1 producers=old:payments,new:payments
run old: init, begin, send pay-0 order-17
run new: init
fire new retry
run new: begin, send pay-0 order-17, commit
run old: commit
""")
Player(zombie, step=first(zombie, "PrepareAbort"))

# %% tags=["nbval-check-output"]
steps = ("InitProducerId", "CONCURRENT", "pid=", "Prepare", "WriteTxn", "Produce order", "FENCED")
print(heard(zombie, *steps))
print()
print(recorded("tv2", "init-during-ongoing", "InitProducerId", "Describe", "ABORT"))

# %% [markdown]
# The newcomer's first InitProducerId is told CONCURRENT_TRANSACTIONS: “not now, ask again”. Before
# that answer leaves, the abort is decided, with epoch 1. The abort *marker* carries epoch 1 to the
# partition, and shuts the old instance out there too. Then the newcomer asks again and gets epoch
# 2. The second table is what a real Kafka 4.3.1 answered to the same requests: the same epochs. (In
# it P stands for the producer id.)
#
# An epoch used to rise at an initialisation only. With `transaction.version` 2 it rises at *every
# end* of a transaction as well; you will see why.
#
# ## Who decides
#
# **What is in a name.** `transactional.id` names the application across its lives. Some tutorials
# put a random one there, “to be unique”. Decide what that does.

# %% jupyter={"source_hidden": true}
Predict(
    "Each instance makes up a random transactional.id when it starts. What becomes of the zombie?",
    options=[
        "it is fenced all the same: the producer id is what counts",
        "it is fenced by the group, when both are in one consumer group",
        "its transaction commits, and order 17 is paid twice",
        "its commit fails: two transactions are open in one partition",
    ],
    answer=2,
    explanations=[
        "Another transactional.id gets another producer id, so there is nothing to compare.",
        "Neither of the two consumes anything here; only offsets are fenced by a group.",
        "Nobody knows that the two are one application. A random id never fences anybody.",
        "Many transactions may be open in one partition; that is their normal life.",
    ],
)

# %% tags=["nbval-check-output"]
random_ids = scenario("""
system kafka topic=pay partitions=1 producers=old:pay-7f3a,new:pay-91c2
run old: init, begin, send pay-0 order-17
run new: init, begin, send pay-0 order-17, commit
run old: commit
""", recorded="lab06-random-ids-never-fence")
print(told(random_ids, "old"))
print(reading(random_ids))
print()
AFTER_A_FENCE = """
system asking partitions=1 producers=app:order-service,zombie:raw
run app: init, begin, send orders-0 a
run zombie: InitProducerId
run app: abort, begin
run zombie: Produce orders-0 x pid=0 epoch=0 seq=1, AddPartitionsToTxn orders-0 pid=0 epoch=0
run zombie: EndTxn commit pid=0 epoch=0 v=4, EndTxn commit pid=7 epoch=0 v=4
"""
print(answers(scenario(AFTER_A_FENCE), "zombie"))

# %% [markdown]
# The second table is a client that sends single requests by hand. An older epoch is refused by the
# *coordinator* with PRODUCER_FENCED, and by a partition's *leader* with INVALID_PRODUCER_EPOCH;
# another producer id with INVALID_PRODUCER_ID_MAPPING.
#
# **Where is my coordinator?** Every broker can be one, and many are at the same time, for different
# ids.

# %% jupyter={"source_hidden": true}
Predict(
    "How does a producer find the coordinator of “order-service-1”?",
    options=[
        "it computes transactional.id % 50 and asks the controller who leads that",
        "it asks any broker; that one hashes the id and names the leader of the partition",
        "it is the broker that leads the first partition written to",
        "all producers of a cluster share one coordinator, the controller",
    ],
    answer=1,
    explanations=[
        "It is the hash that is divided, not the string. And the client computes nothing.",
        "FindCoordinator. The broker computes abs(hash) mod 50 and looks up who leads it.",
        "Nothing is written yet when it asks, and a transaction may write to many partitions.",
        "The controller elects leaders; it decides no transaction.",
    ],
)

# %% tags=["nbval-check-output"]
print(coordinator_of("A", "tx-0", "order-service-1", "polygenelubricants"))
print()
three_brokers = scenario("system kafka partitions=1 replicas=3\nrun app: init")
for fact in three_brokers:
    if "app" in (fact.node, fact.peer):
        print(fact.line(width=4))
used = {coordinator_of(f"shop-{n}").split()[-1] for n in range(1000)}
print(f"1000 ids fall into {len(used)} partitions of __transaction_state")

# %% [markdown]
# The partition is `abs(hashCode) mod 50`, with Java's hash; the hash of *polygenelubricants* is the
# one number that has no absolute value, and counts as 0. `__transaction_state` has 50 partitions
# unless an administrator chose otherwise before its first use; the leader of a partition is the
# coordinator of its ids. So coordinators are elected like all leaders, and share the work.
#
# The map shows where all this lives. Five actors take part: *producer*, *transaction coordinator*,
# partition *leaders* (brokers), *group coordinator* (offsets, lab 08) and *consumer*. There is no
# ZooKeeper since Kafka 4.0: the controller is a broker too.

# %%
print("\n".join(line for line in map_table("kafka").splitlines() if " * " in line))
broker_map("kafka")

# %% [markdown]
# ## The log that decides
#
# All that a coordinator must not forget is in its partition of `__transaction_state`: one record a
# transition, key = transactional id. The topic is *compacted*: the latest record of a key counts,
# so the log can be read as a table. Here is the zombie's story as a log, and as a table.
#
# Eight states there are, six of them are ever written. `Dead` (an id that nobody used for seven
# days is forgotten) and `PrepareEpochFence` (a fence that begins) are only *pending*. While a
# record is being written its transition is pending, and everybody else is told
# CONCURRENT_TRANSACTIONS. The table of states below is the program's own, by the numbers that stand
# in the log: from each line to each column, ● where the runs of this lab went so far, ○ where one may
# go, · where none may.

# %% tags=["nbval-check-output"]
log = records(zombie)
print(table("status | state | transactional.id | producerId | epoch | partitions", log))
print()
print(latest(zombie))
DUMPED = "0(ep0) 1(ep0) 3(ep1) 5(ep1) 0(ep2) 1(ep2) 2(ep2) 4(ep2)"  # kafka-dump-log, a real broker
print()
print("as dumped from a real broker:", " ".join(f"{r[0]}(ep{r[4]})" for r in log) == DUMPED)

# %% tags=["nbval-check-output"]
ordinary = scenario("""
system kafka partitions=2
run app: init, begin, send orders-0 a, flush, send orders-1 b, commit
run app: begin, send orders-0 c, abort
""")
print(transitions(unfenced, fenced, zombie, ordinary))

# %% [markdown]
# From `Ongoing` two ways lead out, and from each Prepare state only one: **a decision never
# changes**. PrepareAbort straight from Empty or Complete exists in TV2 only: a v2 client cannot
# know whether its first record has arrived, so it may abort what the coordinator never saw.
#
# ## Investigate
#
# **1. What does each request do?** Begin with the beginning.

# %% jupyter={"source_hidden": true}
Predict(
    "What does beginTransaction() do at the broker?",
    options=[
        "the coordinator writes Ongoing for this id",
        "the coordinator notes the time: the timeout runs from now on",
        "a marker goes to every partition of the topic",
        "nothing: no request is sent",
    ],
    answer=3,
    explanations=[
        "Ongoing is written when the first partition is added, not before.",
        "The clock starts with the first partition as well. Experiment 3 measures it.",
        "Markers end a transaction; nothing marks its beginning.",
        "begin only changes a variable in the client. Kafka learns of it with the first record.",
    ],
)


# %% tags=["nbval-check-output"]
def between(trace, start, end):
    """The requests that leave anybody between two lines of a narration."""
    lines = trace.facts[first(trace, start) : first(trace, end) - 1]
    return [f.text.en for f in lines if f.glyph == "→"]


ONE = "\nrun app: init, begin, send orders-0 a, flush, send orders-1 b, commit"
once = scenario(f"system kafka partitions=2{ONE}", recorded="basic-commit")
print("sent by begin:", between(once, "init: ok", "begin: ok"))
print("asked between EndTxn and PrepareCommit:", between(once, "EndTxn", "PrepareCommit"))
print(requests(once))
print("\nwith a legacy client:")
print(requests(scenario(f"system kafka client=legacy partitions=2{ONE}")))
KAFKAS = {"TV0": "transaction_version=0", "TV2, legacy": "client=legacy", "TV2, v2": "client=v2"}
rows = []
for name, options in KAFKAS.items():
    both = scenario(f"system kafka {options}{ONE}\nrun app: begin, send orders-0 c, abort")
    asks = [f for f in both if f.text.en.startswith("AddPartitions")]
    adds = {f.node.split("-")[0] for f in asks if "verify" not in f.text.en}
    ends = [f.text.en[-1] for f in both if f.node == "tc" and f.text.en.startswith("ok epoch")]
    marks = [f.text.en[-1] for f in both if f.text.en.startswith("WriteTxnMarkers")]
    rows.append((name, *adds, " → ".join(["0", *ends]), ", ".join(marks)))
print()
print(table("Kafka, client | adds partitions | epoch of the producer | of the markers", rows))

# %% [markdown]
# Read the first table's last line slowly. The producer does not write its commit anywhere: it sends
# one request, EndTxn. The coordinator appends **PrepareCommit**, and the moment that is safe it
# answers. Nobody was asked for a vote: the list between EndTxn and PrepareCommit is empty. (This is
# not two-phase commit with the brokers as voters; partitions hold the records already and have
# nothing to object.) Only then do markers leave, and **CompleteCommit** is written when all have
# been answered. Nobody waits for it.
#
# These are the five steps of the usual figure: find the coordinator, get an id, add partitions,
# write, end. A *legacy client* (librdkafka, so confluent-kafka, and Java before 4.0) adds its
# partitions itself, before its first record, and the leader only *verifies* that; with a v2 client
# the leader adds its partition on the way. And “the epoch rises at each initialisation” is out of
# date: with TV2 and a v2 client it rises at every end, and the markers carry the new one.
#
# **2. What if no answer comes?** `commitTransaction()` throws a TimeoutException.

# %% jupyter={"source_hidden": true}
Predict(
    "The commit has timed out. What do you know, and what do you do?",
    options=[
        "it failed: abort, and send the payment again in a new transaction",
        "it failed: the broker has rolled it back",
        "it succeeded: the coordinator always finishes what it was asked for",
        "unknown: call commit again, or close the producer and start a new one",
    ],
    answer=3,
    explanations=[
        "Perhaps it is committed: then you pay twice. The client does not even let you abort.",
        "Perhaps; perhaps not. No answer is not a no.",
        "Only if PrepareCommit was written. If not, the timeout will abort it.",
        "The same call again asks the coordinator what has become of it.",
    ],
)

# %% tags=["nbval-check-output"]
silent = scenario("""
# The answer to a commit is late
system kafka partitions=1 max_block_ms=60000
hold app→tc ⇒EndTxn
run app: init, begin, send orders-0 a, commit
fire app max.block
run app: begin, abort
release app→tc ⇒EndTxn
run app: commit
""")
print(told(silent))
print(reading(silent, first(silent, "commit: unknown")))

# %% [markdown]
# While the application is told *unknown*, every reader already has the record.
#
# **3. What if I am too slow?** A transaction that stays open holds up readers, so the coordinator
# aborts it after a time. How long?

# %% jupyter={"source_hidden": true}
Predict(
    "A Java producer with all defaults begins at 1 s and sends its first record at 51 s. From when "
    "on may its transaction be aborted?",
    options=[
        "61 s: one minute after begin",
        "111 s: one minute after the first record",
        "951 s: the default is 15 minutes",
        "never: only an administrator aborts a transaction",
    ],
    answer=1,
    explanations=[
        "begin sends nothing, so no clock can start there.",
        "The clock starts with the first partition; the next sweep, every 10 s, does it: 120 s.",
        "15 minutes is transaction.max.timeout.ms: the most that the *broker* allows.",
        "The coordinator does it by itself, as it would for a new instance: epoch + 1, markers.",
    ],
)

# %% tags=["nbval-check-output"]
print(due("system kafka\nat 1000\nrun app: init, begin\nat 51000\nrun app: send orders-0 a"))
timeouts = ", ".join(f"InitProducerId timeout_ms={ms}" for ms in (900_000, 900_001, 0))
print(
    answers(scenario(f"system asking producers=app:order-service,hand:raw\nrun hand: {timeouts}"))
)
SLOW = """
system asking partitions=1 timeout_ms=1500 producers=app:order-service,hand:raw {kafka}
run app: init, begin, send orders-0 slow
fire tc
run hand: {request}
"""
REQUESTS = {
    "Produce": "Produce orders-0 x pid=0 epoch=0 seq=1",
    "EndTxn commit": "EndTxn commit pid=0 epoch=0",
    "EndTxn abort": "EndTxn abort pid=0 epoch=0",
    "InitProducerId, with (pid, 0)": "InitProducerId pid=0 epoch=0",
    "InitProducerId, with nothing": "InitProducerId",
}
LEGACY = {"Produce": " v=11", "EndTxn": " v=4"}
rows = []
for name, request in REQUESTS.items():
    row = [name]
    for kafka in KAFKAS.values():
        old = "" if "v2" in kafka else LEGACY.get(name.split()[0], "")
        run = scenario(SLOW.format(kafka=kafka, request=request + old))
        row.append(answers(run).splitlines()[-1].split("  ")[-1].strip())
    rows.append(row)
print()
print(table("slow producer | " + " | ".join(KAFKAS), rows))
print()
print(recorded("tv2", "timeout-abort", "late", "EndTxn", "init pid=S"))

# %% [markdown]
# With TV2 an *abort* by the slow producer is answered ok, with a new epoch, and it may go on; its
# *commit* is refused for good. The real broker says the same.
#
# ## When things go wrong
#
# **Three kinds of errors.** Kafka never calls your program back to ask what it meant (RocketMQ
# does, lab 04). It tells an error, and the error says what is left to do: *retriable*, the client
# asks again by itself; *abortable*, call abort and go on; *fatal*, close this producer, only a new
# one helps.

# %% tags=["nbval-check-output"]
print(
    "retriable: the new instance of Run was told",
    heard(zombie, "CONCURRENT").split("  ")[-1].strip(),
)
print("           and its application saw:", heard(zombie, "init: ok").split("  ")[-1].strip())
TOO_SLOW = (
    "system kafka partitions=1 timeout_ms=1500\nrun app: init, begin, send orders-0 a\nfire tc\n"
)
print()
print("abortable:")
print(
    told(
        scenario(
            TOO_SLOW
            + "run app: send orders-0 b, commit, abort\nrun app: begin, send orders-0 c, commit"
        )
    )
)
print()
print("fatal:")
print(told(scenario(TOO_SLOW + "run app: commit, abort, begin")))

# %% [markdown]
# **Messages that come too late or too early.** By hand, so that nothing is repeated or put right: a
# record of the first transaction is delayed in the network and arrives when the next one is open.

# %% tags=["nbval-check-output"]
LATE = {
    "TV0": """
system asking transaction_version=0 partitions=1 producers=app:order-service,hand:raw
run hand: InitProducerId, AddPartitionsToTxn orders-0 pid=0 epoch=0
run hand: Produce orders-0 a pid=0 epoch=0 seq=0 v=11, EndTxn abort pid=0 epoch=0 v=4
run hand: AddPartitionsToTxn orders-0 pid=0 epoch=0
run hand: Produce orders-0 late pid=0 epoch=0 seq=1 v=11, EndTxn commit pid=0 epoch=0 v=4
""",
    "TV2": """
system asking partitions=1 producers=app:order-service,hand:raw
run hand: InitProducerId
run hand: Produce orders-0 a pid=0 epoch=0 seq=0, EndTxn abort pid=0 epoch=0
run hand: Produce orders-0 b pid=0 epoch=1 seq=0
run hand: Produce orders-0 late pid=0 epoch=0 seq=1, EndTxn commit pid=0 epoch=1
""",
}
for name, story in LATE.items():
    run = scenario(story)
    print(
        name,
        "late is told",
        next(line.split("  ")[-1] for line in answers(run).splitlines() if "late" in line),
    )
    print(reading(run))
print()
TWO_COPIES = """
system kafka partitions=1{off}
run app: init, begin, send orders-0 a, commit
lose app→orders-0 ⇒Produce
"""
for off in ("", " off=sequence_check"):
    print(
        f"answer lost, sent again{off:<20}",
        reading(scenario(TWO_COPIES.format(off=off))).splitlines()[0],
    )

# %% [markdown]
# With TV0 the late record was aborted, and is committed: it fell into the *next* transaction. The
# epoch that rises at every end is what TV2 has against it. The last two lines answer another
# question: *why does a transaction need idempotence?* Because inside one a record may be sent
# twice, and would be committed twice (lab 05).
#
# **Send before add.** Some drawings let the records go to the partitions first, and tell the
# coordinator afterwards. A leader today asks the coordinator before it opens a transaction
# (*verification*). Without that:

# %% tags=["nbval-check-output"]
UNASKED = """
system asking transaction_version=0 partitions=1 producers=app,hand:raw admins=admin{off}
run hand: InitProducerId, Produce orders-0 a pid=0 epoch=0 seq=0 v=11
"""
print(answers(scenario(UNASKED.format(off=""))).splitlines()[-1])
hanging = scenario(
    UNASKED.format(off=" off=verification")
    + """
run hand: EndTxn abort pid=0 epoch=0 v=4
run admin: find-hanging orders-0, describe app
run admin: abort-hanging orders-0@0, find-hanging orders-0
"""
)
print(answers(hanging))
print(answers(hanging, "admin"))
print()
print(
    recorded(
        "tv0", "hanging-transaction", "Produce a", "DescribeT", "EndTxn", "WriteTxn", "frontiers"
    )
)

# %% [markdown]
# The partition holds a transaction open of which the coordinator knows nothing: no timeout will
# ever end it, and its LSO stands still. `kafka-transactions.sh find-hanging` asks both sides and
# compares; `abort` has the leader write the missing marker.
#
# **What if the coordinator dies?** The log has replicas. Here the coordinator is killed when one of
# two markers has left, and another broker takes over.

# %% jupyter={"source_hidden": true}
Predict(
    "The client has its ok, one partition has its marker, the coordinator dies. What happens?",
    options=[
        "the partition without a marker aborts after the timeout",
        "the new coordinator sends the marker to the partition that lacks it",
        "the new coordinator sends all markers again, with a higher coordinator epoch",
        "the producer must commit again: the new coordinator knows nothing of it",
    ],
    answer=2,
    explanations=[
        "The timeout ends Ongoing transactions only. This one is decided.",
        "It cannot know which one lacks it: answers to markers are only in memory.",
        "It finds PrepareCommit and owes every marker anew. A second one changes nothing.",
        "It reads the whole partition of __transaction_state before it serves anybody.",
    ],
)

# %% tags=["nbval-check-output"]
failover = scenario("""
# The coordinator dies between two markers, and another broker takes over
system kafka partitions=2 replicas=2
run app: init, begin, send orders-0 a, flush, send orders-1 b, commit
kill tc@1 when=WriteTxnMarkers#1 after=1
run controller: fence tc 1
""")
shown = ("commit: ok", "WriteTxn", "killed", "leads", "load", "commit marker", "CompleteC")
print(heard(failover, *shown, width=11))
print(reading(failover))
moved = scenario("""
system kafka partitions=1 replicas=3
run app: init, begin, send orders-0 a
hold tc@1→orders-0@1 WriteTxnMarkers
run app: commit
run controller: elect tc 2
release tc@1→orders-0@1 WriteTxnMarkers
run app: begin, send orders-0 b, commit
fire app retry
""")
print()
print("the old coordinator lives, and does not know:")
print(heard(moved, "NOT_COORDINATOR", "COORDINATOR_FENCED", width=11))

# %%
Player(failover, step=first(failover, "leads, leader epoch"))

# %% [markdown]
# A client that still asks the old coordinator hears NOT_COORDINATOR and looks for the new one. A
# late marker of the old one is refused: TRANSACTION_COORDINATOR_FENCED.
#
# **Once PrepareCommit is written, the transaction commits whatever happens.** So it is designed, and
# so it is in every schedule the explorer looks at. Two true stories about clusters where it was not so.
# In the first somebody once wrote a marker with a coordinator epoch that was too high.

# %% tags=["nbval-check-output"]
stuck = scenario("""
system asking partitions=2 producers=app:order-service,hand:raw admins=admin
run app: init
run hand: WriteTxnMarkers orders-0 abort pid=0 epoch=0 coordinator=5
run app: begin, send orders-0 a, send orders-1 b, commit
run admin: find-hanging orders-0, describe order-service
""")
print(heard(stuck, "commit: ok", "FENCED"))
print(reading(stuck))
print(answers(stuck, "admin"))
print()
print(recorded("tv2", "marker-fenced", "EndTxn commit epoch=0", "InitP", "{orders-0}"))

# %% [markdown]
# The client was told `ok`, and the transaction stays in PrepareCommit for ever: the leader refuses the
# marker of a coordinator that looks too old, and that one gives up. `find-hanging` finds nothing, for
# the coordinator does know the transaction; somebody must write the *commit* marker by hand.
#
# In the second story a new coordinator finds PrepareCommit, sees that the partition has no leader
# *just now*, and takes it for deleted: it writes CompleteCommit without a marker. Kafka 4.3.1 and 4.4.0
# may do that when they are killed at this moment; 4.2.1 does not. Here it is a switch.

# %% tags=["nbval-check-output"]
LEADERLESS = """
system kafka partitions=1 replicas=2 admins=admin{defect}
run app: init, begin, send orders-0 paid
hold tc@1→orders-0@1 WriteTxnMarkers
run app: commit
run controller: fence orders-0 2
kill orders-0@1
kill tc@1
run controller: fence orders-0 1, fence tc 1
restart orders-0@1
restart tc@1
run admin: find-hanging orders-0
"""
for defect in ("", " skip_leaderless_marker=1"):
    lost = scenario(LEADERLESS.format(defect=defect))
    print(f"{defect.strip() or 'as designed'}:", latest(lost).split()[-2])
    print(reading(lost))
    print(answers(lost, "admin").splitlines()[-1], end="\n\n")
print(
    recorded("tv2", "skip-leaderless-marker", "EndTxn", "Describe", "restart", "frontiers", "ends")
)
print()
words = ("EndTxn commit", "Transactions commits", "restart", "COMMIT", "read_committed")
print(recorded("tv2", "restart-prepared-kill", *words, kafka="4.2.1"))

# %% [markdown]
# An acknowledged commit that nobody will ever read: a hanging transaction made by brokers.
# `find-hanging` finds this one; its `abort` frees the readers, and throws the payment away.
#
# ## Find the kill
#
# *A commit is decided, and its client does not know.* One line: `kill tc when=Kind#n after=K` kills
# the coordinator in the step that sends the n-th message of that kind (an answer is written
# `⇒EndTxn#1`, a record by its state), when K effects of that step are done. The story below it:
# commit, restart, read. **Find the kill** after which the application is told *unknown* and the
# record is committed. The cell after the test asks the explorer whether *unknown* always ends well.

# %% nbgrader={"solution": true, "grade_id": "kill"}
### BEGIN SOLUTION
# PrepareCommit is safe, and the step that would have answered does nothing any more.
kill = "kill tc when=⇒EndTxn#1 after=0"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kill-test", "points": 2}
verdict = check_kill(kill)
print(verdict)
assert verdict.ok, str(verdict)

# %% tags=["nbval-check-output"]
small = system("kafka partitions=1 retries=1 'app=init; begin; send orders-0 a; commit'")
fault = Budget(kills=1, killable=("tc",), timers=1)
for outcome in ("COMMIT", "ABORT"):
    claim = never_unknown(small, outcome)
    shortest = explore(small, fault, (claim,)).counterexamples[claim.name]
    print(f"told unknown, ends as {outcome}, in {len(shortest.schedule)} choices:")
    print(heard(shortest.trace(), "Prepare", "killed", "recovered", "commit", width=9))
everything = explore(small, fault)
print(
    "any other promise broken:",
    list(everything.counterexamples) or "none",
    "– all runs:",
    everything.complete,
)

# %% [markdown]
# ## Modify: which safeguard is necessary?
#
# Switch one off and let the explorer find the shortest run that hurts; with it on, nothing is
# found.

# %% tags=["nbval-check-output"]
found = {}
rows = []
for name in ("epoch_fencing", "prepare_before_markers", "transaction_timeout"):
    case = SAFEGUARD_CASES[name]
    found[name] = search(case)
    kept = with_everything_on(case)
    finds = ", ".join(kept.counterexamples) or "nothing"
    rows.append((name, case.anomaly, len(found[name].schedule), finds, kept.complete))
print(table("switched off | anomaly | choices | switched on | all runs", rows))
print()
print(heard(found["epoch_fencing"].trace(), "InitP", "ok pid", "Produce", "Prepare", "marker @"))

# %%
Player(found["epoch_fencing"].trace(), title="Without fencing")

# %% [markdown]
# On the command line, for all ten safeguards: `mqlab explore kafka --safeguards`.
#
# ## Order: what does commit do?
#
# Five of these ten pieces are EndTxn. Put them in order. Your order is built into a coordinator,
# and every schedule with one kill and one timeout is searched. Without the widget: `print(COMMIT)`,
# then `print(judge(COMMIT, ["reply", …]))`. Hint: *more than one order is right.*

# %%
COMMIT.widget()

# %% nbgrader={"solution": true, "grade_id": "order"}
### BEGIN SOLUTION
# Kafka's own: decide, answer, tell, wait, forget.
order = ["prepare", "reply", "markers", "wait", "complete"]
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
verdict = judge(COMMIT, order)
print(verdict)
assert verdict.ok, str(verdict)

# %% [markdown]
# ## Make: write the fencing rule
#
# A request about a transaction has come in. `known` is the (producer id, epoch) that the
# coordinator keeps for its transactional id, `None` where it knows no such id; `state` is the
# transaction's; `busy` says that a record is being written or that markers are owed; `asked` is the
# (producer id, epoch) in the request. Answer `"ok"`, `"PRODUCER_FENCED"` (fatal),
# `"CONCURRENT_TRANSACTIONS"` (retriable) or `"INVALID_PRODUCER_ID_MAPPING"` (fatal).
#
# Your rule is put into a coordinator and tried with a producer alone, with its restarted twin, and
# with requests by hand, in all schedules. Two hints wait: `print(ADMIT.hint(1))`,
# `print(ADMIT.hint(2))`. If it is not right yet, the message names the belief behind it;
# `verdict.player()` plays the run.


# %% nbgrader={"solution": true, "grade_id": "admit"}
def admit(known: tuple[int, int] | None, state: str, busy: bool, asked: tuple[int, int]) -> str:
    """May the sender of this request go on with the transaction?"""
    ### BEGIN SOLUTION
    if known is None or known[0] != asked[0]:
        return "INVALID_PRODUCER_ID_MAPPING"
    # Not just "older": the coordinator gives epochs out, so a larger one is nobody's.
    if known[1] != asked[1]:
        return "PRODUCER_FENCED"
    # Its holder, at the wrong moment: that will pass, so it must not be told anything fatal.
    return "CONCURRENT_TRANSACTIONS" if busy else "ok"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "admit-test", "points": 5}
verdict = check(ADMIT, admit)
print(verdict)
assert verdict.ok, str(verdict)

# %% [markdown]
# ## Transfer: who decides elsewhere?
#
# | | Kafka | RocketMQ (lab 04) | Pulsar (lab 09) |
# |---|---|---|---|
# | who decides | the coordinator, by a record | your database, asked by the broker | the coordinator, by a record |
# | what names you | `transactional.id` | the producer group | nothing: each transaction has its own TxnID |
# | the old instance | fenced by its epoch | not fenced: any instance may answer | not fenced: its TxnID runs out |
# | silence means | abort, after 60 s | “what happened?”, up to 15 times | abort, after its timeout |
#
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | any random transactional.id does | it names the application; random ids never fence | Who decides |
# | transactional.id % 50, ask the controller | abs(hash) mod 50, any broker answers | Who decides |
# | epochs rise at initialisation only | with TV2 at every end too | 1 |
# | begin opens something at the broker | begin is local | 1 |
# | the producer writes its commit to the log | it sends EndTxn; the coordinator appends | 1, Order |
# | the coordinator collects votes | partitions never vote | 1, Order |
# | a commit that timed out failed | the outcome is unknown | 2, Find the kill |
# | the timeout is 15 minutes, from begin | 60 s, from the first partition | 3 |
# | a late message cannot land in the next transaction | before TV2 it can | too late or too early |
# | records first, then tell the coordinator | that makes a hanging transaction | Send before add |
# | after PrepareCommit nothing can go wrong | as designed; two true stories | What if it dies |
#
# **What you know now.** One record decides. It is written before the answer, and the answer leaves
# before the markers. Whoever holds the latest epoch speaks for an id; nobody else does.
#
# ## Exit ticket
#
# A ticket shop runs two pods with the transactional ids `shop-0` and `shop-1`. Pod 0 hangs; the
# platform starts a new pod 0 with the same id. The hanging pod wakes up with an open transaction
# and calls commit.

# %% jupyter={"source_hidden": true}
Predict(
    "What becomes of the tickets in the old pod's open transaction?",
    options=[
        "they are sold: its PrepareCommit is written when it asks",
        "they were returned when the new pod started: aborted with a higher epoch",
        "they stay open until the old pod's transaction times out",
        "pod 1 takes them over: it is the same application",
    ],
    answer=1,
    explanations=[
        "Its epoch is old: the coordinator answers PRODUCER_FENCED and writes nothing.",
        "initTransactions of the new pod aborted it, before that pod could begin anything.",
        "The new pod does not wait for a timeout: that is what the same id is for.",
        "shop-1 is another id: another producer, perhaps another coordinator.",
    ],
)
