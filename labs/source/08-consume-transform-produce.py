# %% [markdown]
# # Lab 08 · How do offsets join the transaction?
#
# *90 minutes, or a quick route of 15* · Kafka 4.3, Java client 4.x
#
# **In one paragraph.** The gift shop's accounting worker reads orders, computes their income and writes it to
# a topic. The position up to which it has read is a record too. In this lab a worker dies between the two
# records, you look for the fewest steps to a crash that costs money, and you arrange the loop so that no
# crash can hurt it. The loop is called *consume–transform–produce* (消费–转换–生产).
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden* under
# a heading to open one. If a part needs what is above it, first choose *Run All Above Selected Cell* in the
# menu *Run*.
#
# **You need** lab 07. A *position* (偏移量, offset) is the next offset to read. A *consumer group* (消费者组) is a
# set of workers that share the partitions of a topic. Its *group coordinator* (组协调者) is the broker that keeps
# the group's members and its committed positions. `orders-0@1` is position 1 in partition `orders-0`;
# `orders-0@-1` means that there is none yet.

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Budget,
    Play,
    Player,
    Playground,
    Predict,
    check,
    explore,
    in_words,
    say,
    scenario,
    search,
)
from mqlab.lessons.kafka.lab08 import (
    KILL,
    LOOP,
    ORDER,
    SAFEGUARD_CASES,
    Abortable,
    App,
    actors,
    build_worker,
    count_orders,
    find_red_step,
    first,
    list_calls,
    offsets,
    read_recording,
    side_effects,
    table,
)

# %% [markdown]
# ## Order 580538 was paid once. How often is it booked?
#
# The order service of the shop has taken order 580538, for £316.78. In `orders-0` it is `580538:31678`, its
# number and its pence. A worker of the group `accounting` reads it, writes the income `580538+31678` to
# `income-0` in a transaction, commits, and then commits its position to the group. The invariant *money* is:
# money in = money out. *Money* compares the booked income (the bar) with the orders that count as read (the
# mark). The worker dies before the last step. When its *session* with the group has run out, the platform
# starts the worker again.
#
# The course divides each transaction into six stages: **reserve → write → decide → publish the decision →
# make visible → forget**.

# %% [markdown]
# ## Predict
#
# The worker has just been killed. Choose an answer, lock it, then let the execution continue.

# %% jupyter={"source_hidden": true}
apart = scenario("""
# Output and position are committed apart
system income
kill worker when=OffsetCommit#1 after=0
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, commit, commit-offsets accounting
fire __consumer_offsets-0 session/accounting/worker-1
restart worker
""")
dead = first(apart, "killed")
Predict("08-apart", trace=apart, step=dead, level="protocol")

# %% [markdown]
# Every transaction was whole, every call returned ok, and £316.78 have become £633.56. If amounts are added
# up, each must be counted once (a bank's loans come at the end). The same holds for numbers that people
# *watch*: if a meter reports one number per minute, a single duplicate shows as a jump. Committing the
# position *first* is no better, because then a crash in between loses the order. The shop needs *both or
# neither*.

# %% [markdown]
# ## Run
#
# `sendOffsetsToTransaction(positions, groupMetadata)`: the **producer** sends the position to the group
# coordinator, as part of its transaction. Here is the same worker, killed just before its commit. Step with
# the arrow keys; watch `__consumer_offsets-0`, its LSO, and who aborts.

# %%
together = scenario("""
# Output and position in one transaction
system income
kill worker when=EndTxn#1 after=0
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
fire __consumer_offsets-0 session/accounting/worker-1
restart worker
fire worker retry
run worker: poll
""")
Player(together, step=first(together, "killed"))

# %% [markdown]
# `__consumer_offsets` is a log like any other. The position is in it as a *transactional* record (`orders-0@1
# @2`: continue at offset 1; the record itself is at 2), and gets a marker like any other. The first time that
# is an abort marker, because the restarted worker's `init` aborts the open transaction. So the position does
# not count, the order is read again, and counts once.

# %% [markdown]
# ## Put it into order
#
# Seven of these nine pieces make up the loop: a round, and the steps after a round that failed. Your sequence
# is built into a worker, and all of its schedules are searched: without a fault, with a price service that
# fails once, with a crash anywhere, with a connection that breaks anywhere. *More than one sequence is
# right.* Run the cell, then move the pieces: each move is written between the brackets of its call.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = ORDER.arrange([
    ### BEGIN SOLUTION
    # As in Kafka's own examples. Inside the transaction, position or output first makes no difference.
    "poll", "begin", "send", "offsets", "commit", "abort", "seek"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 4}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("loop_order", order)
### END HIDDEN TESTS
check(ORDER, order)

# %% [markdown]
# ## What you know now
#
# Position and output are one decision, because the position is a record like any other. The abort takes both
# back, and leaves the consumer where it is. The group refuses every member that it has replaced. Outside the
# cluster everything may happen twice.
#
# The quick route ends here. 6 of the 10 points are in the parts below. The next lab follows the same order
# into Pulsar, where readers wait at another place: [lab 09](09-coordinator-and-buffer.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("08")

# %% [markdown] tags=["deeper"]
# ## Who takes part, and in which stage?

# %% [markdown]
# The table lists each kind of request of the second worker once, in the sequence in which they first appear.
# Does the *consumer* take part in the transaction?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(actors(together))

# %% [markdown]
# Five actors take part: producer, consumer, transaction coordinator, group coordinator, and the brokers that
# lead partitions. The consumer only reads. To the transaction coordinator `__consumer_offsets-0` is one more
# partition that needs a marker.
#
# | stage | the income | the position |
# |---|---|---|
# | reserve | the leader of `income-0` registers it: `Ongoing {income-0}` | the group coordinator too: `Ongoing {__consumer_offsets-0, income-0}` |
# | write | Produce to `income-0` | TxnOffsetCommit to `__consumer_offsets-0` |
# | decide | PrepareCommit, once for both | |
# | publish the decision | a marker in `income-0` | a marker in `__consumer_offsets-0` |
# | make visible | the LSO passes, readers get it | pending becomes committed |
# | forget | CompleteCommit | a later position of the group replaces it |
#
# InitProducerId and JoinGroup come before the first stage and belong to none; begin is local.
#
# The first cell below lists the first worker's calls and the amounts that were counted; the second shows the
# second worker's log of positions.

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(list_calls(apart), "\n")
print(count_orders(apart))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(offsets(together), "\n")
print(count_orders(together))

# %% [markdown] tags=["deeper"]
# ## Where is a position that is not decided yet?

# %% [markdown]
# The worker has sent its position, and has not committed. Another process asks for the group's position, as a
# worker that replaces it does.

# %% jupyter={"source_hidden": true}
pending = scenario("""
# A position that is pending
system income readers=reader
run worker: init, begin, send income-0 580538+31678, send-offsets accounting orders-0@1
run reader: committed accounting orders-0
fire reader retry
run worker: commit
fire reader retry
run worker: begin, send-offsets accounting orders-0@9, abort
run reader: committed accounting orders-0
""")
Predict("08-pending", trace=pending, step=first(pending, "OffsetFetch"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(offsets(pending), "\n")
print(list_calls(pending, "reader"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "offsets-in-transaction", "OffsetFetch", "TxnOffsetCommit", "EndTxn"))

# %% [markdown]
# While the position is pending, the answer is UNSTABLE_OFFSET_COMMIT. After the commit it counts. After the
# abort it is dropped, and the older position remains. The table shows a real Kafka 4.3.1 with the same
# requests. Without “require stable”, which old clients do not set, it returns the older position, and the
# order may be counted twice (KIP-447).
#
# The application notices little: its `poll()` just returns nothing. But `committed()`, which requests the
# position itself, throws a TimeoutException after `default.api.timeout.ms` (60 s). A transaction may stay
# open for longer: 60 s until its timeout, and up to 10 s more until the coordinator checks for it.
#
# A public report of it: `mqlab incidents new-id-at-every-start`.
#
# A group need not commit in transactions only. While one position is pending, a member may commit another
# *without* a transaction. Which one wins?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
later = scenario("""
# A plain commit, written after the pending one
system income readers=reader
run worker: init, begin, send-offsets accounting orders-0@7
run reader: commit-offsets accounting orders-0@3
run worker: commit
run reader: committed accounting orders-0
""", recorded="group-plain-commit-wins")
print(offsets(later))

# %% [markdown]
# 3 wins over 7. What counts is which record is later *in the log*, not which was decided later, and not which
# number is larger. So a group should commit its positions in one way only. Beware of `enable.auto.commit`,
# which is on by default: it commits positions outside of any transaction, in the background.

# %% [markdown] tags=["deeper"]
# ## What does an abort take back?

# %% [markdown]
# The worker has read the order (position 1), has sent income and position, and aborts. It does not restart.
# It polls.

# %% jupyter={"source_hidden": true}
aborted = scenario("""
# After an abort
system income
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678
run worker: send-offsets accounting orders-0@1, abort, position orders-0, poll
run worker: committed accounting orders-0, seek orders-0@0, poll
""")
gone = first(aborted, "abort: ok")
Predict("08-after-abort", trace=aborted, step=gone)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(aborted))

# %% [markdown]
# The poll gives nothing! The order is neither counted nor read again. The next transaction would commit a
# position after it, and the order would be lost for good. Before 4.0 Kafka's own design page said that the
# consumer's position reverts to its old value. Now it warns: the *stored* position reverts, but the consumer
# does not rewind by itself. The application has to `seek` to where the round began, and then the order comes
# again.

# %% [markdown] tags=["deeper"]
# ## Two workers do the same job: what tells them apart?

# %% [markdown]
# Worker `one` falls silent in the middle of its work. When its session ends, the group removes it, and `two`
# takes its place and counts the order. Then `one` wakes up and continues, although it was replaced: it is a
# *zombie* (僵尸实例). Here the two have *different* transactional ids, so no epoch tells them apart.

# %% jupyter={"source_hidden": true}
ZOMBIE = """
# One falls silent, two takes over
system income workers=one,two{off}
run one: init, subscribe accounting orders, poll, begin, send income-0 580538+31678
fire __consumer_offsets-0 session/accounting/one-1
run two: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
run one: send-offsets accounting orders-0@1, commit{end}
"""
fenced = scenario(ZOMBIE.format(off="", end=", abort"), recorded="group-old-generation")
Predict("08-two-of-a-kind", trace=fenced, step=first(fenced, "CompleteCommit"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(fenced, "one"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(say("with generation fencing:   "), count_orders(fenced).splitlines()[-2])
unfenced = scenario(ZOMBIE.format(off=" off=generation_fencing", end=""))
print(say("without generation fencing:"), count_orders(unfenced).splitlines()[-2])

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "group-generation-fencing", "TxnOffsetCommit", "JoinGroup", "EndTxn"))

# %% [markdown]
# A *generation* (代) counts how often the group's partitions have been reassigned. The *group metadata* in
# `sendOffsetsToTransaction(positions, consumer.groupMetadata())` carries it. A member that is unknown to the
# group gets UNKNOWN_MEMBER_ID; a member of an old generation gets ILLEGAL_GENERATION. The application gets
# one **CommitFailedException** for both, and it is *abortable*: abort, and poll again. The last table is a
# real broker's. Look at its last TxnOffsetCommit: a position *without* metadata is accepted. So never leave
# it out.

# %% [markdown] tags=["deeper"]
# ## Who has to wait for a worker that falls silent later?

# %% [markdown]
# This time `one` falls silent after it *has sent* its position. The group removes it and `two` gets the
# partition. When can `two` begin?

# %% jupyter={"source_hidden": true}
stalled = scenario("""
# A silent worker that has sent its position
system income workers=one,two
run one: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1
fire __consumer_offsets-0 session/accounting/one-1
run two: init, subscribe accounting orders, poll
fire two retry
fire coordinator timeout one
fire two retry
run two: begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
""")
Predict("08-takes-over", trace=stalled, step=first(stalled, "UNSTABLE"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(offsets(stalled), "\n")
print(count_orders(stalled))

# %% [markdown]
# The order is counted once, but late: `two` waited for the whole timeout of another worker's transaction. So
# a worker that consumes and produces sets a short `transaction.timeout.ms`. Kafka Streams sets 10 s; the
# producer's default is 60 s.

# %% [markdown] tags=["deeper"]
# ## Which number is committed?

# %% [markdown]
# Two workers read the orders at offsets 0 and 1, and commit different numbers. Then each is started again, at
# the group's position.

# %% tags=["nbval-check-output"]
NUMBER = """
system income orders=580538:31678,580539:31073
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send income-0 580539+31073
run worker: send-offsets accounting orders-0@{offset}, commit, unsubscribe
run worker: subscribe accounting orders, poll
"""
for name, number in (("the last one processed", 1), ("the next one to read", 2)):
    run = scenario(NUMBER.format(offset=number))
    print(f"{name}, {number}:", say("starting over it reads"), list_calls(run).split("ok ")[-1])

# %% [markdown]
# The committed position is **at least last + 1**: the next offset to read. It may be more, because markers
# take offsets too (lab 07). A process that books the `income` reads one record, with a marker after it. Which
# lag does a monitoring tool show if it subtracts the committed position from the end?

# %% tags=["nbval-check-output"]
LAG = """
system income readers=booking
run worker: init, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
run booking: poll income-0, commit-offsets booking income-0@{offset}, end-offset income-0, position income-0
"""
rows = []
for name, number in (("last + 1", 1), ("position()", 2)):
    answers = list_calls(scenario(LAG.format(offset=number)), "booking").splitlines()
    end = int(answers[4].split()[-1])
    rows.append((name, number, end, end - number))
print(table("commits | committed | end offset | lag, for ever", rows))

# %% [markdown]
# A process that commits last + 1 keeps a lag of 1 for ever, though everything is read. The best number is the
# consumer's own: `position()`, or `nextOffsets()` of the records that a poll returned (Java 4.0 and later).
# `sendOffsetsToTransaction` names the latter in its documentation.

# %% [markdown] tags=["deeper"]
# ## What is the shortest way to count an order twice?

# %% [markdown]
# Here are three workers, written as functions. `app` is a consumer and a producer in one; each call that
# fails raises an exception. Begin with the one you know: it has sent the order's income and requests the
# commit. Kill it yourself, in the picture or with the buttons: *after how few choices is the order counted
# twice?* (A restarted worker starts its function again; *let it run* does the steps that need no decision.)

# %%
def position_last(app: App):
    while orders := app.poll():
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.commit()
        app.commit_offsets(orders[-1].offset + 1)


def position_first(app: App):
    while orders := app.poll():
        app.commit_offsets(orders[-1].offset + 1)
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.commit()


def in_one_transaction(app: App):
    while orders := app.poll():
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.send_offsets(orders[-1].offset + 1)
        app.commit()


play = Play(build_worker(position_last))
play.go_on(held=["worker>income-0"])  # everything happens, but the income stays in flight
play.do("worker>income-0")
play.go_on(held=["worker>coordinator"])  # and now the request to commit
Playground(
    Play(play.system, play.choices),
    goal="counted once",
    panels=["space-time", "logs", "readers", "lights", "graphs", "tables"],
)

# %% [markdown]
# Now the explorer crashes the worker once at any moment, also in the middle of a step, in every sequence of
# events:

# %% tags=["nbval-check-output"]
shortest = {}
for work in (position_last, position_first, in_one_transaction):
    verdict = explore(build_worker(work), KILL)
    assert verdict.complete
    broken = [
        say("{name}, in {n} choices", name=in_words(name), n=len(example.schedule))
        for name, example in verdict.counterexamples.items()
    ]
    shortest |= {(work, n): c for n, c in verdict.counterexamples.items()}
    print(f"{work.__name__:<20}" + say("broken:"), "; ".join(broken) or say("nothing"))

# %%
example = shortest[position_last, "counted once"].trace()
title = say("The shortest way to count twice")
Player(example, step=first(example, "killed"), title=title)

# %% [markdown]
# Position last is *at least once*. Position first is *at most once*, and its promise *what counts as read was
# counted* does not even hold without a fault. In one transaction neither can happen.

# %% [markdown] tags=["deeper"]
# ## Which safeguard is necessary?

# %% [markdown]
# Guess first what breaks. Here is your worker in one transaction, with each of two safeguards removed.

# %% tags=["nbval-check-output"]
found = {}
rows = []
for name in ("offsets_in_transaction", "generation_fencing"):
    case = SAFEGUARD_CASES[name]
    found[name] = search(case)
    rows.append((name, case.anomaly, case.broken, len(found[name].schedule)))
print(table("without | anomaly | broken promise | choices", rows))
verdict = explore(build_worker(in_one_transaction, off="offsets_in_transaction"), KILL)
for name, example in verdict.counterexamples.items():
    count = say("{n} choices", n=len(example.schedule))
    print(say("in_one_transaction without the first:"), f"{in_words(name)},", count)

# %% [markdown]
# The first row: if a position counts as soon as it is written, a crash leads to an abort that drops the
# income and keeps the position, and the order is lost. The second row: the member that was removed commits as
# well as its successor, as here:

# %%
zombie = found["generation_fencing"].trace()
Player(zombie, title=say("Without generation fencing"))

# %% [markdown] tags=["deeper"]
# ## Write the loop

# %% [markdown]
# A worker that puts position and output in one transaction is still not good enough: when `app.income` raises
# (the price service does not answer), its process dies. Write a loop that counts every order exactly once
# *and goes on*.
#
# | call | what it does |
# |---|---|
# | `app.poll()` | a list of orders, each with `.offset` and `.value`; empty: nothing left, `return` |
# | `app.income(order)` | its income; raises `Abortable` when the price is not known |
# | `app.begin()`, `app.commit()`, `app.abort()` | the producer's transaction |
# | `app.send(value)` | into `income-0` |
# | `app.send_offsets(offset)` | the position, in the transaction, with the group's metadata |
# | `app.commit_offsets(offset)` | the position, by the consumer, apart from any transaction |
# | `app.seek(offset)` | the consumer continues there |
#
# A call that fails raises `Abortable` (abort, then go on) or `Refused` (only a new process helps: do not
# catch it). `init` and the request for the group's position are done before your function begins.
#
# The check uses a price service that fails. It crashes the loop after each of its calls, or stops it there
# for longer than its session while another worker takes its place. Then it tries every schedule of one order,
# with a crash anywhere and with a broken connection anywhere. Two hints are available: `print(LOOP.hint(1))`,
# `print(LOOP.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "loop"}
def work(app: App):
    """Read orders, write income, count each order exactly once."""
    ### BEGIN SOLUTION
    while orders := app.poll():
        try:
            app.begin()
            for order in orders:
                app.send(app.income(order))
            app.send_offsets(orders[-1].offset + 1)
            app.commit()
        except Abortable:
            app.abort()
            # The abort has taken back what was written, not this consumer's position.
            app.seek(orders[0].offset)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "loop-test", "points": 6}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("loop", work)
### END HIDDEN TESTS
check(LOOP, work)

# %% [markdown] tags=["deeper"]
# ## What does a released client do?

# %% [markdown]
# The loop is now a separate program, with confluent-kafka's unmodified consumer and producer. It reads four
# orders and writes an invoice for each, together with its position, in one transaction per order. In the
# third transaction, when all is sent and nothing is committed, the program is killed with `kill -9` and
# started again. *Before you run it: at which offset does the restarted program begin, and how many invoices
# for 580540 does each kind of reader get?*

# %% tags=["nbval-check-output"]
from mqlab.lessons.kafka.lab08 import kill_the_loop

print(kill_the_loop())

# %% [markdown]
# The position was in the transaction that was aborted, so the restarted program begins before 580540. The
# first invoice for it is still in the log, followed by an abort marker: only a read_committed consumer leaves
# it out. No timeout was needed, because the restarted program uses the same `transactional.id`.

# %% [markdown] tags=["deeper"]
# ## Where does the promise end?

# %% [markdown]
# Suppose `income` also sent an e-mail to the customer, or added the £316.78 to a row of a database. This is
# the best loop possible, killed after each of its calls. How many e-mails, how many orders?

# %% tags=["nbval-check-output"]
print(side_effects(in_one_transaction))

# %% [markdown]
# *Exactly once* (精确一次) is about the orders that **count in Kafka**, not about the number of times that your
# function runs. Where the table says 2 and 1, the customer has two e-mails and the books have one order. No
# broker can take an e-mail back. For a database, write the row and the position in *its* transaction, or make
# the write idempotent (lab 11).
#
# The words are used for two promises. One is a *messaging service*'s: a message that the producer sends is
# stored once. The other is about *read, compute, save*: the result and the position in the input are saved
# together. (The loop below calls `flush` before it commits a position. Here a send that fails raises an
# exception. In Java `flush` returns normally even when sends have failed. Check the futures that `send`
# returned, or the position is committed although the income is lost.)

# %% tags=["nbval-check-output"]
def messaging(app: App):
    while orders := app.poll():
        for order in orders:
            app.send(app.income(order))
        app.flush()
        app.commit_offsets(orders[-1].offset + 1)


rows = []
for fault, budget in (("an answer is lost", Budget(breaks=1)), ("the worker dies", KILL)):
    verdicts = (
        explore(build_worker(messaging, transactional=False), budget),
        explore(build_worker(in_one_transaction), budget),
    )
    assert all(verdict.complete for verdict in verdicts)
    rows.append((fault, *("once" if v.ok else "twice, in some schedule" for v in verdicts)))
print(table("fault | idempotent producer, position apart | read, compute, save in one", rows))

# %% [markdown]
# ```text
#  messaging                      read – compute – save
#
#  producer ──▶ [ broker ]        [ orders ] ──▶ compute ──▶ [ income ]
#           stored once               └──── position ─────────┘
#                                          one decision
# ```
#
# The left one is lab 05: it ends where the message is stored. The right one begins where the message is read.

# %% [markdown] tags=["deeper"]
# ## What chains two stages?

# %% [markdown]
# Real programs are graphs of such loops. `first` turns orders into income, `second` turns income into entries
# of the `ledger`, in a group of its own. `first` is killed just before its commit.

# %% jupyter={"source_hidden": true}
stages = scenario("""
# Two stages, and a crash in the first
system income outputs=income,ledger workers=first,second
kill first when=EndTxn#1 after=0
run first: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
run second: init, subscribe booking income, poll
fire __consumer_offsets-0 session/accounting/first-1
restart first
fire first retry
run second: poll, begin, send ledger-0 580538=31678, send-offsets booking income-0@3, commit, poll
""")
Predict(
    "08-second-stage",
    trace=stages,
    step=first(stages, "killed"),
    panels=["space-time", "logs", "readers", "lights", "graphs", "tables"],
)

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(list_calls(stages, "second"))
for topic in ("income", "ledger"):
    print(count_orders(stages, topic))

# %% [markdown]
# Each stage has its own transaction, and *read_committed* chains the stages. So a graph of any size is
# exactly once, edge by edge, and each edge adds the time of a commit. `second` commits position 3 of
# `income-0` though it has read one record: the aborted record and its marker took 0 and 1. Kafka Streams with
# `processing.guarantee=exactly_once_v2` is such a graph.

# %% [markdown] tags=["deeper"]
# ## Which beliefs did this lab refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | exactly once covers my database, or my function runs once | an order counts once in Kafka; the function may run again | where it ends |
# | an abort rewinds the consumer | only the committed position; `seek` is your work | an abort |
# | the committed offset is the last one processed | at least last + 1, the next to read | which number |
# | a lag that does not reach 0 is work left undone | it may be a marker that is never counted as read | which number |
# | a worker that was removed delays no other | its pending position does, until its timeout | who waits |
# | the transaction is enough, the position may follow | apart, a crash in between counts twice | Predict, shortest way |
# | the consumer takes part in the transaction | the producer sends the position | Run |
# | a pending position is read as the old one | UNSTABLE_OFFSET_COMMIT: ask again | not decided yet |
# | the larger position wins | the one that is later in the log | not decided yet |
# | only epochs fence | the group's generation does too | two workers |

# %% [markdown] tags=["deeper"]
# ## Does the same loop grant loans?

# %% [markdown]
# A bank's desk reads loans from `loans-0` and grants each as a credit in `credits-0`. Ada has asked for £9000
# (`Ada:900000`, in pence). *Money* now means that the credits granted are those of the loans that count as
# read. The bank runs your first worker. It is killed just before it commits its position, and started again.

# %% jupyter={"source_hidden": true}
BANK = """
# {title}
system income topic=loans orders=Ada:900000 outputs=credits workers=desk
kill desk when={last_call}#1 after=0
run desk: init, subscribe lending loans, poll, begin, send credits-0 Ada=900000, {end}
fire __consumer_offsets-0 session/lending/desk-1
restart desk
"""
granted_twice = scenario(
    BANK.format(
        title=say("A bank that commits the credit and the position apart"),
        last_call="OffsetCommit",
        end="commit, commit-offsets lending",
    )
)
granted_once = scenario(
    BANK.format(
        title=say("A bank that commits the credit and the position together"),
        last_call="EndTxn",
        end="send-offsets lending loans-0@1, commit",
    )
    + "fire desk retry\nrun desk: poll\n"
)
Player(granted_twice, step=find_red_step(granted_twice, "money"))

# %% [markdown]
# The invariant is red: Ada has two credits of £9000, and asked for one. Now the worker sends its position in
# the transaction, and is killed just before the commit.

# %% tags=["nbval-check-output"]
for name, run in ((say("apart"), granted_twice), (say("in the transaction"), granted_once)):
    red = find_red_step(run, "money")
    money = say("red from step {red}:", red=red) if red else say("green throughout:")
    print(say("position {name}; money is", name=name), money)
    print(count_orders(run, "credits"), "\n")

# %% [markdown]
# The first credit was aborted together with its position, so the loan was read again and granted once.
# Nothing in the loop depends on what a record means: it grants credits just as it counts orders.
#
# On other brokers:
#
# | | Kafka | Pulsar (lab 10) | RocketMQ (lab 04) |
# |---|---|---|---|
# | what is “consumed” | one number per partition | an acknowledgement per message | one number per queue |
# | joins the transaction | as a record of `__consumer_offsets` | as a pending acknowledgement | not at all |
# | while undecided | UNSTABLE_OFFSET_COMMIT | the message is delivered to no other consumer | – |
# | after an abort | the consumer is past it: `seek` | is delivered again, if acknowledged one by one | – |
# | the loop is exactly once | yes | yes | no: make the output idempotent |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# The bank's desk sends its position in the transaction, as in the second example. For each loan its function
# also calls the SMS service (“your credit is granted”). One night the desk is killed between `send_offsets`
# and `commit`, and started again.

# %% jupyter={"source_hidden": true}
Predict("08-exit-ticket", trace=granted_once, step=first(granted_once, "killed"))
