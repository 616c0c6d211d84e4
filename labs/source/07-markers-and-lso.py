# %% [markdown]
# # Lab 07 · What may a reader see, and when?
#
# *90 minutes, or a short way of 25* · Kafka 4.3, `transaction.version` 2, a v2 client (Java 4.x)
#
# **In one paragraph.** A transaction writes into several partitions at once, in the middle of everybody
# else's records. An order service commits one, and the commit returns. In this lab you find out who
# can read what at that moment, you stop the system at the worst moment there is, and you say which
# kill did it.
#
# **The short way:** Hook, Predict, Run, Find the crash, What you know now. The other parts are folded under
# headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. Each of them
# can be done on its own day. A part may use what stands above it: *Run All Above Selected Cell* in the menu
# *Run* runs that first.
#
# **You need** lab 06, or these four words. A *partition* is one log of a topic. The *coordinator*
# (事务协调者) is the broker that keeps the state of a transaction. The *high watermark*, HW (高水位), is
# the offset below which everything is replicated. *read_committed* is the setting of a reader who wants no
# record of a transaction that has not committed.

# %% [markdown] lang="zh"
# # 实验 07 · 读者可以看到什么，又在什么时候看到？
#
# *90 分钟，短路线约 25 分钟* · Kafka 4.3，`transaction.version` 2，v2 客户端（Java 4.x）
#
# **一段话概括**：一个事务同时写入好几个分区，它的记录夹在别人的记录中间。订单服务提交了一个事务，提交也返回了。在这个实验里，你要弄清那一刻谁能读到什么；你要让系统停在最糟糕的时刻，并说出是哪一次 kill 造成的。
#
# **短路线**：引子、预测、执行、找出那次宕机、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。每一部分都可以另找一天单独做。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。有些单元打印的短标签仍是英文。
#
# **你需要**先做实验 06，或者先知道下面四个词。*分区*（partition）是主题的一个日志。*事务协调者*（coordinator）是保存事务状态的 broker。*高水位*（high watermark，HW）是一个偏移量，在它之下的记录都已复制。*read_committed* 是读者的一项设置，表示事务没有提交，就不要它的任何记录。

# %% [markdown]
# ## Hook: the commit returned. What did the billing service read?
#
# The gift shop's order service writes order 580538 into one topic and its payment into another, in one
# transaction. Its `commit` returns `ok`. The billing service reads both topics at once, with
# read_committed. It sends an invoice that is wrong, and no error was ever raised.
#
# In Java the order service is
# `initTransactions(); beginTransaction(); send("orders", …); send("payments", …); commitTransaction();`.
# The lines `run app: …` below say the same. The line `kill coordinator …` stops the coordinator at one step,
# and `restart` starts it again. `reader` is the reading half of the billing service. `invoice` is a record
# of another transaction, which is still open.
#
# Every transaction in this course goes through the same six stages. Keep them in view:
# **reserve → write → decide → publish the decision → make visible → forget**.

# %% [markdown] lang="zh"
# ## 引子：提交已经返回，账单服务读到了什么？
#
# 礼品店的订单服务在一个事务里，把订单 580538 写入一个主题，把付款写入另一个主题。它的 `commit` 返回 `ok`。账单服务用 read_committed 同时读这两个主题。它发出的账单是错的，而从头到尾没有报过错。
#
# 用 Java 写，订单服务就是 `initTransactions(); beginTransaction(); send("orders", …); send("payments", …); commitTransaction();`。下面以 `run app: …` 开头的各行意思相同。`kill coordinator …` 这一行让协调者停在某一步，`restart` 再把它启动。`reader` 是账单服务负责读的那一半；`invoice` 是另一个尚未结束的事务的记录。
#
# 本课程里的每个事务都经过同样的六个阶段，请一直记在心里：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。

# %% jupyter={"source_hidden": true}
import sqlite3
import tempfile
from pathlib import Path

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
from mqlab.lessons.kafka.lab07 import (
    BATCH,
    HALF,
    LSO,
    MARKER,
    TRANSACTIONAL_ID,
    by_hand,
    data_flow,
    first,
    frontiers,
    header,
    lag_table,
    list_index_steps,
    partition_log,
    read_recording,
    readers,
    whole,
)

# %%
torn = scenario("""
# The coordinator dies between an order and its payment
system orders producers=app:order-service,billing readers=reader
run app: init, begin, send orders-0 580538
run billing: init, begin, send orders-0 invoice
run app: send payments-0 paid-580538, commit
kill coordinator when=WriteTxnMarkers#1 after=1
run reader: poll orders-0, poll payments-0
restart coordinator
run reader: poll payments-0
""", recorded="basic-commit")
answered = first(torn, "ok epoch=1")
half = next(f.index for f in torn if f.node == "orders-0" and f.peer == "reader")

# %% [markdown]
# ## Predict
#
# The coordinator has just answered `ok`. Nothing else has happened yet. Choose an answer and lock it;
# then the run goes on.

# %% [markdown] lang="zh"
# ## 预测
#
# 协调者刚刚应答了 `ok`，别的什么都还没有发生。选一个答案并锁定，执行就会继续。

# %% jupyter={"source_hidden": true}
Predict("07-commit-returned", trace=torn, step=answered, panels=["space-time", "graphs", "tables"])

# %% [markdown]
# ## Run
#
# Step with the arrow keys, or drag the slider. Ask at each step: what just happened, what is durable,
# who can see what? Bookkeeping rows are folded; a click on the count shows them.
#
# Two flags stand in each log. Below **HW** everything is replicated. Below **LSO**, the *last stable
# offset*, everything is also decided. The diamond at the end is a *marker*, a control record (控制消息)
# that says commit (C) or abort (A).
#
# The picture opens at the step at which the reader got `580538` and not `paid-580538`. Both belong to
# **T1**, and T1 is committed: its decision is on the coordinator's disk. Of the £316.78 that this reader sees
# ordered it sees nothing paid. *Money* calls that *not settled yet*, because a marker is still owed.

# %% [markdown] lang="zh"
# ## 执行
#
# 用方向键逐步查看，或者拖动滑块。每一步都问一问：刚才发生了什么？什么已经持久？谁能看到什么？次要的行已经折叠，点击行数就能展开。
#
# 每个日志里立着两面旗。**HW** 之下的记录都已复制。**LSO** 是*最后稳定偏移量*（last stable offset），在它之下的记录不但已复制，而且都已有决定。末尾的菱形是*控制消息*（marker），这种记录说明事务是提交（C）还是中止（A）。
#
# 画面打开时停在这一步：读者得到了 `580538`，却没有得到 `paid-580538`。两者都属于 **T1**，而 T1 已经提交：它的决定就在协调者的磁盘上。这个读者看到订了 £316.78 的货，却没有看到一分钱付款。*金额*一栏把这叫作*尚未结清*，因为还欠着一条控制消息。

# %%
Player(torn, step=half)

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
# The same as text: the readers when the client is answered, and when one of them polls.
readers(torn, answered)
print()
readers(torn, half)
frontiers(torn, half)

# %% [markdown]
# | stage | in this run | who can tell |
# |---|---|---|
# | reserve | `Ongoing {orders-0, payments-0}` at the coordinator | its log |
# | write | Produce: `580538` and `paid-580538` go straight into the partitions | anyone who reads uncommitted |
# | decide | EndTxn: `PrepareCommit` | the client: its commit returns |
# | publish the decision | WriteTxnMarkers to each partition | nobody yet |
# | make visible | the marker is below the HW, and the LSO moves | readers of *this* partition |
# | forget | `CompleteCommit` | only this producer's next transaction waits for it |
#
# After its restart the coordinator found `PrepareCommit` and sent every marker again until each partition
# had answered. So the last `poll` got `paid-580538`. The *outcome* was never in doubt. The *moment* is each
# partition's own: between partitions there is only eventual consistency. The billing service had a *torn
# read* (撕裂读): it saw part of a transaction.

# %% [markdown] lang="zh"
# | 阶段 | 在这次执行中 | 谁知道 |
# |---|---|---|
# | 预留 | 协调者写下 `Ongoing {orders-0, payments-0}` | 它的日志 |
# | 写入 | Produce：`580538` 和 `paid-580538` 直接进入分区 | 所有 read_uncommitted 的读者 |
# | 决定 | EndTxn：`PrepareCommit` | 客户端：它的提交返回了 |
# | 公布决定 | 向每个分区发 WriteTxnMarkers | 还没有人 |
# | 变为可见 | 控制消息落到 HW 之下，LSO 移动 | *这个*分区的读者 |
# | 遗忘 | `CompleteCommit` | 只有这个生产者的下一个事务在等它 |
#
# 协调者重启之后读到了 `PrepareCommit`，于是把每条控制消息再发一遍，直到每个分区都应答。所以最后一次 `poll` 得到了 `paid-580538`。*结局*自始至终没有疑问，*时刻*则各个分区各不相同：分区之间只有最终一致性。账单服务遇到的是*撕裂读*（torn read）：它只看到了事务的一部分。

# %% [markdown]
# ## Find the crash
#
# Now you move the system. The application has called `commit` for order 580538, and its request is under
# way. Click a message to deliver it or to hold it back. Click a lane to
# kill that process. Click the red mark between two rows to go back and kill the node exactly there.
# *Find the shortest run in which a reader gets half of order 580538.* It needs no crash at all: one marker
# arrives before the other. A crash makes the moment last.

# %% [markdown] lang="zh"
# ## 找出那次宕机
#
# 现在由你来操纵系统。应用已经为订单 580538 调用了 `commit`，请求还在路上。点击消息，可以投递它或者扣住它。点击泳道，可以杀掉那个进程。点击两行之间的红色记号，可以退回去，就在那里杀掉节点。请找出*最短的执行，让某个读者只得到半个订单 580538*。这根本不需要宕机：一条控制消息比另一条先到就行。宕机则让这个时刻持续下去。

# %%
play = continue_scenario("""
system orders claims=whole_read
hold app→coordinator EndTxn#1
run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit
""")
Playground(play, goal="whole read")

# %% [markdown]
# Then **write the kill**. Two orders are sent, one after the other, each in a transaction of its own. After
# your kill a reader has all of order 580538 and half of order 580539 until the coordinator is back. The line
# has the form `kill coordinator when=Kind#n after=K`. It kills the coordinator in the step that sends the n-th
# message of that kind, when K effects of that step are done. An answer is written with `⇒`:
# `kill = "kill coordinator when=⇒InitProducerId#1 after=0"` kills it before it answers the first
# InitProducerId.

# %% [markdown] lang="zh"
# 接下来**写出这次 kill**。先后发送两个订单，每个订单一个事务。在你的 kill 之后，读者能得到整个订单 580538，而订单 580539 只有一半，这种状态一直持续到协调者恢复。这一行的形式是 `kill coordinator when=Kind#n after=K`。意思是：协调者发出第 n 条这种消息的那一步，做完 K 个效果就把它杀掉。应答用 `⇒` 表示：`kill = "kill coordinator when=⇒InitProducerId#1 after=0"` 会在协调者应答第一个 InitProducerId 之前杀掉它。

# %% nbgrader={"solution": true, "grade_id": "kill"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill coordinator when=… after=…"
### BEGIN SOLUTION
# Order 580538 had two markers, so those of order 580539 are the third and the fourth. One step sends both, and
# it stops after the first.
kill = "kill coordinator when=WriteTxnMarkers#3 after=1"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kill-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("half", kill)
### END HIDDEN TESTS
check(HALF, kill)

# %% [markdown]
# ## What you know now
#
# A marker is a record. The LSO, not the high watermark, decides what a reader of committed data gets.
# Outcomes agree everywhere; moments do not.
#
# The short way ends here. The parts below go deeper, in any order; 8 of the 10 points are there.
# The next lab asks how the positions of a reader join a transaction:
# [lab 08](08-consume-transform-produce.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 控制消息就是一条记录。只读已提交数据的读者能得到什么，由 LSO 决定，不由高水位决定。结局处处一致，时刻各不相同。
#
# 短路线到此结束。下面的部分继续深入，先做哪个都行；10 分中有 8 分在那里。下一个实验要问，读者的位置怎样加入事务：[实验 08](08-consume-transform-produce.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("07")

# %% [markdown] tags=["deeper"]
# ## Deeper: who speaks to whom?

# %% [markdown] lang="zh"
# ## 深入：谁和谁说话？

# %% [markdown]
# Many drawings of Kafka show arrows that do not exist. Answer first, then look.

# %% [markdown] lang="zh"
# 许多 Kafka 的图都画了并不存在的箭头。先回答，再看图。

# %% jupyter={"source_hidden": true}
Predict("07-who-writes")

# %%
# Nobody asks the reader for anything, and only leaders write markers.
assert not any(f.peer == "reader" and f.glyph != "⇒" for f in torn)
assert {f.node for f in torn if "marker @" in f.text.en} == {"orders-0", "payments-0"}
data_flow()

# %% [markdown]
# This is the figure of lab 06, with the numbers of the five steps that articles count. Look at the
# consumer's line. Nobody drives a reader: it asks again and again, and gets the records that its
# partition may show. The coordinator sends it no request.

# %% [markdown] lang="zh"
# 这是实验 06 的那张图，加上了文章里常说的五个步骤的编号。看消费者的那条线：没有人驱动读者，它一次又一次地主动询问，得到分区可以给它看的记录。协调者不会向它发任何请求。

# %% [markdown] tags=["deeper"]
# ## Deeper: why must others wait, and must all of them?

# %% [markdown] lang="zh"
# ## 深入：别人为什么要等，人人都得等吗？

# %% [markdown]
# `slow` has a transaction open in `orders-0`. Then `plain` writes `p` there and `q` into `orders-1`
# without any transaction, and `fast` runs a whole transaction with `f` in `orders-0`. All of them are
# answered `ok`.

# %% [markdown] lang="zh"
# `slow` 在 `orders-0` 里有一个事务还没有结束。这时 `plain` 不用事务，往那里写 `p`，往 `orders-1` 写 `q`；`fast` 则完成了一整个事务，在 `orders-0` 里写了 `f`。三者得到的应答都是 `ok`。

# %% jupyter={"source_hidden": true}
behind = scenario("""
# Three producers, and one of them takes its time
system kafka partitions=2 producers=slow,plain:plain,fast readers=reader
run slow: init, begin, send orders-0 s
run plain: send orders-0 p, send orders-1 q, flush
run fast: init, begin, send orders-0 f, commit
""")
Predict(
    "07-open-transaction",
    trace=behind,
    step=len(behind),
    panels=["space-time", "graphs", "tables"],
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
readers(behind, -1)
for fact in behind:
    if fact.text.en.endswith("commit: ok"):
        print(say("{node} has committed, while slow is still open", node=fact.node))
frontiers(behind, -1)

# %% [markdown]
# So “one blocked transaction blocks all that follow” is half true. It holds up *readers* of committed
# data in the partitions it wrote to, until it ends or its timeout ends it. Producers, other partitions and
# read_uncommitted go on.

# %% [markdown] lang="zh"
# 所以“一个事务阻塞，后面的全都阻塞”只对了一半。在它写过的分区里，它挡住的是只读已提交数据的*读者*，直到事务结束，或者超时让它结束。生产者、其他分区和 read_uncommitted 都照常进行。

# %% [markdown] tags=["deeper"]
# ## Deeper: does a commit move the high watermark?

# %% [markdown] lang="zh"
# ## 深入：提交会推进高水位吗？

# %% [markdown]
# The high watermark says which records are replicated. An application sends `a` and `b` in a transaction, and
# commits.

# %% [markdown] lang="zh"
# 高水位说明哪些记录已经复制。应用在一个事务里发送 `a` 和 `b`，然后提交。

# %% jupyter={"source_hidden": true}
ends = scenario("""
# Two records and a commit
system kafka partitions=1
run app: init, begin, send orders-0 a, send orders-0 b, commit
""")
Predict("07-high-watermark", trace=ends, step=first(ends, "EndTxn"))

# %% [markdown]
# How much is *replicated* worth? The next cell kills a broker (its memory is lost), and cuts its power (records
# that were not flushed are lost as well), with one copy of the log and with two.

# %% [markdown] lang="zh"
# *已复制*到底有多可靠？下一个单元先让日志只有一份，再让它有两份，每次都试着杀掉 broker（内存丢失），或者切断它的电源（没有刷盘的记录也丢失）。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for fact in ends:
    if fact.glyph == "⇨":
        print(fact.line(width=8))
print()
WRITTEN = "system kafka partitions=1 replicas={n}\nrun app: init, begin, send orders-0 paid, commit\n"
for stop in ("kill", "power-cut"):
    alone = scenario(WRITTEN.format(n=1) + f"{stop} orders-0\nrestart orders-0")
    pair = scenario(WRITTEN.format(n=2) + f"{stop} orders-0@1\nrun controller: fence orders-0 1")
    for copies, run in ((say("one copy "), alone), (say("two copies"), pair)):
        got = " ".join(g.label for g in run.snapshot(-1).readers[0].got) or say("nothing")
        print(f"{stop:<10} {copies:<11}", say("an acknowledged commit is read as:"), got)

# %% [markdown]
# HW had passed `a` and `b` before the commit, as the first lines show. The marker is one more record, so HW
# moves past it as it does past any other. The commit moves the LSO from 0 to 3 at once.
#
# Three things have different names. *Written* means that the record is in the log of one broker, in the memory
# that the operating system keeps for files: a killed process loses nothing, a power cut may take it. *Replicated*
# means that every in-sync copy has written it. *Flushed* means that the disk has it, and only that survives a power
# cut of all copies. Kafka acknowledges on replication, not on a flush. With one copy a power cut takes an acknowledged payment
# away, and nobody is told.

# %% [markdown] lang="zh"
# 从前几行可以看出，HW 在提交之前就已越过 `a` 和 `b`。控制消息不过是又一条记录，HW 越过它，和越过别的记录没有两样。提交让 LSO 一下子从 0 移到 3。
#
# 有三件事要分开说。*写入*（written）是指记录在一个 broker 的日志里，也就是在操作系统为文件保留的内存里：杀掉进程不会丢，断电则可能丢。*复制*（replicated）是指每个同步副本都写入了它。*刷盘*（flushed）是指磁盘上有了它，只有这样才经得起所有副本一起断电。Kafka 的确认以复制为准，而不是刷盘。只有一份副本时，断一次电，已经确认的付款就没了，而且没有人得到通知。

# %% [markdown] tags=["deeper"]
# ## Deeper: where do the offsets go?

# %% [markdown] lang="zh"
# ## 深入：偏移量去了哪里？

# %% [markdown]
# Two records were written and committed, and a reader gets both.

# %% [markdown] lang="zh"
# 两条记录已经写入并提交，读者两条都得到了。

# %% jupyter={"source_hidden": true}
commit = scenario("""
# Two records, a commit, and a reader that goes on asking
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, send orders-0 b, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
run app: begin, send orders-0 c, commit
run reader: poll orders-0, position orders-0, end-offset orders-0, lag orders-0
""")
Predict("07-position", trace=commit, step=first(commit, "Fetch @0") - 1)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for cell in commit.snapshot(-1).logs[0].cells:
    print(cell.offset, cell.label, cell.kind)
print()
print(lag_table(commit))

# %% [markdown]
# A marker takes an offset. So offsets have gaps for a reader, and `end offset − beginning offset` counts
# more than the messages. A tool that computes a lag from the last *record* never sees 0, however idle the
# topic is. This false alarm is famous. The consumer's own lag is measured from its position to the LSO,
# and it does reach 0.

# %% [markdown] lang="zh"
# 控制消息也占一个偏移量。所以在读者看来，偏移量有空缺，`end offset − beginning offset` 算出的比消息数要多。如果工具用最后一条*记录*来计算滞后（lag），那么主题再空闲，它也永远看不到 0。这是出了名的误报。消费者自己的 lag 是从它的位置量到 LSO，确实会到 0。

# %% [markdown] tags=["deeper"]
# ## Deeper: what happens to aborted records?

# %% [markdown] lang="zh"
# ## 深入：中止的记录会怎样？

# %% [markdown]
# One partition holds plain records (`n`), a transaction that aborts (`x`) and one that commits (`c`). At
# the end `x` has a second transaction, which commits. Many articles draw such a log with its marks
# between the messages.

# %% [markdown] lang="zh"
# 一个分区里有普通记录（`n`）、一个中止的事务（`x`）和一个提交的事务（`c`）。最后 `x` 还有第二个事务，这个事务提交了。许多文章都画过这样的日志，把各种记号画在消息之间。

# %% jupyter={"source_hidden": true}
MIXED = """
# Plain, aborted and committed records side by side
system kafka partitions=1 producers=n:plain,x,c readers=reader,other
run x: init
run c: init
run n: send orders-0 n0, send orders-0 n1, flush
run x: begin, send orders-0 x2
run c: begin, send orders-0 c3
run x: send orders-0 x4, abort
run c: send orders-0 c6, commit
run x: begin, send orders-0 x8, commit
"""
mixed, mixed_run = partition_log(MIXED, "orders-0"), scenario(MIXED)
Predict("07-fetch", trace=mixed_run, step=len(mixed_run), panels=["space-time", "logs"])

# %% jupyter={"source_hidden": true}
Predict("07-aborted-list")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
said, (entry,) = mixed.fetch(0), mixed.index
travels = [(a.pid, a.first_offset) for a in said.aborted]
print("in the log  ", " ".join(b.control or b.words for b in mixed.batches))
print("sent        ", " ".join(b.control or b.words for b in said.batches))
print("delivered   ", " ".join(mixed.read(0)), "  read_uncommitted:", " ".join(mixed.read(0, "read_uncommitted")))
print("index file  ", f"pid={entry.pid} first={entry.first_offset} last={entry.last_offset} LSO={entry.lso}")
print("the list    ", *(f"pid={pid} first={offset}" for pid, offset in travels))
print("by hand     ", by_hand(said.batches, travels) == mixed.read(0))
print("\nwhen is the index written?")
print(list_index_steps(mixed_run))

# %% [markdown]
# The leader cuts at the LSO and adds a list, and the client skips. The leader notes an aborted transaction
# in its index file (`.txnindex`) when the abort marker is written, just before the LSO moves on: these are
# the three lines under *when is the index written?*. `by_hand` filters by the list alone, as a client does.
# A client drops the records of a listed producer from the first offset up to its abort marker, so `x8` of the
# same producer id is kept.
#
# The next cell takes a batch apart that librdkafka wrote to Kafka 4.3.1. Which of the three names of a
# transactional producer travels in it: the transactional id, the producer id, the epoch?

# %% [markdown] lang="zh"
# 首领副本（leader）在 LSO 处截断，附上一份列表，由客户端来跳过。leader 在写入中止的控制消息时、LSO 即将移动之前，把已中止的事务记入它的索引文件（`.txnindex`）：就是 *when is the index written?* 下面的三行。`by_hand` 只凭这份列表来过滤，和客户端的做法一样。对列表里的生产者，客户端从首个偏移量起丢掉它的记录，到它那条中止的控制消息为止，所以同一个生产者 ID 的 `x8` 会留下来。
#
# 下一个单元拆开 librdkafka 写到 Kafka 4.3.1 的一个批次。事务型生产者有三个名字：事务 ID（transactional id）、生产者 ID、epoch。随批次传送的是哪一个？

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(say("the head of a real batch:"))
for name, value in header().items():
    print(f"  {name:<18} {value}")
size, is_in = len(BATCH), TRANSACTIONAL_ID.encode() in BATCH
print(say("its transactional id is in its {size} bytes: {is_in}", size=size, is_in=is_in))

# %% [markdown]
# The head holds the producer id, the epoch and one bit for *transactional*. The transactional id is in no
# partition's log.

# %% [markdown] lang="zh"
# 批次头里有生产者 ID、epoch，还有表示*事务型*（transactional）的一个比特。事务 ID 不在任何分区的日志里。

# %% [markdown] tags=["deeper"]
# ## Deeper: which level do you read at?

# %% [markdown] lang="zh"
# ## 深入：你用哪个级别读？

# %% [markdown]
# Isolation is the I of ACID, and *read committed* means no *dirty read* (脏读): a reader never sees a
# record that is not decided yet. Here a transaction is open, and an application that has set nothing polls.

# %% [markdown] lang="zh"
# 隔离性就是 ACID 里的 I。*读已提交*（read committed）是指没有*脏读*（dirty read）：读者绝不会看到还没有决定的记录。这里有一个事务尚未结束，一个什么也没有设置的应用来拉取。

# %% jupyter={"source_hidden": true}
undecided = """
# A record of an open transaction
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, flush
"""
undecided_run = scenario(undecided)
Predict("07-isolation", trace=undecided_run, step=len(undecided_run))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
undecided_log = partition_log(undecided, "orders-0")
for level in ("read_committed", "read_uncommitted"):
    print(f"{level:<16} sees {' '.join(undecided_log.read(0, level)) or 'nothing'}")
aborted_log = partition_log(undecided + "run app: abort", "orders-0")
print(say("after the abort a is still in the log:"), [b.words for b in aborted_log.batches if not b.control])
print("read_committed sees", aborted_log.read(0))
print()
print(read_recording("kafka-4.3.1/tv2", "default-levels", "Java", "librdkafka"))

# %% [markdown]
# read_uncommitted got `a` at once, without waiting for any marker. That was a dirty read, of an order that
# never was. read_committed was sent nothing, so it had nothing to hold back either: no mode buffers.
#
# The table is a real Kafka 4.3.1. Its partition holds a record that was aborted, and behind it one that was
# committed. Each line is a consumer with the level that it sets, and the first record that it got. With no
# level set, the Java consumer 4.3.1 got the aborted record, and librdkafka 2.16 the committed one.

# %% [markdown] lang="zh"
# read_uncommitted 立刻得到了 `a`，没有等任何控制消息。这就是脏读，读到的是一个从来不曾成立的订单。read_committed 这一边，broker 什么也没有发来，所以客户端也没有什么要扣住：哪种模式都不缓存。
#
# 这张表来自真实的 Kafka 4.3.1。它的分区里有一条已中止的记录，后面跟着一条已提交的记录。每一行是一个消费者，写着它设置的级别和它得到的第一条记录。什么级别都不设的时候，Java 消费者 4.3.1 得到的是已中止的记录，librdkafka 2.16 得到的是已提交的记录。

# %% [markdown] tags=["deeper"]
# ## Deeper: when does a reader never see the whole?

# %% [markdown] lang="zh"
# ## 深入：什么时候读者永远看不到全部？

# %% [markdown]
# A transaction ends the same way everywhere, and yet a reader may not get all of it. There are three
# ordinary reasons. The other partition is assigned to somebody else. The application seeks into the
# middle. The first records were deleted because their retention time had passed. In none of these cases
# is the application told that something is missing.
#
# **How does a database do it?** It keeps several versions of a row and shows a reader those of its
# *snapshot* (MVCC). The second half of the output asks SQLite and our log the same.

# %% [markdown] lang="zh"
# 事务在各处的结局都相同，读者却可能得不到它的全部。常见的原因有三个：另一个分区分配给了别人；应用用 seek 跳到了中间；最前面的记录过了保留时间，已经删除。无论哪种情形，应用都不会得到通知，不知道少了什么。
#
# **数据库是怎么做的？** 它为一行保存多个版本，按读者的*快照*（snapshot）给它看其中的版本（MVCC）。输出的后一半拿同样的问题去问 SQLite 和我们的日志。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
TWO = """
system kafka partitions=2 readers=one,two
run app: init, begin, send orders-0 a, send orders-1 b, commit
"""
shared = scenario(TWO + "run one: poll orders-0\nrun two: poll orders-1")
for fact in shared:
    if fact.node in ("one", "two") and fact.glyph == "☞":
        print(f"{fact.node} has one partition:  {fact.text}")

middle = scenario(MIXED + "run reader: seek orders-0@4, poll orders-0")
print("seek into the middle:  ", next(f.text for f in middle if f.text.en.startswith("poll")))

late = mixed.without(4)
print("retention, from 0:     ", late.fetch(0).error)
print("retention, from earliest:", " ".join(late.read(4)))
print()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "shop.db"
    writer, reader = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    writer.execute("pragma journal_mode = wal")
    writer.execute("create table orders (id text, paid int)")
    writer.execute("insert into orders values ('a', 0)")
    ask = "select id, paid from orders"
    reader.execute("begin")
    print("database, snapshot: ", reader.execute(ask).fetchall())
    writer.execute("update orders set paid = 1")
    print("after an update:    ", reader.execute(ask).fetchall(), "the old version, still")
    reader.execute("commit")
    print("a new snapshot:     ", reader.execute(ask).fetchall())
    writer.close(), reader.close()

twice = scenario("""
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a-unpaid, commit
run reader: poll orders-0
run app: begin, send orders-0 a-paid, commit
run reader: poll orders-0
""")
for fact in twice:
    if fact.node == "reader" and fact.glyph == "☞":
        print("log, from a position:", fact.text)

# %% [markdown]
# `c3` and `c6` are one transaction, and two of these readers got `c6` without `c3`. `x4` was skipped even
# from the middle, because the list names a transaction that began *before* the fetched offset. The
# OFFSET_OUT_OF_RANGE stays in the client: `auto.offset.reset` says where it goes on instead.
#
# A log overwrites nothing, so a *position* is enough where a database needs a snapshot: everything
# below the LSO is decided and stays as it is.

# %% [markdown] lang="zh"
# `c3` 和 `c6` 属于同一个事务，这些读者中有两个得到了 `c6`，却没有得到 `c3`。即使从中间读起，`x4` 也会跳过，因为列表里写着一个在拉取偏移量*之前*就已开始的事务。OFFSET_OUT_OF_RANGE 只到客户端为止：接下来从哪里读，由 `auto.offset.reset` 决定。
#
# 日志不会覆盖任何东西，所以数据库需要快照的地方，这里有一个*位置*就够了：LSO 之下的一切都已有决定，而且不再改变。

# %% [markdown] tags=["deeper"]
# ## Deeper: does a search find your kill?

# %% [markdown] lang="zh"
# ## 深入：搜索能找到你的 kill 吗？

# %% [markdown]
# The explorer looks at every schedule in which the coordinator dies once, at each effect of each step. Press
# *Search*. One claim is broken, in the shortest way there is; the others hold. The cell after it says the
# same as text.

# %% [markdown] lang="zh"
# 探索器会查看协调者宕机一次的所有可能的执行，每一步的每个效果之后都试到。按*开始搜索*。有一个命题会被推翻，用的是最短的执行；其余的都成立。后面那个单元用文字说明同样的结果。

# %%
line = "kafka partitions=2 'app=init; begin; send orders-0 a; send orders-1 b; commit'"
searched, kills = system(line), Budget(kills=1, killable=("coordinator",))
wanted = ("same outcome", "clean read", "decided first", "commits", "read back")
claims = [claim for claim in searched.properties() if claim.name in wanted]
Explorer(searched, kills, (whole(searched), *claims))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
shortest = explore(searched, kills, (whole(searched),)).counterexamples["whole"]
count = len(shortest.schedule)
print(say("half of it, in {count} choices; the last of them:", count=count))
for fact in list(shortest.trace())[-4:]:
    print("  ", fact.line(width=11))
verdict = explore(searched, kills)
found = list(verdict.counterexamples) or say("none")
print(say("two outcomes, dirty or aborted reads:"), found, say("in all schedules"))
print(say("looked at all of them:"), verdict.complete)

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguard is necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Each line of this table takes one safeguard away and searches for the shortest run that breaks a
# promise. Guess first, for each line, what will break.

# %% [markdown] lang="zh"
# 这张表的每一行去掉一项保护措施，再搜索违背承诺的最短执行。先逐行猜一猜，什么会出错。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
abort = "kafka partitions=1 'app=init; begin; send orders-0 x; abort'"
cases = [
    ("lso", abort, Budget(), "clean read", "dirty read (P1)"),
    ("aborted_index", abort, Budget(), "clean read", "aborted read (G1a)"),
    (
        "prepare_before_markers",
        "orders 'app=init; begin; send orders-0 580538; flush; send payments-0 paid-580538; commit'",
        Budget(kills=1, killable=("coordinator",), timers=1),
        "same outcome",
        "fractured outcome",
    ),
]
found = {}
for name, words, budget, promise, anomaly in cases:
    verdict = explore(system(f"{words} off={name}"), budget)
    found[name] = verdict.counterexamples[promise]
    print(f"without {name:<23} {anomaly:<32} in {len(found[name].schedule)} choices")

# %% [markdown]
# P1 and G1a are names in the literature. P1, from the critique of ANSI SQL's levels, is a *dirty read*: of a
# record that is not decided yet. G1a, Adya's name, is an *aborted read*: of a record that never was. Without
# the durable decision a transaction may be committed in one partition and aborted in the other, a
# *fractured outcome*: atomicity itself is gone. Step through the last one until the order and its payment
# can never agree again. In the hook half of an order was a matter of time; here *Money* turns red, and
# stays so.

# %% [markdown] lang="zh"
# P1 和 G1a 是文献里的名称。P1 出自对 ANSI SQL 隔离级别的批评，就是*脏读*（dirty read）：读到还没有决定的记录。G1a 是 Adya 起的名字，就是*读到已中止的写*（aborted read）：读到从来不曾成立的记录。没有持久的决定，事务就可能在一个分区提交，在另一个分区中止，这叫*结局分裂*（fractured outcome）：连原子性也没有了。把最后一次执行逐步走下去，直到订单和付款再也不可能一致。在引子里，半个订单只是时间问题；在这里，*金额*变红之后就一直是红的。

# %%
title = say("Markers before the decision")
Player(verdict.counterexamples["money"].trace(), title=title)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a leader do with a marker, in which order?

# %% [markdown] lang="zh"
# ## 深入：leader 怎样处理控制消息，按什么顺序？

# %% [markdown]
# Lab 06 put the coordinator's work into order. Now the other end: the coordinator has asked the leader of a
# partition for a marker, of a commit or of an abort. Four of these seven pieces belong to the leader's
# work. Each order you try is built into a leader that may die between any two pieces, and every schedule
# is searched. A wrong order gets the shortest run that shows why. *More than one order is right.* Run the
# cell, then move the pieces: each move is written between the brackets of its call.

# %% [markdown] lang="zh"
# 实验 06 给协调者的工作排了顺序，现在看另一端：协调者请求分区的 leader 写一条控制消息，可能是提交，也可能是中止。这七个步骤里有四个是 leader 的工作。你试的每个顺序都会装进一个 leader，它可能在任意两步之间宕机，所有可能的执行都会搜索到。顺序错了，你会看到说明原因的最短执行。*正确的顺序不止一种*。运行这个单元，再移动各个步骤：每移动一次，结果就写进调用的方括号里。

# %% nbgrader={"solution": true, "grade_id": "order"}
order = MARKER.arrange([
    ### BEGIN SOLUTION
    # Kafka's own: one append writes marker and index entry; the high watermark releases the rest.
    "append", "index", "lso", "answer"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("marker", order)
### END HIDDEN TESTS
check(MARKER, order)

# %% [markdown] tags=["deeper"]
# ## Deeper: write the rule

# %% [markdown] lang="zh"
# ## 深入：写出规则

# %% [markdown]
# A leader knows two things about its partition: the *first offsets of all undecided transactions* (a tuple,
# perhaps empty) and its *high watermark*. Write the rule that says which offset a reader of committed
# data must not reach. It is put into the leader, and every schedule of three small systems is tried.
#
# Two hints wait: `print(LSO.hint(1))`, then `print(LSO.hint(2))`. If the rule is not right yet, the message
# names the belief behind it, and the run that refutes it opens where it shows.

# %% [markdown] lang="zh"
# leader 对自己的分区知道两件事：*所有未决事务的首个偏移量*（一个元组，可能是空的），以及*高水位*。请写出规则，说明只读已提交数据的读者不能到达哪个偏移量。规则会装进 leader，在三个小系统的所有可能的执行里都试一遍。
#
# 有两条提示可看：`print(LSO.hint(1))`，然后 `print(LSO.hint(2))`。如果规则还不对，提示信息会指出背后的想法，推翻它的执行也会打开，停在看得出问题的那一步。

# %% nbgrader={"solution": true, "grade_id": "lso"}
def lso(first_offsets: tuple[int, ...], high_watermark: int) -> int:
    """The last stable offset: read_committed reads below it, never at or above it."""
    ### BEGIN SOLUTION
    # The lowest of all that can hold a reader back. An undecided transaction may begin above
    # the high watermark (not replicated yet), and there may be none at all.
    return min([*first_offsets, high_watermark])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lso-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("lso", lso)
### END HIDDEN TESTS
check(LSO, lso)

# %% [markdown] tags=["deeper"]
# ## Deeper: who withholds elsewhere?

# %% [markdown] lang="zh"
# ## 深入：在别的系统里，由谁扣住消息？

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar |
# |---|---|---|---|
# | where undecided messages lie | in their partition, among all others | in a topic of their own (half messages) | in their topic, among all others |
# | what makes one visible | a marker in each partition, the LSO | a second message, in the real topic | a marker in each topic, maxReadPosition |
# | what waits behind an open transaction | readers of committed data, in its partitions | nothing | every reader, in its topics |
# | who leaves out what was aborted | the client, by a list | nothing to leave out: it was never copied | the broker |
# | a torn read | for a moment, between two markers | there is one message only | for a moment, between two markers |
#
# Ask this of any queue that you meet: *what does a reader wait for, and who makes it wait?*

# %% [markdown] lang="zh"
# | | Kafka | RocketMQ | Pulsar |
# |---|---|---|---|
# | 未决的消息放在哪里 | 在自己的分区里，和其他消息混在一起 | 在单独的主题里（半消息） | 在自己的主题里，和其他消息混在一起 |
# | 什么让它可见 | 每个分区里的控制消息，LSO | 真正的主题里的第二条消息 | 每个主题里的控制消息，maxReadPosition |
# | 什么在未结束的事务后面等待 | 它写过的分区里，只读已提交数据的读者 | 没有 | 它写过的主题里的所有读者 |
# | 谁跳过已中止的消息 | 客户端，凭列表 | 没有什么可跳过：从来没有复制过去 | broker |
# | 撕裂读 | 短暂存在，在两条控制消息之间 | 总共只有一条消息 | 短暂存在，在两条控制消息之间 |
#
# 以后遇到任何消息队列，都可以这样问：*读者在等什么，是谁让它等？*

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | commit returned, so it is visible | the answer leaves after PrepareCommit, before any marker | Run |
# | a reader gets a transaction all at once | each partition shows it with its own marker | Run |
# | the producer writes the markers | the leader does, asked by the coordinator | who speaks |
# | the coordinator tells the consumers | readers ask; a marker is a record in the log | who speaks |
# | an open transaction hides only its own messages | everything behind it waits, here | others wait |
# | one blocked transaction blocks all that follow | readers of its partitions only | others wait |
# | the commit advances the high watermark | replication does; the commit advances the LSO | high watermark |
# | offsets are dense | markers take offsets; a lag from the last record never reaches 0 | offsets |
# | aborted records are deleted, or filtered by the broker | they stay, and the client skips | aborted |
# | the aborted list has start and end | the file has; on the wire go id and first offset | aborted |
# | batches carry the transactional id | producer id and epoch | aborted |
# | the consumer buffers until the marker comes | no mode buffers; the broker withholds | level |
# | read_committed is the default | not in Java | level |
# | a reader gets the whole transaction in the end | not with half of the partitions | the whole |
# | acknowledged means flushed | it means replicated: with one copy a power cut takes it away | high watermark |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 提交已返回，所以可见 | PrepareCommit 之后就应答，此时还没有任何控制消息 | 执行 |
# | 读者一下子得到整个事务 | 每个分区在自己的控制消息写入时才显示它 | 执行 |
# | 控制消息由生产者写入 | 由 leader 写入，是协调者请求的 | 谁和谁说话 |
# | 协调者会通知消费者 | 是读者来询问；控制消息是日志里的一条记录 | 谁和谁说话 |
# | 未结束的事务只隐藏自己的消息 | 在这里，它后面的一切都要等待 | 别人要等 |
# | 一个事务阻塞，后面的全都阻塞 | 只有它写过的分区里的读者 | 别人要等 |
# | 提交推进高水位 | 推进它的是复制；提交推进的是 LSO | 高水位 |
# | 偏移量连续 | 控制消息也占偏移量；按最后一条记录算的 lag 永远到不了 0 | 偏移量 |
# | 已中止的记录被删除，或由 broker 过滤 | 记录留在日志里，由客户端跳过 | 中止的记录 |
# | 中止列表里有起点和终点 | 文件里有；传送的只有 ID 和首个偏移量 | 中止的记录 |
# | 批次带着事务 ID | 带的是生产者 ID 和 epoch | 中止的记录 |
# | 消费者缓存到控制消息到来为止 | 哪种模式都不缓存；是 broker 扣住 | 级别 |
# | read_committed 是默认级别 | Java 里不是 | 级别 |
# | 读者最后总会得到整个事务 | 如果只有一半的分区，就得不到 | 全部 |
# | 已确认就是已刷盘 | 是已复制：只有一份副本时，断一次电就没了 | 高水位 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A parcel service writes *picked up* into one partition and *paid* into another, in one transaction.
# A dashboard with read_committed shows a parcel as picked up and not paid, for a second. A colleague
# says: "That is a bug in Kafka; a transaction is atomic." Which answer is right?

# %% [markdown] lang="zh"
# 快递公司在一个事务里，把*已取件*写入一个分区，把*已付款*写入另一个分区。有个看板用 read_committed 读取，某个包裹有一秒钟显示为已取件、未付款。同事说：“这是 Kafka 的 bug，事务应该是原子的。”哪个答案是对的？

# %% jupyter={"source_hidden": true}
Predict("07-exit-ticket")
