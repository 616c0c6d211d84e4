# %% [markdown]
# # Lab 14 · The real thing
#
# *60 minutes, or a quick route of 25* · Kafka 4.3.1 and 4.2.1, RocketMQ 5.5.0 and 4.9.7, Pulsar 4.2.4
#
# **In one paragraph.** Every execution in this course came from an *engine* (引擎), a model of three brokers.
# Is it accurate? In this lab one client program sends the same requests to the engine and to a real broker,
# and you compare their answers. You excuse three differences, with reasons, and nothing else. Then you write
# a rule that finds a real broker's fault in its recordings, and see how to report it.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden* under
# a heading to open one.
#
# **You need** lab 06 for the steps of a commit, and lab 07 for the *last stable offset* (LSO, 最后稳定偏移量) and
# the *high watermark* (HW, 高水位). A real broker is not needed: what one answered is *recorded* (录制).

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
# ## Would you report a bug in Kafka because of this picture?
#
# A payment is sent in a transaction. For a while its partition has no leader, as in any outage, and meanwhile
# the producer commits. Drag the slider to the commit, and then to the end. *Which process got ok, and which
# can read the payment?*

# %% jupyter={"source_hidden": true}
play_lost()

# %% [markdown]
# No consumer can ever read it. No process was killed, and money is gone. But our own program drew this
# picture. Before you report anything, you need to know whether a real Kafka does the same.

# %% [markdown]
# ## Predict
#
# First the ordinary case: one unmodified client talks to the engine and to a real Kafka.

# %% jupyter={"source_hidden": true}
Predict("14-lines")

# %% [markdown]
# ## Run: one program, two brokers
#
# The next cell starts the engine as a server that any Kafka client can reach, and follows it in a picture.
# Run it, and then the cell below it: there the client program runs, and the picture moves.

# %% tags=["volatile"]
engine = serve(auto_create=False)
live = Follow(engine.trace_url)
live

# %% tags=["nbval-check-output"]
(told,) = ask_both("client-confluent-kafka", engine=engine, real=False)
told

# %% [markdown]
# The column in the middle comes from a real Kafka, which was started from its published jars and recorded.
# If this machine has Java 17 and Maven, write `real=True` and run the cell again: then the answers come
# from a real broker that is started on the spot. The first time this downloads 45 MB.

# %% [markdown]
# ## Three differences
#
# Equal lines are only half of the evidence. The next two programs send what few clients send: a fetch across
# two files of a log, and compressed records with wrong values in them. A `≠` marks where the two differ: in
# five lines, which are three differences.

# %% tags=["nbval-check-output"]
for laid in ask_both("segments", "claimed-in-compressed"):
    display(laid)

# %% [markdown]
# A difference is repaired, or it is *excused* (豁免) with a reason that can be discussed. An excuse is a
# pattern that selects lines, and it must be as narrow as possible: what it covers will never be checked
# again. Choose among these reasons; half of them fit no difference here:
#
# | reason | says |
# |---|---|
# | `one-log` | The engine keeps a log in one piece. A real broker answers from one file of several, and the client fetches again from there. |
# | `not-opened` | The real broker accepts compressed records without checking their lengths, and the engine refuses what no client could read. |
# | `numbers` | The real broker finds offsets out of sequence, tries to renumber the compressed records, and lacks what it needs for that. The engine stores them. |
# | `timing` | The two were asked at different moments. |
# | `client` | The two were asked by different clients. |
# | `broken` | The engine is wrong here, and must be repaired. |
#
# Write one line for each difference, as in `Fetch @7 read_committed: timing`. In a pattern `*` matches
# anything, so one pattern can cover several lines. Two hints are available: `print(EXCUSES.hint(1))`, then
# `print(EXCUSES.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "excuses"}
# QUESTION: REASON, a line per difference.
excuses = ""
### BEGIN SOLUTION
# The lines with ≠, and none of the others: `Fetch*` would cover three that are equal.
excuses = """
Fetch @0 read_committed: one-log
Produce a record of *, gzip: not-opened
Produce an offset delta -1, gzip: numbers
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "excuses-test", "points": 4}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("excuses", excuses)
### END HIDDEN TESTS
check(EXCUSES, excuses)

# %% [markdown]
# ## Find the loss
#
# Back to the first payment. Here is what a real 4.3.1 answered. Of its three brokers, the one with the
# partition was stopped in an orderly way, and started again. *Which two lines contradict each other?*

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
read_laid("kafka-4.3.1/tv2/leaderless-marker")

# %% [markdown]
# `CompleteCommit` means that every marker is written, so none will be sent. `LSO=0` means that the partition
# still waits for one. The coordinator dropped the marker because the partition had no leader when it should
# have been sent (KAFKA-20734). So the first picture is true of this release.
#
# Finding such a fault among thousands of lines takes a rule, and you write it. The rule is called for each
# moment at which a recording looks into a partition, and for one producer at a time:
#
# | argument | what it is |
# |---|---|
# | `commit` | the answer to the producer's last commit: `"ok"`, an error, `""` if it never committed |
# | `state` | the state that the coordinator returned last: `"Ongoing"`, `"PrepareCommit"`, `"CompleteCommit"` … |
# | `hw`, `lso` | the high watermark and the last stable offset of the partition |
# | `open_since` | the first offset of the producer's transaction if it is open in the partition; otherwise −1 |
#
# It returns True if an acknowledged commit is lost, and False as long as it may still become visible. The
# first line below is the loss that you have seen. The grading adds one more loss, among more than 250
# moments without one. Some moments are used again, with another answer to the last commit or another state.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_told())

# %% [markdown]
# Two hints are available: `print(LOST.hint(1))`, then `print(LOST.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "lost"}
def lost(commit, state, hw, lso, open_since):
    """Whether an acknowledged commit is lost."""
    ### BEGIN SOLUTION
    # The client got ok, the coordinator has no marker left to send, and the partition still waits.
    return commit == "ok" and state == "CompleteCommit" and open_since >= 0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lost-test", "points": 6}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("lost", lost)
### END HIDDEN TESTS
check(LOST, lost)

# %% [markdown]
# ## What you know now
#
# A model is not simply true or false. It agrees with one release of a real broker on the questions that were
# asked, and it lists where it does not. The engine is compared with hundreds of recordings in this way, and
# each difference has its row with a reason (`datasets/recordings/DIFFERENCES.md`).
#
# The quick route ends here, and has all points of this lab. The next lab asks how to read what others write
# about brokers: [lab 15](15-articles-on-trial.ipynb).

# %% [markdown] tags=["deeper"]
# ## How do you report it?

# %% [markdown]
# A broker's developers have no use for our picture, or for our recordings. What they need is short: which
# release, which steps, what should happen, what does happen, and a program that shows it on *their* machine.
#
# 1. **Check whether it is known.** This one is. Then a program that shows it is worth more than one more report.
# 2. **Remove everything that is not needed.** No crash, no second producer, no load: three brokers, one record,
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
# A real 4.3.1 loses its payment. A real 4.2.1 delivers it: the fault came with a new release. The next cell
# shows the report that belongs to the program. *Which of its sentences could you leave out?*

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_report())

# %% [markdown] tags=["deeper"]
# ## Does the next release answer in the same way?

# %% [markdown]
# A recording is evidence for one release. Here is RocketMQ 5.5, which keeps op records in memory before they
# are written.

# %% jupyter={"source_hidden": true}
newer = kill_newer()
seen = ("diagram", "logs")
Predict("14-release", trace=newer, step=first(newer, "killed"), panels=seen, told=seen)

# %% [markdown]
# Beside it is the same scenario in 4.9, which writes each op record at once. *At which of the three moments
# do they diverge?*

# %% jupyter={"source_hidden": true}
compare_kills()

# %% [markdown]
# And the same program against the two real brokers:

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
name = "op-lost-by-a-kill"
read_laid(f"rocketmq-4.9.7/4.9/{name}", f"rocketmq-5.5.0/5.5/{name}")

# %% [markdown]
# Nothing in the client has changed, nor in the program. The newer release is faster, and a crash at the wrong
# moment now delivers an order twice. This does no harm to a consumer that recognises orders by their numbers.

# %% [markdown] tags=["deeper"]
# ## Do an older and a newer client do the same?

# %% [markdown]
# The program of the quick route was run against a real 4.3.1 with 16 clients. Below are two releases of the
# Java client, 2.3.1 from 2019 and 4.4.0. Guess first where they differ: in the commit, in what readers get,
# or in the log? The table shows only the lines that differ.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
name = "client-kafka-clients"
read_laid(f"kafka-4.3.1/tv2-legacy/{name}-2.3.1", f"kafka-4.3.1/tv2/{name}-4.4.0", only=True)

# %% [markdown]
# Readers get the same. In the log, the newer client has a new epoch after each transaction, so that a late
# record cannot land in the next one (KIP-890, lab 06). And fencing raises a different exception: a program
# that catches only `ProducerFencedException` misses it after an update of its client.

# %% [markdown] tags=["deeper"]
# ## What may differ without being different?

# %% [markdown]
# Before two answers are compared, some things are removed from both. This list is as important as the table
# of differences, because what is in it is never compared.

# %% jupyter={"source_hidden": true}
print(list_ignored())

# %% [markdown]
# Producer ids are not removed, but renamed in the sequence in which they appear. *What would be missed if
# each of them became the same letter?*

# %% [markdown] tags=["deeper"]
# ## Do the other brokers have such faults?

# %% [markdown]
# Pulsar 4.2.4: a client whose commit has not returned yet sends one more message. The broker accepts it; and
# when that message is discarded, so is what the transaction had committed. *Which message does the second
# subscription not get?*

# %% jupyter={"source_hidden": true}
play_file("pulsar/late-write-hides-committed", recorded="late-write-hides-committed")

# %% [markdown]
# RocketMQ 5.5: the last check is answered COMMIT, and the next round comes before the op record is written.
# The order is delivered, *and* its half message is set aside in `TRANS_CHECK_MAX_TIME_TOPIC`, as if it had
# never been decided.

# %% jupyter={"source_hidden": true}
play_file("rocketmq/committed-and-parked")

# %% [markdown] tags=["deeper"]
# ## Which beliefs did this lab refute?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | a model is true or it is not | it agrees on the questions that were asked | Run |
# | a wide excuse is safer | what it covers is never checked again | Three differences |
# | a difference is only a matter of timing | run it again: most differences stay | Three differences |
# | ok means that all is well | client and coordinator agreed, and the partition had no marker | Find the loss |
# | what cannot be read yet is lost | in PrepareCommit the marker is still pending | Find the loss |
# | a newer release is the older one, only faster | a crash now delivers twice | the next release |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% jupyter={"source_hidden": true}
Predict("14-exit-ticket")
