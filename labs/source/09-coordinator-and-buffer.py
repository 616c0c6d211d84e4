# %% [markdown]
# # Lab 09 · Where do uncommitted messages live?
#
# *90 minutes, or a short way of 20* · Pulsar 4.2
#
# **In one paragraph.** An order service sends a message in a transaction that has not ended. Where is this
# message now, who may read it, and who knows of it? You follow one real order of the gift shop from the id of
# its transaction to the commit. Then you do the work of the part that sends messages to consumers.
#
# **The short way:** Hook, Predict, Run, Be the dispatcher, What you know now. The other parts are folded
# under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. Each of
# them can be done on its own day. A part may use what stands above it: *Run All Above Selected Cell* in the
# menu *Run* runs that first.
#
# **You need** lab 00, or these words. A *partition* is one log of a topic, here `orders-0`. It consists of
# *entries*; the *position* of an entry is its number. A *subscription* (订阅) is a group of consumers with a
# place of its own in the partition. The *coordinator* (事务协调者) is the part of a broker that numbers
# transactions and writes down how they end; here it is called `tc-0`.

# %% [markdown] lang="zh"
# # 实验 09 · 未提交的消息在哪里？
#
# *90 分钟，短路线约 20 分钟* · Pulsar 4.2
#
# **一段话概括**：订单服务在一个还没有结束的事务里发送了一条消息。这条消息现在在哪里，谁可以读到，谁知道有它？你要跟着礼品店的一个真实订单，从事务得到 ID 一直走到提交。然后由你来当负责把消息发给消费者的那个部件。
#
# **短路线**：引子、预测、执行、你来当分发器、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。每一部分都可以另找一天单独做。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。
#
# **你需要**先做实验 00，或者先知道下面几个词。*分区*（partition）是主题的一个日志，这里是 `orders-0`。它由*条目*（entry）组成，条目的*位置*（position）就是它的编号。*订阅*（subscription）是一组消费者，在分区里有自己的读取进度。*协调者*（coordinator，即事务协调者）是 broker 的一部分，给事务编号，并记下事务怎样结束；这里它叫 `tc-0`。

# %% [markdown]
# ## Hook: three orders on their way to accounting
#
# These are real orders of 5 December 2011. The order service `app` has sent order 580538 for £316.78 to
# `orders-0`. It also has to write the payment to `payments-0`, in one transaction: both or neither. Now it
# waits for the card company. Meanwhile the web shop `web` sends two more orders, and it uses no transactions
# at all. Every send has returned `ok`. Accounting reads `orders-0`.
#
# In the story below, `run app: new-transaction t1, send orders-0 580538 txn=t1` lets `app` make these two
# calls. Every transaction in this course goes through the same six stages:
# **reserve → write → decide → publish the decision → make visible → forget**.

# %% [markdown] lang="zh"
# ## 引子：三个订单，正在送往记账服务
#
# 这些是 2011 年 12 月 5 日的真实订单。订单服务 `app` 已把订单 580538（金额 £316.78）发到 `orders-0`。它还要把付款写入 `payments-0`，放在同一个事务里：要么都有，要么都没有。现在它在等信用卡公司应答。这期间，网店 `web` 又发来两个订单，它完全不用事务。每次发送都返回了 `ok`。记账服务 accounting 从 `orders-0` 读取订单。
#
# 在下面的故事里，`run app: new-transaction t1, send orders-0 580538 txn=t1` 让 `app` 执行这两次调用。本课程中，每个事务都经过同样的六个阶段：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。

# %% jupyter={"source_hidden": true}
import plotly.graph_objects as go

from mqlab.lab import (
    Player,
    Playground,
    Predict,
    check,
    columns,
    continue_scenario,
    say,
    scenario,
    vary,
)
from mqlab.lessons.pulsar.lab09 import (
    HIDING,
    NUMBERING,
    READING,
    RECOVERY,
    broker_map,
    describe_buffer,
    first,
    list_answers,
    list_entries,
    list_frontiers,
    list_ids,
    list_logs,
    list_records,
    list_safeguards,
    measure_waiting,
    read_recording,
    receive_all,
    tabulate_needed,
    tabulate_unpromised,
)

# %%
waiting = scenario("""
# One open transaction, and two orders without any
system books clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539, send orders-0 580540
run accounting: receive books
run app: send payments-0 paid-580538 txn=t1, commit t1
run accounting: receive books
""")

# %% [markdown]
# ## Predict
#
# Two questions on this run. The first one is asked before the order is sent, the second one when all three
# orders have been sent. Choose an answer and lock it; then the run goes on.

# %% [markdown] lang="zh"
# ## 预测
#
# 这次执行有两个问题。第一个在订单发送之前提出，第二个在三个订单都已发出之后提出。选一个答案并锁定，执行就会继续。

# %% jupyter={"source_hidden": true}
Predict("09-where", trace=waiting, step=first(waiting, "ADD_PARTITION (0,0) orders-0"))

# %% jupyter={"source_hidden": true}
Predict("09-open-hides", trace=waiting, step=first(waiting, "580540: ok"))

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. Watch the place where 580538 lies, and the flag
# *maxReadPosition* in `orders-0`. No message after this position may be sent to a consumer. *Money* sets what
# accounting was sent (the bar) against the orders that count (the mark): those without a transaction, and those
# of a committed one. The picture opens at the moment at which accounting asks and gets nothing.

# %% [markdown] lang="zh"
# ## 执行
#
# 用方向键逐步查看，或者拖动滑块。注意 580538 所在的位置，还有 `orders-0` 里的旗标 *maxReadPosition*（最大可读位置）。在这个位置之后的消息，一条也不能发给消费者。*金额*一栏把发给记账服务的（长条）和算数的订单（竖线）放在一起对照：不用事务的订单算数，已提交的事务里的订单也算数。画面打开时，正停在记账服务来取、却什么也没有拿到的那一步。

# %%
Player(waiting, step=first(waiting, "receive books: ok nothing"))

# %% [markdown]
# Nothing is lost and no process has failed. All three orders lie in `orders-0`, and the two plain ones count:
# £715.56, of which accounting has seen nothing. But a subscription is sent its partition in order, and only
# up to maxReadPosition. As long as t1 is open, that is the position before 580538. When t1 commits, all
# three orders come at once.
#
# | stage | in this run | written where |
# |---|---|---|
# | reserve | the transaction gets an id; each partition is registered | the coordinator's log |
# | write | the message | its partition |
# | decide | COMMITTING | the coordinator's log |
# | publish the decision | a request to every partition that was registered | nowhere |
# | make visible | a *marker* (控制消息), an entry without a message; maxReadPosition moves | the partition |
# | forget | COMMITTED | the coordinator's log |

# %% [markdown] lang="zh"
# 什么都没有丢，也没有哪个进程出故障。三个订单都在 `orders-0` 里，其中两个普通订单算数：共 £715.56，记账服务却一分钱也没有看到。原因是，订阅只能按顺序收到分区的内容，而且只到 maxReadPosition 为止。只要 t1 还没有结束，这个位置就停在 580538 的前一个。t1 一提交，三个订单就一起到来。
#
# | 阶段 | 在这次执行中 | 写在哪里 |
# |---|---|---|
# | 预留 | 事务得到 ID；涉及的每个分区都登记 | 协调者的日志 |
# | 写入 | 消息 | 消息所在的分区 |
# | 决定 | COMMITTING | 协调者的日志 |
# | 公布决定 | 向每个登记过的分区发一个请求 | 哪里都不写 |
# | 变为可见 | 一条*控制消息*（marker），也就是不含消息的条目；maxReadPosition 前移 | 分区 |
# | 遗忘 | COMMITTED | 协调者的日志 |

# %% [markdown]
# ## Be the dispatcher
#
# The *dispatcher* is the part of the broker that sends the entries of a partition to a subscription. One
# question first, on a transaction that does not commit.

# %% [markdown] lang="zh"
# ## 你来当分发器
#
# *分发器*（dispatcher）是 broker 的一部分，负责把分区的条目发给订阅。先回答一个问题，它问的是一个没有提交的事务。

# %% jupyter={"source_hidden": true}
TWO_ENDS = """
# A commit and an abort
system books clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, send payments-0 paid-580538 txn=t1
run app: commit t1
run app: new-transaction t2, send orders-0 580540 txn=t2, abort t2
run app: send orders-0 580539
run accounting: receive books
"""
both_ends = scenario(TWO_ENDS)
Predict("09-aborted", trace=both_ends, step=first(both_ends, "t2 (0,1): ABORTING"))

# %% [markdown]
# Now write the rule of the dispatcher. A subscription is new and has been sent nothing. You are given three
# things. `entries` are the entries of the partition, each one as a position, a kind (`"plain"`, `"message"`,
# `"commit"`, `"abort"`) and a transaction such as `"(0,3)"`, which is `""` for a plain message. `ongoing` is a
# dictionary from each open transaction to the position of its first message here. `aborted` is a list of
# transactions. Return the list of the positions that the subscription is sent now.
#
# Your answer is compared with what a subscription received in four runs. Two hints wait:
# `print(READING.hint(1))`, then `print(READING.hint(2))`. If the rule is not right yet, the message names the
# belief behind it, and the run that refutes it opens where it shows.


# %% [markdown] lang="zh"
# 现在请写出分发器的规则。订阅是新建的，还没有收到过任何消息。你会得到三样东西。`entries` 是分区的各个条目，每个条目有位置、种类（`"plain"`、`"message"`、`"commit"`、`"abort"`）和事务，事务写作 `"(0,3)"` 这样，普通消息则是 `""`。`ongoing` 是一个字典，键是未结束的事务，值是它在这里的第一条消息的位置。`aborted` 是一个事务列表。请返回一个列表，列出现在要发给订阅的各个位置。
#
# 你的答案会与某个订阅在四次执行中实际收到的相比较。有两条提示可看：`print(READING.hint(1))`，然后 `print(READING.hint(2))`。如果规则还不对，反馈会说出背后的想法，并打开推翻它的那次执行，停在看得出问题的那一步。

# %% nbgrader={"solution": true, "grade_id": "reading"}
def send_now(entries: tuple, ongoing: dict, aborted: list) -> list:
    """The positions that a new subscription is sent, in their order."""
    ### BEGIN SOLUTION
    end = min(ongoing.values(), default=len(entries))
    return [
        position
        for position, kind, txn in entries
        if position < end and kind in ("plain", "message") and txn not in aborted
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "reading-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("reading", send_now)
### END HIDDEN TESTS
check(READING, send_now)

# %% [markdown]
# ## What you know now
#
# An uncommitted message lies where it will stay. A commit moves maxReadPosition, the last position that may
# be sent to consumers. The oldest open transaction of a partition holds it back, so keep transactions short.
#
# The short way ends here. The parts below go deeper, in any order; 7 of the 10 points are there. The next lab
# asks how a transaction takes back what it has read: [lab 10](10-acknowledgement.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 未提交的消息一写下就在它最终的位置，不会再挪动。提交让 maxReadPosition 前移，它是可以发给消费者的最后一个位置。分区里最早的未结束事务会拦住它，所以事务要尽量短。
#
# 短路线到此结束。下面的部分继续深入，先做哪个都行；10 分中有 7 分在那里。下一个实验要问：事务怎样收回它已经读取的内容？[实验 10](10-acknowledgement.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("09")

# %% [markdown] tags=["deeper"]
# ## Deeper: which parts take part, and who switches them on?

# %% [markdown] lang="zh"
# ## 深入：有哪些部分参与，由谁开启？

# %% [markdown]
# The map shows the parts of a whole Pulsar. Its brokers keep nothing on disk: everything that must last lies on
# *bookies*, the servers of BookKeeper, in logs that are called *ledgers*. So another broker can take over a
# partition without copying anything. Articles name *Pulsar Functions* as the purpose of transactions: small
# programs that read a topic, compute, and write to another topic. This lab looks at the writing.

# %% [markdown] lang="zh"
# 这张图画出整个 Pulsar 的各个部分。它的 broker 不在磁盘上保存任何东西：凡是必须留存的，都放在 *bookie*（BookKeeper 的服务器）上，写在叫作*账本*（ledger）的日志里。所以别的 broker 不用复制任何内容，就能接管分区。有文章说，事务是为 *Pulsar Functions* 准备的：那是一些小程序，读一个主题，做计算，再写入另一个主题。本实验只看写入这一边。

# %% jupyter={"source_hidden": true}
broker_map("pulsar")

# %% jupyter={"source_hidden": true}
Predict("09-by-default")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
BOTH = "run app: send orders-0 580538, new-transaction t1, send orders-0 580539 txn=t1"
for name, coordinators in {"out of the box": 0, "switched on": 1}.items():
    print(name)
    for said in list_answers(f"system pulsar coordinators={coordinators}\n{BOTH}"):
        print("  ", said)

# %% [markdown]
# A broker has no coordinator unless its `transactionCoordinatorEnabled` is set, and it is `false` out of the
# box. Plain messages work without it. Our model refuses `newTransaction`. A real client of 4.2.4 with
# `enableTransaction(true)` is not even built: *The broker doesn't enable the transaction coordinator, or the
# transaction coordinator has not initialized.* Both sides must be told.

# %% [markdown] lang="zh"
# 只有设置了 `transactionCoordinatorEnabled`，broker 才有协调者，而它默认是 `false`。普通消息不靠它也能收发。我们的模型会拒绝 `newTransaction`。至于 4.2.4 的真实客户端，设了 `enableTransaction(true)` 就根本创建不出来，报错说：*broker 没有启用事务协调者，或者事务协调者还没有初始化*。两边都要设置才行。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a transaction's id say?

# %% [markdown] lang="zh"
# ## 深入：事务的 ID 说明什么？

# %% [markdown]
# A transaction's id, its *TxnID*, has 128 bits. It is printed as two numbers.

# %% [markdown] lang="zh"
# 事务的 ID 叫 *TxnID*，有 128 位，显示成两个数。

# %% jupyter={"source_hidden": true}
Predict("09-id")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for coordinators in (1, 3):
    print(f"coordinators: {coordinators}; ids:", *list_ids(coordinators, 8))
print()
print(read_recording("pulsar-4.2.4/4.2", "ids", "NewTxn", "coordinatorStats"))

# %% [markdown]
# The first half of an id is the coordinator, all 64 bits of it. The second half counts the transactions of that
# coordinator. Articles say *16 bits and 112 bits*, and so does the design document. If that were so, the top
# 16 bits would tell coordinators apart. They are 0 in every id.
#
# A standalone has one coordinator, and the table shows the ids that a real one gave. The tools that set up a
# cluster make 16 coordinators, and a client takes them in turn; it begins with number 1.
# Coordinator 3 runs on the broker that owns partition 3 of a topic named `transaction_coordinator_assign`.
# Kafka too finds its coordinator by a partition, but there the partition *is* the coordinator's log (lab 06).
# Pulsar's topic stays empty, and only says who owns it. (Our model has one broker, so its client has nobody to
# look for. This comes from the released source.)
#
# **Write the next id.** One client has begun transactions and ended none. You are given their ids in order,
# each one as a whole number of 128 bits, and the number of coordinators. Return the id of the transaction that
# this client begins next. Two hints wait: `print(NUMBERING.hint(1))`, then `print(NUMBERING.hint(2))`.


# %% [markdown] lang="zh"
# ID 的前一半是协调者的编号，整整 64 位。后一半是该协调者的事务计数。有文章说是 *16 位加 112 位*，设计文档也这么说。果真如此，就该由最高的 16 位区分各个协调者。可是在每个 ID 里，这几位都是 0。
#
# standalone 模式只有一个协调者，表中是一个真实的 standalone 给出的 ID。搭建集群的工具会建 16 个协调者，客户端轮流使用，从 1 号开始。有一个主题名叫 `transaction_coordinator_assign`，它的分区 3 归哪个 broker，协调者 3 就运行在哪个 broker 上。Kafka 也是通过分区找到协调者，不过那里的分区*就是*协调者的日志（实验 06）。Pulsar 的这个主题一直是空的，只用来说明分区归谁。（我们的模型只有一个 broker，客户端用不着去找。这一段出自已发布的源代码。）
#
# **写出下一个 ID**。有一个客户端开始过几个事务，一个也没有结束。你会依次得到它们的 ID，每个都是 128 位的整数；还会得到协调者的个数。请返回这个客户端接下来开始的事务的 ID。有两条提示可看：`print(NUMBERING.hint(1))`，然后 `print(NUMBERING.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "numbering"}
def next_id(ids: tuple[int, ...], coordinators: int) -> int:
    """The id of a client's next transaction; it has begun at least one."""
    ### BEGIN SOLUTION
    # The coordinator that has its turn, and how many ids it has given.
    turn = ((ids[-1] >> 64) + 1) % coordinators
    return turn << 64 | sum(one >> 64 == turn for one in ids)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "numbering-test", "points": 1}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("numbering", next_id)
### END HIDDEN TESTS
check(NUMBERING, next_id)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does the coordinator write?

# %% [markdown] lang="zh"
# ## 深入：协调者写下什么？

# %% [markdown]
# One transaction has an order and its payment and commits, and one is aborted.

# %% [markdown] lang="zh"
# 一个事务写了一个订单和它的付款，然后提交；另一个事务中止。

# %% jupyter={"source_hidden": true}
Predict("09-records")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("record", "says", "asked by"), *list_records(both_ends)]))

# %% [markdown]
# The records hold states and participants, no message and no position. So the log is short, and yet a
# coordinator that is loaded again knows from it what it still has to end. A transaction goes from OPEN via
# COMMITTING to COMMITTED, or from OPEN via ABORTING to ABORTED. COMMITTING is the decision. It is written
# before any partition hears of it, and there is no way back.
#
# The next table is the real Pulsar 4.2.4. A transaction with one partition and one subscription writes five
# records, and when it has ended, none of them is *needed* any longer.
#
# Articles say that this log is recorded by a Pulsar *topic*. A topic can be subscribed to, so the last table
# tries: one transaction has sent an order and has committed, and then a client subscribes to each log.

# %% [markdown] lang="zh"
# 这些记录里有状态和参与方，没有消息，也没有位置。所以日志很短，协调者重新加载后，却能从中得知还有哪些事务要由它结束。事务从 OPEN 经 COMMITTING 到 COMMITTED，或者从 OPEN 经 ABORTING 到 ABORTED。COMMITTING 就是决定。先写下它，分区才会得知，从此没有回头路。
#
# 下一张表来自真实的 Pulsar 4.2.4。只有一个分区和一个订阅的事务会写五条记录；事务结束之后，这些记录一条也*不再需要*。
#
# 有文章说，这个日志由一个 Pulsar *主题*来记录。主题是可以订阅的，最后一张表就试一试：有一个事务发送了一个订单并且提交，然后一个客户端去订阅每个日志。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
STORED = "system pulsar clients=app\nrun app: new-transaction t, send orders-0 580538 txn=t, commit t"
print(read_recording("pulsar-4.2.4/4.2", "log-is-cleaned", "coordinatorInternalStats", "EndTxn"))
print()
print(columns([("log", "entries", "a subscription is told"), *list_logs(STORED)]))

# %% [markdown]
# The coordinator's log has a name like a topic's, but it is a bare ledger (`MLTransactionLogImpl`). It has one
# cursor, the coordinator's own, and no dispatcher reads it. A released Pulsar never loads a topic of that name
# either (`TransactionTest#brokerNotInitTxnManagedLedgerTopic`).

# %% [markdown] lang="zh"
# 协调者的日志有个像主题一样的名字，其实只是一个裸账本（`MLTransactionLogImpl`）。它只有一个游标（cursor），是协调者自己的，没有分发器读它。正式发布的 Pulsar 也从来不会加载叫这个名字的主题（`TransactionTest#brokerNotInitTxnManagedLedgerTopic`）。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does the buffer hold?

# %% [markdown] lang="zh"
# ## 深入：缓冲区里有什么？

# %% [markdown]
# The *transaction buffer* (事务缓冲区) is what a partition keeps in memory about transactions. Here one
# transaction sends two orders, and plain orders lie between them.

# %% [markdown] lang="zh"
# *事务缓冲区*（transaction buffer）是分区在内存中保存的事务信息。这里有一个事务发送了两个订单，中间夹着普通订单。

# %% jupyter={"source_hidden": true}
Predict("09-buffer")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
OPEN = """
# An open transaction between other orders
system pulsar clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run web: send orders-0 580539
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580540
run app: send orders-0 580541 txn=t1{then}
run accounting: receive books
"""
for then in ("", ", commit t1"):
    story = OPEN.format(then=then)
    print(columns([("position", "entry", "for accounting"), *list_entries(story)]))
    print(describe_buffer(story))

# %% [markdown]
# The buffer holds no message. It knows the position of the first message of each open transaction, and which
# transactions were aborted. It has forgotten the committed ones. The upper half is before the commit, the lower
# half after it. The entries 0 to 3 have not moved. The commit has added entry 4, the marker. It takes a
# position, and no consumer is sent it.

# %% [markdown] lang="zh"
# 缓冲区里没有消息。它知道每个未结束事务的第一条消息的位置，还知道哪些事务已中止。已提交的事务，它已经忘了。上半部分是提交之前，下半部分是提交之后。条目 0 到 3 都没有动。提交只添了条目 4，也就是控制消息。它占一个位置，却不会发给任何消费者。

# %% [markdown] tags=["deeper"]
# ## Deeper: which of two open transactions decides?

# %% [markdown] lang="zh"
# ## 深入：两个未结束的事务，由哪个决定？

# %% jupyter={"source_hidden": true}
order_of_two = scenario("""
# t1 begins first, and t2 writes first
system books topic=orders clients=app,web,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1
run web: new-transaction t2, send orders-0 580539 txn=t2
run app: send orders-0 580538 txn=t1
run web: send orders-0 580540
run app: commit t1
run accounting: receive books
run web: abort t2
run accounting: receive books
""")
Predict("09-oldest", trace=order_of_two, step=first(order_of_two, "t1 (0,0): COMMITTING"))

# %% jupyter={"source_hidden": true}
frontiers = list_frontiers(order_of_two)
go.Figure(
    [
        go.Scatter(
            name=name,
            x=[entry for entry, *_ in frontiers],
            y=[row[place] for row in frontiers],
            mode="lines+markers",
            line={"shape": "hv", "dash": dash},
        )
        for name, place, dash in [
            (say("last position"), 1, "dot"),
            ("maxReadPosition", 2, "solid"),
        ]
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#7c3aed", "#1a7f37"],
        "height": 280,
        "margin": {"t": 50, "b": 60},
        "title": say("What is written, and what may be read"),
        "xaxis": {"title": say("entry of orders-0")},
        "yaxis": {"title": say("position"), "dtick": 1},
    },
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = [("written to orders-0", "last position", "maxReadPosition")]
rows += [(entry, str(last), str(read)) for entry, last, read in frontiers]
print(columns(rows), end="\n\n")
rows = [("sent while 580538 is open", "orders that wait", "worth")]
for meanwhile in (0, 3, 6, 11):
    count, pence = measure_waiting(meanwhile)
    rows.append((str(meanwhile), str(count), f"£{pence / 100:,.2f}"))
print(columns(rows))

# %% [markdown]
# The place of a transaction's first message *in this partition* decides. t1 has committed and `commit` has
# returned ok, but accounting still gets nothing of it, because the first message of t2 lies before it. So one
# slow transaction holds back the quick ones of other services too.
#
# The second table takes the orders of one morning. Every order that is sent while 580538 is open waits with it,
# no matter who has sent it. So the longest transaction of a partition is the delay of all its subscriptions.
# The transaction's timeout (60 s unless a client asks for another) should be the limit. The parts on a
# partition that cannot be reached and on silence show where it is not.
#
# An article says that Pulsar never blocks, because each message is acknowledged by itself. Acknowledging one
# message blocks no other one. Reading does block.

# %% [markdown] lang="zh"
# 起决定作用的，是事务*在这个分区里*的第一条消息的位置。t1 已提交，`commit` 也返回了 ok，记账服务却还是收不到它的任何东西，因为 t2 的第一条消息排在它前面。所以，一个慢事务也会拦住别的服务的快事务。
#
# 第二张表用的是一个上午的订单。在 580538 的事务未结束期间发送的每个订单，不管是谁发的，都要陪它一起等。所以，一个分区里最长的事务有多长，这个分区的所有订阅就延迟多久。事务的超时（客户端不另作要求时是 60 s）本该是上限。超时在哪些情况下管不住，请看“分区连不上”和“应用没了动静”两部分。
#
# 有一篇文章说，Pulsar 从不阻塞，因为消息是逐条确认的。确认一条消息，确实不会妨碍别的消息。读取却会阻塞。

# %% [markdown] tags=["deeper"]
# ## Deeper: do two partitions show a commit at once?

# %% [markdown] lang="zh"
# ## 深入：两个分区会同时显示一次提交吗？

# %% [markdown]
# One transaction has written an order and its payment. The marker for the payment is slow: the line
# `hold tc-0→payments-0 EndTxnOnPartition` keeps that request back until `release`.

# %% [markdown] lang="zh"
# 一个事务写了一个订单和它的付款。付款的控制消息来得慢：`hold tc-0→payments-0 EndTxnOnPartition` 这一行把那个请求扣住，直到 `release`。

# %% jupyter={"source_hidden": true}
half_way = scenario("""
# The marker for the payment is slow
system books clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run accounting: subscribe payments-0 bank from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, send payments-0 paid-580538 txn=t1
hold tc-0→payments-0 EndTxnOnPartition
run app: commit t1
run accounting: receive books, receive bank
release tc-0→payments-0 EndTxnOnPartition
run accounting: receive bank
""")
Predict("09-two-partitions", trace=half_way, step=first(half_way, "t1 (0,0): COMMITTING"))

# %% [markdown]
# All or nothing is true of the end. COMMITTING is written, so every partition will get its marker, whatever
# dies. It is not true of the moment: each partition shows its part when its own marker is there, as in Kafka,
# so a reader of both may see half. Pulsar's `commit` returns only when *all* markers are written; Kafka's
# returns when the decision is logged. So a service that tells others after its `commit` has returned is on the
# safe side, unless an older transaction is open before these messages.

# %% [markdown] lang="zh"
# “全有或全无”说的是结局。COMMITTING 已经写下，所以不管哪个进程死掉，每个分区最终都会得到控制消息。但它说的不是每一时刻：和 Kafka 一样，每个分区等自己的控制消息到了，才显示自己那一部分，所以同时读两个分区的人可能只看到一半。Pulsar 的 `commit` 要等*所有*控制消息都写下才返回；Kafka 的 `commit` 则在决定写入日志后就返回。所以，服务若是等 `commit` 返回之后再通知别人，就是安全的，除非这些消息之前还有更早的未结束事务。

# %% [markdown] tags=["deeper"]
# ## Deeper: does the list of aborted transactions ever shrink?

# %% [markdown] lang="zh"
# ## 深入：已中止事务的列表会变短吗？

# %% [markdown]
# In the run of *Be the dispatcher*, t2 sent order 580540 and was aborted. The table shows `orders-0`
# afterwards, and the lines below it what the buffer knows after one, two and three aborts.

# %% [markdown] lang="zh"
# 在*你来当分发器*的那次执行中，t2 发送了订单 580540，然后中止。表中是 `orders-0` 事后的样子；表下面几行，是一次、两次、三次中止之后缓冲区所知道的。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(columns([("position", "entry", "for accounting"), *list_entries(TWO_ENDS)]))
print(describe_buffer(TWO_ENDS))
print()
GIVEN_UP = "new-transaction t{n}, send orders-0 {n} txn=t{n}, abort t{n}"
for many in (1, 2, 3):
    calls = ", ".join(GIVEN_UP.format(n=n) for n in range(many))
    print(f"aborts: {many};", describe_buffer(f"system pulsar snapshot_count=1\nrun app: {calls}"))

# %% [markdown]
# An article says that the messages in the buffer of an aborted transaction are *discarded*. Nothing is
# discarded: the message stays at its position, a marker is appended, and the buffer puts the transaction on
# a list. The dispatcher passes over both entries, and acknowledges them itself for each subscription. The
# log of a real Pulsar says the same, in the first table below.
#
# So the list of aborted transactions grows, in memory and in every snapshot. When does it shrink? This model
# deletes nothing, so the second table is the answer of a real Pulsar as well. It has aborted two transactions,
# whose markers lie in two ledgers, and retention deletes the older ledger (`trim`).

# %% [markdown] lang="zh"
# 有一篇文章说，事务中止后，缓冲区里的消息会被*丢弃*。其实什么都没有丢弃：消息留在原来的位置，后面追加一条控制消息，缓冲区把这个事务记入列表。分发器跳过这两个条目，并且自己替每个订阅确认。真实的 Pulsar 的日志也是这样说的，见下面第一张表。
#
# 所以，已中止事务的列表会越来越长，内存里如此，每个快照里也如此。它什么时候变短？这个模型什么都不删，所以第二张表也是真实的 Pulsar 给出的答案。它中止了两个事务，它们的控制消息在两个账本里；保留策略删除了较旧的账本（`trim`）。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("pulsar-4.2.4/4.2", "readers", *(f"entry {place}" for place in (1, 2, 3, 4))))
print()
print(read_recording("pulsar-4.2.4/4.2", "aborts-forgotten", "trim", "commit", "Stats"))

# %% [markdown]
# The ledger is gone and the list still has two transactions. The buffer looks at its list only when it writes
# the next marker. Then it takes off the id whose marker was deleted. Before the last line the partition was
# loaded again, so the snapshot has one id left as well.
#
# A client can spoil the filter. The dispatcher looks for the transaction's id in the *metadata* of a message.
# The Go client 0.19.0 puts the id only into the command that carries the message, and not into its metadata
# (its issue #1498). The broker therefore knows that the transaction was aborted, and still sends its messages.

# %% [markdown] lang="zh"
# 账本已经没有了，列表里仍有两个事务。缓冲区只在写下一条控制消息时才查看列表。这时它去掉那个控制消息已删除的 ID。最后一行之前，分区重新加载过，可见快照里也只剩一个 ID。
#
# 客户端也可能让过滤失效。分发器在消息的*元数据*里找事务的 ID。Go 客户端 0.19.0 只把 ID 放进携带消息的命令里，没有放进消息的元数据（它的 issue #1498）。于是 broker 明知事务已中止，还是会发送它的消息。

# %% [markdown] tags=["deeper"]
# ## Deeper: can a consumer read sooner?

# %% [markdown] lang="zh"
# ## 深入：消费者能更早读到吗？

# %% jupyter={"source_hidden": true}
Predict("09-level")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
TYPES = ("Exclusive", "Shared", "Failover", "Key_Shared")
ways = [f"subscribe orders-0 books from=earliest type={one}" for one in TYPES]
for way in (*ways, "reader orders-0 books from=earliest"):
    got = receive_all(f"""
# Before the commit
system pulsar clients=app,accounting
run accounting: {way}
run app: send orders-0 580538, new-transaction t1, send orders-0 580539 txn=t1
run accounting: receive books
""")
    print(f"{way:57} {', '.join(got)}")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("pulsar-4.2.4/4.2", "entries-with-flags", "log"))

# %% [markdown]
# There are five ways to read, and none of them goes further than the others. A proposal, PIP-298, describes an
# isolation level for consumers, and for a time a page of the documentation did. The code was never merged, and
# the page was taken back. The recording shows what exists. It lists the log before and after the end of a
# transaction: an administrator may look at single entries, and is told which of them are *uncommitted*. The
# plain message `d` behind the open transaction is marked in the same way.

# %% [markdown] lang="zh"
# 读法有五种，没有哪种能比别的读得更远。有一份提案 PIP-298，描述了消费者的隔离级别，文档里也一度有过这样一页。代码从未合并，那一页后来也撤了。录制的内容说明实际上有什么。其中列出了事务结束前后的日志：管理员可以查看单个条目，并会得知其中哪些*未提交*。排在未结束事务之后的普通消息 `d`，也是这样标注的。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a partition know when it is loaded again?

# %% [markdown] lang="zh"
# ## 深入：分区重新加载后知道什么？

# %% [markdown]
# A partition is loaded again when its broker was restarted, or when it has moved to another broker. Here t2 is
# open, and another transaction was aborted before. A buffer writes a *snapshot* (快照) after 1000 moves of
# maxReadPosition or after five seconds; `snapshot_count=1` makes it do so after each move.

# %% [markdown] lang="zh"
# broker 重启，或者分区移到另一个 broker，分区都会重新加载。这里 t2 未结束，之前还有一个事务已中止。maxReadPosition 移动 1000 次之后，或者过了五秒，缓冲区就写一个*快照*（snapshot）；设置 `snapshot_count=1`，就每移动一次写一个。

# %% jupyter={"source_hidden": true}
LOADED = """
# A load, with one transaction open and one aborted
system books topic=orders clients=app,web,accounting {snapshots}
run accounting: subscribe orders-0 books from=earliest
run web: new-transaction t1, send orders-0 580539 txn=t1, abort t1
run app: new-transaction t2, send orders-0 580538 txn=t2
run web: send orders-0 580540
kill orders-0
restart orders-0
{then}
run accounting: receive books
"""
loaded = scenario(LOADED.format(snapshots="snapshot_count=1", then="run app: commit t2"))
Predict("09-loaded", trace=loaded, step=first(loaded, "killed"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for fact in loaded:
    if "Snapshot" in fact.text.en and fact.glyph == "▮":
        print(fact.text.en)
for then in ("", "run app: commit t2"):
    story = LOADED.format(snapshots="snapshot_count=1", then=then)
    print(f"{then or 'after the load':18} {describe_buffer(story)}; received: {receive_all(story)}")
without = LOADED.format(snapshots="off=replay_topic", then="")
print(f"{'not read again':18} {describe_buffer(without)}; received: {receive_all(without)}")

# %% [markdown]
# A snapshot holds two things: maxReadPosition and the list of aborted transactions. That is enough, because
# every transaction that was open when it was taken had begun behind that position. The load reads the entries
# from there on, and does with each of them what was done when it was written. The line *not read again* shows
# a partition that leaves this out: accounting gets an order whose transaction is open.
#
# **Write this recovery.** You are given the last snapshot, `max_read` and `aborted`, and the entries behind
# `max_read`, each one as a position, a kind (`"plain"`, `"message"`, `"commit"`, `"abort"`) and a transaction.
# Return two things: the dictionary of all open transactions, with the position of their first message here, and
# the list of all that are aborted. Your function is put into the partition, which is then killed and loaded at
# every moment of several stories. Two hints wait: `print(RECOVERY.hint(1))`, then `print(RECOVERY.hint(2))`.


# %% [markdown] lang="zh"
# 快照里有两样东西：maxReadPosition 和已中止事务的列表。这就够了，因为写快照时未结束的事务，全都开始于那个位置之后。加载时从那里起读取条目，逐个重做当初写入时做过的事。*not read again* 那一行的分区跳过了这一步：记账服务得到了一个订单，而它的事务还没有结束。
#
# **编写这个恢复过程**。你会得到最后的快照，即 `max_read` 和 `aborted`；还有 `max_read` 之后的条目，每个条目有位置、种类（`"plain"`、`"message"`、`"commit"`、`"abort"`）和事务。请返回两样东西：一个字典，包含所有未结束的事务和各自在这里的第一条消息的位置；一个列表，包含所有已中止的事务。你的函数会装进分区，在几个故事的每一个时刻，都把分区杀掉再加载。有两条提示可看：`print(RECOVERY.hint(1))`，然后 `print(RECOVERY.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "recovery"}
def recover(max_read: int, aborted: tuple, entries: tuple) -> tuple[dict, list]:
    """What a buffer knows after a load: what is open and from where, and what is aborted."""
    ### BEGIN SOLUTION
    ongoing, ended = {}, list(aborted)
    for position, kind, txn in entries:
        if kind == "message":
            # Only the first message here counts.
            ongoing.setdefault(txn, position)
        if kind in ("commit", "abort"):
            ongoing.pop(txn, None)
        if kind == "abort":
            ended.append(txn)
    return ongoing, ended
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "recovery-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("recovery", recover)
### END HIDDEN TESTS
check(RECOVERY, recover)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a coordinator do when it is loaded again?

# %% [markdown] lang="zh"
# ## 深入：协调者重新加载后做什么？

# %% [markdown]
# The coordinator recovers from its own log. Here it is killed when it has written COMMITTING. The next client
# that connects has it loaded. Step through the rest, and count the markers in `orders-0`.

# %% [markdown] lang="zh"
# 协调者靠自己的日志恢复。这里，它写下 COMMITTING 之后被杀。下一个客户端一连上来，它就会重新加载。请逐步看完其余部分，数一数 `orders-0` 里有几条控制消息。

# %%
decided = scenario("""
# The coordinator is killed when it has decided
system books topic=orders clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
kill tc-0 when=EndTxnOnPartition#1
run app: commit t1
restart tc-0
run accounting: receive books
""")
Player(decided, step=first(decided, "killed"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
for fact in decided:
    if fact.index >= first(decided, "killed") and not fact.fold:
        print(fact.line(width=10))

# %% [markdown]
# It ends every transaction that is COMMITTING or ABORTING, and watches the OPEN ones until their *old*
# deadline.
#
# There are two commit markers. The loaded coordinator ends the transaction again, and so does the client, which
# repeats its request. The second marker changes nothing: *markers are idempotent, not unique*. But look at the
# application's answer: TransactionNotFoundException, about a transaction that has committed. The coordinator
# forgets a transaction that has ended, so this exception does not say how it ended.
#
# Now let it happen yourself. The decision is written, and the coordinator's request to `orders-0` is on its
# way. Click a message to deliver it, a timer to let it run out, a lane to kill a node and to start it again.
# *How few choices does it take until the partition has two markers of one transaction?*

# %% [markdown] lang="zh"
# 凡是处于 COMMITTING 或 ABORTING 的事务，协调者都会结束；处于 OPEN 的，继续盯到*原来的*截止时间。
#
# 提交的控制消息有两条。重新加载的协调者把这个事务又结束了一次；客户端重发请求，等于又结束了一次。第二条控制消息不改变任何东西：*控制消息是幂等（idempotent）的，不是唯一的*。但请看应用得到的应答：事务明明已经提交，得到的却是 TransactionNotFoundException。协调者会忘记已结束的事务，所以这个异常没有说明它是怎样结束的。
#
# 现在轮到你动手。决定已经写下，协调者发给 `orders-0` 的请求正在途中。点一条消息，它就送达；点一个定时器，它就到时；点一条泳道，可以杀掉节点，再启动它。*最少做几次选择，就能让分区里有同一个事务的两条控制消息？*

# %%
play = continue_scenario("""
# The decision is written
system books topic=orders clients=app,accounting claims=one_marker
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
hold tc-0→orders-0 EndTxnOnPartition#1
run app: commit t1
""")
Playground(play, goal="one marker")

# %% [markdown] tags=["deeper"]
# ## Deeper: what if a partition cannot be reached?

# %% [markdown] lang="zh"
# ## 深入：分区连不上会怎样？

# %% [markdown]
# A coordinator registers any partition that it is told, and does not look whether it exists. Here `admin` has
# registered a partition of a namespace that does not exist. (A namespace is a group of topics; `0/0` is the
# transaction (0,0).)

# %% [markdown] lang="zh"
# 让协调者登记什么分区，它就登记什么分区，并不查看分区是否存在。这里 `admin` 登记了一个分区，它的命名空间（namespace）并不存在。（命名空间是一组主题；`0/0` 就是事务 (0,0)。）

# %% jupyter={"source_hidden": true}
FROZEN = """
# A participant that cannot be reached
system books topic=orders missing=elsewhere-0 clients=app,admin,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1 timeout=3000, send orders-0 580538 txn=t1
run admin: register 0/0 elsewhere-0
run app: commit t1
{tries}
run accounting: receive books
run admin: transaction-metadata 0/0, end-by-id abort 0/0
{then}
"""


def try_again(seconds):
    return "\n".join(f"at {n * 1000}\nfire tc-0 retry (0,0)" for n in range(1, seconds + 1))


frozen = scenario(FROZEN.format(tries=try_again(4), then=""))
Predict("09-frozen", trace=frozen, step=first(frozen, "t1 (0,0): COMMITTING"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for seconds in (0, 20):
    story = FROZEN.format(tries=try_again(seconds), then="")
    markers = sum("commit marker" in entry for _, entry, _ in list_entries(story))
    print(f"after {seconds:2} s: {markers:2} markers, received {receive_all(story)}")
story = FROZEN.format(
    tries=try_again(4),
    then="run admin: create-namespace elsewhere-0\nat 5000\nfire tc-0 retry (0,0)",
)
for said in list_answers(story, "admin", "app"):
    print(said)
print()
print(read_recording("pulsar-4.2.4/4.2", "commit-frozen", "markers", "by its id"))

# %% [markdown]
# The order has been delivered, but the commit has not returned. The transaction's own timeout of 3 s does
# nothing, and an abort is refused. About every second all participants are told again, and the healthy one
# writes one more marker. A real client stops waiting after 30 s, the broker does not. The recording shows the
# same: *commit markers, 6 or more*. As soon as somebody creates the namespace, the next try ends the
# transaction.

# %% [markdown] lang="zh"
# 订单已经投递，提交却没有返回。事务自己的 3 s 超时不起作用，中止也会遭到拒绝。大约每过一秒，所有参与方都会再收到一次通知，正常的那个就又写一条控制消息。真实的客户端等 30 s 就不再等，broker 却不会停。录制内容也是如此：*commit markers, 6 or more*。只要有人创建那个命名空间，下一次尝试就会结束事务。

# %% [markdown] tags=["deeper"]
# ## Deeper: what if the application falls silent?

# %% [markdown] lang="zh"
# ## 深入：应用没了动静会怎样？

# %% [markdown]
# `app` dies with t1 open. A live coordinator aborts t1 at its deadline, 60 s after it began. But what if the
# broker is restarted in between?

# %% [markdown] lang="zh"
# `app` 死了，t1 还没有结束。协调者若是活着，到了截止时间，也就是事务开始 60 s 之后，就会中止 t1。但要是 broker 在这中间重启了呢？

# %% jupyter={"source_hidden": true}
Predict("09-silence")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SILENT = """
# The application dies
system pulsar clients=app,web,other,accounting
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539
kill app
{then}
run accounting: receive books
"""
RESTART = "kill orders-0\nkill tc-0\nrestart orders-0\nrestart tc-0"
LATER = f"{RESTART}\nat 600000"
for name, then in {
    "nothing is restarted, 59 s": "at 59000",
    "nothing is restarted, 60.1 s": "at 60100\nfire tc-0 timeout (0,0)",
    "a restart, 10 minutes later": LATER,
    "then a client connects": f"{LATER}\nrun other: new-transaction t\nfire tc-0 timeout (0,0)",
}.items():
    print(f"{name:29} {receive_all(SILENT.format(then=then))}")

# %% [markdown]
# Silence means *abort*, and none of your processes need be there for it. But a restarted broker loads a
# coordinator only when a client with transactions connects to it. Where many services use transactions, that
# takes seconds. Where one job uses them once per night, the plain orders of a whole day wait. The next table
# is the real broker: `c` comes when `app` begins its next transaction.

# %% [markdown] lang="zh"
# 没了动静就意味着*中止*，而且不需要你的哪个进程在场。但 broker 重启后，要等使用事务的客户端连上来，才会加载协调者。如果许多服务都用事务，几秒钟就够了。如果用事务的只有一个作业，每晚运行一次，普通订单就要等上一整天。下一张表来自真实的 broker：`app` 开始下一个事务时，`c` 才到来。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SAID = ("Send", "kill", "Message", "NewTxn", "nothing", "ongoing")
print(read_recording("pulsar-4.2.4/4.2", "kill-and-nobody-comes", *SAID))

# %% [markdown] tags=["deeper"]
# ## Deeper: what harm can a late message do?

# %% [markdown] lang="zh"
# ## 深入：迟到的消息会造成什么损害？

# %% [markdown]
# When a message of a transaction arrives, the partition does not ask the coordinator whether that transaction
# still exists. It is protected by the *low watermark* (低水位): with each end the coordinator sends the number
# up to which all of its transactions have ended. A message of one of these is refused. `reopen t1` stands for a
# client that slept through the end of its transaction.

# %% [markdown] lang="zh"
# 事务的消息到来时，分区并不会问协调者这个事务是否还在。它靠*低水位*（low watermark）保护：每次结束事务，协调者都会附上一个编号，到这个编号为止，它的事务都已结束。属于这些事务的消息会遭到拒绝。`reopen t1` 代表这样一个客户端：它一直睡着，不知道自己的事务已经结束。

# %% jupyter={"source_hidden": true}
RESTART = "kill orders-0\nkill tc-0\nrestart orders-0\nrestart tc-0"
LATE = """
# A message that comes after its transaction has ended
system books topic=orders clients=app,web,accounting,other timeout_ms=600000
run accounting: subscribe orders-0 books from=earliest
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2
run accounting: receive books, ack books
{restart}
run app: reopen t1, send orders-0 late txn=t1
run web: new-transaction t3, send orders-0 580540 txn=t3, commit t3
run accounting: receive books
run other: subscribe orders-0 audit from=earliest
run other: receive audit
"""
hidden = scenario(LATE.format(restart=RESTART))
Predict("09-late", trace=hidden, step=first(hidden, "send orders-0 late"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for name, restart in {"no restart": "", "a restart before it": RESTART}.items():
    story = LATE.format(restart=restart)
    sent = next(said for said in list_answers(story) if "send orders-0 late" in said)
    print(name, sent, sep=": ")
    print("  accounting", receive_all(story), "  audit", receive_all(story, "audit"))
print(columns([("position", "entry", "for consumers"), *list_entries(story)]))

# %% [markdown]
# The message is refused while the partition remembers a mark. But marks are kept in memory only. After the
# restart the message is taken, and t1 counts as open again. With the next end, that of t3, the partition learns
# that t1 ended long ago, and aborts it. The buffer keeps the ids of aborted transactions, without positions. So
# the order 580538, which t1 has *committed*, counts as aborted too, and audit never gets it. In the recording
# of the real 4.2.4 the same happens to `a`, and no safeguard was off:

# %% [markdown] lang="zh"
# 只要分区记得低水位，消息就会遭到拒绝。但低水位只保存在内存里。重启之后，消息被接受，t1 又算作未结束。等到下一个事务，也就是 t3 结束时，分区才得知 t1 早已结束，于是中止它。缓冲区保存的是已中止事务的 ID，不带位置。于是，t1 *已经提交*的订单 580538 也算作已中止，audit 永远得不到它。在真实的 4.2.4 的录制内容里，`a` 的遭遇也一样，当时并没有关掉任何保护措施：

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SAID = ("Send late", "kill", "Message", "entry 0", "entry 4")
print(read_recording("pulsar-4.2.4/4.2", "kill-forgets-watermarks", *SAID))

# %% [markdown]
# Can Pulsar keep such an old process out? Only its *sends*, topic by topic, if the new process asks for it with
# the access mode `ExclusiveWithFencing`. Its *commit* cannot be fenced: a transaction has no name that the next
# process takes over, as it has in Kafka with its `transactional.id` (lab 06). Lab 10 runs both.
#
# **Write a story in which a committed order is hidden**, as short as you can. Its lines are put behind
# `system pulsar topic=orders,payments clients=app,web,accounting`. At its end a committed transaction must
# count as aborted in a partition. It can be done without a restart. You may use `run`, `kill`, `restart`,
# `hold`, `release` and all that you have seen above. Two hints wait: `print(HIDING.hint(1))`, then
# `print(HIDING.hint(2))`.

# %% [markdown] lang="zh"
# Pulsar 能把这样的旧进程挡在外面吗？只能挡住它的*发送*，而且要逐个主题来，由新进程用访问模式 `ExclusiveWithFencing` 提出要求。它的*提交*无法隔离（fence）：事务没有可供下一个进程接管的名字，不像 Kafka 有 `transactional.id`（实验 06）。这两种情形，实验 10 都会执行一遍。
#
# **写一个把已提交的订单隐藏起来的故事**，越短越好。你写的各行会接在 `system pulsar topic=orders,payments clients=app,web,accounting` 后面。故事结束时，必须有一个已提交的事务在某个分区里算作已中止。不重启也能办到。你可以用 `run`、`kill`、`restart`、`hold`、`release`，以及上面见过的一切。有两条提示可看：`print(HIDING.hint(1))`，然后 `print(HIDING.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "hiding"}
# The lines of the story, one below the other. Add what is missing to the first.
story = """
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
"""
### BEGIN SOLUTION
# The late message is taken, as no later end has brought a mark yet; the next end aborts it.
story += """
run app: reopen t1, send orders-0 late txn=t1
run web: new-transaction t2, send orders-0 580539 txn=t2, commit t2
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "hiding-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("hiding", story)
### END HIDDEN TESTS
check(HIDING, story)

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguard is necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Eight safeguards belong to this lab. `max_read_position` stops dispatchers before the first open message.
# `filter_aborted` leaves out aborted messages. `decision_before_markers` writes COMMITTING before a partition
# is told. `retry_until_answered` tells a partition again that was not reached. `replay_log` and `replay_topic`
# read the coordinator's log, and the partition, after a restart. `transaction_timeout` aborts a transaction
# that nobody ends. `low_watermark` refuses or aborts a message that comes too late.
#
# Guess for each of them what will break without it. Then choose one of the first three in the menu, and look at
# the money that accounting is sent: the run is the same each time.

# %% [markdown] lang="zh"
# 本实验有八项保护措施。`max_read_position` 让分发器停在第一条属于未结束事务的消息之前。`filter_aborted` 略过已中止的消息。`decision_before_markers` 在通知任何分区之前写下 COMMITTING。`retry_until_answered` 会再次通知没有联系上的分区。`replay_log` 和 `replay_topic` 在重启后分别重读协调者的日志和分区。`transaction_timeout` 中止没有人结束的事务。`low_watermark` 拒绝或中止来得太晚的消息。
#
# 先逐项猜一猜，少了它会出什么问题。然后在菜单里选前三项中的一项，看看发给记账服务的金额：每次都是同一个故事。

# %% jupyter={"source_hidden": true}
STORY = """
# Aborted, open, and a load
system books topic=orders clients=app,web,accounting
off {off}
run accounting: subscribe orders-0 books from=earliest
run web: new-transaction t1, send orders-0 580539 txn=t1, abort t1
run app: new-transaction t2, send orders-0 580538 txn=t2
run web: send orders-0 580540
run accounting: receive books
kill orders-0
restart orders-0
run accounting: receive books
"""


def draw(off):
    return Player(scenario(STORY.format(off=off)))


SEEN = ("max_read_position", "filter_aborted", "replay_topic")
vary(draw, off=list_safeguards("pulsar", *SEEN))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_needed())

# %% [markdown]
# Each line takes one safeguard away, and a search finds the shortest run that breaks a promise. The next table
# takes nothing away. Pulsar does not make these promises: that an open transaction holds back only its own
# messages, that there is one marker, that an error means *not committed*, that a late message harms nobody,
# and that a committed message stays readable.

# %% [markdown] lang="zh"
# 每一行去掉一项保护措施，搜索会找到违背承诺的最短执行。下一张表什么也没有去掉。下面这些，Pulsar 本来就没有承诺：未结束的事务只拦住自己的消息；控制消息只有一条；出错就意味着*没有提交*；迟到的消息不会造成损害；已提交的消息一直可读。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_unpromised())

# %% [markdown] tags=["deeper"]
# ## Deeper: where do uncommitted messages live elsewhere?

# %% [markdown] lang="zh"
# ## 深入：在别的系统里，未提交的消息在哪里？

# %% [markdown]
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | an uncommitted message lies | in the topic, in its final place | in the topic, in its final place | in the half topic |
# | a commit | appends a marker | appends a marker | writes the message once more |
# | readers are held back by | maxReadPosition, for every consumer | the LSO, for read_committed only | the half topic, which nobody subscribes to |
# | aborted messages are left out by | the dispatcher, at the broker | the consumer, with a list | nobody: they never leave the half topic |
# | an open transaction hides | everything behind its first message | the same, for read_committed | its own message |
# | `commit` returns | when all markers are written | when the decision is logged | at once, it is one-way |
# | an old process is kept out | from sending, per topic, if the producer asks for it (ExclusiveWithFencing); not from committing | by the epoch of its `transactional.id` | not at all |
#
# Ask of any queue that you meet: *where is the message before it is committed, and what keeps readers from it?*

# %% [markdown] lang="zh"
# | | Pulsar | Kafka | RocketMQ |
# |---|---|---|---|
# | 未提交的消息 | 在主题里，在最终的位置 | 在主题里，在最终的位置 | 在半消息主题（half topic）里 |
# | 提交时 | 追加一条控制消息 | 追加一条控制消息 | 把消息再写一遍 |
# | 是什么拦住读者 | maxReadPosition，对所有消费者 | 最后稳定偏移量（LSO），只对 read_committed | 半消息主题，没有人订阅它 |
# | 谁略过已中止的消息 | 分发器，在 broker 上 | 消费者，凭一份列表 | 没有人：它们从未离开半消息主题 |
# | 未结束的事务隐藏 | 它第一条消息之后的一切 | 同样如此，对 read_committed | 它自己的消息 |
# | `commit` 何时返回 | 所有控制消息写下之后 | 决定写入日志之后 | 立刻，它是单向的 |
# | 怎样挡住旧进程 | 挡住它的发送，逐个主题，由生产者提出要求（ExclusiveWithFencing）；挡不住提交 | 靠 `transactional.id` 的 epoch | 挡不住 |
#
# 遇到任何一种队列，都可以问：*消息在提交之前在哪里？是什么不让读者碰到它？*

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | Pulsar never blocks | reading waits for the oldest open transaction of the partition | Run, two open |
# | an open transaction hides only its own messages | it hides everything behind its first one | Run, Be the dispatcher |
# | aborted messages are discarded | they stay; the dispatcher passes over them | Be the dispatcher, the list |
# | transactions are on by default | client and broker must both be told | who switches them on |
# | the top 16 bits of a TxnID are the coordinator | the top 64 bits are | the id |
# | the transaction log is a topic | it is a bare ledger with a topic's name | the coordinator |
# | the coordinator's log holds the messages | it holds states and participants | the coordinator |
# | the buffer holds uncommitted messages | it holds ids and positions | the buffer |
# | a transaction that commits first is read first | all that lies before it must have ended too | two open |
# | several partitions become visible together | each does with its own marker | two partitions |
# | there is a level read_uncommitted | it was never merged | reading sooner |
# | a snapshot holds what is open | it holds what is aborted, and from where to read | a load |
# | there is one marker per transaction and partition | there may be many | a coordinator's load, a partition out of reach |
# | a timeout ends every transaction | open ones only, and only if the coordinator is loaded | a partition out of reach, silence |
# | a committed message stays readable | a late message can hide it | a late message |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | Pulsar 从不阻塞 | 读取要等分区里最早的未结束事务 | 执行、两个未结束 |
# | 未结束的事务只隐藏自己的消息 | 它隐藏自己第一条消息之后的一切 | 执行、你来当分发器 |
# | 已中止的消息会被丢弃 | 消息还在，分发器跳过它们 | 你来当分发器、列表 |
# | 事务默认开启 | 客户端和 broker 都要设置 | 由谁开启 |
# | TxnID 最高的 16 位是协调者 | 最高的 64 位才是 | ID |
# | 事务日志是一个主题 | 它是一个裸账本，只是名字像主题 | 协调者 |
# | 协调者的日志里有消息 | 里面只有状态和参与方 | 协调者 |
# | 缓冲区里放着未提交的消息 | 里面只有 ID 和位置 | 缓冲区 |
# | 先提交的事务先读到 | 排在它前面的也都要结束才行 | 两个未结束 |
# | 几个分区同时变为可见 | 各凭自己的控制消息 | 两个分区 |
# | 有 read_uncommitted 这个级别 | 代码从未合并 | 更早读到 |
# | 快照里有未结束的事务 | 里面是已中止的事务，以及从哪里读起 | 加载 |
# | 每个事务在每个分区只有一条控制消息 | 可能有许多条 | 协调者重新加载、分区连不上 |
# | 每个事务都会因超时而结束 | 只有尚未决定的才会，而且要加载了协调者 | 分区连不上、没了动静 |
# | 已提交的消息一直可读 | 迟到的消息可能把它隐藏 | 迟到的消息 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% jupyter={"source_hidden": true}
Predict("09-exit-ticket")
