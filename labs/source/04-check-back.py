# %% [markdown]
# # Lab 04 · Check-back
#
# *What if nobody answers?* · 90 minutes · RocketMQ 5.5, and 4.9 where it differs
#
# **In one paragraph.** An order service writes an order into its database and tells the broker so
# with one message that nobody acknowledges. When that message is lost, or its sender dies, the
# broker holds a half message and does not know what became of the order. So it asks: this is called
# check-back. You see who is asked, when and how often, what a process may answer, what happens when
# nobody can be asked, and what accounting gets in the end. You count over many runs how much
# check-back mends, write a test that finds the flaw of the official example, and write a listener
# that passes every schedule.
#
# **Contents.** Hook · Predict · Run · Investigate (1 when, 2 whom, 3 what to answer, 4 how often, 5
# rollback, 6 after a restart, 7 a late end, 8 accounting fails, 9 later or in a batch) · How often
# does it help? · Find the shortest run · An article's listener · Modify · Test · Make · Transfer ·
# Refuted · Exit ticket
#
# **Words.** *Half message* (半消息): a stored message that no consumer is given yet. *Check*,
# *check-back* (回查): the broker's question what became of a transaction. *Listener*: the two
# functions that an application writes, `executeLocalTransaction` and `checkLocalTransaction`. *Op
# record*: the broker's note that a half has ended. *Immunity*: how old a half must be before it is
# asked about. *One-way*: sent without waiting for an answer. *Dead letter queue*, DLQ (死信队列):
# where messages go that could not be processed. *Idempotent* (幂等): doing it again changes nothing.
# UNKNOW is RocketMQ's own spelling.

# %%
import itertools

import ipywidgets
import plotly.graph_objects as go

from mqlab.lab import (
    Budget,
    Explorer,
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    explore,
    scenario,
    system,
)
from mqlab.lessons.rocketmq.lab04 import (
    COMMIT,
    LISTENER,
    ROLLBACK,
    STORY,
    UNKNOWN,
    first,
    list_deliveries,
    list_questions,
    look_back,
    measure_outcomes,
    read_recording,
    tell_searches,
    wait_for_checks,
)

# %% [markdown]
# ## Hook: a paid order that nobody has heard of
#
# These are again the real orders of 5 December 2011. Customers pay, the order service writes a row
# into its database, and accounting must count each order once. For order 580538 the row is there:
# paid. The service's log says `SEND_OK COMMIT_MESSAGE`. A quarter of a minute later accounting's
# books still lack its £316.78. No process has failed, and no error was raised. Who will notice?
#
# In the runs below `app` is a process of the order service, `db` its database, `accounting` the
# consumer. A scenario says what happens: `lose app→broker EndTransaction#1` loses the first message
# of that name from app to broker, and with it their connection; `at 30000` lets 30 seconds pass;
# `fire broker check` lets the broker's check timer run out. `hold twin→db Statement#1` keeps a
# message back until it is released. `off=NAME` switches a safeguard off; `early=on` lets producers
# register at their start. In the picture → is a message, ⇒ an answer, ⇥ a message that arrives
# although its sender's connection is gone, ▮ something written to disk, ⇨ a change in memory, ⏲ a
# timer, ✗ a death or a broken connection, ↻ a restart, ☞ what an application is told.

# %%
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
# The half is stored, the row is written, and the application has just heard `SEND_OK
# COMMIT_MESSAGE`. The message `EndTransaction COMMIT` is lost. Lock your answer, then run on.

# %% jupyter={"source_hidden": true}
Predict("04-end-lost", trace=end_lost, step=first(end_lost, "connection broken"))

# %% [markdown]
# ## Run
#
# `COMMIT_MESSAGE` is what the *local* transaction came to. Nobody says whether the broker has heard
# of it, since the end is one-way. Half a minute later the broker asks, the process looks the row
# up, and its answer does what the lost message should have done. These are the six stages:
#
# | stage | here | written where |
# |---|---|---|
# | reserve | the half message | the broker's half topic |
# | write | the order's row | the service's database |
# | decide | the local transaction commits | the service's database: the same write |
# | publish the decision | `EndTransaction`, or the answer to a check | nowhere, it is one-way |
# | make visible | the message, written once more in `orders-0` | the broker's log |
# | forget | an op record names the half | the broker's op topic, up to 3 s later |
#
# So check-back repeats the fourth stage, and only that. It needs somebody who can still tell what
# was decided. Everything that follows is about that somebody.

# %% [markdown]
# ## Investigate
#
# **1. When is a half asked about?** Two numbers decide. The broker makes a *round* every 30 s
# (`transactionCheckInterval`; 60 s in 4.9). In each round it asks about the halves that have not
# ended and are older than 6 s (`transactionTimeOut`). Until then a half is *immune*, since its
# local transaction is probably still at work.

# %% jupyter={"source_hidden": true}
Predict("04-first-check")

# %% tags=["nbval-check-output"]
rows = [("order sent at", "immunity", "first question at", "age then", "check number")]
for second, immunity in [(0, ""), (23, ""), (24, ""), (25, ""), (29, ""), (0, "immunity=60")]:
    asked = list_questions(scenario(f"""
# When is it asked about?
system order_service early=on
lose app→broker EndTransaction#1
at {second * 1000}
run app: send-in-transaction orders-0 580538 {immunity}
fire app heartbeat
{wait_for_checks(3)}
"""))
    at, _, number = asked[0]
    own = immunity.removeprefix("immunity=") or "6"
    times = (f"{second} s", f"{own} s", f"{at // 1000} s", f"{at // 1000 - second} s")
    rows.append((*times, str(number)))
print(columns(rows))

# %% [markdown]
# Each line is an order whose end is lost. Sent at 23 s, the half is 7 s old in the round at 30 s.
# Sent at 24 s it is exactly 6 s old in that round, which is not yet old enough. So with the
# defaults the first question comes 6 to 36 seconds after the order.
#
# A message can bring an immunity of its own (`CHECK_IMMUNITY_TIME_IN_SECONDS`), as in the last
# line. Look at its last column: the first question has number 3. While a half is protected by an
# immunity of its own, each round writes a copy of it to the end of the half topic, and each copy
# costs one of its checks although nobody is asked.
#
# **2. Whom does the broker ask?** Now `app` is killed after its row is written and before its end
# has left. A second process of the order service, `twin`, is registered under the same producer
# group.

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
# The broker does not remember who sent a half. The half carries the name of its *producer group*,
# and the processes that registered under that name are asked in turn. That is what the few lines
# mean with which an order service starts:
#
# ```java
# producer = new TransactionMQProducer("order-service");  // the group: who may be asked
# producer.setExecutorService(pool);                      // the threads that answer checks
# producer.setTransactionListener(listener);              // what they answer
# producer.start();
# ```
#
# Articles say that the check must therefore be *stateless*. That is not quite the word: it must
# know what was decided, and so it must look where every process of the group can look. Below are
# two listeners, one that looks the row up and one that keeps a note in the memory of its process.
# Four things can happen to the sender: it lives and only its end is lost; it dies and `twin` of its
# group lives; it dies and is restarted; it dies and only a process of another group lives. Before
# you run the cell, say in which of these cases the message comes, with either listener.

# %% tags=["nbval-check-output"]
KILL = "kill app when=EndTransaction#1"
who = {
    "the sender lives": ("", "lose app→broker EndTransaction#1", "fire app heartbeat"),
    "it dies, twin lives": (",twin:order-service", KILL, ""),
    "it dies and is back": ("", KILL, "restart app"),
    "it dies, another group lives": (",stock:stock-service", KILL, ""),
}
rows = [("", "asked", "looks the row up", "keeps it in memory")]
for name, (others, before, after) in who.items():
    told = []
    for listener in ("right", "memory"):
        story = f"""
# Who can answer?
system order_service service={listener} early=on producers=app:order-service{others}
{before}
run app: send-in-transaction orders-0 580538
{after}
{wait_for_checks(1)}
"""
        told.append(str(look_back(story)))
    asked = [client for _, client, _ in list_questions(scenario(story))]
    rows.append((name, ", ".join(asked) or "nobody", *told))
print(columns(rows))

# %% [markdown]
# Memory is enough only while the sender itself stays alive. In the third line it is again `app`
# that is asked, but its memory was lost when it was killed. In the last line a process is
# connected, but it is registered under the name of another group and is not asked.
#
# **3. What may a check answer?** A row is a proof that the local transaction was committed. What
# does *no row* prove? Here `twin` is slow: its row is still under way when the round comes. `app`
# is asked, finds no row, and says ROLLBACK_MESSAGE. Then twin's row is written after all, and twin
# sends its COMMIT.

# %% jupyter={"source_hidden": true}
TWO = "producers=app:order-service,twin:order-service early=on"
hasty = """
# No row is taken for a rollback, and the row comes later
system order_service service=hasty {two} consumers=accounting
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
""".replace("{two}", TWO)
rolled_back = scenario(hasty.format(then="release twin→db Statement#1"))
Predict(
    "04-rollback-then-commit",
    trace=rolled_back,
    step=first(rolled_back, "ROLLBACK 580538 from check"),
)

# %% tags=["nbval-check-output"]
row_comes = "release twin→db Statement#1"
lost_too = f"lose twin→broker EndTransaction#1\n{row_comes}"
for name, then in {"its COMMIT arrives": row_comes, "it is lost": lost_too}.items():
    print(f"{name:18}: {look_back(hasty.format(then=then))}")

# %% [markdown]
# The broker keeps no table of transactions in which this one could be marked as rolled back. A
# COMMIT that names the half is carried out, whatever was said before. Here that even saved the
# order. In the second line twin's COMMIT was lost, and the ROLLBACK stood: there is a row, and its
# message will never come.
#
# So the right answer to *no row* is UNKNOW, "ask me again". Articles write it like that, and here
# they are right: COMMIT if the row is there, and otherwise UNKNOW, because the local transaction
# may still be at work. ROLLBACK is right only where something that cannot change says that this
# order will never have a row.
#
# **4. How often does it ask?** Articles say "periodically" and mention no limit. Here every check
# of order 580538 is answered UNKNOW.

# %% jupyter={"source_hidden": true}
Predict("04-how-often")

# %% tags=["nbval-check-output"]
unknown = f"""
# Every check is answered UNKNOW
system order_service early=on
run app: listener UNKNOW UNKNOW, send-in-transaction orders-0 580538
{wait_for_checks(16)}
"""
asked_15 = scenario(unknown, recorded="never-resolved")
questions = list_questions(asked_15)
began, ended = (questions[place][0] // 1000 for place in (0, -1))
print(f"asked {len(questions)} times, from {began} s to {ended} s")
print(f"parked at {asked_15.facts[-1].at_ms // 1000} s: {look_back(unknown)}")
later = {
    "then a COMMIT comes": "run app: end COMMIT_MESSAGE 580538",
    "then an operator resumes it": "run app: listener UNKNOW COMMIT_MESSAGE, resume 16\n"
    + wait_for_checks(1, since=17),
}
for name, line in later.items():
    print(f"{name}: {look_back(unknown + line).messages} message")

# %%
Player(asked_15, step=first(asked_15, "discard"))

# %% [markdown]
# After fifteen questions (`transactionCheckMax`) the broker writes the half to
# `TRANS_CHECK_MAX_TIME_TOPIC`. The half is then *parked*: nobody asks about it any more. That is
# not a rollback. A late COMMIT still delivers the message, and an operator can have the half asked
# about again (`resumeCheckHalfMessage`): the last two lines. But no program reads that topic by
# itself, so somebody has to *watch* it.
#
# Look at the half topic in the picture: it holds the half sixteen times. A log cannot be changed,
# so each check writes a copy of the half to its end, with the number of the check raised by one,
# and the question is about that copy.
#
# **5. And a rollback?** Some articles say: on rollback there is nothing to do.

# %% jupyter={"source_hidden": true}
Predict("04-rollback")

# %% tags=["nbval-check-output"]
A_ROLLBACK = "\n# A rollback\nsystem order_service early=on {off}\n{lose}\n" + (
    "run app: listener ROLLBACK_MESSAGE UNKNOW, send-in-transaction orders-0 580538\n{then}\n"
)
cases = {
    "the rollback arrives": ("", "", "at 3000\nfire broker op batch"),
    "it is lost": ("", "lose app→broker EndTransaction#1", "fire app heartbeat"),
    "it arrives, nothing is recorded": ("off=op_topic", "", ""),
}
rows = [("", "halves", "op records", "messages", "questions in the next round")]
for name, (off, lose, then) in cases.items():
    story = A_ROLLBACK.format(off=off, lose=lose, then=then) + wait_for_checks(1)
    left = look_back(story)
    asked = len(list_questions(scenario(story)))
    rows.append((name, str(left.halves), str(left.ops), str(left.messages), str(asked)))
print(columns(rows))

# %% [markdown]
# Nothing is deleted, yet something is written: an op record that names the half's place. Without it
# the next round cannot know that the half has ended, and asks about an order that was refused long
# ago, as in the last two lines. Their second half is the copy that the question is about.
#
# **6. After a restart.** `app` is killed when its row is written, and it is restarted at once.
# Since its restart it has not sent any message. This broker allows two checks.

# %% jupyter={"source_hidden": true}
NOBODY = """
# The service is back at once
system order_service {version} check_max=2
kill app when=EndTransaction#1
run app: send-in-transaction orders-0 580538
restart app
{rounds}
"""
nobody = scenario(NOBODY.format(version="", rounds=wait_for_checks(3)), recorded="nobody-to-ask")
Predict("04-nobody", trace=nobody, step=first(nobody, "recovered"))

# %% tags=["nbval-check-output"]
minutes = "at 60000\nfire broker check"
for name, version, rounds in [
    ("5.5, nothing sent yet", "", wait_for_checks(3)),
    ("5.5, topics in the constructor", "early=on", wait_for_checks(1)),
    ("4.9", "release=4.9", minutes),
]:
    story = NOBODY.format(version=version, rounds=rounds)
    print(f"{name:30}: questions {len(list_questions(scenario(story)))}, {look_back(story)}")

# %% [markdown]
# A check that nobody hears *counts*. If the whole service is away for seven and a half minutes,
# with the defaults its halves are parked, although nobody was asked even once. And *being there*
# means being registered. A 5.5 producer registers with its first message, or at its start if its
# constructor was given a list of topics, as in the second line. A 4.9 producer registers at its
# start, if the broker creates topics by itself. So "the loss of an end never matters, thanks to
# check-back" is true only while some process of the group is registered and can still tell what was
# decided.
#
# **7. A late end.** The end of order 580538 is not lost; it is only slow. The round comes first.

# %% jupyter={"source_hidden": true}
LATE = f"""
# An end that is overtaken by a check
system order_service {TWO} consumers=accounting {{off}}
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 580538
at 30000
fire broker check
release twin→broker EndTransaction#1
run accounting: consume
"""
late = scenario(LATE.format(off=""), recorded="late-commit-delivers-twice")
Predict("04-late-end", trace=late, step=first(late, "EndTransaction COMMIT 580538 from check"))

# %% tags=["nbval-check-output"]
KILLED = """
# The broker is killed before it has recorded the end
system order_service early=on consumers=accounting {off}
run app: send-in-transaction orders-0 580538
kill broker
restart broker
fire app heartbeat
at 30000
fire broker check
run accounting: consume
"""
AGAIN = """
# The answer to the half is lost: it is sent again, and lies there twice
system order_service early=on consumers=accounting {off}
lose app→broker ⇒SendMessage#1
run app: send-in-transaction orders-0 580538
at 3000
fire broker op batch
at 30000
fire broker check
run accounting: consume
"""
rows = [("why", "messages", "counted", "counted if accounting looks the order up first")]
for name, story in {
    "a slow end": LATE,
    "the op record is lost": KILLED,
    "the half is stored twice": AGAIN,
}.items():
    plain, careful = (look_back(story.format(off=off)) for off in ("off=idempotent_consumer", ""))
    rows.append((name, str(plain.messages), str(plain.booked), str(careful.booked)))
print(columns(rows))

# %% [markdown]
# Each commit writes a *new* message, and nothing compares it with an earlier one. The table shows
# three ordinary accidents, each of which leads to two messages. So the consumer is outside of the
# transaction. It gets a message *at least once*, as in lab 01, and must be idempotent: it looks the
# order's key up, and writes key and amount together in one transaction of its own.
#
# **8. Accounting can never succeed.** Order 580538 is fine: row and message are there. But
# accounting's listener fails on it every time, because it does not know the order's currency.

# %% jupyter={"source_hidden": true}
Predict("04-b-fails")

# %% tags=["nbval-check-output"]
deliveries, left = list_deliveries()
rows = [("delivery", "after", "waited")]
waited = [0, *(after - before for before, after in itertools.pairwise(deliveries))]
for number, (at, wait) in enumerate(zip(deliveries, waited, strict=True), 1):
    if number <= 4 or number >= 16:
        rows.append((str(number), f"{at} s", f"{wait} s"))
print(columns(rows))
print(f"{deliveries[-1] / 3600:.1f} hours: {left.dead} in the dead letter queue, {left}")
broadcast = look_back("""
# In broadcasting mode
system order_service consumers=accounting model=broadcasting
run app: send-in-transaction orders-0 580538
run accounting: consume later, consume, consume
""")
dead, counted = broadcast.dead, broadcast.booked
print(f"broadcasting: {dead} in the dead letter queue, counted {counted}×: failed once, gone")
taken_back = scenario("""
# Taken back by an order of its own
system order_service consumers=accounting retry_max=0
run app: send-in-transaction orders-0 580538
run accounting: consume later
run app: send-in-transaction orders-0 cancel-580538
run accounting: consume
""")
print("rows:", *(" ".join(row) for row in taken_back.snapshot(-1).tables[0].rows), sep="  ")
print("accounting:", next(f.text.en for f in reversed(taken_back.facts) if f.glyph == "☞"))

# %% [markdown]
# Articles are right that a failing consumer never rolls the producer back: the row stays. They are
# wrong that the message is delivered until it succeeds. The table shows seventeen deliveries (the
# waits of numbers 5 to 15 grow in the same way) in less than five hours. Then the message goes to
# `%DLQ%accounting`, which no program reads by itself. In broadcasting mode a failure is written to
# a log file, and the message never comes again.
#
# So an order whose consumer *cannot* succeed needs a decision that RocketMQ does not make. Either
# somebody repairs accounting and sends the dead letter again by hand, or the order is taken back.
# That is a *compensation*, as in the sagas of lab 02: a new order, with a row and a message of its
# own. The last two lines show one, `cancel-580538`.
#
# **9. Later, or in a batch?** One would like to send a transactional message that is delivered only
# after some time, or several in one transaction.

# %% jupyter={"source_hidden": true}
Predict("04-delay")

# %% tags=["nbval-check-output"]
for release in ("5.5", "4.9"):
    delayed = scenario(f"""
# With delay level 5, which is a minute
system order_service release={release} consumers=accounting
run app: send-in-transaction orders-0 580538 delay=5
run accounting: consume
""")
    for fact in delayed:
        if fact.glyph == "☞":
            print(f"{release}  {fact.node:10}  {fact.text}")
print()
print(read_recording("rocketmq-5.5.0/5.5", "batch-in-a-transaction", "SendBatchMessage"))

# %% [markdown]
# The client of 5.5 refuses; that of 4.9 drops the delay, and the message is delivered at once.
# Several messages in one transaction are not possible: `sendMessageInTransaction` takes one
# message, and the table shows what a real broker said when a batch came with the bits of a half
# message (4), and to the same batch without them.

# %% [markdown]
# ## How often does it help?
#
# So far there was one fault, at a chosen place. Now faults come by chance. The first twelve orders
# of the day are run ten times. A share of the messages to the broker is lost, and in one order out
# of five the process is killed at some moment and started again. The first number in each cell is
# the share of orders *with a row* whose message comes; the second counts orders that are delivered
# twice. Say first: without check-back and with 20 % loss, how large is the share?

# %% tags=["nbval-check-output"]
LOSSES = [0, 0.1, 0.2, 0.3]
ASKING = {"never asked": (False, 15), "asked once": (True, 1), "asked up to 15 times": (True, 15)}
measured = {
    name: [measure_outcomes(asks, loss, 0.2, most, seeds=10) for loss in LOSSES]
    for name, (asks, most) in ASKING.items()
}
rows = [("messages lost", *ASKING)]
for place, loss in enumerate(LOSSES):
    rows.append((f"{loss:.0%}", *(str(found[place]) for found in measured.values())))
print(columns(rows))

# %% jupyter={"source_hidden": true}
go.Figure(
    [
        go.Scatter(name=name, x=LOSSES, y=[one.delivered for one in found])
        for name, found in measured.items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#b91c1c", "#d97706", "#1a7f37"],
        "height": 300,
        "margin": {"t": 50, "b": 50},
        "title": "Orders with a row whose message comes",
        "xaxis": {"title": "share of messages to the broker that are lost", "tickformat": ".0%"},
        "yaxis": {"range": [0.5, 1.02], "tickformat": ".0%"},
    },
)

# %% [markdown]
# Articles say that check-back raises the success rate. It does more: as long as some process of the
# group lives and looks the row up, it mends *every* loss and every death, and one check does most
# of the work. The second number is the price: orders that are delivered twice. Check-back turns
# *lost* into *late or twice*, and an idempotent consumer turns twice into once.
#
# Move the sliders. Where does the number of allowed checks matter? And are orders delivered twice
# when nothing is lost and processes die?


# %% jupyter={"source_hidden": true}
ENDS = {
    "row and message": "once",
    "message twice": "twice",
    "row alone": "split",
    "neither": "neither",
}


def draw_ends(loss=0.1, death=0.2, checks=15):
    runs = [measure_outcomes(asks, loss, death, checks, seeds=10) for asks in (False, True)]
    return [[getattr(one, end) for one in runs] for end in ENDS.values()]


chart = go.FigureWidget(
    [
        go.Bar(name=name, x=["without check-back", "with check-back"], y=heights)
        for name, heights in zip(ENDS, draw_ends(), strict=True)
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#1a7f37", "#d97706", "#b91c1c", "#9ca3af"],
        "barmode": "stack",
        "height": 300,
        "margin": {"t": 50, "b": 40},
        "title": "What became of 120 orders",
    },
)
how = {"continuous_update": False, "style": {"description_width": "9em"}}
loss = ipywidgets.FloatSlider(0.1, min=0, max=0.4, step=0.05, description="messages lost", **how)
death = ipywidgets.FloatSlider(0.2, min=0, max=1, step=0.1, description="process killed", **how)
checks = ipywidgets.IntSlider(15, min=1, max=15, description="checks allowed", **how)


def redraw(_):
    drawn = draw_ends(loss.value, death.value, checks.value)
    for bar, heights in zip(chart.data, drawn, strict=True):
        bar.y = heights


for slider in (loss, death, checks):
    slider.observe(redraw, "value")
ipywidgets.VBox([loss, death, checks, chart])

# %% [markdown]
# *Neither* is no fault of RocketMQ: the half could not be stored, or the process died before it had
# written the row. The customer got an error or no answer, and there is no order.

# %% [markdown]
# ## Find the shortest run that delivers twice
#
# Below is the run of Investigate 7 for you to continue, from the moment when twin's row is written.
# Click a message to deliver it, the timer to let a round come, or a lane to kill a process. *How
# few choices do you need until the light turns red? Is there a way without a slow message?*

# %%
play = continue_scenario(f"""
# The row is written
system order_service {TWO} timeout_ms=0 persist_ms=0 claims=delivered_once
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 580538
""")
Playground(play, goal="delivered once")

# %% [markdown]
# ## An article's listener
#
# One of the articles shows this order service. It takes every exception for a rollback, and that
# looks careful.
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
# Press *Search*. It tries every schedule in which up to one connection breaks, at any moment. The
# cell below it searches again and prints the end of the shortest run, with the article's listener
# and then with one that has no `catch`.

# %%
article = system("order_service service=catching 'app=send-in-transaction orders-0 580538'")
Explorer(article, Budget(breaks=1))

# %% tags=["nbval-check-output"]
verdict = explore(article, Budget(breaks=1))
(broken,) = verdict.counterexamples.values()
print(f"the article's: “{broken.property}” breaks in {len(broken.schedule)} choices:")
for fact in list(broken.trace())[-9:]:
    if not fact.fold:
        print("  ", fact.line(width=8))
calm = explore(system("order_service 'app=send-in-transaction orders-0 580538'"), Budget(breaks=1))
print("without the catch:", ", ".join(calm.counterexamples) or "nothing breaks")

# %% [markdown]
# The connection breaks while the insert is under way. The insert still arrives; only its answer
# cannot. The exception means "I do not know", and the listener turns that into "no": there is a row
# without a message.
# Without the `catch`, the exception leaves the listener, and the client takes it for UNKNOW; then
# the broker asks, and the row decides.

# %% [markdown]
# ## Modify: which safeguards are necessary?
#
# Each line of the first table takes one safeguard away and searches for the shortest run that
# breaks a promise. Before you run it, say for each of them what will break:
#
# | without | what no longer happens |
# |---|---|
# | `check_back` | the broker asks |
# | `any_producer` | any process of the group is asked, not only the sender |
# | `put_back` | a half that was asked about is written again, so that a later round finds it |
# | `immunity` | a young half is left in peace |
# | `op_topic` | the broker records which halves have ended |
# | `check_limit` | the broker stops asking at some time |
# | `exception_is_unknown` | an exception is taken for UNKNOW, not for ROLLBACK |
# | `consumer_retry` | a message that could not be processed comes again |
# | `idempotent_consumer` | accounting looks the order up before it counts it |
#
# The second table takes nothing away: RocketMQ itself does not make these promises.

# %% tags=["nbval-check-output"]
print(tell_searches())

# %% [markdown]
# The lines of the second table are not bugs that one could report; they are what you get. You have
# met four of them: a late end, an op record that is lost, a COMMIT after a ROLLBACK, and nobody who
# is registered. In `last-check` the answer to the last allowed question comes when the half is
# already parked. In `power-cut` a half is lost because the broker acknowledged it before it was on
# the disk. Hence three rules: watch the parking topic, keep a process registered, and make
# consumers idempotent.

# %% [markdown]
# ## Test: find the flaw of the official example
#
# RocketMQ's own example, `TransactionListenerImpl`, is copied into many order services. In Python,
# with a row for the orders that it means to commit:
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
# Write a test that it does *not* pass. A test is a scenario: its lines are put behind `system
# order_service early=on timeout_ms=0`, with a process `app` and a half that may be asked about at
# once. You have `run app: send-in-transaction orders-0 580538`, `kill app`, `restart app`, `fire
# broker check`, and all that you have seen above. It is run twice: with the example some light must
# be red at the end, and with a right listener none. Two hints wait: `print(STORY.hint(1))`, then
# `print(STORY.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "story"}
# The lines of the test, one below the other. Add what is missing to the first.
story = """
run app: send-in-transaction orders-0 580538
"""
### BEGIN SOLUTION
# The process that is asked is in its next life: its map is empty, and it guesses COMMIT.
story += """
kill app
restart app
fire broker check
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "story-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("story", story)
### END HIDDEN TESTS
check(STORY, story)

# %% [markdown]
# An order that has no row is delivered. As an example of the calls the class is fine. As a listener
# it has two faults: it remembers in the memory of its process, and it guesses COMMIT where it does
# not know.

# %% [markdown]
# ## Make: a listener that answers well
#
# Now write your own. The service takes orders such as `"580538"` and *refuses* those whose number
# begins with C: in the real data these are cancellations, which come in by another way. Each
# function is given the order's number, `db` with `get(key)`, `put(key, value)` and `delete(key)`,
# each of them committed by itself, and `memory`, a dictionary of this one process. Return `COMMIT`,
# `ROLLBACK` or `UNKNOWN` (which Java spells UNKNOW).
#
# Every schedule is tried: the process is killed at each call, connections break, checks come early,
# and another process is asked. Then the process is killed at each of its steps over a real SQLite
# file, and every such run is played to its end. And a check must end what can be ended: an order
# that is refused need not be asked about again. Two hints wait: `print(LISTENER.hint(1))`, then
# `print(LISTENER.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "answering"}
def execute(order: str, db, memory) -> str:
    """The local transaction: what does it come to?"""
    ### BEGIN SOLUTION
    if order.startswith("C"):
        return ROLLBACK
    # An exception is not caught: the client takes it for UNKNOW, and the check looks the row up.
    db.put(order, "paid")
    return COMMIT
    ### END SOLUTION


def check_order(order_id: str, db, memory) -> str:
    """Asked later, perhaps in another process: what became of it?"""
    ### BEGIN SOLUTION
    if order_id.startswith("C"):
        return ROLLBACK
    # No row is no proof that there will be none.
    return UNKNOWN if db.get(order_id) is None else COMMIT
    ### END SOLUTION


answering = (execute, check_order)

# %% nbgrader={"grade": true, "grade_id": "answering-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("answering", answering)
### END HIDDEN TESTS
check(LISTENER, answering)

# %% [markdown]
# ## Transfer: who asks whom elsewhere?
#
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | who decides | the local transaction, in your database | the coordinator, in its log | the coordinator, in its log |
# | what silence means | ask, fifteen times | abort, after a timeout | abort, after a timeout |
# | who must be there later | some process of the producer group | nobody of yours | nobody of yours |
# | what is left when nobody ends it | a half in the parking topic | nothing: it was aborted | nothing: it was aborted |
# | what a consumer must do | be idempotent | read committed | be idempotent, if anything is sent twice |
#
# Kafka and Pulsar can abort in silence because *they* decide. RocketMQ cannot: the decision has
# been made in a database that it does not know, so all that it can do is ask. Of any queue that you
# meet, ask: *what does it make of silence?*

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | COMMIT_MESSAGE was returned, so the broker has committed | the end is one-way; the broker may not have heard of it | Run |
# | the broker asks as soon as something is wrong | in rounds, and not before 6 s | 1 |
# | the sender is asked | any registered process of its group, in turn | 2 |
# | a check must be stateless | it must know what was decided, from a place that every process can read | 2 |
# | no row means ROLLBACK | it may still come: UNKNOW | 3 |
# | a ROLLBACK is final | a COMMIT that comes later still delivers | 3 |
# | checks go on for ever | fifteen, then the parking topic | 4 |
# | an unresolved half is rolled back, or dropped | it is parked; an operator can resume it | 4 |
# | rollback deletes the half; on rollback nothing is done | an op record is written, the half stays | 5 |
# | a check moves nothing | each check writes a copy of the half | 4 |
# | thanks to check-back a lost end never matters | while somebody is registered who can tell | 6 |
# | a transaction delivers its message once | a slow end, a lost op record, a repeated half: twice | 7 |
# | the consumer is part of the transaction | it gets the message at least once, and must be idempotent | 7 |
# | it is delivered until the consumer succeeds | 17 times, then the dead letter queue; broadcasting: once | 8 |
# | transactional messages can be delayed or batched | neither | 9 |
# | catch everything and roll back, to be safe | an exception is no answer: UNKNOW | An article's listener |
# | the official example is safe to copy | it remembers in its process and guesses COMMIT | Test |

# %% [markdown]
# ## Exit ticket
#
# A theatre sells tickets. Its servers are registered under one producer group; all settings are the
# defaults.

# %% jupyter={"source_hidden": true}
Predict("04-exit-ticket")

# %% [markdown]
# **What you know now.** The decision stands in your database, and the broker cannot read it. So it
# asks any process that is registered, in rounds, and after fifteen rounds it stops. As long as it
# asks, a listener that looks the row up turns a loss into a delay; a consumer that looks the order
# up turns two deliveries into one. Next, a
# broker that decides by itself: [the idempotent producer of Kafka](05-idempotent-producer.ipynb)
