# %% [markdown]
# # Lab 16 · On call
#
# *60 minutes, or a quick route of 15* · Kafka 4.3.1, RocketMQ 5.5.0, Pulsar 4.2.4
#
# **In one paragraph.** Five calls at night. Each time you get what an operator gets: a symptom, and what a
# real broker's tool has printed. You say what you believe, look with `mqlab inspect`, try remedies in the
# engine before you would use them on the broker, and write a report. The evidence counts: a right guess
# without it earns nothing.
#
# **The quick route** ends with *What you know now*. The other calls, below it, are folded: click *cells
# hidden* under a heading to open one.
#
# **You need** lab 07 for the first call, labs 06 and 08 for the other two about Kafka, lab 04 for RocketMQ
# and lab 10 for Pulsar. Or these three terms. A *coordinator* (事务协调者) keeps the state of a transaction. A
# *marker* ends it in one partition; until then read_committed consumers stop at the *last stable offset*
# (LSO, 最后稳定偏移量).

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, met
from mqlab.lessons.lab16 import (
    ACKS,
    HANGING,
    MARKER,
    PARKED,
    PENDING,
    look,
    play_on,
    try_remedies,
)

# %% [markdown]
# ## What do you do at twenty past three?
#
# The phone: *“Since midnight no bill has gone out. I have restarted the consumer twice. Shall I restart Kafka?”*
#
# You have one minute before a colleague does it. What is done at night cannot always be undone: a deleted group
# has lost its positions, and an order that is sent again may be delivered twice.

# %% [markdown]
# ## Predict
#
# What do you believe, before you have seen anything?

# %% jupyter={"source_hidden": true}
Predict("16-hanging")

# %% [markdown]
# ## The first call: no bills
#
# This is what a real 4.3.1's tools print that night. *Which producer in the second table is missing from the
# first one?*

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(HANGING.tool)

# %% [markdown]
# The next cell runs `mqlab inspect` on a copy of that broker's data folder. It only reads, and it finds more
# than one thing. Look for the one that explains why no consumer gets anything from `orders`.

# %%
look(HANGING)

# %% [markdown]
# **Try remedies.** The engine has been brought to the same state: a late batch from `ghost` has opened a
# transaction that has ended according to its coordinator. (On the real broker, no coordinator has a record of
# the producer. In both cases no marker is pending.) The next cell continues from there with one remedy at a time.
# *Before you choose one in the menu, say what the reader will get.*

# %%
try_remedies(HANGING)

# %% [markdown]
# **Your report.** Write a value after each name: the partition as `topic-0`, the producer's id, its state at
# the coordinator (`unknown` if there is none), the offset at which the transaction begins, and the remedy by
# its name in the menu. The last line is for the customer: one sentence without jargon. Your teacher reads it.

# %% nbgrader={"solution": true, "grade_id": "hanging"}
hanging = """
partition:
producer:
coordinator:
offset:
remedy:
customer:
"""
### BEGIN SOLUTION
hanging = """
partition: orders-0
producer: 4711
coordinator: unknown
offset: 5
remedy: abort
customer: No order is lost; your bills are late and go out within the hour, each of them once.
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "hanging-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("call hanging", hanging)
### END HIDDEN TESTS
check(HANGING, hanging)

# %% [markdown]
# ## What you know now
#
# A symptom has many causes, and a remedy fits one of them. Three questions come first: **what is open, since
# when, and who is to end it?** A process ends it, or a timeout does. Otherwise you must, and you must name
# it. Try it in the engine before you do it on the broker.
#
# With a broker of your own: `mqlab inspect kafka HOST:PORT`, or `inspect_broker("kafka", …)` from `mqlab.lab`;
# likewise for `rocketmq` and `pulsar`. With `--play`, or `play=True`, it searches for a way to end what is stuck.
#
# The quick route ends here. Four more calls are below, each of a different kind.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
met("16")

# %% [markdown] tags=["deeper"]
# ## The second call: where is the payment?

# %% [markdown]
# *“The customer has a receipt, and accounting has no payment.”*

# %% jupyter={"source_hidden": true}
Predict("16-marker")

# %% [markdown]
# One of two brokers is down. From the disks you have the last line of the coordinator's log, and the
# partition's records. What does `transactionStatus` 2 mean, and which kind of record is missing from the
# second output?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(MARKER.tool)

# %%
look(MARKER)

# %% [markdown]
# Now try the remedies. *Which of them makes the payment appear twice?*

# %%
try_remedies(MARKER)

# %% nbgrader={"solution": true, "grade_id": "marker"}
# The coordinator's state is a word that it uses itself.
marker = """
partition:
producer:
coordinator:
offset:
remedy:
customer:
"""
### BEGIN SOLUTION
marker = """
partition: split-0
producer: 1
coordinator: PrepareCommit
offset: 0
remedy: start-leader
customer: Your payment is safe and was made once; please do not pay again, it shows in some minutes.
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "marker-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("call marker", marker)
### END HIDDEN TESTS
check(MARKER, marker)

# %% [markdown] tags=["deeper"]
# ## The third call: which of two groups is in trouble?

# %% [markdown]
# *“I have restarted billing, and it does not begin. And auditors has had that lag since yesterday.”*

# %% jupyter={"source_hidden": true}
Predict("16-pending")

# %% [markdown]
# The night and the broker are those of the first call, but this time the topic is not the problem.
# *Which transactions are open, and which of them could involve a group?*

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(PENDING.tool)

# %%
look(PENDING)

# %% [markdown]
# How old is the transaction, and what is its timeout? Then try the remedies. *With which remedy is work
# lost, and with which is it done twice?*

# %%
try_remedies(PENDING)

# %% nbgrader={"solution": true, "grade_id": "pending"}
# group: the one that waits; offset: the position that it would have
pending = """
group:
producer:
coordinator:
offset:
remedy:
customer:
"""
### BEGIN SOLUTION
pending = """
group: billing
producer: 1001
coordinator: Ongoing
offset: 3
remedy: wait
customer: Nothing is wrong with your orders; the next bills come within ten minutes.
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "pending-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("call pending", pending)
### END HIDDEN TESTS
check(PENDING, pending)

# %% [markdown] tags=["deeper"]
# ## The fourth call: why is a paid order not shipped?

# %% [markdown]
# *“It is in our database as paid. The stock room has no order.”* This broker is RocketMQ.

# %% jupyter={"source_hidden": true}
Predict("16-parked")

# %% [markdown]
# The broker's disk has these queues. *Which of their names worries you?*

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(PARKED.tool)

# %%
look(PARKED)

# %% [markdown]
# The broker has given up on one half message, and will soon give up on another. Try the remedies.
# *What has to be repaired first?*

# %%
try_remedies(PARKED)

# %% nbgrader={"solution": true, "grade_id": "parked"}
# Of the message that was set aside: the topic where it is, its group, its offset there, its checks.
parked = """
topic:
group:
offset:
checks:
remedy:
customer:
"""
### BEGIN SOLUTION
parked = """
topic: TRANS_CHECK_MAX_TIME_TOPIC
group: order-service
offset: 0
checks: 3
remedy: repair-and-resume
customer: You have paid once and need do nothing; your order leaves the stock room today.
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "parked-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("call parked", parked)
### END HIDDEN TESTS
check(PARKED, parked)

# %% [markdown] tags=["deeper"]
# ## The fifth call: why does no consumer get one message?

# %% [markdown]
# *“One order from before the crash is not billed. The new ones are.”* This broker is Pulsar.

# %% jupyter={"source_hidden": true}
Predict("16-acks")

# %% [markdown]
# No message is unacknowledged, yet three are not done. *Where could they be?* Two transactions are
# open, and one of them is not yours. Aborting the wrong one would take back another team's work.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(ACKS.tool)

# %%
look(ACKS)

# %%
try_remedies(ACKS)

# %% nbgrader={"solution": true, "grade_id": "acks"}
# transaction: its two numbers, as in (1,2)
acks = """
subscription:
transaction:
state:
remedy:
customer:
"""
### BEGIN SOLUTION
acks = """
subscription: billing
transaction: (0,7)
state: OPEN
remedy: abort
customer: One bill was held up when a machine of ours failed; you get it today, and only once.
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "acks-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("call acks", acks)
### END HIDDEN TESTS
check(ACKS, acks)

# %% [markdown] tags=["deeper"]
# ## Can you find a remedy of your own?

# %% [markdown]
# Here are the brokers of the second call: the engine continues from what is on their disks, as after a restart of
# both. The commit is decided, and its marker is missing. *Can you lose the payment?* Kill any process, between
# any two steps. The next cell takes `HANGING`, `PENDING`, `PARKED` and `ACKS` as well.

# %%
play_on(MARKER)

# %% [markdown] tags=["deeper"]
# ## One last question

# %% jupyter={"source_hidden": true}
Predict("16-exit-ticket")
