# %% [markdown]
# # Lab 08 · How do offsets join the transaction?
#
# *90 minutes, or a short way of 15* · Kafka 4.3, Java client 4.x
#
# **In one paragraph.** The gift shop's accounting worker reads orders, works out their income and writes
# it down. The position up to which it has read is a record too. In this lab a worker dies between the two
# records, you look for the shortest kill that costs money, and you put the loop into an order that no kill
# can hurt. The loop is called *consume–transform–produce* (消费–转换–生产).
#
# **The short way:** Hook, Predict, Run, Put it into order, What you know now. The other parts are folded
# under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. A part
# may use what stands above it: *Run All Above Selected Cell* in the menu *Run* runs that first.
#
# **You need** lab 07. A *position* (偏移量, offset) is the next offset to read. A *consumer group* (消费者组)
# is a set of workers that share the partitions of a topic. Its *group coordinator* (组协调者) is the broker
# that knows who is in the group, and how far the group has come. `orders-0@1` is the position 1 in the
# partition `orders-0`; `orders-0@-1` says that there is none yet.

# %% [markdown] lang="zh"
# # 实验 08 · 偏移量怎样加入事务？
#
# *90 分钟，短路线约 15 分钟* · Kafka 4.3，Java 客户端 4.x
#
# **一段话概括**：礼品店负责记账的工作进程（worker）读取订单，算出收入并写下来。它读到了哪里，也是一条记录。在本实验中，工作进程死在这两条记录之间；你要找出让商店亏钱的最短的 kill，再给工作进程的循环排出一个怎样被 kill 都不会出错的顺序。这个循环叫*消费-转换-生产*（consume–transform–produce）。
#
# **短路线**：引子、预测、执行、排出顺序、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。
#
# **你需要**先做实验 07。*偏移量*（position）就是下一条要读的记录的 offset。*消费者组*（consumer group）是共同分担一个主题各分区的一组工作进程。*组协调者*（group coordinator）是一个 broker，它知道组里有谁、这个组读到了哪里。`orders-0@1` 表示分区 `orders-0` 里的偏移量 1；`orders-0@-1` 表示还没有偏移量。

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Budget,
    Play,
    Player,
    Playground,
    Predict,
    check,
    explore,
    say,
    scenario,
    search,
)
from mqlab.lessons.kafka.lab08 import (
    KILL,
    LOOP,
    ORDER,
    SAFEGUARD_CASES,
    Abortable,
    App,
    actors,
    build_worker,
    count_orders,
    find_red_step,
    first,
    list_calls,
    offsets,
    read_recording,
    side_effects,
    table,
)

# %% [markdown]
# ## Hook: order 580538 was paid once. How often is it booked?
#
# The order service of the shop has taken order 580538, for £316.78. It stands in `orders-0` as
# `580538:31678`, its number and its pence. A worker of the group `accounting` reads it, writes the income
# `580538+31678` to `income-0` in a transaction, commits, and then tells the group how far it has come. The
# light *money* watches: money in = money out; *Money* sets the booked income (the bar) against the orders
# that count as read (the mark). The worker dies before the last step. When the group has noticed (its
# *session* runs out), the platform starts the worker again.
#
# The course divides each transaction into six stages: **reserve → write → decide → publish the decision →
# make visible → forget**.

# %% [markdown] lang="zh"
# ## 引子：订单 580538 付了一次款，会记几次账？
#
# 商店的订单服务收到订单 580538，金额 £316.78。这个订单在 `orders-0` 里写作 `580538:31678`，也就是订单号和便士数。`accounting` 组的一个工作进程读到它，在事务中把收入 `580538+31678` 写入 `income-0`，提交，然后告诉消费者组自己读到了哪里。指示灯 *money* 盯着“进账 = 出账”；*金额*一栏拿已记的收入（长条）和算作已读的订单（竖线）对照。工作进程死在最后一步之前。等它的*会话*（session）到期，消费者组才发现它死了，随后平台把它重新启动。
#
# 本课程把每个事务分成六个阶段：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。

# %% [markdown]
# ## Predict
#
# The worker has just been killed. Choose an answer, lock it, then let the run go on.

# %% [markdown] lang="zh"
# ## 预测
#
# 工作进程刚刚被杀。选一个答案并锁定，执行就会继续。

# %% jupyter={"source_hidden": true}
apart = scenario("""
# Output and position are committed apart
system income
kill worker when=OffsetCommit#1 after=0
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, commit, commit-offsets accounting
fire __consumer_offsets-0 session/accounting/worker-1
restart worker
""")
dead = first(apart, "killed")
Predict("08-apart", trace=apart, step=dead)

# %% [markdown]
# Every transaction was whole, every call returned ok, and £316.78 have become £633.56. If amounts are added
# up, each must be counted once (a bank's loans come at the end). The same holds for numbers that people
# *watch*: for a meter that reports one number per minute, a single duplicate shows as a jump. To commit the
# position *first* is no better, because then a kill in between loses the order. The shop needs *both or
# neither*.

# %% [markdown] lang="zh"
# 每个事务都是完整的，每次调用都返回 ok，£316.78 却变成了 £633.56。凡是要累加的金额，每一笔都只能算一次（最后会讲到一家银行的贷款）。有人*盯着看*的数字也是这样：仪表每分钟报一个数，只要有一个重复，就会看到一次跳变。改成*先*提交偏移量，也好不到哪里去：在两者之间被杀，订单就丢了。商店要的是*要么都有，要么都没有*。

# %% [markdown]
# ## Run
#
# `sendOffsetsToTransaction(positions, groupMetadata)`: the **producer** sends the position to the group
# coordinator, as part of its transaction. Here is the same worker, killed when it wants to commit. Step
# with the arrow keys; watch `__consumer_offsets-0`, its LSO, and who aborts.

# %% [markdown] lang="zh"
# ## 执行
#
# `sendOffsetsToTransaction(positions, groupMetadata)`：由**生产者**把偏移量发给组协调者，算作自己事务的一部分。下面还是那个工作进程，这次在它要提交的时候被杀。用方向键逐步查看，注意 `__consumer_offsets-0` 和它的最后稳定偏移量（LSO），再看是谁中止了事务。

# %%
together = scenario("""
# Output and position in one transaction
system income
kill worker when=EndTxn#1 after=0
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
fire __consumer_offsets-0 session/accounting/worker-1
restart worker
fire worker retry
run worker: poll
""")
Player(together, step=first(together, "killed"))

# %% [markdown]
# `__consumer_offsets` is a log like any other. The position stands in it as a *transactional* record
# (`orders-0@1 @2`: read on at offset 1; the record itself lies at 2), and gets a marker like any other.
# The first time that is an abort marker, because the restarted worker's `init` aborts the open
# transaction. So the position does not count, the order is read again, and counts once.

# %% [markdown] lang="zh"
# `__consumer_offsets` 和别的日志没有两样。偏移量在里面是一条*事务性*记录（`orders-0@1 @2`：从偏移量 1 接着读；记录本身位于 2），和别的事务性记录一样，也会得到一条控制消息（marker）。第一次得到的是中止的控制消息，因为重启后的工作进程调用 `init`，中止了未结束的事务。所以这个偏移量不算数，订单会再读一次，最终只计入一次。

# %% [markdown]
# ## Put it into order
#
# Seven of these nine pieces make up the loop: a round, and the steps after a round that failed. Your order
# is built into a worker, and all of its schedules are searched: without a fault, with a price service that
# fails once, with a kill anywhere, with a connection that breaks anywhere. *More than one order is right.*
# Run the cell, then move the pieces: each move is written between the brackets of its call.

# %% [markdown] lang="zh"
# ## 排出顺序
#
# 下面九块里有七块组成循环：一轮要做的事，以及一轮失败之后要做的事。你排出的顺序会装进一个工作进程，再搜索它所有可能的执行：没有故障的、价格服务失败一次的、在任意处被杀的、连接在任意处断开的。*正确的顺序不止一种*。请先运行这个单元，再移动各块：每移动一次，结果就写进调用的方括号里。

# %% nbgrader={"solution": true, "grade_id": "order"}
order = ORDER.arrange([
    ### BEGIN SOLUTION
    # As in Kafka's own examples. Inside the transaction, position or output first is all the same.
    "poll", "begin", "send", "offsets", "commit", "abort", "seek"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("loop_order", order)
### END HIDDEN TESTS
check(ORDER, order)

# %% [markdown]
# ## What you know now
#
# Position and output are one decision, because the position is a record like any other. The abort takes
# both back, and leaves the consumer where it is. The group keeps out every member that it has replaced.
# Beyond the cluster's edge everything may happen twice.
#
# The short way ends here. The parts below go deeper; 6 of the 10 points are there. The next lab follows
# the same order into Pulsar, where readers wait at another place:
# [lab 09](09-coordinator-and-buffer.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 偏移量和输出共用一个决定，因为偏移量也不过是一条记录。中止会收回这两样，消费者却仍停在已经读到的地方，不会退回去。成员一旦被替换，消费者组就不再接受它。出了集群，任何事都可能发生两次。
#
# 短路线到此结束。下面的部分继续深入，10 分中有 6 分在那里。下一个实验跟着同一个订单去看 Pulsar，那里的读者等在另一个地方：[实验 09](09-coordinator-and-buffer.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("08")

# %% [markdown] tags=["deeper"]
# ## Deeper: who takes part, and in which stage?

# %% [markdown] lang="zh"
# ## 深入：谁参与其中，在哪个阶段？

# %% [markdown]
# The table has each request of the second run once, in the order in which they first appear. Does the
# *consumer* take part in the transaction?

# %% [markdown] lang="zh"
# 下表列出第二次执行中的各种请求，每种一次，按首次出现的先后排列。*消费者*参与事务吗？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(actors(together))

# %% [markdown]
# Five actors take part: producer, consumer, transaction coordinator, group coordinator, and the brokers that
# lead partitions. The consumer only reads. To the transaction coordinator `__consumer_offsets-0` is one
# more partition that is owed a marker.
#
# | stage | the income | the position |
# |---|---|---|
# | reserve | the leader of `income-0` has it noted: `Ongoing {income-0}` | the group coordinator too: `Ongoing {__consumer_offsets-0, income-0}` |
# | write | Produce to `income-0` | TxnOffsetCommit to `__consumer_offsets-0` |
# | decide | PrepareCommit, once for both | |
# | publish the decision | a marker in `income-0` | a marker in `__consumer_offsets-0` |
# | make visible | the LSO passes, readers get it | pending becomes committed |
# | forget | CompleteCommit | a later position of the group replaces it |
#
# InitProducerId and JoinGroup come before the first stage and belong to none; begin is local.
#
# The first cell below has the calls of the hook's run and the amounts that were counted; the second has
# the log of positions in the run above.

# %% [markdown] lang="zh"
# 参与的有五方：生产者、消费者、事务协调者（transaction coordinator）、组协调者，以及担任分区首领副本（leader）的 broker。消费者只管读。在事务协调者看来，`__consumer_offsets-0` 不过是又一个该收到控制消息的分区。
#
# | 阶段 | 收入 | 偏移量 |
# |---|---|---|
# | 预留 | `income-0` 的 leader 请协调者登记：`Ongoing {income-0}` | 组协调者也这样做：`Ongoing {__consumer_offsets-0, income-0}` |
# | 写入 | 向 `income-0` 发 Produce | 向 `__consumer_offsets-0` 发 TxnOffsetCommit |
# | 决定 | PrepareCommit，两者合用一次 | |
# | 公布决定 | `income-0` 里的一条控制消息 | `__consumer_offsets-0` 里的一条控制消息 |
# | 变为可见 | LSO 越过它，读者读到它 | 偏移量由待定（pending）变为已提交（committed） |
# | 遗忘 | CompleteCommit | 被这个组后来的偏移量取代 |
#
# InitProducerId 和 JoinGroup 在第一个阶段之前，不属于任何阶段；begin 只在本地进行。
#
# 下面第一个单元列出引子那次执行的调用和计入的金额，第二个单元列出上面那次执行的偏移量日志。

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(list_calls(apart), "\n")
print(count_orders(apart))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(offsets(together), "\n")
print(count_orders(together))

# %% [markdown] tags=["deeper"]
# ## Deeper: where is a position that is not decided yet?

# %% [markdown] lang="zh"
# ## 深入：还没有决定的偏移量在哪里？

# %% [markdown]
# The worker has sent its position, and has not committed. Another process asks how far the group has come,
# as a worker does that takes its place.

# %% [markdown] lang="zh"
# 工作进程已经发出偏移量，还没有提交。另一个进程来问这个组读到了哪里，接替它的工作进程也会这样问。

# %% jupyter={"source_hidden": true}
pending = scenario("""
# A position that is pending
system income readers=reader
run worker: init, begin, send income-0 580538+31678, send-offsets accounting orders-0@1
run reader: committed accounting orders-0
fire reader retry
run worker: commit
fire reader retry
run worker: begin, send-offsets accounting orders-0@9, abort
run reader: committed accounting orders-0
""")
Predict("08-pending", trace=pending, step=first(pending, "OffsetFetch"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(offsets(pending), "\n")
print(list_calls(pending, "reader"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "offsets-in-transaction", "OffsetFetch", "TxnOffsetCommit", "EndTxn"))

# %% [markdown]
# While the position is pending, the answer is UNSTABLE_OFFSET_COMMIT. After the commit it counts. After the
# abort it is dropped, and the older position stands. The table is a real Kafka 4.3.1, which was asked in
# the same order. Asked without “require stable”, as old clients do, it returns the older position, and the
# order may be counted twice (KIP-447).
#
# The application notices little. Its `poll()` just gives nothing. But `committed()`, which asks for the
# position itself, throws a TimeoutException after `default.api.timeout.ms` (60 s). A transaction may stay
# open for longer: 60 s until its timeout, and up to 10 s more until the coordinator looks.
#
# A group need not commit by transactions only. While one is pending, a member may commit a position
# *without* a transaction. Which one wins?

# %% [markdown] lang="zh"
# 偏移量待定（pending）的时候，得到的应答是 UNSTABLE_OFFSET_COMMIT。提交之后，这个偏移量就算数。中止之后，它被丢弃，仍以原来的偏移量为准。表中是真实的 Kafka 4.3.1 的应答，询问的顺序相同。旧客户端询问时不带“require stable”，这时它返回原来的偏移量，订单就可能计入两次（KIP-447）。
#
# 应用几乎察觉不到，只是 `poll()` 什么也没有拿到。但 `committed()` 要的就是偏移量本身，过了 `default.api.timeout.ms`（60 s）就会抛出 TimeoutException。事务可能过得更久才结束：满 60 s 才超时，协调者最多还要再过 10 s 才去检查。
#
# 消费者组不一定只用事务来提交偏移量。有一个偏移量待定时，成员仍可以*不用*事务再提交一个。哪一个有效？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
later = scenario("""
# A plain commit, written after the pending one
system income readers=reader
run worker: init, begin, send-offsets accounting orders-0@7
run reader: commit-offsets accounting orders-0@3
run worker: commit
run reader: committed accounting orders-0
""", recorded="group-plain-commit-wins")
print(offsets(later))

# %% [markdown]
# 3 wins against 7. The order *in the log* counts, not the order of the decisions, and not which number is
# larger. So a group should commit its positions in one way only. Beware of `enable.auto.commit`, which is
# on unless you turn it off: it commits positions outside of any transaction, in the background.

# %% [markdown] lang="zh"
# 有效的是 3，不是 7。起作用的是*日志中*的先后，不是作出决定的先后，也不是哪个数更大。所以一个组应当只用一种方式提交偏移量。要当心 `enable.auto.commit`：除非你关掉它，它一直是开着的，会在后台、在任何事务之外提交偏移量。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does an abort take back?

# %% [markdown] lang="zh"
# ## 深入：中止收回了什么？

# %% [markdown]
# The worker has read the order (position 1), has sent income and position, and aborts. It does not restart.
# It polls.

# %% [markdown] lang="zh"
# 工作进程已经读了订单（偏移量 1），发出了收入和偏移量，然后中止。它没有重启，而是接着 poll。

# %% jupyter={"source_hidden": true}
aborted = scenario("""
# After an abort
system income
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678
run worker: send-offsets accounting orders-0@1, abort, position orders-0, poll
run worker: committed accounting orders-0, seek orders-0@0, poll
""")
gone = first(aborted, "abort: ok")
Predict("08-after-abort", trace=aborted, step=gone)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(aborted))

# %% [markdown]
# The poll gives nothing! The order is neither counted nor read again. The next transaction would commit a
# position behind it, and it would be lost for good. Before 4.0 Kafka's own design page said that the
# consumer's position reverts to its old value. Since then it warns you: the *stored* position reverts, but
# the consumer does not rewind by itself. The application has to go back: `seek` to the place where the round
# began, and then the order is there again.

# %% [markdown] lang="zh"
# poll 什么也没有拿到！订单既没有计入，也没有再读一次。下一个事务会提交排在它之后的偏移量，订单就永远丢了。4.0 之前，Kafka 自己的设计文档说，消费者的偏移量会恢复到旧值。从那以后，文档改为提醒你：恢复的是*已保存*的偏移量，消费者不会自己倒回去。倒回去是应用的事：`seek` 到这一轮开始的地方，订单就又来了。

# %% [markdown] tags=["deeper"]
# ## Deeper: two of a kind: who tells them apart?

# %% [markdown] lang="zh"
# ## 深入：两个一模一样的工作进程，谁分得清？

# %% [markdown]
# Worker `one` falls silent in the middle of its work. After its session the group gives it up, and `two`
# takes its place and counts the order. Then `one` wakes up and wants to go on. It was replaced and does not
# know it: a *zombie* (僵尸实例). Here the two have *different* transactional ids, so no epoch tells them apart.

# %% [markdown] lang="zh"
# 工作进程 `one` 干到一半没了动静。会话到期后，消费者组把它除名，由 `two` 接替，计入了这个订单。后来 `one` 醒过来，还想接着干。它已被替换，自己却不知道：这就是*僵尸实例*（zombie）。这里两者的事务 ID *不同*，所以没有哪个 epoch 能分出新旧。

# %% jupyter={"source_hidden": true}
ZOMBIE = """
# One falls silent, two takes over
system income workers=one,two{off}
run one: init, subscribe accounting orders, poll, begin, send income-0 580538+31678
fire __consumer_offsets-0 session/accounting/one-1
run two: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
run one: send-offsets accounting orders-0@1, commit{end}
"""
fenced = scenario(ZOMBIE.format(off="", end=", abort"), recorded="group-old-generation")
Predict("08-two-of-a-kind", trace=fenced, step=first(fenced, "CompleteCommit"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(fenced, "one"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print("with generation fencing:   ", count_orders(fenced).splitlines()[-2])
unfenced = scenario(ZOMBIE.format(off=" off=generation_fencing", end=""))
print("without generation fencing:", count_orders(unfenced).splitlines()[-2])

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "group-generation-fencing", "TxnOffsetCommit", "JoinGroup", "EndTxn"))

# %% [markdown]
# A *generation* (代) says how many times the group's partitions have been reassigned. The *group metadata*
# in `sendOffsetsToTransaction(positions, consumer.groupMetadata())` carries it. A member that is unknown to the
# group gets UNKNOWN_MEMBER_ID; a member of an old generation gets ILLEGAL_GENERATION. The application gets
# one **CommitFailedException** for both, and it is *abortable*: abort, and look for new orders. The last
# table is a real broker. Look at its last TxnOffsetCommit: a position *without* metadata is accepted. So
# never leave it out.

# %% [markdown] lang="zh"
# 消费者组的*代*（generation）记的是组里的分区重新分配过多少次。`sendOffsetsToTransaction(positions, consumer.groupMetadata())` 里的*组元数据*（group metadata）就带着它。组不认识的成员会得到 UNKNOWN_MEMBER_ID，generation 过旧的成员会得到 ILLEGAL_GENERATION。到了应用那里，两者都是同一个 **CommitFailedException**，而且是*可中止的*（abortable）：中止事务，再去取新订单。最后一张表来自真实的 broker。请看其中最后一个 TxnOffsetCommit：偏移量*不带*元数据，也被接受了。所以千万不要省掉元数据。

# %% [markdown] tags=["deeper"]
# ## Deeper: who waits for a worker that falls silent later?

# %% [markdown] lang="zh"
# ## 深入：工作进程后来才没了动静，谁要等它？

# %% [markdown]
# This time `one` falls silent after it *has sent* its position. The group gives it up and `two` gets the
# partition. When can `two` go on?

# %% [markdown] lang="zh"
# 这一次，`one` *已经发出*偏移量，才没了动静。消费者组把它除名，分区归了 `two`。`two` 什么时候才能接着干？

# %% jupyter={"source_hidden": true}
stalled = scenario("""
# A silent worker that has sent its position
system income workers=one,two
run one: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1
fire __consumer_offsets-0 session/accounting/one-1
run two: init, subscribe accounting orders, poll
fire two retry
fire coordinator timeout one
fire two retry
run two: begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
""")
Predict("08-takes-over", trace=stalled, step=first(stalled, "UNSTABLE"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(offsets(stalled), "\n")
print(count_orders(stalled))

# %% [markdown]
# The order is counted once, and late: `two` waited for the whole timeout of a transaction that was not its
# own. So a worker that consumes and produces sets a short `transaction.timeout.ms`. Kafka Streams sets 10 s;
# the producer's default is 60 s.

# %% [markdown] lang="zh"
# 订单只计入一次，但是晚了：`two` 等的是别人的事务，一直等到它超时。所以边消费边生产的工作进程应当把 `transaction.timeout.ms` 设得短一些。Kafka Streams 设为 10 s，生产者的默认值是 60 s。

# %% [markdown] tags=["deeper"]
# ## Deeper: which number is committed?

# %% [markdown] lang="zh"
# ## 深入：提交的是哪个数？

# %% [markdown]
# Order 580538 has offset 0. Two workers differ in one number. Each commits and is then started again, at the
# group's position.

# %% [markdown] lang="zh"
# 订单 580538 的偏移量是 0。有两个工作进程，只有一个数不同。两者都先提交，再重新启动，从消费者组的偏移量读起。

# %% tags=["nbval-check-output"]
NUMBER = """
system income orders=580538:31678,580539:31073
run worker: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send income-0 580539+31073
run worker: send-offsets accounting orders-0@{offset}, commit, unsubscribe
run worker: subscribe accounting orders, poll
"""
for name, number in (("the last one processed", 1), ("the next one to read", 2)):
    run = scenario(NUMBER.format(offset=number))
    print(f"{name}, {number}: starting over it reads", list_calls(run).split("ok ")[-1])

# %% [markdown]
# The committed position is **at least last + 1**: the next offset to read. It may be more, because markers
# take offsets too (lab 07). A process that books the `income` reads one record, and behind it lies a
# marker. Which lag does a monitoring tool show, if it subtracts the committed position from the end?

# %% [markdown] lang="zh"
# 提交的偏移量**至少是 last + 1**，也就是下一条要读的偏移量。它还可能更大，因为控制消息也占偏移量（实验 07）。有一个进程给 `income` 记账，它读到一条记录，后面是一条控制消息。监控工具用末尾减去已提交的偏移量，会显示多大的滞后（lag）？

# %% tags=["nbval-check-output"]
LAG = """
system income readers=booking
run worker: init, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
run booking: poll income-0, commit-offsets booking income-0@{offset}, end-offset income-0, position income-0
"""
rows = []
for name, number in (("last + 1", 1), ("position()", 2)):
    answers = list_calls(scenario(LAG.format(offset=number)), "booking").splitlines()
    end = int(answers[4].split()[-1])
    rows.append((name, number, end, end - number))
print(table("commits | committed | end offset | lag, for ever", rows))

# %% [markdown]
# A process that commits last + 1 keeps a lag of 1 that never reaches 0, though everything is read. The best
# number is the consumer's own: `position()`, or `nextOffsets()` of the records that a poll gave (Java 4.0
# and later). `sendOffsetsToTransaction` names the latter in its documentation.

# %% [markdown] lang="zh"
# 提交 last + 1 的进程，明明全都读完了，lag 却永远是 1，到不了 0。最好的数是消费者自己给的：`position()`，或者 poll 所得记录的 `nextOffsets()`（Java 4.0 及以后）。`sendOffsetsToTransaction` 的文档里写的就是后者。

# %% [markdown] tags=["deeper"]
# ## Deeper: which is the shortest kill that counts an order twice?

# %% [markdown] lang="zh"
# ## 深入：让订单计入两次，最短的 kill 是怎样的？

# %% [markdown]
# Here are three workers, written as functions. `app` is a consumer and a producer in one; each call that
# fails raises an exception. Begin with the one from the hook: it has sent the order's income and asks for the
# commit. Kill it yourself, in the picture or by the buttons: *how few choices do you need until the order is
# counted twice?* (A restarted worker starts its function again; *let it run* does the steps that need no
# decision.)

# %% [markdown] lang="zh"
# 下面是三个工作进程，都写成函数。`app` 既是消费者又是生产者，调用失败就抛出异常。先看引子里的那个：它已经发出订单的收入，正要提交。请你在图上或者用按钮亲手杀掉它：*最少做几次选择，就能让订单计入两次？*（工作进程重启后，函数从头开始；*自动运行*会完成不需要作决定的步骤。）

# %%
def position_last(app: App):
    while orders := app.poll():
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.commit()
        app.commit_offsets(orders[-1].offset + 1)


def position_first(app: App):
    while orders := app.poll():
        app.commit_offsets(orders[-1].offset + 1)
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.commit()


def in_one_transaction(app: App):
    while orders := app.poll():
        app.begin()
        for order in orders:
            app.send(app.income(order))
        app.send_offsets(orders[-1].offset + 1)
        app.commit()


play = Play(build_worker(position_last))
play.go_on(held=["worker>income-0"])  # everything happens, but the income stays under way
play.do("worker>income-0")
play.go_on(held=["worker>coordinator"])  # and now the request to commit
Playground(
    Play(play.system, play.choices),
    goal="counted once",
    panels=["space-time", "logs", "readers", "lights", "graphs", "tables"],
)

# %% [markdown]
# Now the explorer tries one kill of the worker at any moment, also in the middle of a step, and every
# order of events:

# %% [markdown] lang="zh"
# 现在让探索器来试：在任意时刻（包括一步的中间）杀一次工作进程，并试遍事件的每一种先后：

# %% tags=["nbval-check-output"]
shortest = {}
for work in (position_last, position_first, in_one_transaction):
    verdict = explore(build_worker(work), KILL)
    assert verdict.complete
    broken = [f"{n}, {len(c.schedule)} choices" for n, c in verdict.counterexamples.items()]
    shortest |= {(work, n): c for n, c in verdict.counterexamples.items()}
    print(f"{work.__name__:<20}broken: {'; '.join(broken) or 'nothing'}")

# %%
example = shortest[position_last, "counted once"].trace()
title = say("The shortest kill that counts twice")
Player(example, step=first(example, "killed"), title=title)

# %% [markdown]
# Position last is *at least once*. Position first is *at most once*, and its promise *what counts as read was
# counted* does not even hold while everything goes well. In one transaction neither happens, in any run.

# %% [markdown] lang="zh"
# 偏移量放在最后，是*至少一次*（at least once）。偏移量放在最前，是*至多一次*（at most once），而且*算作已读的都已计入*这个承诺，就算一切正常也守不住。放在一个事务里，不论怎样执行，既不会重复，也不会丢。

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguard is necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Guess first what breaks. Here is your worker in one transaction, with two safeguards taken away.

# %% [markdown] lang="zh"
# 先猜一猜会出什么问题。下面还是那个把一切放在一个事务里的工作进程，去掉了两项保护措施，一次去掉一项。

# %% tags=["nbval-check-output"]
found = {}
rows = []
for name in ("offsets_in_transaction", "generation_fencing"):
    case = SAFEGUARD_CASES[name]
    found[name] = search(case)
    rows.append((name, case.anomaly, case.broken, len(found[name].schedule)))
print(table("without | anomaly | broken promise | choices", rows))
verdict = explore(build_worker(in_one_transaction, off="offsets_in_transaction"), KILL)
for name, example in verdict.counterexamples.items():
    print(f"in_one_transaction without the first: {name}, {len(example.schedule)} choices")

# %% [markdown]
# The first row: if a position counts as soon as it is written, then a kill leads to an abort that drops the
# income and keeps the position, and the order is lost. The second row: the member that was given up commits
# as well as its successor. This is that run:

# %% [markdown] lang="zh"
# 第一行：如果偏移量一写下就算数，那么进程被杀、事务中止之后，收入丢弃了，偏移量却留了下来，订单就丢了。第二行：已被除名的成员和它的接替者都提交了。执行过程如下：

# %%
zombie = found["generation_fencing"].trace()
Player(zombie, title=say("Without generation fencing"))

# %% [markdown] tags=["deeper"]
# ## Deeper: write the loop

# %% [markdown] lang="zh"
# ## 深入：编写这个循环

# %% [markdown]
# A worker that keeps position and output in one transaction is still not good enough: when `app.income`
# raises (the price service does not answer) its process dies. Write a loop that counts every order exactly
# once *and goes on*.
#
# | call | what it does |
# |---|---|
# | `app.poll()` | a list of orders, each with `.offset` and `.value`; empty: nothing left, `return` |
# | `app.income(order)` | its income; raises `Abortable` when the price is not known |
# | `app.begin()`, `app.commit()`, `app.abort()` | the producer's transaction |
# | `app.send(value)` | into `income-0` |
# | `app.send_offsets(offset)` | the position, in the transaction, with the group's metadata |
# | `app.commit_offsets(offset)` | the position, by the consumer, apart from any transaction |
# | `app.seek(offset)` | the consumer reads on there |
#
# A call that fails raises `Abortable` (abort, then go on) or `Refused` (only a new process helps: do not
# catch it). `init` and the search for the group's position are done before your function begins.
#
# It is tried with a price service that fails, with a kill after each of its calls, silent for longer than
# its session after each of its calls while another worker takes its place, and then with every schedule of
# one order, with a kill anywhere and with a broken connection anywhere. Two hints wait:
# `print(LOOP.hint(1))`, `print(LOOP.hint(2))`.


# %% [markdown] lang="zh"
# 把偏移量和输出放进一个事务的工作进程还不够好：`app.income` 一抛异常（价格服务没有应答），进程就死了。请写一个循环，让每个订单恰好计入一次，*而且能继续干下去*。
#
# | 调用 | 作用 |
# |---|---|
# | `app.poll()` | 返回订单列表，每个订单有 `.offset` 和 `.value`；列表为空就是没有了，应当 `return` |
# | `app.income(order)` | 返回它的收入；价格未知时抛出 `Abortable` |
# | `app.begin()`、`app.commit()`、`app.abort()` | 生产者的事务 |
# | `app.send(value)` | 写入 `income-0` |
# | `app.send_offsets(offset)` | 在事务中发送偏移量，带上组元数据 |
# | `app.commit_offsets(offset)` | 由消费者提交偏移量，不属于任何事务 |
# | `app.seek(offset)` | 消费者改从那里读起 |
#
# 调用失败时抛出 `Abortable`（中止，然后继续）或 `Refused`（只有换新进程才行：不要捕获它）。`init` 以及查询消费者组的偏移量，在你的函数开始之前就已完成。
#
# 检查时，先让价格服务失败；再在每次调用之后杀掉进程；再让它在每次调用之后一直没有动静，直到会话到期，由另一个工作进程接替；最后针对一个订单试遍所有可能的执行，包括在任意处杀掉进程、在任意处断开连接。有两条提示可看：`print(LOOP.hint(1))`、`print(LOOP.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "loop"}
def work(app: App):
    """Read orders, write income, count each order exactly once."""
    ### BEGIN SOLUTION
    while orders := app.poll():
        try:
            app.begin()
            for order in orders:
                app.send(app.income(order))
            app.send_offsets(orders[-1].offset + 1)
            app.commit()
        except Abortable:
            app.abort()
            # The abort has taken back what was written, not where this consumer stands.
            app.seek(orders[0].offset)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "loop-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("loop", work)
### END HIDDEN TESTS
check(LOOP, work)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a released client do?

# %% [markdown] lang="zh"
# ## 深入：正式发布的客户端会怎么做？

# %% [markdown]
# The loop is now a program of its own, with an unmodified consumer and producer of confluent-kafka. It reads
# four orders and writes an invoice for each, together with its position, in one transaction per order. In the
# third transaction, when all is sent and nothing is committed, the program is killed with `kill -9` and
# started again. *Before you run it: at which offset does the second life begin, and how many invoices for
# 580540 does each kind of reader get?*

# %% [markdown] lang="zh"
# 现在这个循环是一个独立的程序，用的是未经改动的 confluent-kafka 消费者和生产者。它读四个订单，为每个订单写一张发票，发票和偏移量放在同一个事务里，每个订单一个事务。在第三个事务中，一切都已发出、什么都还没有提交的时候，用 `kill -9` 杀掉程序，再启动一次。*运行之前先想一想：第二次启动后从哪个偏移量读起？两种读者各会读到几张 580540 的发票？*

# %% tags=["nbval-check-output"]
from mqlab.lessons.kafka.lab08 import kill_the_loop

print(kill_the_loop())

# %% [markdown]
# The position was in the transaction that was aborted, so the second life begins before 580540. The invoice of
# the first life is still in the log, and an abort marker behind it: only a reader of committed data leaves it
# out. Nobody had to wait for a timeout, because the second life asked for the same `transactional.id`.

# %% [markdown] lang="zh"
# 偏移量属于那个已中止的事务，所以第二次启动后从 580540 之前读起。第一次写的发票还在日志里，后面跟着一条中止的控制消息：只有读已提交的读者会略过它。谁也不必等到超时，因为第二次启动用的是同一个 `transactional.id`。

# %% [markdown] tags=["deeper"]
# ## Deeper: where does the promise end?

# %% [markdown] lang="zh"
# ## 深入：承诺到哪里为止？

# %% [markdown]
# Suppose `income` also sent an e-mail to the customer, or added the £316.78 to a row of a database. This is
# the best loop there is, killed after each of its calls. How many e-mails, how many orders?

# %% [markdown] lang="zh"
# 假如 `income` 还要给顾客发一封电子邮件，或者把 £316.78 加到数据库的一行上。下面是能写出的最好的循环，在每次调用之后各杀一次。会发出几封邮件，计入几个订单？

# %% tags=["nbval-check-output"]
print(side_effects(in_one_transaction))

# %% [markdown]
# *Exactly once* (精确一次) is about the orders that **count in Kafka**, not about the number of times that your
# function runs. See the “2, 1” in the middle: the customer has two e-mails, the books have one order. No
# broker can take an e-mail back. For a database, write the row and the position in *its* transaction, or
# make the write idempotent (lab 11).
#
# People use these words for two promises. One is the promise of a *messaging service*: a message that the
# producer sends is stored once. The other is about *read, compute, save*: the input, the result and the
# position in the input move together. (The loop below calls `flush` before it commits a position. Here a send
# that fails raises an exception. In Java `flush` returns normally even when sends have failed. Check the
# futures that `send` gave you, or the position is committed although the income is lost.)

# %% [markdown] lang="zh"
# *精确一次*（exactly once）说的是**在 Kafka 里计入**的订单，不是你的函数执行的次数。请看中间的“2, 1”：顾客收到两封邮件，账上只有一个订单。没有哪个 broker 能收回邮件。若是数据库，就把那一行和偏移量写进*数据库的*事务，或者让写入幂等（idempotent，实验 11）。
#
# 人们用这个词来指两种不同的承诺。一种是*消息服务*的承诺：生产者发送的消息只存一次。另一种关乎*读取、计算、保存*：输入、结果和输入中的偏移量一起前进。（下面的循环在提交偏移量之前调用 `flush`。这里发送失败会抛出异常。在 Java 里，即使有发送失败，`flush` 也正常返回。要检查 `send` 返回的 future，否则收入丢了，偏移量却照样提交。）

# %% tags=["nbval-check-output"]
def messaging(app: App):
    while orders := app.poll():
        for order in orders:
            app.send(app.income(order))
        app.flush()
        app.commit_offsets(orders[-1].offset + 1)


rows = []
for fault, budget in (("an answer is lost", Budget(breaks=1)), ("the worker dies", KILL)):
    verdicts = (
        explore(build_worker(messaging, transactional=False), budget),
        explore(build_worker(in_one_transaction), budget),
    )
    assert all(verdict.complete for verdict in verdicts)
    rows.append((fault, *("once" if v.ok else "twice, in some run" for v in verdicts)))
print(table("fault | idempotent producer, position apart | read, compute, save in one", rows))

# %% [markdown]
# ```text
#  messaging                      read – compute – save
#
#  producer ──▶ [ broker ]        [ orders ] ──▶ compute ──▶ [ income ]
#           stored once               └──── position ─────────┘
#                                          one decision
# ```
#
# The left one is lab 05: it ends where the message is stored. The right one begins where it is read.

# %% [markdown] lang="zh"
# ```text
#  messaging                      read – compute – save
#
#  producer ──▶ [ broker ]        [ orders ] ──▶ compute ──▶ [ income ]
#           stored once               └──── position ─────────┘
#                                          one decision
# ```
#
# 左图是实验 05 的内容，到消息存下为止。右图从读取消息开始。

# %% [markdown] tags=["deeper"]
# ## Deeper: two stages: what chains them?

# %% [markdown] lang="zh"
# ## 深入：两级处理，靠什么连接？

# %% [markdown]
# Real programs are graphs of such loops. `first` makes income of orders, `second` makes entries in the
# `ledger` of income, in a group of its own. `first` is killed when it wants to commit.

# %% [markdown] lang="zh"
# 真实的程序是由这样的循环连成的图。`first` 把订单算成收入，`second` 读取收入，记入 `ledger`，并且自成一个消费者组。`first` 在要提交的时候被杀。

# %% jupyter={"source_hidden": true}
stages = scenario("""
# Two stages, and a kill in the first
system income outputs=income,ledger workers=first,second
kill first when=EndTxn#1 after=0
run first: init, subscribe accounting orders, poll, begin, send income-0 580538+31678, send-offsets accounting orders-0@1, commit
run second: init, subscribe booking income, poll
fire __consumer_offsets-0 session/accounting/first-1
restart first
fire first retry
run second: poll, begin, send ledger-0 580538=31678, send-offsets booking income-0@3, commit, poll
""")
Predict(
    "08-second-stage",
    trace=stages,
    step=first(stages, "killed"),
    panels=["space-time", "logs", "readers", "lights", "graphs", "tables"],
)

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(list_calls(stages, "second"))
for topic in ("income", "ledger"):
    print(count_orders(stages, topic))

# %% [markdown]
# Each stage has a transaction of its own, and *read_committed* chains the stages. So a graph of any size is
# exactly once, edge by edge, and each edge adds the time of a commit. The ledger commits position 3 of
# `income-0` though it has read one record: the aborted one and its marker took 0 and 1. Kafka Streams with
# `processing.guarantee=exactly_once_v2` is such a graph.

# %% [markdown] lang="zh"
# 每一级有自己的事务，级与级之间靠 *read_committed* 连接。所以无论图有多大，每一条边都是精确一次，整张图也就是精确一次；每条边要多花一次提交的时间。ledger 这一级只读到一条记录，提交的却是 `income-0` 的偏移量 3：中止的那条记录和它的控制消息占了 0 和 1。设置了 `processing.guarantee=exactly_once_v2` 的 Kafka Streams 就是这样一张图。

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | exactly once covers my database, or my function runs once | an order counts once in Kafka; the function may run again | where it ends |
# | an abort rewinds the consumer | only the committed position; `seek` is your work | an abort |
# | the committed offset is the last one processed | at least last + 1, the next to read | which number |
# | a lag that does not reach 0 is work left undone | it may be a marker that nobody counts as read | which number |
# | a worker that is given up holds nobody up | its pending position does, until its timeout | who waits |
# | the transaction is enough, the position may follow | apart, a crash in between counts twice | Hook, shortest kill |
# | the consumer takes part in the transaction | the producer sends the position | Run |
# | a pending position is read as the old one | UNSTABLE_OFFSET_COMMIT: ask again | not decided yet |
# | the larger position wins | the one that is later in the log | not decided yet |
# | only epochs fence | the group's generation does too | two of a kind |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 精确一次也管我的数据库，或者我的函数只执行一次 | 一个订单在 Kafka 里计入一次；函数可能再次执行 | 承诺到哪里为止 |
# | 中止会让消费者倒回去 | 恢复的只有已提交的偏移量；`seek` 要你自己做 | 中止 |
# | 提交的偏移量是最后处理的那一条 | 至少是 last + 1，下一条要读的 | 哪个数 |
# | lag 到不了 0，就是还有活没干完 | 可能只是一条控制消息没有算作已读 | 哪个数 |
# | 工作进程一经除名，就不再耽误别人 | 它待定的偏移量还会，直到超时 | 谁要等 |
# | 有事务就够了，偏移量可以随后提交 | 分开提交，中间一宕机就计入两次 | 引子、最短的 kill |
# | 消费者参与事务 | 偏移量由生产者发送 | 执行 |
# | 偏移量待定时，读到的是旧偏移量 | UNSTABLE_OFFSET_COMMIT：再问一次 | 还没有决定 |
# | 偏移量大的有效 | 日志中靠后的有效 | 还没有决定 |
# | 只有 epoch 能隔离（fence） | 组的 generation 也能 | 两个一样的 |

# %% [markdown] tags=["deeper"]
# ## Deeper: a bank, the same loop

# %% [markdown] lang="zh"
# ## 深入：换成银行，循环不变

# %% [markdown]
# A bank's desk reads loans from `loans-0` and grants each as a credit in `credits-0`. Ada has asked for £9000
# (`Ada:900000`, in pence). *Money* now means that the credits granted are those of the loans that count as
# read. The bank runs the worker of the hook. It is killed when it wants to commit its position, and started
# again.

# %% [markdown] lang="zh"
# 银行的一个柜台从 `loans-0` 读取贷款申请，每批准一笔，就在 `credits-0` 里写一笔放款。Ada 申请了 £9000（`Ada:900000`，以便士计）。*金额*一栏现在的意思是：批准的放款，恰好对应算作已读的那些申请。银行用的是引子里的工作进程。它在要提交偏移量的时候被杀，再重新启动。

# %% jupyter={"source_hidden": true}
BANK = """
# {title}
system income topic=loans orders=Ada:900000 outputs=credits workers=desk
kill desk when={last_call}#1 after=0
run desk: init, subscribe lending loans, poll, begin, send credits-0 Ada=900000, {end}
fire __consumer_offsets-0 session/lending/desk-1
restart desk
"""
granted_twice = scenario(
    BANK.format(
        title=say("A bank that commits the credit and the position apart"),
        last_call="OffsetCommit",
        end="commit, commit-offsets lending",
    )
)
granted_once = scenario(
    BANK.format(
        title=say("A bank that commits the credit and the position together"),
        last_call="EndTxn",
        end="send-offsets lending loans-0@1, commit",
    )
    + "fire desk retry\nrun desk: poll\n"
)
Player(granted_twice, step=find_red_step(granted_twice, "money"))

# %% [markdown]
# The light is red: Ada has two credits of £9000, and has asked for one. Now the worker sends its position
# in the transaction, and is killed when it wants to commit that.

# %% [markdown] lang="zh"
# 指示灯变红了：Ada 只申请了一笔 £9000，却得到两笔。现在，工作进程把偏移量放在事务里发送，在要提交这个事务的时候被杀。

# %% tags=["nbval-check-output"]
for name, run in (("apart", granted_twice), ("in the transaction", granted_once)):
    red = find_red_step(run, "money")
    print(f"position {name}; money is {f'red from step {red}' if red else 'green throughout'}:")
    print(count_orders(run, "credits"), "\n")

# %% [markdown]
# The first credit was aborted together with its position, so the loan was read again and granted once. The
# worker does not know what a loan is: the same loop grants credits and counts orders.
#
# On other brokers:
#
# | | Kafka | Pulsar (lab 10) | RocketMQ (lab 04) |
# |---|---|---|---|
# | what is “consumed” | one number per partition | an acknowledgement per message | one number per queue |
# | joins the transaction | as a record of `__consumer_offsets` | as a pending acknowledgement | not at all |
# | while undecided | UNSTABLE_OFFSET_COMMIT | the message is delivered to nobody else | – |
# | after an abort | stands behind it: `seek` | is delivered again, if acknowledged one by one | – |
# | the loop is exactly once | yes | yes | no: make the output idempotent |

# %% [markdown] lang="zh"
# 第一笔放款连同它的偏移量一起中止，所以申请又读了一次，只放了一笔款。工作进程并不知道什么是贷款：同一个循环，既能放款，也能计算订单收入。
#
# 在别的 broker 上：
#
# | | Kafka | Pulsar（实验 10） | RocketMQ（实验 04） |
# |---|---|---|---|
# | “已消费”是什么 | 每个分区一个数 | 每条消息一个确认 | 每个队列一个数 |
# | 怎样加入事务 | 作为 `__consumer_offsets` 的一条记录 | 作为待定确认（pending ack） | 不加入 |
# | 还没有决定时 | UNSTABLE_OFFSET_COMMIT | 消息不投递给别人 | – |
# | 中止之后 | 消费者停在消息之后：要 `seek` | 若是逐条确认，会重新投递 | – |
# | 循环是精确一次 | 是 | 是 | 否：要让输出幂等 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# The bank's desk sends its position in the transaction, as in the second run. For each loan its function
# also calls the SMS service (“your credit is granted”). One night the desk is killed between
# `send_offsets` and `commit`, and started again.

# %% [markdown] lang="zh"
# 银行的柜台和第二次执行一样，在事务里发送偏移量。每处理一笔贷款，它的函数还要调用短信（SMS）服务（“您的贷款已发放”）。一天夜里，柜台在 `send_offsets` 和 `commit` 之间被杀，再重新启动。

# %% jupyter={"source_hidden": true}
Predict("08-exit-ticket", trace=granted_once, step=first(granted_once, "killed"))
