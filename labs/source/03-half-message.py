# %% [markdown]
# # Lab 03 · RocketMQ: how do a message and a row become one?
#
# *90 minutes, or a short way of 20* · RocketMQ 5.5, and 4.9 where it differs
#
# **In one paragraph.** An order is a row in your database and a message to the warehouse. No database and no
# broker can promise you both. RocketMQ has a call for this, and a kind of message that is named after it, the
# *transactional message* (事务消息). In this lab you find out in which order its steps run and which of them
# decides. You kill the order service between any two steps and look into a real SQLite file. You also say what
# the customer may be told.
#
# **The short way:** Hook, Predict, Run, What may the customer be told, What you know now. The other parts
# are folded under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its
# part. Each of them can be done on its own day. A part may use what stands above it: *Run All Above Selected
# Cell* in the menu *Run* runs that first.
#
# **You need** lab 00. A *topic* is a named stream of messages, and a *queue* such as `orders-0` is one log of
# it. A *broker* is the server that keeps the logs. A *producer group* (生产者组) is the processes of one service
# that send messages.

# %% [markdown] lang="zh"
# # 实验 03 · RocketMQ：一条消息和数据库的一行，怎样合二为一？
#
# *90 分钟，短路线约 20 分钟* · RocketMQ 5.5，与 4.9 不同之处另作说明
#
# **一段话概括**：一个订单，既是你数据库里的一行（row，下文简称“行”），也是发给仓库的一条消息。没有哪个数据库、哪个 broker 能同时向你保证这两样。RocketMQ 为此提供了一个调用，还有一种以它命名的消息：*事务消息*（transactional message）。在这个实验里，你会弄清它的各个步骤按什么顺序执行、由哪一步作决定。你会在任意两步之间杀掉订单服务，并查看一个真实的 SQLite 文件。你还要说明可以告诉顾客什么。
#
# **短路线**：引子、预测、执行、可以告诉顾客什么、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。每一部分都可以另找一天单独做。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。
#
# **你需要**先做实验 00。*主题*（topic）是有名字的消息流，*队列*（queue，例如 `orders-0`）是其中的一个日志。*broker* 是保存这些日志的服务器。*生产者组*（producer group）是同一个服务中发送消息的各个进程。

# %% [markdown]
# ## Hook: the customer has paid. Does the warehouse know?
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
# Here the process is killed between the two. Step with the arrow keys. *Money* sets what customers have paid
# (the mark) against what the warehouse has counted (the bar).

# %% [markdown] lang="zh"
# ## 引子：顾客已经付款，仓库知道吗？
#
# 2011 年 12 月 5 日，星期一早上。礼品店收到订单 580538：48 只兔子夜灯和一些别的东西，共 £316.78。订单服务的做法和许多服务一样：先写入一行，再发送一条消息。用 Java 写就是：
#
# ```java
# orderDao.insert(order);                  // 1. the row
# producer.send(new Message("orders", …)); // 2. the message
# ```
#
# 在这次执行中，进程正好在两者之间被杀掉。用方向键逐步查看。*金额*一栏把顾客已付的钱（竖线）和仓库已计入的钱（长条）放在一起对照。

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
    parted, step=find_red_step(parted, "row with message"), panels=["space-time", "money", "tables", "lights"]
)

# %% [markdown]
# The customer has paid, the row is there, and the restarted process knows nothing of the message that it
# still owes. The warehouse will never ship goods worth £316.78. If the service sent the message
# first and wrote the row afterwards, the same crash would leave a message without an order. Either way
# there are two writes in two places, and nobody is left to finish the job.

# %% [markdown] lang="zh"
# 顾客付了款，行也写下了，重启后的进程却完全不知道自己还欠着一条消息。价值 £316.78 的货，仓库永远不会发出。如果服务先发消息、后写行，同样的宕机就会留下一条没有订单的消息。无论哪种顺序，都要在两个地方各写一次，中途一旦出事，就没有人来收尾。

# %% [markdown]
# ## Predict
#
# RocketMQ's client has one call for both: `sendMessageInTransaction(message)`. The *local transaction*
# (本地事务) is the service's own work in its own database. Its code stands in a *listener*, which the
# producer was given before it started. Nothing goes wrong in this run. Choose an answer and lock it.

# %% [markdown] lang="zh"
# ## 预测
#
# RocketMQ 的客户端用一个调用完成两件事：`sendMessageInTransaction(message)`。*本地事务*（local transaction）是服务在自己的数据库里做的事。它的代码写在*监听器*（listener）里，生产者在启动之前就拿到了这个监听器。这次执行没有任何故障。选一个答案，然后锁定。

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
Predict("03-first-step", trace=calm, step=1, panels=["space-time", "lights"])

# %% [markdown]
# ## Run
#
# The stored message that consumers do not get yet is the *half message* (半消息), and the topic that it
# waits in is the *half topic*. The picture opens at the step at which the row is written. Step on from
# there, and ask at each step what a crash would leave behind.

# %% [markdown] lang="zh"
# ## 执行
#
# 消息已经存下，消费者却还拿不到：这就是*半消息*（half message）；它等待时所在的主题叫*半消息主题*（half topic）。画面打开时停在写入行的那一步。从那里继续逐步向前，每一步都问一问：如果此刻宕机，会留下什么？

# %%
Player(calm, step=first(calm, "orders[580538]"))

# %% [markdown]
# | stage | in this run | who can tell |
# |---|---|---|
# | reserve | the message is stored in the half topic | the broker |
# | write, decide | the listener writes the order's row | the service's own database |
# | publish the decision | `EndTransaction COMMIT` goes to the broker | nobody answers it |
# | make visible | the broker writes the message into `orders-0` | the warehouse |
# | forget | a record in the *op topic* says that this half has ended | the broker |
#
# **The row decides.** The broker only carries out what was decided in the database. A process that dies
# before the row leaves a half message that nobody sees, and no order. If it dies after the row, the broker
# has not heard of the decision; then the broker asks the service (*check-back*, 反查, lab 04).

# %% [markdown] lang="zh"
# | 阶段 | 在这次执行中 | 谁知道 |
# |---|---|---|
# | 预留 | 消息存入半消息主题 | broker |
# | 写入、决定 | 监听器写入订单的行 | 服务自己的数据库 |
# | 公布决定 | `EndTransaction COMMIT` 发给 broker | 没有人应答 |
# | 变为可见 | broker 把消息写入 `orders-0` | 仓库 |
# | 遗忘 | *op 主题*里的一条记录说明这条半消息已经结束 | broker |
#
# **作决定的是这一行**。broker 只是执行数据库里已经作出的决定。进程若在写行之前死掉，只留下一条谁也看不见的半消息，没有订单。若在写行之后死掉，broker 还没有得知决定，就会来询问服务（*回查*，也叫反查，check-back，见实验 04）。

# %% [markdown]
# ## What may the customer be told?
#
# The call returns two words, here `SEND_OK COMMIT_MESSAGE`. An article shows a whole order service. Its method
# `createOrder` tells the web page whether the order was placed. In Python it looks like this:


# %% [markdown] lang="zh"
# ## 可以告诉顾客什么？
#
# 这个调用返回两个词，这里是 `SEND_OK COMMIT_MESSAGE`。有一篇文章给出了一个完整的订单服务，其中的 `createOrder` 方法告诉网页下单是否成功。用 Python 写是这样的：

# %%
def article_create_order(send_status, local_state):  # createOrder
    # return sendResult.getSendStatus() == SEND_OK; // was the transaction successful
    return "placed" if send_status == "SEND_OK" else "not placed"


check(TELLING, article_create_order)

# %% [markdown]
# The check has searched every schedule, with an order and with a cancellation, whose number begins with C.
# This service refuses each cancellation and writes no row for it. The light *what customers were told is so*
# is red where that was untrue.
#
# Write a better function. `send_status` is `"SEND_OK"`, or one of three other statuses which say that a copy
# of the stored message is late or missing. `local_state` is `"COMMIT_MESSAGE"`, `"ROLLBACK_MESSAGE"` or
# `"UNKNOW"`, which RocketMQ spells without its last N. Answer `"placed"`, `"not placed"` or `"not known"`.
# Two hints are there: `print(TELLING.hint(1))`, then `print(TELLING.hint(2))`.


# %% [markdown] lang="zh"
# 检查时搜索了所有可能的执行，里面有一个订单，还有一个取消单（编号以 C 开头）。这个服务拒绝每一个取消单，不为它写行。只要告诉某个顾客的话与事实不符，指示灯 *told*（“告诉顾客的与事实相符”）就会变红。
#
# 请写一个更好的函数。`send_status` 的取值是 `"SEND_OK"`，或者另外三种状态之一，表示消息的某个副本迟迟没有存好，或者缺失。`local_state` 是 `"COMMIT_MESSAGE"`、`"ROLLBACK_MESSAGE"` 或 `"UNKNOW"`（RocketMQ 拼写时少了最后的 N）。请返回 `"placed"`、`"not placed"` 或 `"not known"`。有两条提示可看：`print(TELLING.hint(1))`，然后 `print(TELLING.hint(2))`。

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
# ## What you know now
#
# The message is stored first, where no consumer looks. The row decides. The broker is told once, and on
# COMMIT it writes the message into the real topic.
#
# The short way ends here. The parts below go deeper, in any order; 8 of the 10 points are there. The next
# lab asks: [what if nobody answers?](04-check-back.ipynb)

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 消息先存到消费者不去读的地方。作决定的是数据库里的那一行。broker 只得到一次通知；如果是 COMMIT，它就把消息写入真正的主题。
#
# 短路线到此结束。下面的部分继续深入，先做哪个都行；10 分中有 8 分在那里。下一个实验要问的是：[没有人回答怎么办？](04-check-back.ipynb)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("03")

# %% [markdown] tags=["deeper"]
# ## Deeper: what do other programs find in the database?

# %% [markdown] lang="zh"
# ## 深入：别的程序在数据库里看到什么？

# %% [markdown]
# Now the database is a real one. The next cell sends the day's first four orders and one cancellation with
# the same call. The rows go into an SQLite file. Then the file is opened with Python's own `sqlite3`, as any
# other program would open it.

# %% [markdown] lang="zh"
# 现在换成真正的数据库。下一个单元用同样的调用发送当天最早的四个订单和一个取消单。行写入一个 SQLite 文件，然后用 Python 自带的 `sqlite3` 打开它，就像别的程序会做的那样。

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
# `SEND_OK` is the broker's word, and the cancellation gets it too. The other word is the listener's.

# %% [markdown] lang="zh"
# `SEND_OK` 是 broker 说的，取消单也得到了。另一个词才是监听器说的。

# %% [markdown] tags=["deeper"]
# ## Deeper: what keeps consumers away from a half message?

# %% [markdown] lang="zh"
# ## 深入：是什么让消费者碰不到半消息？

# %% [markdown]
# The map shows which program keeps what, and which of it survives a crash.

# %% [markdown] lang="zh"
# 这张图说明哪个程序保存什么，其中哪些在宕机之后还在。

# %% jupyter={"source_hidden": true}
broker_map("rocketmq")

# %% [markdown]
# The client puts two properties on the message, `TRAN_MSG` and the producer group `PGROUP`, and sends it
# like any other. When a message has `TRAN_MSG`, the broker notes its topic and queue in two properties,
# replaces them with `RMQ_SYS_TRANS_HALF_TOPIC` and queue 0, clears its transaction bits, and stores it.
# That is the half message. The first table shows one message three times. The second was recorded on a
# real RocketMQ 5.5.0.

# %% [markdown] lang="zh"
# 客户端给消息加上两个属性：`TRAN_MSG` 和生产者组 `PGROUP`，然后像普通消息一样发送。broker 看到消息带有 `TRAN_MSG`，就把原来的主题和队列记在两个属性里，换成 `RMQ_SYS_TRANS_HALF_TOPIC` 和队列 0，清除事务标志位，再存下来。这就是半消息。第一张表列出同一条消息的三种样子。第二张表是在真实的 RocketMQ 5.5.0 上录制的。

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(compare_properties(CALM))
print()
print(read_recording("rocketmq-5.5.0/5.5", "committed-properties", "Pull", "sysFlag"))

# %% [markdown]
# `UNIQ_KEY` is the client's number for the message. It is also the transaction id: the broker copies it to
# `__transactionId__`, and every copy of the message keeps it. In both tables `sysFlag` is 0 on the half,
# and 8 on the message that consumers get.
#
# So the half has no transaction bits. A second group, `spy`, now subscribes to the half topic by its name.

# %% [markdown] lang="zh"
# `UNIQ_KEY` 是客户端给消息的编号，也就是事务 ID：broker 把它复制到 `__transactionId__`，消息的每一份副本都带着它。在两张表里，半消息的 `sysFlag` 都是 0，消费者得到的消息则是 8。
#
# 所以，半消息没有事务标志位。现在另一个组 `spy` 按名字订阅了半消息主题。

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
# To the broker's store a half is an ordinary message of another topic. It is invisible only **because nobody
# subscribes to that topic**. (A real RocketMQ 5.5 lets a client pull half messages too: the recordings of
# this course read the half topic that way.) No client may *send* to it. The second table below shows the
# answer of a real broker.
#
# One article begins by opening a topic for transactions. The next cell sends a plain message and a
# transactional one to the same topic, and stops before the transaction ends. RocketMQ 5 can mark a topic
# with `message.type=TRANSACTION`, but only its proxy looks at the mark. A client that is connected to the
# broker itself, as the classic Java client is, can send both kinds to any topic. The last table comes from a
# real broker, whose topics `normal` and `transaction` carry these marks.

# %% [markdown] lang="zh"
# 对 broker 的存储来说，半消息只是另一个主题里的普通消息。它之所以不可见，只是**因为没有人订阅那个主题**。（真正的 RocketMQ 5.5 也允许客户端拉取半消息：本课程就是这样录下半消息主题的。）但任何客户端都不能向它*发送*。下面第二张表是真实 broker 的应答。
#
# 有一篇文章说，第一步是开启一个事务主题。下一个单元向同一个主题发送一条普通消息和一条事务消息，并在事务结束之前停下。RocketMQ 5 可以用 `message.type=TRANSACTION` 标记主题，但只有它的 proxy 会检查这个标记。直接连接 broker 的客户端（例如经典的 Java 客户端）可以向任何主题发送这两种消息。最后一张表来自真实的 broker，它的主题 `normal` 和 `transaction` 就带有这样的标记。

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
# The plain message stands in its topic at once; the one with `TRAN_MSG` takes the detour. One `if` in the
# broker makes the difference.

# %% [markdown] lang="zh"
# 普通消息立刻就在自己的主题里；带 `TRAN_MSG` 的消息则要绕一圈。区别只在 broker 里的一个 `if`。

# %% [markdown] tags=["deeper"]
# ## Deeper: is a stored half safe enough?

# %% [markdown] lang="zh"
# ## 深入：半消息存下了，就够安全了吗？

# %% [markdown]
# The local transaction runs only when the half is stored: if the broker cannot be reached, no row is written,
# and nothing has to be undone. But how safely is the half stored? The answer to the send carries one of four
# statuses. In the next run, of RocketMQ 4.9, two copies are wanted (`inSyncReplicas=2`), there is no second
# node, and the broker answers `SLAVE_NOT_AVAILABLE` at once. (A real 5.5.0 in the same state had not answered
# after 60 s, so this part says nothing about that release.)

# %% [markdown] lang="zh"
# 半消息存好之后，本地事务才会执行：如果连不上 broker，就不会写行，也就没有什么需要撤销。可是半消息存得有多安全呢？发送的应答会带上四种状态之一。下一次执行用的是 RocketMQ 4.9：要求两份副本（`inSyncReplicas=2`），却没有第二个节点，broker 立刻应答 `SLAVE_NOT_AVAILABLE`。（真实的 5.5.0 在同样的情形下过了 60 秒还没有应答，所以这一部分不涉及那个版本。）

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
# With every status but `SEND_OK` the client rolls back without running your code. It cannot know whether
# the half would survive the loss of that one broker. The clients of 4.9 and of 5.5 both do this. In this table
# the two statuses with *SLAVE* in their names come from brokers of 4.9.

# %% [markdown] lang="zh"
# 只要状态不是 `SEND_OK`，客户端就不执行你的代码，直接回滚：它无从知道，万一那台唯一的 broker 没了，半消息还在不在。4.9 和 5.5 的客户端都这样做。表中名字带 *SLAVE* 的两种状态来自 4.9 的 broker。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does an exception say?

# %% [markdown] lang="zh"
# ## 深入：异常说明了什么？

# %% [markdown]
# In this run the connection to the database breaks while the local transaction waits for the answer to its
# INSERT. `execute` raises an exception.

# %% [markdown] lang="zh"
# 这次执行中，本地事务正在等待 INSERT 的应答，与数据库的连接断了。`execute` 抛出异常。

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
# An exception leaves the state at **UNKNOW**; the wire protocol calls it `NOT_TYPE`. So does a listener that
# returns `null`, in the lines below the first table. This is right: the row *is* there. The INSERT was
# committed, and only its answer was lost. The broker asks later, the listener finds the row, and the message is
# delivered. In the last table, which was recorded on a real broker, the listener had no row and answered the
# same question with ROLLBACK.

# %% [markdown] lang="zh"
# 抛出异常，状态就停留在 **UNKNOW**；通信协议里叫 `NOT_TYPE`。监听器返回 `null` 也一样，见第一张表下面的几行。这是对的：行*确实*在。INSERT 已经提交，丢的只是它的应答。broker 稍后会来询问，监听器查到了行，消息就投递出去。最后一张表录自真实的 broker，那里的监听器没有查到行，对同样的问题回答 ROLLBACK。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a released client do?

# %% [markdown] lang="zh"
# ## 深入：正式发布的客户端会怎么做？

# %% [markdown]
# Until now every producer was the engine's. In the next cell RocketMQ's own Java client 5.5.0 sends six
# transactional messages. Each text says what its listener does: commit, roll back, throw, or return UNKNOW
# once or twice. A push consumer of the same client waits for them. *Before you run it: which states does
# `sendMessageInTransaction` return, how often is the listener asked about each message, and which of the six
# reach the consumer?*

# %% [markdown] lang="zh"
# 到这里为止，所有生产者都是引擎里的。下一个单元让 RocketMQ 自己的 Java 客户端 5.5.0 发送六条事务消息。每条消息的内容说明监听器怎么做：提交、回滚、抛出异常，或者返回一次、两次 UNKNOW。同一个客户端的推模式消费者（push consumer）等着接收。*运行之前先回答：`sendMessageInTransaction` 会返回哪些状态，对每条消息监听器会被问几次，六条里哪几条会到达消费者？*

# %%
from mqlab.lessons.rocketmq.lab03 import send_from_java

send_from_java()

# %% [markdown]
# The exception and UNKNOW look the same to the program that sends: `SEND_OK UNKNOW`. Only the check tells
# them apart, and the consumer gets the four messages that were committed in the end. In a clone of the
# project, with Java 17 and Maven, `send_from_java(fetch=True)` fetches the client (94 MB, once) and runs it
# at this project's own server, beside the recording.

# %% [markdown] lang="zh"
# 对发送的程序来说，抛出异常和 UNKNOW 看起来一样，都是 `SEND_OK UNKNOW`。要到回查时才能区分；最终得到提交的有四条消息，它们都到达了消费者。在项目的克隆（clone）里，如果有 Java 17 和 Maven，`send_from_java(fetch=True)` 会下载客户端（94 MB，只下载一次），让它连到本项目自己的服务器执行，结果放在录制旁边。

# %% [markdown] tags=["deeper"]
# ## Deeper: which line of your code decides?

# %% [markdown] lang="zh"
# ## 深入：作决定的是哪一行代码？

# %% [markdown]
# The next cell kills the process after each of its steps, once per line. Then the broker asks its twin,
# another process of the same group. The rows are read from an SQLite file. Which line of the table is the
# decision?

# %% [markdown] lang="zh"
# 下一个单元依次在进程的每一步之后杀掉它，表中每行对应一次。然后 broker 去问同组的另一个进程。数据库的行从 SQLite 文件里读出。表中的哪一行就是决定？

# %% tags=["nbval-check-output"]
print(tabulate_deaths(SERVICE))

# %% [markdown]
# It is the line with `put`. From there on the message is delivered, even though the process is dead. **The
# row is the decision**, and everything after it only spreads the news. So your own database is the coordinator
# of the transaction.

# %% [markdown] lang="zh"
# 是带有 `put` 的那一行。从那里开始，即使进程已死，消息也会投递。**数据库里的那一行就是决定**，之后的一切只是在传达它。所以，这个事务的协调者是你自己的数据库。

# %% [markdown] tags=["deeper"]
# ## Deeper: does the broker know what your service was told?

# %% [markdown] lang="zh"
# ## 深入：你的服务得到的应答，broker 知道吗？

# %% [markdown]
# At the end the client sends a request with the state and the place of the half (`endTransaction`). Here that
# request is lost, and `sendMessageInTransaction` has returned `SEND_OK COMMIT_MESSAGE`.

# %% [markdown] lang="zh"
# 最后，客户端发出一个请求（`endTransaction`），里面有状态和半消息的位置。在这次执行中，这个请求丢了，而 `sendMessageInTransaction` 已经返回 `SEND_OK COMMIT_MESSAGE`。

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
# The end is sent *one-way*: there is no answer to it and no retry. So `COMMIT_MESSAGE` in the result is the
# producer's own word. The broker may not have heard it, and the client cannot tell. The check mends that,
# as long as some process of the group is there to be asked (lab 04).
#
# The usual drawing of all this has a normal path and a path for compensation. The table translates its arrows
# into our six stages:
#
# | in the drawing | here |
# |---|---|
# | 1 send half message, 2 half stored | reserve |
# | 3 execute local transaction | write, decide |
# | 4 commit or rollback | publish the decision; then the broker makes it visible and forgets |
# | 5 check back, 6 look up the local transaction, 7 commit or rollback | publish the decision once more, when the broker has not heard it |
#
# The run above, whose first end was lost, takes both paths. Find the seven arrows of the drawing in it, and
# the message that the warehouse gets in the end. Which arrow was lost? The next cell has them as text.

# %% [markdown] lang="zh"
# 结束请求是*单向*（one-way）发送的：没有应答，也不重试。所以结果里的 `COMMIT_MESSAGE` 只是生产者的一面之词。broker 也许没有收到，客户端也无从得知。只要组内还有进程可以询问，回查就能补救（实验 04）。
#
# 常见的流程图里有一条正常路径和一条补偿路径。下表把图中的箭头对应到我们的六个阶段：
#
# | 流程图中 | 这里 |
# |---|---|
# | 1 发送半消息，2 半消息已存储 | 预留 |
# | 3 执行本地事务 | 写入、决定 |
# | 4 提交或回滚 | 公布决定；然后由 broker 使它可见并遗忘 |
# | 5 回查，6 查询本地事务，7 提交或回滚 | broker 没有收到时，再公布一次决定 |
#
# 上面那次执行丢了第一个结束请求，所以两条路径都走了。请在里面找出流程图的七个箭头，还有仓库最后得到的消息。丢的是哪个箭头？下一个单元用文字列出了这些箭头。

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(
    find_lines(
        end_lost, "SendMessage half", "half 580538 @", "put 580538", "orders[580538]",
        "EndTransaction", "CheckTransactionState", "get 580538", "message 580538",
    )
)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does the broker do at the end, and in which order?

# %% [markdown] lang="zh"
# ## 深入：结束时 broker 做什么，按什么顺序？

# %% [markdown]
# One article says that the half is first marked as done, and then copied to the real topic. Put the pieces
# into an order that keeps every promise, although the broker may be killed between any two of them. Not
# every piece belongs there. Run the cell, move the pieces, and run the next cell.

# %% [markdown] lang="zh"
# 有一篇文章说，先把半消息标记为已处理，再把它复制到真正的主题。请把这些步骤排成一个顺序，使 broker 在任意两步之间被杀掉，都不会违背任何承诺。并非每一步都用得上。运行这个单元，移动各个步骤，再运行下一个单元。

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
# The right order has a price. In the next run the broker is killed between the message and its op record.
# When it comes back the half looks open, and the check has it committed a second time.

# %% [markdown] lang="zh"
# 正确的顺序也有代价。下一次执行中，broker 在写消息和写 op 记录之间被杀掉。恢复之后，半消息看起来还没有结束，回查又让它提交了一次。

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
# The warehouse gets the message **at least once**, and here twice, with the same order number and the same
# `UNIQ_KEY`. The warehouse keeps a list of the orders that it has applied, and recognises the second copy
# (“known”). So nothing is shipped twice.

# %% [markdown] lang="zh"
# 仓库会收到这条消息**至少一次**（at least once），这里是两次，订单编号相同，`UNIQ_KEY` 也相同。仓库有一份已处理订单的清单，认得出第二份（“known”），所以货不会发两次。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does an end write into the log?

# %% [markdown] lang="zh"
# ## 深入：事务结束时，日志里写了什么？

# %% [markdown]
# COMMIT has arrived. What does the broker do with the half?

# %% [markdown] lang="zh"
# COMMIT 到了。broker 会怎样处理半消息？

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
# Both tables are the broker's one commit log, record by record. A commit copies the half into its real
# topic and queue: a complete second message. Messages therefore stand there **in the order of their
# commits**. In the second table order 580538 was sent first, and yet it stands behind 580539 in `orders`.
#
# A log only grows, so neither half in the first table is deleted. One record in the op topic names the
# places of both in the half topic, 0 and 1, and says that they have ended. The check passes over them. The
# record does not say *how* they ended, and there is no table of transactions that would. RocketMQ since 5.1
# keeps op records in memory for up to 3 s and writes them together; 4.9 writes each one at once.

# %% [markdown] lang="zh"
# 两张表列的都是 broker 唯一的那份提交日志（commit log），一条记录一行。提交会把半消息复制到它真正的主题和队列：那是完整的第二条消息。所以那里的消息**按提交的先后**排列。在第二张表里，先发送的是订单 580538，它在 `orders` 里却排在 580539 之后。
#
# 日志只会增长，所以第一张表里的两条半消息都没有删除。op 主题里有一条记录写明了两者在半消息主题中的位置 0 和 1，表示都已结束，回查就会跳过。这条记录并没有说明是*怎样*结束的，RocketMQ 也没有事务表可查。RocketMQ 从 5.1 起把 op 记录在内存里最多留 3 秒，再一起写入；4.9 则每条立即写入。

# %% [markdown] tags=["deeper"]
# ## Deeper: what if the consumer fails?

# %% [markdown] lang="zh"
# ## 深入：消费者处理失败会怎样？

# %% [markdown]
# Row and message are there, and the warehouse cannot process the order yet.

# %% [markdown] lang="zh"
# 行和消息都在，仓库却还处理不了这个订单。

# %% jupyter={"source_hidden": true}
fails = scenario("""
# The warehouse cannot process the order
system order_service consumers=warehouse
run app: send-in-transaction orders-0 580538
run warehouse: consume later
""")
Predict("03-consumer-fails", trace=fails, step=first(fails, "message 580538"))

# %% [markdown]
# The consumer takes no part in the transaction. Its failure does not change the row, and the message comes
# again (lab 04).

# %% [markdown] lang="zh"
# 消费者不参与事务。它处理失败，行也不会改变，消息还会再来（实验 04）。

# %% [markdown] tags=["deeper"]
# ## Deeper: how few choices separate a row from its message?

# %% [markdown] lang="zh"
# ## 深入：最少几次选择就能让行和消息分离？

# %% [markdown]
# Here is the service of the hook again, which writes the row before it sends the message
# (`off=half_before_execute`). Deliver messages, or kill a process, with the menus in the picture. Your goal
# is to turn the light *row with message* red for good: a message that is still on its way may turn it green
# again, and does not count. How few choices do you need?

# %% [markdown] lang="zh"
# 这里又是引子里的那个服务，它先写行再发消息（`off=half_before_execute`）。用画面里的菜单投递消息或者杀掉进程。你的目标是让指示灯 *row with message* 一直红下去（还在路上的消息可能让它变回绿色，那样不算），它的意思是：行一旦提交，消息要么已经投递，要么半消息仍未决，要么已经转存。最少需要几次选择？

# %%
unsafe = "order_service off=half_before_execute 'app=send-in-transaction orders-0 580538'"
Playground(continue_scenario(f"# The row first\nsystem {unsafe}"), goal="row with message")

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguard is necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Choose which process dies and where, and which safeguard is switched off. Nothing is restarted here. With
# everything on, is there a death that turns a light red? Which death does it when `half_before_execute` is
# off, and which when `half_topic` is off?
#
# The last cell then searches all schedules without one safeguard at a time. Guess first what will break:
#
# | without | the broker or the client no longer |
# |---|---|
# | `half_before_execute` | stores the half before it runs the local transaction |
# | `half_topic` | keeps the half in a topic of its own |
# | `exception_is_unknown` | takes an exception for UNKNOW; it takes it for ROLLBACK instead |
# | `end_validation` | compares an end's group and offsets with the half |
# | `message_before_op` | writes the message before its op record |
# | `op_topic` | records which halves have ended |

# %% [markdown] lang="zh"
# 请选择在哪里杀掉哪个进程，以及关闭哪项保护措施。杀掉之后不会重启。保护措施全部开启时，有没有哪一次会让指示灯变红？关闭 `half_before_execute` 时是哪一次？关闭 `half_topic` 时呢？
#
# 最后一个单元每次去掉一项保护措施，搜索所有可能的执行。先猜一猜会出什么问题：
#
# | 去掉 | broker 或客户端不再…… |
# |---|---|
# | `half_before_execute` | 先存半消息，再执行本地事务 |
# | `half_topic` | 把半消息放在单独的主题里 |
# | `exception_is_unknown` | 把异常当作 UNKNOW，而是当作 ROLLBACK |
# | `end_validation` | 把结束请求的组和偏移量与半消息比较 |
# | `message_before_op` | 先写消息，再写它的 op 记录 |
# | `op_topic` | 记录哪些半消息已经结束 |

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
# Each line names the anomaly, the number of choices in the shortest run that shows it, and what the
# same search finds when the safeguard is on: nothing. A *dirty read* is a message that can be read
# although its row is not there; here the row never comes. The command `mqlab explore rocketmq --safeguards` searches all
# thirteen safeguards, among them those of lab 04.

# %% [markdown] lang="zh"
# 每一行列出异常现象的名称、能显示它的最短执行有几次选择，以及开启这项保护措施后，同样的搜索找到了什么：什么也没有。*脏读*（dirty read）在这里是指能读到消息，而它的行不存在；这里的行也永远不会来。命令 `mqlab explore rocketmq --safeguards` 会搜索全部十三项保护措施，其中包括实验 04 的那些。

# %% [markdown] tags=["deeper"]
# ## Deeper: can a crash make the warehouse pack an empty parcel?

# %% [markdown] lang="zh"
# ## 深入：宕机会不会让仓库打包一个空包裹？

# %% [markdown]
# The shop keeps an order in two rows. The row `580538` says that the order is placed. The row `580538/goods`
# says what to pack. When the message about order 580538 comes, the warehouse looks the goods up and packs them.
# When the broker asks, the shop's own check looks for the row `580538`, and for nothing else.
#
# Write `execute(order, db, memory)`, the local transaction. It writes both rows and returns `COMMIT`,
# `ROLLBACK` or `UNKNOWN`. `db.put(key, value)` writes a row, `db.get(key)` reads one, or None, and
# `db.delete(key)` removes one. Keys and values are texts. Each call is committed when it returns, and it
# raises an exception when the connection breaks. `memory` is a dictionary of this process, lost with it.
# Use nothing else: no clock, no random numbers, no variable from outside the function.
#
# Every call on `db` is a place where the process can die. Two processes of the group are searched with a
# kill, a broken connection and questions that come early. Then the process is killed at each of its steps,
# with the rows in an SQLite file. Two hints are there: `print(KEEPING.hint(1))`, then
# `print(KEEPING.hint(2))`.


# %% [markdown] lang="zh"
# 商店把一个订单存成两行。行 `580538` 说明已经下单。行 `580538/goods` 说明要打包什么货。订单 580538 的消息到来时，仓库去查货物并打包。broker 来询问时，商店自己的回查只查行 `580538`，别的一概不看。
#
# 请编写本地事务 `execute(order, db, memory)`。它写入这两行，并返回 `COMMIT`、`ROLLBACK` 或 `UNKNOWN`。`db.put(key, value)` 写入一行，`db.get(key)` 读出一行，没有则得到 None，`db.delete(key)` 删除一行。键和值都是文本。每次调用返回时就已提交；连接断开时，调用会抛出异常。`memory` 是这个进程的字典，随进程一起消失。别的都不要用：不用时钟，不用随机数，也不用函数外面的变量。
#
# 对 `db` 的每一次调用，都是进程可能死掉的地方。搜索时组内有两个进程，会杀掉一次进程、断开一次连接，broker 还会提前来询问。然后再依次在每一步杀掉进程，这时行存在 SQLite 文件里。有两条提示可看：`print(KEEPING.hint(1))`，然后 `print(KEEPING.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "keeping"}
def execute(order, db, memory):
    """executeLocalTransaction: keep the order and its goods."""
    ### BEGIN SOLUTION
    # The row that is looked up is the decision, so everything else is written before it.
    db.put(f"{order}/goods", "48 rabbit night lights")
    db.put(order, "placed")
    # An exception is left alone: the client takes it for UNKNOW, and that is what it is.
    return COMMIT
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "keeping-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("keeping", execute)
### END HIDDEN TESTS
check(KEEPING, execute)

# %% [markdown] tags=["deeper"]
# ## Deeper: who decides elsewhere?

# %% [markdown] lang="zh"
# ## 深入：在别的系统里，由谁来决定？

# %% [markdown]
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | who decides | your database, by a row | the coordinator, by a record | the coordinator, by a record |
# | what becomes one | a row and one message | messages and read positions | messages and acknowledgements |
# | where the undecided lies | in the half topic | in its real partition, behind the LSO | in its real topic, behind `maxReadPosition` |
# | a commit writes | a second message | a marker | a marker |
# | silence means | “what happened?” | abort, after 60 s | abort, after its timeout |

# %% [markdown] lang="zh"
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | 谁决定 | 你的数据库，用一行 | 协调者，用一条记录 | 协调者，用一条记录 |
# | 什么合为一体 | 一行和一条消息 | 多条消息和读取位置 | 多条消息和确认 |
# | 未决的消息在哪里 | 在半消息主题里 | 在真正的分区里，最后稳定偏移量（LSO）之后 | 在真正的主题里，`maxReadPosition` 之后 |
# | 提交时写入 | 第二条消息 | 一条控制消息（marker） | 一条控制消息 |
# | 没有音讯意味着 | “结果怎样？” | 60 秒后中止 | 超时后中止 |

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | the local transaction runs first | the half is stored first | Predict |
# | a half message cannot be consumed | it can; nobody subscribes to its topic | half message |
# | one must create a transaction topic | any topic will do; only the proxy looks at its type | half message |
# | any stored half is enough | only `SEND_OK` lets the local transaction run | stored half |
# | an exception means rollback | it means UNKNOW, and the check decides | exception |
# | COMMIT returned, so the broker has committed | it is the producer's own word, sent one-way | what the broker knows |
# | commit moves the half | it writes a second message; the half stays | the log |
# | rollback deletes the half | it appends an op record | the log |
# | first marked as done, then copied | first the message, then the op record | in which order |
# | the consumer is in the transaction | it gets the message at least once, afterwards | the consumer |
# | `sendStatus == SEND_OK` says that it succeeded | it says that the half is stored | What may the customer be told |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 本地事务先执行 | 先存半消息 | 预测 |
# | 半消息不能被消费 | 可以消费，只是没有人订阅它的主题 | 半消息 |
# | 必须创建事务主题 | 任何主题都行；只有 proxy 检查主题的类型 | 半消息 |
# | 半消息只要存下就行 | 只有 `SEND_OK` 才会执行本地事务 | 半消息的存储 |
# | 异常就是回滚 | 异常意味着 UNKNOW，由回查决定 | 异常 |
# | 返回了 COMMIT，broker 就已提交 | 那是生产者的一面之词，单向发送 | broker 知道什么 |
# | 提交会移动半消息 | 提交会写入第二条消息；半消息原地不动 | 日志 |
# | 回滚会删除半消息 | 回滚会追加一条 op 记录 | 日志 |
# | 先标记为已处理，再复制 | 先写消息，再写 op 记录 | 按什么顺序 |
# | 消费者也在事务里 | 事务结束之后它才得到消息，至少一次 | 消费者 |
# | `sendStatus == SEND_OK` 说明成功了 | 它只说明半消息已存下 | 可以告诉顾客什么 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A cinema sells a seat. That is a row in its database, and a message to the app that shows free
# seats. The service crashes after the row is written and before it has told the broker. It is
# restarted a minute later, and goes on selling seats.

# %% [markdown] lang="zh"
# 一家电影院卖出一个座位。它的数据库里多了一行，同时要发一条消息给显示空座的应用。服务在写入行之后、告诉 broker 之前宕机。一分钟后它重启，继续卖座位。

# %% jupyter={"source_hidden": true}
Predict("03-exit-ticket")
