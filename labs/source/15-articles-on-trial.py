# %% [markdown]
# # Lab 15 · Articles on trial
#
# *60 minutes, or a short way of 15* · Kafka 4.3, RocketMQ 5.5, Pulsar 4.2
#
# **In one paragraph.** Most of us learn about transactions in message queues from articles, and good articles make
# mistakes too. Three passages are retold here in our own words. You mark the sentences that the engine will refute,
# and then run them: each mark opens the run at the step that tells. Some sentences are true. At the end there are
# four questions for the next article that you read.
#
# **The short way:** Hook, Predict, Mark, Run, What you know now. The other parts are folded under headings that
# begin with *Deeper*. A click on *cells hidden* below a heading opens its part.
#
# **You need** labs 03 and 04 for the first passage, labs 05 to 07 for the second one, and labs 09 and 10 for the
# third one. Or these words. A *half message* (半消息) waits at RocketMQ's broker until its producer says how its
# transaction ends. *Check-back* (回查) is the broker's question when nobody has said so. An *op record* notes that a
# half has ended.

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, met
from mqlab.lessons.lab15 import CONTROL, HALF, PENDING, open_marks, tabulate_others

# %% [markdown]
# ## Hook: it was in an article
#
# An order service answers “your order is placed”, and there is no order. Its author shows you the line:
# the service returns whether the status of the send is `SEND_OK`. *It is from a course that thousands have read.*
#
# You cannot ask the author of an article, and you cannot wait until your own brokers fail. But you can let a
# sentence say what would happen in a run, and then look.

# %% [markdown]
# ## Predict
#
# Before you read, a question about articles themselves.

# %% jupyter={"source_hidden": true}
Predict("15-agree")

# %% [markdown]
# ## Mark: how RocketMQ does it
#
# The next cell prints the first passage. Its title, its place and its year stand above it, and each sentence has a
# name.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(HALF)

# %% [markdown]
# Write the names of the sentences that the engine will refute, with commas between them, as in
# `half_marks = "half-first, unknown"`. All of them, or none, earns nothing. Two hints wait: `print(HALF.hint(1))`, then
# `print(HALF.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "half"}
# The names of the sentences that the engine will refute.
half_marks = ""
### BEGIN SOLUTION
half_marks = "status, mark-first, end-harmless, asks-on"
### END SOLUTION

# %% [markdown]
# **Run: each mark opens its run.**
#
# The next cell locks your marks, so be sure of them first: it says of these, and of no other sentence, what the
# engine says. Choose one in the menu. The line above it says whether the sentence stands, and the run opens at the
# step that tells. *Which process would have had to act otherwise?*

# %%
open_marks(HALF, half_marks)

# %% [markdown]
# The check plays all seven runs. It opens one that speaks against your marks. A mark on a sentence that stands
# comes first, then what you have not marked.

# %% nbgrader={"grade": true, "grade_id": "half-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passage half", half_marks)
### END HIDDEN TESTS
check(HALF, half_marks)

# %% [markdown]
# ## What you know now
#
# A sentence about a queue can be tried: say what a run would show if it were right, and look at the run. Most
# sentences of a good article stand. Those that fall have a word such as *always* or *never* in them, or they leave
# out who does it, and in which order.
#
# **Four questions for the next article that you read:**
#
# 1. **Which version, and which client?** Defaults change, and so do protocols.
# 2. **Who writes what, into which log, and what comes before it?** A sentence without a subject hides the mistake.
# 3. **What if the process dies right there?** If the article has no answer, look for the run.
# 4. **Who can see it, and from which moment on?** Which reader, which partition, and *once* of what?
#
# The short way ends here. The other two passages, and what the other labs have refuted, are below. In the last lab
# the phone rings: [on call](16-on-call.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
met("15")

# %% [markdown] tags=["deeper"]
# ## Deeper: how Kafka does it

# %% [markdown]
# The second passage is longer. Its article is about three brokers, and these sentences are about one of them. A
# *control message* (控制消息) is what the labs call a *marker*. The *high watermark* says up to where a partition is
# replicated.

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
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passage control", control_marks)
### END HIDDEN TESTS
check(CONTROL, control_marks)

# %% [markdown] tags=["deeper"]
# ## Deeper: how Pulsar does it

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
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passage pending", pending_marks)
### END HIDDEN TESTS
check(PENDING, pending_marks)

# %% [markdown] tags=["deeper"]
# ## Deeper: was it ever right?

# %% [markdown]
# Some sentences were right, or nearly so, when they were written. Others were right of one client and not of another.

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
# ## Deeper: what else do these articles say?

# %% [markdown]
# A click on the bar below opens a table. It has the other sentences of five articles that are wrong, imprecise or
# out of date, with the lab that shows it. A and C are the articles of the passages above; B and D are two more
# about Kafka. The fifth one has the text of A in another place.

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(tabulate_others())

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown]
# Put one of the four questions to another page.

# %% jupyter={"source_hidden": true}
Predict("15-exit-ticket")
