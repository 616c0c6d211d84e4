# %% [markdown]
# # Lab 04 · What if the outcome never arrives?
#
# *90 minutes, or a quick route of 20* · RocketMQ 5.5, and 4.9 where it differs
#
# **In one paragraph.** An order service writes an order into its database and reports this to the broker
# in a message that is not acknowledged. In this lab that message is lost. You see what becomes of the
# order, what repairs it, and when nothing can. You write a test that finds the flaw in the official
# example, and a listener that leaves no order open.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 03, or these four terms. A *half message* (半消息) is a stored message that no consumer
# gets yet. A *listener* is two functions of the application: `executeLocalTransaction`, which writes the
# order's row, and `checkLocalTransaction`, which reports later what became of it. Both return
# COMMIT_MESSAGE, ROLLBACK_MESSAGE or UNKNOW (RocketMQ's own spelling). *EndTransaction* is the message
# that brings this result to the broker. It is *one-way*: its sender waits for no answer.

# %% [markdown]
# ## A paid order that accounting never gets
#
# The gift shop's order service takes a real order of 5 December 2011, number 580538, for £316.78. The
# customer has paid, and the row is in the database. The service's log says `SEND_OK COMMIT_MESSAGE`.
# Fifteen seconds later accounting's books still lack the £316.78. No process has failed, and no error was
# raised. Who will notice?
#
# Below, `app` is a process of the order service, `db` its database, and `accounting` the consumer.
# `EndTransaction` is lost on its way, and with it the connection.
#
# The course divides each transaction into six stages: **reserve → write → decide → publish the decision →
# make visible → forget**.

# %% jupyter={"source_hidden": true}
import ipywidgets
import plotly.graph_objects as go

from mqlab.lab import (
    Budget,
    Explorer,
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    explore,
    say,
    scenario,
    system,
)
from mqlab.lessons.rocketmq.lab04 import (
    COMMIT,
    ENDS,
    LISTENER,
    LOSSES,
    ROLLBACK,
    STORY,
    UNKNOWN,  # noqa: F401  a learner may return it
    come_back,
    compare_silence,
    count_ends,
    count_shares,
    describe_delayed,
    describe_limit,
    describe_taken_back,
    first,
    in_words,
    look_back,
    read_recording,
    tabulate_answerers,
    tabulate_claims,
    tabulate_deliveries,
    tabulate_duplicates,
    tabulate_first_questions,
    tabulate_registrations,
    tabulate_rollbacks,
    tabulate_safeguards,
    tabulate_shares,
    wait_for_checks,
)

# %% jupyter={"source_hidden": true}
end_lost = scenario("""
# The end of a transaction is lost on its way
system order_service consumers=accounting
lose app→broker EndTransaction#1
run app: send-in-transaction orders-0 580538
fire app heartbeat
at 30000
fire broker check
run accounting: consume
""", recorded="end-lost")

# %% [markdown]
# ## Predict
#
# The half message is stored and the row is written. The application's call has just returned `SEND_OK
# COMMIT_MESSAGE`, and `EndTransaction COMMIT` is lost. Choose an answer and lock it; then the scenario
# continues.

# %% jupyter={"source_hidden": true}
lost = first(end_lost, "connection broken")
Predict("04-end-lost", trace=end_lost, step=lost, panels=["space-time", "logs"], level="protocol")

# %% [markdown]
# ## Step through a check
#
# Step with the arrow keys. A clock in the picture is a timer that runs out. *Money* compares what
# customers have paid (the mark) with what accounting has counted (the bar). `COMMIT_MESSAGE` is the
# result of the *local* transaction; it does not mean that the broker has received it. Half a minute later
# the broker *asks* the process. The process looks the row up, and its answer does what the lost message
# should have done. This is called a *check*, or *check-back* (回查).

# %%
Player(end_lost, step=first(end_lost, "CheckTransactionState"))

# %% [markdown]
# | stage | here | written where |
# |---|---|---|
# | reserve | the half message | the broker's half topic |
# | write | the order's row | the service's database |
# | decide | the local transaction commits | the service's database: the same write |
# | publish the decision | `EndTransaction`, or the answer to a check | nowhere, it is one-way |
# | make visible | the message, written once more in `orders-0` | the broker's log |
# | forget | an *op record*, which marks this half message as ended | the broker's op topic, up to 3 s later |
#
# So check-back repeats the fourth stage, and only that. It needs a process that can still find out what
# was decided. The rest of this lab is about that process.

# %% [markdown]
# ## Test the official example
#
# RocketMQ's own example, `TransactionListenerImpl`, is copied into many order services. Here it is in
# Python, with a row for each order that it intends to commit. `memory` is a dictionary of the process.
#
# ```python
# def execute(order, db, memory):
#     number = memory.get("transactionIndex", 0)
#     memory["transactionIndex"] = number + 1
#     memory[order] = (UNKNOW, COMMIT_MESSAGE, ROLLBACK_MESSAGE)[number % 3]
#     if memory[order] == COMMIT_MESSAGE:
#         db.put(order)
#     return UNKNOW
#
# def check(order_id, db, memory):
#     return memory.get(order_id, COMMIT_MESSAGE)
# ```
#
# The first question is about a week in which everything works.

# %% jupyter={"source_hidden": true}
Predict("04-example")

# %% [markdown]
# Write a test that it does *not* pass. A test is a scenario. Its lines follow `system order_service
# early=on timeout_ms=0`, which gives you one process `app`, its database, and a broker that may ask at
# once. The lines below are the material, listed alphabetically. Use some of them, in any sequence, and as
# often as you like.
#
# | line | what happens |
# |---|---|
# | `fire app heartbeat` | after its connection has broken, the service reconnects and can be asked again |
# | `fire broker check` | the broker makes a round and asks |
# | `kill app`, `power-cut broker` | a process dies; the broker's machine loses power |
# | `lose app→broker EndTransaction#1` | the first message of that name will be lost |
# | `restart app`, `restart broker` | a dead process restarts |
# | `run app: send-in-transaction orders-0 580538` | the service takes an order |
#
# The test is run twice. With the example an invariant must be red at the end; with a right listener none
# may be. Two hints are available: `print(STORY.hint(1))`, then `print(STORY.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "story"}
# The lines of the test, one below the other. Add what is missing to the first.
story = """
run app: send-in-transaction orders-0 580538
"""
### BEGIN SOLUTION
# The process that is asked was restarted: its map is empty, and it guesses COMMIT.
story += """
kill app
restart app
fire broker check
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "story-test", "points": 4}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("story", story)
### END HIDDEN TESTS
check(STORY, story)

# %% [markdown]
# ## What you know now
#
# The decision is in your database, which the broker cannot read. So the broker asks. The answer is
# reliable only if it was looked up in a place that outlives the process.
#
# The quick route ends here. The parts below go deeper, and most of them can be done on their own; 6 of
# the 10 points are there. The next lab turns to a broker that decides by itself, and begins with its
# producer: [lab 05](05-idempotent-producer.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("04")

# %% [markdown] tags=["deeper"]
# ## When does the broker ask?

# %% [markdown]
# Two numbers decide. The broker makes a *round* every 30 s (`transactionCheckInterval`; 60 s in 4.9). In
# each round it asks about half messages that have not ended and are older than 6 s
# (`transactionTimeOut`). Until then a half message is *immune*, since its local transaction is probably
# still running.

# %% jupyter={"source_hidden": true}
Predict("04-first-check")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_first_questions())

# %% [markdown]
# Each line is an order whose end is lost. Sent at 23 s, the half message is 7 s old in the round at 30 s.
# Sent at 24 s it is exactly 6 s old in that round, which is not yet old enough. So with the defaults the
# first check comes 6 to 36 seconds after the order.
#
# A message can have its own immunity (`CHECK_IMMUNITY_TIME_IN_SECONDS`), as in the last line. Look at the
# last column there: the first check has the number 3. While its own immunity protects a half message,
# each round writes a copy of it to the end of the half topic. Each copy uses up one of its checks,
# although no process is asked.

# %% [markdown] tags=["deeper"]
# ## Which process does the broker ask?

# %% [markdown]
# Now `app` is killed after its row is written and before its end is sent. A second instance of the order
# service, called `twin`, is registered under the same *producer group* (生产者组).

# %% jupyter={"source_hidden": true}
sender_dies = scenario("""
# The sender dies, and another process of its group is there
system order_service producers=app:order-service,twin:order-service early=on \
    consumers=accounting
kill app when=EndTransaction#1
run app: send-in-transaction orders-0 580538
at 30000
fire broker check
run accounting: consume
""", recorded="sender-dies-another-answers")
Predict("04-who-is-asked", trace=sender_dies, step=first(sender_dies, "killed"))

# %% [markdown]
# The broker does not remember which process sent a half message. The message carries the name of its
# producer group, and the broker asks the processes registered under that name in turn. This is what the
# first lines of an order service are for:
#
# ```java
# producer = new TransactionMQProducer("order-service");  // the group: who may be asked
# producer.setExecutorService(pool);                      // the threads that answer checks
# producer.setTransactionListener(listener);              // what they answer
# producer.start();
# ```
#
# An article says that the check must therefore be *stateless*. This word is not quite right. The check
# must find out what was decided, so it must look in a place that every process of the group can read.
# Below are two listeners: one looks the row up, and one keeps a note in the memory of its process.
#
# Four things can happen to the sender. It lives, and only its end is lost. It dies, and the second
# instance lives. It dies and restarts. It dies, and only a process of another group lives. Guess first:
# in which of these cases is the message delivered, with each listener?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_answerers())

# %% [markdown]
# Memory is enough only while the sender itself stays alive. In the third line `app` is asked again, but its
# memory was lost when it was killed. In the last line a process is connected, but it is registered under the
# name of another group, so it is not asked.

# %% [markdown] tags=["deeper"]
# ## What may a check answer?

# %% [markdown]
# A row proves that the local transaction was committed. What does *no row* prove? Here `twin` is slow:
# its row is still in flight when the round comes (`hold` keeps a message back until `release`). `app` is
# asked, finds no row, and answers ROLLBACK_MESSAGE. Then twin's row is written after all, and twin sends
# its COMMIT.

# %% jupyter={"source_hidden": true}
hasty = """
# No row is taken for a rollback, and the row comes later
system order_service service=hasty producers=app:order-service,twin:order-service early=on \
    consumers=accounting
hold twin→db Statement#1
run twin: send-in-transaction orders-0 580538
at 30000
fire broker check
{then}
at 33000
fire broker op batch
at 60000
fire broker check
run accounting: consume
"""
row_comes = "release twin→db Statement#1"
rolled_back = scenario(hasty.format(then=row_comes))
Predict(
    "04-rollback-then-commit",
    trace=rolled_back,
    step=first(rolled_back, "ROLLBACK 580538 from check"),
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
lost_too = f"lose twin→broker EndTransaction#1\n{row_comes}"
ends = {say("its COMMIT arrives"): row_comes, say("it is lost"): lost_too}
for name, then in ends.items():
    print(f"{name:18}: {in_words(str(look_back(hasty.format(then=then))))}")

# %% [markdown]
# The broker keeps no table of transactions in which this one could be marked as rolled back. It carries
# out a COMMIT that names the half message, whatever was answered before. Here that even saved the order.
# In the second line twin's COMMIT was lost and the ROLLBACK remained. There is a row, and its message
# will never come.
#
# So the right answer to *no row* is UNKNOW, "ask me again". The listener in one article does this, and it
# is right: it answers COMMIT if the row is there, and otherwise UNKNOW, because the local transaction may
# still be running. ROLLBACK is right only if it is certain that this order will never have a row.

# %% [markdown] tags=["deeper"]
# ## How often does the broker ask?

# %% [markdown]
# Articles say "periodically" and mention no limit. Here every check of order 580538 is answered UNKNOW.

# %% jupyter={"source_hidden": true}
Predict("04-how-often")

# %%
asked_15 = scenario(f"""
# Every check is answered UNKNOW
system order_service early=on
run app: listener UNKNOW UNKNOW, send-in-transaction orders-0 580538
{wait_for_checks(16)}
""", recorded="never-resolved")
Player(asked_15, step=first(asked_15, "discard"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(describe_limit())

# %% [markdown]
# After fifteen checks (`transactionCheckMax`) the broker writes the half message to
# `TRANS_CHECK_MAX_TIME_TOPIC`. It is then *set aside*: the broker never asks about it again. That is not
# a rollback. A late COMMIT still delivers the message, and an operator can have it checked again
# (`resumeCheckHalfMessage`), as the last two lines show. But no program reads that topic by itself, so
# your team has to *watch* it.
#
# Look at the half topic in the picture: it contains the half message sixteen times. A log cannot be
# changed. So each check appends a copy of the half message, with the number of the check raised by one,
# and asks about that copy.
#
# Users have reported this in public, for example: `mqlab incidents parked-without-a-question`.

# %% [markdown] tags=["deeper"]
# ## What does a broker do on a rollback?

# %% [markdown]
# The local transaction refuses the order. The half message was never visible to a consumer.

# %% jupyter={"source_hidden": true}
Predict("04-rollback")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_rollbacks())

# %% [markdown]
# Nothing is deleted, but something is written: an op record that names the half message's place. Without
# it the next round cannot tell that the half message has ended, and asks about an order that was refused
# long ago, as in the last two lines. Their second half message is the copy that the check is about.
#
# One article describes an end in two steps: the half message is marked as processed, and then copied to
# the real topic. For a rollback, it says, the copying step has nothing to do. That is what RocketMQ does.
# The mark is a record too, so the broker writes one record for a rollback and two for a commit. (For a
# commit it takes the two steps the other way round: lab 03.)

# %% [markdown] tags=["deeper"]
# ## Which process can be asked after a restart?

# %% [markdown]
# `app` is killed after its row is written, and restarts at once. Since then it has not sent any message.
# This broker allows two checks.

# %% jupyter={"source_hidden": true}
nobody = come_back()
Predict("04-nobody", trace=nobody, step=first(nobody, "recovered"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_registrations())

# %% [markdown]
# A check that reaches no process still *counts*. If the whole service is away for seven and a half
# minutes, with the defaults its half messages are set aside without a single question.
#
# And *being there* means being registered. A 5.5 producer registers with its first message, or at its
# start if its constructor got a list of topics, as in the second line. A 4.9 producer registers at its
# start, if the broker creates topics by itself.
#
# An article says that the loss of an end never matters, thanks to check-back. This is true only while
# some process of the group is registered and can still find out what was decided.

# %% [markdown] tags=["deeper"]
# ## What does a released client do?

# %% [markdown]
# In the next cell a process with RocketMQ's own Java client 5.5.0 sends the half message *paid*, runs its
# local transaction, and is killed before it has sent the end. Then another process starts, with the same
# producer group. *Before you run it: which process is asked, and what must that process do first, so that
# the broker can reach it?*

# %%
from mqlab.lessons.rocketmq.lab04 import die_in_java

die_in_java()

# %% [markdown]
# The new process is asked about a payment that it never sent, so its listener must find the answer
# outside the process. It had sent a plain message before: a 5.5 producer that has sent nothing is unknown
# to the broker, since it learns the broker's address with its first send. In a clone of the project, with
# Java 17 and Maven, `die_in_java(fetch=True)` fetches the client (94 MB, once) and runs it against this
# project's own server.

# %% [markdown] tags=["deeper"]
# ## What if an end is only slow?

# %% [markdown]
# The end of order 580538 is not lost; it is only slow. The round comes first.

# %% jupyter={"source_hidden": true}
late = scenario("""
# A check overtakes an end
system order_service producers=app:order-service,twin:order-service early=on consumers=accounting
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 580538
at 30000
fire broker check
release twin→broker EndTransaction#1
run accounting: consume
""", recorded="late-commit-delivers-twice")
Predict("04-late-end", trace=late, step=first(late, "EndTransaction COMMIT 580538 from check"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_duplicates())

# %% [markdown]
# Each commit writes a *new* message, and nothing compares it with an earlier one. The table shows three
# ordinary accidents, each of which leads to two messages. So the consumer is outside the transaction. It
# gets a message *at least once*, as in lab 01, and must be *idempotent* (幂等): a repeated message changes
# nothing. It looks up the order's key, and writes key and amount together in its own transaction.
#
# Users have reported this in public, for example: `mqlab incidents rolled-back-and-delivered`.
#
# Below is the same scenario for you to continue, from the moment when twin's row is written. Click a
# message to deliver it, the timer to let a round come, or a lane to kill a process. *How few choices do
# you need until the invariant turns red? Can you do it without a slow message?*

# %%
play = continue_scenario("""
# The row is written
system order_service producers=app:order-service,twin:order-service early=on timeout_ms=0 persist_ms=0 \
    claims=delivered_once
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 580538
""")
Playground(play, goal="delivered once")

# %% [markdown] tags=["deeper"]
# ## What if accounting can never succeed?

# %% [markdown]
# Order 580538 is fine: row and message are there. But accounting's listener fails on it every time,
# because it does not support the order's currency.

# %% jupyter={"source_hidden": true}
Predict("04-b-fails")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_deliveries())

# %% [markdown]
# An article says that a failing consumer never rolls the producer back, and this is right: the row stays.
# It also says that the message is delivered until the consumer succeeds, and this is wrong. The table
# shows seventeen deliveries (the waits of numbers 5 to 15 grow in the same way) in less than five hours.
# Then the message goes to `%DLQ%accounting`, the *dead letter queue* (死信队列) of the group, which no
# program reads by itself. In broadcasting mode a failure is only written to a log file, and the message
# is not delivered again.
#
# So an order whose consumer *cannot* succeed needs a decision that RocketMQ does not make. Either an
# operator repairs accounting and sends the dead letter again by hand, or the order is cancelled. That
# needs a *compensation*, as in the sagas of lab 02: a new order with its own row and its own message. The
# next two lines show one, `cancel-580538`.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(describe_taken_back())

# %% [markdown] tags=["deeper"]
# ## Can a transactional message be delayed or batched?

# %% [markdown]
# Sometimes a message should be delivered later than its transaction, or one transaction should send
# several messages.

# %% jupyter={"source_hidden": true}
Predict("04-delay")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(describe_delayed())
print()
print(read_recording("rocketmq-5.5.0/5.5", "batch-in-a-transaction", "SendBatchMessage"))

# %% [markdown]
# The 5.5 client refuses the delay. The 4.9 client drops it, and the message is delivered at once. Several
# messages in one transaction are not possible, since `sendMessageInTransaction` takes one message. The
# table shows what a real broker answered to a batch with the bits of a half message (4), and to the same
# batch without them.

# %% [markdown] tags=["deeper"]
# ## How often does check-back help?

# %% [markdown]
# So far there was one fault, at a chosen place. Now faults come at random. The first twelve orders of the
# day are sent ten times. A share of the messages to the broker is lost, and in one order out of five the
# process is killed at some moment and restarted. Guess first: without check-back and with 20 % loss, what
# share of the orders *with a row* gets its message?

# %% jupyter={"source_hidden": true}
go.Figure(
    [
        go.Scatter(name=in_words(name), x=LOSSES, y=[one.delivered for one in found])
        for name, found in count_shares().items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#b91c1c", "#d97706", "#1a7f37"],
        "height": 300,
        "margin": {"t": 50, "b": 50},
        "title": say("Orders with a row whose message comes"),
        "xaxis": {
            "title": say("share of messages to the broker that are lost"),
            "tickformat": ".0%",
        },
        "yaxis": {"range": [0.5, 1.02], "tickformat": ".0%"},
    },
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_shares())

# %% [markdown]
# The first number in each cell is the share of orders with a row whose message comes. The second counts
# orders that are delivered twice. Articles say that check-back raises the success rate. It does more. As
# long as some process of the group lives and looks the row up, it repairs *every* loss and every crash,
# and one check does most of the work. The second number is the cost. Check-back turns *lost* into *late
# or twice*, and an idempotent consumer turns twice into once.
#
# Move the sliders. Where does the number of allowed checks matter? And are orders delivered twice when
# nothing is lost and processes die?

# %% jupyter={"source_hidden": true}
how = {"continuous_update": False, "style": {"description_width": "9em"}}
loss = ipywidgets.FloatSlider(0.1, min=0, max=0.4, step=0.05, **how)
death = ipywidgets.FloatSlider(0.2, min=0, max=1, step=0.1, **how)
checks = ipywidgets.IntSlider(15, min=1, max=15, **how)
loss.description = say("messages lost")
death.description = say("process killed")
checks.description = say("checks allowed")
sliders = (loss, death, checks)
counted = count_ends(*(slider.value for slider in sliders))
ways = [say("without check-back"), say("with check-back")]
chart = go.FigureWidget(
    [
        go.Bar(name=in_words(name), x=ways, y=heights)
        for name, heights in zip(ENDS, counted, strict=True)
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#1a7f37", "#d97706", "#b91c1c", "#9ca3af"],
        "barmode": "stack",
        "height": 300,
        "margin": {"t": 50, "b": 40},
        "title": say("What became of 120 orders"),
    },
)


def redraw(_):
    counted = count_ends(*(slider.value for slider in sliders))
    for bar, heights in zip(chart.data, counted, strict=True):
        bar.y = heights


for slider in sliders:
    slider.observe(redraw, "value")
ipywidgets.VBox([*sliders, chart])

# %% [markdown]
# Orders under *neither* are not RocketMQ's fault. The half message could not be stored, or the process
# died before it had written the row. The customer got an error or no answer, and there is no order.

# %% [markdown] tags=["deeper"]
# ## Is it safe to catch every exception?

# %% [markdown]
# One of the articles shows this order service. It treats every exception as a rollback, which looks
# careful.
#
# ```java
# public LocalTransactionState executeLocalTransaction(Message msg, Object arg) {
#     try {
#         orderDao.insert(order);
#         return LocalTransactionState.COMMIT_MESSAGE;
#     } catch (Throwable t) {
#         return LocalTransactionState.ROLLBACK_MESSAGE;
#     }
# }
# ```
#
# Press *Search*. It tries every schedule in which at most one connection breaks, at any moment. The cell
# below it searches again and prints the end of the shortest example, for the article's listener and then
# for one without `catch`.

# %% jupyter={"source_hidden": true}
article = system("order_service service=catching 'app=send-in-transaction orders-0 580538'")
Explorer(article, Budget(breaks=1))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
verdict = explore(article, Budget(breaks=1))
(broken,) = verdict.counterexamples.values()
name, count = broken.property, len(broken.schedule)
print(say("the article's: “{name}” breaks in {count} choices:", name=in_words(name), count=count))
for fact in list(broken.trace())[-9:]:
    if not fact.fold:
        print("  ", fact.line(width=8))
calm = explore(system("order_service 'app=send-in-transaction orders-0 580538'"), Budget(breaks=1))
print(say("without the catch:"), ", ".join(map(in_words, calm.counterexamples)) or say("nothing breaks"))

# %% [markdown]
# The connection breaks while the insert is in flight. The insert still arrives; only its answer cannot.
# The exception means "I do not know", and the listener turns that into "no": there is a row without a
# message. Without the `catch`, the exception leaves the listener, and the client treats it as UNKNOW.
# Then the broker asks, and the row decides.

# %% [markdown] tags=["deeper"]
# ## Which safeguards are necessary?

# %% [markdown]
# Each line switches off one safeguard and searches for the shortest example that breaks a promise. Guess
# first, for each of them, what will break:
#
# | without | what no longer happens |
# |---|---|
# | `check_back` | the broker asks |
# | `any_producer` | any process of the group is asked, not only the sender |
# | `put_back` | a checked half message is written again, so that a later round finds it |
# | `immunity` | a young half message is not checked |
# | `op_topic` | the broker records which half messages have ended |
# | `check_limit` | the broker stops asking after a number of checks |
# | `exception_is_unknown` | an exception is treated as UNKNOW, not as ROLLBACK |
# | `consumer_retry` | a message that could not be processed is delivered again |
# | `idempotent_consumer` | accounting looks the order up before it counts it |

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_safeguards())

# %% [markdown]
# The next table switches nothing off: RocketMQ itself does not make these promises.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_claims())

# %% [markdown]
# The lines of the second table are not bugs to report; RocketMQ works like that. Four of them appear in
# this lab: a late end, a lost op record, a COMMIT after a ROLLBACK, and a group in which no process
# answers. In `last-check` the answer to the last allowed check comes when the half message is already set
# aside. In `power-cut` a half message is lost because the broker acknowledged it before it was on disk.
# Three rules follow: watch `TRANS_CHECK_MAX_TIME_TOPIC`, keep a process registered, and make consumers
# idempotent.

# %% [markdown] tags=["deeper"]
# ## Can a check do without UNKNOW?

# %% [markdown]
# A check that finds no row cannot tell whether the row will still come. So it answers UNKNOW, and an
# order whose sender died before its row is checked fifteen times, and then set aside. The shop wants
# every half message to be ended at its first check that can reach the database. Your check may look the
# order up, and it may also *write*. No check may return UNKNOW.
#
# Each function gets the order's number, `db`, and `memory`, a dictionary of this one process. Each `db`
# statement is committed by itself:
#
# | statement | what it does |
# |---|---|
# | `db.get(key)` | returns the value of the row, or None if there is no row |
# | `db.put(key, value)` | writes the row; a row that was there is replaced |
# | `db.insert(key, value)` | writes the row if there is none; returns the value that is there now |
# | `db.delete(key)` | removes the row |
#
# A row with the value `"paid"` is an order. A row with the value `"refused"` is no order: it belongs to
# no message. Return `COMMIT`, `ROLLBACK` or `UNKNOWN` (which Java spells UNKNOW). Do not catch
# exceptions: the client treats an exception as UNKNOW, and that is allowed.
#
# Every schedule is tried. The process is killed at each call and restarted, its row is late, connections
# break, checks come early, and another process is asked. Then the process is killed at each of its steps,
# with the rows in a real SQLite file, and each of these scenarios is played to its end. Two hints are
# available: `print(LISTENER.hint(1))`, then `print(LISTENER.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "answering"}
def execute(order: str, db, memory) -> str:
    """The local transaction: what is its outcome?"""
    ### BEGIN SOLUTION
    # A check may have refused the order before: then the row is "refused", and stays so.
    return COMMIT if db.insert(order, "paid") == "paid" else ROLLBACK
    ### END SOLUTION


def check_order(order_id: str, db, memory) -> str:
    """Asked later, perhaps in another process: what became of it?"""
    ### BEGIN SOLUTION
    # One statement looks and decides: a row that is late now finds its place taken.
    return COMMIT if db.insert(order_id, "refused") == "paid" else ROLLBACK
    ### END SOLUTION


answering = (execute, check_order)

# %% nbgrader={"grade": true, "grade_id": "answering-test", "points": 6}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("answering", answering)
### END HIDDEN TESTS
check(LISTENER, answering)

# %% [markdown] tags=["deeper"]
# ## What do the other brokers do?

# %% [markdown]
# An application has done its work in a transaction, and is killed before it has reported the outcome to
# the broker. Here it uses RocketMQ, then Kafka, then Pulsar.

# %% jupyter={"source_hidden": true}
Predict("04-elsewhere")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_silence())

# %% [markdown]
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | who decides | the local transaction, in your database | the coordinator, in its log | the coordinator, in its log |
# | what silence means | ask, fifteen times | abort, after a timeout | abort, after a timeout |
# | what must be running later | some process of the producer group | nothing of yours | nothing of yours |
# | what is left if no end arrives | a half message in TRANS_CHECK_MAX_TIME_TOPIC | nothing: it was aborted | nothing: it was aborted |
# | what a consumer must do | be idempotent | use read_committed | be idempotent, if anything is sent twice |
#
# When no outcome arrives, Kafka and Pulsar can abort, because they make the decision themselves. RocketMQ
# cannot. The decision was made in a database that it cannot read, so it can only ask. Ask about any queue
# that you use: *what does it do when no outcome arrives?*

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | COMMIT_MESSAGE was returned, so the broker has committed | the end is one-way; it may not have reached the broker | a check |
# | the official example is safe to copy | it remembers in its process and guesses COMMIT | the official example |
# | the broker asks as soon as something is wrong | in rounds, and not before 6 s | when |
# | the sender is asked | any registered process of its group, in turn | which process |
# | a check must be stateless | it must look up what was decided, in a place that every process can read | which process |
# | no row means ROLLBACK | it may still come: UNKNOW | what to answer |
# | a ROLLBACK is final | a COMMIT that comes later still delivers | what to answer |
# | checks continue for ever | fifteen, then TRANS_CHECK_MAX_TIME_TOPIC | how often |
# | an unresolved half message is rolled back, or dropped | it is set aside; an operator can resume it | how often |
# | a check moves nothing | each check writes a copy of the half message | how often |
# | rollback deletes the half message | an op record is written, the half message stays | rollback |
# | thanks to check-back a lost end never matters | only while a registered process can look it up | restart |
# | a transaction delivers its message once | a slow end, a lost op record, a repeated half message: twice | slow end |
# | the consumer is part of the transaction | it gets the message at least once, and must be idempotent | slow end |
# | a message is delivered until the consumer succeeds | 17 times, then the dead letter queue; broadcasting: once | accounting |
# | transactional messages can be delayed or batched | neither | delayed or batched |
# | a transactional message means the same everywhere | RocketMQ asks what your database has decided; Kafka and Pulsar decide themselves | other brokers |
# | it is safe to catch everything and roll back | an exception means *I do not know*: UNKNOW | exceptions |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A theatre sells tickets. Its servers are registered under one producer group; all settings are the defaults.

# %% jupyter={"source_hidden": true}
Predict("04-exit-ticket")
