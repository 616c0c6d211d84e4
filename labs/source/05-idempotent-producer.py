# %% [markdown]
# # Lab 05 · Why does a retry not duplicate?
#
# *75 minutes, or a quick route of 15* · Kafka 4.3, Java client 4.x
#
# **In one paragraph.** A producer that gets no answer cannot know whether its message was stored. If it
# sends again, it may make a duplicate; if it does not, the message may be lost. Kafka's answer is the
# *idempotent producer*. In this lab you see what it numbers, what the leader of a partition compares, how
# little the leader remembers, and where the promise ends.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 00. A *partition* is one log of a topic, and its *leader* is the broker that appends to
# it. A *batch* contains the records of one request, which are stored together.

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Budget,
    Explorer,
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    explore,
    in_words,
    say,
    scenario,
    system,
    table,
)
from mqlab.lessons.kafka.lab05 import (
    ACCEPT,
    PRODUCE,
    answers,
    by_hand,
    construct_producer,
    count_payments,
    first,
    list_producers,
    snapshot_files,
)

# %% [markdown]
# ## Two orders are paid. How many payments are counted?
#
# Two customers of the gift shop pay for their orders, £316.78 for 580538 and £310.73 for 580539. The
# shop's order service sends both payments to the topic `payments`, each under its order number. This lab
# has no transaction, so of the six stages (reserve, write, decide, publish the decision, make visible,
# forget) only one is left: **write**. The leader of the partition stores both payments. Its answer for
# `580539` is lost with the connection. The order service does what every client does: it reconnects and
# sends `580539` again.
#
# The invariant *money in = money out* is here too. It is red when a payment is counted twice, or when an
# acknowledged one is missing. *Money* adds up the payments.

# %% [markdown]
# ## Predict
#
# The connection has just broken. Lock your answer, then let the scenario continue.

# %% jupyter={"source_hidden": true}
twice = scenario("""
# The answer is lost, and the order service sends again
system payments producers=order-service:plain
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
Predict("05-sent-again", trace=twice, step=first(twice, "connection broken"), level="protocol")

# %% [markdown]
# ## How does the leader recognise a retry?
#
# Play this to its end. The second customer has paid £310.73 once and is charged twice, the invariant is
# red, and no error was raised anywhere. This is *at-least-once* delivery.
#
# An operation that may be repeated would help. In mathematics a function *f* is **idempotent** (幂等) if
# *f(f(x)) = f(x)*. Adding to a sum is not idempotent, but putting an element into a set is. An append to
# a log is like the addition. To make it like the set, every batch needs a *key*. So a producer first gets
# an id from any broker (the application never sees it), and then numbers the records it sends. Here are
# the same two payments, and the same lost answer:


# %%
def add(total):
    return total + 5


def put(stored):
    return stored | {(7, 1): "580539"}  # the key: who sent it, and its number


assert add(add(0)) != add(0)
assert put(put({})) == put({})

once = scenario("""
# The answer is lost, and the retry is recognised
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
assert count_payments(twice).splitlines() == ["580538  counted 1×", "580539  counted 2×"]
assert count_payments(once).splitlines() == ["580538  counted 1×", "580539  counted 1×"]
Player(once, step=first(once, "connection broken"))

# %% [markdown]
# The second `Produce 580539` carries the same key as the first: *producer id* (pid) 0, *epoch* 0,
# *sequence number* (序列号) 1. The leader recognises it, stores nothing, and answers **ok, with the offset
# of the first time**. This answer looks like the one that was lost, so there is no error to handle. This
# is the narrow meaning of *exactly once* (精确一次): the server stores a message once, however often it is
# sent.

# %% [markdown]
# ## Arrange the leader's steps
#
# Five of these seven pieces belong to a leader's work on a batch. Put them in sequence. Each sequence you
# try is built into a leader, and every schedule of five small systems is searched. For a wrong sequence
# you get the shortest example that shows why. *More than one sequence is right.* Run the cell, then move
# the pieces: each move is written between the brackets of its call. (Without the widget, write the names
# there yourself.)
#
# An *epoch* is a number that rises when a producer restarts its sequence numbers at 0. A batch with an
# older epoch comes from a sender that was replaced.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = PRODUCE.arrange([
    ### BEGIN SOLUTION
    # Kafka's own. Whether the epoch or the duplicate is checked first makes no difference.
    "duplicate", "fence", "sequence", "append", "answer"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 4}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("produce", order)
### END HIDDEN TESTS
check(PRODUCE, order)

# %% [markdown]
# ## What you know now
#
# A retry is recognised by its sender and its numbers, in one partition, and it is answered as a success.
# A message that the *application* sends twice is new.
#
# A transaction helps while it is open: its id outlives the session, so what a killed producer left open
# is aborted before it sends again. A transaction that *has committed* and is sent again is stored again.
# A consumer that stores payments by their number notices both.
#
# The quick route ends here. The parts below go deeper; 6 of the 10 points are there. The next lab asks
# what a commit does, step by step: [lab 06](06-coordinator.ipynb).

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("05")

# %% [markdown] tags=["deeper"]
# ## What does the leader compare?

# %% [markdown]
# Many articles give a formula: *new = old + 1 is right; new ≤ old is a duplicate and is dropped; new >
# old + 1 means that a message was lost.* What does it get wrong? Decide before you run the next cell.
# Here batches are sent by hand. Each is given by its payments (`p1`, `p2`, …, of any amount), its first
# sequence number, and its epoch if that is not 0. First one batch is sent three times. Then each line is
# a separate scenario, whose last batch is judged by the formula and by the leader.


# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
def formula(old, new):
    return "right" if new == old + 1 else "duplicate" if new <= old else "lost"


def find_answer(run, batch=-1):
    """What the leader answers to a batch sent by hand; -1: to the last one."""
    return answers(run).splitlines()[batch].split("  ")[-1].strip()


print(answers(by_hand("p1 seq=0; p2 seq=1; p2 seq=1; p2 seq=1")))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
seven = "; ".join(f"p{n + 1} seq={n}" for n in range(7))
cases = [
    ("the last one again", 1, 1, "p1 seq=0; p2 seq=1; p2 seq=1"),
    ("the fifth last again", 6, 2, f"{seven}; p3 seq=2"),
    ("the sixth last again", 6, 1, f"{seven}; p2 seq=1"),
    ("one longer than the last", 1, 1, "p1 seq=0; p2 seq=1; p2|p3 seq=1"),
    ("after a batch of three", 1, 4, "p1 seq=0; p2|p3|p4 seq=1; p5 seq=4"),
    ("one is missing", 0, 2, "p1 seq=0; p3 seq=2"),
    ("… and has come since", 1, 2, "p1 seq=0; p3 seq=2; p2 seq=1; p3 seq=2"),
    ("the first of a new epoch", 1, 0, "p1 seq=0; p2 seq=1; p3 seq=0 epoch=1"),
    ("a later one of a new epoch", 1, 2, "p1 seq=0; p2 seq=1; p3 seq=2 epoch=1"),
    ("an older epoch", 0, 1, "p1 seq=0; p2 seq=0 epoch=1; p3 seq=1"),
    ("an unknown producer", -1, 6, "p7 seq=6"),
    ("after 2147483647", 2147483647, 0, "p1 seq=2147483647; p2 seq=0"),
]
judged = [
    (name, old, new, formula(old, new), find_answer(by_hand(story)))
    for name, old, new, story in cases
]
print(table("the batch | old | new | formula | leader", judged))

# %% [markdown]
# The formula is wrong in eight of these lines. Even where *duplicate* is right, the producer gets the
# answer ok. The leader's rule is this:
#
# - A batch has a *range* of numbers. It follows if its **first** number is the one after the **last**
#   number of the batch before; after 2147483647 comes 0.
# - A duplicate is **exactly one of the last five batches** of the same epoch: same first, same last
#   number. The leader answers it as a success, with its old offset.
# - Any other old number, even a mere overlap, is refused with OUT_OF_ORDER_SEQUENCE_NUMBER. The leader
#   cannot tell where those records are, or whether all of them are stored. The batch that is longer
#   than the last contains `p3`, which is new: if it were dropped as a duplicate, `p3` would be lost.
# - A gap means that a batch has *not yet* arrived. The later batch is refused, and nothing is lost: once
#   the missing one has arrived, the later one is sent again and accepted.
# - A new epoch begins with 0, and an older one writes nothing any more.
# - A producer that is unknown to the leader may begin anywhere, since its entry may have expired. (Since
#   4.1 there is an exception: a *transactional* producer under `transaction.version` 2 must begin with 0
#   even then, KAFKA-18202.)
#
# The numbers are in the header of every stored batch. The leader compares a new batch with the numbers
# that it remembers; the player shows them in a table.
#
# A public report of it: `mqlab incidents epoch-of-librdkafka`.

# %% [markdown] tags=["deeper"]
# ## How long does the leader remember?

# %% [markdown]
# Five batches are stored. Then either the connection breaks, or the leader's process is killed and
# restarted. Then the last two batches are sent again. Which of the four answers is an error? The picture
# shows the second of these scenarios: watch the table shrink.

# %%
five = "; ".join(f"p{n + 1} seq={n}" for n in range(5))
for title, stop in {
    say("the connection broke"): "break hand payments-0",
    say("the leader was killed"): "kill payments-0\nrestart payments-0",
}.items():
    run = by_hand(five, stop, "p4 seq=3; p5 seq=4")
    print(f"{title}: p4 {find_answer(run, -2)}, p5 {find_answer(run)}")
assert find_answer(run, -2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
Player(run, step=first(run, "killed") - 1)

# %% [markdown]
# The connection does not matter: pid, epoch and numbers are in the batch, so any connection will do. A
# restart does matter: the leader comes back with a memory of **one batch** per producer.
#
# And a power cut? Here the payment `580538` was stored and acknowledged, but not yet flushed to disk.
# Then `580539` is sent, and the only leader loses power.

# %% jupyter={"source_hidden": true}
cut = scenario("""
# The power of the only leader is cut between two payments
system payments
run order-service: send payments-0 580538, flush, send payments-0 580539, flush
power-cut payments-0 when=580539 after=0
restart payments-0
""")
Predict("05-empty-log", trace=cut, step=first(cut, "power cut"))

# %% [markdown]
# This is a *lost write* without any error. Idempotence protects against duplicates, and only copies on
# other machines protect against a power cut. (That is why an idempotent producer needs `acks=all`.)
#
# What does the leader rebuild its memory from after a mere crash? It reads a file beside the log, and
# the part of the log after the point at which the file was written. The file is called `.snapshot`, and
# its name contains the offset up to which it is valid. A broker writes one when it begins a new segment
# of the log, at a clean shutdown, and after a recovery. Here a segment is full after three records.

# %% jupyter={"source_hidden": true}
files = scenario("""
# A leader writes down what it remembers of producers
system payments producers=hand:raw segment_records=3
run hand: produce payments-0 p1|p2|p3 seq=0, produce payments-0 p4 seq=3, produce payments-0 p5 seq=4
run hand: produce payments-0 q1|q2 seq=0 pid=8
kill payments-0
restart payments-0
""")
Predict("05-snapshot-file", trace=files, step=first(files, "killed"))

# %% tags=["nbval-check-output"]
print(snapshot_files(files))

# %% [markdown]
# File `…03` was written when the first segment was full, file `…07` at the recovery. An article shows
# three of these fields: producer id, epoch, last sequence. The others matter too. Last offset and delta
# (how far the last record of the batch is from its first) give the *range* and the *offset* of the one
# batch that is still recognised. The timestamp (a lesson's clock is always 0) determines when the entry
# may be forgotten: after a day without a write. The last two belong to transactions, which begin in
# lab 06. In a real file a version and a checksum precede the entries.

# %% [markdown] tags=["deeper"]
# ## For whom does the leader remember?

# %% [markdown]
# The order service does its work, is killed, and restarts.

# %% jupyter={"source_hidden": true}
restarted = scenario("""
# The application starts over
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
kill order-service
restart order-service
""")
Predict("05-new-session", trace=restarted, step=first(restarted, "killed"))

# %% [markdown]
# Here are two more experiments. Two instances of the order service, `north` and `south`, send to two
# partitions: how many rows will the leaders' table have? And one order service sends the *same* payment
# to two partitions: how often is it counted?

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
streams = scenario("""
# Which leader numbers what
system payments partitions=2 producers=north:-,south:-
run north: send payments-0 n1, send payments-1 n2, send payments-0 n3, flush
run south: send payments-0 s1, flush
""")
both = scenario("""
# One payment, two partitions
system payments partitions=2
run order-service: send payments-0 580538, send payments-1 580538, flush
""")
for title, run in {
    say("the order service was restarted"): restarted,
    say("two instances, two partitions"): streams,
    say("the same payment to two partitions"): both,
}.items():
    counted = (" ".join(one.split()) for one in count_payments(run).splitlines())
    print(f"{title}: {', '.join(map(in_words, counted))}")
    if run is not both:
        print(list_producers(run))

# %% [markdown]
# There is one row for each producer in each partition, and each row counts from 0. So the promise covers
# **one partition**: the same payment sent to two of them is two records. And it covers **one session**:
# the restarted order service got a new id, so its first batch is as new as any other. Idempotence was on
# all the time and did not help. *A retry by the client is recognised; a second send by the application is
# not.*

# %% [markdown] tags=["deeper"]
# ## How many batches may be in flight?

# %% [markdown]
# A producer does not wait for each answer: several batches are in flight on a connection
# (`max.in.flight.requests.per.connection`). Now all of their answers are lost at once.


# %% jupyter={"source_hidden": true}
def lose_answers(batches, option=""):
    sends = ", ".join(f"send payments-0 p{n + 1}" for n in range(batches))
    return f"""
    # {say("{batches} batches in flight, and all answers lost", batches=batches)}
    system payments max_in_flight={batches} {option}
    hold order-service→payments-0 ⇒Produce#1
    run order-service: {sends}, flush
    break order-service payments-0
    """


fine = scenario(lose_answers(5))
Predict("05-five-answers-lost", trace=fine, step=first(fine, "connection broken"))

# %% [markdown]
# The next cell does the same with six, which needs a client without the usual check. Then it shows how
# real clients interpret some settings.

# %% jupyter={"source_hidden": true}
Predict("05-by-default")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
six = scenario(lose_answers(6, "config_check=off") + "fire order-service")
for fact in six.facts[first(six, "connection broken") :]:
    if fact.glyph == "⇒" or "epoch to" in fact.text.en:
        print(fact.line(width=13))
print(say("the log:"), *(cell.label for cell in six.snapshot(-1).logs[0].cells), "\n")

for client, settings in [
    ("java", {}),
    ("java", {"max_in_flight_requests_per_connection": 6}),
    ("java", {"acks": "1"}),
    ("java", {"acks": "1", "enable_idempotence": True}),
    ("librdkafka", {}),
]:
    given = ", ".join(f"{name}={value}" for name, value in settings.items()) or in_words("(defaults)")
    made = in_words(construct_producer(client, **settings).partition(":")[0])
    print(f"{client:<11}{given:<41}{made}")

# %% [markdown]
# All five are recognised. Of six, the leader has forgotten the first. Sent again, it is refused as out of
# order, and the producer concludes that its sequence is broken. It raises its epoch, restarts its numbers
# at 0 and sends everything again. Now no batch looks like a duplicate any more. That is why a client
# refuses a setting of six.
#
# In Java, idempotence has been **on** by default since 3.0.1, 3.1.1 and 3.2.0. It was meant for 3.0
# (KIP-679), but a bug kept it off (KAFKA-13598). A setting that contradicts it wins: `acks=1` or
# `retries=0` alone switches it off, and the only sign is a line in a log file. A program that also sets
# `enable.idempotence=true` gets an exception. The clients built on librdkafka (Python's
# confluent-kafka, Go's, C#'s and Node's) leave it **off** by default. Try more:
# `print(construct_producer("java", retries=0))`.
#
# Older Java clients were worse. From 2.1 on, until idempotence was the default, a producer retried and
# duplicated by default. Before 2.1 it did not retry at all (`retries` was 0), and a lost request was a
# lost message. Until 3.0 it waited for one copy only (`acks=1`), so even an acknowledged message could be
# lost with its leader.

# %% [markdown] tags=["deeper"]
# ## How few choices does it take to count a payment twice?

# %% [markdown]
# Here is the order service without numbers again. Let it make its calls, deliver messages or hold them
# back (a message that you do not deliver waits), break connections and kill processes: in the picture,
# or with the buttons below it. *How few choices do you need to count a payment twice?* When you have
# found a solution, the explorer looks for a shorter one.

# %%
plain = "payments producers=order-service:plain 'order-service=send payments-0 580538; flush'"
Playground(
    continue_scenario(f"""
    # The order service, without numbers
    system {plain}
    """),
    goal="money",
)

# %% [markdown] tags=["deeper"]
# ## Which safeguard is necessary?

# %% [markdown]
# And with numbers? The next cell tries every schedule of seven small systems. In two of them a safeguard
# is switched off (the *zombie* is a sender whose epoch is older than one that the leader has seen).
# Predict for each line which invariant will turn red. Then press *Search* and watch one of these
# searches: the order service sends two payments, and the leader may be killed once, at any moment.

# %%
numbered = "payments 'order-service=send payments-0 580538; send payments-0 580539; flush'"
unchecked = f"{numbered} off=sequence_check"
one_kill = Budget(kills=1, killable=("payments-0",), timers=1)
one_restart = Budget(kills=1, killable=("order-service",))
zombie = (
    "payments producers=hand:raw 'hand=produce payments-0 p1 seq=0; "
    "produce payments-0 p2 seq=0 epoch=1; produce payments-0 p3 seq=0'"
)
shortest, found = {}, []
for story, line, budget in [
    (say("no numbers, one broken connection"), plain, Budget(breaks=1)),
    (say("two broken connections"), numbered, Budget(breaks=2)),
    (say("the order service is killed once"), numbered, one_restart),
    (say("the leader is killed once"), numbered, one_kill),
    (say("one broken connection, without sequence_check"), unchecked, Budget(breaks=1)),
    (say("a zombie"), zombie, Budget()),
    (say("a zombie, without epoch_fencing"), f"{zombie} off=epoch_fencing", Budget()),
]:
    verdict = explore(system(line), budget)
    assert verdict.complete
    shortest[story] = verdict.counterexamples
    broken = [
        say("{name}, in {n} choices", name=in_words(name), n=len(example.schedule))
        for name, example in sorted(shortest[story].items())
    ]
    found.append((story, "; ".join(broken) or "nothing"))
print(table("search | red", found))
assert [len(one) for one in shortest.values()] == [1, 0, 1, 1, 1, 0, 1]
Explorer(system(numbered), one_kill)

# %% [markdown]
# Lost answers are harmless now, whichever of them are lost. Without the check of numbers every retry is a
# *duplicate* again. Without the check of epochs a batch of an older epoch is stored after the newer one
# has begun: a *zombie write* (僵尸写).
#
# Even with both checks, duplicates are possible in two cases. In the first, which you have seen, the
# order service dies and starts over. In the second the leader dies while **two** batches are unanswered:
# it comes back with a memory of one. So a broker's restart *does* affect idempotence.
#
# A real 4.3.1 broker with the Java client of the same version ends up with the same log: both payments
# with epoch 0, and both again with epoch 1. An orderly stop is no better. Moving the partition to
# another broker is: a follower that takes over has seen the same batches, and in a real cluster of three
# it remembered all five. Step through the crash:

# %%
dies = shortest[say("the leader is killed once")]["money"].trace()
title = say("The leader dies with two answers pending")
Player(dies, step=first(dies, "epoch to 1"), title=title)

# %% [markdown] tags=["deeper"]
# ## Write the leader's rule

# %% [markdown]
# A leader remembers, for one producer in one partition, the ranges of its **last five batches** (a tuple
# of `(first, last)`, oldest first, perhaps empty) and the **epoch** they belong to (−1: it has no entry
# for this producer). A batch arrives: `(epoch, first, last)`. Return `"append"`, `"duplicate"` or
# `"refuse"`. The producer has no transactions. Your rule is put into the leader, and every schedule of
# fifteen small scenarios is tried.
#
# Two hints are available: `print(ACCEPT.hint(1))`, then `print(ACCEPT.hint(2))`. If your rule is not
# right yet, the message names the belief behind it, and the shortest example that refutes it opens at the
# step that shows why.


# %% nbgrader={"solution": true, "grade_id": "accept"}
def accept(last_five: tuple[tuple[int, int], ...], known: int, batch: tuple[int, int, int]) -> str:
    """What a leader does with a batch: "append", "duplicate" or "refuse"."""
    epoch, first, last = batch
    ### BEGIN SOLUTION
    if epoch < known:
        return "refuse"
    if epoch > known:
        # New to this leader, or a known producer that restarted: that one begins with 0.
        return "append" if known == -1 or first == 0 else "refuse"
    if (first, last) in last_five:
        return "duplicate"
    following = (last_five[-1][1] + 1) % 2**31 if last_five else 0
    return "append" if first == following else "refuse"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "accept-test", "points": 6}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("accept", accept)
### END HIDDEN TESTS
check(ACCEPT, accept)

# %% [markdown] tags=["deeper"]
# ## What does a released client do?

# %% [markdown]
# So far every producer was part of the engine. The next cell runs two unmodified confluent-kafka
# producers (librdkafka) against this lab's broker, `mqlab serve kafka`. Each sends payment 580538 once.
# The broker stores the batch and is killed before it sends the answer; then it restarts. One producer is
# set to be idempotent, the other is not. *Before you run it: what answer does each program get, and how
# often is 580538 in the log? Think of what a leader remembers after a crash.*

# %% tags=["nbval-check-output"]
from mqlab.lessons.kafka.lab05 import lose_an_answer

print(lose_an_answer(idempotent=False))
print(lose_an_answer(idempotent=True))

# %% [markdown]
# Both programs get ok, and neither sees that its client has sent the batch twice. The restarted leader
# reads the last batch of each producer back from its log, and one batch is enough here. In a browser, or
# without confluent-kafka, the cell reports that it has no client.

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | Kafka is at-least-once by default, a retry duplicates | Java: idempotent since 3.0.1, 3.1.1 and 3.2.0; librdkafka: only if set | Predict, in flight |
# | an idempotent producer never duplicates | one session, one partition; a second send is new | for whom |
# | an idempotent producer loses nothing that was acknowledged | a power cut can take it, without any error | how long |
# | new ≤ old is a duplicate and is dropped | exactly one of the last five; answered ok; else refused | compare |
# | an unexpected number is an exception | a duplicate is a success; only a gap or overlap is refused | compare |
# | new > old + 1 means a message was lost | it is not here *yet*; the batch is refused and sent again | compare |
# | the broker keeps one largest number | five ranges and the epoch, and one range in a file | compare, how long |
# | it holds only for one connection | pid, epoch and numbers are in the batch: a reconnect keeps it | how long |
# | a broker's restart does not matter | the memory shrinks from five batches to one; a follower has all five | how long, safeguards |
# | `.snapshot`: id, epoch, last sequence | and last offset, delta, time, two of transactions | how long |
# | max.in.flight must be under 5 | at most 5; with six the leader forgets the oldest | in flight |

# %% [markdown] tags=["deeper"]
# ## What do the other brokers remember?

# %% [markdown]
# Pulsar can recognise duplicates too, if the broker is configured to. A producer has a *name*, which the
# application may choose and keep, and a *sequence id*, which it may choose as well. The broker keeps only
# the **highest** id of each name. A message that is not above it is acknowledged and dropped, whatever it
# contains. That is the articles' formula without its third part. Put it into Kafka's leader:


# %% tags=["nbval-check-output"]
def pulsar(last_five, known, batch):
    _, first, _ = batch
    return "append" if not last_five or first > last_five[-1][1] else "duplicate"


print(ACCEPT.check(pulsar))

# %% [markdown]
# In Pulsar a gap is no error: an application that chooses its own ids, say the offsets of a file that it
# reads, leaves gaps. In return its memory outlives the session. An application that comes back under its
# old name, reads the last id and continues from there duplicates nothing. RocketMQ recognises nothing:
# its producer may send twice, and consumers must be idempotent. The table is for an order service that
# starts over after a crash, as in *for whom does the leader remember?*.
#
# | | key | remembered | the order service starts over |
# |---|---|---|---|
# | Kafka, idempotent | pid of the session, partition | five batches | counted twice |
# | Kafka, transactional | transactional.id of the application | the epoch; what was open is aborted | counted once, if input and output are one transaction |
# | Pulsar, deduplication | name and id that the application chooses | the highest id | counted once |
# | RocketMQ | a key in the message, for the consumer | nothing | counted once, if the consumer checks |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A bus counts its passengers with an idempotent producer, one message per passenger. In a tunnel the
# connection breaks; `send` reports a timeout for one of them. The program catches it and calls `send`
# with the same message again. A colleague asks: "Can a passenger be counted twice now?"

# %% jupyter={"source_hidden": true}
Predict("05-exit-ticket")
