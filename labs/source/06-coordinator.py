# %% [markdown]
# # Lab 06 · What does commit do, step by step?
#
# *90 minutes, or a quick route of 20* · Kafka 4.3, `transaction.version` 2 and 0, clients old and new
#
# **In one paragraph.** Every transactional producer has one broker that decides for it, its *transaction
# coordinator* (事务协调者). In this lab two instances of one order service meet, you follow a commit from the
# call to the last record, and you arrange the coordinator's steps so that they survive every crash.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 05 for three terms. A *producer id* identifies a producer; its *epoch* rises when it
# restarts; a *sequence number* counts its records in one partition.

# %% [markdown]
# ## Order 580538 is charged twice
#
# The gift shop's order service stops for a minute: a long garbage collection. The platform takes it
# for dead and starts another instance. The new instance finds that order 580538 has not been charged, and
# charges it. Then the old one wakes up in the middle of its work and charges order 580538 as well.
#
# Both run the same program, in Java `initTransactions(); beginTransaction(); send(…);
# commitTransaction();`. The invariant *money* checks that money in = money out: each order is charged
# once. One safeguard of Kafka is switched off here (`off=epoch_fencing`). Click the picture, then step
# with the arrow keys.

# %% jupyter={"source_hidden": true}
from IPython.display import display

from mqlab.lab import (
    Budget,
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    explore,
    say,
    scenario,
    search,
    system,
    vary,
    with_everything_on,
)
from mqlab.lessons.kafka.lab06 import (
    ADMIT,
    COMMIT,
    SAFEGUARD_CASES,
    UNANSWERED,
    answers,
    broker_map,
    coordinator_of,
    costs,
    data_flow,
    find_lines,
    find_red_step,
    find_timeout,
    first,
    latest,
    list_calls,
    list_kills,
    list_reads,
    list_safeguards,
    never_unknown,
    read_recording,
    records,
    requests,
    table,
    transitions,
)

# %%
unfenced = scenario("""
# Two instances of the order service, and neither is fenced
system charges partitions=1 producers=old:order-service,new:order-service off=epoch_fencing
run old: init
run new: init, begin, send charges-0 580538, commit
run old: begin, send charges-0 580538, commit
""")
Player(unfenced, step=find_red_step(unfenced, "money"), level="story")

# %% [markdown]
# Every call returned `ok`, and a read_committed consumer books order 580538 twice. Neither transaction is
# wrong, but there were two of them. An instance that was replaced without noticing is a *zombie* (僵尸实例).

# %% [markdown]
# ## Predict
#
# The same two instances meet again, with the safeguard on. This time the old one stops in the *middle* of
# its transaction: its record is in the log, and it has not called commit.

# %% jupyter={"source_hidden": true}
fenced = scenario("""
# A new instance starts while the old one has a transaction open
system charges client=legacy partitions=1 producers=old:order-service,new:order-service
run old: init, begin, send charges-0 580538
run new: init
fire new retry
run new: begin, send charges-0 580538, commit
run old: commit
""", recorded="init-during-ongoing")
Predict("06-left-open", trace=fenced, step=first(fenced, "CONCURRENT_TRANSACTIONS") - 2, level="protocol")

# %% [markdown]
# `initTransactions()` sends the request InitProducerId. The new instance's first one gets
# CONCURRENT_TRANSACTIONS: “not now, ask again”. Before that answer is sent, the abort is decided, with
# epoch 1. Then a *marker* (控制消息), the record that ends a transaction in one partition, carries epoch 1
# into `charges-0` and shuts the old instance out there too. The second InitProducerId gets epoch 2.
# Refusing an older epoch is called *fencing* (隔离).

# %% [markdown]
# ## One commit, from the call to the last record
#
# A transaction goes through six stages: **reserve → write → decide → publish the decision → make visible
# → forget**. Step through this one and find each stage. Which record does the coordinator write before it
# answers the client, and which after?

# %% jupyter={"source_hidden": true}
KAFKAS = {"TV0": "transaction_version=0", "TV2, legacy": "client=legacy", "TV2, v2": "client=v2"}
ONE = "\nrun app: init, begin, send charges-0 580538, flush, send charges-1 580539, commit"
once = scenario(f"system charges partitions=2{ONE}", recorded="basic-commit")
Player(once, step=first(once, "EndTxn"))

# %% [markdown]
# The producer writes its commit nowhere: it sends one request, EndTxn. The coordinator appends
# **PrepareCommit** and answers as soon as that record is safe. Then it sends the markers, one for each
# partition. The partitions do not vote: they have the records already and no reason to refuse.

# %% [markdown]
# ## Arrange the steps of a commit
#
# Five of these ten pieces are EndTxn. Put them in sequence. Your sequence is built into a coordinator,
# and every schedule with one crash and one timeout is searched. Run the cell, then move the pieces: each
# move is written into the cell, between the brackets. Hint: *more than one sequence is right.*

# %% nbgrader={"solution": true, "grade_id": "order"}
order = COMMIT.arrange([
    ### BEGIN SOLUTION
    # Kafka's own: decide, answer, publish, wait, forget.
    "prepare", "reply", "markers", "wait", "complete"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("commit", order)
### END HIDDEN TESTS
check(COMMIT, order)

# %% [markdown]
# ## What you know now
#
# One record decides, and it outlives the coordinator that wrote it. Only the holder of the latest epoch
# may act for an id.
#
# The quick route ends here. The parts below go deeper; 7 of the 10 points are there. The next lab asks
# when a reader sees a decision: [lab 07](07-markers-and-lso.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("06")

# %% [markdown] tags=["deeper"]
# ## Which requests are refused after fencing, and with which error?

# %% [markdown]
# The first table shows the calls of the old instance above. The second comes from a real Kafka 4.3.1,
# which gave the same epochs to the same requests (P is the producer id).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(say("without fencing:"), list_reads(unfenced).splitlines()[0])
print(say("with fencing:   "), list_reads(fenced).splitlines()[0])
print(list_calls(fenced, "old"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "init-during-ongoing", "InitProducerId", "Describe", "ABORT"))

# %% [markdown]
# Now a zombie sends single requests by hand. Which of them does the coordinator refuse, and which the
# leader of a partition?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
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
# The older epoch is refused by the *coordinator* with PRODUCER_FENCED, and by a partition's *leader* with
# INVALID_PRODUCER_EPOCH. Another producer id is refused with INVALID_PRODUCER_ID_MAPPING.
#
# Users have reported this in public, for example: `mqlab incidents staging-fences-production`.

# %% [markdown] tags=["deeper"]
# ## Which broker coordinates a transactional.id?

# %% [markdown]
# `transactional.id` names the application across its restarts. Some tutorials use a random one, “to be
# unique”. What does that do?

# %% jupyter={"source_hidden": true}
random_ids = scenario("""
# Each instance makes up an id
system charges partitions=1 producers=old:pay-7f3a,new:pay-91c2
run old: init, begin, send charges-0 580538
run new: init, begin, send charges-0 580538, commit
run old: commit
""", recorded="lab06-random-ids")
Predict("06-random-ids", trace=random_ids, step=first(random_ids, "commit: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(random_ids, "old"))
print(list_reads(random_ids))

# %% [markdown]
# Random ids never fence *each other*, and the transactions they leave open block readers until their
# timeout. (A random id per process is fine if consumed offsets are part of the transaction, as in Kafka
# Streams: there the group fences, lab 08.)
#
# The name also leads to the coordinator.

# %% jupyter={"source_hidden": true}
Predict("06-coordinator")

# %% [markdown]
# The producer sends FindCoordinator to any broker. That broker computes `abs(hashCode) mod 50`, with
# Java's hash of the id, and returns the leader of this partition of `__transaction_state`. (The hash of
# *polygenelubricants* is the one number without an absolute value, and counts as 0.) Coordinators are
# elected like all leaders, and they share the work: in the last table, recorded on three brokers, one
# coordinator is stopped while another one commits.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(coordinator_of("A", "tx-0", "order-service-1", "polygenelubricants"))
used = {coordinator_of(f"shop-{n}").split()[-1] for n in range(1000)}
print(say("1000 ids fall into {n} partitions of __transaction_state", n=len(used)))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "coordinators-in-parallel", "SIGSTOP", "EndTxn", "frontiers", "SIGCONT"))

# %% [markdown] tags=["deeper"]
# ## Stage 1, reserve: how does the coordinator learn of a partition?

# %% [markdown]
# The figure is drawn from *One commit*; ▮ is a record that was written before the answer was sent.
# Articles count five steps, in brackets here: find the coordinator (1), get an id (2), begin (3), write
# (4), end (5). The first two come before the first stage, and the third is missing here; you will see
# why.
#
# Five actors take part: producer, transaction coordinator, partition leaders, consumer and, for consumed
# offsets, the group coordinator (lab 08). The map below the figure shows where everything is stored. The
# controllers decide no transaction; they may be three or five separate nodes, or share the brokers'.
#
# The coordinator records which partitions a transaction writes to, since each of them will need a marker.
# Two questions: what comes right before this record, and what happens without it?

# %% jupyter={"source_hidden": true}
UNASKED = """
system asking transaction_version=0 partitions=1 producers=app,hand:raw admins=admin{off}
run hand: InitProducerId, Produce orders-0 a pid=0 epoch=0 seq=0 v=11
"""
hanging = scenario(
    UNASKED.format(off=" off=verification")
    + "run hand: EndTxn abort pid=0 epoch=0 v=4\n"
    + "run admin: find-hanging orders-0, describe app, abort-hanging orders-0@0, find-hanging orders-0"
)
display(data_flow(), broker_map("kafka"))

# %% jupyter={"source_hidden": true}
Predict("06-begin", trace=once, step=first(once, "init: ok"))

# %% jupyter={"source_hidden": true}
Predict("06-not-noted", trace=hanging, step=first(hanging, "Produce a"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = []
for name, options in KAFKAS.items():
    both = scenario(f"system charges partitions=2 {options}{ONE}\nrun app: begin, send charges-0 x, abort")
    asks = [f for f in both if f.text.en.startswith("AddPartitions")]
    adds = {f.node.split("-")[0] for f in asks if "verify" not in f.text.en}
    ends = [f.text.en[-1] for f in both if f.node == "coordinator" and f.text.en.startswith("ok epoch")]
    rows.append((name, *(node.replace("charges", "leader") for node in adds), " → ".join(["0", *ends])))
print(table("Kafka, client | who adds a partition | epoch of the producer", rows))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(say("not reserved:"), answers(scenario(UNASKED.format(off=""))).splitlines()[-1])
print(say("\nwithout verification:"))
print(answers(hanging))
print(answers(hanging, "admin"))

# %% [markdown]
# The first table compares clients. A *v2 client* is one that follows KIP-890 part 2, as Java 4.0 and
# franz-go 1.22 do; a *legacy client* does not, as librdkafka 2.16 and so confluent-kafka. A legacy client
# adds its partitions itself, before the first record, and the leader only *verifies* that. With a v2
# client on a cluster with `transaction.version` 2 (TV2) the leader adds its partition when the first
# record arrives. TV2 is a *feature* of the cluster (`kafka-features.sh upgrade`); a client detects it and
# switches to it between two of its transactions.
#
# Some diagrams send the records first and add the partition afterwards. Without verification that leaves
# a *hanging* transaction (悬挂事务): open in the partition, but unknown to the coordinator. So no timeout
# will ever end it, and read_committed consumers wait there for ever. It also stops *compaction* in that
# partition, the clean-up that keeps only the latest record of each key. `kafka-transactions.sh
# find-hanging` asks both sides and compares; `abort` has the missing marker written.

# %% [markdown] tags=["deeper"]
# ## Stage 2, write: what becomes of a record that is late?

# %% [markdown]
# Records go straight into the partitions, among all others. What if one of them comes too late? The
# client's first transaction has been aborted and its second one is open. Then a record of the first
# arrives, after a long time in flight. The cluster uses TV0. The requests are sent by hand, so that no
# client retries or corrects them.

# %% jupyter={"source_hidden": true}
ADD = "AddPartitionsToTxn charges-0 pid=0 epoch=0, "
LATE = """
# A record of the first transaction is late
system charges partitions=1 producers=app:order-service,hand:raw {kafka}
run hand: InitProducerId
run hand: {add}Produce charges-0 early pid=0 epoch=0 seq=0{p}, EndTxn abort pid=0 epoch=0{e}
run hand: {next}
run hand: Produce charges-0 late pid=0 epoch=0 seq=1{p}, EndTxn commit pid=0 epoch={after}{e}
"""
OLD = {"p": " v=11", "e": " v=4", "add": ADD, "next": ADD.strip(", "), "after": 0}
NEW = {"p": "", "e": "", "add": "", "next": "Produce charges-0 next pid=0 epoch=1 seq=0", "after": 1}
late = {
    name: scenario(LATE.format(kafka=kafka, **(NEW if "v2" in name else OLD)))
    for name, kafka in KAFKAS.items()
}
Predict("06-late-record", trace=late["TV0"], step=first(late["TV0"], "Produce late") - 1)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = []
for name, run in late.items():
    said = next(line for line in answers(run).splitlines() if " late " in line).split("  ")[-1]
    reads = list_reads(run).splitlines()[0].removeprefix("read_committed")
    rows.append((name, said.strip(), reads.strip()))
print(table("Kafka, client | the late record is answered | read committed in the end", rows))
print()
TWO_COPIES = """
system charges partitions=1{off}
run app: init, begin, send charges-0 580538, commit
lose app→charges-0 ⇒Produce
"""
for off in ("", " off=sequence_check"):
    twice = list_reads(scenario(TWO_COPIES.format(off=off))).splitlines()[0]
    print(say("answer lost, record sent again") + f"{off:<20}", twice)

# %% [markdown]
# An aborted record is committed: with TV0, and also on a TV2 cluster with a *legacy client*. Only TV2
# **and** a v2 client prevent it. There the epoch rises at every end, and the late record is recognised by
# its older epoch. Otherwise the epoch rises at an initialisation, and when the coordinator aborts for its
# producer.
#
# The last two lines show why a transaction needs *idempotence*. Inside a transaction a record may be sent
# twice, and would be committed twice (lab 05).
#
# Users have reported this in public, for example: `mqlab incidents one-partition-stands-still`.

# %% [markdown] tags=["deeper"]
# ## Stage 3, decide: what if the answer does not come?

# %% [markdown]
# The application calls commitTransaction(), and the answer does not come.

# %% jupyter={"source_hidden": true}
silent = scenario("""
# The answer to a commit is late
system charges partitions=1 max_block_ms=60000
hold app→coordinator ⇒EndTxn
run app: init, begin, send charges-0 580538, commit
fire app max.block
run app: begin, abort
release app→coordinator ⇒EndTxn
run app: commit
""")
Predict("06-commit-times-out", trace=silent, step=first(silent, "commit: unknown"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(say("the answer that is late:"), list_calls(silent), sep="\n")
print(say("readers, while the application gets “unknown”:"))
print(list_reads(silent, first(silent, "commit: unknown")))

# %% [markdown]
# **No answer is not a no.** The application got *unknown* while every reader already had the charge. Only
# a retry of the same call is safe.
#
# A timeout decides too. Whose clock is it, and when does it start?

# %% jupyter={"source_hidden": true}
clock = scenario("""
# An application that takes its time
system charges partitions=1
at 1000
run app: init, begin
at 51000
run app: send charges-0 580538
fire coordinator
run app: commit
""")
Predict("06-clock", trace=clock, step=first(clock, "timeout order-service") - 1)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(requests(once))
print()
print(find_timeout("system kafka\nat 1000\nrun app: init, begin\nat 51000\nrun app: send orders-0 a"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SLOW = """
system kafka partitions=1 groups=1 timeout_ms=1500 {kafka}
run app: init, begin, send orders-0 a, flush
fire coordinator
run app: {call}, abort
"""
rows = []
for call in ("send orders-0 b, flush", "send-offsets g orders-0@1", "commit", "abort"):
    runs = [scenario(SLOW.format(kafka=kafka, call=call)) for kafka in KAFKAS.values()]
    said = [list_calls(run).splitlines()[6 + (", " in call)] for run in runs]
    gets = (line.split("  ")[-1].strip().removeprefix("failed ") for line in said)
    rows.append((call.split()[0], *(get.replace("Exception", "") for get in gets)))
print(table("the slow producer calls | " + " | ".join(KAFKAS), rows))

# %% [markdown]
# The coordinator may abort 60 s after it recorded the first partition, at its next check (every 10 s, so
# here at 120 s). The answers to the slow producer show the three kinds of errors. After a *retriable*
# error the client retries by itself. After an *abortable* one, call abort and continue. After a *fatal*
# one, close this producer.
#
# For a v2 client a failed send is abortable, and abort even returns ok. But send-offsets gets
# ProducerFenced, which is fatal, although no other instance fenced it. (The legacy columns are
# librdkafka; in Java before 4.0 the send is abortable too.)

# %% [markdown] tags=["deeper"]
# ## Stage 4, publish: what if the coordinator dies between two markers?

# %% [markdown]
# The coordinator sends the markers. Here it is killed after the first of two, and another broker takes
# over.

# %% jupyter={"source_hidden": true}
failover = scenario("""
# The coordinator dies between two markers, and another broker takes over
system charges partitions=2 replicas=2
run app: init, begin, send charges-0 580538, flush, send charges-1 580539, commit
kill coordinator@1 when=WriteTxnMarkers#1 after=1
run controller: fence coordinator 1
""", recorded="coordinator-failover-prepared")
Predict("06-coordinator-dies", trace=failover, step=first(failover, "killed"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(find_lines(failover, "killed", "load", "commit marker", "CompleteC", width=11))

# %% [markdown]
# **Once PrepareCommit is written, the transaction commits**, whichever broker dies. The next coordinator
# finds the record and sends every marker again. From each Prepare state only one arrow leads out. (A
# client that still asks the old one gets NOT_COORDINATOR and looks up the new one; a late marker from the
# old one is refused.)
#
# Each new leader of a `__transaction_state` partition has a higher *coordinator epoch*, and its markers
# carry it. The next table is a constructed case: a marker was once written with a coordinator epoch that
# was too high. So the leader refuses the markers of a coordinator that looks too old, and that coordinator
# gives up. Which of the four remedies frees the readers, and which frees the id?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
STUCK = """
system asking partitions=2 producers=app:order-service,hand:raw admins=admin
run app: init
run hand: WriteTxnMarkers orders-0 abort pid=0 epoch=0 coordinator=5
run app: begin, send orders-0 a, send orders-1 b, commit
"""
ASK = "run admin: find-hanging orders-0, describe order-service\nrun hand: InitProducerId\n"
BY_HAND = "run hand: WriteTxnMarkers orders-0 commit pid=0 epoch=1 coordinator=5\n"
REMEDIES = {
    "nothing": "",
    "a marker by hand": BY_HAND,
    "one restart": "kill coordinator\nrestart coordinator\n",
    "three restarts": "kill coordinator\nrestart coordinator\n" * 3,
}
rows = []
for remedy, lines in REMEDIES.items():
    stuck = scenario(STUCK + lines + ASK)
    got = len(stuck.snapshot(-1).readers[0].got)
    found, state = (line.split("  ok ")[1] for line in answers(stuck, "admin").splitlines()[2:])
    asked = answers(stuck).splitlines()[-1].split()[1]
    rows.append((remedy, f"{got} of 2", state.split()[0], found, asked))
print(table("what is done | readers get | state | find-hanging | the next InitProducerId", rows))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "marker-fenced", "EndTxn commit epoch=0", "InitP", "{orders-0}"))

# %% [markdown]
# A real 4.3.1, treated in the same way, stays in PrepareCommit too. `find-hanging` finds nothing, because
# the coordinator does know the transaction. A marker by hand frees the readers, but the id stays stuck:
# its producer gets CONCURRENT_TRANSACTIONS for ever. (Kafka's own tool writes *abort* markers only, which
# would discard an acknowledged charge.) The remedy is **re-election**: the next leader has a higher
# coordinator epoch and sends all markers again, until they are accepted.

# %% [markdown] tags=["deeper"]
# ## Stage 5, make visible: what if a partition has no leader?

# %% [markdown]
# A marker below the high watermark makes a transaction readable, partition by partition; lab 07 is about
# that. And if the partition has no leader when the marker should be sent? No process dies here.
# `charges-0` is without a leader for a while, as in any outage, and the application's commit has just
# returned ok.

# %% jupyter={"source_hidden": true}
LEADERLESS = """
# A partition is without a leader at commit
system charges partitions=1 replicas=2 admins=admin {defect}
run app: init, begin, send charges-0 580538, flush
run controller: fence charges-0 2, fence charges-0 1
run app: commit
run controller: elect charges-0 1
run admin: describe order-service, find-hanging charges-0
"""
kept = scenario(LEADERLESS.format(defect=""))
lost = scenario(LEADERLESS.format(defect="skip_leaderless_marker=1"), recorded="leaderless-marker")
Predict("06-no-leader", trace=lost, step=first(lost, "commit: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for name, run in {say("as designed"): kept, say("as in 4.3.1"): lost}.items():
    print(f"{name}:", list_reads(run).splitlines()[0].removeprefix("read_committed").strip())
    print(answers(run, "admin").partition("\n")[2].partition("\n")[2])

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
words = ("SIGTERM", "EndTxn", "Transactions", "started", "frontiers", "ends")
print(read_recording("tv2", "leaderless-marker", *words))

# %% [markdown]
# The acknowledged charge will never be read: this hanging transaction was caused by brokers. The second table
# comes from a real 4.3.1, whose partition lost its only broker to an orderly stop (KAFKA-20734;
# apache/kafka PR 22680). `find-hanging` finds it; `abort` frees the readers, and discards the charge.

# %% [markdown] tags=["deeper"]
# ## Stage 6, forget: who waits for that, and what does a transaction cost?

# %% [markdown]
# Commit has returned, one marker is still in flight, and the same producer continues.

# %% jupyter={"source_hidden": true}
back_to_back = scenario("""
# Two transactions of one producer, back to back
system charges partitions=1
hold coordinator→charges-0 WriteTxnMarkers
run app: init, begin, send charges-0 580538, commit
run app: begin, send charges-0 580539
release coordinator→charges-0 WriteTxnMarkers
fire charges-0
run app: commit
""")
Predict("06-back-to-back", trace=back_to_back, step=first(back_to_back, "Produce 580539"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(say("back to back:"), find_lines(back_to_back, "CONCURRENT").strip("⋮\n"))
print()
print(costs([(1, 1), (1, 10), (4, 1), (4, 10)]))
print(
    say("\nthe log of the first example:"),
    " ".join(f"{r[0]}(ep{r[4]})" for r in records(fenced)),
)
print(latest(fenced))

# %% [markdown]
# When every partition has answered, CompleteCommit is written and the partitions are forgotten. Only this
# producer's next transaction waits for that. So a transaction costs one marker, and one offset, in each
# partition it wrote to, a few coordinator records, and a wait before the next one. Ten records in a
# partition cost no more of this than one does (first table). But a read_committed consumer waits for the
# commit, so its delay is about the time between two commits.
#
# `__transaction_state` is *compacted*: the latest record of a key counts, so the log can be read as a
# table with one line for each id (second table). A new coordinator needs no more than that.
#
# The next table has all eight states, with the number that the log stores: ● taken in this lab, ○
# allowed, · forbidden. States in brackets are never written: `PrepareEpochFence` begins a fence, `Dead`
# is an id unused for seven days (a partition forgets an idle producer id after one day). From `Ongoing`
# three arrows lead out, and one back to itself, for the next partition.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(transitions(unfenced, fenced, once, clock))

# %% [markdown]
# Your money depends on this log. It has three replicas, and a record counts as safe when at least two of
# them have it (`min.insync.replicas`). Its *unclean leader election* must stay off. With it, a copy that
# has fallen behind may become the leader, and such a copy lacks decisions.

# %% [markdown] tags=["deeper"]
# ## Find the crash

# %% [markdown]
# *A commit is decided, but its client cannot tell.* Try it by hand first: the application has called
# commit and its request is in flight. Deliver messages, kill the coordinator during a step, restart it.
# Goal: the application gets *unknown*, and the reader has the charge.
#
# Then write that crash as one line and assign it to `kill`: `kill coordinator when=Kind#n after=K` kills
# the coordinator in the step that sends the n-th message of that kind (`⇒` marks an answer, a record has
# the name of its state), after K effects of that step. Your solution has the form `kill = "kill
# coordinator when=WriteTxnMarkers#1 after=0"`.

# %%
play = continue_scenario("""
system charges partitions=1 retries=1
hold app→coordinator EndTxn#1
run app: init, begin, send charges-0 580538, commit
""")
Playground(play)

# %% nbgrader={"solution": true, "grade_id": "kill"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill coordinator when=… after=…"
### BEGIN SOLUTION
# PrepareCommit is safe, and the coordinator dies in the step that would have answered.
kill = "kill coordinator when=⇒EndTxn#1 after=0"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kill-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("unanswered", kill)
### END HIDDEN TESTS
check(UNANSWERED, kill)

# %% [markdown] tags=["deeper"]
# ## Which safeguard is necessary?

# %% [markdown]
# Choose which process is killed and where, which safeguard is switched off, and which Kafka and client;
# the picture follows. After which crashes does the reader have both charges, after which none, and after
# which one four? (`vary` accepts any ipywidgets control, so your own experiment takes one function and
# one line.)

# %%
STORY = """
# Two charges in one transaction, with what was chosen
system charges partitions=2 {kafka}
off {off}
{kill}
run app: init, begin, send charges-0 580538, send charges-1 580539, commit
{back}
"""


def play(kill, off, kafka):
    back = f"restart {kill.split()[1]}" if kill else ""
    return Player(scenario(STORY.format(kafka=kafka, off=off, kill=kill, back=back)))


nothing = STORY.format(kafka="", off="", kill="", back="")
vary(
    play,
    kill=list_kills(nothing, "coordinator", "app"),
    off=list_safeguards("charges", "epoch_fencing", "prepare_before_markers"),
    kafka=[(name, options) for name, options in reversed(KAFKAS.items())],
)

# %% [markdown]
# Before you run the next cell, predict for each of three safeguards what will break without it. They are
# epoch fencing, PrepareCommit before the markers, and the transaction timeout. The explorer tries every
# schedule. With a safeguard off it finds the shortest example that does harm; with it on, it finds
# nothing.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = []
for name in ("epoch_fencing", "prepare_before_markers", "transaction_timeout"):
    case = SAFEGUARD_CASES[name]
    kept = with_everything_on(case)
    finds = ", ".join(kept.counterexamples) or "nothing"
    rows.append((name, case.anomaly, len(search(case).schedule), finds, kept.complete))
print(table("switched off | anomaly | choices | switched on | all schedules", rows))

# %% [markdown]
# Does a commit without an answer always end well? The search finds one example of each outcome.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
small = system("kafka partitions=1 retries=1 'app=init; begin; send orders-0 a; commit'")
fault = Budget(kills=1, killable=("coordinator",), timers=1)
for outcome in ("COMMIT", "ABORT"):
    claim = never_unknown(small, outcome)
    shortest = explore(small, fault, (claim,)).counterexamples[claim.name]
    count = len(shortest.schedule)
    print(say("reported unknown, ends as {outcome}, in {n} choices:", outcome=outcome, n=count))
    print(find_lines(shortest.trace(), "Prepare", "killed", "recovered", "commit: ", width=11))

# %% [markdown]
# On the command line, for all ten safeguards: `mqlab explore kafka --safeguards`.

# %% [markdown] tags=["deeper"]
# ## Write the fencing rule

# %% [markdown]
# A request about a transaction has arrived. `known` is the (producer id, epoch) that the coordinator
# stores for its transactional id, or `None` if it has no such id; `state` is the state of the
# transaction; `busy` is true while a record is being written or markers are pending; `caller` is the
# (producer id, epoch) in the request. Return `"ok"`, `"PRODUCER_FENCED"` (fatal),
# `"CONCURRENT_TRANSACTIONS"` (retriable) or `"INVALID_PRODUCER_ID_MAPPING"` (fatal).
#
# Your rule is put into a coordinator and tried with a producer alone, with a second instance, and with
# requests sent by hand, in all schedules. Two hints are available: `print(ADMIT.hint(1))`,
# `print(ADMIT.hint(2))`. If it is not right yet, the message names the belief behind it, and the example
# that refutes it opens at the step that shows why.


# %% nbgrader={"solution": true, "grade_id": "admit"}
def admit(known: tuple[int, int] | None, state: str, busy: bool, caller: tuple[int, int]) -> str:
    """May the sender of this request continue the transaction?"""
    ### BEGIN SOLUTION
    if known is None or known[0] != caller[0]:
        return "INVALID_PRODUCER_ID_MAPPING"
    # Not just "older": the coordinator assigns epochs, so a larger one belongs to no producer.
    if known[1] != caller[1]:
        return "PRODUCER_FENCED"
    # The right producer at the wrong moment: that will pass, so the error must not be fatal.
    return "CONCURRENT_TRANSACTIONS" if busy else "ok"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "admit-test", "points": 5}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("admit", admit)
### END HIDDEN TESTS
check(ADMIT, admit)

# %% [markdown] tags=["deeper"]
# ## What does a released client do?

# %% [markdown]
# Two unmodified confluent-kafka producers have the same `transactional.id`. The first one has sent
# payment 580538 and is slow; the second one starts, and sends 580539. *Before you run it: which of the
# four calls fails, and which payments does each kind of reader get?*

# %% tags=["nbval-check-output"]
from mqlab.lessons.kafka.lab06 import fence_a_zombie, hold_a_payment

print(fence_a_zombie())

# %% [markdown]
# Now the broker waits for you. Another unmodified producer pays once, in a transaction, and the broker
# holds each of its requests: a dashed message in the picture, with buttons below. Deliver it, drop it, or
# kill the broker before or after it. *Before you kill it after* `EndTxn`*: what will the program get, and
# will a reader get the payment?* The last cell delivers what is still held. If you keep a transaction
# open for more than a minute, the coordinator aborts it, as it would for any slow client.

# %%
held = hold_a_payment()
held

# %%
print(held.finish())

# %% [markdown] tags=["deeper"]
# ## Who decides elsewhere?

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar |
# |---|---|---|---|
# | who decides | the coordinator, by a record | your database, asked by the broker | the coordinator, by a record |
# | what names you | `transactional.id` | the producer group | nothing: each transaction has its own TxnID |
# | the old instance | fenced by its epoch: no send, no commit | not fenced: any instance may answer | its sends can be fenced, per topic, if the producer sets ExclusiveWithFencing; a commit of its TxnID cannot |
# | silence means | abort, after 60 s | “what happened?”, up to 15 times | abort, after its timeout |
#
# Kafka never calls your program back to ask for the outcome. It returns an error, and the kind of error
# determines what you can still do.

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | any random transactional.id will do | it names the application; random ids never fence each other | which broker |
# | transactional.id % 50, ask the controller | abs(hash) mod 50, any broker answers | which broker |
# | begin opens something at the broker | begin is local | stage 1 |
# | records first, then add the partition | without verification that makes a hanging transaction | stage 1 |
# | epochs rise at initialisation only | also when the coordinator aborts; with TV2 and a v2 client at every end | stages 1, 2 |
# | a late message cannot join the next transaction | this is true only with TV2 and a v2 client | stage 2 |
# | the producer writes its commit to the log | it sends EndTxn; the coordinator appends | one commit |
# | the coordinator collects votes | partitions never vote | one commit |
# | a commit that timed out failed | the outcome is unknown | stage 3, find the crash |
# | the timeout is 15 minutes, from begin | 60 s, from the first partition | stage 3 |
# | after PrepareCommit nothing can go wrong | it is designed so, but 4.3.1 drops markers in an outage | stages 4, 5 |
# | nothing waits for CompleteCommit | this producer's next transaction does | stage 6 |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A ticket shop runs two pods with the transactional ids `shop-0` and `shop-1`. Pod 0 hangs; the
# platform starts a new pod 0 with the same id. The hanging pod wakes up with an open transaction
# and calls commit.

# %% jupyter={"source_hidden": true}
Predict("06-exit-ticket")
