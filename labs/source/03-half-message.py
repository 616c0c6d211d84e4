# %% [markdown]
# # Lab 03 · RocketMQ: how do a message and a row become one?
#
# *90 minutes, or a quick route of 20* · RocketMQ 5.5, and 4.9 where it differs
#
# **In one paragraph.** An order is a row in your database and a message to the warehouse. No database and
# no broker can promise you both. RocketMQ has a call for this, and a kind of message named after it, the
# *transactional message* (事务消息). In this lab you find out in what sequence its steps run and which of
# them decides. You kill the order service between any two steps and look into a real SQLite file. You
# also decide what the customer may be told.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.
#
# **You need** lab 00. A *topic* is a named stream of messages, and a *queue* such as `orders-0` is one of
# its logs. A *broker* is the server that keeps the logs. The processes of one service that send messages
# form a *producer group* (生产者组).

# %% [markdown]
# ## The customer has paid. Will the warehouse find out?
#
# It is Monday morning, 5 December 2011. Order 580538 comes in at the gift shop: 48 rabbit night lights and
# some other things, for £316.78. The order service does what many services do. It writes the row, and then
# it sends a message. In Java:
#
# ```java
# orderDao.insert(order);                  // 1. the row
# producer.send(new Message("orders", …)); // 2. the message
# ```
#
# Here the process is killed between the two. Click the picture and step with the arrow keys. *Money*
# compares what customers have paid (the mark) with what the warehouse has counted (the bar).

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
    say,
    scenario,
    vary,
)
from mqlab.lessons.rocketmq.lab03 import (
    COMMIT,
    ENDING,
    KEEPING,
    ROLLBACK,  # noqa: F401
    SERVICE,
    TELLING,
    UNKNOWN,  # noqa: F401
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
    tabulate_deaths,
    tabulate_safeguards,
    tabulate_statuses,
)

# %% jupyter={"source_hidden": true}
parted = scenario("""
# The row, then the message, and a crash in between
system order_service consumers=warehouse off=half_before_execute
kill app when=SendMessage#1 after=0
run app: send-in-transaction orders-0 580538
restart app
run warehouse: consume
""")
Player(
    parted,
    step=find_red_step(parted, "row with message"),
    panels=["space-time", "money", "tables", "lights"],
    level="story",
)

# %% [markdown]
# The customer has paid, the row is there, and the restarted process has no trace of the message that is
# still to be sent. The warehouse will never ship goods worth £316.78. If the service sent the message
# first and wrote the row afterwards, the same crash would leave a message without an order. Either way
# there are two writes in two places, and no process is left to finish the job.

# %% [markdown]
# ## Predict
#
# RocketMQ's client has one call for both: `sendMessageInTransaction(message)`. The *local transaction*
# (本地事务) is the service's own work in its own database. Its code is in a *listener*, which the producer
# gets before it starts. This time nothing goes wrong. Choose an answer and lock it.

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
Predict("03-first-step", trace=calm, step=1, panels=["space-time", "lights"], level="protocol")

# %% [markdown]
# ## Step from the row to the message
#
# The stored message that consumers do not get yet is the *half message* (半消息), and its topic is the *half
# topic*. The picture opens at the step at which the row is written. Step on from there, and ask at each
# step what a crash would leave behind.

# %%
Player(calm, step=first(calm, "orders[580538]"))

# %% [markdown]
# | stage | here | who can tell |
# |---|---|---|
# | reserve | the message is stored in the half topic | the broker |
# | write, decide | the listener writes the order's row | the service's own database |
# | publish the decision | `EndTransaction COMMIT` goes to the broker | neither side: it gets no answer |
# | make visible | the broker writes the message into `orders-0` | the warehouse |
# | forget | a record in the *op topic* marks this half message as ended | the broker |
#
# **The row decides.** The broker only carries out what was decided in the database. A process that dies
# before the row leaves a half message that no consumer gets, and no order. If it dies after the row, the
# decision has not reached the broker; then the broker asks the service (*check-back*, 反查, lab 04).

# %% [markdown]
# ## What may the customer be told?
#
# The call returns two values, here `SEND_OK COMMIT_MESSAGE`. An article shows a whole order service,
# whose method `createOrder` tells the web page whether the order was placed. In Python it looks like
# this:


# %%
def article_create_order(send_status, local_state):  # createOrder
    # return sendResult.getSendStatus() == SEND_OK; // was the transaction successful
    return "placed" if send_status == "SEND_OK" else "not placed"


check(TELLING, article_create_order)

# %% [markdown]
# The check has searched every schedule, with an order and with a cancellation, whose number begins with
# C. This service refuses each cancellation and writes no row for it. The invariant *what customers were
# told is so* is red where the customer was told something untrue.
#
# Write a better function. `send_status` is `"SEND_OK"`, or one of three other statuses for a copy of the
# stored message that is late or missing. `local_state` is `"COMMIT_MESSAGE"`, `"ROLLBACK_MESSAGE"` or
# `"UNKNOW"`, which RocketMQ spells without its last N. Return `"placed"`, `"not placed"` or `"not
# known"`. Two hints are available: `print(TELLING.hint(1))`, then `print(TELLING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "telling"}
def create_order(send_status: str, local_state: str) -> str:
    """What the customer is told."""
    ### BEGIN SOLUTION
    # The status is about the half message. What became of the row is the other value.
    if local_state == "COMMIT_MESSAGE":
        return "placed"
    return "not placed" if local_state == "ROLLBACK_MESSAGE" else "not known"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "telling-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("telling", create_order)
### END HIDDEN TESTS
check(TELLING, create_order)

# %% [markdown]
# ## What you know now
#
# The message is stored first, where no consumer looks. The row decides. The client reports the outcome
# once, and on COMMIT the broker writes the message into the real topic.
#
# The quick route ends here. The parts below go deeper, in any order; 8 of the 10 points are there. The
# next lab asks: [what if the outcome never arrives?](04-check-back.ipynb)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("03")

# %% [markdown] tags=["deeper"]
# ## What do other programs find in the database?

# %% [markdown]
# Now the database is a real one. The next cell sends the day's first four orders and one cancellation
# with the same call. The rows go into an SQLite file, which is then opened with Python's own `sqlite3`,
# as any other program would open it.

# %% tags=["nbval-check-output"]
file = Path(tempfile.mkdtemp()) / "orders.db"
taken = keep_orders(file)
print(*(f"{o.number} £{o.pence / 100:.2f}" for o in list_orders(4)), sep="  ")
print()
print(list_calls(taken, "app"))
print()
with sqlite3.connect(file) as database:
    print(say("in the file:"), dict(database.execute("SELECT key, value FROM orders")))

# %% [markdown]
# `SEND_OK` comes from the broker, and the cancellation gets it too. The other value comes from the
# listener.

# %% [markdown] tags=["deeper"]
# ## What keeps consumers away from a half message?

# %% [markdown]
# The map shows what each program stores, and what survives a crash.

# %% jupyter={"source_hidden": true}
broker_map("rocketmq")

# %% [markdown]
# The client puts two properties on the message, `TRAN_MSG` and the producer group `PGROUP`, and sends it
# like any other. When a message has `TRAN_MSG`, the broker saves its topic and queue in two properties,
# replaces them with `RMQ_SYS_TRANS_HALF_TOPIC` and queue 0, clears its transaction bits, and stores it.
# That is the half message. The first table shows one message at three moments. The second was recorded on
# a real RocketMQ 5.5.0.

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(compare_properties(CALM))
print()
print(read_recording("rocketmq-5.5.0/5.5", "committed-properties", "Pull", "sysFlag"))

# %% [markdown]
# `UNIQ_KEY` is the client's number for the message. It is also the transaction id: the broker copies it
# to `__transactionId__`, and every copy of the message keeps it. In both tables `sysFlag` is 0 on the
# half message, and 8 on the message that consumers get.
#
# So the half message has no transaction bits. A second group, `spy`, now subscribes to the half topic by
# its name.

# %% jupyter={"source_hidden": true}
spied = scenario("""
# A consumer subscribes to the half topic
system order_service topic=orders,RMQ_SYS_TRANS_HALF_TOPIC consumers=spy
hold app→db Statement
run app: send-in-transaction orders-0 580538
run spy: consume
release app→db Statement
""")
Predict("03-half-topic", trace=spied, step=first(spied, "put 580538"))

# %% [markdown]
# To the broker's store a half message is an ordinary message of another topic. It is invisible only
# **because no consumer subscribes to that topic**. (A real RocketMQ 5.5 lets a client pull half messages
# too: this course made its recordings of the half topic that way.) No client may *send* to it. The second
# table below shows a real broker's answer.
#
# One article begins by opening a topic for transactions. The next cell sends a plain message and a
# transactional one to the same topic, and stops before the transaction ends. RocketMQ 5 can mark a topic
# with `message.type=TRANSACTION`, but only its proxy looks at the mark. A client that connects directly
# to the broker, as the classic Java client does, can send both kinds to any topic. The last table comes
# from a real broker, whose topics `normal` and `transaction` carry these marks.

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
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
# The plain message is in its topic at once; the one with `TRAN_MSG` takes the detour. One `if` in the
# broker makes the difference.

# %% [markdown] tags=["deeper"]
# ## Is a stored half message safe enough?

# %% [markdown]
# The local transaction runs only once the half message is stored: if the broker cannot be reached, no row
# is written, and nothing has to be undone. But how safely is it stored? The answer to the send carries
# one of four statuses. Below, RocketMQ 4.9 wants two copies (`brokerRole=SYNC_MASTER`), there is no
# second node, and the broker answers `SLAVE_NOT_AVAILABLE` at once. (A real 5.5.0, which needs
# `inSyncReplicas=2` too, waits 3 s for a second node, `slaveTimeout`, and then answers
# `FLUSH_SLAVE_TIMEOUT`. Its client waits for an answer only 3 s as well: often its send has failed by
# then, with an exception.)

# %% jupyter={"source_hidden": true}
one_copy = scenario("""
# Two copies are wanted, and there is no second node
system order_service release=4.9 in_sync=2
run app: send-in-transaction orders-0 580538
""")
Predict("03-status", trace=one_copy, step=first(one_copy, "half 580538"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_statuses())

# %% [markdown]
# With every status but `SEND_OK` the client rolls back without running your code. It cannot tell whether
# the half message would survive the loss of that one broker. The 4.9 and 5.5 clients both do this.
#
# Users have reported this in public, for example: `mqlab incidents a-slave-is-down`.

# %% [markdown] tags=["deeper"]
# ## What does an exception mean?

# %% [markdown]
# Here the connection to the database breaks while the local transaction waits for the answer to its
# INSERT. `execute` raises an exception.

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

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(
    find_lines(
        broken, "orders[580538]", "EndTransaction", "SEND_OK", "CheckTransactionState",
        "message 580538",
    )
)
print()
returns_null = "system rocketmq\nrun app: listener null UNKNOW, send-in-transaction orders-0 580538"
print(find_lines(scenario(returns_null), "EndTransaction", "SEND_OK"))
print()
print(read_recording("rocketmq-5.5.0/5.5", "local-transaction-throws", "EndTransaction", "Check"))

# %% [markdown]
# An exception leaves the state at **UNKNOW**; the wire protocol calls it `NOT_TYPE`. So does a listener
# that returns `null`, in the lines below the first table. This is right: the row *is* there. The INSERT
# was committed, and only its answer was lost. The broker asks later, the listener finds the row, and the
# message is delivered. In the last table, recorded on a real broker, the listener found no row and
# answered ROLLBACK.

# %% [markdown] tags=["deeper"]
# ## What does a released client do?

# %% [markdown]
# So far every producer was part of the engine. In the next cell RocketMQ's own Java client 5.5.0 sends
# six transactional messages. The text of each tells what its listener does: commit, roll back, throw, or
# return UNKNOW once or twice. A push consumer of the same client receives them. *Before you run it: which
# states does `sendMessageInTransaction` return, how often is the listener asked about each message, and
# which of the six reach the consumer?*

# %%
from mqlab.lessons.rocketmq.lab03 import send_from_java

send_from_java()

# %% [markdown]
# The exception and UNKNOW look the same to the sending program: `SEND_OK UNKNOW`. Only the check tells
# them apart, and the consumer gets the four messages that were committed in the end. In a clone of the
# project, with Java 17 and Maven, `send_from_java(fetch=True)` fetches the client (94 MB, once), runs it
# against this project's own server, and shows the result beside the recording.

# %% [markdown] tags=["deeper"]
# ## Which line of your code decides?

# %% [markdown]
# Each line of the next table kills the process after another step. Then the broker asks the second
# instance, another process of the same group. The rows are read from an SQLite file. Which line of the
# table is the decision?

# %% tags=["nbval-check-output"]
print(tabulate_deaths(SERVICE))

# %% [markdown]
# It is the line with `put`. From there on the message is delivered, even though the process is dead.
# **The row is the decision**, and everything after it only passes it on. So your own database is the
# coordinator of the transaction.

# %% [markdown] tags=["deeper"]
# ## Does the broker know what your call returned?

# %% [markdown]
# At the end the client sends a request with the state and the place of the half message
# (`endTransaction`). Here that request is lost, and `sendMessageInTransaction` has returned `SEND_OK
# COMMIT_MESSAGE`.

# %% jupyter={"source_hidden": true}
end_lost = scenario("""
# The end is lost on its way
system order_service consumers=warehouse
lose app→broker EndTransaction#1
run app: send-in-transaction orders-0 580538
run warehouse: consume
fire app heartbeat
at 30000
fire broker check
run warehouse: consume
""")
Predict("03-end-lost", trace=end_lost, step=first(end_lost, "SEND_OK COMMIT"))

# %% [markdown]
# The end is sent *one-way*: it gets no answer and no retry. So `COMMIT_MESSAGE` in the result comes from
# the producer itself. It may not have reached the broker, and the client cannot tell. The check repairs
# that, as long as some process of the group can be asked (lab 04).
#
# The usual diagram has a normal path and a path for compensation. The table translates its arrows into
# our six stages:
#
# | in the diagram | here |
# |---|---|
# | 1 send half message, 2 half stored | reserve |
# | 3 execute local transaction | write, decide |
# | 4 commit or rollback | publish the decision; then the broker makes it visible and forgets |
# | 5 check back, 6 look up the local transaction, 7 commit or rollback | publish the decision once more, when it has not reached the broker |
#
# The example above, whose first end was lost, takes both paths. Find the seven arrows of the diagram in
# it, and the message that the warehouse gets in the end. Which arrow was lost? The next cell shows them
# as text.

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(
    find_lines(
        end_lost, "SendMessage half", "half 580538 @", "put 580538", "orders[580538]",
        "EndTransaction", "CheckTransactionState", "get 580538", "message 580538",
    )
)

# %% [markdown] tags=["deeper"]
# ## What does the broker do at the end, step by step?

# %% [markdown]
# One article says that the half message is first marked as done, and then copied to the real topic.
# Arrange the pieces so that every promise is kept, although the broker may be killed between any two of
# them. Not every piece belongs there. Run the cell, move the pieces, and run the next cell.

# %% nbgrader={"solution": true, "grade_id": "order"}
order = ENDING.arrange(
    [
        ### BEGIN SOLUTION
        # Whose half message is it, then the message, then the record that it is done.
        "compare",
        "message",
        "op",
        ### END SOLUTION
    ]
)

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("ending", order)
### END HIDDEN TESTS
check(ENDING, order)

# %% [markdown]
# The right sequence has a cost. Next, the broker is killed between the message and its op record. After
# the restart the half message looks open, and a check commits it a second time.

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
# The warehouse gets the message **at least once**, and here twice, with the same order number and the
# same `UNIQ_KEY`. It keeps a list of the orders that it has processed, and recognises the second copy
# (“known”). So nothing is shipped twice.

# %% [markdown] tags=["deeper"]
# ## What does an end write into the log?

# %% [markdown]
# COMMIT has arrived. What does the broker do with the half message?

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
print(say("\nthe first end is slow:"), list_commit_log(LATE), sep="\n")

# %% [markdown]
# Both tables show the broker's one commit log, record by record. A commit copies the half message into
# its real topic and queue: a complete second message. Messages therefore appear there **in the sequence
# of their commits**. In the second table 580538 was sent first, and yet it comes after 580539 in
# `orders`.
#
# A log only grows, so neither half message in the first table is deleted. One record in the op topic
# names the places of both in the half topic, 0 and 1, and marks them as ended. The check skips them. The
# record does not contain *how* they ended, and there is no table of transactions that would. RocketMQ
# since 5.1 keeps op records in memory for up to 3 s and writes them together; 4.9 writes each one at
# once.

# %% [markdown] tags=["deeper"]
# ## What if the consumer fails?

# %% [markdown]
# Row and message are there, and the warehouse cannot process the order yet.

# %% jupyter={"source_hidden": true}
fails = scenario("""
# The warehouse cannot process the order
system order_service consumers=warehouse
run app: send-in-transaction orders-0 580538
run warehouse: consume later
""")
Predict("03-consumer-fails", trace=fails, step=first(fails, "message 580538"))

# %% [markdown]
# The consumer takes no part in the transaction. Its failure does not change the row, and the message is
# delivered again (lab 04).

# %% [markdown] tags=["deeper"]
# ## How few choices separate a row from its message?

# %% [markdown]
# Here is the first service of this lab again, which writes the row before it sends the message
# (`off=half_before_execute`). Deliver messages, or kill a process, with the menus in the picture. Your
# goal is to turn the invariant *row with message* red for good, which is not so while a message in flight
# may still turn it green. How few choices do you need?

# %%
unsafe = "order_service off=half_before_execute 'app=send-in-transaction orders-0 580538'"
Playground(continue_scenario(f"# The row first\nsystem {unsafe}"), goal="row with message")

# %% [markdown] tags=["deeper"]
# ## Which safeguard is necessary?

# %% [markdown]
# Choose which process is killed and where, and which safeguard is switched off. Nothing is restarted
# here. With everything on, is there a crash that turns an invariant red? Which crash does it when
# `half_before_execute` is off, and which when `half_topic` is off?
#
# The last cell then switches off one safeguard at a time and searches all schedules. Guess first what
# will break:
#
# | without | the broker or the client no longer |
# |---|---|
# | `half_before_execute` | stores the half message before it runs the local transaction |
# | `half_topic` | keeps the half message in a topic of its own |
# | `exception_is_unknown` | treats an exception as UNKNOW; it treats it as ROLLBACK instead |
# | `end_validation` | compares an end's group and offsets with the half message |
# | `message_before_op` | writes the message before its op record |
# | `op_topic` | records which half messages have ended |

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
print(tabulate_safeguards(*ABOUT_THE_ROW, "message_before_op", "op_topic"))

# %% [markdown]
# Each line names the anomaly, the number of choices in the shortest example of it, and what the same
# search finds when the safeguard is on: nothing. A *dirty read* is a message that can be read although
# its row is not there; here the row is never written. The command `mqlab explore rocketmq --safeguards`
# searches all thirteen safeguards, among them those of lab 04.

# %% [markdown] tags=["deeper"]
# ## Can a crash make the warehouse pack an empty parcel?

# %% [markdown]
# The shop keeps an order in two rows. The row `580538` means that the order is placed. The row
# `580538/goods` lists what to pack. When the message about order 580538 arrives, the warehouse looks the
# goods up and packs them. When the broker asks, the shop's own check looks only for the row `580538`.
#
# Write `execute(order, db, memory)`, the local transaction. It writes both rows and returns `COMMIT`,
# `ROLLBACK` or `UNKNOWN`. `db.put(key, value)` writes a row, `db.get(key)` reads one, or None, and
# `db.delete(key)` removes one. Keys and values are texts. Each call is committed when it returns, and it
# raises an exception when the connection breaks. `memory` is a dictionary of this process, lost with it.
# Use nothing else: no clock, no random numbers, no variable from outside the function.
#
# The process can die at every call on `db`. The search covers two processes of the group, with a crash, a
# broken connection and checks that come early. Then the process is killed at each of its steps, with the
# rows in an SQLite file. Two hints are available: `print(KEEPING.hint(1))`, then
# `print(KEEPING.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "keeping"}
def execute(order, db, memory):
    """executeLocalTransaction: keep the order and its goods."""
    ### BEGIN SOLUTION
    # The row that is looked up is the decision, so everything else is written before it.
    db.put(f"{order}/goods", "48 rabbit night lights")
    db.put(order, "placed")
    # An exception is not caught: the client treats it as UNKNOW, which is right.
    return COMMIT
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "keeping-test", "points": 5}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("keeping", execute)
### END HIDDEN TESTS
check(KEEPING, execute)

# %% [markdown] tags=["deeper"]
# ## Who decides elsewhere?

# %% [markdown]
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | who decides | your database, by a row | the coordinator, by a record | the coordinator, by a record |
# | what becomes one | a row and one message | messages and read positions | messages and acknowledgements |
# | where an undecided message is | in the half topic | in its real partition, above the LSO | in its real topic, past `maxReadPosition` |
# | a commit writes | a second message | a marker | a marker |
# | silence means | “what happened?” | abort, after 60 s | abort, after its timeout |

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | the local transaction runs first | the half message is stored first | Predict |
# | a half message cannot be consumed | it can; usually no consumer subscribes to its topic | half message |
# | one must create a transaction topic | any topic will do; only the proxy looks at its type | half message |
# | any stored half message is enough | only `SEND_OK` lets the local transaction run | stored half message |
# | an exception means rollback | it means UNKNOW, and the check decides | exception |
# | COMMIT returned, so the broker has committed | it comes from the producer, and is sent one-way | what the broker knows |
# | commit moves the half message | it writes a second message; the half message stays | the log |
# | rollback deletes the half message | it appends an op record | the log |
# | first marked as done, then copied | first the message, then the op record | step by step |
# | the consumer is in the transaction | it gets the message at least once, afterwards | the consumer |
# | `sendStatus == SEND_OK` means that it succeeded | it means that the half message is stored | What may the customer be told |

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A cinema sells a seat. That is a row in its database, and a message to the app that shows free seats.
# The service crashes after the row is written and before it has reported to the broker. A minute later it
# restarts, and sells more seats.

# %% jupyter={"source_hidden": true}
Predict("03-exit-ticket")
