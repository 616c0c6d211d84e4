# %% [markdown]
# # Lab 10 · Can a transaction un-acknowledge?
#
# *90 minutes, or a short way of 20* · Pulsar 4.2
#
# **In one paragraph.** In Pulsar a transaction may send messages, and it may also acknowledge messages that
# it has read. The gift shop's billing department uses that. One day it cannot write its bills, and aborts. In
# this lab you look for the orders of that day, and you write the calls that get them billed.
#
# **The short way:** Hook, Predict, Run, Bill the orders, What you know now. The other parts are folded
# under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. A part
# may use what stands above it: *Run All Above Selected Cell* in the menu *Run* runs that first.
#
# **You need** lab 09, or these words. A *subscription* (订阅) is a named place in a topic, with its own
# account of the messages that are done. To *acknowledge* (确认) a message says that it is done: one by
# one (*individually*, 单条确认), or with all messages before it (*cumulatively*, 累积确认). The *coordinator*
# (事务协调者) is the part of the broker that knows the state of each transaction.

# %% [markdown] lang="zh"
# # 实验 10 · 事务能不能撤回确认？
#
# *90 分钟，短路线约 20 分钟* · Pulsar 4.2
#
# **一段话概括**：在 Pulsar 里，事务可以发送消息，也可以确认读到的消息。礼品店的账单部门就是这样用的。有一天账单打不出来，于是事务中止。在这个实验里，你要找到那天的订单去了哪里，再写几个调用，把账单补开出来。
#
# **短路线**：引子、预测、执行、给订单开账单、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。
#
# **你需要**先做实验 09，或者先知道下面几个词。*订阅*（subscription）是主题里一个有名字的读取进度，它自己记着哪些消息已经处理完。*确认*（acknowledge）一条消息，就是声明它已经处理完：可以一条一条来（*逐条确认*，也叫单条确认，individually），也可以连同之前的所有消息一起（*累积确认*，cumulatively）。*事务协调者*（coordinator）是 broker 中掌握每个事务状态的那一部分。

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Play,
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    scenario,
    vary,
)
from mqlab.lessons.pulsar.lab10 import (
    ACKING,
    ALONE,
    NEEDED,
    PASSING,
    RETURNING,
    answer_second,
    compare_types,
    compare_with_kafka,
    fence,
    first,
    list_calls,
    list_orders,
    list_pending_logs,
    list_received,
    list_records,
    list_safeguards,
    pass_on,
    put_beside_kafka,
    read_recording,
    receive_last,
    store_repeated,
    tabulate_searches,
    zombie,
    zombie_ends,
)

# %% [markdown]
# ## Hook: the printer is out of paper. Where are the orders?
#
# These are again the real orders of 5 December 2011. The shop sends them to the topic `orders`, and a
# worker of the billing department reads them there. Three orders come. The worker begins a transaction,
# acknowledges all three with one cumulative acknowledgement, and starts to write the bills. That fails,
# because the printer is out of paper. So the worker aborts the transaction. Then it asks for orders again.
#
# In Java these are the calls `newTransaction()…build()`, `acknowledgeCumulativeAsync(id, txn)`,
# `txn.abort()` and `receive()`. The lines `run worker: …` below say the same. `orders-0` is the topic's
# partition, `tc-0` the coordinator, and `billing` the subscription. A message is named by its partition and
# place: `orders-0@2`.
#
# Every transaction in this course goes through the same six stages. Keep them in view:
# **reserve → write → decide → publish the decision → make visible → forget**.

# %% [markdown] lang="zh"
# ## 引子：打印机没纸了，订单在哪里？
#
# 用的还是 2011 年 12 月 5 日的真实订单。商店把订单发到主题 `orders`，账单部门的一个工作进程从那里读取。来了三个订单。工作进程开始一个事务，用一次累积确认把三个订单全部确认，然后动手开账单。打印机没纸，账单没开成，它就中止了事务，然后又来取订单。
#
# 用 Java 写，这些调用是 `newTransaction()…build()`、`acknowledgeCumulativeAsync(id, txn)`、`txn.abort()` 和 `receive()`。下面以 `run worker: …` 开头的各行意思相同。`orders-0` 是主题的分区，`tc-0` 是协调者，`billing` 是订阅。消息用分区加位置来称呼，例如 `orders-0@2`。
#
# 本课程里的每个事务都经过同样的六个阶段，请一直记在心里：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。

# %%
orders = list_orders(3)
pounds = sum(order.pence for order in orders) / 100
print(*(f"{order.number}: £{order.pence / 100}" for order in orders), f"together £{pounds}")
printer = scenario(
    """
# The printer is out of paper
system billing clients=shop,worker
run worker: subscribe orders-0 billing
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1
run worker: ack-cumulative billing orders-0@2 txn=t1
run worker: abort t1
run worker: receive billing
""",
    recorded="cumulative-and-abort",
)

# %% [markdown]
# ## Predict
#
# The broker has written the acknowledgement down, and the worker is about to abort. Choose an answer and
# lock it; then the run goes on.

# %% [markdown] lang="zh"
# ## 预测
#
# broker 已经记下这次确认，工作进程马上要中止事务。选一个答案并锁定，执行就会继续。

# %% jupyter={"source_hidden": true}
Predict("10-abort", trace=printer, step=first(printer, "orders-0@2 txn=t1: ok"))

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. The picture opens at the step at which the acknowledgement
# was accepted. Look at the subscription: the three messages are *pending* (待定确认). They are neither
# acknowledged nor free. *Money* sets the orders that were sent (the mark) against those that are acknowledged
# for good (the bar). Go on to the abort, and then to the last `receive`. Ask at each step: what is stored, and
# what does the broker send?

# %% [markdown] lang="zh"
# ## 执行
#
# 用方向键逐步查看，或者拖动滑块。画面打开时，停在 broker 刚接受确认的那一步。看一下订阅：三条消息处于*待定确认*（pending）状态，既不算已确认，也不算空闲。*金额*一栏把已发送的订单（竖线）和已最终确认的订单（长条）放在一起对照。往下走到中止，再走到最后的 `receive`。每一步都问一问：存下了什么？broker 发出了什么？

# %%
Player(printer, step=first(printer, "orders-0@2 txn=t1: ok"))

# %% [markdown]
# The abort takes the acknowledgement back, and the subscription counts the three orders as not done. But
# the broker does not send them again. After a *cumulative* acknowledgement it leaves that to the consumer,
# and this consumer waits for new messages. £1032.34 is neither billed nor lost, no call has failed, and
# nobody is told.
#
# The same calls were given to a released Pulsar 4.2.4. It did the same, and the first of the deeper parts
# has the recording.

# %% [markdown] lang="zh"
# 中止收回了确认，订阅把三个订单重新算作没有处理完。但是 broker 不会再发一遍。*累积*确认之后，broker 把这件事交给消费者，而这个消费者只是在等新消息。£1032.34 既没有开账单，也没有丢失；没有哪个调用失败，也没有人得到通知。
#
# 我们让正式发布的 Pulsar 4.2.4 执行了同样的调用，结果一样；录制见深入部分的第一节。

# %% [markdown]
# ## Bill the orders
#
# The printer has paper again. Write the lines that follow the abort. The worker, or another process of the
# department, must receive each of the three orders exactly once more. In the end all of them must be
# acknowledged for good. These lines stand before yours:
#
#     system pulsar clients=shop,worker,twin
#     run worker: subscribe orders-0 billing
#     run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
#     run worker: receive billing, new-transaction t1
#     run worker: ack-cumulative billing orders-0@2 txn=t1
#     run worker: abort t1
#
# Lines of these forms are understood:
#
# | line | what it does |
# |---|---|
# | `run worker: receive billing` | takes the messages that have arrived |
# | `run worker: new-transaction t2`, `commit t2`, `abort t2` | begins and ends a transaction |
# | `run worker: ack billing orders-0@0`, `ack-cumulative billing orders-0@2` | acknowledges; with `txn=t2` after it, in the transaction |
# | `run worker: subscribe orders-0 billing`, `close billing` | connects a consumer, and closes it |
# | `run worker: redeliver billing` | redeliverUnacknowledgedMessages() |
# | `kill worker`, `kill orders-0`, `restart orders-0` | ends a process or the partition's broker, starts it again |
#
# `twin` has the same calls as `worker`. Put commas between several calls on one line. Begin a new `run` line
# with each `receive`, because it takes only messages that have arrived. There are several ways. Two hints
# wait: `print(RETURNING.hint(1))`, then `print(RETURNING.hint(2))`.

# %% [markdown] lang="zh"
# ## 给订单开账单
#
# 打印机又有纸了。请写出中止之后的那几行。工作进程或者部门里的另一个进程，必须把三个订单都再收到一次，而且只有一次；到最后，三个订单都必须最终确认。在你写的几行之前，已经有这些行：
#
#     system pulsar clients=shop,worker,twin
#     run worker: subscribe orders-0 billing
#     run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
#     run worker: receive billing, new-transaction t1
#     run worker: ack-cumulative billing orders-0@2 txn=t1
#     run worker: abort t1
#
# 可以使用以下形式的行：
#
# | 行 | 作用 |
# |---|---|
# | `run worker: receive billing` | 取走已经到达的消息 |
# | `run worker: new-transaction t2`、`commit t2`、`abort t2` | 开始事务，结束事务 |
# | `run worker: ack billing orders-0@0`、`ack-cumulative billing orders-0@2` | 确认；后面加上 `txn=t2`，就是在事务里确认 |
# | `run worker: subscribe orders-0 billing`、`close billing` | 连接消费者，关闭消费者 |
# | `run worker: redeliver billing` | redeliverUnacknowledgedMessages() |
# | `kill worker`、`kill orders-0`、`restart orders-0` | 杀掉进程或者分区所在的 broker，再启动它 |
#
# `twin` 能用的调用和 `worker` 相同。同一行里有几个调用，就用逗号隔开。每个 `receive` 都要另起一个 `run` 行，因为它只取已经到达的消息。做法不止一种。有两条提示可看：`print(RETURNING.hint(1))`，然后 `print(RETURNING.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "returning"}
# The lines that follow the abort, one below the other.
story = ""
### BEGIN SOLUTION
# The broker sends nothing again by itself; the orders that come then are acknowledged in a second transaction.
story = """
run worker: redeliver billing
run worker: receive billing, new-transaction t2, ack-cumulative billing orders-0@2 txn=t2, commit t2
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "returning-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("returning", story)
### END HIDDEN TESTS
check(RETURNING, story)

# %% [markdown]
# ## What you know now
#
# An acknowledgement in a transaction is pending until the transaction ends, and an abort takes it back. To
# take it back is one thing; to send the messages again is another. After a cumulative acknowledgement the
# consumer has to see to that itself.
#
# The short way ends here. The parts below go deeper; 8 of the 10 points are there. The next lab takes the
# same orders all the way to the income of each minute: [lab 11](11-order-to-income.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 事务里的确认，在事务结束之前一直是待定的，中止会把它收回。收回确认是一回事，重新发送消息是另一回事。累积确认之后，要消费者自己去请求重发。
#
# 短路线到此结束。下面的部分继续深入；10 分中有 8 分在那里。下一个实验用同样的订单，一直走到每分钟的收入：[实验 11](11-order-to-income.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("10")

# %% [markdown] tags=["deeper"]
# ## Deeper: what does the broker write for an acknowledgement?

# %% [markdown] lang="zh"
# ## 深入：一次确认，broker 写下什么？

# %% [markdown]
# Does only our model behave as in the hook? Pulsar's own Java client 4.2.4 makes the same calls, with orders
# called a, b and c, and one call more at the end. It was recorded at a real broker. In a clone of the
# project, with Java 17 and Maven, `redeliver_to_java(fetch=True)` fetches the client (242 MB with its
# broker, once) and runs it at this project's own server too, beside the recording.

# %% [markdown] lang="zh"
# 引子里的行为，会不会只是我们的模型才有？Pulsar 自己的 Java 客户端 4.2.4 执行同样的调用，订单叫 a、b、c，末尾多一个调用。它连接真实 broker 的过程已经录下。在项目的克隆（clone）里，如果有 Java 17 和 Maven，`redeliver_to_java(fetch=True)` 会下载客户端（连同 broker 共 242 MB，只下载一次），让它也连到本项目自己的服务器执行，结果和录制并排显示。

# %%
from mqlab.lessons.pulsar.lab10 import redeliver_to_java

redeliver_to_java()

# %% [markdown]
# The messages come when the consumer asks for redelivery (`Redeliver`, the last call). They would also come
# to a consumer that connects again.
#
# The next table has another run, in which one of three orders is acknowledged in a transaction that
# commits. An acknowledgement goes through the same six stages as a message.

# %% [markdown] lang="zh"
# 消费者请求重新投递之后（最后的调用 `Redeliver`），消息才来。如果消费者重新连接，消息也会来。
#
# 下一张表来自另一次执行：三个订单里有一个在事务里确认，事务随后提交。确认和消息一样，要走过六个阶段。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
STAGES = """
# The records of an acknowledgement
system billing clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1, ack billing orders-0@1 txn=t1, commit t1
"""
print(columns([("written by", "in which log", "the record"), *list_records(STAGES)]))

# %% [markdown]
# | stage | here | written where |
# |---|---|---|
# | reserve | the subscription is registered with the coordinator | the coordinator's log |
# | write | the acknowledgement is recorded as pending | the subscription's pending-ack log |
# | decide | COMMITTING, or ABORTING | the coordinator's log |
# | publish the decision | the coordinator tells the subscription, until it answers | nowhere |
# | make visible | the message becomes acknowledged, or it is free again | pending-ack log, then the cursor |
# | forget | COMMITTED, or ABORTED | the coordinator's log |
#
# The *cursor* (游标) is the account of a subscription: which of its messages are acknowledged. Up to the
# *mark-delete* position all of them are.

# %% [markdown] lang="zh"
# | 阶段 | 在这里 | 写在哪里 |
# |---|---|---|
# | 预留 | 向协调者登记这个订阅 | 协调者的日志 |
# | 写入 | 把确认记为待定 | 订阅的 pending-ack 日志 |
# | 决定 | COMMITTING 或 ABORTING | 协调者的日志 |
# | 公布决定 | 协调者通知订阅，直到它应答 | 不写 |
# | 变为可见 | 消息变为已确认，或者重新空闲 | pending-ack 日志，然后是游标 |
# | 遗忘 | COMMITTED 或 ABORTED | 协调者的日志 |
#
# *游标*（cursor）是订阅的账目：哪些消息已经确认。*mark-delete* 位置及之前的消息，全都已确认。

# %% [markdown] tags=["deeper"]
# ## Deeper: what comes again after an abort?

# %% [markdown] lang="zh"
# ## 深入：中止之后，哪些消息会再来？

# %% [markdown]
# Four orders are received. One of them, 580539, is acknowledged *individually* in a transaction, and the
# transaction aborts. A subscription's *type* says how its consumers share the messages. This one is
# Exclusive: it has one consumer, which gets everything in order. With Failover one consumer gets everything
# and the others wait to replace it. With Shared each message goes to one of the consumers. With Key_Shared
# it does too, and all messages of a key go to the same consumer.

# %% [markdown] lang="zh"
# 收到了四个订单。其中的 580539 在事务里*逐条*确认，然后事务中止。订阅的*类型*（type）决定各个消费者怎样分担消息。这里的订阅是 Exclusive：只有一个消费者，按顺序得到全部消息。Failover 也由一个消费者得到全部消息，其他消费者等着接替。Shared 把每条消息交给其中一个消费者。Key_Shared 也一样，只是同一个键的消息都交给同一个消费者。

# %% jupyter={"source_hidden": true}
exclusive = scenario(
    """
# One of four is acknowledged, and the transaction aborts
system billing clients=shop,worker
run worker: subscribe orders-0 billing
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540, send orders-0 580541
run worker: receive billing, new-transaction t1
run worker: ack billing orders-0@1 txn=t1
run worker: abort t1
run worker: receive billing
""",
    recorded="ack-and-abort-exclusive",
)
Predict("10-exclusive", trace=exclusive, step=first(exclusive, "ack billing orders-0@1 txn=t1: ok"))

# %% [markdown]
# The next cell runs the same story for each type, with an individual and with a cumulative acknowledgement.
# *Redelivery* (重新投递) means that a message is delivered once more. Where the broker counts it, you read *again
# 1*.

# %% [markdown] lang="zh"
# 下一个单元对每种类型执行同样的过程，分别用逐条确认和累积确认。*重新投递*（redelivery）是指一条消息再投递一次。broker 如果计数，你会看到 *again 1*。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_types())

# %% [markdown]
# A Shared subscription keeps account of each message that it has delivered. So it can send exactly this
# one again, and it counts. Exclusive and Failover promise an order. To keep it, they go back to the
# first message that is not acknowledged and send *everything* again, without counting. The worker gets
# 580538, 580540 and 580541 twice, although they were not part of the transaction. After a cumulative
# acknowledgement the broker sends nothing, as in the hook. On Shared and Key_Shared, where a consumer holds
# only some of the messages, the client refuses a cumulative acknowledgement.
#
# So an abort undoes the acknowledgement. Which messages come again, and when, depends on the type.

# %% [markdown] lang="zh"
# Shared 订阅为投递过的每条消息记账，所以能只重发这一条，并且计数。Exclusive 和 Failover 承诺了顺序。为了守住顺序，只好回到第一条未确认的消息，*从那里起全部*重发，而且不计数。580538、580540 和 580541 与事务无关，工作进程却收到了两次。累积确认之后，broker 什么也不发，和引子里一样。在 Shared 和 Key_Shared 上，消费者手里只有一部分消息，所以客户端会拒绝累积确认。
#
# 总之，中止撤销的是确认。哪些消息会再来、什么时候来，取决于订阅的类型。

# %% [markdown] tags=["deeper"]
# ## Deeper: may two transactions acknowledge one message?

# %% [markdown] lang="zh"
# ## 深入：两个事务可以确认同一条消息吗？

# %% [markdown]
# `worker` has acknowledged order 580538 in its transaction t1. Then `twin`, another process of the same
# department, learns the message's id and acknowledges it in its transaction t2.

# %% [markdown] lang="zh"
# `worker` 在事务 t1 里确认了订单 580538。随后，同一部门的另一个进程 `twin` 得知这条消息的 ID，在自己的事务 t2 里也确认它。

# %% jupyter={"source_hidden": true}
conflict = scenario(
    """
# Two transactions acknowledge one message
system billing clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1 timeout=600000, ack billing orders-0@0 txn=t1
run twin: subscribe orders-0 billing type=Shared
run twin: new-transaction t2 timeout=600000, ack billing orders-0@0 txn=t2
run worker: commit t1
run twin: commit t2
""",
    recorded="two-transactions-one-message",
)
Predict("10-conflict", trace=conflict, step=first(conflict, "t2 timeout=600000: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(conflict, "worker", "twin"))

# %% [markdown]
# The first one wins, and the second one is told at once. When twin then commits, its client sends an
# abort instead and raises an exception, because it does not commit a transaction in which something failed.
#
# Now nine cases. Each line has two acknowledgements, one after the other. Guess for each line whether the
# broker accepts the *second* one, and then run the cell.

# %% [markdown] lang="zh"
# 先到先得，后到者立刻就会知道。之后 twin 要提交时，它的客户端改发中止，并抛出异常：事务里有操作失败过，客户端就不会提交它。
#
# 再看九种情形。每行有一前一后两次确认。先逐行猜一猜，broker 会不会接受*第二次*确认，然后运行这个单元。

# %% tags=["nbval-check-output"]
A, B = "ack billing orders-0@0", "ack billing orders-0@1"
UP_TO_A, UP_TO_B = "ack-cumulative billing orders-0@0", "ack-cumulative billing orders-0@1"
cases = {
    "the same message, another transaction": ("Shared", f"{A} txn=t1", f"{A} txn=t2"),
    "the same message, the same transaction": ("Shared", f"{A} txn=t1", f"{A} txn=t1"),
    "another message": ("Shared", f"{A} txn=t1", f"{B} txn=t2"),
    "both at once, one of them is taken": ("Shared", f"{A} txn=t1", f"{B} orders-0@0 txn=t2"),
    "after the commit of t1": ("Shared", f"{A} txn=t1, commit t1", f"{A} txn=t2"),
    "after the abort of t1": ("Shared", f"{A} txn=t1, abort t1", f"{A} txn=t2"),
    "up to the first, then further": ("Exclusive", f"{UP_TO_A} txn=t1", f"{UP_TO_B} txn=t1"),
    "up to the first, then t2 further": ("Exclusive", f"{UP_TO_A} txn=t1", f"{UP_TO_B} txn=t2"),
    "up to the second, then one below it": ("Exclusive", f"{UP_TO_B} txn=t1", f"{A} txn=t2"),
}
rows = [(name, answer_second(*case)) for name, case in cases.items()]
print(columns([("", "the second acknowledgement"), *rows]))

# %% [markdown]
# A message is pending for one transaction at most, and even the same transaction may not acknowledge it
# again. A request is all or nothing. A committed acknowledgement stays, so another transaction that
# acknowledges the message is in *conflict* too. A subscription has room for one pending cumulative
# acknowledgement, and only the transaction that holds it may move it on.
#
# The last line shows a gap: the broker does not compare cumulative acknowledgements with individual ones.
# Use only one kind in a subscription.

# %% [markdown] lang="zh"
# 一条消息最多在一个事务里待定，就连这个事务自己也不能再确认一遍。一个请求要么全部成功，要么全部失败。已提交的确认不会撤回，所以另一个事务再去确认这条消息，同样是*冲突*（conflict）。一个订阅只容得下一个待定的累积确认，而且只有占着它的事务才能把它往前推。
#
# 最后一行暴露出一个漏洞：broker 不会拿累积确认和逐条确认互相比对。在同一个订阅里，请只用其中一种。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does an acknowledgement without a transaction do?

# %% [markdown] lang="zh"
# ## 深入：不在事务里的确认，有什么效果？

# %% [markdown]
# 580538 is pending for t1. The worker acknowledges it once more, this time *plainly*, without a
# transaction. Then t1 aborts. The design document of Pulsar's transactions (PIP-31) says that such an
# acknowledgement is dropped. Articles say that no other transaction can acknowledge the message, and say
# nothing of a plain acknowledgement.

# %% [markdown] lang="zh"
# 580538 正在 t1 里待定。工作进程再确认它一次，这次是*普通*确认，不在事务里。然后 t1 中止。Pulsar 事务的设计文档（PIP-31）说，这样的确认会被丢弃。有文章说，别的事务都不能确认这条消息，却没有提到普通确认。

# %% jupyter={"source_hidden": true}
plain = scenario(
    """
# A plain acknowledgement of a pending message
system billing clients=shop,worker
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1 timeout=600000, ack billing orders-0@0 txn=t1
run worker: ack billing orders-0@0
run worker: abort t1
run worker: receive billing
""",
    recorded="plain-ack-beats-pending",
)
Predict("10-plain", trace=plain, step=first(plain, "pending for (0,0)"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(plain, "worker"))

# %% [markdown]
# A plain acknowledgement belongs to no transaction. It is applied at once, and no abort takes it back. The
# next table is a real broker, which does the same:

# %% [markdown] lang="zh"
# 普通确认不属于任何事务。它立即生效，任何中止都收不回来。下一张表来自真实的 broker，行为一样：

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SAID = ("Ack billing", "EndTxn", "receive", "pendingAckStats")
print(read_recording("pulsar-4.2.4/4.2", "plain-ack-beats-pending", *SAID))

# %% [markdown]
# The subscription still counts t1 as open (`ongoing 1`), so its abort is not without effect: on an
# Exclusive subscription the broker then sends the *other* messages again that are not acknowledged. So a
# conflict protects transactions from each other. Nothing protects them from a worker, or from a line of old
# code, that acknowledges without one.

# %% [markdown] lang="zh"
# 在订阅看来，t1 仍然没有结束（`ongoing 1`），所以中止它并非毫无效果：在 Exclusive 订阅上，broker 接着会把*其余*未确认的消息重发一遍。可见，冲突检查只能防住事务之间的冲突。如果某个工作进程或者一行旧代码不用事务就去确认，那就没有什么能挡住它。

# %% [markdown] tags=["deeper"]
# ## Deeper: can you write the rule of conflict?

# %% [markdown] lang="zh"
# ## 深入：你能写出冲突的规则吗？

# %% [markdown]
# Now you are the subscription. A transaction `txn` (a text such as `"(0,1)"`) asks to acknowledge the
# messages `asked`, a tuple of numbers such as `(0, 2)`. You are also given `acked`, the numbers of all
# messages that are acknowledged for good, and `pending`, a tuple of pairs such as `((0, "(0,0)"),)`: message
# 0 is pending for transaction (0,0). Return `True` if the transaction may acknowledge them, and `False` for a
# conflict.
#
# Your rule is put into the broker, and thirteen short programs are tried with it, each in every order of
# events. In these programs workers read real orders, send their income and acknowledge them, in
# transactions that commit or abort. In one of them the broker may be killed; it then replays its log and
# asks your rule again. No income may be stored twice, and a message that is free must not be refused. May a
# transaction acknowledge its own message once more? Pulsar refuses it, but no promise depends on it, so both
# answers pass. Two hints wait: `print(ACKING.hint(1))`, then `print(ACKING.hint(2))`.


# %% [markdown] lang="zh"
# 现在由你来当订阅。事务 `txn`（一段文本，例如 `"(0,1)"`）请求确认 `asked` 里的消息；`asked` 是由消息编号组成的元组，例如 `(0, 2)`。你还会得到 `acked`，即所有已最终确认的消息的编号；以及 `pending`，由二元组组成的元组，例如 `((0, "(0,0)"),)`：消息 0 正在事务 (0,0) 里待定。如果这个事务可以确认这些消息，就返回 `True`；如果冲突，就返回 `False`。
#
# 你的规则会装进 broker，用十三个短程序来试，每个程序都试遍事件的所有顺序。在这些程序里，工作进程读取真实的订单，发送收入，确认订单，这些都在事务里，事务可能提交，也可能中止。其中一个程序里 broker 可能被杀掉，之后它会回放日志，再次询问你的规则。任何收入都不能存两次，空闲的消息也不许拒绝。事务可以再次确认它自己的消息吗？Pulsar 会拒绝，但没有哪个承诺取决于此，所以两种答案都算通过。有两条提示可看：`print(ACKING.hint(1))`，然后 `print(ACKING.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "acking"}
def may_ack(txn: str, asked: tuple, acked: tuple, pending: tuple) -> bool:
    """Whether this transaction may acknowledge all of these messages."""
    ### BEGIN SOLUTION
    # Each message by itself: neither acknowledged for good nor held by anybody, and all or nothing.
    held = {message for message, holder in pending}
    return not any(message in held or message in acked for message in asked)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "acking-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("acking", may_ack)
### END HIDDEN TESTS
check(ACKING, may_ack)

# %% [markdown] tags=["deeper"]
# ## Deeper: who remembers what, when something dies?

# %% [markdown] lang="zh"
# ## 深入：宕机之后，谁还记得什么？

# %% [markdown]
# An article says that Kafka keeps the unacknowledged state in the broker, and Pulsar in the client. Three
# orders were received: 580538 is acknowledged in t1, 580539 plainly, 580540 not at all. Then the worker's
# process dies, and `twin` asks for orders.

# %% [markdown] lang="zh"
# 有一篇文章说，未确认的状态，Kafka 保存在 broker，Pulsar 保存在客户端。这里收到了三个订单：580538 在 t1 里确认，580539 是普通确认，580540 完全没有确认。然后工作进程死掉，由 `twin` 来取订单。

# %% jupyter={"source_hidden": true}
DIES = """
# Something dies
system billing clients=shop,worker,twin
run worker: subscribe orders-0 billing type={type}
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540
run worker: receive billing, new-transaction t1 timeout=600000
run worker: {acks}
{dies}
run twin: subscribe orders-0 billing type={type}
run twin: receive billing
"""
ACKS = "ack billing orders-0@0 txn=t1, ack billing orders-0@1"
client_dies = scenario(DIES.format(type="Shared", acks=ACKS, dies="kill worker"))
Predict("10-client-dies", trace=client_dies, step=first(client_dies, "killed"))

# %% [markdown]
# Now with other deaths. In the column *individually* the acknowledgements are as above. In the column
# *cumulatively* the first two orders are acknowledged with one cumulative acknowledgement in t1, on an
# Exclusive subscription.

# %% [markdown] lang="zh"
# 再看别的情形：死掉的不一定是工作进程。*individually* 一列的确认和上面相同。*cumulatively* 一列在 Exclusive 订阅上，用 t1 里的一次累积确认来确认前两个订单。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
deaths = {
    "the client": "kill worker",
    "the partition's broker": "kill orders-0\nrestart orders-0\nrun worker: close billing",
    "the coordinator's broker": "kill tc-0\nrestart tc-0\nrun worker: close billing",
}
rows = [("which dies", "individually", "cumulatively")]
UP_TO = "ack-cumulative billing orders-0@1 txn=t1"
for name, dies in deaths.items():
    one = DIES.format(type="Shared", acks=ACKS, dies=dies)
    up_to = DIES.format(type="Exclusive", acks=UP_TO, dies=dies)
    rows.append((name, receive_last(one), receive_last(up_to)))
print(columns(rows))

# %% [markdown]
# Look at the column *individually*. In each line the next consumer gets 580540 and nothing else. 580539 is
# recorded in the cursor and 580538 in the pending-ack log, and both are on the disks of the bookies (lab 09), so
# a broker that is killed takes neither with it. The client had only the transaction's handle. When the client
# dies, no process is left that would end t1 before its timeout; nothing else is lost.
#
# The cumulative acknowledgement is in the log as well, but it holds nothing back. When messages are sent
# again, the broker leaves out *individually* pending ones only.
#
# | state | where it is | survives the client | survives the broker |
# |---|---|---|---|
# | acknowledged | cursor, on disk | yes | yes |
# | pending | pending-ack log, on disk | yes | yes |
# | delivered, not acknowledged | the broker's memory, for each consumer | goes to another consumer | is sent again |
# | number of redeliveries | the broker's memory | until the last consumer is gone | no |
# | sent ahead, not received yet | the client's queue | no | no: the client empties it and is sent it again |
# | the transaction's handle | the client's memory | no | yes |
#
# So the article is wrong about Pulsar: both systems keep this state in the broker. In Kafka the pending
# offsets are in `__consumer_offsets` (lab 08).

# %% [markdown] lang="zh"
# 先看 *individually* 一列。每一行里，下一个消费者得到的都只有 580540。580539 记在游标里，580538 记在 pending-ack 日志里，两者都在 bookie 的磁盘上（实验 09），所以 broker 被杀也带不走它们。客户端手里只有事务的句柄。客户端死掉之后，没有哪个进程会在超时之前结束 t1；除此之外什么也没有丢。
#
# 累积确认同样记在日志里，但它什么也挡不住。重发消息的时候，broker 只会跳过*逐条*确认的待定消息。
#
# | 状态 | 在哪里 | 客户端死后还在吗 | broker 宕机后还在吗 |
# |---|---|---|---|
# | 已确认 | 游标，在磁盘上 | 在 | 在 |
# | 待定 | pending-ack 日志，在磁盘上 | 在 | 在 |
# | 已投递，未确认 | broker 的内存，按消费者记录 | 转给另一个消费者 | 重新发送 |
# | 重新投递的次数 | broker 的内存 | 到最后一个消费者离开为止 | 不在 |
# | 已提前发来，尚未接收 | 客户端的队列 | 不在 | 不在：客户端清空队列，broker 重新发来 |
# | 事务的句柄 | 客户端的内存 | 不在 | 在 |
#
# 所以，那篇文章关于 Pulsar 的说法是错的：两个系统都把这个状态保存在 broker。在 Kafka 里，待定的偏移量在 `__consumer_offsets` 里（实验 08）。

# %% [markdown] tags=["deeper"]
# ## Deeper: who ends a transaction that nobody ends?

# %% [markdown] lang="zh"
# ## 深入：没人结束的事务，由谁来结束？

# %% [markdown]
# The client died with t1 open, and 580538 is held back from everybody. When is it free again? The timeout
# of t1 is 60 s. To make it harder, the coordinator's broker is killed as well, and is back after 50 s. Then
# a client connects to the coordinator.

# %% [markdown] lang="zh"
# 客户端死了，t1 还没有结束，580538 谁也拿不到。要到什么时候才拿得到？t1 的超时是 60 s。为了增加难度，协调者所在的 broker 也被杀掉，在 50 s 时恢复。随后有一个客户端连接到协调者。

# %% jupyter={"source_hidden": true}
LEFT_OPEN = """
# Client and coordinator die with a transaction open
system billing clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing orders-0@0 txn=t1
kill worker
kill tc-0
run twin: subscribe orders-0 billing type=Shared
at 50000
restart tc-0
{comes}
run twin: receive billing
at 60001
{fires}
run twin: receive billing
"""
COMES = "run twin: new-transaction t2"
left_open = scenario(LEFT_OPEN.format(comes=COMES, fires="fire tc-0"))
Predict("10-timeout", trace=left_open, step=first(left_open, "loaded: OPEN"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [("", "twin receives at 50 s", "and at 60 s")]
for name, comes, fires in [
    ("a client connects to the coordinator", COMES, "fire tc-0"),
    ("no client does", "", ""),
]:
    rows.append((name, *list_received(LEFT_OPEN.format(comes=comes, fires=fires))[1:]))
print(columns(rows))

# %% [markdown]
# The coordinator finds t1 in its log and aborts it at its old deadline. Then the message comes again. An
# article says that the timeout makes client and broker consistent again. That is right for a transaction
# that is *open*, with one reservation, which the second line shows: after a restart a coordinator loads its
# log only when a client with transactions connects to it. A client that is running does so by itself. As
# long as there is none, nobody watches the deadline.
#
# In the next table t1 was being committed, and one of its *participants* (the partitions and subscriptions
# that must hear of its end) lies in a *namespace* (命名空间, a named group of topics) that does not exist.

# %% [markdown] lang="zh"
# 协调者在日志里找到 t1，到了原来的期限就把它中止，消息于是再来一次。有一篇文章说，超时会让客户端和 broker 恢复一致。对*尚未决定*（open）的事务，这话是对的，但有一处例外，见第二行：重启之后，要等到有使用事务的客户端连接上来，协调者才会加载它的日志。正在运行的客户端会自己连上来；如果这样的客户端一个也没有，就没有人盯着期限。
#
# 下一张表里，t1 正在提交，但它的一个*参与方*（participant，即必须得知事务结束的分区或订阅）所在的*命名空间*（namespace，一组有名字的主题）并不存在。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
FROZEN = """
# A commit that does not end
system pulsar missing=gone-0 clients=shop,worker,twin
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing txn=t1, register 0/0 gone-0, commit t1
kill worker
run twin: subscribe orders-0 billing type=Shared
at 600000
run twin: coordinator-stats 0, end-by-id abort 0/0, position-stats billing orders-0@0
run twin: create-namespace gone-0
fire tc-0
run twin: coordinator-stats 0
"""
print(list_calls(scenario(FROZEN), "twin"))

# %% [markdown]
# A decision is final, and no deadline applies to it: the coordinator tries again every second. After ten
# minutes it still counts one transaction (`ongoingTxnSize=1`), and an abort is refused. That ends when an
# operator creates the namespace. In `orders-0` the acknowledgement was carried out long before: `MarkDelete`
# is the broker's word for *acknowledged*.

# %% [markdown] lang="zh"
# 决定一旦作出就不再更改，也不受期限约束：协调者每秒重试一次。十分钟之后，它仍然记着一个事务（`ongoingTxnSize=1`），中止的请求遭到拒绝。直到运维人员创建了这个命名空间，事情才算了结。而在 `orders-0`，确认早已执行完毕：`MarkDelete` 就是 broker 对*已确认*的叫法。

# %% [markdown] tags=["deeper"]
# ## Deeper: do two subscriptions change at one moment?

# %% [markdown] lang="zh"
# ## 深入：两个订阅会在同一时刻变化吗？

# %% [markdown]
# Billing and stock both read the topic, each with a subscription of its own. One process does both jobs,
# and acknowledges order 580538 in both subscriptions in one transaction. The coordinator tells each
# subscription that t1 is committed. The message to the second one is slow.

# %% [markdown] lang="zh"
# 账单部门和仓储部门都读这个主题，各有自己的订阅。一个进程兼做两份工作，在一个事务里为两个订阅都确认了订单 580538。协调者分别通知每个订阅：t1 已提交。发给第二个订阅的消息来得慢。

# %% jupyter={"source_hidden": true}
TWO = """
# One transaction in two subscriptions
system billing clients=shop,worker,audit
run worker: subscribe orders-0 billing type=Shared, subscribe orders-0 stock type=Shared
run shop: send orders-0 580538
run worker: receive billing, receive stock, new-transaction t1
run worker: ack billing txn=t1, ack stock txn=t1
hold tc-0→orders-0 EndTxnOnSubscription#2
run worker: commit t1
run audit: position-stats billing orders-0@0, position-stats stock orders-0@0
release tc-0→orders-0 EndTxnOnSubscription#2
run audit: position-stats billing orders-0@0, position-stats stock orders-0@0
"""
two = scenario(TWO, recorded="two-subscriptions")
Predict("10-two", trace=two, step=first(two, "COMMITTING (0,0)"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(two, "audit", "worker"))

# %% [markdown]
# Pulsar promises all or nothing. Both will be acknowledged, since the decision is in the coordinator's log,
# and the coordinator repeats its request until both subscriptions have answered. It does not promise that
# both change at the same moment: for a while `stock` was still `PendingAck`. `commit` returns only when both
# have answered, so after it nobody sees the difference. Kafka's commit returns earlier (lab 06).
#
# An article says that pending acknowledgements are kept in a pending-ack log, which it takes for the
# cursor's *ledger* (a stored log, on which topics and Pulsar's own logs stand). Where are they?

# %% [markdown] lang="zh"
# Pulsar 承诺的是要么全有、要么全无。两边最终都会确认，因为决定已在协调者的日志里，协调者会一直重复请求，直到两个订阅都应答。它没有承诺两边在同一时刻变化：有一段时间，`stock` 仍是 `PendingAck`。`commit` 要等两边都应答才返回，所以在它返回之后，谁也看不出差别。Kafka 的提交返回得更早（实验 06）。
#
# 有一篇文章说，待定的确认保存在 pending-ack 日志里，并说那就是游标的*账本*（ledger，一种存储日志，主题和 Pulsar 自己的日志都建在它上面）。到底在哪里呢？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("log", "records"), *list_pending_logs(TWO)]))

# %% [markdown]
# Each subscription has a ledger of its own for them, beside the one of its cursor. It holds the positions
# of messages, and no messages.

# %% [markdown] lang="zh"
# 每个订阅都另有一个专用的账本来存放待定确认，与游标的账本并列。里面存的是消息的位置，没有消息本身。

# %% [markdown] tags=["deeper"]
# ## Deeper: how often does an order come that is aborted each time?

# %% [markdown] lang="zh"
# ## 深入：一再中止的订单会来几次？

# %% [markdown]
# An order cannot be billed, because its address is missing. Each time, the worker acknowledges it in a
# transaction, finds out about the address, and aborts. The consumer has a policy for a *dead letter topic*
# (死信主题), a topic for messages that were delivered too often. Its `maxRedeliverCount` is 1.

# %% [markdown] lang="zh"
# 有一个订单缺少地址，开不了账单。每一次，工作进程都在事务里确认它，发现地址有问题，于是中止。这个消费者配置了*死信主题*（dead letter topic）策略，投递次数过多的消息会进入那个主题。它的 `maxRedeliverCount` 是 1。

# %% jupyter={"source_hidden": true}
DEAD = """
# An order that cannot be billed
system billing topic=orders,dead clients=shop,worker,clerk
run clerk: subscribe dead-0 letters
run worker: subscribe orders-0 billing type={type} dead_letter=dead-0 max_redeliver=1
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing txn=t1, abort t1
run worker: receive billing
run worker: new-transaction t2, ack billing txn=t2, abort t2
run worker: receive billing
run worker: new-transaction t3, ack billing txn=t3, abort t3
run worker: receive billing
run clerk: receive letters
"""
dead = scenario(DEAD.format(type="Shared"), recorded="dead-letters")
Predict("10-dead", trace=dead, step=first(dead, "abort t1: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [("type", "received by the worker", "in the dead letter topic")]
for kind in ("Shared", "Exclusive"):
    *received, letters = list_received(DEAD.format(type=kind))
    rows.append((kind, " | ".join(received), letters))
print(columns(rows))

# %% [markdown]
# Each abort makes the broker redeliver the order, and that is counted. With Shared the order is delivered
# twice, and the third time it goes to the dead letter topic, where somebody must look after it. Exclusive
# does not count, so the order comes again after every abort.

# %% [markdown] lang="zh"
# 每次中止都让 broker 重新投递这个订单，并且计数。Shared 订阅投递两次，第三次就转入死信主题，那里要有人来处理。Exclusive 不计数，所以每次中止之后订单都会再来。

# %% [markdown] tags=["deeper"]
# ## Deeper: in which order does a worker pass an order on?

# %% [markdown] lang="zh"
# ## 深入：转交一个订单，各步应按什么顺序？

# %% [markdown]
# This is the use of it all: a worker reads an order from `orders` and writes its income to `income`, where
# the books are kept. Put the worker's calls into an order that keeps every promise, although the worker may
# be killed between any two of them, and the transaction may time out. You do not need every piece, and more
# than one order is right. Run the cell, move the pieces, and run the next cell.

# %% [markdown] lang="zh"
# 前面所学都用在这里：工作进程从 `orders` 读一个订单，把它的收入写入 `income`，账就记在那里。请把工作进程的调用排成一个顺序：哪怕工作进程在任意两个调用之间被杀，哪怕事务超时，每个承诺也都成立。并非每一步都用得上，正确的顺序也不止一种。运行这个单元，移动各个步骤，再运行下一个单元。

# %% nbgrader={"solution": true, "grade_id": "order"}
order = PASSING.arrange(
    [
        ### BEGIN SOLUTION
        # The message that was read and the message that is written belong in one transaction.
        "receive",
        "begin",
        "send",
        "ack",
        "commit",
        ### END SOLUTION
    ]
)

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passing", order)
### END HIDDEN TESTS
check(PASSING, order)

# %% [markdown] tags=["deeper"]
# ## Deeper: what stops a worker that was replaced?

# %% [markdown] lang="zh"
# ## 深入：靠什么来阻止已被取代的工作进程？

# %% [markdown]
# The worker reads an order, and sends its income to the topic `income`. The acknowledgement and the message
# are in *one* transaction. First without any trouble:

# %% [markdown] lang="zh"
# 工作进程读一个订单，把收入发送到主题 `income`。确认和消息在*同一个*事务里。先看一切顺利的情形：

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [(f"the worker ends with {end}", *pass_on(end)) for end in ("commit", "abort")]
print(columns([("", "the books receive", "the worker receives next"), *rows]))

# %% [markdown]
# A commit makes both count, and an abort takes both back. An article describes this in four steps: *open,
# publish, acknowledge, end*. Publishing and acknowledging may change places. Each of them is part of the
# transaction only if its call names the transaction.
#
# Now the worker is slow. Its connection to `orders-0` breaks, and the broker gives the order to `twin`. Then
# the worker, which knows nothing of that, goes on.

# %% [markdown] lang="zh"
# 提交让两者都算数，中止把两者都收回。有一篇文章把它描述为四步：*开启、发布、确认、结束*。发布和确认可以互换先后。每个调用只有指明了事务，才属于这个事务。
#
# 这一次工作进程很慢。它与 `orders-0` 的连接断了，broker 把订单交给了 `twin`。工作进程对此一无所知，接着往下做。

# %% jupyter={"source_hidden": true}
slow = zombie(acknowledges=True)
Predict("10-zombie", trace=slow, step=first(slow, "commit t2: ok"))

# %% [markdown]
# The slow worker's *acknowledgement* is refused, and with it the whole of its transaction: the books get the
# income once. The conflict over the message that both have read stops the worker here. But a worker that only
# sends is in no conflict.
#
# Pulsar has no `transactional.id` with which a new process could fence the old one, as in Kafka (lab 06). A
# producer can ask to be the only one on its topic. In Java this is `accessMode(ExclusiveWithFencing)` at the
# producer's builder: the topic's epoch rises, and all producers before this one are *fenced*. In the next run
# the worker only sends. It has sent the income in t1 when the twin fences it. The twin then passes the order
# on itself, in t2, and commits t2.

# %% [markdown] lang="zh"
# 那个慢的工作进程，*确认*遭到拒绝，整个事务也随之失败：记账方只得到一次收入。在这里，阻止它的，是两边都读过的那条消息：确认它会冲突。但是，如果工作进程只发送、不确认，就不会有冲突。
#
# Pulsar 没有 `transactional.id`，新进程不能像在 Kafka 里那样用它来隔离旧进程（实验 06）。不过，生产者可以要求独占自己的主题。用 Java 写，就是在生产者的 builder 上设置 `accessMode(ExclusiveWithFencing)`：主题的 epoch 升高，在此之前的所有生产者都被*隔离*（fenced）。下一次执行里，工作进程只发送。它已经在 t1 里发出了收入，随后 twin 将它隔离。twin 接着自己在 t2 里转交这个订单，并提交 t2。

# %% jupyter={"source_hidden": true}
fenced = fence(sends_first=True)
Predict("10-fenced", trace=fenced, step=first(fenced, "commit t2: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("the slow worker", "its commit", "the books receive"), *zombie_ends()]))
SAID = ("Send zombie", "EndTxn", "Message")
print()
print(read_recording("pulsar-4.2.4/4.2", "fencing-stops-sends", *SAID))

# %% [markdown]
# The third line of the first table is the same run with another moment: there the fence comes first. The
# worker's send gets a ProducerFencedException, and its client then does not commit the transaction. So *sends*
# can be fenced, topic by topic, if a producer asks for it. *Commits* cannot, and messages that were sent before
# the fence count. The second table is a released Pulsar 4.2.4, which did both.
#
# An article promises that each message is written or processed exactly once even when something fails. The
# next table is about one plain send. Its answer is lost, and the client sends again:

# %% [markdown] lang="zh"
# 第一张表的第三行是同样的执行，只是时刻不同：那里先隔离，后发送。工作进程的发送得到 ProducerFencedException，它的客户端就不会提交事务。所以，只要生产者提出要求，*发送*可以按主题逐个隔离。*提交*则不能隔离，隔离之前发出的消息照样算数。第二张表来自正式发布的 Pulsar 4.2.4，两种情形都出现了。
#
# 有一篇文章保证，即使出了故障，每条消息也会精确一次（exactly once）地写入或处理。下一张表只涉及一次普通的发送：它的应答丢了，客户端再发一次。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("a send whose answer was lost is repeated", "stored"), *store_repeated()]))

# %% [markdown]
# The broker recognises the repetition only with deduplication, which is off by default.

# %% [markdown] lang="zh"
# 只有开启去重（deduplication），broker 才认得出重复的发送，而去重默认是关闭的。

# %% [markdown] tags=["deeper"]
# ## Deeper: what becomes of these orders in Kafka?

# %% [markdown] lang="zh"
# ## 深入：同样的订单，在 Kafka 里会怎样？

# %% [markdown]
# The worker has read three orders. The first one, 580538, cannot be worked out yet, because its price is
# missing. The other two are done in one transaction. In Kafka the worker commits a position, and the
# position behind the third order is 3. In Pulsar it acknowledges the two messages. Then another process
# takes over.

# %% [markdown] lang="zh"
# 工作进程读了三个订单。第一个是 580538，缺少价格，还处理不了。另外两个在一个事务里处理完。在 Kafka 里，工作进程提交的是一个偏移量（position），第三个订单之后的偏移量是 3。在 Pulsar 里，它确认的是那两条消息。然后由另一个进程接手。

# %% jupyter={"source_hidden": true}
Predict("10-kafka")

# %%
put_beside_kafka()

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_with_kafka())

# %% [markdown]
# A Kafka position stands for everything before it, so a worker has only bad choices: it skips 580538 for
# good (3), does the other two again later (0), or waits. In Pulsar each acknowledgement stands for one
# message: an order that waits holds up no other one.
#
# An article concludes from this that Pulsar never blocks. In the next run another process *sends* 580538 in a
# transaction that is still open.

# %% [markdown] lang="zh"
# Kafka 的一个偏移量代表它之前的一切，所以工作进程只有不好的选择：永远跳过 580538（3），以后把另外两个再做一遍（0），或者一直等。在 Pulsar 里，每次确认只代表一条消息：一个订单在等，不会耽误别的订单。
#
# 有一篇文章由此断言，Pulsar 从不阻塞。下一次执行里，另一个进程在一个尚未结束的事务里*发送* 580538。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
BLOCKED = scenario("""
# An open transaction that *sends* to orders
system pulsar clients=shop,till,worker
run worker: subscribe orders-0 billing type=Shared
run till: new-transaction t1, send orders-0 580538 txn=t1
run shop: send orders-0 580539
run worker: receive billing
run till: abort t1
run worker: receive billing
""")
print(list_calls(BLOCKED, "worker"))

# %% [markdown]
# The plain message 580539 behind it is held back from every consumer until that transaction ends (lab 09).
# The article is right about acknowledgements only.

# %% [markdown] lang="zh"
# 排在后面的普通消息 580539，任何消费者都拿不到，直到那个事务结束（实验 09）。文章说的只对确认成立。

# %% [markdown] tags=["deeper"]
# ## Deeper: what is the shortest run that loses an order?

# %% [markdown] lang="zh"
# ## 深入：丢掉一个订单，最短的执行是怎样的？

# %% [markdown]
# This worker passes orders on in a transaction, but acknowledges them plainly, as its old program did. It
# has begun its transaction, and the order's income is on its way. Click a message to deliver it, a timer to
# let it run out, a lane to kill a process. *How few choices do you need until an order is done with and its
# income is not counted? Which moment is it?* No fault is needed to reach it. Then make the moment last, by a
# kill or by the transaction's timeout.

# %% [markdown] lang="zh"
# 这个工作进程在事务里转交订单，却像旧程序那样做普通确认。它的事务已经开始，订单的收入还在路上。点击消息可以投递它，点击定时器可以让它到期，点击泳道可以杀掉进程。*最少需要几次选择，就会有一个订单已经了结、收入却没有计入？那是哪个时刻？* 走到那里不需要任何故障。然后用 kill 或者事务的超时，让那个时刻一直持续下去。

# %% jupyter={"source_hidden": true}
play = continue_scenario(ALONE)
play.go_on(held=["worker>income-0"])  # everything happens, but the income stays under way
Playground(Play(play.system, play.choices, play.title), goal="passed on")

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguards are necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Four safeguards are about acknowledgements. `pending_ack_conflict` refuses a message that another
# transaction has acknowledged. `pending_ack_log` answers an acknowledgement only when it is in the log.
# `pending_ack_filter` leaves out pending messages when the broker delivers again. `redeliver_aborted` delivers
# the messages again that an aborted transaction had acknowledged. Guess what breaks without each of
# them. Then choose one in the menu: the run is the same each time.

# %% [markdown] lang="zh"
# 与确认有关的保护措施有四项。`pending_ack_conflict` 不让事务再确认已被另一个事务确认的消息。`pending_ack_log` 要等确认写进日志才应答。`pending_ack_filter` 让 broker 在重新投递时跳过待定的消息。`redeliver_aborted` 把已中止的事务确认过的消息重新投递。逐项猜一猜，少了它，什么会出错。然后在菜单里选一项：执行的过程每次都相同。

# %% jupyter={"source_hidden": true}
STORY = """
# Two workers, an abort, and a restart of the broker
system pulsar clients=shop,worker,twin
off {off}
run worker: subscribe orders-0 billing type=Shared
run shop: send orders-0 580538
run worker: receive billing, new-transaction t1, ack billing orders-0@0 txn=t1
run twin: subscribe orders-0 billing type=Shared
kill orders-0
restart orders-0
run twin: receive billing, new-transaction t2, ack billing orders-0@0 txn=t2
run worker: abort t1
run worker: receive billing
run twin: receive billing
"""


def draw(off):
    return Player(scenario(STORY.format(off=off)))


vary(draw, off=list_safeguards("pulsar", *NEEDED))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_searches())

# %% [markdown]
# Each line of the first table takes one safeguard away and searches for the shortest run that breaks a
# promise. The second table takes nothing away. It shows three things that Pulsar does not promise by
# itself: that an old process is stopped, that a repeated send is stored once, and that an error means
# *not committed*.

# %% [markdown] lang="zh"
# 第一张表的每一行去掉一项保护措施，再搜索违背承诺的最短执行。第二张表什么也不去掉，它列出 Pulsar 本身并不承诺的三件事：旧进程会被阻止，重复的发送只存一次，得到错误就意味着*没有提交*。

# %% [markdown] tags=["deeper"]
# ## Deeper: how do others take back a message that was read?

# %% [markdown] lang="zh"
# ## 深入：读过的消息，别的系统怎样收回？

# %% [markdown]
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | joins the transaction | single messages, or all up to one | a position for each partition | nothing: a consumer is in no transaction |
# | waits where | a pending-ack log for each subscription | `__consumer_offsets` | – |
# | two transactions for one message | the second is refused | the older member of the group is fenced | – |
# | after an abort | redelivered, or sent from mark-delete on, or only on request | the application must `seek` | no abort: a message that fails is delivered again, at most 16 times |
# | when nobody ends it | aborted at its deadline | aborted at its deadline | – |
# | an old process | refused if it acknowledges; its sends can be fenced per topic, its commits cannot | fenced by its epoch | not stopped |
#
# Ask this of any queue that you meet: *after an abort, who receives the message next?*

# %% [markdown] lang="zh"
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | 什么加入事务 | 单条消息，或者某一条及之前的全部 | 每个分区的一个偏移量 | 没有：消费者不在任何事务里 |
# | 在哪里等待 | 每个订阅一个 pending-ack 日志 | `__consumer_offsets` | – |
# | 两个事务争一条消息 | 后到者遭到拒绝 | 消费者组里较旧的成员被隔离 | – |
# | 中止之后 | 重新投递，或者从 mark-delete 起重发，或者只在请求之后才发 | 应用必须自己 `seek` | 没有中止：处理失败的消息会重新投递，最多 16 次 |
# | 没有人结束 | 到期时中止 | 到期时中止 | – |
# | 旧进程 | 它若确认，就遭到拒绝；它的发送可以按主题隔离，它的提交不能 | 靠它的 epoch 隔离 | 不阻止 |
#
# 以后遇到任何消息队列，都可以这样问：*中止之后，这条消息接下来由谁收到？*

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | an abort gives me my messages back | individually, yes; a cumulative one redelivers nothing | Run |
# | exactly the acknowledged messages come again | on Exclusive and Failover all messages that are not acknowledged | after an abort |
# | two transactions can acknowledge one message, the last one wins | the second one gets TransactionConflictException | two transactions |
# | a pending message can be acknowledged by nobody else | a plain acknowledgement is applied at once | without a transaction |
# | unacknowledged state lives in the client | it is in the broker, and pending acks are in a log | who remembers |
# | pending acks are kept in the cursor's ledger | each subscription has a log of its own for them | two subscriptions |
# | a timeout puts everything right | it ends open transactions; COMMITTING has no deadline | nobody ends |
# | a transaction shows everywhere at once | each participant hears of it in its own time | two subscriptions |
# | an aborted message comes until it succeeds | on Shared, with a dead letter policy, it goes to the dead letters | how often |
# | each message is written exactly once | deduplication is off, and an old worker that only sends is not stopped | was replaced |
# | a fence stops the old process | it stops later sends to one topic; a commit of what was sent before goes through | was replaced |
# | Pulsar never blocks | acknowledgements do not; an open transaction that sends does | in Kafka |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 中止会把消息还给我 | 逐条确认的会；累积确认的，什么也不重新投递 | 执行 |
# | 再来的恰好是确认过的消息 | Exclusive 和 Failover 上，所有未确认的消息都会再来 | 中止之后 |
# | 两个事务可以确认同一条消息，后者生效 | 第二个得到 TransactionConflictException | 两个事务 |
# | 待定的消息谁也不能再确认 | 普通确认立即生效 | 不在事务里 |
# | 未确认的状态在客户端 | 在 broker 里，待定确认还写进日志 | 谁还记得 |
# | 待定确认保存在游标的账本里 | 每个订阅有自己专用的日志 | 两个订阅 |
# | 超时会让一切恢复正常 | 超时只结束尚未决定的事务；COMMITTING 没有期限 | 没人结束 |
# | 事务在各处同时生效 | 每个参与方在各自的时刻得知 | 两个订阅 |
# | 中止的消息会一直来，直到处理成功 | Shared 配了死信策略，就转入死信主题 | 来几次 |
# | 每条消息都精确一次地写入 | 去重默认关闭，只发送的旧工作进程也没有人阻止 | 已被取代 |
# | 隔离能阻止旧进程 | 它阻止以后对某个主题的发送；此前已发出的，提交照样成功 | 已被取代 |
# | Pulsar 从不阻塞 | 确认不会阻塞；未结束的事务若有发送，就会阻塞 | 在 Kafka 里 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A library lends books. Returned books are messages, and the desk checks them in with transactions.

# %% [markdown] lang="zh"
# 图书馆出借图书。还回来的书就是消息，前台在事务里登记归还。

# %% jupyter={"source_hidden": true}
Predict("10-exit-ticket")
