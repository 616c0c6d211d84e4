# %% [markdown]
# # Lab 00 · One order, three brokers: what can go wrong?
#
# *45 minutes, or a short way of 25* · the engine plays Kafka 4.3; facts of RocketMQ 5.x and Pulsar 4.x
# stand beside it
#
# **In one paragraph.** A message queue lets two services talk without waiting for each other. Sooner
# or later one of them dies in the middle of its work, and then a customer has paid and the shop may have
# received nothing. In this lab you kill a shop's order service between two messages and see who has lost
# what. You do the same to an order service that uses a transaction. Then you write the kill that a
# transaction does not help against.
#
# **The short way:** Hook, Run, The same with a transaction, Book it twice, Map, What you know now. The other
# parts are folded under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens
# its part. Each of them can be done on its own day. A part may use what stands above it: *Run All Above
# Selected Cell* in the menu *Run* runs that first. *Shift+Enter* runs the cell that is selected and goes to
# the next one.
#
# **You need** nothing but these three words. A *message queue*, or *broker*, keeps messages between the
# services that write them and the services that read them. A *record* is one message in its log. A
# *partition* is one log of a topic.

# %% [markdown] lang="zh"
# # 实验 00 · 一个订单，三种 broker：会出什么错？
#
# *45 分钟，短路线约 25 分钟* · 引擎模拟的是 Kafka 4.3；RocketMQ 5.x 和 Pulsar 4.x 的情况写在旁边
#
# **一段话概括**：有了消息队列，两个服务互通消息时就不必互相等待。可是迟早有一个会在干到一半时死掉，结果顾客付了钱，商店却可能什么也没收到。在这个实验里，你在两条消息之间杀掉商店的订单服务，看看谁损失了什么；再对使用事务的订单服务做同样的事；最后写出一次连事务也挡不住的 kill。
#
# **短路线**：引子、执行、换成事务再来一次、让它记两次、课程地图、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。每一部分都可以另找一天单独做。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。*Shift+Enter* 执行选中的单元并移到下一个。代码只有一份，中英文实验共用，所以有些单元打印的短标签仍是英文。
#
# **你需要**知道的只有下面三个词。*消息队列*（message queue），也叫 *broker*，在写消息的服务和读消息的服务之间保存消息。*记录*（record）是消息队列的日志里的一条消息。*分区*（partition）是主题的一个日志。

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Budget,
    Fold,
    Player,
    Predict,
    check,
    explore,
    glossary,
    say,
    scenario,
    system,
)
from mqlab.lessons.lab00 import (
    BOOKED_TWICE,
    balances,
    broker_maps,
    cost,
    find_red_step,
    first,
    timeline,
)

# %% [markdown]
# ## Hook: who has the £316.78?
#
# Every lab of this course is an episode of one story. A British gift shop sells over the web. A customer's
# order, number 580538, costs £316.78, and the shop's **order service** books the money with two records:
# `C-316.78` into the log of the customer's account (`accounts-0`), and `S+316.78` into the log of the shop's
# own account (`accounts-1`). The sum of both logs must be 0: **money in = money out**.
#
# Here the order service uses no transaction, and it is killed when the first record has left. Choose an
# answer, lock it, and press *Run*. Two readers stand beside the picture. What their names mean follows with
# the transaction; without one both get the same.

# %% [markdown] lang="zh"
# ## 引子：£316.78 在谁手里？
#
# 这门课的每个实验都是同一个故事里的一集。一家英国礼品店在网上卖货。顾客的 580538 号订单要付 £316.78，商店的**订单服务**（order service）用两条记录记下这笔钱：`C-316.78` 写进顾客账户（`accounts-0`）的日志，`S+316.78` 写进商店自己账户（`accounts-1`）的日志。两个日志的总和必须是 0：**进账 = 出账**。
#
# 这里的订单服务不用事务，第一条记录刚发出，它就被杀了。选一个答案，锁定，再按*运行*。图旁边有两个读者，它们的名字在讲到事务时解释；没有事务时，两个读到的一样。

# %% jupyter={"source_hidden": true}
lossy = scenario("""
# An order and its money, without a transaction
system shop producers=order-service:plain
kill order-service when=Produce#1 after=1
run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush
""")
calm = ("diagram", "readers")
Predict("00-killed-between", trace=lossy, step=1, panels=calm, told=calm)

# %% [markdown]
# ## Run
#
# This is the whole run. Step through it with the arrow keys or the slider. Time runs downwards, and each
# process has its own line. The word below its name is its part: a *producer* writes records, and the
# *leader* of a log stores them.
#
# | in the picture | in text | what has happened |
# |---|---|---|
# | an arrow | → | a message has left; `Produce` carries a record |
# | a dashed arrow | ⇒ | an answer has left |
# | an arrow of dots and dashes | ⇥ | a message arrives although its sender is gone |
# | a filled block | ▮ | a record was written to the log of this process, where a restart finds it; a power cut may still take it; `@0` is its place there, the *offset* |
# | a hollow diamond | ⇨ | the process has changed something in its memory, here how far one may read |
# | a red cross | ✗ | a process was killed, or a connection broke |
# | a hollow circle | ↻ | a process was started again and has recovered what it knows from its disk |
# | a pointing hand | ☞ | the application calls something, or gets its result |
#
# The picture has grown. It shows the log of each account, and below the logs are lights. The first one is
# *money in = money out*. It judges what is left **once nothing is under way**: while the order service is at
# work or an account is down, it keeps its colour. *Money* beside it says the same in pounds: the mark is the
# amount paid by customers, the bar the amount given to the shop. The picture opens at the step where the
# light turns red. Why there, and not where the service is killed?

# %% [markdown] lang="zh"
# ## 执行
#
# 这是完整的一次执行。用方向键或滑块一步一步地看。时间自上而下，每个进程有自己的一条竖线。名字下面的词是它的角色：*生产者*（producer）写记录，日志的*首领*（leader）保存记录。
#
# | 图中 | 文字中 | 发生了什么 |
# |---|---|---|
# | 箭头 | → | 发出一条消息；`Produce` 携带一条记录 |
# | 虚线箭头 | ⇒ | 发出一个应答 |
# | 点划线箭头 | ⇥ | 消息到达时，发送它的进程已经不在了 |
# | 实心块 | ▮ | 一条记录已写入这个进程的日志，重启后还能找到，断电则仍可能丢失；`@0` 是记录在日志里的位置，即*偏移量*（offset） |
# | 空心菱形 | ⇨ | 进程的内存有了变化，这里变的是“可以读到哪里” |
# | 红叉 | ✗ | 进程被杀，或连接断开 |
# | 空心圆 | ↻ | 进程重新启动，从磁盘恢复了它所知道的事 |
# | 手指 | ☞ | 应用发出调用，或得到结果 |
#
# 图比刚才多了些东西：每个账户的日志，以及日志下面的指示灯。第一盏是*进账 = 出账*。它只在**一切都停下来之后**评判留下的结果：只要订单服务还在干活，或者有账户停机，它就不变色。旁边的*金额*用英镑说的是同一件事：竖线是顾客付出的钱，长条是记给商店的钱。图停在指示灯变红的那一步。为什么在这里，而不在服务被杀的那一步？

# %%
Player(
    lossy,
    step=find_red_step(lossy, "money"),
    panels=("diagram", "readers", "logs", "lights", "money"),
)

# %% [markdown]
# ## The same with a transaction
#
# Now the order service says which records belong together. It calls `init` once, then `begin`, the two
# sends, and `commit`. A broker, the **coordinator**, keeps the state of its transaction. The order service
# is killed at the same moment as before. Later it is started again.
#
# A reader chooses its *isolation level*. **read_uncommitted** shows it every record in the log.
# **read_committed** shows it only records whose transaction has been committed, and records that belong to
# none.

# %% [markdown] lang="zh"
# ## 换成事务再来一次
#
# 现在订单服务会说明哪些记录是一个整体。它先调用一次 `init`，再调用 `begin`、两次 send 和 `commit`。有一个 broker 当**协调者**（coordinator），负责保存这个事务的状态。订单服务在同一时刻被杀，后来又重新启动。
#
# 读者可以选择自己的*隔离级别*（isolation level）。选 **read_uncommitted**，日志里的每条记录都能读到。选 **read_committed**，只能读到事务已经提交的记录，以及不属于任何事务的记录。

# %% jupyter={"source_hidden": true}
safe = scenario("""
# An order and its money, in a transaction
system shop
kill order-service when=Produce#1 after=1
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
restart order-service
fire order-service
""")
undecided = first(safe, "recovered")
Predict("00-started-again", trace=safe, step=undecided, panels=["space-time", "graphs", "tables"])

# %% [markdown]
# Play the run to its end. In each log stand two flags: readers may read up to **HW**, the *high
# watermark*, and readers of committed data up to **LSO**, the *last stable offset*. A new sign, a clock, says
# that a timer has fired: the service had to wait a moment and asks again. `EndTxn` is its request to commit.
# `epoch` rises whenever the service starts and whenever a transaction ends, and `seq` numbers its records in
# each log.

# %% [markdown] lang="zh"
# 把这次执行播放到结尾。每个日志里立着两面小旗：读者最多读到 **HW**，即*高水位*（high watermark）；只读已提交数据的读者最多读到 **LSO**，即*最后稳定偏移量*（last stable offset）。图中出现了一个新记号：钟，表示定时器到时。服务等了一会儿，现在再问一次。`EndTxn` 是它的提交请求。`epoch` 是这个服务的代次，每次启动、每次结束事务都会增大；`seq` 是它的记录在每个日志里的序列号。

# %%
Player(safe, step=undecided)

# %% [markdown]
# The first `C-316.78` stays in the log. The coordinator *aborted* its transaction when the order service came
# back and called `init` under the same name. A reader of committed data never sees that record. A reader of
# uncommitted data has seen it and is not told, so its sum is £316.78 too low. Then the order service did its
# work again, and the order is booked once.

# %% [markdown] lang="zh"
# 第一条 `C-316.78` 留在日志里。订单服务回来后，用同样的名字调用 `init`，协调者就*中止*（abort）了原来的事务。只读已提交数据的读者永远看不到那条记录。读未提交数据的读者已经看到了，也没有人告诉它后来的事，所以它的总和少了 £316.78。之后订单服务把工作重做了一遍，订单记了一次。

# %% [markdown]
# ## Book it twice
#
# Two customers have ordered now, 580538 for £316.78 and 580539 for £310.73. Each order has its own
# transaction:
#
#     run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
#     run order-service: begin, send accounts-0 C-310.73, send accounts-1 S+310.73, commit
#
# The order service is killed once. It is started again, remembers nothing, and does all of this again.
# **Write the kill after which both orders are booked twice**: the customers have paid £1,255.02 in place of
# £627.51.
#
# The line `kill order-service when=Kind#n after=K` kills the service in the step that sends its n-th
# message of that kind, when K effects of that step are done. With `after=0` this message does not leave. A
# message of each kind is in the run above.

# %% [markdown] lang="zh"
# ## 让它记两次
#
# 现在有两位顾客下了单：580538 号，£316.78；580539 号，£310.73。每个订单有自己的事务：
#
#     run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
#     run order-service: begin, send accounts-0 C-310.73, send accounts-1 S+310.73, commit
#
# 订单服务被杀一次，然后重新启动，什么也不记得，把这些全部重做一遍。**请写出一次 kill，使得两个订单最后都记了两次**：顾客付出的是 £1,255.02，而不是 £627.51。
#
# `kill order-service when=Kind#n after=K` 这一行的意思是：在发出第 n 条这种消息的那一步里，等 K 个效果完成，就杀掉这个服务。写 `after=0`，这条消息就不会发出。上面的执行里，每种消息都出现过。

# %% nbgrader={"solution": true, "grade_id": "booked-twice"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill order-service when=… after=…"
### BEGIN SOLUTION
# An order is booked when its commit is decided. The request must have left, and nobody may have heard
# the answer to the second one.
kill = "kill order-service when=EndTxn#2 after=1"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "booked-twice-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("booked_twice", kill)
### END HIDDEN TESTS
check(BOOKED_TWICE, kill)

# %% [markdown]
# ## Map of the course
#
# | lab | question |
# |---|---|
# | 00 Start here, this one | one order, three brokers: what can go wrong? |
# | [01 Delivery](01-how-often.ipynb) | how often does my message arrive? |
# | [02 Two databases](02-who-decides.ipynb) | who says that an order is done? |
# | [03 RocketMQ](03-half-message.ipynb) | how do a message and a database row become one? |
# | [04 RocketMQ](04-check-back.ipynb) | what if nobody answers? |
# | [05 Kafka](05-idempotent-producer.ipynb) | why does a retry not duplicate? |
# | [06 Kafka](06-coordinator.ipynb) | what does commit do, in which order? |
# | [07 Kafka](07-markers-and-lso.ipynb) | what may a reader see, and when? |
# | [08 Kafka](08-consume-transform-produce.ipynb) | how do offsets join the transaction? |
# | [09 Pulsar](09-coordinator-and-buffer.ipynb) | where do uncommitted messages live? |
# | [10 Pulsar](10-acknowledgement.ipynb) | can a transaction un-acknowledge? |
# | [11 Spark and Flink](11-order-to-income.ipynb) | is the sum right after a crash? |
# | [12 Which one?](12-which-one.ipynb) | do I need a broker's transaction, and whose? |
# | [13 Build a coordinator](13-build-a-coordinator.ipynb) | can I write one that survives every run? |
# | [14 The real thing](14-the-real-thing.ipynb) | is the model true? |
# | [15 Articles on trial](15-articles-on-trial.ipynb) | does the engine agree with what I read? |

# %% [markdown] lang="zh"
# ## 课程地图
#
# | 实验 | 问题 |
# |---|---|
# | 00 从这里开始，就是本实验 | 一个订单，三种 broker：会出什么错？ |
# | [01 投递](01-how-often.ipynb) | 我的消息会到达几次？ |
# | [02 两个数据库](02-who-decides.ipynb) | 订单算不算完成，谁说了算？ |
# | [03 RocketMQ](03-half-message.ipynb) | 一条消息和数据库的一行，怎样合二为一？ |
# | [04 RocketMQ](04-check-back.ipynb) | 没有人回答怎么办？ |
# | [05 Kafka](05-idempotent-producer.ipynb) | 重试为什么不会重复？ |
# | [06 Kafka](06-coordinator.ipynb) | 提交做了哪些事，按什么顺序？ |
# | [07 Kafka](07-markers-and-lso.ipynb) | 读者可以看到什么，又在什么时候看到？ |
# | [08 Kafka](08-consume-transform-produce.ipynb) | 偏移量怎样加入事务？ |
# | [09 Pulsar](09-coordinator-and-buffer.ipynb) | 未提交的消息在哪里？ |
# | [10 Pulsar](10-acknowledgement.ipynb) | 事务能不能撤回确认？ |
# | [11 Spark 和 Flink](11-order-to-income.ipynb) | 宕机之后，总数还对吗？ |
# | [12 该选哪一种？](12-which-one.ipynb) | 我需要 broker 的事务吗，需要哪一家的？ |
# | [13 自己写一个协调者](13-build-a-coordinator.ipynb) | 我能写出一个经得起每一次执行的协调者吗？ |
# | [14 与真实的 broker 对照](14-the-real-thing.ipynb) | 模型和真的一样吗？ |
# | [15 检验文章](15-articles-on-trial.ipynb) | 引擎和我读到的说法一致吗？ |

# %% [markdown]
# ## What you know now
#
# A queue keeps messages and promises nothing about two of them. A transaction makes them one: all or
# nothing, for readers of committed data. It does not make them *once*: a service that does its work again
# books it again.
#
# The short way ends here, and both points of this lab are in it. The parts below go deeper, in any order.
# They also hold the words that all labs use: the six stages, the names of what goes wrong, and a glossary.
# The next lab asks what *once* would need: [how often does my message arrive?](01-how-often.ipynb)

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 队列保存消息，但对两条消息之间的关系什么也不承诺。事务把两条消息变成一个整体：对只读已提交数据的读者来说，要么全有，要么全无。但事务不保证它只发生*一次*：服务把工作重做一遍，就会再记一遍。
#
# 短路线到此结束，这个实验的两分都在里面。下面的部分继续深入，先做哪个都行。所有实验都要用到的词也在那里：六个阶段、各种出错方式的名字，还有词汇表。要只发生*一次*，需要什么？这是下一个实验的问题：[我的消息会到达几次？](01-how-often.ipynb)

# %% [markdown] tags=["deeper"]
# ## Deeper: was this bad luck?

# %% [markdown] lang="zh"
# ## 深入：只是运气不好吗？

# %% [markdown]
# The first kill of this lab may look like a moment that hardly ever comes. And what would the order service
# without a transaction do when it is started again? The next cell asks both questions, in the notation that
# all labs use:
#
# | line | what it says |
# |---|---|
# | `system shop producers=order-service:plain` | who takes part: a shop whose order service is a *plain* producer, without transactions |
# | `run order-service: send accounts-0 C-316.78, … flush` | what the application calls, one call after the other; `flush` waits until every record sent is answered |
# | `kill order-service when=Produce#1 after=1` | the process is killed in the step that sends its first `Produce`, after one effect of that step |
# | `restart order-service` | starts it again, at the first line of its application |
# | `fire order-service` | a timer of this process runs out |
#
# `explore` needs the application within the system line. It tries **every** schedule: again and again it
# *chooses* which of the possible events happens next, until it has tried all choices.
# A `Budget` says what may go wrong; here one process may be killed, and only the order service. Its
# `counterexamples` hold, for each light, the run with the fewest choices that turns it red.

# %% [markdown] lang="zh"
# 这个实验的第一次 kill，看起来赶上了一个几乎碰不到的时刻。还有，不用事务的订单服务重新启动之后会怎么做？下一个单元回答这两个问题，用的是所有实验共同的写法：
#
# | 行 | 意思 |
# |---|---|
# | `system shop producers=order-service:plain` | 谁参加：一家商店，它的订单服务是*普通*（plain）生产者，不用事务 |
# | `run order-service: send accounts-0 C-316.78, … flush` | 应用依次发出哪些调用；`flush` 会等到发出的每条记录都得到应答 |
# | `kill order-service when=Produce#1 after=1` | 在发出第一个 `Produce` 的那一步里，完成一个效果之后，进程被杀 |
# | `restart order-service` | 重新启动它，从应用的第一行开始 |
# | `fire order-service` | 这个进程的一个定时器到时 |
#
# `explore` 要求把应用写在 system 那一行里。它会试遍**每一种**可能的执行：一次又一次地*选择*接下来发生哪个事件，直到所有选择都试过。`Budget` 规定允许出哪些故障；这里允许一个进程被杀，而且只能是订单服务。对每盏指示灯，`counterexamples` 里存着让它变红所需选择最少的那次执行。

# %% tags=["nbval-check-output"]
one_kill = Budget(kills=1, killable=("order-service",))
plain = (
    "shop producers=order-service:plain "
    "'order-service=send accounts-0 C-316.78; send accounts-1 S+316.78; flush'"
)
broken = explore(system(plain), one_kill).counterexamples["money"]
count = len(broken.schedule)
print(say("without a transaction the light can turn red after {count} choices:", count=count))
for fact in broken.trace():
    if not fact.fold:
        print("  ", fact.line(width=13))

# %% tags=["nbval-check-output"]
again = scenario("""
system shop producers=order-service:plain
kill order-service when=Produce#1 after=1
run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush
restart order-service
""")
print(say("without a transaction, when the order service has done its work again:"))
print(balances(again))
whole = "shop 'order-service=init; begin; send accounts-0 C-316.78; send accounts-1 S+316.78; commit'"
verdict = explore(system(whole), Budget(kills=1))
print(say("\nwith one, every schedule with one kill of any process was tried:"), verdict.complete)
print(say("the light can turn red:"), "money" in verdict.counterexamples)

# %% [markdown]
# Nothing rare is needed: the order service sends and dies, and its record arrives. Doing the work again makes
# it worse, since the customer has now paid twice and the shop got £316.78. With a transaction no schedule
# with one kill turns the light red, whichever process is killed.

# %% [markdown] lang="zh"
# 用不着什么罕见的巧合：订单服务发出记录，然后死掉，而记录到达了。把工作重做一遍只会更糟：顾客付了两次钱，商店只收到 £316.78。用了事务，只杀一次，那么无论杀的是哪个进程，都没有一种执行会让指示灯变红。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a message queue promise?

# %% [markdown] lang="zh"
# ## 深入：消息队列承诺了什么？

# %% [markdown]
# The writer is answered when its message is *kept*, not when somebody has read it. This is called
# **asynchronous communication**. So the reader may be slow, or down. Here *accounting*, which reads both
# accounts with `poll`, is down before anything is sent. When is the order service done?

# %% [markdown] lang="zh"
# 写消息的一方，在消息*保存*好时就得到应答，不必等到有人读过。这叫**异步通信**（asynchronous communication）。所以读者慢一点，甚至停机，都没有关系。这里的*记账方*（accounting）用 `poll` 读两个账户，而在任何消息发出之前它就停了。订单服务什么时候做完？

# %%
away = scenario("""
# The reader is away while the producer goes on
system shop producers=order-service:plain readers=accounting
kill accounting
run order-service: send accounts-0 C-316.78, send accounts-1 S+316.78, flush
restart accounting
run accounting: poll accounts-0, poll accounts-1
""")
flushed, back = first(away, "flush: ok"), first(away, "recovered")
assert flushed < back  # the producer had its answers before the reader was there again
assert first(away, "poll accounts-1 read_committed: ok S+316.78") > back
Player(away, step=back)

# %% [markdown]
# The order service was done before accounting was back, and accounting got both records: the logs had
# kept them, and all a reader needs is a position from which to go on. Within one log records come in
# their order; between two logs there is no order but the one in which the reader asks. And there is a
# price: the order service does not know *when* it will be read, nor what accounting does with it.
# Everything in this course that is hard comes from that price.

# %% [markdown] lang="zh"
# 记账方还没有回来，订单服务就做完了；记账方也得到了两条记录，因为日志一直保存着，读者需要的只是一个继续往下读的位置。在同一个日志里，记录按顺序到来；两个日志之间没有顺序可言，只看读者先问哪一个。代价是：订单服务不知道消息*什么时候*会被读到，也不知道记账方拿它做了什么。这门课的难点，全都来自这个代价。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does each letter of ACID promise?

# %% [markdown] lang="zh"
# ## 深入：ACID 的每个字母承诺了什么？

# %% [markdown]
# A **transaction** groups several reads and writes into one unit, which succeeds or fails as a whole.
# (Martin Kleppmann defines it like this, in other words, in *Designing Data-Intensive Applications*.)
# A database promises four things about it:
#
# | letter | promise | here |
# |---|---|---|
# | **A**tomicity | all or nothing, also when a process dies | the record that the killed service had sent is aborted, not left half done |
# | **C**onsistency | a rule that held before holds after | money in = money out; the rule is the *application's* |
# | **I**solation | others do not see it half done | read_committed is shown nothing of the open transaction |
# | **D**urability | an acknowledged result outlives a failure | next |
#
# The first three, with the lines of your runs that show them. (`PrepareAbort` is the coordinator's record
# that it has decided to abort.)

# %% [markdown] lang="zh"
# **事务**（transaction）把多次读和写组成一个单元，要么整体成功，要么整体失败。Martin Kleppmann 的《数据密集型应用系统设计》（*Designing Data-Intensive Applications*）也是这样定义的，只是措辞不同。数据库对事务有四个承诺：
#
# | 字母 | 承诺 | 在这里 |
# |---|---|---|
# | **A** 原子性（atomicity） | 要么全有，要么全无，进程死掉时也一样 | 被杀的服务发出的那条记录已随事务中止，而不是做到一半留在那里 |
# | **C** 一致性（consistency） | 之前成立的规则，之后仍然成立 | 进账 = 出账；这条规则是*应用*自己的 |
# | **I** 隔离性（isolation） | 别人看不到做到一半的样子 | read_committed 读不到未结束的事务里的任何内容 |
# | **D** 持久性（durability） | 得到确认的结果，出了故障也还在 | 见下文 |
#
# 下面是前三个，以及你那几次执行中能说明它们的行。（`PrepareAbort` 是协调者的记录，表示它已决定中止。）

# %% tags=["nbval-check-output"]
abort = first(safe, "PrepareAbort")
print("A ", safe.facts[abort - 1].line(width=11))
red = find_red_step(lossy, "money")
print("C ", say("the light: red from step {red} without a transaction,", red=red), end=" ")
print(say("red with one too") if find_red_step(safe, "money") else say("never with one"))
for reader in safe.snapshot(undecided).readers:
    print("I ", f"{reader.name:<17}", " ".join(g.label for g in reader.got) or "nothing")

# %% [markdown]
# Durability has small print: *which* failure? Here the order is committed, and every call has returned
# without an error. Now the power of the broker that holds the customer's account is cut.


# %% [markdown] lang="zh"
# 持久性的承诺有附加条款：防的是*哪一种*故障？这里订单已经提交，所有调用都已返回，没有报错。这时，保存顾客账户的那个 broker 断电了。

# %% jupyter={"source_hidden": true}
def stop_broker(how):
    return scenario(f"""
    # {say("The order is committed, then a broker is stopped: {how}", how=how)}
    system shop
    run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
    {how} accounts-0
    restart accounts-0
    """)


cut = stop_broker("power-cut")
Predict("00-power-cut", trace=cut, step=first(cut, "power cut") - 1)

# %% tags=["nbval-check-output"]
for how in ("kill", "power-cut"):
    red = find_red_step(stop_broker(how), "money")
    lost = say("the committed order is lost in part")
    print(f"{how:<9} ", lost if red else say("the committed order is still there"))
    print(balances(stop_broker(how)), "\n")

# %% [markdown]
# Kafka answers when a record is **replicated**, not when it is on the surface of a disk: it leaves
# the flush to the operating system. A killed process loses nothing, since the operating system still
# holds what was written. A power cut loses what was not flushed yet. Here there is a single copy, so
# half of a committed order is gone. With three copies the power of all in-sync copies must fail at
# once. RocketMQ flushes after its answer too, by default. Pulsar's bookies write a journal and flush
# it *before* they answer.

# %% [markdown] lang="zh"
# Kafka 在记录完成**复制**（replicated）时就应答，而不是等它落到磁盘上：刷盘交给操作系统去做。杀掉进程什么也不会丢，因为写下的内容还在操作系统手里。断电就会丢掉尚未刷盘的内容。这里只有一个副本，所以已提交的订单丢了一半。如果有三个副本，就要所有同步副本同时断电才会丢。RocketMQ 默认也是先应答，后刷盘。Pulsar 的 bookie 先写日志文件（journal）并刷盘，*然后*才应答。

# %% [markdown] tags=["deeper"]
# ## Deeper: which consistency is meant?

# %% [markdown] lang="zh"
# ## 深入：说的是哪一种一致性？

# %% [markdown]
# Waiting until all machines agree costs time, and while the network is split it is impossible. **BASE**
# is a weaker promise: **b**asically **a**vailable, **s**oft state, **e**ventually consistent. One run shows
# all three. When a commit is decided, the coordinator has a *marker* written into each partition, a record
# that says commit or abort. It is killed when the first of its two markers has left:

# %% [markdown] lang="zh"
# 等所有机器都一致，要花时间；网络断开期间，根本等不到。**BASE** 是一种较弱的承诺：**基本可用**（basically available）、**软状态**（soft state）、**最终一致**（eventually consistent）。一次执行就能看到这三样。决定提交之后，协调者让每个分区写入一条*控制消息*（marker），这条记录说明事务是提交还是中止。两条控制消息才发出第一条，协调者就被杀了：

# %%
base = scenario("""
# Eventually consistent: the coordinator is away between two markers
system shop producers=order-service,billing:plain
kill coordinator when=WriteTxnMarkers#1 after=1
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
run billing: send accounts-0 invoice, flush
restart coordinator
""")
half = first(base, "invoice @")
assert first(base, "commit: ok") < half  # the commit has returned
assert not find_red_step(base, "money")  # no rule of the shop was broken at any step
assert all(light.ok for light in base.snapshot(half).lights)
Player(base, step=half)

# %% [markdown]
# - *Basically available*: the coordinator is down, and `billing` writes its invoice all the same.
# - *Soft state*: the order is decided and `commit` has returned, yet a reader of committed data is shown
#   `C-316.78` and not `S+316.78`. Its sum is −316.78. The light does not turn red, because a marker is still
#   owed: something is under way.
# - *Eventually consistent*: go to the end of the run. The coordinator is back, and the sum is 0.

# %% [markdown] lang="zh"
# - *基本可用*：协调者停了，`billing` 照样写下它的发票。
# - *软状态*：订单的结局已经决定，`commit` 也返回了，可是只读已提交数据的读者只看到 `C-316.78`，看不到 `S+316.78`，总和是 −316.78。指示灯没有变红，因为还欠着一条控制消息：事情还在进行。
# - *最终一致*：走到这次执行的结尾。协调者回来了，总和是 0。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
Fold(
    "the same as text: the sums between the two markers, and at the end",
    f"{balances(base, half)}\n\n{balances(base)}",
)

# %% [markdown]
# So what does *consistent* mean? Three things, which articles often mix up:
#
# | consistency | says | of what |
# |---|---|---|
# | the C of ACID | a rule of the application holds after each transaction | the data |
# | the C of CAP, *strong* | every read sees the newest finished write | one value, many copies |
# | *eventual*, as message queues offer it | once everything is delivered all readers agree | several logs, several moments |
#
# The C of CAP (consistency, availability, tolerance of a split network) is about copies of one
# thing. What you saw was two *different* logs that end a transaction the same way, each at its own
# moment. [Lab 07](07-markers-and-lso.ipynb) is about these moments.

# %% [markdown] lang="zh"
# 那么*一致*到底是什么意思？有三种，文章里常常混为一谈：
#
# | 一致性 | 说的是 | 关于什么 |
# |---|---|---|
# | ACID 的 C | 每个事务之后，应用的规则都成立 | 数据 |
# | CAP 的 C，即*强*一致 | 每次读都看到最近一次完成的写 | 一个值，多个副本 |
# | *最终*一致，消息队列提供的那种 | 全部送达之后，所有读者看到的都一致 | 多个日志，多个时刻 |
#
# CAP（一致性、可用性、容忍网络分区）里的 C，说的是同一样东西的多个副本。而你看到的是两个*不同*的日志，一个事务在两边的结局相同，只是时刻不同。这些时刻是[实验 07](07-markers-and-lso.ipynb) 的内容。

# %% [markdown] tags=["deeper"]
# ## Deeper: does “transaction” mean the same in all three brokers?

# %% [markdown] lang="zh"
# ## 深入：三种 broker 说的“事务”是同一回事吗？

# %% [markdown]
# An order is created, and a message must say so: both or neither. RocketMQ, Kafka and Pulsar do it
# in different ways, but each goes through the same six stages. Keep their names; every lab uses them.
#
# | stage | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | **reserve** | half message into `RMQ_SYS_TRANS_HALF_TOPIC` | the coordinator notes the partitions: `Ongoing {…}` | partitions and subscriptions into `__transaction_log_0` |
# | **write** | your service writes its own database | records, and read positions, straight into the logs | messages into the topics, acknowledgements into the pending-ack log |
# | **decide** | your database commits | `PrepareCommit` or `PrepareAbort` | `COMMITTING` or `ABORTING` |
# | **publish the decision** | END_TRANSACTION, one-way; if it is lost the broker asks | WriteTxnMarkers to each leader | end of transaction to each topic and subscription |
# | **make visible** | a second message, into the real topic | the marker is below the HW: the LSO moves | a marker: maxReadPosition moves, acknowledgements count |
# | **forget** | an op record names the half message | `CompleteCommit` or `CompleteAbort` | `COMMITTED` or `ABORTED`, and its records are dropped |
# | *your call returns* | after publishing, unanswered | after *decide* | after *forget* |
# | *silence means* | ask the producer | abort, after a timeout | abort, after a timeout |
#
# What comes before, Kafka's `init` and `begin`, belongs to none of them: `init` gives the producer its
# identity, and `begin` sends nothing. A record that belongs to no transaction has one stage, *write*.
#
# So "transactional message" is not one thing. In RocketMQ it ties *one message to your database*,
# and you decide. In Kafka and Pulsar it ties *many messages and read positions together*, and a
# coordinator in the broker decides. The Kafka column, checked against a run:

# %% [markdown] lang="zh"
# 订单创建了，就要有一条消息来通知；订单和消息，要么都有，要么都没有。RocketMQ、Kafka 和 Pulsar 的做法不同，但都经过同样的六个阶段。请记住这些名字，每个实验都要用到。
#
# | 阶段 | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | **预留**（reserve） | 半消息（half message）写入 `RMQ_SYS_TRANS_HALF_TOPIC` | 协调者记下分区：`Ongoing {…}` | 分区和订阅写入 `__transaction_log_0` |
# | **写入**（write） | 你的服务写自己的数据库 | 记录和读取位置直接写入日志 | 消息写入主题，确认写入待定确认（pending ack）日志 |
# | **决定**（decide） | 你的数据库提交 | `PrepareCommit` 或 `PrepareAbort` | `COMMITTING` 或 `ABORTING` |
# | **公布决定**（publish the decision） | END_TRANSACTION，单向发送；如果丢了，broker 会来问 | 向每个首领副本（leader）发 WriteTxnMarkers | 通知每个主题和订阅：事务结束 |
# | **变为可见**（make visible） | 第二条消息，写入真正的主题 | 控制消息低于 HW：LSO 前移 | 一条控制消息：maxReadPosition 前移，确认生效 |
# | **遗忘**（forget） | 一条 op 记录指明这条半消息 | `CompleteCommit` 或 `CompleteAbort` | `COMMITTED` 或 `ABORTED`，并删去它的记录 |
# | *你的调用返回* | 在公布之后，不等应答 | 在*决定*之后 | 在*遗忘*之后 |
# | *没有音讯意味着* | 去问生产者 | 超时后中止 | 超时后中止 |
#
# 在此之前的 `init` 和 `begin`（Kafka）不属于任何阶段：`init` 给生产者一个身份，`begin` 什么也不发送。不属于任何事务的记录只有一个阶段，就是*写入*。
#
# 所以，各家说的“事务消息”并不是一回事。在 RocketMQ 里，它把*一条消息和你的数据库*绑在一起，由你来决定。在 Kafka 和 Pulsar 里，它把*许多消息和读取位置*绑在一起，由 broker 里的协调者来决定。Kafka 那一列，可以用一次执行来核对：

# %% tags=["nbval-check-output"]
paid = scenario("""
system shop
run order-service: init, begin, send accounts-0 C-316.78, send accounts-1 S+316.78, commit
""")
stages = {
    "reserve": "Ongoing",
    "write": "C-316.78 @0",
    "decide": "PrepareCommit",
    "(your call returns)": "ok epoch=1",
    "publish the decision": "WriteTxnMarkers",
    "make visible": "HW=2 LSO=2",
    "forget": "CompleteCommit",
}
steps = [first(paid, words) for words in stages.values()]
assert steps == sorted(steps)
for stage, step in zip(stages, steps, strict=True):
    print(f"{stage:<21} {step:>3}  {paid.facts[step - 1].line(width=13)}")

BOOK = "send accounts-0 C-316.78, send accounts-1 S+316.78"
orders = {
    "2 records, no transaction": ("order-service:plain", f"{BOOK}, flush"),
    "2 records, one transaction": ("order-service", f"init, begin, {BOOK}, commit"),
    "8 records, one transaction": (
        "order-service",
        f"init, begin, {', '.join([BOOK] * 4)}, commit",
    ),
}
print(f"\n{'what it costs':<28}{'records':>8}{'markers':>9}{'decided':>9}{'messages':>10}")
for name, (producer, calls) in orders.items():
    run = scenario(f"system shop producers={producer}\nrun order-service: {calls}")
    print(f"{name:<28}{'{:>8}{:>9}{:>7}{:>10}'.format(*cost(run))}")

# %% [markdown]
# *Decided* are the records of the coordinator; what `init` costs, once in the life of a producer, is left
# out. A transaction has a fixed price: one marker in each partition, which takes an offset there, and
# some records of the coordinator. Eight records in one transaction pay it once. So throughput wants many
# records in a transaction. But a reader of committed data sees none of them before the commit: the time
# between two commits is its delay.
#
# Between any two stages a process can die, a message can be late, a reader can look. Each way to go wrong
# has a name, and all labs use these names:
#
# | name | what happens |
# |---|---|
# | lost write | a record that was acknowledged, or believed to be, is gone |
# | duplicate | one message is stored or delivered twice |
# | fractured outcome | one part of a transaction has happened and the other never will: a half payment |
# | dirty read | somebody reads a record that is not decided yet (P1 of Berenson and others, 1995) |
# | aborted read | somebody reads a record that was rolled back (G1a of Adya, 1999) |
# | torn read | one part of a transaction is visible and another not yet |
# | zombie write | a process that has been replaced goes on writing |
# | orphaned half message | RocketMQ: nobody is left who could say how it ended; after 15 checks it is moved into a topic of its own and stays there until a late answer or an operator ends it |
# | hanging transaction | Kafka: open in a partition and unknown to its coordinator, so nobody ends it and the LSO stands still for ever |
# | ack conflict | Pulsar: two transactions acknowledge one message, and the second is refused |
# | stuck consumer | a reader waits behind an open transaction of somebody else |
#
# Runs of this lab show some of them. The order service without a transaction made a half payment, a
# *fractured outcome*, and when it was started again the customer's payment was a *duplicate*. The power cut
# was a *lost write*. The −316.78 between two markers was a *torn read*. What the reader of uncommitted data
# got was first a *dirty* and later an *aborted read*.

# %% [markdown] lang="zh"
# *decided* 一列是协调者的记录；`init` 的开销在生产者的一生中只有一次，没有算进去。事务有一份固定的代价：每个分区里一条控制消息，它要占一个偏移量；再加上协调者的几条记录。八条记录放在同一个事务里，这份代价只付一次。所以从吞吐量看，一个事务里的记录越多越好。但是只读已提交数据的读者，在提交之前一条也看不到：两次提交之间的时间，就是它的延迟。
#
# 任何两个阶段之间，都可能有进程死掉、有消息迟到、有读者来读。每一种出错的方式都有名字，所有实验都用这些名字：
#
# | 名字 | 发生了什么 |
# |---|---|
# | 写丢失（lost write） | 已经得到确认、或以为得到了确认的记录，没有了 |
# | 重复（duplicate） | 一条消息保存了两次，或投递了两次 |
# | 结局分裂（fractured outcome） | 事务的一部分已经发生，另一部分永远不会发生：付款只付了一半 |
# | 脏读（dirty read） | 有人读到还没有决定的记录（Berenson 等人 1995 年所说的 P1） |
# | 读到已中止的写（aborted read） | 有人读到已经回滚的记录（Adya 1999 年所说的 G1a） |
# | 撕裂读（torn read） | 事务的一部分已经可见，另一部分还没有 |
# | 僵尸写（zombie write） | 已经被替换的进程还在继续写 |
# | 孤儿半消息（orphaned half message） | RocketMQ：再也没有人能说出它的结局；回查 15 次之后，它被转存到专门的主题，留在那里，直到有迟来的回答，或者由运维人员来结束它 |
# | 悬挂事务（hanging transaction） | Kafka：在分区里还没有结束，协调者却不知道它，所以没有人来结束，LSO 永远停在那里 |
# | 确认冲突（ack conflict） | Pulsar：两个事务确认同一条消息，第二个遭到拒绝 |
# | 消费者卡住（stuck consumer） | 读者在别人的未结束事务后面等待 |
#
# 这个实验的几次执行里就有其中几种。不用事务的订单服务只付了一半的款，这是*结局分裂*；它重新启动之后，顾客的那笔付款是*重复*。断电造成的是*写丢失*。两条控制消息之间的 −316.78 是*撕裂读*。读未提交数据的读者得到的，起初是*脏读*，后来成了*读到已中止的写*。

# %% [markdown] tags=["deeper"]
# ## Deeper: where do the brokers keep what?

# %% [markdown] lang="zh"
# ## 深入：这些 broker 把什么放在哪里？

# %% [markdown]
# Once more a coordinator is killed when the first of its two markers has left. `billing` writes on.

# %% [markdown] lang="zh"
# 还是那次执行：两条控制消息才发出第一条，协调者就被杀，而 `billing` 继续写。

# %% jupyter={"source_hidden": true}
Predict("00-new-coordinator", trace=base, step=first(base, "killed"))

# %% [markdown]
# And the other two brokers? Open their maps and find out, for each of the three: What is gone when a
# process is killed? Where is the *decision*? Where are messages whose transaction is still open? Blue
# takes part in a transaction.

# %% [markdown] lang="zh"
# 另外两种 broker 呢？打开它们的地图，对三种 broker 逐一找出：进程被杀时，什么会丢？*决定*在哪里？事务还没结束的消息在哪里？蓝色的部分参与事务。

# %%
broker_maps()

# %% [markdown]
# <details><summary>Answers</summary>
#
# What is in the column *in memory* is gone. The decision is in `__transaction_state` (Kafka), in
# `__transaction_log_0` (Pulsar), and in *your* database (RocketMQ): the broker of RocketMQ has no
# table of transactions, which is why it has to ask the producer. Open messages are in the real topic among all
# others (Kafka, Pulsar), or in a topic of their own (RocketMQ).
#
# </details>
#
# Kafka's controllers keep the metadata as a log. In production they are usually three or five nodes of their
# own; a node can also be broker and controller at once. An article
# that draws ZooKeeper in their place is older than Kafka 4.0. In RocketMQ one commit log holds the
# messages of all topics, and the queues only point into it. In Pulsar brokers compute and bookies
# store, so a broker that dies is replaced without copying a message; tenants share a cluster, and
# clusters may copy each other across continents.

# %% [markdown] lang="zh"
# <details><summary>答案</summary>
#
# *内存*一列里的东西都会丢。决定在 `__transaction_state` 里（Kafka），在 `__transaction_log_0` 里（Pulsar），或者在*你的*数据库里（RocketMQ）：RocketMQ 的 broker 没有事务表，所以它只能去问生产者。事务未结束的消息，要么和其他消息一起放在真正的主题里（Kafka、Pulsar），要么放在专门的主题里（RocketMQ）。
#
# </details>
#
# Kafka 的控制器（controller）用日志保存元数据。生产环境里，它们通常是三个或五个单独的节点；一个节点也可以同时当 broker 和控制器。如果文章里在这个位置画的是 ZooKeeper，那它写于 Kafka 4.0 之前。RocketMQ 用一个 commit log 保存所有主题的消息，各个队列只是指向它。Pulsar 由 broker 负责计算、bookie 负责存储，所以 broker 宕机后换一个就行，一条消息也不用复制；多个租户共用一个集群，集群之间还可以跨洲复制。

# %% [markdown] tags=["deeper"]
# ## Deeper: how did it come about?

# %% [markdown] lang="zh"
# ## 深入：这些系统是怎么来的？

# %% [markdown]
# Kafka was made at LinkedIn, in Scala, became open source early in 2011 and left the Apache
# incubator in October 2012. RocketMQ, from Alibaba, borrows ideas from Kafka and is no copy of it:
# one commit log for all topics, and a transaction that serves an order and its database row.
# Transactions came to Kafka with 0.11, to RocketMQ with 4.3.0, to Pulsar with 2.8.0. TubeMQ, CKafka,
# TDMQ, CMQ, CDMQ and Hippo are Tencent's.

# %% [markdown] lang="zh"
# Kafka 诞生于 LinkedIn，用 Scala 写成，2011 年初开源，2012 年 10 月从 Apache 孵化器毕业。RocketMQ 来自阿里巴巴，借鉴了 Kafka 的思想，但不是它的翻版：所有主题共用一个 commit log，事务则服务于“一个订单和它在数据库里的那一行”。Kafka 从 0.11 起有事务，RocketMQ 从 4.3.0 起，Pulsar 从 2.8.0 起。TubeMQ、CKafka、TDMQ、CMQ、CDMQ 和 Hippo 都是腾讯的。

# %%
timeline()

# %% [markdown]
# Kafka's transactions did not come all at once. Its improvement proposals (KIPs), by number:
#
# <details><summary>A map of the KIPs that these labs meet</summary>
#
# | KIP | since | what it brought | lab |
# |---|---|---|---|
# | 98 | 0.11 | idempotent producer and transactions | 05, 06, 07 |
# | 360 | 2.5 | a producer goes on after an error by raising its own epoch | 05, 06 |
# | 447 | 2.5 | one producer per process: the group's generation keeps out a replaced worker | 08 |
# | 588 | 2.7 | a transaction that timed out can be aborted by its producer, which then goes on | 06 |
# | 664 | 3.0 | tools that find hanging transactions and abort them | 06 |
# | 679 | 3.0 | `acks=all` and, from 3.0.1, 3.1.1 and 3.2.0, idempotence are the Java producer's defaults | 05 |
# | 890 | 3.6, 4.0 | a leader verifies a transaction with the coordinator; an epoch per transaction (`transaction.version` 2) | 06 |
# | 939 | not yet | Kafka takes part in another system's two-phase commit; its client API has been taken out again before each release from 4.1 to 4.4 | – |
#
# </details>

# %% [markdown] lang="zh"
# Kafka 的事务不是一次就做好的。下面按编号列出有关的改进提案（KIP）：
#
# <details><summary>这些实验会遇到的 KIP 一览</summary>
#
# | KIP | 始于 | 带来了什么 | 实验 |
# |---|---|---|---|
# | 98 | 0.11 | 幂等生产者和事务 | 05、06、07 |
# | 360 | 2.5 | 生产者出错之后，提高自己的 epoch 就能继续 | 05、06 |
# | 447 | 2.5 | 每个进程一个生产者：靠消费者组的代（generation）把已被替换的工作进程挡在外面 | 08 |
# | 588 | 2.7 | 超时的事务可以由它的生产者中止，生产者随后继续工作 | 06 |
# | 664 | 3.0 | 查找并中止悬挂事务的工具 | 06 |
# | 679 | 3.0 | Java 生产者默认 `acks=all`；从 3.0.1、3.1.1 和 3.2.0 起默认幂等 | 05 |
# | 890 | 3.6、4.0 | leader 向协调者核实事务；每个事务一个 epoch（`transaction.version` 2） | 06 |
# | 939 | 尚未 | 让 Kafka 参与别的系统的两阶段提交；从 4.1 到 4.4，它的客户端 API 每次都在发布之前又撤掉了 | – |
#
# </details>

# %% [markdown] tags=["deeper"]
# ## Deeper: what does that word mean?

# %% [markdown] lang="zh"
# ## 深入：那个词是什么意思？

# %% [markdown]
# The glossary has English and Chinese, a sentence or two each. `glossary("lso")` or `glossary("半消息")`
# shows single terms. Without a word it shows all of them:

# %% [markdown] lang="zh"
# 词汇表有英文和中文，每个词一两句话。`glossary("lso")` 或 `glossary("半消息")` 查单个词；不带参数就显示全部：

# %%
glossary()

# %% [markdown] tags=["deeper"]
# ## Deeper: can you tell what a hotel has shown?

# %% [markdown] lang="zh"
# ## 深入：酒店让人看到了什么，你说得出来吗？

# %% [markdown]
# A hotel takes a booking in one transaction: *room −1* in one partition, *bill +120* in another. The
# process is killed between the two, comes back, and never repeats that booking. The lobby's screen
# reads uncommitted, the ledger reads committed.

# %% [markdown] lang="zh"
# 一家酒店用一个事务接受预订：一个分区里是*房间 −1*，另一个分区里是*账单 +120*。进程在两者之间被杀，后来恢复，但再也没有重做这次预订。大堂的屏幕读未提交的数据，账房只读已提交的数据。

# %% jupyter={"source_hidden": true}
Predict("00-exit-ticket")

# %% [markdown]
# Three sentences are left from the deeper parts. A decided transaction is not yet visible everywhere. A
# written record is not yet durable everywhere. And each broker calls something else a transaction.

# %% [markdown] lang="zh"
# 深入的部分留下三句话。事务有了决定，不等于处处可见。记录已经写下，不等于处处持久。还有，三种 broker 说的“事务”各不相同。
