# %% [markdown]
# # Lab 15 · Articles on trial
#
# *60 minutes, or a quick route of 15* · Kafka 4.3, RocketMQ 5.5, Pulsar 4.2
#
# **In one paragraph.** Most of us learn about transactions in message queues from articles, and good articles
# make mistakes too. Three passages are retold here in our own words. You mark the sentences that the engine
# will refute, and then run them: each mark opens an example at the step that decides. Some sentences are
# true. At the end there are four questions for the next article that you read.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden* under
# a heading to open one.
#
# **You need** labs 03 and 04 for the first passage, labs 05 to 07 for the second one, and labs 09 and 10 for
# the third one. Or these words. A *half message* (半消息) waits at RocketMQ's broker until its producer ends its
# transaction. *Check-back* (回查) is the broker's question when no end has arrived. An *op record* records that
# a half message has ended.

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, met
from mqlab.lessons.lab15 import CONTROL, HALF, PENDING, open_marks, tabulate_others

# %% [markdown]
# ## Can you trust what an article says?
#
# An order service answers “your order is placed”, and there is no order. Its developer shows you the line:
# the service returns whether the status of the send is `SEND_OK`. *It is from a course that thousands have
# read.*
#
# You cannot ask the author of an article, and you cannot wait until your own brokers fail. But a sentence
# predicts what happens in an execution, and you can check whether it does.

# %% [markdown]
# ## Predict
#
# Before you read, a question about articles themselves.

# %% jupyter={"source_hidden": true}
Predict("15-agree")

# %% [markdown]
# ## Mark: how RocketMQ does it
#
# The next cell prints the first passage. Its title, its source and its year are above it, and each sentence
# has a name.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(HALF)

# %% [markdown]
# Write the names of the sentences that the engine will refute, with commas between them, as in `half_marks =
# "half-first, unknown"`. Marking all of them, or none, earns nothing. Two hints are available:
# `print(HALF.hint(1))`, then `print(HALF.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "half"}
# The names of the sentences that the engine will refute.
half_marks = ""
### BEGIN SOLUTION
half_marks = "status, mark-first, end-harmless, asks-on"
### END SOLUTION

# %% [markdown]
# **Run: each mark opens its example.**
#
# The next cell locks your marks, so be sure of them first: it shows the engine's verdict on these sentences,
# and on no others. Choose one in the menu. The line above it says whether the sentence is right, and the
# example opens at the step that decides. *Which process would have had to act differently?*

# %%
open_marks(HALF, half_marks)

# %% [markdown]
# The check plays all seven examples. It opens one that contradicts your marks: first a mark on a sentence
# that is right, then a wrong sentence without a mark.

# %% nbgrader={"grade": true, "grade_id": "half-test", "points": 4}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("passage half", half_marks)
### END HIDDEN TESTS
check(HALF, half_marks)

# %% [markdown]
# ## What you know now
#
# A sentence about a queue can be tested: say what an execution would show if it were right, and look. Most
# sentences of a good article are right. The wrong ones contain a word such as *always* or *never*, or they
# omit which process acts, and in what sequence.
#
# **Four questions for the next article that you read:**
#
# 1. **Which version, and which client?** Defaults change, and so do protocols.
# 2. **Who writes what, into which log, and what comes before it?** A sentence without a subject hides the mistake.
# 3. **What if the process dies right there?** If the article has no answer, look for an example.
# 4. **Who can see it, and from which moment on?** Which reader, which partition, and *once* of what?
#
# The quick route ends here. The other two passages, and what the other labs have refuted, are below. In the
# last lab the phone rings: [on call](16-on-call.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
met("15")

# %% [markdown] tags=["deeper"]
# ## Which sentences about Kafka are wrong?

# %% [markdown]
# The second passage is longer. Its article is about three brokers, and these sentences are about one of them.
# A *control message* (控制消息) is what the labs call a *marker*. The *high watermark* is the offset up to which
# a partition is replicated.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(CONTROL)

# %% nbgrader={"solution": true, "grade_id": "control"}
# The names of the sentences that the engine will refute.
control_marks = ""
### BEGIN SOLUTION
control_marks = """
gap-is-loss, epoch-at-init, client-writes, moves-hw, uncommitted-buffers, broker-filters,
drives-consumers
"""
### END SOLUTION

# %%
open_marks(CONTROL, control_marks)

# %% nbgrader={"grade": true, "grade_id": "control-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("passage control", control_marks)
### END HIDDEN TESTS
check(CONTROL, control_marks)

# %% [markdown] tags=["deeper"]
# ## Which sentences about Pulsar are wrong?

# %% [markdown]
# The third passage is from the same article. A *pending acknowledgement* is one whose transaction has not ended.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(PENDING)

# %% nbgrader={"solution": true, "grade_id": "pending"}
# The names of the sentences that the engine will refute.
pending_marks = ""
### BEGIN SOLUTION
pending_marks = """
aborted-gone, together, client-keeps, pending-locks, never-blocks, once-whatever
"""
### END SOLUTION

# %%
open_marks(PENDING, pending_marks)

# %% nbgrader={"grade": true, "grade_id": "pending-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("passage pending", pending_marks)
### END HIDDEN TESTS
check(PENDING, pending_marks)

# %% [markdown] tags=["deeper"]
# ## Was it ever right?

# %% [markdown]
# Some sentences were right, or nearly so, when they were written. Others were right for one client and not
# for another.

# %% jupyter={"source_hidden": true}
Predict("15-newer")

# %% [markdown]
# | sentence | it was right | it is not, because |
# |---|---|---|
# | *epoch-at-init* | never quite: with `transaction.version` 0 a commit leaves the epoch, but a timeout's abort raises it | with version 2 each end raises it as well |
# | a retry duplicates by default | before Java's 3.0.1, 3.1.1 and 3.2.0 | Java's producer is idempotent by default; librdkafka's still is not. That covers the retries of one session; what an application or a restarted producer sends again is stored again |
# | partitions are added before the first send | before `transaction.version` 2 | the leader that takes the first record adds its partition |
# | Kafka has no acknowledgement per message | before share groups | share groups have one, outside of transactions |

# %% [markdown] tags=["deeper"]
# ## What else do these articles say?

# %% [markdown]
# A click on the bar below opens a table. It lists the other sentences of five articles that are wrong,
# imprecise or out of date, with the lab that shows it. A and C are the articles of the passages above; B and
# D are two more about Kafka. The fifth one repeats the text of A elsewhere.

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(tabulate_others())

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# Ask one of the four questions about another page.

# %% jupyter={"source_hidden": true}
Predict("15-exit-ticket")
