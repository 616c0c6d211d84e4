# %% [markdown]
# # Lab 14 · The real thing
#
# *60 minutes, or a short way of 25* · Kafka 4.3.1 and 4.2.1, RocketMQ 5.5.0 and 4.9.7, Pulsar 4.2.4
#
# **In one paragraph.** Every run of this course came from an *engine* (引擎), a model of three brokers. Is it
# true? In this lab one client program asks the engine and a real broker, and you lay their answers side by
# side. You excuse three differences, with reasons, and nothing else. Then you write the rule that finds a fault
# of a real broker in what was recorded of it, and see how one tells its makers.
#
# **The short way:** Hook, Predict, Run, Three differences, Find the loss, What you know now. The other parts are folded under
# headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part.
#
# **You need** lab 06 for the order of a commit, and lab 07 for the *last stable offset* (LSO, 最后稳定偏移量) and the
# *high watermark* (HW, 高水位). A real broker is not needed: what one answered is *recorded* (录制).

# %% jupyter={"source_hidden": true}
from mqlab.lab import Follow, Predict, check
from mqlab.lessons.lab14 import (
    EXCUSES,
    LOST,
    ask_both,
    compare_kills,
    first,
    kill_newer,
    list_ignored,
    list_told,
    play_file,
    play_lost,
    read_laid,
    read_report,
    serve,
)

# %% [markdown]
# ## Hook: would you call the makers of Kafka because of this picture?
#
# A payment is sent in a transaction. For a while its partition has no leader, as in any outage, and in this while
# the producer commits. Drag the slider to the commit, and then to the end. *Who was told ok, and who can read the
# payment?*

# %% jupyter={"source_hidden": true}
play_lost()

# %% [markdown]
# Nobody can read it, ever. No process was killed, and money is gone. But this is a picture that a program of ours
# has drawn. Before you tell anybody, you need to know whether a real Kafka does the same.

# %% [markdown]
# ## Predict
#
# First the ordinary case. One program, which is not ours, speaks to both.

# %% jupyter={"source_hidden": true}
Predict("14-lines")

# %% [markdown]
# ## Run: one program, two brokers
#
# The next cell starts the engine behind a socket, where any Kafka client can reach it, and follows it in a
# picture. Run it, and then the cell below it: there the client's program tells its story, and the picture moves.

# %% tags=["volatile"]
engine = serve(auto_create=False)
live = Follow(engine.trace_url)
live

# %% tags=["nbval-check-output"]
(told,) = ask_both("client-confluent-kafka", engine=engine, real=False)
told

# %% [markdown]
# The column in the middle is a real Kafka, started from its published jars and recorded. If this machine has
# Java 17 and Maven, write `real=True` and run the cell again: then a real broker is started here and now, and the
# answers are its own. The first time it fetches 45 MB.

# %% [markdown]
# ## Three differences
#
# Equal lines are half of the truth. The next two programs ask what few clients ask: a fetch across two files of a
# log, and compressed records that say something wrong about themselves. A `≠` stands where the two differ: in
# five lines, which are three differences.

# %% tags=["nbval-check-output"]
for laid in ask_both("segments", "claimed-in-compressed"):
    display(laid)

# %% [markdown]
# A difference is mended, or it is *excused* (豁免) with a reason that one can argue about. An excuse is a pattern of the
# question, and it must be as narrow as it can: what it covers will never be looked at again. These reasons are
# offered, and half of them are excuses of another kind:
#
# | reason | says |
# |---|---|
# | `one-log` | The engine keeps a log in one piece. A real broker answers from one file of several, and the client asks again from where it is. |
# | `not-opened` | The real broker takes compressed records without looking at their lengths, and the engine refuses what nobody could read. |
# | `numbers` | The real broker finds offsets that are not in order, wants to number compressed records again, and lacks what it would need for that. The engine stores them. |
# | `timing` | The two were asked at different moments. |
# | `client` | The two were asked by different clients. |
# | `broken` | The engine is wrong here, and must be mended. |
#
# Write a line per difference, as in `Fetch @7 read_committed: timing`. In a pattern `*` stands for anything, so one
# pattern can take several lines. Two hints wait: `print(EXCUSES.hint(1))`, then `print(EXCUSES.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "excuses"}
# QUESTION: REASON, a line per difference.
excuses = ""
### BEGIN SOLUTION
# The lines with ≠, and none of the others: `Fetch*` would take three that are equal.
excuses = """
Fetch @0 read_committed: one-log
Produce a record of *, gzip: not-opened
Produce an offset delta -1, gzip: numbers
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "excuses-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("excuses", excuses)
### END HIDDEN TESTS
check(EXCUSES, excuses)

# %% [markdown]
# ## Find the loss
#
# Back to the payment of the hook. Here is what a real 4.3.1 answered: three brokers, of which the one with the
# partition was stopped in an orderly way, and started again. *Which two lines contradict each other?*

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
read_laid("kafka-4.3.1/tv2/leaderless-marker")

# %% [markdown]
# `CompleteCommit` says that every marker is written, so nobody will write one. `LSO=0` says that the partition still
# waits for one. The coordinator dropped the marker because the partition had no leader when it was to leave
# (KAFKA-20734). So the picture of the hook is true of this release.
#
# Who finds such a fault among thousands of lines? A rule, and you write it. It is asked at each moment of
# the recordings at which somebody looked into a partition, about one producer:
#
# | argument | what it is |
# |---|---|
# | `commit` | what the producer's last commit was told: `"ok"`, an error, `""` if it never asked |
# | `state` | what the coordinator said last: `"Ongoing"`, `"PrepareCommit"`, `"CompleteCommit"` … |
# | `hw`, `lso` | the high watermark and the last stable offset of the partition |
# | `open_since` | the first offset of the producer's transaction that the partition takes for open; −1 without one |
#
# It answers True if an acknowledged commit is lost, and False as long as it may still become visible. The first
# line below is the loss that you have seen. For points there is one more, among more than 250 moments without one.
# Some moments are asked a second time, with another answer to the last commit.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_told())

# %% [markdown]
# Two hints wait: `print(LOST.hint(1))`, then `print(LOST.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "lost"}
def lost(commit, state, hw, lso, open_since):
    """Whether an acknowledged commit is lost."""
    ### BEGIN SOLUTION
    # The client believes, the coordinator owes nothing any more, and the partition still waits.
    return commit == "ok" and state == "CompleteCommit" and open_since >= 0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lost-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("lost", lost)
### END HIDDEN TESTS
check(LOST, lost)

# %% [markdown]
# ## What you know now
#
# A model is not true or false. It agrees with a real broker on the questions that were asked, of the release that
# was asked, and it says where it does not. The engine is held against hundreds of recordings in this way, and each
# difference has its row with a reason (`datasets/recordings/DIFFERENCES.md`).
#
# The short way ends here, and all points of this lab are in it. The next lab asks how to read
# what others write about brokers: [lab 15](15-articles-on-trial.ipynb).

# %% [markdown] tags=["deeper"]
# ## Deeper: how does one tell the makers?

# %% [markdown]
# Makers of a broker have no use for our picture, and none for our recordings. What they need is short: which
# release, which steps, what should happen, what does happen, and a program that shows it on *their* machine.
#
# 1. **Look whether it is known.** This one is. Then a program that shows it is worth more than one more report.
# 2. **Take everything away that is not needed.** No kill, no second producer, no load: three brokers, one record,
#    one orderly stop.
# 3. **Say what you expected, and why**: a sentence of their documentation.
# 4. **Run it on a release that does it right**, too, if there is one.
#
# The program is `labs/reports/kafka-lost-marker/lost_marker.py`. It imports nothing of this project. It needs
# Java 17 and the folder of jars of a Kafka distribution:
#
# ```
# python labs/reports/kafka-lost-marker/lost_marker.py ~/kafka_2.13-4.3.1/libs
# ```
#
# A real 4.3.1 loses the payment in it. A real 4.2.1 delivers it: the fault came with a new release.
# The next cell shows the page that belongs to the program. *Which of its sentences could you leave out?*

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_report())

# %% [markdown] tags=["deeper"]
# ## Deeper: does the next release answer alike?

# %% [markdown]
# A recording speaks for one release. Here is RocketMQ 5.5, in which op records wait in memory before they are
# written.

# %% jupyter={"source_hidden": true}
newer = kill_newer()
seen = ("diagram", "logs")
Predict("14-release", trace=newer, step=first(newer, "killed"), panels=seen, told=seen)

# %% [markdown]
# Now the same story in 4.9, which writes each op record at once, beside it. *At which of the three moments do they
# part?*

# %% jupyter={"source_hidden": true}
compare_kills()

# %% [markdown]
# And the same program at the two real brokers:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
name = "op-lost-by-a-kill"
read_laid(f"rocketmq-4.9.7/4.9/{name}", f"rocketmq-5.5.0/5.5/{name}")

# %% [markdown]
# Nothing in the client has changed, nor in the program. The newer release is faster, and a kill at the wrong moment
# now delivers an order twice. A consumer that knows orders by their numbers does not mind.

# %% [markdown] tags=["deeper"]
# ## Deeper: do an older and a newer client do the same?

# %% [markdown]
# The story of the short way was told to a real 4.3.1 by 16 clients. Below are two releases of the Java
# client, 2.3.1 of 2019 and 4.4.0. Guess first where they differ:
# in the commit, in what readers get, or in the log? The table leaves out the lines in which they agree.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
name = "client-kafka-clients"
read_laid(f"kafka-4.3.1/tv2-legacy/{name}-2.3.1", f"kafka-4.3.1/tv2/{name}-4.4.0", only=True)

# %% [markdown]
# Readers get the same. In the log, the newer client has another epoch after each end, so that a late record cannot
# land in the next transaction (KIP-890, lab 06). And the one that is fenced hears it under another name: a program
# that catches `ProducerFencedException` only is surprised by an update of its client.

# %% [markdown] tags=["deeper"]
# ## Deeper: what may differ without being different?

# %% [markdown]
# Before two answers are compared, something is taken out of both. This list is as important as the table of
# differences, because nobody will ever see what is in it.

# %% jupyter={"source_hidden": true}
print(list_ignored())

# %% [markdown]
# Numbers of producers are not just taken out, but renamed in the order in which they appear. *What would be missed if
# each of them became the same letter?*

# %% [markdown] tags=["deeper"]
# ## Deeper: do the others have such faults?

# %% [markdown]
# Pulsar 4.2.4: a client that has not heard of its commit sends one more message. It is taken; and when it is given up, so
# is what the transaction had committed. *Which message does the second subscription not get?*

# %% jupyter={"source_hidden": true}
play_file("pulsar/late-write-hides-committed", recorded="late-write-hides-committed")

# %% [markdown]
# RocketMQ 5.5: the last check is answered COMMIT, and the next round comes before the op record is written. The order
# is delivered, *and* it is parked in `TRANS_CHECK_MAX_TIME_TOPIC`, as if nobody had ever decided.

# %% jupyter={"source_hidden": true}
play_file("rocketmq/committed-and-parked")

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | a model is true or it is not | it agrees on the questions that were asked | Run |
# | a wide excuse is the safer one | what it covers is never looked at again | Three differences |
# | what differs is a matter of time | run it again: most differences stay | Three differences |
# | ok means that all is well | client and coordinator agreed, and the partition had no marker | Find the loss |
# | what cannot be read yet is lost | in PrepareCommit the marker is still owed | Find the loss |
# | a newer release is the older one, only faster | a kill now delivers twice | the next release |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% jupyter={"source_hidden": true}
Predict("14-exit-ticket")
