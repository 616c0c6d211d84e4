# %% [markdown]
# # Lab 01 · How often does my message arrive?
#
# *60 minutes, or a quick route of 15* · no broker in particular
#
# **In one paragraph.** A shop sends orders to a queue, and accounting takes them from there into its
# books. Links break and processes die, so an order may be lost, or counted twice. In this lab you lose a
# message and find out what the shop can know about it. Then you write the rule that counts each order
# once, although the queue may contain it twice.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 00, or these two terms. A *message queue* keeps messages in a log, between the services
# that write them and the services that read them. An *acknowledgement*, *ack* (确认), is the answer “I have
# it”.

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
    columns,
    continue_scenario,
    explore,
    say,
    scenario,
    system,
)
from mqlab.lessons.patterns.lab01 import (
    CONSUME,
    COUNTING,
    PROMISES,
    compare_promises,
    count_orders,
    deliver,
    first,
    in_words,
    list_heard,
    measure_shares,
)

# %% [markdown]
# ## Is order 580539 in the queue?
#
# These are real orders: customers of a British shop placed them on the morning of 5 December 2011. In
# this lab an order is an invoice with its number and its amount. In the evening the books must contain
# each of them once: *money in = money out*.
#
# The shop sends orders 580538 and 580539. The first arrives. While the second is in flight, the
# connection breaks.

# %% [markdown]
# ## Predict
#
# The shop waits for an answer and gets none. Choose an answer and lock it; then the scenario continues.

# %% jupyter={"source_hidden": true}
answer_lost = deliver("at least once", "lose shop→queue ⇒Publish#2")
Predict("01-silence", trace=answer_lost, step=first(answer_lost, "connection broken"), level="story")

# %% [markdown]
# ## What can the shop see?
#
# The picture shows the queue's log `orders` and the `books` of accounting. *Money* compares the amount
# that customers have ordered with the amount in the books. Two invariants cover the two possible errors.
# Step the picture above to its end. How often is order 580539 counted, and how could the shop have known?
#
# The next cell plays the same fault in the other direction: the *order* is lost, not its acknowledgement.
# It compares what the shop sends and receives in the two cases, and what the queue contains in the end.

# %% tags=["nbval-check-output"]
request_lost = deliver("at least once", "lose shop→queue Publish#2")
assert list_heard(request_lost) == list_heard(answer_lost)
print(say("in both cases the shop …"), *list_heard(answer_lost), sep="\n  ")
for lost, run in {
    say("the order was lost"): request_lost, say("its answer was lost"): answer_lost
}.items():
    in_queue = ", ".join(f"{number} {queue}×" for number, (queue, _) in count_orders(run).items())
    print(say("{lost}: the queue contains {in_queue}", lost=lost, in_queue=in_queue))

# %% [markdown]
# To the shop both cases look exactly the same, so no rule could make it do the right thing in both. If it
# sends again, an order is doubled in one of them; if it does not, an order is lost in the other. More
# messages do not help, since the last one may always be the lost one. (This is known as the *two generals
# problem*.)

# %% [markdown]
# ## Write the rule for accounting
#
# The shop cannot know, and you do not control the queue: it may contain an order twice, at two places of
# its log. Can accounting, at the end of the path, still count each order once? **Write its rule.** For
# each message that accounting gets, the rule returns `"count"` or `"skip"`. Its arguments are
#
# - `position`: the place in the log up to which the queue was read, according to the books,
# - `booked`: the numbers of all orders in the books, oldest first,
# - `offset` (偏移量): the place of this message in the log,
# - `number`: the number of the order in this message,
# - `again`: whether the queue has handed out this offset before.
#
# Accounting writes an amount and its new position in one write. Every schedule of four small scenarios is
# tried: no fault; accounting is killed; the shop sends again; accounting goes back to the first offset.
# Two hints are available: `print(COUNTING.hint(1))`, then `print(COUNTING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "count"}
def count(position: int, booked: tuple[str, ...], offset: int, number: str, again: bool) -> str:
    """What accounting does with a message: "count" or "skip"."""
    ### BEGIN SOLUTION
    # The shop chose the number: it is the same however the order got here.
    return "skip" if number in booked else "count"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "count-test", "points": 5}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("count", count)
### END HIDDEN TESTS
check(COUNTING, count)

# %% [markdown]
# With this rule the queue need not remember anything. The participant at the *end* of the path, which
# knows what an order is, can do alone what all the others could only help with. (Saltzer, Reed and Clark
# called this the *end-to-end argument* in 1984.) Such a reader is *idempotent* (幂等): a repeated message
# changes nothing.

# %% [markdown]
# ## What you know now
#
# Silence proves nothing: a lost order, a lost answer and a slow answer look the same. So the sender must
# send again, and the receiver must recognise what it already has.
#
# The quick route ends here, with 5 of the 8 points. The parts below go deeper, in any order. The next lab
# replaces the one log by two databases: [who decides?](02-who-decides.ipynb)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("01")

# %% [markdown] tags=["deeper"]
# ## Who makes which promise?

# %% [markdown]
# A system can choose which error to risk. Three promises are usual. *At most once* (至多一次): an order is
# never counted twice, and perhaps lost. *At least once* (至少一次): never lost, perhaps counted twice.
# *Exactly once* (精确一次): neither. Four rules of the three participants decide which promise holds:
#
# | participant | the rule | its name here |
# |---|---|---|
# | shop | sends an order again until it is acknowledged | `send_again` |
# | queue | writes an order before it acknowledges it | `append_first` |
# | queue | recognises an order that it has, by its number | `recognise` |
# | accounting | writes amount and position in one write | `one_write` |
#
# At least once keeps the first two. At most once does not send again, and *commits* its position (has the
# queue store it) before it counts. Exactly once keeps all four. The table plays six faults with the
# second order, under each promise. Before you run it: in which cells is an order lost, in which is one
# doubled?

# %% tags=["nbval-check-output"]
faults = {
    "nothing": "",
    "the order is lost on its way": "lose shop→queue Publish#2",
    "its acknowledgement is lost": "lose shop→queue ⇒Publish#2",
    "the queue dies when it has written it": (
        "kill queue when=PublishResponse#2 after=0\nrestart queue"
    ),
    "accounting dies with it in its hands": (
        "kill accounting when=580539 after=0\nrestart accounting"
    ),
    "accounting dies when it has counted it": (
        "kill accounting when=580539 after=1\nrestart accounting"
    ),
}
print(compare_promises(faults))

# %% [markdown]
# Each promise is kept, and each has a cost. At most once costs lost orders, at least once duplicates.
# Exactly once costs a number in each order, a memory in the queue, and a position in the books.
#
# Look at the fourth line. The queue *had* the order and died before it could answer. The shop gets no
# answer, as before. Then look at the last two, where no message is lost at all. An order can go wrong
# inside accounting, even on a perfect network.

# %% [markdown] tags=["deeper"]
# ## What does the reader's commit mean?

# %% [markdown]
# **1. The reader's side.** Accounting does two things with each order: it *counts* it in the books, and
# it *commits* its position. At most once commits first. Here it is killed between the two.

# %% jupyter={"source_hidden": true}
commit_first = scenario("""
# Accounting commits first, and is killed
system delivery off=one_write commit=before
run shop: send 580538:31678, send 580539:31073
kill accounting when=580538 after=0
restart accounting
""")
Predict("01-commit-first", trace=commit_first, step=first(commit_first, "killed"))

# %% [markdown]
# This is *at most once* on the reader's side. The other sequence, first count and then commit, is *at
# least once*: the same crash then leaves the amount in the books and the old position in the queue, and
# the order is counted again. As long as there are two writes, a crash can come between them, whichever is
# first.
#
# **2. Going back.** A committed position looks like an end. Accounting now does what an operator does
# after a mistake in the books: it goes back to offset 0 with `seek`.

# %% jupyter={"source_hidden": true}
rewound = scenario("""
# Accounting has committed both orders, and goes back
system delivery off=one_write
run shop: send 580538:31678, send 580539:31073
run accounting: seek 0
""")
Predict("01-rewind", trace=rewound, step=first(rewound, "seek 0"))

# %% [markdown]
# Everything from offset 0 on is consumed again. An acknowledged order can still be read, and no setting
# of the queue changes that. With all four rules on, the same rewind is harmless, because accounting's
# *own* position records what it has counted:

# %% tags=["nbval-check-output"]
known = scenario("""
# The same with a position in the books
system delivery
run shop: send 580538:31678, send 580539:31073
run accounting: seek 0
""")
for name, run in {
    say("position in the queue"): rewound, say("position in the books"): known
}.items():
    counted = [say("{n} counted {b}×", n=n, b=b) for n, (_, b) in count_orders(run).items()]
    print(f"{name}: {', '.join(counted)}")

# %% [markdown] tags=["deeper"]
# ## Can duplicates come without any fault?

# %% [markdown]
# Here nothing is lost and no process dies. The acknowledgement only takes longer than the 100 ms for
# which the shop waits. Find the step at which the shop decides wrongly. What should it have known?

# %%
slow = scenario("""
# The acknowledgement is only slow
system delivery off=recognise
hold shop→queue ⇒Publish#1
run shop: send 580538:31678
fire shop retry
release shop→queue ⇒Publish#1
""")
assert count_orders(slow) == {"580538": (2, 2)}
Player(slow, step=first(slow, "timer retry"))

# %% [markdown]
# It could not know. *Slow* and *lost* look the same. A longer timeout makes duplicates rarer, and every
# real loss more expensive; it never makes duplicates impossible.

# %% [markdown] tags=["deeper"]
# ## How many orders go wrong?

# %% [markdown]
# So far there was one fault at a chosen place. Now faults come at random: the first twelve orders of the
# day are sent twenty times, via links that lose a given share of messages. Guess first: if 10 % of the
# messages are lost, how many orders are?


# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
LOSSES = [0, 0.1, 0.2, 0.3, 0.4]
measured = {(p, loss): measure_shares(p, loss) for p in PROMISES for loss in LOSSES}
rows = [
    (f"{loss:.0%} lost", *(str(measured[promise, loss]) for promise in PROMISES))
    for loss in LOSSES
]
rows.append(("0% lost, up to 120 ms", *(str(measure_shares(p, 0, 120)) for p in PROMISES)))
print(columns([("messages", *PROMISES), *rows]))

# %% jupyter={"source_hidden": true}
lines = {
    say("at most once: lost"): [measured["at most once", x].lost for x in LOSSES],
    say("at least once: twice"): [measured["at least once", x].doubled for x in LOSSES],
    say("exactly once: either"): [
        measured["exactly once", x].lost + measured["exactly once", x].doubled for x in LOSSES
    ],
}
go.Figure(
    [
        go.Scatter(name=name, x=LOSSES, y=[number / 240 for number in numbers])
        for name, numbers in lines.items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#d97706", "#b91c1c", "#1a7f37"],
        "height": 300,
        "margin": {"t": 50, "b": 50},
        "title": say("Share of 240 orders that went wrong"),
        "xaxis": {"title": say("share of messages lost"), "tickformat": ".0%"},
        "yaxis": {"range": [0, 0.6], "tickformat": ".0%"},
    },
)

# %% [markdown]
# At most once loses about the same share of orders as the link loses of messages. (A lost
# *acknowledgement* costs it nothing, since the shop does not wait for one.) At least once doubles about
# the same share: the orders whose acknowledgement was lost. A lost order is sent again, which only takes
# time. In the last row nothing is lost at all. Messages take up to 120 ms instead of 10, and most orders
# are counted twice.
#
# Move the sliders. With no loss, how slow must the slowest messages be before the first order is
# doubled? The shop's timeout is 100 ms, and an answer needs *two* messages.


# %% jupyter={"source_hidden": true}
def draw_shares(loss=0.1, slowest_ms=10):
    shares = [measure_shares(promise, loss, slowest_ms) for promise in PROMISES]
    return {
        say("lost"): [share.lost / share.orders for share in shares],
        say("counted twice"): [share.doubled / share.orders for share in shares],
    }


chart = go.FigureWidget(
    [
        go.Bar(name=name, x=list(map(in_words, PROMISES)), y=heights)
        for name, heights in draw_shares().items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#d97706", "#b91c1c"],
        "height": 300,
        "margin": {"t": 50, "b": 40},
        "title": say("Share of 240 orders"),
        "yaxis": {"range": [0, 1], "tickformat": ".0%"},
    },
)
how = {"continuous_update": False, "style": {"description_width": "8em"}}
loss = ipywidgets.FloatSlider(0.1, min=0, max=0.5, step=0.05, **how)
delay = ipywidgets.IntSlider(10, min=10, max=200, step=10, **how)
loss.description = say("messages lost")
delay.description = say("slowest, in ms")


def redraw(_):
    for bar, heights in zip(chart.data, draw_shares(loss.value, delay.value).values(), strict=True):
        bar.y = heights


loss.observe(redraw, "value")
delay.observe(redraw, "value")
ipywidgets.VBox([loss, delay, chart])

# %% [markdown] tags=["deeper"]
# ## How few choices count an order twice?

# %% [markdown]
# Now you drive a shop that promises *at least once*. Let it call, deliver its messages or leave them
# waiting, let its timer run out, break connections, kill processes. *How few choices do you need until
# the invariant turns red? How few without any fault?*

# %%
least = f"delivery {PROMISES['at least once']} 'shop=send 580538:31678'"
Playground(continue_scenario(f"# At least once\nsystem {least}"), goal="counted once")

# %% [markdown] tags=["deeper"]
# ## Which participants does exactly once need?

# %% [markdown]
# Each of the three participants can keep its rule or not. The next cell tries all eight combinations, and
# in each of them every schedule with a crash, a broken connection and an impatient shop. Guess first: how
# many of the eight are right?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
ONE_FAULT_EACH = Budget(kills=1, breaks=1, timers=1)
needed = {"shop": "send_again", "queue": "recognise", "accounting": "one_write"}
rows = [(*needed, "red", "in choices")]
for number in range(8):
    kept = [bool(number & bit) for bit in (4, 2, 1)]
    off = ",".join(line for line, keep in zip(needed.values(), kept, strict=True) if not keep)
    verdict = explore(system(f"delivery off={off} 'shop=send 580538:31678'"), ONE_FAULT_EACH)
    assert verdict.complete and not verdict.missing
    red = {name: str(len(found.schedule)) for name, found in verdict.counterexamples.items()}
    marks = ["yes" if keep else "–" for keep in kept]
    rows.append((*marks, ", ".join(red) or "nothing", ", ".join(red.values()) or "–"))
print(columns(rows))

# %% [markdown]
# One of eight is right. Here exactly once needs shop, queue and accounting *together*, and anyone who sells
# it as a feature of one of them sells a third of it. The fourth rule, `append_first`, was on all the
# time. Without it the queue acknowledges orders that are only in its memory. Press *Search*: in how few
# choices is an order lost, although it was acknowledged?

# %%
acknowledged_early = system("delivery off=append_first 'shop=send 580538:31678'")
Explorer(acknowledged_early, Budget(kills=1, killable=("queue",)))

# %% [markdown] tags=["deeper"]
# ## Exactly once, from where to where?

# %% [markdown]
# People mean two different parts of the path when they say *exactly once*:
#
# - **the messaging service**: from the shop into the queue. Each order is *stored* once, however often it
#   is sent;
# - **read, compute, save**: from the queue into the books. Each order *takes effect* once, however often it is read.
#
# The first without the second, with accounting killed after it has counted:

# %% tags=["nbval-check-output"]
service_only = scenario("""
# Stored once, counted twice
system delivery off=one_write
run shop: send 580538:31678
lose shop→queue ⇒Publish#1
kill accounting when=580538 after=1
restart accounting
""")
(stored, counted) = count_orders(service_only)["580538"]
print(say("the queue contains the order {n}×, the books contain it {m}×", n=stored, m=counted))

# %% [markdown]
# So the answer to "does your queue deliver exactly once?" is a question: *from where to where?*

# %% [markdown] tags=["deeper"]
# ## In what sequence must accounting write?

# %% [markdown]
# The books are tables of a database, and accounting keeps its position beside them. After a crash it
# continues from this position, and from the queue's only if it keeps none. The pieces below are the steps
# that accounting may take with an order. Put the needed ones into a sequence in which no order is lost
# and none counted twice. Your sequence is built into accounting, and every schedule with a crash is
# searched. *More than one sequence is right.* Run the cell, then move the pieces: each move is written
# between the brackets of its call. (Without the widget, write the names there yourself.)

# %% nbgrader={"solution": true, "grade_id": "consume"}
order = CONSUME.arrange([
    ### BEGIN SOLUTION
    # Both writes become durable at the database's commit, or neither does. The queue needs nothing.
    "begin", "count", "note", "end"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "consume-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("consume", order)
### END HIDDEN TESTS
check(CONSUME, order)

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | no acknowledgement means that it did not arrive | perhaps only the answer was lost | Predict |
# | a second request settles it | that one can be lost too; slow and lost look alike | *what can the shop see*, *without any fault* |
# | TCP makes it exactly once | inside one connection; the duplicate comes over the next one | *what can the shop see* |
# | committed means done | it only records where to continue; before or after counting, both go wrong | *the reader's commit* |
# | what was acknowledged cannot come again | a rewind reads it again | *the reader's commit* |
# | duplicates come from lost messages | a short timeout alone makes them | *without any fault*, *how many* |
# | exactly once is a feature of the queue | it takes shop, queue and accounting, or one reader that checks | *which participants*, *the rule* |
# | “exactly once” is one promise | stored once and counted once are two | *from where to where* |
# | “again” means that it was counted | it means that it was delivered | *the rule* |

# %% [markdown] tags=["deeper"]
# ## What do real queues promise?

# %% [markdown]
# One article says that all common open-source queues reach at least once and no more. That used to be
# true. Here Kafka's producer, in this project's own Kafka, meets the first fault of this lab: the
# acknowledgement of its second payment is lost.

# %% tags=["nbval-check-output"]
kafka = scenario("""
# The same lost acknowledgement in Kafka
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
print(say("Kafka's log contains:"), *(cell.label for cell in kafka.snapshot(-1).logs[0].cells))

# %% [markdown]
# | | shop → queue | queue → books |
# |---|---|---|
# | RabbitMQ | at least once with publisher confirms, else at most once | ack after counting: at least once; automatic ack: at most once |
# | RocketMQ | at least once: its producer may send twice, and the broker does not recognise it | at least once; consumers must be idempotent |
# | Kafka | stored once within a producer's session (the default of the Java client since 3.0.1, 3.1.1 and 3.2.0) | at least once; exactly once where what is saved is in Kafka too, in one transaction |
# | Pulsar | stored once where deduplication is switched on | at least once; exactly once in one transaction, within Pulsar |
#
# None of them covers the books of *this* lab, which are in your own database.

# %% [markdown] tags=["deeper"]
# ## How often is the driver paid?

# %% [markdown]
# A driver presses *delivered* for parcel 77. Nothing seems to happen, so the driver presses again. Both
# messages reach a queue that promises at least once. The app that pays two pounds per parcel writes the
# money and the parcel's number in one transaction, if the number is not there yet. It is killed right
# after that write, before it has acknowledged anything, and restarts.

# %% jupyter={"source_hidden": true}
Predict("01-exit-ticket")
