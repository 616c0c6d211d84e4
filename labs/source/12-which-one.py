# %% [markdown]
# # Lab 12 · Which one?
#
# *60 minutes, or a short way of 25* · Kafka 4.3, RocketMQ 5.5, Pulsar 4.2, and an outbox
#
# **In one paragraph.** The gift shop has five jobs for a message queue, and four ways to be sure of a message:
# a transaction of Kafka, of RocketMQ or of Pulsar, or a table in its own database. In this lab you send one
# order each way, kill a process at the same moment of each, and count what it costs. Then you choose a way for
# each of the five jobs, and name the runs that forbid the others.
#
# **The short way:** Hook, Predict, Run, Choose, What you know now. The other parts are folded under headings
# that begin with *Deeper*. A click on *cells hidden* below a heading opens its part.
#
# **You need** labs 03, 06 and 09, or these sentences. In *RocketMQ* a message waits as a half until the
# sender's database row decides. In *Kafka* and *Pulsar* a *coordinator* (事务协调者) decides about records in
# several logs, together with what was read. An *outbox* (发件箱) is a table beside your rows: one local
# transaction writes a row and its message, and a process named *relay* (中继) sends what stands in the table.

# %% [markdown] lang="zh"
# # 实验 12 · 该选哪一种？
#
# *60 分钟，短路线约 25 分钟* · Kafka 4.3、RocketMQ 5.5、Pulsar 4.2，以及发件箱（outbox）
#
# **一段话概括**：礼品店有五件工作要用到消息队列；要让消息可靠，有四种方式：Kafka、RocketMQ 或 Pulsar 的事务，或者自己数据库里的一张表。在这个实验里，你用每种方式各发送一个订单，在同样的时刻各杀掉一个进程，算一算代价。然后为五件工作各选一种方式，并指出是哪些执行排除了别的方式。
#
# **短路线**：引子、预测、执行、选择、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。
#
# **你需要**先做实验 03、06 和 09，或者先知道下面几句话。在 *RocketMQ* 里，消息先作为半消息（half message）等着，由发送方数据库里的一行来决定。在 *Kafka* 和 *Pulsar* 里，*协调者*（coordinator，即事务协调者）为几个日志里的记录作决定，消费进度也一并在内。*发件箱*（outbox）是放在你的业务行旁边的一张表：一个本地事务同时写下一行和它的消息，再由名叫*中继*（relay）的进程把表里的消息发出去。

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, vary
from mqlab.lessons.lab12 import (
    CHOICE,
    MOMENTS,
    RUNS,
    compare_anomalies,
    compare_prices,
    compare_stages,
    die_after_deciding,
    first,
    kill_ways,
    list_runs,
    play_run,
)

# %% [markdown]
# ## Hook: do you need a broker's transaction at all?
#
# An order is paid. The shop writes a row into its database. Stock and accounting must hear of it, and a
# follow-up goes to a second topic. Before you compare brokers, ask three questions:
#
# 1. **What must happen together?** A row and a message; what was read and what is written; several messages;
#    or nothing.
# 2. **Who can tell that something came again?** A consumer that stores each order by its number can. A sum
#    cannot.
# 3. **Who decides, and what does silence mean?** Your database, or a coordinator. Ask the sender, or abort.
#
# If nothing must happen together, and each consumer knows an order by its number, a plain message that is
# sent until it is acknowledged is enough.

# %% [markdown] lang="zh"
# ## 引子：你真的需要 broker 的事务吗？
#
# 有个订单付了款。商店往自己的数据库里写一行。库存和记账两边都得知道这件事，另有一条后续消息要发往第二个主题。比较各种 broker 之前，先问三个问题：
#
# 1. **哪些事必须一起发生？** 一行和一条消息；读到的和写出的；几条消息；或者什么也不用。
# 2. **同样的东西又来了一遍，谁看得出来？** 按编号保存每个订单的消费者看得出来，只管累加的看不出来。
# 3. **谁作决定？没有音讯意味着什么？** 你的数据库，还是协调者；去问发送方，还是中止。
#
# 如果没有什么必须一起发生，而每个消费者又都按编号认得订单，那么普通消息就够了，只要重复发送到得到确认为止。

# %% jupyter={"source_hidden": true}
Predict("12-need")

# %% [markdown]
# ## Predict
#
# Here is the same order in Pulsar. The coordinator has written its decision, COMMITTING, and then it dies.
# Its three messages have left, and none of them has arrived. In a moment the coordinator is started again.
# Choose an answer and lock it; then the run goes on for about three minutes. The button ⏭ below the picture jumps
# to its end.

# %% [markdown] lang="zh"
# ## 预测
#
# 这是 Pulsar 里的同一个订单。协调者写下了决定 COMMITTING，然后就死了。它的三条消息已经发出，一条也还没有到达。片刻之后协调者会重新启动。选一个答案并锁定，执行就会继续，大约三分钟。点击图下的 ⏭ 可以直接跳到末尾。

# %% jupyter={"source_hidden": true}
pulsar = die_after_deciding("pulsar")
seen = ("diagram", "readers", "lights")
Predict("12-told", trace=pulsar, step=first(pulsar, "killed"), panels=seen, told=seen)

# %% [markdown]
# ## Run: one order, four ways, one clock
#
# The four pictures are one clock: **reserve → write → decide → publish the decision → make visible → forget**.
# They open at the end. Drag the slider of the first one. The line below it says what Kafka is doing: `Ongoing`
# reserves, `T1 @0` is the write, `PrepareCommit` decides, a `commit marker` publishes the decision, `T1; commit`
# is visible, and `CompleteCommit` forgets. *Ask at each stage: who could read the order now, and what does the
# caller know?*

# %% [markdown] lang="zh"
# ## 执行：一个订单，四种方式，一个时钟
#
# 四张图共用一个时钟：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。打开时停在末尾。拖动第一张图的滑块。它下面的一行说明 Kafka 正在做什么：`Ongoing` 是预留，`T1 @0` 是写入，`PrepareCommit` 是决定，`commit marker` 公布决定，`T1; commit` 表示可见，`CompleteCommit` 是遗忘。*在每个阶段都问一问：现在谁能读到订单？调用者知道什么？*

# %%
kill_ways()

# %% [markdown]
# Now choose after which stage a process dies. The *keeper* is the process that carries the decision on:
# Kafka's and Pulsar's coordinator, RocketMQ's broker, the outbox's relay. The *sender* is the process that has
# the order. At the end of each run it is replaced, or comes back.

# %% [markdown] lang="zh"
# 现在选择进程死在哪个阶段。*keeper* 是把决定落实下去的进程：Kafka 和 Pulsar 的协调者、RocketMQ 的 broker、发件箱的中继。*sender* 是手里有订单的进程。每次执行到最后，死掉的进程要么有别的进程接替，要么自己回来。

# %%
vary(kill_ways, moment=list(MOMENTS), role=["keeper", "sender"])

# %% [markdown]
# In each of these runs stock gets the order exactly once in the end. The difference is in between: when it
# can be seen, what the caller is told, and who must do something.
#
# | | Kafka | RocketMQ | Pulsar | outbox |
# |---|---|---|---|---|
# | joins | records, and positions that were read | one message and your database's row | messages and acknowledgements | your row and its message |
# | decides | the coordinator's log | your database | the coordinator's log | your database |
# | votes | nobody | the local transaction | nobody | nobody |
# | your call returns | after *decide* | after *publish*, unanswered | after *forget* | after *decide* |
# | silence means | abort, after a timeout | ask the producer | abort, after a timeout | the relay tries again |

# %% [markdown] lang="zh"
# 在每一次执行里，库存最后都恰好得到订单一次。区别在中间：什么时候看得到订单，调用者听到什么，谁必须做些什么。
#
# | | Kafka | RocketMQ | Pulsar | 发件箱 |
# |---|---|---|---|---|
# | 绑在一起的 | 记录，以及读取位置 | 一条消息和你数据库里的一行 | 消息和确认 | 你的一行和它的消息 |
# | 谁决定 | 协调者的日志 | 你的数据库 | 协调者的日志 | 你的数据库 |
# | 谁投票 | 没有人 | 本地事务 | 没有人 | 没有人 |
# | 你的调用何时返回 | *决定*之后 | *公布决定*之后，没有应答 | *遗忘*之后 | *决定*之后 |
# | 没有音讯意味着 | 超时后中止 | 去问生产者 | 超时后中止 | 中继再试一次 |

# %% [markdown]
# ## Choose
#
# Five jobs wait. Choose a way for each, and name the runs that forbid the ways that a colleague proposes.
#
# | situation | what is asked | the colleague proposes |
# |---|---|---|
# | order service | It writes a row of the order into its database, and stock must hear of every row. Stock knows orders by their numbers. | kafka, pulsar, plain |
# | aggregates | A job reads the topic of orders and writes the income of each minute to another topic. An old process may still live. | pulsar, outbox, rocketmq |
# | fan-out | Workers take tasks from a shared queue and pass each on to the next department's queue. One slow task must hold up no other one. | kafka, rocketmq, plain |
# | nightly file | Once a night a program sends the 500,000 lines of a file. It takes an hour, and when it breaks off it starts again from the top. Consumers store lines by their numbers. | kafka, pulsar |
# | payment provider | For each order a program calls a provider, which charges a card. No card may be charged twice. | kafka, pulsar, rocketmq, outbox, plain |
#
# The ways are `kafka`, `rocketmq`, `pulsar`, `outbox`, `plain` (messages without a transaction, sent until they
# are acknowledged) and `key` (an idempotency key that the one who is called stores with its effect). For the
# order service two ways fit; one is enough. These are the runs:

# %% [markdown] lang="zh"
# ## 选择
#
# 有五件工作等着你。为每一件选一种方式，并指出是哪些执行排除了同事提议的方式。
#
# | 情形 | 要求 | 同事的提议 |
# |---|---|---|
# | order service（订单服务） | 它把订单的一行写入自己的数据库，库存必须得知每一行。库存按编号认得订单。 | kafka、pulsar、plain |
# | aggregates（汇总） | 一个作业读取订单主题，把每分钟的收入写入另一个主题。旧的进程可能还活着。 | pulsar、outbox、rocketmq |
# | fan-out（分发） | 多个工作进程从一个共用的队列取任务，把每个任务转交到下一个部门的队列。一个任务慢了，不能耽误别的任务。 | kafka、rocketmq、plain |
# | nightly file（夜间文件） | 一个程序每晚发送一次文件里的 500,000 行，要花一个小时，中断之后又从头开始。消费者按编号保存各行。 | kafka、pulsar |
# | payment provider（支付服务商） | 程序为每个订单调用服务商，由服务商从卡上扣款。任何一张卡都不能重复扣款。 | kafka、pulsar、rocketmq、outbox、plain |
#
# 可选的方式是 `kafka`、`rocketmq`、`pulsar`、`outbox`、`plain`（不用事务的消息，重复发送到得到确认为止）和 `key`（幂等键，由被调用的一方与效果一起保存）。对订单服务来说，有两种方式都合适，答一种就够。可用的执行如下：

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_runs())

# %%
vary(play_run, run=list(RUNS))

# %% [markdown]
# Write a line for each situation, as in `aggregates: outbox, because zombie and late-end`. A choice without a
# run earns nothing, and neither does a run that forbids nothing here. Two hints wait: `print(CHOICE.hint(1))`,
# then `print(CHOICE.hint(2))`.

# %% [markdown] lang="zh"
# 每种情形写一行，例如 `aggregates: outbox, because zombie and late-end`。只有选择、没有执行，不得分；写出的执行在这里什么也排除不了，也不得分。有两条提示可看：`print(CHOICE.hint(1))`，然后 `print(CHOICE.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "choice"}
# A line for each of the five situations.
choice = ""
### BEGIN SOLUTION
# First what must happen together, then who can tell that something came again.
choice = """
order service: outbox, because row-beside
aggregates: kafka, because zombie, published-twice and late-end
fan-out: pulsar, because position-first and worked-twice
nightly file: plain, because too-slow
payment provider: key, because counted-again
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "choice-test", "points": 10}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("choice", choice)
### END HIDDEN TESTS
check(CHOICE, choice)

# %% [markdown]
# ## What you know now
#
# “Transactional message” means two things. In RocketMQ it is one message and a local transaction, and your
# database decides. In Kafka and Pulsar it is many messages and what was read, and a coordinator decides. First
# ask what must happen together; then the choice is small, and sometimes it is *none of them*.
#
# The short way ends here, and all points of this lab are in it. The parts below go deeper. The next
# lab asks you to write a coordinator yourself: [lab 13](13-build-a-coordinator.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# “事务消息”有两种意思。在 RocketMQ 里，是一条消息和一个本地事务，由你的数据库决定。在 Kafka 和 Pulsar 里，是许多条消息和消费进度，由协调者决定。先问哪些事必须一起发生，剩下的选择就不多了，有时答案是*一种也不用*。
#
# 短路线到此结束，本实验的分数全在这里。下面的部分继续深入。下一个实验请你自己写一个协调者：[实验 13](13-build-a-coordinator.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("12")

# %% [markdown] tags=["deeper"]
# ## Deeper: what becomes of the order, kill by kill?

# %% [markdown] lang="zh"
# ## 深入：逐次 kill，订单会怎样？

# %% [markdown]
# Each cell of the next tables is a run: the orders that stock can have while the process is dead → in the end,
# and what the caller was told of its last call. First the sender dies after a stage, then the keeper. In the row
# *decide, nothing sent* the decision is in a log, and the process dies before it sends it.

# %% [markdown] lang="zh"
# 下面两张表的每一格都是一次执行：进程死掉期间库存可能得到的订单数 → 最后得到的订单数，以及调用者从最后一次调用听到了什么。第一张表里，sender 死在一个阶段之后；第二张表里，死的是 keeper。*决定，什么也没发出*这一行里，决定已经写进日志，进程在把它发出去之前死掉。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_stages("sender"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_stages("keeper"))

# %% [markdown]
# Two things stand out. Pulsar's caller hears TransactionNotFoundException of a transaction that is
# committed: an exception of a commit does not say that nothing happened. And in the row *decide, nothing sent*
# the order is decided in all four ways, and nobody sees it until the keeper is back. Kafka's caller has heard
# `ok` by then. Nothing is lost, but it is late; with RocketMQ's sender the twin must be there to answer.

# %% [markdown] lang="zh"
# 有两点值得注意。事务明明已经提交，Pulsar 的调用者听到的却是 TransactionNotFoundException：提交时的异常，并不说明什么也没有发生。而在*决定，什么也没发出*这一行里，四种方式都已经决定了订单，但在 keeper 回来之前，谁也看不到它。Kafka 的调用者这时已经听到 `ok`。什么也没有丢，只是晚了；RocketMQ 的 sender 死掉时，要有替身在才能回答。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does one order cost?

# %% [markdown] lang="zh"
# ## 深入：一个订单的代价是多少？

# %% [markdown]
# The next table counts the messages of all processes, the writes to their disks, and the flushes that somebody
# waits for, in the four runs above.

# %% [markdown] lang="zh"
# 下表统计上面四次执行里所有进程的消息数、写盘次数，以及有人在等的刷盘（flush）次数。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_prices())

# %% [markdown]
# The outbox tells its caller first: one local commit. It pays later, with the relay's and the consumers'
# writes. Kafka's and Pulsar's runs have no flush, because nobody in them waits for one: Kafka acknowledges
# when its replicas have a record in memory, and the model counts what Pulsar's bookies store as a write. The
# runs do not do the same work: Kafka's and Pulsar's write two topics and what was read, RocketMQ's writes one
# message.

# %% [markdown] lang="zh"
# 发件箱最早给调用者应答：只要一次本地提交。代价留到后面，由中继和消费者的写入来付。Kafka 和 Pulsar 的执行里没有刷盘，因为没有人在等：Kafka 在各副本把记录放进内存时就确认；Pulsar 的各个 bookie 存下的东西，模型算作写入。各次执行做的事情也不相同：Kafka 和 Pulsar 的执行写入两个主题和消费进度，RocketMQ 的执行只写一条消息。

# %% [markdown] tags=["deeper"]
# ## Deeper: which anomaly is possible where?

# %% [markdown] lang="zh"
# ## 深入：哪里可能出现哪种异常现象？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("kafka"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("pulsar"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_anomalies("rocketmq", "outbox"))

# %% [markdown]
# *Impossible* is a search that ended. *Possible* is a run. *Only without X* is both: a run with a safeguard
# off, and a search with it on. *Only with X* is both too: a run with an option, and a search without it. *Excluded
# with X* depends on what the client asks for. *Not covered* is about something outside of the transaction, so it can
# happen. Words in brackets say what a cell covers: Kafka's *duplicate* is about the retries of one session, and lab
# 05 shows two runs beyond it. `mqlab matrix --reasons` names all runs and searches, and `mqlab matrix --check` does
# them again.

# %% [markdown] lang="zh"
# *不可能*表示有一次搜索搜到了底。*可能*表示有一次执行。*仅当关闭 X*表示两样都有：关闭这项保护措施的一次执行，和开启它的一次搜索。*仅当：X*也是两样都有：带有某个选项的一次执行，和没有它的一次搜索。*用 X 可排除*取决于客户端要求什么。*不在其内*涉及事务之外的东西，所以可能发生。括号里的话说明一格涵盖什么：Kafka 的*重复*只说一个会话内的重试，实验 05 里有两次在此之外的执行。`mqlab matrix --reasons` 会列出所有执行和搜索，`mqlab matrix --check` 则全部重做一遍。

# %% [markdown] tags=["deeper"]
# ## Deeper: what provides A, C, I and D?

# %% [markdown] lang="zh"
# ## 深入：A、C、I 和 D 由什么来提供？

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar | outbox |
# |---|---|---|---|---|
# | atomic | PrepareCommit decides for all partitions; markers follow | your database decides; the check asks until it hears | COMMITTING decides for all topics and subscriptions | the local commit decides for row and message |
# | consistent | your program's business | your program's business | your program's business | your database's constraints |
# | isolated | `read_committed`, which the Java consumer does not have by default; not at one moment in all partitions | a half is in a topic that nobody reads | maxReadPosition, for every consumer | a reader of the topic sees an order later than a reader of the table |
# | durable | replicas; a power cut of all of them may take a commit | by default a half is acknowledged before it is on the disk | as its ledgers are stored | your database's log |
#
# Articles say that all of them are two-phase commit. A partition of Kafka is not asked for a vote, and
# neither is a topic of Pulsar: the coordinator decides alone, and the second phase is there. RocketMQ's
# half is a prepare, and the local transaction is the one vote. One of them says that all keep transactional
# messages in a special topic. RocketMQ does; Kafka and Pulsar write them in place, and the special topic
# there is a *log of transactions*. RocketMQ has no such log, only halves and op records. It also says that
# Pulsar, which has transactions since 2.8.0, is closer to Kafka and has no check-back. That is right: in
# both of them silence means abort, after a timeout, and nobody asks the sender. RocketMQ's way is also
# called two-phase commit plus compensation. The check is no compensation: it undoes nothing, it asks what
# was decided.

# %% [markdown] lang="zh"
# | | Kafka | RocketMQ | Pulsar | 发件箱 |
# |---|---|---|---|---|
# | 原子性 | PrepareCommit 为所有分区决定，控制消息（marker）随后写入 | 你的数据库决定；回查（check-back）一直问，直到听到为止 | COMMITTING 为所有主题和订阅决定 | 本地提交为行和消息决定 |
# | 一致性 | 由你的程序负责 | 由你的程序负责 | 由你的程序负责 | 靠你的数据库的约束 |
# | 隔离性 | `read_committed`，Java 消费者默认不用；各分区并不同时可见 | 半消息所在的主题没有人读 | maxReadPosition，对每个消费者都如此 | 读主题的比读表的更晚看到订单 |
# | 持久性 | 靠副本；所有副本一起断电，可能带走一次提交 | 默认情况下，半消息还没落盘就已确认 | 取决于账本（ledger）如何存储 | 你的数据库的日志 |
#
# 有文章说，这三种 broker 的事务都是两阶段提交。可是没有人请 Kafka 的分区投票，也没有人请 Pulsar 的主题投票：协调者独自决定，不过第二阶段确实有。RocketMQ 的半消息是准备（prepare），本地事务是唯一的一票。还有一种说法是，三者都把事务消息放在特殊的主题里。RocketMQ 是这样；Kafka 和 Pulsar 把事务消息写在原处，那里的特殊主题是*事务日志*。RocketMQ 没有这样的日志，只有半消息和 op 记录。文章里还说，Pulsar 从 2.8.0 起有事务，更接近 Kafka，没有回查。这是对的：在这两种里，没有音讯都意味着超时后中止，没有人去问发送方。RocketMQ 的做法也有人称为两阶段提交加补偿。可是回查不是补偿：它不撤销任何东西，只是询问决定是什么。

# %% [markdown] tags=["deeper"]
# ## Deeper: a database row inside a Kafka transaction?

# %% [markdown] lang="zh"
# ## 深入：数据库的一行能放进 Kafka 事务吗？

# %% [markdown]
# A team has Kafka and wants what RocketMQ has. It begins a Kafka transaction, sends the message, commits
# the row, and then commits in Kafka. There is no check-back: nobody asks the database after a crash.
#
# | the service dies | row | message |
# |---|---|---|
# | before the row's commit | no | aborted |
# | between the two commits | **yes** | aborted: nobody asks about the row |
# | behind both | yes | yes |
#
# Turned round, the middle line has a message without a row. An outbox has one commit, so it has no middle line.
#
# It is the same with **two clusters**. A transaction of Kafka ends at its cluster: one that reads in one
# cluster and writes in another has two commits. A position in the cluster of the output, or a consumer that
# knows numbers, mends that.
#
# **Kafka's share groups** (KIP-932) acknowledge messages one by one, as Pulsar does. In 4.2 these
# acknowledgements are outside of transactions, so for the fan-out above they are `plain`.

# %% [markdown] lang="zh"
# 有个团队用的是 Kafka，却想要 RocketMQ 那样的能力。它开启一个 Kafka 事务，发送消息，提交数据库的行，然后在 Kafka 里提交。这里没有回查：宕机之后，没有人去问数据库。
#
# | 服务死在 | 行 | 消息 |
# |---|---|---|
# | 行提交之前 | 没有 | 已中止 |
# | 两次提交之间 | **有** | 已中止：没有人来问这一行 |
# | 两次提交之后 | 有 | 有 |
#
# 把次序颠倒过来，中间那种情况就是有消息而没有行。发件箱只有一次提交，所以没有中间那种情况。
#
# **两个集群**的情形也一样。Kafka 的事务以自己的集群为界：在一个集群里读、往另一个集群里写的程序有两次提交。补救的办法是把读取位置存在输出所在的集群里，或者让消费者认得编号。
#
# **Kafka 的共享组**（share group，KIP-932）像 Pulsar 那样逐条确认消息。在 4.2 里，这些确认在事务之外，所以对上面的 fan-out 来说，它属于 `plain`。

# %% [markdown] tags=["deeper"]
# ## Deeper: who can use it?

# %% [markdown] lang="zh"
# ## 深入：谁能用？

# %% [markdown]
# A way is of use only where your language has a client that does it. These libraries were driven against the
# released brokers:
#
# | broker | client | what it does |
# |---|---|---|
# | Kafka | Java 4.x | all of it, a new epoch with each transaction (KIP-890); reads uncommitted data by default |
# | Kafka | confluent-kafka 2.16 (librdkafka) | transactions in the older form, in which the epoch stays; not idempotent by default outside of transactions; reads committed data by default |
# | Kafka | kafka-python 3.0 | transactions in the older form |
# | RocketMQ | Java (remoting) | all of it, the check listener too |
# | RocketMQ | rocketmq-python-client 5.1 (gRPC) | one half per transaction, with a checker |
# | Pulsar | Java | all of it |
# | Pulsar | Go 0.19 | transactions without cumulative acknowledgements; aborted messages are delivered |
# | Pulsar | Python, Node.js | no transactions |
# | outbox | each database | a table, a relay, and an inbox table at each consumer |

# %% [markdown] lang="zh"
# 一种方式只有在你所用的语言有客户端支持时才有用。下面这些库都在已发布的 broker 上试过：
#
# | broker | 客户端 | 能做什么 |
# |---|---|---|
# | Kafka | Java 4.x | 全部，每个事务一个新的 epoch（KIP-890）；默认读取未提交的数据 |
# | Kafka | confluent-kafka 2.16（librdkafka） | 较旧形式的事务，epoch 不变；事务之外默认不幂等；默认只读已提交的数据 |
# | Kafka | kafka-python 3.0 | 较旧形式的事务 |
# | RocketMQ | Java（remoting） | 全部，包括回查监听器 |
# | RocketMQ | rocketmq-python-client 5.1（gRPC） | 每个事务一条半消息，带回查器 |
# | Pulsar | Java | 全部 |
# | Pulsar | Go 0.19 | 有事务，但没有累积确认；已中止的消息会投递出来 |
# | Pulsar | Python、Node.js | 没有事务 |
# | 发件箱 | 每种数据库 | 一张表、一个中继，每个消费者一张收件箱表 |

# %% [markdown] tags=["deeper"]
# ## Deeper: what should one watch?

# %% [markdown] lang="zh"
# ## 深入：应当监控什么？

# %% [markdown]
# | way | what grows when it is stuck | who shows it |
# |---|---|---|
# | Kafka | the LSO lag (end of the log minus LSO), and the age of the oldest open transaction | `AdminClient.list_offsets` with READ_UNCOMMITTED minus the same with READ_COMMITTED; `kafka-transactions.sh describe-producers`, `find-hanging` |
# | RocketMQ | halves that are asked again and again; then messages in `TRANS_CHECK_MAX_TIME_TOPIC` | `mqadmin topicStatus` |
# | Pulsar | maxReadPosition stands still; transactions that nobody ends | `pulsar-admin transactions transaction-buffer-stats`; `slow-transactions` names those whose *timeout* is long |
# | outbox | rows without a mark, and the age of the oldest | one SELECT in your own database |

# %% [markdown] lang="zh"
# | 方式 | 卡住时什么在增长 | 由什么显示 |
# |---|---|---|
# | Kafka | LSO lag（日志末尾减去最后稳定偏移量，即 LSO），以及最早的未结束事务已经开了多久 | 用 READ_UNCOMMITTED 问一次 `AdminClient.list_offsets`，减去用 READ_COMMITTED 再问一次的结果；`kafka-transactions.sh describe-producers`、`find-hanging` |
# | RocketMQ | 问了又问的半消息；之后是 `TRANS_CHECK_MAX_TIME_TOPIC` 里的消息 | `mqadmin topicStatus` |
# | Pulsar | maxReadPosition 停住不动；没有人去结束的事务 | `pulsar-admin transactions transaction-buffer-stats`；`slow-transactions` 列出的是*超时*设得长的事务 |
# | 发件箱 | 没有打上记号的行，以及其中最早的一行已经放了多久 | 在你自己的数据库里执行一条 SELECT |

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | “transactional message” means the same everywhere | a row and one message, or many messages and what was read | Run |
# | exactly once needs only the broker | an effect outside is in no transaction: it needs a key, or the sink must be in it | Choose |
# | an exception means that nothing happened | the order is there, and commit throws | Predict |
# | a broker's transaction is always the safer way | an open one has a deadline, and holds others back | Choose |
# | an outbox loses what its relay has not sent | the row is there; the order is late | kill by kill |
# | all of them are two-phase commit | in Kafka and Pulsar nobody votes | A, C, I and D |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | “事务消息”在哪里都是一个意思 | 一行和一条消息，或者许多条消息和消费进度 | 执行 |
# | 精确一次只靠 broker 就行 | 外部的效果不在任何事务里：需要一个键，或者让接收端加入事务 | 选择 |
# | 抛出异常就是什么也没有发生 | 订单在那里，提交却抛出异常 | 预测 |
# | 用 broker 的事务总是更安全 | 未结束的事务有期限，还会挡住别人 | 选择 |
# | 中继没有发出的，发件箱就丢了 | 行还在，订单只是晚到 | 逐次 kill |
# | 这几种都是两阶段提交 | 在 Kafka 和 Pulsar 里没有人投票 | A、C、I 和 D |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A bakery writes each sale into its database. Its accountant, in another company, reads the sales from a topic.

# %% [markdown] lang="zh"
# 一家面包店把每笔销售写入自己的数据库。它的财务在另一家公司，从一个主题里读取这些销售。

# %% jupyter={"source_hidden": true}
Predict("12-exit-ticket")
