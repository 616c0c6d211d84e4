# %% [markdown]
# # Lab 13 · Build a coordinator
#
# *460 minutes, or a quick route of 5* · Kafka 4.3, `transaction.version` 2
#
# **In one paragraph.** You write a *transaction coordinator* (事务协调者) that replaces Kafka's. The engine plays
# the leaders, the producers and their retries. After each change a check tries your file: it searches every
# execution within the bounds of each trial, and then plays long ones. Either no trial breaks it, or you get
# an example that does. The file grows in four parts; a fifth lets real clients commit through it.
#
# **The quick route** ends with *What you know now*. It leads to the first check of a file that is not written
# yet; Part 1 begins the writing. The parts below it are folded: click *cells hidden* under a heading to open
# one.
#
# **You need** lab 06 for the steps of a commit, and lab 07 for markers.

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, say
from mqlab.lessons.lab13 import (
    ACKS_PAGE,
    IT_DIES,
    IT_WORKS,
    LIGHTS,
    NOBODY_COMES_BACK,
    NOT_ALONE,
    PAGE,
    ROUND_PAGE,
    check_mine,
    play_mine,
    read_begin,
    read_right,
    serve,
)

# %% [markdown]
# ## What is missing in the first file?
#
# A terminal (`File → New → Terminal`) writes the file, once:
#
# ```
# mqlab build new
# ```
#
# It is beside this notebook as `coordinator.py`. It gives producers their ids, and does nothing else. The
# next cell checks it. Look at the last step of the example: *which process is waiting there, and for what?*

# %%
check_mine(1)

# %% [markdown]
# ## Predict

# %% jupyter={"source_hidden": true}
Predict("13-first")

# %% [markdown]
# ## Read: one page, and one role
#
# The page lists what comes in and what may go out. The class below it is all of `coordinator.py` that does
# something. `step` takes one event and returns two values: the new coordinator, and the effects in sequence.
# Nothing in it blocks. A request that must wait is kept in `pending`, and is answered in the step of another
# event.

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(PAGE)

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_begin())

# %% [markdown]
# ## What you know now
#
# A coordinator is a table, a log and a list of what is pending. It answers when a record is *safe*, not when
# it is written; and between the decision and the last marker nothing is left to decide, only work to do.
#
# The quick route ends here. The first file only gives producers their ids: in the parts below you write the
# rest. The next lab asks whether all of this is true of a real broker: [lab 14](14-the-real-thing.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("13")

# %% [markdown] tags=["deeper"]
# ## Part 1: it works

# %% [markdown]
# *60 to 90 minutes.* Producers commit and abort, one transaction after the other, over several partitions,
# and no process crashes. Write what is missing:
#
# 1. `AddPartitionsToTxn`: the state becomes Ongoing, with all partitions that were added so far.
# 2. `EndTxn`: PrepareCommit or PrepareAbort, which is the decision.
# 3. When the decision is safe: the answer, and a `WriteTxnMarkers` to each partition.
# 4. When each partition has answered: CompleteCommit or CompleteAbort, with no partitions.
#
# Until Part 3 an end may keep the producer's epoch. Save, and run the check again: `check_mine(1)` here,
# `mqlab build check` in a terminal, or in your own test:
#
# ```python
# from mqlab.lessons.builder.checking import check_file
#
# def test_my_coordinator():
#     card = check_file(Path("coordinator.py"), sitting=1)
#     assert card.ok, card
# ```
#
# Two hints are available: `print(IT_WORKS.hint(1))`, then `print(IT_WORKS.hint(2))`. When the check says
# *right*, paste the whole file between the quotes.

# %% [markdown]
# Drive it by hand: below, your file *is* the coordinator. Choose what happens next, kill it in the middle,
# undo. An exception shows your own line. `play_mine(1, system="kafka partitions=1 'app=init; begin; send
# orders-0 a; abort'")` plays another scenario; in a terminal it is `mqlab build play`. `mqlab build check
# --system LINE --kills 1` searches it.

# %%
play_mine(1)

# %% nbgrader={"solution": true, "grade_id": "coordinator-1"}
# All of coordinator.py, when Part 1 is right.
mine = ""
### BEGIN SOLUTION
mine = read_right(1)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-1-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("coordinator 1", mine)
### END HIDDEN TESTS
check(IT_WORKS, mine)

# %% [markdown] tags=["deeper"]
# ## Part 2: it crashes

# %% [markdown]
# *60 to 90 minutes.* The coordinator is killed anywhere: between two events, and inside a step between any
# two effects. Its memory is gone; the log is there.
#
# 1. `recover` reads the log: `entries_of(disk)`. What is still to be done in each state?
# 2. What is decided is decided. Each partition of a Prepare record must get its marker again; a partition that has it already accepts a second one.
# 3. A client whose answer was lost retries. The same `EndTxn` gets the same answer.
#
# `check_mine(2)` repeats the trials of Part 1, too. When it says *right*, paste the whole file below. The
# points of a part are for its own trials.

# %%
check_mine(2)

# %% nbgrader={"solution": true, "grade_id": "coordinator-2"}
# All of coordinator.py, when Part 2 is right.
survives = ""
### BEGIN SOLUTION
survives = read_right(2)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-2-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("coordinator 2", survives)
### END HIDDEN TESTS
check(IT_DIES, survives)

# %% [markdown] tags=["deeper"]
# ## Part 3: it is not alone

# %% [markdown]
# *60 to 90 minutes.* A second producer comes with the same transactional id, while the first one is still
# alive. Connections break, and messages arrive late.
#
# 1. `InitProducerId` gives the next epoch. What the older producer left open is aborted first, and the new one gets CONCURRENT_TRANSACTIONS until that is done.
# 2. An epoch other than the log's is refused: PRODUCER_FENCED.
# 3. Each end uses the next epoch, in its record, in its markers and in its answer. So a message of the ended transaction cannot be mistaken for one of the next. The leaders demand it from here on.
# 4. After `ConnectionLost` a marker may be lost, or its answer. Send again what is still pending there.
#
# Then your coordinator is not alone either. Its log has a copy on a second node, and a newer coordinator
# starts there while the older one still acts as leader. In this trial the leaders demand no new producer
# epoch, as before transaction.version 2, so two things are left to keep the older one out:
#
# 5. A record that only the older one has written is no decision: the newer one does not have it. `Appended` comes when both have it. *What must not happen before?*
# 6. A decision that both have is sent by both. The older one's marker may arrive last, when the producer's next
#    transaction is open. `recover` takes a fourth value, `epoch`, the *coordinator epoch*. Put it into each marker
#    as `coordinator_epoch`; a partition refuses a lower one than it has seen, with TRANSACTION_COORDINATOR_FENCED.
#    *Which of them gets that answer, and what should it do?*
#
# When no trial breaks your file, an unmodified confluent-kafka uses it for about twenty seconds, with two
# ids, while your coordinator is killed twice. Paste the whole file when `check_mine(3)` says *right*.

# %%
check_mine(3)

# %% nbgrader={"solution": true, "grade_id": "coordinator-3"}
# All of coordinator.py, when Part 3 is right.
fenced = ""
### BEGIN SOLUTION
fenced = read_right(3)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-3-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("coordinator 3", fenced)
### END HIDDEN TESTS
check(NOT_ALONE, fenced)

# %% [markdown] tags=["deeper"]
# ## Part 4: the producer does not come back

# %% [markdown]
# *60 to 90 minutes.* A producer opens a transaction and sends nothing more. Readers wait for its end.
#
# 1. A transaction that begins sets a timer: `SetTimer(TIMEOUT + txn_id, timeout_ms)`. Its end cancels it.
# 2. When it runs out, the transaction is aborted like that of an older producer, with the next epoch.
# 3. A timer is memory too: `recover` sets it again for what is Ongoing.
# 4. A timer may run out just when an end is being written. Then the end goes first.
#
# Paste the whole file when `check_mine(4)` says *right*.

# %% nbgrader={"solution": true, "grade_id": "coordinator-4"}
# All of coordinator.py, when Part 4 is right.
whole = ""
### BEGIN SOLUTION
whole = read_right(4)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-4-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("coordinator 4", whole)
### END HIDDEN TESTS
check(NOBODY_COMES_BACK, whole)

# %% [markdown] tags=["deeper"]
# ## Part 5: older clients

# %% [markdown]
# *30 minutes.* Until now each client used the current protocol. librdkafka 2.16, on which Python's
# confluent-kafka and many others are built, uses an older one: it sends an EndTxn whose answer holds no
# epoch. Two fields show this.
#
# 1. `EndTxn.v2` is False: this end keeps the epoch, and the client continues with the one it has. Markers without a new epoch need `transaction_version=0`, or the leader refuses them. `Entry.client_version` can store which kind it was, for a restart.
# 2. An older client adds its partitions itself. The leader only checks whether it has: `verify_only` is True, nothing
#    is added, and the answer for a partition that is missing is TRANSACTION_ABORTABLE.
# 3. An end that is requested a second time carries the epoch that the log has.

# %%
check_mine(5)

# %% [markdown] tags=["deeper"]
# ## Can real clients use it?

# %% [markdown]
# Your file is a role of the engine, and the engine can serve real clients. In a terminal:
#
# ```
# mqlab serve kafka --coordinator coordinator.py --data-dir coordinator-data
# ```
#
# Any Kafka client of this machine can now commit through your coordinator at 127.0.0.1:9092. The whole job of
# [lab 11](11-order-to-income.ipynb) can, too: `mqlab income --bootstrap-server 127.0.0.1:9092` must come to
# £57,751.32.
#
# The next cell does it with an unmodified confluent-kafka. It pays ten orders, leaves a transaction open, kills the
# server with `kill -9`, starts it again, and pays ten more. *Before you run it: which records does a reader with
# read_committed get, and who aborts the transaction that was open?*

# %%
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Producer, TopicPartition


def connect(broker):
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": "order-service"})
    producer.init_transactions(10)
    return producer


def pay(producer, orders):
    """One transaction per order: the payment, and its invoice."""
    for order in orders:
        producer.begin_transaction()
        producer.produce("payments", f"payment {order}")
        producer.produce("invoices", f"invoice {order}")
        producer.commit_transaction(10)


def count_committed(broker, topic):
    """How many records a reader with read_committed gets."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = 0
    while (message := consumer.poll(10)) is not None and message.error() is None:
        count += 1
    consumer.close()
    return count


card = check_mine(5, clients=False)
if card.ok:
    with TemporaryDirectory() as folder, serve(coordinator="coordinator.py", data_dir=folder) as broker:
        producer = connect(broker)
        pay(producer, range(10))
        producer.begin_transaction()
        producer.produce("payments", "this transaction is left open")
        producer.flush(10)
        broker.kill()
        broker.restart()
        pay(connect(broker), range(10, 20))
        counts = [count_committed(broker, topic) for topic in ("payments", "invoices")]
    print(say("states searched            "), f"{card.states:,}")
    print(say("kill -9 survived           "), 1)
    print(say("transactions committed     "), 20)
    print(say("records that readers get   "), say("{n} payments, {m} invoices", n=counts[0], m=counts[1]))
card

# %% [markdown] tags=["deeper"]
# ## Write the invariant that catches this

# %% [markdown]
# *45 minutes.* What checks the check? Six coordinators are broken, each in one place:
#
# 1. its markers are sent before the decision is in the log
# 2. it marks one partition of two and writes Complete
# 3. it writes Complete before the partitions have answered
# 4. it sends one partition a commit, and the other an abort
# 5. it commits a transaction that has timed out
# 6. an old producer continues beside its successor
#
# You write an *invariant*: one function, `light`, that is given one moment of an execution and returns True as
# long as all is well. It is called in every moment of every execution. It must stay True for a right
# coordinator, and become False for each of the six; for points it is also tried on two more.
#
# | argument | an example |
# |---|---|
# | `log` | `(("Empty", 0, ()), ("Ongoing", 0, ("orders-0",)), ("PrepareCommit", 1, ("orders-0",)))` |
# | `partitions` | `(("orders-0", (("a", 0), ("COMMIT", 1))), ("orders-1", ()))`: what each holds, with its epoch |
# | `calls` | `(("app", (("init", "ok"), ("begin", "ok"), ("commit", ""))),)`: `""` while a call waits |
#
# Two hints are available: `print(LIGHTS.hint(1))`, then `print(LIGHTS.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "lights"}
def light(log, partitions, calls):
    """Whether all is well in this moment."""
    ### BEGIN SOLUTION
    decided = {(epoch, state[len("Prepare") :].upper()) for state, epoch, _ in log if "Prepare" in state}
    for _, held in partitions:
        marks = {(epoch, what) for what, epoch in held if what in ("COMMIT", "ABORT")}
        epochs = [epoch for _, epoch in held]
        if not marks <= decided or epochs != sorted(epochs):
            return False
        if held and log[-1][0].startswith("Complete") and held[-1][0] not in ("COMMIT", "ABORT"):
            return False
    asked = sum(call == "commit" for _, made in calls for call, _ in made)
    return sum(state == "PrepareCommit" for state, _, _ in log) <= asked
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lights-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("lights", light)
### END HIDDEN TESTS
check(LIGHTS, light)

# %% [markdown] tags=["deeper"]
# ## What is left out?

# %% [markdown]
# Kafka's own coordinator also allocates producer ids in blocks, handles exhausted epochs, takes consumers'
# positions into a transaction, removes unused ids, and waits while too few copies are in sync. Read on in
# `mqlab/kafka/coordinator`, which is about three times as long as yours.

# %% [markdown] tags=["deeper"]
# ## Build RocketMQ's check round

# %% [markdown]
# *60 minutes, after [lab 04](04-check-back.ipynb).* A coordinator has a table of open transactions.
# RocketMQ's broker has none: a *check round* (回查) compares the half topic with the op topic and finds the
# producers to ask. You write that round, one function in a separate file:
#
# ```
# mqlab build new --what check-round
# ```
#
# Until you have written it, the next cell checks the first version. Look at the last step of its example:
# *what has the broker stored about the half message at 0, and what should become of it?*

# %%
check_mine(1, "check_round.py")

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(ROUND_PAGE)

# %% [markdown]
# **Part 1, what must be asked.** No half message is young here.
#
# 1. A half message that an op record names is skipped. A producer is asked about each of the others.
# 2. What a round has passed is never read again. What has to be written before the question is sent?
# 3. After `check_max` questions the broker asks no more. Where does the half message go?
#
# **Part 2, what must wait.** The broker may be killed within a round.
#
# 1. At the first young half message that has not ended, the round ends. Where does the next one begin?
# 2. One op record names several half messages, and the round may end between them. When is the record no longer needed?
#
# `check_mine(2, "check_round.py")` checks both parts; in a terminal it is `mqlab build check check_round.py
# --part 2`.

# %% [markdown] tags=["deeper"]
# ## Build Pulsar's pending acks

# %% [markdown]
# *60 minutes, after [lab 10](10-acknowledgement.ipynb).* In Pulsar a transaction may acknowledge messages. Until it ends, the
# subscription keeps them as *pending acks* (待定确认). You write what becomes of them, in six short functions:
#
# ```
# mqlab build new --what pending-acks
# ```
#
# Look at the last step of the example below: *the transaction has ended; where is its message?*

# %%
check_mine(1, "pending_acks.py")

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(ACKS_PAGE)

# %% [markdown]
# **Part 1, which transaction may hold a message, and until when.**
#
# 1. Two transactions acknowledge one message: which of them gets it? And one that is acknowledged for good?
# 2. A request with two messages finds one of them taken. What about the other?
# 3. What does the cursor get from a commit, and what do consumers get from an abort?
#
# **Part 2, what a load finds.** The partition is killed, and `held` is gone.
#
# 1. A plain acknowledgement names a message that is pending. It needs no permission, it is applied.
# 2. The log has every request, refused ones too. How does `load` know which of them was granted?
# 3. The crash came between the record of a commit and the cursor's row. Which function acknowledges its messages?
#
# `check_mine(2, "pending_acks.py")` checks both parts.

# %% [markdown] tags=["deeper"]
# ## One last question

# %% jupyter={"source_hidden": true}
Predict("13-exit-ticket")
