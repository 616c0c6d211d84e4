# %% [markdown]
# # Lab 03 · RocketMQ: the half message
#
# *How does a message and a database row become one?* · 75 minutes · RocketMQ 5.5, and 4.9 where it
# differs
#
# **In one paragraph.** An order is a row in your database and a message to the warehouse. No
# database and no broker can promise you both. RocketMQ's *transactional message* ties them together
# with a *half message*, a local transaction in your own database, and one word to the broker about
# how that transaction ended. If the broker does not get the word, it asks: that is lab 04. You kill
# an order service between any two of its steps, look into a real SQLite file, and write a listener
# whose rows and messages no crash can separate.
#
# **Contents.** Hook · Predict · Run (1 reserve, 2 write, 3 decide, 4 publish the decision, 5 make
# visible, 6 forget) · Order · The consumer · The article's service · Find the crash · Modify · Make
# · Transfer · Refuted · Exit ticket
#
# **Words.** *Half message* (半消息): a stored message that consumers do not get yet. *Local
# transaction* (本地事务): what your service does in its own database. *Listener*: the two functions you
# write, `execute` for the local transaction and `check` for the broker's question. *Producer
# group*: all processes of one service. *Half topic*, *op topic*: where half messages lie, and where
# their ends are recorded. The three states are `COMMIT_MESSAGE`, `ROLLBACK_MESSAGE` and `UNKNOW`,
# which RocketMQ spells without its last N.

# %% [markdown]
# ## Hook: an order that the warehouse never sees
#
# It is Monday morning, 5 December 2011. Order 580538 comes in: 48 rabbit night lights and some
# other things, for £316.78. The order service does what many services do: it writes the row, and
# then it sends a message. In Java:
#
# ```java
# orderDao.insert(order);                  // 1. the row
# producer.send(new Message("orders", …)); // 2. the message
# ```
#
# Here the process is killed between the two. Step with the arrow keys.

# %% jupyter={"source_hidden": true}
import sqlite3
import tempfile
from pathlib import Path

from mqlab.lab import (
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    scenario,
    vary,
)
from mqlab.lessons.rocketmq.lab03 import (
    COMMIT,
    ENDING,
    LISTENER,
    ROLLBACK,
    TELLING,
    UNKNOWN,
    broker_map,
    compare_properties,
    find_lines,
    find_red_step,
    first,
    keep_orders,
    list_calls,
    list_commit_log,
    list_kills,
    list_orders,
    list_safeguards,
    read_recording,
    tell_deaths,
    tell_safeguards,
    tell_statuses,
)

# %%
parted = scenario("""
# The row, then the message, and a crash in between
system order_service consumers=warehouse off=half_before_execute
kill app when=SendMessage#1 after=0
run app: send-in-transaction orders-0 580538
restart app
run warehouse: consume
""")
Player(parted, step=find_red_step(parted, "row with message"))

# %% [markdown]
# The customer has paid, the row is there, and the restarted process knows nothing of the message
# that it still owes. If it sent the message first and wrote the row afterwards, the same crash
# would leave a message without an order. Either way there are two writes in two places, and nobody
# is left to finish the job.

# %% [markdown]
# ## Predict
#
# RocketMQ's client has one call for both: `sendMessageInTransaction(message)`. The local
# transaction stands in a *listener*, which the producer was given before it started. Nothing goes
# wrong in this run.

# %% jupyter={"source_hidden": true}
CALM = """
# A row and a message
system order_service service=refusing consumers=warehouse
run app: send-in-transaction orders-0 580538
at 3000
fire broker op batch
run warehouse: consume
"""
calm = scenario(CALM, recorded="commit")
Predict("03-first-step", trace=calm, step=1)

# %% [markdown]
# Now a real database. The next cell takes the day's first four orders and one cancellation (its
# number begins with C, and this service refuses it) through the same call. The rows go into an
# SQLite file, which is then opened with Python's own `sqlite3`, as any other program would open it.

# %% tags=["nbval-check-output"]
file = Path(tempfile.mkdtemp()) / "orders.db"
taken = keep_orders(file)
for order in list_orders(4):
    print(f"{order.number}  £{order.pence / 100:.2f}")
print()
print(list_calls(taken, "app"))
print()
with sqlite3.connect(file) as database:
    print("in the file:", dict(database.execute("SELECT key, value FROM orders")))

# %% [markdown]
# Two words come back from each call. `SEND_OK` is the broker's word, and the cancellation gets it
# too. The other one is the listener's. Keep that in mind for the article's service below.

# %% [markdown]
# ## Run: six stages
#
# **reserve → write → decide → publish the decision → make visible → forget**. The map shows who
# keeps what, and what of it survives a crash.

# %% jupyter={"source_hidden": true}
broker_map("rocketmq")

# %% [markdown]
# ### 1 Reserve: the half message
#
# The client puts two properties on the message, `TRAN_MSG` and the producer group `PGROUP`, and
# sends it like any other. When a message has `TRAN_MSG`, the broker notes its topic and queue in
# two properties, replaces them with `RMQ_SYS_TRANS_HALF_TOPIC` and queue 0, clears its transaction
# bits, and stores it. That is the half message. The table shows one message three times.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_properties(CALM))
print()
print(read_recording("rocketmq-5.5.0/5.5", "committed-properties", "Pull", "sysFlag"))

# %% [markdown]
# `UNIQ_KEY` is the client's number for the message. It is also the transaction id: the broker
# copies it to `__transactionId__`, and every copy of the message keeps it. The second table was
# recorded on a real RocketMQ 5.5.0: there too `sysFlag` is 0 on the half, and 8 on the message that
# consumers get.
#
# So the half's transaction bits are **0**. What is it, then, that keeps consumers away? Here a
# second group, `spy`, subscribes to the half topic by its name:

# %% jupyter={"source_hidden": true}
spied = scenario("""
# Somebody subscribes to the half topic
system order_service topic=orders,RMQ_SYS_TRANS_HALF_TOPIC consumers=spy
hold app→db Statement
run app: send-in-transaction orders-0 580538
run spy: consume
release app→db Statement
""")
Predict("03-half-topic", trace=spied, step=first(spied, "put 580538"))

# %% [markdown]
# For the store a half is an ordinary message of another topic. It is invisible only **because
# nobody subscribes to that topic**. (A real RocketMQ 5.5 lets one pull half messages too: the
# recordings of this course read the half topic that way.) What *is* forbidden is to send to it: the
# second table below is what a real broker answers.
#
# Some articles begin with “create a transaction topic”. The next cell sends a plain message and a
# transactional one to the same topic, and stops before the transaction ends. RocketMQ 5 can mark a
# topic with `message.type=TRANSACTION`, but only its proxy looks at the mark. A client that is
# connected to the broker itself, as the classic Java client is, can send both kinds to any topic:
# the last table is a real broker's, in which `normal` and `transaction` are marked so.

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
MIXED = """
system order_service consumers=warehouse
hold app→broker EndTransaction
run app: send orders-0 price-list, send-in-transaction orders-0 580538
"""
print(list_commit_log(MIXED))
print()
print(read_recording("rocketmq-5.5.0/5.5", "not-allowed-to-send", "half-0", "op-0"))
print()
print(read_recording("rocketmq-5.5.0/5.5", "topic-type", "normal-0", "transaction-0"))

# %% [markdown]
# The plain message stands in its topic at once; the one with `TRAN_MSG` takes the detour. One `if`
# in the broker makes the difference.
#
# ### 2 Write: the local transaction
#
# It runs only when the half is stored: if the broker cannot be reached, no row is written, and
# nothing has to be undone. But how safely is the half stored? The answer to the send carries one of
# four statuses.

# %% jupyter={"source_hidden": true}
one_copy = scenario("""
# Two copies are wanted, and there is no second node
system order_service release=4.9 in_sync=2
run app: send-in-transaction orders-0 580538
""")
Predict("03-status", trace=one_copy, step=first(one_copy, "half 580538"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tell_statuses())

# %% [markdown]
# With every status but `SEND_OK` the client rolls back without running your code: it cannot know
# whether the half would survive the loss of that one broker.
#
# In the next run the local transaction does run, and the connection to the database breaks while it
# waits for the answer to its INSERT. `execute` raises an exception.

# %% jupyter={"source_hidden": true}
broken = scenario("""
# The connection to the database breaks
system order_service consumers=warehouse
lose app→db ⇒Statement#1
run app: send-in-transaction orders-0 580538
at 30000
fire broker check
run warehouse: consume
""", recorded="local-transaction-throws")
Predict("03-throws", trace=broken, step=first(broken, "connection broken"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(
    find_lines(
        broken, "orders[580538]", "EndTransaction", "SEND_OK", "CheckTransactionState",
        "message 580538",
    )
)
print()
print(read_recording("rocketmq-5.5.0/5.5", "local-transaction-throws", "EndTransaction", "Check"))

# %% [markdown]
# An exception leaves the state at **UNKNOW**, as the call's result spells it in the first table,
# and so does `null`; on the wire that is called `NOT_TYPE`. It is right, for here the row *is* there: the INSERT was committed, and only its
# answer was lost. The broker asks later, the listener's `check` finds the row, and the message is
# delivered. In the second table, a real broker's recording, the listener had no row and answered
# the same question with ROLLBACK.
#
# ### 3 Decide: the row
#
# Who decides about the message? The next cell kills the process after each of its steps, once per
# line. Then the broker asks its twin, another process of the same group, until it has an answer;
# here it gives up after three questions. The rows are read from an SQLite file. Which line of the
# table is the decision?


# %% tags=["nbval-check-output"]
def place(order, db, memory):
    db.put(order, "placed")
    return COMMIT


def look_up(order_id, db, memory):
    return UNKNOWN if db.get(order_id) is None else COMMIT


print(tell_deaths((place, look_up)))

# %% [markdown]
# It is the line with `put`: from there on the message is delivered, even though the process is
# dead. **The row is the decision**, and everything after it only spreads the news. So the
# transaction's coordinator is your own database; the broker only carries out what was decided
# there.
#
# ### 4 Publish the decision: one word to the broker
#
# The client now calls `endTransaction`, which carries the state and the place of the half. Here
# that request is lost, and `sendMessageInTransaction` has returned `SEND_OK COMMIT_MESSAGE`.

# %% jupyter={"source_hidden": true}
end_lost = scenario("""
# The end is lost on its way
system order_service consumers=warehouse
lose app→broker EndTransaction#1
run app: send-in-transaction orders-0 580538
run warehouse: consume
at 30000
fire broker check
run warehouse: consume
""")
Predict("03-end-lost", trace=end_lost, step=first(end_lost, "SEND_OK COMMIT"))

# %% [markdown]
# The end is sent *one-way*: there is no answer to it and no retry. So `COMMIT_MESSAGE` in the
# result is the producer's own word. The broker may not have heard it, and the client cannot tell.
# What mends that is the check, as long as some process of the group is there to be asked (lab 04).
#
# ### 5 Make visible: what a commit writes
#
# COMMIT has arrived. What does the broker do with the half?

# %% jupyter={"source_hidden": true}
Predict("03-records", trace=calm, step=first(calm, "ends that wait"))

# %% jupyter={"source_hidden": true}
refused = scenario("""
# A cancellation is rolled back
system order_service service=refusing consumers=warehouse
run app: send-in-transaction orders-0 C580597
at 3000
fire broker op batch
at 30000
fire broker check
run warehouse: consume
""", recorded="rollback")
Predict("03-rollback", trace=refused, step=first(refused, "EndTransaction ROLLBACK"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
BOTH = """
system order_service service=refusing
run app: send-in-transaction orders-0 580538, send-in-transaction orders-0 C580597
at 3000
fire broker op batch
"""
LATE = """
system order_service producers=app:order-service,twin:order-service
hold app→broker EndTransaction
run app: send-in-transaction orders-0 580538
run twin: send-in-transaction orders-0 580539
release app→broker EndTransaction
"""
print(list_commit_log(BOTH))
print("\nthe first end is slow:\n" + list_commit_log(LATE))

# %% [markdown]
# Both tables are the broker's one commit log, record by record. A commit copies the half into its
# real topic and queue: a complete second message. Messages therefore stand there **in the order of
# their commits**. In the second table order 580538 was sent first, and yet it stands behind 580539
# in `orders`.
#
# ### 6 Forget: an op record
#
# A log only grows, so neither half in the first table is deleted. One record in the *op topic*
# names the places of both in the half topic, 0 and 1, and says that they have ended. The check
# passes over them. The record does not say *how* they ended, and there is no table of transactions
# that would. RocketMQ since 5.1 keeps op records in memory for up to 3 s and writes them together;
# 4.9 writes each one at once.
#
# The usual drawing of all this has a normal path and a path for compensation. In our six stages:
#
# | in the drawing | here |
# |---|---|
# | 1 send half message, 2 half stored | 1 reserve |
# | 3 execute local transaction | 2 write, 3 decide |
# | 4 commit or rollback | 4 publish the decision; then 5 and 6 in the broker |
# | 5 check back, 6 look up the local transaction, 7 commit or rollback | stage 4 once more, when the broker has not heard it |
#
# The run of stage 4, whose first end was lost, takes both paths. Here are the seven arrows of the
# drawing, and the message that the warehouse gets in the end. Which line is the arrow that was
# lost?

# %% tags=["nbval-check-output"]
print(
    find_lines(
        end_lost, "SendMessage half", "half 580538 @", "put 580538", "orders[580538]",
        "EndTransaction", "CheckTransactionState", "get 580538", "message 580538",
    )
)

# %% [markdown]
# ## Order: what does the broker do at the end?
#
# One article says: “first the half is marked as done, then it is copied to the real topic”. Put the
# pieces into an order that keeps every promise, although the broker may be killed between any two
# of them. Not every piece belongs there. Run the cell, move the pieces, and run the next cell.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = ENDING.arrange(
    [
        ### BEGIN SOLUTION
        # Whose half is it, then the message, then the note that it is done.
        "compare",
        "message",
        "op",
        ### END SOLUTION
    ]
)

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("ending", order)
### END HIDDEN TESTS
check(ENDING, order)

# %% [markdown]
# ## The consumer
#
# The right order has a price, which the second cell below shows. The broker is killed between the
# message and its op record. When it comes back the half looks open, and the check has it committed
# a second time. The first cell asks something else: what if the consumer fails? Here the warehouse
# cannot process the order yet.

# %% jupyter={"source_hidden": true}
fails = scenario("""
# The warehouse cannot process the order
system order_service consumers=warehouse
run app: send-in-transaction orders-0 580538
run warehouse: consume later
""")
Predict("03-consumer-fails", trace=fails, step=first(fails, "message 580538"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
twice = scenario("""
# The broker is killed between the message and its op record
system order_service release=4.9 consumers=warehouse persist_ms=0 timeout_ms=0
kill broker when=message#1 after=2
run app: send-in-transaction orders-0 580538
restart broker
fire app heartbeat
fire broker check
run warehouse: consume, consume
""")
print(find_lines(twice, "half 580538", "message 580538", "killed", "consume:"))

# %% [markdown]
# The consumer takes no part in the transaction. It gets the message **at least once**, and here
# twice, with the same order number and the same `UNIQ_KEY`. This warehouse notes which orders it
# has applied and recognises the second copy (“known”), so nothing is shipped twice. A consumer that
# fails does not change the row either: the message comes again (lab 04).

# %% [markdown]
# ## The article's service
#
# A well-known article shows its order service in full: `CreateOrderService`, a listener with its
# two methods, and `createOrder`, which tells the web page whether the order was placed. In Python:


# %%
def article_execute(order, db, memory):  # executeLocalTransaction
    try:
        db.put(order, "placed")  # orderDao.insert
        return COMMIT
    except Exception:  # catch (Throwable t)
        return ROLLBACK


def article_check(order_id, db, memory):  # checkLocalTransaction
    return UNKNOWN if db.get(order_id) is None else COMMIT


def article_create_order(send_status, local_state):  # createOrder
    # return sendResult.getSendStatus() == SEND_OK; // was the transaction successful
    return "placed" if send_status == "SEND_OK" else "not placed"


check(TELLING, article_create_order)

# %% [markdown]
# Every schedule was searched, with an order and with a cancellation. The light *told* is red where
# a customer was told something untrue: here a refused cancellation is reported as “placed”. (There
# is another fault above. You may see it already; lab 04 hunts it down.)
#
# Mend the last function. `send_status` is one of the four statuses, `local_state` one of
# `"COMMIT_MESSAGE"`, `"ROLLBACK_MESSAGE"`, `"UNKNOW"`. Answer `"placed"`, `"not placed"` or `"not
# known"`. Two hints wait: `print(TELLING.hint(1))`, then `print(TELLING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "telling"}
def create_order(send_status: str, local_state: str) -> str:
    """What the customer is told."""
    ### BEGIN SOLUTION
    # The status is the half's. What became of the row is the other word.
    if local_state == "COMMIT_MESSAGE":
        return "placed"
    return "not placed" if local_state == "ROLLBACK_MESSAGE" else "not known"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "telling-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("telling", create_order)
### END HIDDEN TESTS
check(TELLING, create_order)

# %% [markdown]
# ## Find the crash
#
# The service of the hook again: row first, then the message (`off=half_before_execute`). Deliver
# messages, or let a process die, from the menus in the picture. Goal: the light *row with message*
# turns red. How few choices do you need?

# %%
unsafe = "order_service off=half_before_execute 'app=send-in-transaction orders-0 580538'"
Playground(continue_scenario(f"# The row first\nsystem {unsafe}"), goal="row with message")

# %% [markdown]
# ## Modify: which safeguard is necessary?
#
# Choose who dies where, and what is switched off. Nobody is restarted here. With everything on, is
# there a death that turns a light red? Which one does without `half_before_execute`, which without
# `half_topic`?
#
# The last cell then searches all schedules without one safeguard at a time. Say first what will
# break:
#
# | without | the broker or the client no longer |
# |---|---|
# | `half_before_execute` | stores the half before it runs the local transaction |
# | `half_topic` | keeps the half in a topic of its own |
# | `exception_is_unknown` | takes an exception for UNKNOW; it takes it for ROLLBACK |
# | `end_validation` | compares an end's group and offsets with the half |
# | `message_before_op` | writes the message before its op record |
# | `op_topic` | records which halves have ended |

# %%
STORY = """
# An order, with what was chosen
system order_service consumers=warehouse
off {off}
{kill}
run app: send-in-transaction orders-0 580538
run warehouse: consume
"""


def play(kill, off):
    return Player(scenario(STORY.format(kill=kill, off=off)))


nothing = STORY.format(kill="", off="")
vary(
    play,
    kill=list_kills(nothing, "app"),
    off=list_safeguards("order_service", "half_before_execute", "half_topic"),
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
ABOUT_THE_ROW = ("half_before_execute", "half_topic", "exception_is_unknown", "end_validation")
print(tell_safeguards(*ABOUT_THE_ROW, "message_before_op", "op_topic"))

# %% [markdown]
# Each line names the anomaly, the number of choices in the shortest run that shows it, and what the
# same search finds when the safeguard is on: nothing. A *dirty read* is a message that is read
# although its row is not there yet. The command `mqlab explore rocketmq --safeguards` searches all
# thirteen safeguards, among them those of lab 04.

# %% [markdown]
# ## Make: the listener
#
# Now write both functions, for orders as the shop has them.
#
# - `execute(order, db, memory)` is the local transaction. Write a row under the order's number. An
#   order whose number begins with C is a cancellation: refuse it, and write no row.
# - `check_order(order_id, db, memory)` is asked by the broker later, perhaps in another process.
#
# `db.get(key)` reads a row, or None; `db.put(key, value)` writes one; each call is committed when
# it returns, and raises an exception when the connection breaks. `memory` is a dictionary of this
# process, lost with it. Use nothing else: no clock, no random numbers, no variable from outside the
# function. Answer `COMMIT`, `ROLLBACK` or `UNKNOWN`; RocketMQ calls them COMMIT_MESSAGE,
# ROLLBACK_MESSAGE and UNKNOW.
#
# Every call on `db` is a place where the process can die. Two processes of the group are searched
# with a kill, a broken connection and checks that come early. Then the process is killed at each of
# its steps over an SQLite file, and every such run is played to its end. Two hints wait:
# `print(LISTENER.hint(1))`, then `print(LISTENER.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "listener"}
def execute(order, db, memory):
    """executeLocalTransaction: take the order, or refuse it."""
    ### BEGIN SOLUTION
    if order.startswith("C"):
        return ROLLBACK
    # What this raises is UNKNOW to the client, and that is what it is.
    db.put(order, "placed")
    return COMMIT
    ### END SOLUTION


def check_order(order_id, db, memory):
    """checkLocalTransaction: what became of it?"""
    ### BEGIN SOLUTION
    # No row is no proof that there will be none.
    return UNKNOWN if db.get(order_id) is None else COMMIT
    ### END SOLUTION


listener = (execute, check_order)

# %% nbgrader={"grade": true, "grade_id": "listener-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("listener", listener)
### END HIDDEN TESTS
check(LISTENER, listener)

# %% [markdown]
# ## Transfer: who decides elsewhere?
#
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | who decides | your database, by a row | the coordinator, by a record | the coordinator, by a record |
# | what becomes one | a row and one message | messages and read positions | messages and acknowledgements |
# | where the undecided lies | in the half topic | in its real partition, behind the LSO | in its real topic, behind `maxReadPosition` |
# | a commit writes | a second message | a marker | a marker |
# | silence means | “what happened?” | abort, after 60 s | abort, after its timeout |

# %% [markdown]
# ## Refuted
#
# | belief | what is true | seen in |
# |---|---|---|
# | the local transaction runs first | the half is stored first | Predict |
# | a half message cannot be consumed | it can; nobody subscribes to its topic | 1 |
# | one must create a transaction topic | any topic will do; only the proxy looks at its type | 1 |
# | a half that is stored somehow is enough | only `SEND_OK` lets the local transaction run | 2 |
# | an exception means rollback | it means UNKNOW, and the check decides | 2, Make |
# | COMMIT returned, so the broker has committed | it is the producer's own word, sent one-way | 4 |
# | commit moves the half | it writes a second message; the half stays | 5 |
# | rollback deletes the half | it appends an op record | 5, 6 |
# | first marked as done, then copied | first the message, then the op record | Order |
# | the consumer is in the transaction | it gets the message at least once, afterwards | The consumer |
# | `sendStatus == SEND_OK` says that it succeeded | it says that the half is stored | The article's service |

# %% [markdown]
# ## Exit ticket
#
# A cinema sells a seat. That is a row in its database, and a message to the app that shows free
# seats. The service crashes after the row is written and before it has told the broker. It is
# restarted a minute later, and goes on selling seats.

# %% jupyter={"source_hidden": true}
Predict("03-exit-ticket")

# %% [markdown]
# **What you know now.** The message is stored before the row, where nobody looks. The row decides.
# The broker is told once, and asks if it has not heard. On COMMIT it writes a second message, and
# then a note that the half is done. Next: [what if nobody answers?](04-check-back.ipynb)
