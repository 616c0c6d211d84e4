# %% [markdown]
# # Lab 01 · How often does my message arrive?
#
# *At most once, at least once, exactly once: who decides?* · 60 minutes · no broker in particular
#
# **In one paragraph.** A shop sends orders to a queue, and accounting takes them from there into its
# books. Links break and processes die, so an order may be lost or counted twice. Three promises are
# usual: *at most once*, *at least once*, *exactly once*. You see that none of them is a property of
# the network, nor of the queue alone: each is made by four lines of program, in the shop, in the queue
# and in accounting. You find the shortest run that needs each line, measure how many orders are lost
# or doubled, and write the rule that counts each order once.
#
# **Contents.** Hook · Predict · Run · Three promises · Investigate · How often? · Find the shortest run ·
# Modify · Two meanings of exactly once · Put it into order · Make · Transfer · Exit ticket
#
# **Words.** *Acknowledgement*, *ack* (确认): the answer "I have it". *At most once* (至多一次): never
# twice, perhaps lost. *At least once* (至少一次): never lost, perhaps twice. *Exactly once* (精确一次):
# neither. *Offset* (位移): the place of a message in the queue's log. *Position*: the offset at which a
# reader goes on. *To commit* a position: to have the queue write it down.

# %%
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
from mqlab.lessons.patterns.lab01 import (
    CONSUME,
    COUNTING,
    PROMISES,
    compare_promises,
    count_orders,
    deliver,
    first,
    list_heard,
    measure_shares,
)

# %% [markdown]
# ## Hook: an order too many
#
# These are real orders: what customers of a British shop bought on the morning of 5 December 2011. In
# this lab an order is an invoice with its number and its amount. In the evening the books must hold
# each of them once: *money in = money out*.
#
# The shop sends orders 580538 and 580539. The first arrives. While the second is under way, the
# connection breaks.

# %% [markdown]
# ## Predict
#
# The shop waits for an answer and hears nothing. Lock your answer, then run on.

# %% jupyter={"source_hidden": true}
answer_lost = deliver("at least once", "lose shop→queue ⇒Publish#2")
Predict("01-silence", trace=answer_lost, step=first(answer_lost, "connection broken"))

# %% [markdown]
# ## Run
#
# The picture shows the queue's log `orders` and accounting's `books`, the money that customers have
# ordered and that in the books, and two lights, one for each way to go wrong.
#
# Now the same fault on the other half of the way: the *order* is lost, and not its acknowledgement. The
# next cell compares the two runs: what the shop does and hears, and what the queue holds in the end.

# %% tags=["nbval-check-output"]
request_lost = deliver("at least once", "lose shop→queue Publish#2")
assert list_heard(request_lost) == list_heard(answer_lost)
print("in both runs the shop …", *list_heard(answer_lost), sep="\n  ")
for lost, run in {"the order": request_lost, "its answer": answer_lost}.items():
    in_queue = ", ".join(f"{number} {queue}×" for number, (queue, _) in count_orders(run).items())
    print(f"{lost} was lost: the queue holds {in_queue}")

# %% [markdown]
# To the shop both runs are the same, to the last letter. So there is no rule by which the shop could do
# the right thing in both: if it sends again, the second run doubles; if it does not, the first one loses.
# More messages do not help, for the last one may always be the one that is lost. (This is known as the
# problem of the *two generals*.)

# %% [markdown]
# ## Three promises
#
# What can be chosen is on which side to err. Three participants, and four lines that decide:
#
# | participant | the line | its name here |
# |---|---|---|
# | shop | sends an order again until it is acknowledged | `send_again` |
# | queue | writes an order before it acknowledges it | `append_first` |
# | queue | recognises an order that it has, by its number | `recognise` |
# | accounting | writes amount and position in one write | `one_write` |
#
# *At least once* keeps the first two. *At most once* does not send again, and commits its position
# before it counts. *Exactly once* keeps all four. Six things happen to the second order, under each
# promise. Before you run it: in which cells is an order lost, in which is one doubled?

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
# Each promise keeps its word, and pays on the other side. Exactly once pays too: with a number in each
# order, a memory in the queue, and a position in the books.
#
# Look at the fourth line. The queue *had* the order and died before it could say so: for the shop this
# is silence like any other. And look at the last two, where no message is lost at all. An order can go
# wrong on a perfect network, inside accounting.

# %% [markdown]
# ## Investigate
#
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
# This is *at most once* seen from the reader. The other order, first count and then commit, is *at least
# once*: the same kill then leaves the amount in the books and the position behind, and the order is
# counted again. As long as there are two writes there is a moment between them, whichever comes first.
#
# **2. Going back.** A committed position looks like an end. Accounting now does what an operator does
# after a mistake in the books: it rewinds.

# %% jupyter={"source_hidden": true}
rewound = scenario("""
# Accounting has committed both orders, and goes back
system delivery off=one_write
run shop: send 580538:31678, send 580539:31073
run accounting: seek 0
""")
Predict("01-rewind", trace=rewound, step=first(rewound, "seek 0"))

# %% [markdown]
# Everything after the older place is consumed again. Acknowledging an order did not make it impossible
# to read it, and no setting of the queue would. With all four lines on, the same rewind is harmless,
# because accounting's *own* position says what it has counted:

# %% tags=["nbval-check-output"]
known = scenario("""
# The same with a position in the books
system delivery
run shop: send 580538:31678, send 580539:31073
run accounting: seek 0
""")
for name, run in {"position in the queue": rewound, "position in the books": known}.items():
    print(f"{name}: {', '.join(f'{n} counted {b}×' for n, (_, b) in count_orders(run).items())}")

# %% [markdown]
# **3. Impatience.** Here nothing is lost and nobody dies. The acknowledgement only takes longer than the
# 100 ms for which the shop is willing to wait. Find the step at which the shop decides wrongly, and say
# what it should have known.

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
# It could not know. *Slow* and *lost* are the same silence, so a longer patience makes duplicates rarer
# and every real loss dearer; it never makes them impossible.

# %% [markdown]
# ## How often?
#
# So far one fault at a chosen place. Now the dice: the first twelve orders of the day, twenty times each,
# over links that lose one message in so many. Say first: if 10 % of the messages are lost, how many
# orders are?


# %% tags=["nbval-check-output"]
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
    "at most once: lost": [measured["at most once", x].lost for x in LOSSES],
    "at least once: twice": [measured["at least once", x].doubled for x in LOSSES],
    "exactly once: either": [
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
        "title": "Share of 240 orders that went wrong",
        "xaxis": {"title": "share of messages lost", "tickformat": ".0%"},
        "yaxis": {"range": [0, 0.6], "tickformat": ".0%"},
    },
)

# %% [markdown]
# At most once loses about as many orders as the link loses messages. (A lost *acknowledgement* costs it
# nothing: nobody waits for one.) At least once doubles about as many: those whose acknowledgement was
# lost. An order that itself was lost is sent again, and that costs only time. And the last row: nothing
# is lost at all, messages only take up to 120 ms instead of 10, and most orders are counted twice.
#
# Move the sliders. With no loss, how slow must the slowest messages be before the first order is
# doubled? The shop's patience is 100 ms, and an answer needs *two* messages.


# %% jupyter={"source_hidden": true}
def draw_shares(loss=0.1, slowest_ms=10):
    shares = [measure_shares(promise, loss, slowest_ms) for promise in PROMISES]
    return {
        "lost": [share.lost / share.orders for share in shares],
        "counted twice": [share.doubled / share.orders for share in shares],
    }


chart = go.FigureWidget(
    [go.Bar(name=name, x=list(PROMISES), y=heights) for name, heights in draw_shares().items()],
    layout={
        "template": "plotly_white",
        "colorway": ["#d97706", "#b91c1c"],
        "height": 300,
        "margin": {"t": 50, "b": 40},
        "title": "Share of 240 orders",
        "yaxis": {"range": [0, 1], "tickformat": ".0%"},
    },
)
how = {"continuous_update": False, "style": {"description_width": "8em"}}
loss = ipywidgets.FloatSlider(0.1, min=0, max=0.5, step=0.05, description="messages lost", **how)
delay = ipywidgets.IntSlider(10, min=10, max=200, step=10, description="slowest, in ms", **how)


def redraw(_):
    for bar, heights in zip(chart.data, draw_shares(loss.value, delay.value).values(), strict=True):
        bar.y = heights


loss.observe(redraw, "value")
delay.observe(redraw, "value")
ipywidgets.VBox([loss, delay, chart])

# %% [markdown]
# ## Find the shortest run that counts an order twice
#
# Below is the shop at least once, under your hand: let it call, deliver, hold back (what you do not
# deliver waits), let its timer run out, break connections, kill. *How few choices do you need until the
# light turns red? How few without any fault?*

# %%
least = f"delivery {PROMISES['at least once']} 'shop=send 580538:31678'"
Playground(continue_scenario(f"# At least once\nsystem {least}"), goal="counted once")

# %% [markdown]
# ## Modify: who is needed for exactly once?
#
# Each of the three participants can keep its line or not. The next cell tries all eight combinations,
# and in each of them every schedule with a kill, a broken connection and an impatient shop. Guess first:
# how many of the eight are right?

# %% tags=["nbval-check-output"]
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
    rows.append((*marks, ", ".join(red) or "no light", ", ".join(red.values()) or "–"))
print(columns(rows))

# %% [markdown]
# One of eight. Exactly once needs shop, queue and accounting *together*, and whoever sells it as a
# feature of one of them sells a third. The fourth line, `append_first`, was on all the time. Without it
# the queue acknowledges what it has only in its memory: press *Search*, and see in how few choices an
# order is lost that the shop was told is safe.

# %%
acknowledged_early = system("delivery off=append_first 'shop=send 580538:31678'")
Explorer(acknowledged_early, Budget(kills=1, killable=("queue",)))

# %% [markdown]
# ## Two meanings of exactly once
#
# People mean two different stretches of the way when they say *exactly once*:
#
# - **the messaging service's**: from the shop into the queue. Each order is *stored* once, however often
#   it is sent;
# - **that of read, compute, save**: from the queue into the books. Each order *takes effect* once,
#   however often it is read.
#
# The first without the second, with accounting killed once it has counted:

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
print(f"the queue holds the order {stored}×, the books hold it {counted}×")

# %% [markdown]
# So the answer to "does your queue deliver exactly once?" is a question: *from where to where?*

# %% [markdown]
# ## Put it into order
#
# These are pieces of what accounting may do with an order that it was handed. Put those that are needed
# into an order in which no order is lost and none counted twice. Each order you try is built into
# accounting, and every schedule with a kill is searched. *More than one order is right.* Run the cell,
# then move the pieces: each move is written between the brackets of its call. (Without the widget, write
# the names there yourself.)

# %% nbgrader={"solution": true, "grade_id": "consume"}
order = CONSUME.arrange([
    ### BEGIN SOLUTION
    # Where two things must happen together, make them one. The queue need not know.
    "both"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "consume-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("consume", order)
### END HIDDEN TESTS
check(CONSUME, order)

# %% [markdown]
# ## Make: write the rule that counts each order once
#
# Now the queue is one that you do not control: it may hold an order twice, at two offsets. Accounting
# still writes amount and position in one write. For each message that it is handed it asks your rule,
# which is given
#
# - `position`: how far, by the books, the queue was read,
# - `booked`: the numbers of all orders in the books, oldest first,
# - `offset` and `number` of the message,
# - `again`: whether the queue has handed out this offset before.
#
# Say `"count"` or `"skip"`. Every schedule of four small stories is tried: nothing happens; accounting
# is killed; the shop sends again to a queue that does not look; accounting rewinds. Two hints wait, if
# you want them: `print(COUNTING.hint(1))`, then `print(COUNTING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "count"}
def count(position: int, booked: tuple[str, ...], offset: int, number: str, again: bool) -> str:
    """What accounting does with a message: "count" or "skip"."""
    ### BEGIN SOLUTION
    # The number is the shop's own: it is the same however the order came here.
    return "skip" if number in booked else "count"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "count-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("count", count)
### END HIDDEN TESTS
check(COUNTING, count)

# %% [markdown]
# With this rule the queue's own memory is no longer needed: whoever stands at the *end* of the way and
# knows what an order is can do alone what all those in between could only help with. (Saltzer, Reed and
# Clark called this the *end-to-end argument* in 1984.) In most systems this is the cheapest exactly once:
# at least once on the way, and a reader that is *idempotent* (幂等): doing it again changes nothing.

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | no acknowledgement means that it did not arrive | the answer may be what was lost | Predict |
# | a second question settles it | that question can be lost too; slow and lost look alike | Run, Investigate 3 |
# | TCP makes it exactly once | inside one connection; the duplicate comes over the next one | Run |
# | committed means done | it is a note where to go on; before or after counting, both go wrong | Investigate 1 |
# | what was acknowledged cannot come again | a rewind reads it again | Investigate 2 |
# | duplicates come from lost messages | impatience alone makes them | Investigate 3, How often? |
# | exactly once is a feature of the queue | it takes shop, queue and accounting | Modify |
# | “exactly once” says what is promised | stored once and counted once are two promises | Two meanings |
# | “again” means that it was counted | it means that it was handed out | Make |

# %% [markdown]
# ## Transfer: what do real queues promise?
#
# Articles say that all common open-source queues reach at least once and no more. That was true once.
# Here Kafka's producer, in this project's own Kafka, meets the fault of the beginning: the
# acknowledgement of its second payment is lost.

# %% tags=["nbval-check-output"]
kafka = scenario("""
# The same lost acknowledgement in Kafka
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
print("Kafka's log holds:", *(cell.label for cell in kafka.snapshot(-1).logs[0].cells))

# %% [markdown]
# | | shop → queue | queue → books |
# |---|---|---|
# | RabbitMQ | at least once with publisher confirms, else at most once | ack after counting: at least once; automatic ack: at most once |
# | RocketMQ | at least once: its producer may send twice, and nothing recognises it | at least once; consumers must be idempotent |
# | Kafka | stored once within a producer's session (the default of the Java client since 3.0) | at least once; exactly once where what is saved is in Kafka too, in one transaction |
# | Pulsar | stored once where deduplication is switched on | at least once; exactly once in one transaction, within Pulsar |
#
# In all of them the books of *this* lab, a database of your own, stay your own affair.

# %% [markdown]
# ## Exit ticket
#
# A driver presses *delivered* for parcel 77. Nothing seems to happen, so the driver presses again. Both
# messages reach a queue that is at least once. The app that pays two pounds per parcel writes the money
# and the parcel's number in one transaction, if the number is not there yet. It is killed right after
# that write, before it has acknowledged anything, and starts again.

# %% jupyter={"source_hidden": true}
Predict("01-exit-ticket")

# %% [markdown]
# **What you know now.** Silence says nothing. Send again or not, commit before or after: each choice
# errs on one side, and exactly once is made at the end of the way, from a number that stays the same and
# one write. Next: [who decides?](02-who-decides.ipynb)
