# %% [markdown]
# # Lab 04 · What if nobody answers?
#
# *90 minutes, or a short way of 20* · RocketMQ 5.5, and 4.9 where it differs
#
# **In one paragraph.** An order service writes an order into its database and tells the broker so in a
# message that nobody acknowledges. In this lab that message is lost. You see what becomes of the order, who
# repairs it, and when nobody can. You write a test that finds the flaw of the official example, and a
# listener that leaves no order open.
#
# **The short way:** Hook, Predict, Run, Test the official example, What you know now. The other parts are
# folded under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. A
# part may use what stands above it: *Run All Above Selected Cell* in the menu *Run* runs that first.
#
# **You need** lab 03, or these four words. A *half message* (半消息) is a stored message that no consumer is
# given yet. A *listener* is the two functions that an application writes: `executeLocalTransaction`, which
# writes the order's row, and `checkLocalTransaction`, which says later what became of it. Both return
# COMMIT_MESSAGE, ROLLBACK_MESSAGE or UNKNOW (RocketMQ's own spelling). *EndTransaction* is the message that
# tells the broker which of them it was. It is *one-way*: its sender waits for no answer.

# %% [markdown] lang="zh"
# # 实验 04 · 没有人回答怎么办？
#
# *90 分钟，短路线约 20 分钟* · RocketMQ 5.5，与 4.9 不同之处另作说明
#
# **一段话概括**：订单服务把一个订单作为一行（row）写入自己的数据库，再用一条消息告诉 broker，而这种消息本来就没有人确认。在这个实验里，这条消息丢了。你会看到订单怎么样了，由谁来补救，什么时候谁也补救不了。你要编写一个测试，找出官方示例的缺陷，还要编写一个监听器，不留下任何未决的订单。
#
# **短路线**：引子、预测、执行、测试官方示例、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。
#
# **你需要**先做实验 03，或者先知道下面四个词。*半消息*（half message）是已经存下、但还不交给任何消费者的消息。*监听器*（listener）是应用程序编写的两个函数：`executeLocalTransaction` 写入订单的行，`checkLocalTransaction` 事后说明结果如何。两者都返回 COMMIT_MESSAGE、ROLLBACK_MESSAGE 或 UNKNOW（RocketMQ 自己就这样拼）。*EndTransaction* 是告诉 broker 结果是哪一种的消息，即结束请求。它是*单向*（one-way）的：发送者不等应答。

# %% [markdown]
# ## Hook: a paid order that nobody has heard of
#
# The gift shop's order service takes a real order of 5 December 2011, number 580538, for £316.78. The customer
# has paid, and the row is in the database. The service's log says `SEND_OK COMMIT_MESSAGE`. A
# quarter of a minute later accounting's books still lack the £316.78. No process has failed, and no error
# was raised. Who will notice?
#
# In the run below `app` is a process of the order service, `db` its database, and `accounting` the consumer.
# `EndTransaction` is lost on its way, and with it the connection.
#
# The course divides each transaction into six stages: **reserve → write → decide → publish the decision →
# make visible → forget**.

# %% [markdown] lang="zh"
# ## 引子：付了款，却没有人知道的订单
#
# 2011 年 12 月 5 日，礼品店的订单服务接到一个真实的订单，编号 580538，金额 £316.78。顾客已经付款，行已经在数据库里，服务的日志写着 `SEND_OK COMMIT_MESSAGE`。十五秒之后，财务的账上仍然没有这 £316.78。哪个进程都没有出故障，也没有报错。谁会发现呢？
#
# 在下面的执行中，`app` 是订单服务的一个进程，`db` 是它的数据库，`accounting` 是消费者（财务）。`EndTransaction` 在途中丢失，连接也随之断开。
#
# 本课程把每个事务分成六个阶段：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。

# %% jupyter={"source_hidden": true}
import ipywidgets
import plotly.graph_objects as go

from mqlab.lab import (
    Budget,
    Explorer,
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    explore,
    say,
    scenario,
    system,
)
from mqlab.lessons.rocketmq.lab04 import (
    COMMIT,
    ENDS,
    LISTENER,
    LOSSES,
    ROLLBACK,
    STORY,
    UNKNOWN,  # noqa: F401  a learner may return it
    come_back,
    compare_silence,
    count_ends,
    count_shares,
    describe_delayed,
    describe_limit,
    describe_taken_back,
    first,
    in_words,
    look_back,
    read_recording,
    tabulate_answerers,
    tabulate_claims,
    tabulate_deliveries,
    tabulate_duplicates,
    tabulate_first_questions,
    tabulate_registrations,
    tabulate_rollbacks,
    tabulate_safeguards,
    tabulate_shares,
    wait_for_checks,
)

# %% jupyter={"source_hidden": true}
end_lost = scenario("""
# The end of a transaction is lost on its way
system order_service consumers=accounting
lose app→broker EndTransaction#1
run app: send-in-transaction orders-0 580538
fire app heartbeat
at 30000
fire broker check
run accounting: consume
""", recorded="end-lost")

# %% [markdown]
# ## Predict
#
# The half is stored and the row is written. The application has just heard `SEND_OK COMMIT_MESSAGE`, and
# `EndTransaction COMMIT` is lost. Choose an answer and lock it; then the run goes on.

# %% [markdown] lang="zh"
# ## 预测
#
# 半消息已经存下，行也已写入。应用程序刚刚得到 `SEND_OK COMMIT_MESSAGE`，而 `EndTransaction COMMIT` 丢了。选一个答案并锁定，执行就会继续。

# %% jupyter={"source_hidden": true}
lost = first(end_lost, "connection broken")
Predict("04-end-lost", trace=end_lost, step=lost, panels=["space-time", "logs"])

# %% [markdown]
# ## Run
#
# Step with the arrow keys. A clock in the picture is a timer that runs out. *Money* sets what customers have paid
# (the mark) against what accounting has counted (the bar). `COMMIT_MESSAGE` is the result of the *local*
# transaction. Nobody says whether the broker has heard of it. Half a minute later the broker *asks* the
# process. The process looks the row up, and its answer does what the lost message should have done. This is
# called a *check*, or *check-back* (回查).

# %% [markdown] lang="zh"
# ## 执行
#
# 用方向键逐步查看。画面里的时钟表示一个定时器到期。*金额*一栏把顾客已付的钱（竖线）和财务已计入的钱（长条）放在一起对照。`COMMIT_MESSAGE` 是*本地*事务的结果，并不说明 broker 有没有收到。半分钟后 broker 来*询问*进程。进程去查行，它的回答做到了丢失的那条消息本该做的事。这就叫*回查*（check-back，也叫反查）。

# %%
Player(end_lost, step=first(end_lost, "CheckTransactionState"))

# %% [markdown]
# | stage | here | written where |
# |---|---|---|
# | reserve | the half message | the broker's half topic |
# | write | the order's row | the service's database |
# | decide | the local transaction commits | the service's database: the same write |
# | publish the decision | `EndTransaction`, or the answer to a check | nowhere, it is one-way |
# | make visible | the message, written once more in `orders-0` | the broker's log |
# | forget | an *op record*, the broker's note that this half has ended | the broker's op topic, up to 3 s later |
#
# So check-back repeats the fourth stage, and only that. It needs a process that can still tell what was
# decided. The rest of this lab is about that process.

# %% [markdown] lang="zh"
# | 阶段 | 这里 | 写在哪里 |
# |---|---|---|
# | 预留 | 半消息 | broker 的半消息主题 |
# | 写入 | 订单的行 | 服务的数据库 |
# | 决定 | 本地事务提交 | 服务的数据库：就是那一次写入 |
# | 公布决定 | `EndTransaction`，或者对回查的回答 | 哪里也没有，它是单向的 |
# | 变为可见 | 消息，在 `orders-0` 里再写一遍 | broker 的日志 |
# | 遗忘 | 一条 *op 记录*，即 broker 记下这条半消息已经结束 | broker 的 op 主题，最多晚 3 秒 |
#
# 所以回查重做的只是第四个阶段。为此，必须还有一个进程说得出当初决定了什么。本实验其余的部分讲的就是这个进程。

# %% [markdown]
# ## Test the official example
#
# RocketMQ's own example, `TransactionListenerImpl`, is copied into many order services. Here it is in
# Python, with a row for each order that it means to commit. `memory` is a dictionary of the process.
#
# ```python
# def execute(order, db, memory):
#     number = memory.get("transactionIndex", 0)
#     memory["transactionIndex"] = number + 1
#     memory[order] = (UNKNOW, COMMIT_MESSAGE, ROLLBACK_MESSAGE)[number % 3]
#     if memory[order] == COMMIT_MESSAGE:
#         db.put(order)
#     return UNKNOW
#
# def check(order_id, db, memory):
#     return memory.get(order_id, COMMIT_MESSAGE)
# ```
#
# The first question is about a week in which everything works.

# %% [markdown] lang="zh"
# ## 测试官方示例
#
# 许多订单服务照抄了 RocketMQ 自带的示例 `TransactionListenerImpl`。下面是它的 Python 版，打算提交的订单各写一行。`memory` 是这个进程的字典。
#
# ```python
# def execute(order, db, memory):
#     number = memory.get("transactionIndex", 0)
#     memory["transactionIndex"] = number + 1
#     memory[order] = (UNKNOW, COMMIT_MESSAGE, ROLLBACK_MESSAGE)[number % 3]
#     if memory[order] == COMMIT_MESSAGE:
#         db.put(order)
#     return UNKNOW
#
# def check(order_id, db, memory):
#     return memory.get(order_id, COMMIT_MESSAGE)
# ```
#
# 第一个问题：假设这个星期里一切正常。

# %% jupyter={"source_hidden": true}
Predict("04-example")

# %% [markdown]
# Write a test that it does *not* pass. A test is a scenario. Its lines follow
# `system order_service early=on timeout_ms=0`, which gives you one process `app`, its database, and a broker
# that may ask at once. The lines below are the material, in alphabetical order. Use some of them, in an order
# of your own, and as often as you like.
#
# | line | what happens |
# |---|---|
# | `fire app heartbeat` | after its connection has broken, the service connects again and can be asked again |
# | `fire broker check` | the broker makes a round and asks |
# | `kill app`, `power-cut broker` | a process dies; the broker's machine loses its power |
# | `lose app→broker EndTransaction#1` | the first message of that name will be lost |
# | `restart app`, `restart broker` | a dead process starts again |
# | `run app: send-in-transaction orders-0 580538` | the service takes an order |
#
# The test is run twice. With the example some light must be red at the end; with a right listener none may
# be. Two hints wait: `print(STORY.hint(1))`, then `print(STORY.hint(2))`.

# %% [markdown] lang="zh"
# 请编写一个测试，让这个示例*通不过*。测试就是一个场景。你写的各行接在 `system order_service early=on timeout_ms=0` 之后，这一行给你一个进程 `app`、它的数据库，以及一个可以立即来询问的 broker。下面这些行是材料，按字母顺序排列。用哪几行、按什么顺序、用几次，都由你定。
#
# | 行 | 发生什么 |
# |---|---|
# | `fire app heartbeat` | 连接断开之后，服务重新连接，又可以被询问 |
# | `fire broker check` | broker 开始一轮回查，进行询问 |
# | `kill app`，`power-cut broker` | 一个进程死掉；broker 的机器断电 |
# | `lose app→broker EndTransaction#1` | 第一条叫这个名字的消息会丢失 |
# | `restart app`，`restart broker` | 死掉的进程重新启动 |
# | `run app: send-in-transaction orders-0 580538` | 服务接到一个订单 |
#
# 测试会运行两次。换上示例时，最后必须有某盏指示灯是红的；换上正确的监听器时，一盏也不能红。有两条提示可看：`print(STORY.hint(1))`，然后 `print(STORY.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "story"}
# The lines of the test, one below the other. Add what is missing to the first.
story = """
run app: send-in-transaction orders-0 580538
"""
### BEGIN SOLUTION
# The process that is asked is in its next life: its map is empty, and it guesses COMMIT.
story += """
kill app
restart app
fire broker check
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "story-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("story", story)
### END HIDDEN TESTS
check(STORY, story)

# %% [markdown]
# ## What you know now
#
# The decision stands in your database, and the broker cannot read it. So the broker asks. The answer is
# reliable only if it was looked up in a place that outlives the process.
#
# The short way ends here. The parts below go deeper, and most of them can be done on their own; 6 of the 10
# points are there. The next lab turns to a broker that decides by itself, and begins with its producer:
# [lab 05](05-idempotent-producer.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 决定写在你的数据库里，而 broker 读不到，所以它来询问。只有去查一个不随进程消失的地方，回答才可靠。
#
# 短路线到此结束。下面的部分继续深入，多数可以单独完成；10 分中有 6 分在那里。下一个实验讲的是自己作决定的 broker，从它的生产者讲起：[实验 05](05-idempotent-producer.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("04")

# %% [markdown] tags=["deeper"]
# ## Deeper: when is a half asked about?

# %% [markdown] lang="zh"
# ## 深入：什么时候会回查一条半消息？

# %% [markdown]
# Two numbers decide. The broker makes a *round* every 30 s (`transactionCheckInterval`; 60 s in 4.9). In
# each round it asks about the halves that have not ended and are older than 6 s (`transactionTimeOut`). Until
# then a half is *immune*, since its local transaction is probably still running.

# %% [markdown] lang="zh"
# 由两个数决定。broker 每 30 秒进行*一轮*回查（`transactionCheckInterval`；4.9 里是 60 秒）。每一轮都询问那些还没有结束、并且存在超过 6 秒（`transactionTimeOut`）的半消息。在此之前，半消息处于*免疫期*，因为它的本地事务多半还在执行。

# %% jupyter={"source_hidden": true}
Predict("04-first-check")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_first_questions())

# %% [markdown]
# Each line is an order whose end is lost. Sent at 23 s, the half is 7 s old in the round at 30 s. Sent at
# 24 s it is exactly 6 s old in that round, which is not yet old enough. So with the defaults the first
# question comes 6 to 36 seconds after the order.
#
# A message can have its own immunity (`CHECK_IMMUNITY_TIME_IN_SECONDS`), as in the last line. Look at the last
# column there: the first question has the number 3. While a half is protected by its own immunity, each round
# writes a copy of it to the end of the half topic. Each copy uses up one of its checks, although no process is
# asked.

# %% [markdown] lang="zh"
# 每一行是一个丢了结束请求的订单。在 23 秒时发送，到 30 秒那一轮，半消息已存在 7 秒。在 24 秒时发送，到那一轮它正好存在 6 秒，还不够久。所以按默认设置，第一次询问发生在下单后的 6 到 36 秒之间。
#
# 消息也可以有自己的免疫期（`CHECK_IMMUNITY_TIME_IN_SECONDS`），如最后一行。请看那里的最后一列：第一次询问的编号是 3。半消息受自己的免疫期保护时，每一轮都会在半消息主题的末尾写入它的一份副本。每份副本都用掉一次回查的机会，尽管没有询问任何进程。

# %% [markdown] tags=["deeper"]
# ## Deeper: whom does the broker ask?

# %% [markdown] lang="zh"
# ## 深入：broker 问谁？

# %% [markdown]
# Now `app` is killed after its row is written and before its end has left. A second process of the order
# service, `twin`, is registered under the same *producer group* (生产者组).

# %% [markdown] lang="zh"
# 这一次，`app` 写完行之后、发出结束请求之前被杀掉。订单服务的第二个进程 `twin` 注册在同一个*生产者组*（producer group）名下。

# %% jupyter={"source_hidden": true}
sender_dies = scenario("""
# The sender dies, and another process of its group is there
system order_service producers=app:order-service,twin:order-service early=on \
    consumers=accounting
kill app when=EndTransaction#1
run app: send-in-transaction orders-0 580538
at 30000
fire broker check
run accounting: consume
""", recorded="sender-dies-another-answers")
Predict("04-who-is-asked", trace=sender_dies, step=first(sender_dies, "killed"))

# %% [markdown]
# The broker does not remember who sent a half. The half carries the name of its producer group, and the
# processes that registered under that name are asked in turn. This is the purpose of the few lines with
# which an order service starts:
#
# ```java
# producer = new TransactionMQProducer("order-service");  // the group: who may be asked
# producer.setExecutorService(pool);                      // the threads that answer checks
# producer.setTransactionListener(listener);              // what they answer
# producer.start();
# ```
#
# An article says that the check must therefore be *stateless*. This word is not quite right. The check must
# know what was decided, so it must look in a place that every process of the group can read. Below are two
# listeners: one looks the row up, and one keeps a note in the memory of its process. Four things can happen
# to the sender. It lives, and only its end is lost. It dies, and `twin` of its group lives. It dies and is
# restarted. It dies, and only a process of another group lives. Guess first: in which of these cases does
# the message come, with each listener?

# %% [markdown] lang="zh"
# broker 不记得半消息是谁发的。半消息里带着生产者组的名字，broker 轮流询问用这个名字注册的各个进程。订单服务启动时的那几行代码，用意就在这里：
#
# ```java
# producer = new TransactionMQProducer("order-service");  // the group: who may be asked
# producer.setExecutorService(pool);                      // the threads that answer checks
# producer.setTransactionListener(listener);              // what they answer
# producer.start();
# ```
#
# 有一篇文章说，回查接口因此必须*无状态*。这个词不太准确。回查必须知道当初决定了什么，所以要到组内每个进程都读得到的地方去查。下面有两个监听器：一个去查行，一个在进程的内存里记一笔。发送者可能遇到四种情况：它活着，只是结束请求丢了；它死了，同组的 `twin` 活着；它死了又重启；它死了，只有另一个组的进程活着。先猜一猜：用这两个监听器，消息分别在哪些情况下会送到？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_answerers())

# %% [markdown]
# Memory is enough only while the sender itself stays alive. In the third line `app` is asked again, but its
# memory was lost when it was killed. In the last line a process is connected, but it is registered under the
# name of another group, so it is not asked.

# %% [markdown] lang="zh"
# 只有发送者自己一直活着，记在内存里才够用。第三行里又问到了 `app`，但它被杀掉时，内存里的内容已经丢了。最后一行里有一个进程连着，但它注册在另一个组的名下，所以不会问它。

# %% [markdown] tags=["deeper"]
# ## Deeper: what may a check answer?

# %% [markdown] lang="zh"
# ## 深入：回查可以怎样回答？

# %% [markdown]
# A row proves that the local transaction was committed. What does *no row* prove? Here `twin` is slow: its
# row is still under way when the round comes (`hold` keeps a message back until `release`). `app` is asked,
# finds no row, and says ROLLBACK_MESSAGE. Then twin's row is written after all, and twin sends its COMMIT.

# %% [markdown] lang="zh"
# 有行，证明本地事务已经提交。*没有行*又证明了什么呢？这里 `twin` 很慢：这一轮开始时，它的行还在路上（`hold` 会拦住一条消息，直到 `release`）。broker 问的是 `app`，它没有查到行，就说 ROLLBACK_MESSAGE。随后 twin 的行还是写入了，twin 发出自己的 COMMIT。

# %% jupyter={"source_hidden": true}
hasty = """
# No row is taken for a rollback, and the row comes later
system order_service service=hasty producers=app:order-service,twin:order-service early=on \
    consumers=accounting
hold twin→db Statement#1
run twin: send-in-transaction orders-0 580538
at 30000
fire broker check
{then}
at 33000
fire broker op batch
at 60000
fire broker check
run accounting: consume
"""
row_comes = "release twin→db Statement#1"
rolled_back = scenario(hasty.format(then=row_comes))
Predict(
    "04-rollback-then-commit",
    trace=rolled_back,
    step=first(rolled_back, "ROLLBACK 580538 from check"),
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
lost_too = f"lose twin→broker EndTransaction#1\n{row_comes}"
ends = {say("its COMMIT arrives"): row_comes, say("it is lost"): lost_too}
for name, then in ends.items():
    print(f"{name:18}: {look_back(hasty.format(then=then))}")

# %% [markdown]
# The broker keeps no table of transactions in which this one could be marked as rolled back. It carries out
# a COMMIT that names the half, whatever was said before. Here that even saved the order. In the second line
# twin's COMMIT was lost and the ROLLBACK stood. There is a row, and its message will never come.
#
# So the right answer to *no row* is UNKNOW, "ask me again". The listener of one article does this, and it is
# right: it says COMMIT if the row is there, and otherwise UNKNOW, because the local transaction may still be
# running. ROLLBACK is right only if it is certain, and stays certain, that this order will never have a row.

# %% [markdown] lang="zh"
# broker 没有事务表，也就无处标记这个事务已经回滚。只要 COMMIT 指明了半消息，broker 就照办，不管先前说过什么。这一次，这样做甚至救了这个订单。第二行里 twin 的 COMMIT 丢了，ROLLBACK 就成了定局：有了行，它的消息却永远不会来。
#
# 所以，*没有行*时正确的回答是 UNKNOW，即“再来问我”。有一篇文章的监听器就是这样做的，做得对：有行就说 COMMIT，否则说 UNKNOW，因为本地事务可能还在执行。只有能确定这个订单现在没有行、以后也绝不会有，才应该回答 ROLLBACK。

# %% [markdown] tags=["deeper"]
# ## Deeper: how often does it ask?

# %% [markdown] lang="zh"
# ## 深入：它会问多少次？

# %% [markdown]
# Articles say "periodically" and mention no limit. Here every check of order 580538 is answered UNKNOW.

# %% [markdown] lang="zh"
# 有些文章只说“定期”询问，没有提到上限。这里，对订单 580538 的每次回查都回答 UNKNOW。

# %% jupyter={"source_hidden": true}
Predict("04-how-often")

# %%
asked_15 = scenario(f"""
# Every check is answered UNKNOW
system order_service early=on
run app: listener UNKNOW UNKNOW, send-in-transaction orders-0 580538
{wait_for_checks(16)}
""", recorded="never-resolved")
Player(asked_15, step=first(asked_15, "discard"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(describe_limit())

# %% [markdown]
# After fifteen questions (`transactionCheckMax`) the broker writes the half to
# `TRANS_CHECK_MAX_TIME_TOPIC`. The half is then *parked*: nobody asks about it any more. That is not a
# rollback. A late COMMIT still delivers the message, and an operator can have the half asked about again
# (`resumeCheckHalfMessage`), as the last two lines show. But no program reads that topic by itself, so
# somebody has to *watch* it.
#
# Look at the half topic in the picture: it holds the half sixteen times. A log cannot be changed. So each
# check writes a copy of the half to its end, with the number of the check raised by one, and the question is
# about that copy.

# %% [markdown] lang="zh"
# 问过十五次之后（`transactionCheckMax`），broker 把半消息写到 `TRANS_CHECK_MAX_TIME_TOPIC`。这时半消息就*转存*了：再也没有人来问起它。这不是回滚。迟来的 COMMIT 仍会投递消息，运维人员也可以让它重新接受回查（`resumeCheckHalfMessage`），如最后两行所示。但没有哪个程序会主动读那个主题，所以必须有人去*盯着*它。
#
# 请看画面里的半消息主题：里面有十六份半消息。日志不能修改，所以每次回查都在末尾写入半消息的一份副本，回查次数加一，询问针对的就是这份副本。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a broker do on a rollback?

# %% [markdown] lang="zh"
# ## 深入：回滚时 broker 做什么？

# %% [markdown]
# The local transaction refuses the order. The half was never visible to a consumer.

# %% [markdown] lang="zh"
# 本地事务拒绝了订单。半消息对消费者从来都不可见。

# %% jupyter={"source_hidden": true}
Predict("04-rollback")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_rollbacks())

# %% [markdown]
# Nothing is deleted, but something is written: an op record that names the half's place. Without it the next
# round cannot know that the half has ended, and it asks about an order that was refused long ago, as in the
# last two lines. Their second half is the copy that the question is about.
#
# One article describes an end in two steps: the half is marked as processed, and then its message is copied
# to the real topic. For a rollback, it says, the copying step has nothing to do. That is what RocketMQ does. The
# mark is a record too, so the broker writes one record for a rollback and two for a commit. (For a commit it takes
# the two steps the other way round: lab 03.)

# %% [markdown] lang="zh"
# 什么也没有删除，但写入了一样东西：一条写明半消息位置的 op 记录。没有它，下一轮就不知道半消息已经结束，会去询问一个早就拒绝了的订单，如最后两行所示。那里的第二条半消息就是询问所针对的副本。
#
# 有一篇文章把结束分成两步：先把半消息标记为已处理，再把它的消息复制到真正的主题；并说回滚时复制这一步什么也不用做。RocketMQ 正是这样做的。标记本身也是一条记录，所以 broker 回滚时写一条记录，提交时写两条。（提交时，它的两步顺序与此相反，见实验 03。）

# %% [markdown] tags=["deeper"]
# ## Deeper: who can be asked after a restart?

# %% [markdown] lang="zh"
# ## 深入：重启之后可以问谁？

# %% [markdown]
# `app` is killed after its row is written, and it is restarted at once. Since its restart it has not sent any
# message. This broker allows two checks.

# %% [markdown] lang="zh"
# `app` 写完行之后被杀掉，随即重启。重启之后它还没有发过任何消息。这个 broker 允许两次回查。

# %% jupyter={"source_hidden": true}
nobody = come_back()
Predict("04-nobody", trace=nobody, step=first(nobody, "recovered"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_registrations())

# %% [markdown]
# A check that nobody hears *counts*. If the whole service is away for seven and a half minutes, with the
# defaults its halves are parked, although nobody was asked even once. And *being there* means being
# registered. A 5.5 producer registers with its first message, or at its start if its constructor was given a
# list of topics, as in the second line. A 4.9 producer registers at its start, if the broker creates topics
# by itself. An article says that the loss of an end never matters, thanks to check-back. This is true only
# while some process of the group is registered and can still tell what was decided.

# %% [markdown] lang="zh"
# 没有人收到的回查也*算数*。如果整个服务离线七分半钟，按默认设置，它的半消息就会转存，尽管一次也没有问到过任何进程。而*在场*意味着已经注册。5.5 的生产者在发送第一条消息时注册；如果构造函数收到了主题列表，则在启动时注册，如第二行。4.9 的生产者在启动时注册，前提是 broker 会自动创建主题。有一篇文章说，有了回查，结束请求丢了也绝无妨碍。只有组内还有某个进程注册着、并且仍然说得出决定了什么，这句话才成立。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a released client do?

# %% [markdown] lang="zh"
# ## 深入：正式发布的客户端会怎么做？

# %% [markdown]
# In the next cell a process with RocketMQ's own Java client 5.5.0 sends the half *paid*, runs its local
# transaction, and is killed before it has sent the end. Then another process starts, with the same producer
# group. *Before you run it: which process is asked, and what must that process have done first, so that the
# broker knows it?*

# %% [markdown] lang="zh"
# 下一个单元里，一个使用 RocketMQ 自己的 Java 客户端 5.5.0 的进程发送半消息 *paid*，执行本地事务，在发出结束请求之前被杀掉。然后另一个进程启动，用同一个生产者组。*运行之前先回答：broker 问哪个进程？那个进程得先做过什么，broker 才认识它？*

# %%
from mqlab.lessons.rocketmq.lab04 import die_in_java

die_in_java()

# %% [markdown]
# The heir is asked about a payment that it never sent, so its listener must find the answer outside of the
# process. It had sent a plain message before: a producer of 5.5 that has sent nothing is unknown to the
# broker, since it learns the broker's address with its first send. In a clone of the project, with Java 17
# and Maven, `die_in_java(fetch=True)` fetches the client (94 MB, once) and runs it at this project's own
# server.

# %% [markdown] lang="zh"
# 接替的进程被问到一笔它从没发送过的付款，所以它的监听器必须到进程之外去找答案。它之前发过一条普通消息：5.5 的生产者第一次发送时才知道 broker 的地址，什么都没发过，broker 就不认识它。在项目的克隆（clone）里，如果有 Java 17 和 Maven，`die_in_java(fetch=True)` 会下载客户端（94 MB，只下载一次），让它连到本项目自己的服务器上运行。

# %% [markdown] tags=["deeper"]
# ## Deeper: what if an end is only slow?

# %% [markdown] lang="zh"
# ## 深入：如果结束请求只是迟到呢？

# %% [markdown]
# The end of order 580538 is not lost; it is only slow. The round comes first.

# %% [markdown] lang="zh"
# 订单 580538 的结束请求没有丢，只是来得慢。先到的是这一轮回查。

# %% jupyter={"source_hidden": true}
late = scenario("""
# An end that is overtaken by a check
system order_service producers=app:order-service,twin:order-service early=on consumers=accounting
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 580538
at 30000
fire broker check
release twin→broker EndTransaction#1
run accounting: consume
""", recorded="late-commit-delivers-twice")
Predict("04-late-end", trace=late, step=first(late, "EndTransaction COMMIT 580538 from check"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_duplicates())

# %% [markdown]
# Each commit writes a *new* message, and nothing compares it with an earlier one. The table shows three
# ordinary accidents, each of which leads to two messages. So the consumer is outside the transaction. It gets
# a message *at least once*, as in lab 01, and must be *idempotent* (幂等): doing it again changes nothing. It
# looks up the order's key, and writes key and amount together in one transaction of its own.
#
# Below is the same run for you to continue, from the moment when twin's row is written. Click a message to
# deliver it, the timer to let a round come, or a lane to kill a process. *How few choices do you need until
# the light turns red? Is there a way without a slow message?*

# %% [markdown] lang="zh"
# 每次提交都写入一条*新*消息，broker 不会拿它与先前的消息比较。表里列出三种平常的意外，每一种都会产生两条消息。可见消费者在事务之外。它*至少一次*（at least once）得到消息，和实验 01 一样，所以必须*幂等*（idempotent）：再做一遍也不改变什么。它先按订单的键查重，再在自己的一个事务里同时写入键和金额。
#
# 下面是同一次执行，从写入 twin 的行的那一刻起，由你接着做。点击消息就投递它，点击定时器就开始一轮回查，点击泳道就杀掉进程。*最少几次选择能让指示灯变红？有没有不必靠消息迟到的办法？*

# %%
play = continue_scenario("""
# The row is written
system order_service producers=app:order-service,twin:order-service early=on timeout_ms=0 persist_ms=0 \
    claims=delivered_once
hold twin→broker EndTransaction#1
run twin: send-in-transaction orders-0 580538
""")
Playground(play, goal="delivered once")

# %% [markdown] tags=["deeper"]
# ## Deeper: what if accounting can never succeed?

# %% [markdown] lang="zh"
# ## 深入：如果财务永远处理不了呢？

# %% [markdown]
# Order 580538 is fine: row and message are there. But accounting's listener fails on it every time, because
# it does not know the order's currency.

# %% [markdown] lang="zh"
# 订单 580538 没有问题：行和消息都在。但财务的监听器每次都处理失败，因为它不认识这个订单的货币。

# %% jupyter={"source_hidden": true}
Predict("04-b-fails")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_deliveries())

# %% [markdown]
# An article says that a failing consumer never rolls the producer back, and this is right: the row stays. It
# also says that the message is delivered until the consumer succeeds, and this is wrong. The table shows
# seventeen deliveries (the waits of numbers 5 to 15 grow in the same way) in less than five hours. Then the
# message goes to `%DLQ%accounting`, the *dead letter queue* (死信队列) of the group, which no program reads by
# itself. In broadcasting mode a failure is written to a log file, and the message never comes again.
#
# So an order whose consumer *cannot* succeed needs a decision that RocketMQ does not make. Either somebody
# repairs accounting and sends the dead letter again by hand, or the order is taken back. Taking it back needs
# a *compensation*, as in the sagas of lab 02: a new order with its own row and its own message. The next two
# lines show one, `cancel-580538`.

# %% [markdown] lang="zh"
# 有一篇文章说，消费者失败绝不会让生产者回滚，这是对的：行会留下。它又说，消息会一直投递到消费者成功为止，这就错了。如表所示，不到五个小时投递了十七次（第 5 到 15 次的等待时间以同样的方式增长）。然后消息进入 `%DLQ%accounting`，即这个组的*死信队列*（dead letter queue），没有哪个程序会主动读它。在广播模式下，失败只写进日志文件，消息不会再来。
#
# 所以，如果某个订单的消费者*不可能*成功，就得作一个 RocketMQ 不会替你作的决定：要么有人修好财务服务，手工重新发送死信，要么撤回订单。撤回需要*补偿*，就像实验 02 里的 Saga：再下一个新订单，有自己的行，也有自己的消息。接下来的两行就是一例：`cancel-580538`。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(describe_taken_back())

# %% [markdown] tags=["deeper"]
# ## Deeper: can a transactional message wait, or be one of many?

# %% [markdown] lang="zh"
# ## 深入：事务消息能延时吗，能批量吗？

# %% [markdown]
# Sometimes a message should be delivered later than its transaction, or several messages should be sent in one
# transaction.

# %% [markdown] lang="zh"
# 有时需要让消息比事务更晚投递，或者在一个事务里发送多条消息。

# %% jupyter={"source_hidden": true}
Predict("04-delay")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(describe_delayed())
print()
print(read_recording("rocketmq-5.5.0/5.5", "batch-in-a-transaction", "SendBatchMessage"))

# %% [markdown]
# The client of 5.5 refuses the delay. The client of 4.9 drops it, and the message is delivered at once.
# Several messages in one transaction are not possible, since `sendMessageInTransaction` takes one message.
# The table shows what a real broker said when a batch came with the bits of a half message (4), and to the
# same batch without them.

# %% [markdown] lang="zh"
# 5.5 的客户端拒绝延时。4.9 的客户端丢弃延时设置，消息立即投递。一个事务里不能有多条消息，因为 `sendMessageInTransaction` 只接受一条。表中是真实 broker 的应答：前一个批次带着半消息的标志位（4），后一个是不带标志位的同样批次。

# %% [markdown] tags=["deeper"]
# ## Deeper: how often does check-back help?

# %% [markdown] lang="zh"
# ## 深入：回查能起多大作用？

# %% [markdown]
# So far there was one fault, at a chosen place. Now faults come at random. The first twelve orders of the day
# are run ten times. A share of the messages to the broker is lost, and in one order out of five the process
# is killed at some moment and started again. Guess first: without check-back and with 20 % loss, what share of
# the orders *with a row* gets its message?

# %% [markdown] lang="zh"
# 到目前为止，只有一个故障，位置是选好的。现在故障随机出现。当天最早的十二个订单重复执行十遍。发给 broker 的消息有一定比例丢失，每五个订单中有一个，进程会在某个时刻被杀掉再启动。先猜一猜：没有回查，丢失 20 %，*有行*的订单中有多大比例得到了消息？

# %% jupyter={"source_hidden": true}
go.Figure(
    [
        go.Scatter(name=in_words(name), x=LOSSES, y=[one.delivered for one in found])
        for name, found in count_shares().items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#b91c1c", "#d97706", "#1a7f37"],
        "height": 300,
        "margin": {"t": 50, "b": 50},
        "title": say("Orders with a row whose message comes"),
        "xaxis": {
            "title": say("share of messages to the broker that are lost"),
            "tickformat": ".0%",
        },
        "yaxis": {"range": [0.5, 1.02], "tickformat": ".0%"},
    },
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_shares())

# %% [markdown]
# The first number in each cell is the share of orders with a row whose message comes. The second counts
# orders that are delivered twice. Articles say that check-back raises the success rate. It does more. As long
# as some process of the group lives and looks the row up, it repairs *every* loss and every death, and one
# check does most of the work. The second number is the price. Check-back turns *lost* into *late or twice*,
# and an idempotent consumer turns twice into once.
#
# Move the sliders. Where does the number of allowed checks matter? And are orders delivered twice when
# nothing is lost and processes die?

# %% [markdown] lang="zh"
# 每格的第一个数，是有行的订单中消息到达的比例。第二个数，是投递了两次的订单有多少个。有些文章说，回查能提高成功率。其实不止如此：只要组内有某个进程活着并且去查行，*每一次*丢失、每一次进程死亡，它都能补救，而且一次回查就已起到大部分作用。第二个数是代价。回查把*丢失*变成*迟到或两次*，而幂等的消费者把两次变回一次。
#
# 移动滑块。允许的回查次数在哪里起作用？如果什么也不丢、只有进程死掉，还会有订单投递两次吗？

# %% jupyter={"source_hidden": true}
how = {"continuous_update": False, "style": {"description_width": "9em"}}
loss = ipywidgets.FloatSlider(0.1, min=0, max=0.4, step=0.05, **how)
death = ipywidgets.FloatSlider(0.2, min=0, max=1, step=0.1, **how)
checks = ipywidgets.IntSlider(15, min=1, max=15, **how)
loss.description = say("messages lost")
death.description = say("process killed")
checks.description = say("checks allowed")
sliders = (loss, death, checks)
counted = count_ends(*(slider.value for slider in sliders))
ways = [say("without check-back"), say("with check-back")]
chart = go.FigureWidget(
    [
        go.Bar(name=in_words(name), x=ways, y=heights)
        for name, heights in zip(ENDS, counted, strict=True)
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#1a7f37", "#d97706", "#b91c1c", "#9ca3af"],
        "barmode": "stack",
        "height": 300,
        "margin": {"t": 50, "b": 40},
        "title": say("What became of 120 orders"),
    },
)


def redraw(_):
    counted = count_ends(*(slider.value for slider in sliders))
    for bar, heights in zip(chart.data, counted, strict=True):
        bar.y = heights


for slider in sliders:
    slider.observe(redraw, "value")
ipywidgets.VBox([*sliders, chart])

# %% [markdown]
# Orders under *neither* are not RocketMQ's fault. The half could not be stored, or the process died before it
# had written the row. The customer got an error or no answer, and there is no order.

# %% [markdown] lang="zh"
# 归入*都没有*的订单怪不得 RocketMQ。要么半消息没有存下，要么进程在写行之前就死了。顾客得到的是错误，或者没有应答，订单并不存在。

# %% [markdown] tags=["deeper"]
# ## Deeper: is it careful to catch every exception?

# %% [markdown] lang="zh"
# ## 深入：捕获所有异常，算是谨慎吗？

# %% [markdown]
# One of the articles shows this order service. It takes every exception for a rollback, and that looks
# careful.
#
# ```java
# public LocalTransactionState executeLocalTransaction(Message msg, Object arg) {
#     try {
#         orderDao.insert(order);
#         return LocalTransactionState.COMMIT_MESSAGE;
#     } catch (Throwable t) {
#         return LocalTransactionState.ROLLBACK_MESSAGE;
#     }
# }
# ```
#
# Press *Search*. It tries every schedule in which at most one connection breaks, at any moment. The cell
# below it searches again and prints the end of the shortest run, with the article's listener and then with
# one that has no `catch`.

# %% [markdown] lang="zh"
# 有一篇文章给出了这样的订单服务。它把所有异常都当作回滚，看起来很谨慎。
#
# ```java
# public LocalTransactionState executeLocalTransaction(Message msg, Object arg) {
#     try {
#         orderDao.insert(order);
#         return LocalTransactionState.COMMIT_MESSAGE;
#     } catch (Throwable t) {
#         return LocalTransactionState.ROLLBACK_MESSAGE;
#     }
# }
# ```
#
# 按*开始搜索*。它会尝试最多断开一次连接的所有可能的执行，断开的时刻不限。再下面的单元重新搜索，并打印最短执行的结尾：先是这篇文章的监听器，再是没有 `catch` 的监听器。

# %% jupyter={"source_hidden": true}
article = system("order_service service=catching 'app=send-in-transaction orders-0 580538'")
Explorer(article, Budget(breaks=1))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
verdict = explore(article, Budget(breaks=1))
(broken,) = verdict.counterexamples.values()
name, count = broken.property, len(broken.schedule)
print(say("the article's: “{name}” breaks in {count} choices:", name=name, count=count))
for fact in list(broken.trace())[-9:]:
    if not fact.fold:
        print("  ", fact.line(width=8))
calm = explore(system("order_service 'app=send-in-transaction orders-0 580538'"), Budget(breaks=1))
print(say("without the catch:"), ", ".join(calm.counterexamples) or say("nothing breaks"))

# %% [markdown]
# The connection breaks while the insert is under way. The insert still arrives; only its answer cannot. The
# exception means "I do not know", and the listener turns that into "no": there is a row without a message.
# Without the `catch`, the exception leaves the listener, and the client takes it for UNKNOW. Then the broker
# asks, and the row decides.

# %% [markdown] lang="zh"
# 插入还在途中，连接就断了。插入仍会到达，到不了的只是它的应答。异常的意思是“我不知道”，监听器却把它变成了“不”：于是有行而没有消息。去掉 `catch`，异常就会从监听器里抛出，客户端把它当作 UNKNOW。然后 broker 来询问，由行来决定。

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguards are necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Each line takes one safeguard away and searches for the shortest run that breaks a promise. Guess first, for
# each of them, what will break:
#
# | without | what no longer happens |
# |---|---|
# | `check_back` | the broker asks |
# | `any_producer` | any process of the group is asked, not only the sender |
# | `put_back` | a half that was asked about is written again, so that a later round finds it |
# | `immunity` | a young half is spared the question |
# | `op_topic` | the broker records which halves have ended |
# | `check_limit` | the broker stops asking after a number of checks |
# | `exception_is_unknown` | an exception is taken for UNKNOW, not for ROLLBACK |
# | `consumer_retry` | a message that could not be processed comes again |
# | `idempotent_consumer` | accounting looks the order up before it counts it |

# %% [markdown] lang="zh"
# 每一行去掉一项保护措施，搜索违背承诺的最短执行。先逐项猜一猜会出什么问题：
#
# | 去掉 | 不再发生的事 |
# |---|---|
# | `check_back` | broker 来询问 |
# | `any_producer` | 组内任何进程都可能被问到，不限于发送者 |
# | `put_back` | 问过的半消息再写一遍，让后面的一轮找得到它 |
# | `immunity` | 刚存下不久的半消息免于询问 |
# | `op_topic` | broker 记录哪些半消息已经结束 |
# | `check_limit` | 回查到一定次数之后，broker 不再询问 |
# | `exception_is_unknown` | 异常当作 UNKNOW，而不是 ROLLBACK |
# | `consumer_retry` | 处理不了的消息会再来 |
# | `idempotent_consumer` | 财务先查订单，再记账 |

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_safeguards())

# %% [markdown]
# The next table takes nothing away: RocketMQ itself does not make these promises.

# %% [markdown] lang="zh"
# 下一张表什么也没有去掉：这些承诺，RocketMQ 本来就没有作出。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(tabulate_claims())

# %% [markdown]
# The lines of the second table are not bugs to report; RocketMQ works like that. Four of them are parts of
# this lab: a late end, a lost op record, a COMMIT after a ROLLBACK, and a group of which no process answers.
# In `last-check` the answer to the last allowed question comes when the half is already parked. In
# `power-cut` a half is lost because the broker acknowledged it before it was on the disk. Three rules follow:
# watch the parking topic, keep a process registered, and make consumers idempotent.

# %% [markdown] lang="zh"
# 第二张表里的各行不是该上报的缺陷，RocketMQ 就是这样工作的。其中四行出现在本实验里：迟到的结束请求、丢失的 op 记录、ROLLBACK 之后的 COMMIT，以及没有任何进程应答的组。在 `last-check` 中，对最后一次询问的回答到来时，半消息已经转存。在 `power-cut` 中，半消息丢了，因为 broker 在它落盘之前就确认了。由此得出三条规则：盯住转存主题，保持有进程注册，让消费者幂等。

# %% [markdown] tags=["deeper"]
# ## Deeper: can a check do without UNKNOW?

# %% [markdown] lang="zh"
# ## 深入：回查能不用 UNKNOW 吗？

# %% [markdown]
# A check that finds no row cannot tell whether the row will still come. So it says UNKNOW, and an order whose
# sender died before its row is asked about fifteen times, and then parked. The shop wants every half to be
# ended at its first check that can reach the database. Your check may look the order up, and it may also
# *write*. No check may return UNKNOW.
#
# Each function is given the order's number, `db`, and `memory`, a dictionary of this one process. Each
# statement of `db` is committed by itself:
#
# | statement | what it does |
# |---|---|
# | `db.get(key)` | returns the value of the row, or None if there is no row |
# | `db.put(key, value)` | writes the row; a row that was there is replaced |
# | `db.insert(key, value)` | writes the row if there is none; returns the value that stands there now |
# | `db.delete(key)` | removes the row |
#
# A row with the value `"paid"` is an order. A row with the value `"refused"` is no order: it belongs to no
# message. Return `COMMIT`, `ROLLBACK` or `UNKNOWN` (which Java spells UNKNOW). Do not catch exceptions: the
# client takes an exception for UNKNOW, and that is allowed.
#
# Every schedule is tried. The process is killed at each call and started again, its row is late, connections
# break, checks come early, and another process is asked. Then the process is killed at each of its steps,
# with the rows in a real SQLite file, and every such run is played to its end. Two hints wait:
# `print(LISTENER.hint(1))`, then `print(LISTENER.hint(2))`.

# %% [markdown] lang="zh"
# 回查没有查到行，就无法知道行是否还会来，只好说 UNKNOW；于是，发送者在写行之前就死掉的订单，会问上十五次，然后转存。商店希望每条半消息都在第一次能访问数据库的回查中就结束。你的回查可以去查订单，也可以*写入*。任何回查都不得返回 UNKNOW。
#
# 每个函数都会得到订单编号、`db`，以及 `memory`，即这一个进程的字典。`db` 的每条语句各自提交：
#
# | 语句 | 作用 |
# |---|---|
# | `db.get(key)` | 返回行的值；没有行则返回 None |
# | `db.put(key, value)` | 写入行；已有的行会被覆盖 |
# | `db.insert(key, value)` | 没有行时才写入；返回此刻行里的值 |
# | `db.delete(key)` | 删除行 |
#
# 值为 `"paid"` 的行是订单。值为 `"refused"` 的行不是订单，没有消息与它对应。请返回 `COMMIT`、`ROLLBACK` 或 `UNKNOWN`（Java 里拼作 UNKNOW）。不要捕获异常：客户端把异常当作 UNKNOW，这是允许的。
#
# 所有可能的执行都会尝试：在每次调用处杀掉进程再启动，行迟到，连接断开，回查提前到来，由另一个进程来回答。然后再依次在每一步杀掉进程，这时行存在真实的 SQLite 文件里，每次这样的执行都会进行到底。有两条提示可看：`print(LISTENER.hint(1))`，然后 `print(LISTENER.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "answering"}
def execute(order: str, db, memory) -> str:
    """The local transaction: what does it come to?"""
    ### BEGIN SOLUTION
    # A check may have refused the order before: then the row says so, and stays as it is.
    return COMMIT if db.insert(order, "paid") == "paid" else ROLLBACK
    ### END SOLUTION


def check_order(order_id: str, db, memory) -> str:
    """Asked later, perhaps in another process: what became of it?"""
    ### BEGIN SOLUTION
    # One statement asks and decides: a row that is late now finds that its place is taken.
    return COMMIT if db.insert(order_id, "refused") == "paid" else ROLLBACK
    ### END SOLUTION


answering = (execute, check_order)

# %% nbgrader={"grade": true, "grade_id": "answering-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("answering", answering)
### END HIDDEN TESTS
check(LISTENER, answering)

# %% [markdown] tags=["deeper"]
# ## Deeper: who asks whom elsewhere?

# %% [markdown] lang="zh"
# ## 深入：在别的系统里，谁问谁？

# %% [markdown]
# An application has done its work in a transaction, and is killed before it has told the broker how the
# transaction ends. Here it uses RocketMQ, then Kafka, then Pulsar.

# %% [markdown] lang="zh"
# 应用程序在一个事务里做完了事，还没有告诉 broker 事务如何结束，就被杀掉了。假设它用的分别是 RocketMQ、Kafka 和 Pulsar。

# %% jupyter={"source_hidden": true}
Predict("04-elsewhere")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(compare_silence())

# %% [markdown]
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | who decides | the local transaction, in your database | the coordinator, in its log | the coordinator, in its log |
# | what silence means | ask, fifteen times | abort, after a timeout | abort, after a timeout |
# | who must be there later | some process of the producer group | nobody of yours | nobody of yours |
# | what is left when nobody ends it | a half in the parking topic | nothing: it was aborted | nothing: it was aborted |
# | what a consumer must do | be idempotent | read committed | be idempotent, if anything is sent twice |
#
# When Kafka or Pulsar hears nothing, it can abort, because it makes the decision itself. RocketMQ cannot. The
# decision was made in a database that it does not know, so it can only ask. Ask of any queue that you meet:
# *what does it do when it hears nothing?*

# %% [markdown] lang="zh"
# | | RocketMQ | Kafka | Pulsar |
# |---|---|---|---|
# | 谁决定 | 本地事务，在你的数据库里 | 协调者，在它的日志里 | 协调者，在它的日志里 |
# | 没有音讯意味着 | 询问，十五次 | 超时后中止 | 超时后中止 |
# | 之后谁必须在场 | 生产者组的某个进程 | 你的进程都不必在 | 你的进程都不必在 |
# | 没有人来结束时，留下什么 | 转存主题里的一条半消息 | 什么也没有：已经中止 | 什么也没有：已经中止 |
# | 消费者必须做什么 | 幂等 | 读已提交 | 若有消息重复发送，就要幂等 |
#
# Kafka 或 Pulsar 没有得到音讯时可以中止，因为决定由它自己作出。RocketMQ 不能：决定是在一个它不了解的数据库里作出的，它只能询问。以后遇到任何消息队列，都可以问一句：*没有音讯的时候，它会做什么？*

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | COMMIT_MESSAGE was returned, so the broker has committed | the end is one-way; the broker may not have heard of it | Run |
# | the official example is safe to copy | it remembers in its process and guesses COMMIT | Test |
# | the broker asks as soon as something is wrong | in rounds, and not before 6 s | when |
# | the sender is asked | any registered process of its group, in turn | whom |
# | a check must be stateless | it must know what was decided, from a place that every process can read | whom |
# | no row means ROLLBACK | it may still come: UNKNOW | what to answer |
# | a ROLLBACK is final | a COMMIT that comes later still delivers | what to answer |
# | checks go on for ever | fifteen, then the parking topic | how often |
# | an unresolved half is rolled back, or dropped | it is parked; an operator can resume it | how often |
# | a check moves nothing | each check writes a copy of the half | how often |
# | rollback deletes the half | an op record is written, the half stays | rollback |
# | thanks to check-back a lost end never matters | while somebody is registered who can tell | restart |
# | a transaction delivers its message once | a slow end, a lost op record, a repeated half: twice | slow end |
# | the consumer is part of the transaction | it gets the message at least once, and must be idempotent | slow end |
# | a message is delivered until the consumer succeeds | 17 times, then the dead letter queue; broadcasting: once | accounting |
# | transactional messages can be delayed or batched | neither | wait |
# | a transactional message means the same everywhere | RocketMQ asks what your database has decided; Kafka and Pulsar decide themselves | elsewhere |
# | it is safe to catch everything and roll back | an exception means *I do not know*: UNKNOW | exceptions |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 返回了 COMMIT_MESSAGE，broker 就已提交 | 结束请求是单向的，broker 可能没有收到 | 执行 |
# | 官方示例可以照抄 | 它只记在进程里，记不得就猜 COMMIT | 测试 |
# | 一出问题 broker 就来询问 | 一轮一轮地问，而且不早于 6 秒 | 什么时候 |
# | 回查问的是发送者 | 轮流询问组内任何已注册的进程 | 问谁 |
# | 回查必须无状态 | 它必须知道决定了什么，到每个进程都读得到的地方去查 | 问谁 |
# | 没有行就是 ROLLBACK | 行可能还会来：UNKNOW | 怎样回答 |
# | ROLLBACK 是最终结果 | 之后到来的 COMMIT 仍会投递 | 怎样回答 |
# | 一直回查下去 | 十五次，然后进入转存主题 | 多少次 |
# | 没有结果的半消息会回滚或丢弃 | 会转存，运维人员可以让它恢复 | 多少次 |
# | 回查不会写任何东西 | 每次回查都写入半消息的一份副本 | 多少次 |
# | 回滚会删除半消息 | 会写入一条 op 记录，半消息留下 | 回滚 |
# | 有了回查，结束请求丢了也无妨 | 前提是还有注册的进程说得出结果 | 重启 |
# | 事务的消息只投递一次 | 结束请求迟到、op 记录丢失、半消息重复：两次 | 迟到的结束请求 |
# | 消费者是事务的一部分 | 它至少一次得到消息，必须幂等 | 迟到的结束请求 |
# | 消息会一直投递到消费者成功 | 17 次，然后进入死信队列；广播模式：一次 | 财务 |
# | 事务消息可以延时或批量 | 都不行 | 延时 |
# | 事务消息在哪里都是一个意思 | RocketMQ 询问你的数据库决定了什么；Kafka 和 Pulsar 自己决定 | 别的系统 |
# | 捕获一切异常并回滚是安全的 | 异常的意思是*我不知道*：UNKNOW | 异常 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A theatre sells tickets. Its servers are registered under one producer group; all settings are the defaults.

# %% [markdown] lang="zh"
# 一家剧院出售门票。它的各台服务器注册在同一个生产者组名下，所有设置都是默认值。

# %% jupyter={"source_hidden": true}
Predict("04-exit-ticket")
