# %% [markdown]
# # Lab 06 · What does commit do, in which order?
#
# *90 minutes, or a short way of 20* · Kafka 4.3, `transaction.version` 2 and 0, clients old and new
#
# **In one paragraph.** Every transactional producer has one broker that decides for it, its *transaction
# coordinator* (事务协调者). In this lab two instances of one order service meet, you follow a commit from
# the call to the last record, and you put the coordinator's work into an order that survives every death.
#
# **The short way:** Hook, Predict, One commit, Order, What you know now. The other parts are folded under
# headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. A part may use
# what stands above it: *Run All Above Selected Cell* in the menu *Run* runs that first.
#
# **You need** lab 05 for three words. A *producer id* is the number of a producer; an *epoch* is the
# number of its lives; a *sequence number* counts its records in one partition.

# %% [markdown] lang="zh"
# # 实验 06 · 提交做了哪些事，按什么顺序？
#
# *90 分钟，短路线约 20 分钟* · Kafka 4.3，`transaction.version` 2 和 0，新旧客户端
#
# **一段话概括**：每个事务型生产者都有一个替它作决定的 broker，叫*事务协调者*（transaction coordinator）。在这个实验里，同一个订单服务会有两个实例同时在跑；你会跟着一次提交，从调用一直走到最后一条记录；还要把协调者的工作排成一个顺序，使它无论在哪一步宕机，都守得住承诺。
#
# **短路线**：引子、预测、一次提交、顺序、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。有些单元打印的短标签仍是英文。
#
# **你需要**先知道实验 05 的三个词。*生产者 ID*（producer id）是生产者的编号；*epoch* 说明它是第几代；*序列号*（sequence number）给它在一个分区里的记录计数。

# %% [markdown]
# ## Hook: order 580538 is charged twice
#
# The gift shop's order service stops for a minute: a long garbage collection. The platform takes it
# for dead and starts another instance. The new instance finds that order 580538 has not been charged, and
# charges it. Then the old one wakes up in the middle of its work and charges order 580538 as well.
#
# Both run the same program, in Java
# `initTransactions(); beginTransaction(); send(…); commitTransaction();`. The light *money* watches that
# money in = money out: each order is charged once. One safeguard of Kafka is switched off here
# (`off=epoch_fencing`). Step with the arrow keys.

# %% [markdown] lang="zh"
# ## 引子：订单 580538 收了两次款
#
# 礼品店的订单服务停顿了一分钟，因为一次漫长的垃圾回收。平台以为它宕机了，启动了另一个实例。新实例发现订单 580538 还没有收款，就收了款。这时旧实例在工作中途醒来，也给订单 580538 收了款。
#
# 两个实例运行同一个程序，用 Java 写就是 `initTransactions(); beginTransaction(); send(…); commitTransaction();`。*金额*（money）这盏指示灯盯着进账 = 出账：每个订单只收一次款。这里关闭了 Kafka 的一项保护措施（`off=epoch_fencing`）。用方向键逐步查看。

# %% jupyter={"source_hidden": true}
from IPython.display import display

from mqlab.lab import (
    Budget,
    Player,
    Playground,
    Predict,
    check,
    continue_scenario,
    explore,
    say,
    scenario,
    search,
    system,
    vary,
    with_everything_on,
)
from mqlab.lessons.kafka.lab06 import (
    ADMIT,
    COMMIT,
    SAFEGUARD_CASES,
    UNANSWERED,
    answers,
    broker_map,
    coordinator_of,
    costs,
    data_flow,
    find_lines,
    find_red_step,
    find_timeout,
    first,
    latest,
    list_calls,
    list_kills,
    list_reads,
    list_safeguards,
    never_unknown,
    read_recording,
    records,
    requests,
    table,
    transitions,
)

# %%
unfenced = scenario("""
# Two instances of the order service, and nobody is fenced
system charges partitions=1 producers=old:order-service,new:order-service off=epoch_fencing
run old: init
run new: init, begin, send charges-0 580538, commit
run old: begin, send charges-0 580538, commit
""")
Player(unfenced, step=find_red_step(unfenced, "money"))

# %% [markdown]
# Every call returned `ok`, and a reader of committed data books order 580538 twice. Neither transaction is
# wrong. There were two of them. An instance that was replaced and does not know it is a *zombie* (僵尸实例).

# %% [markdown] lang="zh"
# 每个调用都返回 `ok`，只读已提交数据的读者却给订单 580538 记了两次账。两个事务本身都没有错，问题是有两个。一个实例已被取代，自己却不知道，就叫*僵尸实例*（zombie）。

# %% [markdown]
# ## Predict
#
# The same two instances meet again, with the safeguard on. This time the old one stops in the *middle* of
# its transaction: its record is in the log, and it has not called commit.

# %% [markdown] lang="zh"
# ## 预测
#
# 还是这两个实例，但保护措施已经打开。这次旧实例停在事务的*中途*：它的记录已经在日志里，但还没有调用 commit。

# %% jupyter={"source_hidden": true}
fenced = scenario("""
# A new instance starts while the old one has a transaction open
system charges client=legacy partitions=1 producers=old:order-service,new:order-service
run old: init, begin, send charges-0 580538
run new: init
fire new retry
run new: begin, send charges-0 580538, commit
run old: commit
""", recorded="init-during-ongoing")
Predict("06-left-open", trace=fenced, step=first(fenced, "CONCURRENT_TRANSACTIONS") - 2)

# %% [markdown]
# The request behind `initTransactions()` is InitProducerId. The new instance's first one is answered
# CONCURRENT_TRANSACTIONS: “not now, ask again”. Before that answer leaves, the abort is decided, with
# epoch 1. Then a *marker* (控制消息), the record that ends a transaction in one partition, carries epoch 1
# into `charges-0` and shuts the old instance out there too. The second InitProducerId gets epoch 2. To
# refuse an older epoch is called *fencing* (隔离).

# %% [markdown] lang="zh"
# `initTransactions()` 背后的请求是 InitProducerId。新实例的第一个请求得到的应答是 CONCURRENT_TRANSACTIONS，意思是“现在不行，稍后再问”。在这个应答发出之前，中止就已经决定了，用的是 epoch 1。然后是*控制消息*（marker），也就是在一个分区里结束事务的那条记录；它把 epoch 1 带进 `charges-0`，在那里也把旧实例挡住。第二个 InitProducerId 得到 epoch 2。拒绝更旧的 epoch，就叫*隔离*（fencing）。

# %% [markdown]
# ## One commit, from the call to the last record
#
# A transaction goes through six stages: **reserve → write → decide → publish the decision → make visible
# → forget**. Step through this one and find each stage. Which record does the coordinator write before it
# answers the client, and which after?

# %% [markdown] lang="zh"
# ## 一次提交：从调用到最后一条记录
#
# 一个事务要经过六个阶段：**预留 → 写入 → 决定 → 公布决定 → 变为可见 → 遗忘**。把这次执行逐步走一遍，找出每个阶段。协调者在应答客户端之前写了哪条记录，之后又写了哪条？

# %% jupyter={"source_hidden": true}
KAFKAS = {"TV0": "transaction_version=0", "TV2, legacy": "client=legacy", "TV2, v2": "client=v2"}
ONE = "\nrun app: init, begin, send charges-0 580538, flush, send charges-1 580539, commit"
once = scenario(f"system charges partitions=2{ONE}", recorded="basic-commit")
Player(once, step=first(once, "EndTxn"))

# %% [markdown]
# The producer writes its commit nowhere: it sends one request, EndTxn. The coordinator appends
# **PrepareCommit** and answers as soon as that record is safe. Then the markers leave, one for each
# partition. Nobody is asked for a vote. The partitions hold the records already and have no reason to
# refuse.

# %% [markdown] lang="zh"
# 生产者没有把提交写到任何地方，它只发了一个请求：EndTxn。协调者追加 **PrepareCommit**，这条记录一存妥，它就应答。然后控制消息发出，每个分区一条。没有人需要投票：记录早就在分区里，分区没有理由拒绝。

# %% [markdown]
# ## Order: what does commit do?
#
# Five of these ten pieces are EndTxn. Put them in order. Your order is built into a coordinator,
# and every schedule with one kill and one timeout is searched. Run the cell, then move the pieces:
# each move is written into the cell, between the brackets. Hint: *more than one order is right.*

# %% [markdown] lang="zh"
# ## 顺序：提交做了什么？
#
# 这十个步骤里，有五个组成 EndTxn。请把这五步排出顺序。你的顺序会装进一个协调者，再搜索带有一次 kill 和一次超时的所有可能的执行。先运行这个单元，再移动各个步骤：每移动一次，结果就写进单元的方括号里。提示：*正确的顺序不止一种。*

# %% nbgrader={"solution": true, "grade_id": "order"}
order = COMMIT.arrange([
    ### BEGIN SOLUTION
    # Kafka's own: decide, answer, tell, wait, forget.
    "prepare", "reply", "markers", "wait", "complete"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("commit", order)
### END HIDDEN TESTS
check(COMMIT, order)

# %% [markdown]
# ## What you know now
#
# One record decides, and it outlives the coordinator that wrote it. The holder of the latest epoch speaks for
# an id; nobody else does.
#
# The short way ends here. The parts below go deeper; 7 of the 10 points are there. The next lab asks
# when a reader sees a decision: [lab 07](07-markers-and-lso.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 起决定作用的是一条记录，写下它的协调者死了，它也还在。只有持有最新 epoch 的实例，才能代表一个 ID。
#
# 短路线到此结束。下面的部分继续深入；10 分中有 7 分在那里。下一个实验要问读者什么时候看到决定：[实验 07](07-markers-and-lso.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("06")

# %% [markdown] tags=["deeper"]
# ## Deeper: who is refused after a fence, and with which error?

# %% [markdown] lang="zh"
# ## 深入：隔离之后，谁会遭到拒绝，错误是哪一个？

# %% [markdown]
# The first table shows the calls of the old instance in the run above. The second is a real Kafka 4.3.1,
# which gave the same epochs to the same requests (P is the producer id).

# %% [markdown] lang="zh"
# 第一张表是旧实例在上面那次执行里的调用。第二张表来自真实的 Kafka 4.3.1，对同样的请求，它给出了同样的 epoch（P 是生产者 ID）。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print("without fencing:", list_reads(unfenced).splitlines()[0])
print("with fencing:   ", list_reads(fenced).splitlines()[0])
print(list_calls(fenced, "old"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "init-during-ongoing", "InitProducerId", "Describe", "ABORT"))

# %% [markdown]
# Now a zombie sends single requests by hand. Which of them does the coordinator refuse, and which does the
# leader of a partition?

# %% [markdown] lang="zh"
# 现在让僵尸实例手工发送单个请求。其中哪些由协调者拒绝，哪些由分区的 leader 拒绝？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
AFTER_A_FENCE = """
system asking partitions=1 producers=app:order-service,zombie:raw
run app: init, begin, send orders-0 a
run zombie: InitProducerId
run app: abort, begin
run zombie: Produce orders-0 x pid=0 epoch=0 seq=1, AddPartitionsToTxn orders-0 pid=0 epoch=0
run zombie: EndTxn commit pid=0 epoch=0 v=4, EndTxn commit pid=7 epoch=0 v=4
"""
print(answers(scenario(AFTER_A_FENCE), "zombie"))

# %% [markdown]
# The older epoch is refused by the *coordinator* with PRODUCER_FENCED, and by a partition's *leader* with
# INVALID_PRODUCER_EPOCH. Another producer id is refused with INVALID_PRODUCER_ID_MAPPING.

# %% [markdown] lang="zh"
# 更旧的 epoch，*协调者*用 PRODUCER_FENCED 拒绝，分区的 *leader* 用 INVALID_PRODUCER_EPOCH 拒绝。另一个生产者 ID，则用 INVALID_PRODUCER_ID_MAPPING 拒绝。

# %% [markdown] tags=["deeper"]
# ## Deeper: a name, and where its coordinator is

# %% [markdown] lang="zh"
# ## 深入：一个名字，以及它的协调者在哪里

# %% [markdown]
# `transactional.id` names the application across its lives. Some tutorials put a random one there,
# “to be unique”. Decide what that does.

# %% [markdown] lang="zh"
# `transactional.id` 是应用的名字，不管应用重启多少次，名字都不变。有些教程却在这里放一个随机值，“以保证唯一”。请判断这样做的后果。

# %% jupyter={"source_hidden": true}
random_ids = scenario("""
# Each instance makes up an id
system charges partitions=1 producers=old:pay-7f3a,new:pay-91c2
run old: init, begin, send charges-0 580538
run new: init, begin, send charges-0 580538, commit
run old: commit
""", recorded="lab06-random-ids")
Predict("06-random-ids", trace=random_ids, step=first(random_ids, "commit: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_calls(random_ids, "old"))
print(list_reads(random_ids))

# %% [markdown]
# Random ids never fence *each other*, and the transactions they leave open block readers until their
# timeout. (One random id per process is legitimate where consumed offsets are part of the transaction, as
# in Kafka Streams: there the group fences, lab 08.)
#
# The name also leads to the coordinator.

# %% [markdown] lang="zh"
# 随机 ID 之间绝不会*互相*隔离，而各自留下的未结束事务会一直挡住读者，直到超时。（如果消费的偏移量是事务的一部分，就像在 Kafka Streams 里那样，每个进程用一个随机 ID 是合理的：那里由消费者组来隔离，见实验 08。）
#
# 靠这个名字还能找到协调者。

# %% jupyter={"source_hidden": true}
Predict("06-coordinator")

# %% [markdown]
# The producer asks any broker: FindCoordinator. That broker computes
# `abs(hashCode) mod 50`, with Java's hash of the id, and names the leader of this partition of
# `__transaction_state`. (The hash of *polygenelubricants* is the one number without an absolute value,
# and counts as 0.) Coordinators are elected like all leaders, and they share the work: in the last table,
# recorded on three brokers, one coordinator stands still while another one commits.

# %% [markdown] lang="zh"
# 生产者用 FindCoordinator 询问任意一个 broker。那个 broker 用 Java 的散列函数对 ID 计算 `abs(hashCode) mod 50`，得出 `__transaction_state` 的一个分区，再应答这个分区的 leader 是谁。（*polygenelubricants* 的散列值是唯一没有绝对值的数，按 0 计算。）协调者和所有 leader 一样由选举产生，工作由各个协调者分担：最后一张表是在三个 broker 上录制的，其中一个协调者停住不动，另一个照样提交。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(coordinator_of("A", "tx-0", "order-service-1", "polygenelubricants"))
used = {coordinator_of(f"shop-{n}").split()[-1] for n in range(1000)}
print(f"1000 ids fall into {len(used)} partitions of __transaction_state")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "coordinators-in-parallel", "SIGSTOP", "EndTxn", "frontiers", "SIGCONT"))

# %% [markdown] tags=["deeper"]
# ## Deeper: stage 1, reserve: who notes a partition, and what if nobody does?

# %% [markdown] lang="zh"
# ## 深入：阶段 1，预留：分区由谁登记，没有人登记又会怎样？

# %% [markdown]
# The figure is read off the run of *One commit*; ▮ is a record that was written before the answer left.
# Articles count five steps, in brackets here: find the coordinator (1), get an id (2), begin (3), write (4),
# end (5). The first two come before the first stage, and the third is missing here; you will see why. Five
# actors take part: producer, transaction coordinator, partition leaders, consumer and, for consumed
# offsets, the group coordinator (lab 08). The map below the figure shows where everything is kept. The
# controllers decide no transaction; they may be nodes of their own, three or five, or share the brokers'.
#
# The coordinator notes which partitions a transaction writes to, so that it knows whom to tell. There are
# two questions: what comes right before the note, and what happens without it?

# %% [markdown] lang="zh"
# 这张图取自*一次提交*的那次执行；▮ 是应答发出之前写下的记录。文章里常说五步，图中标在括号里：找到协调者（1）、取得 ID（2）、开始（3）、写入（4）、结束（5）。前两步在第一个阶段之前，第三步在这里没有对应，原因稍后就会看到。参与的有五方：生产者、事务协调者、分区的 leader、消费者，如果消费的偏移量也在事务里，还有组协调者（实验 08）。图下面的示意图画出什么东西保存在哪里。控制器不决定任何事务；控制器可以是单独的节点，三个或五个，也可以与 broker 共用节点。
#
# 协调者登记一个事务写了哪些分区，这样才知道要通知谁。有两个问题：登记之前的那一步是什么？没有登记又会怎样？

# %% jupyter={"source_hidden": true}
UNASKED = """
system asking transaction_version=0 partitions=1 producers=app,hand:raw admins=admin{off}
run hand: InitProducerId, Produce orders-0 a pid=0 epoch=0 seq=0 v=11
"""
hanging = scenario(
    UNASKED.format(off=" off=verification")
    + "run hand: EndTxn abort pid=0 epoch=0 v=4\n"
    + "run admin: find-hanging orders-0, describe app, abort-hanging orders-0@0, find-hanging orders-0"
)
display(data_flow(), broker_map("kafka"))

# %% jupyter={"source_hidden": true}
Predict("06-begin", trace=once, step=first(once, "init: ok"))

# %% jupyter={"source_hidden": true}
Predict("06-not-noted", trace=hanging, step=first(hanging, "Produce a"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = []
for name, options in KAFKAS.items():
    both = scenario(f"system charges partitions=2 {options}{ONE}\nrun app: begin, send charges-0 x, abort")
    asks = [f for f in both if f.text.en.startswith("AddPartitions")]
    adds = {f.node.split("-")[0] for f in asks if "verify" not in f.text.en}
    ends = [f.text.en[-1] for f in both if f.node == "coordinator" and f.text.en.startswith("ok epoch")]
    rows.append((name, *(node.replace("charges", "leader") for node in adds), " → ".join(["0", *ends])))
print(table("Kafka, client | who adds a partition | epoch of the producer", rows))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print("not reserved:", answers(scenario(UNASKED.format(off=""))).splitlines()[-1])
print("\nwithout verification:\n" + answers(hanging))
print(answers(hanging, "admin"))

# %% [markdown]
# The first table compares clients. A *v2 client* is one that follows KIP-890 part 2, as Java 4.0 and
# franz-go 1.22 do; a *legacy client* does not, as librdkafka 2.16 and so confluent-kafka. A legacy client
# adds its partitions itself, before the first record, and the leader only *verifies* that. With a v2 client
# on a cluster with `transaction.version` 2 (TV2) the leader adds its partition when the first record
# arrives. TV2 is a *feature* of the cluster (`kafka-features.sh upgrade`); clients notice it and switch
# between two transactions.
#
# Some drawings send the records first and tell the coordinator afterwards. Without verification that
# leaves a *hanging* transaction (悬挂事务): the partition holds it open, and the coordinator knows nothing
# of it. So no timeout will ever end it, and readers of committed data wait there for ever. It also stops
# *compaction* in that partition, the clean-up that keeps only the latest record of each key.
# `kafka-transactions.sh find-hanging` asks both sides and compares; `abort` has the missing marker written.

# %% [markdown] lang="zh"
# 第一张表比较各种客户端。*v2 客户端*遵循 KIP-890 的第 2 部分，如 Java 4.0 和 franz-go 1.22；*旧版客户端*（legacy）不遵循，如 librdkafka 2.16，以及以它为基础的 confluent-kafka。旧版客户端在发送第一条记录之前自己登记分区，leader 只负责*核实*（verify）。v2 客户端在 `transaction.version` 为 2 的集群（TV2）上，则由 leader 在第一条记录到达时登记自己的分区。TV2 是集群的一项*特性*（feature，`kafka-features.sh upgrade`）；客户端会察觉，并在前后两个事务之间切换。
#
# 有些示意图先发送记录，再告诉协调者。没有核实，就会留下*悬挂事务*（hanging transaction）：在分区看来它一直没有结束，协调者却对它一无所知。所以没有哪个超时会结束它，只读已提交数据的读者永远停在那里。它还会让这个分区的*压实*（compaction）停下来，也就是每个键只留最新一条记录的那种清理。`kafka-transactions.sh find-hanging` 向双方查询，再作比较；`abort` 则让 leader 写下缺少的那条控制消息。

# %% [markdown] tags=["deeper"]
# ## Deeper: stage 2, write: what becomes of a record that is late?

# %% [markdown] lang="zh"
# ## 深入：阶段 2，写入：迟到的记录会怎样？

# %% [markdown]
# Records go straight into the partitions, among everybody else's. What if one of them comes too late? The
# client's first transaction has been aborted and its second one is open. Then a record of the first
# arrives, after a long time under way. The cluster is TV0. The requests are sent by hand, so that no client
# repeats them or puts them right.

# %% [markdown] lang="zh"
# 记录直接写进分区，和别人的记录混在一起。如果有一条来得太晚呢？客户端的第一个事务已经中止，第二个正开着。这时，第一个事务的一条记录姗姗来迟。集群是 TV0。请求由手工发送，这样就没有客户端去重发或者纠正。

# %% jupyter={"source_hidden": true}
ADD = "AddPartitionsToTxn charges-0 pid=0 epoch=0, "
LATE = """
# A record of the first transaction is late
system charges partitions=1 producers=app:order-service,hand:raw {kafka}
run hand: InitProducerId
run hand: {add}Produce charges-0 early pid=0 epoch=0 seq=0{p}, EndTxn abort pid=0 epoch=0{e}
run hand: {next}
run hand: Produce charges-0 late pid=0 epoch=0 seq=1{p}, EndTxn commit pid=0 epoch={after}{e}
"""
OLD = {"p": " v=11", "e": " v=4", "add": ADD, "next": ADD.strip(", "), "after": 0}
NEW = {"p": "", "e": "", "add": "", "next": "Produce charges-0 next pid=0 epoch=1 seq=0", "after": 1}
late = {
    name: scenario(LATE.format(kafka=kafka, **(NEW if "v2" in name else OLD)))
    for name, kafka in KAFKAS.items()
}
Predict("06-late-record", trace=late["TV0"], step=first(late["TV0"], "Produce late") - 1)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = []
for name, run in late.items():
    said = next(line for line in answers(run).splitlines() if " late " in line).split("  ")[-1]
    reads = list_reads(run).splitlines()[0].removeprefix("read_committed")
    rows.append((name, said.strip(), reads.strip()))
print(table("Kafka, client | the late record is answered | read committed in the end", rows))
print()
TWO_COPIES = """
system charges partitions=1{off}
run app: init, begin, send charges-0 580538, commit
lose app→charges-0 ⇒Produce
"""
for off in ("", " off=sequence_check"):
    twice = list_reads(scenario(TWO_COPIES.format(off=off))).splitlines()[0]
    print(f"answer lost, record sent again{off:<20}", twice)

# %% [markdown]
# An aborted record is committed: with TV0, and just as well on a TV2 cluster with a *legacy client*. Only TV2
# **and** a v2 client help. There the epoch rises at every end, and the late record is recognised by its
# older epoch. Otherwise the epoch rises at an initialisation, and when the coordinator aborts for its
# producer.
#
# The last two lines say why a transaction needs *idempotence*. Inside a transaction a record may be sent
# twice, and would be committed twice (lab 05).

# %% [markdown] lang="zh"
# 一条已中止的记录竟然提交了：在 TV0 上如此，在 TV2 集群上用*旧版客户端*也一样。只有 TV2 **加上** v2 客户端才管用。这样一来，事务每次结束，epoch 都会增加，迟到的记录因为 epoch 更旧而认得出来。否则，epoch 只在两种时候增加：初始化时，以及协调者替生产者中止事务时。
#
# 最后两行说明事务为什么需要*幂等*：事务里的记录也可能发送两次，没有幂等就会提交两次（实验 05）。

# %% [markdown] tags=["deeper"]
# ## Deeper: stage 3, decide: what if the answer does not come?

# %% [markdown] lang="zh"
# ## 深入：阶段 3，决定：应答没有来怎么办？

# %% [markdown]
# The application calls commitTransaction(), and the answer does not come.

# %% [markdown] lang="zh"
# 应用调用 commitTransaction()，应答却没有来。

# %% jupyter={"source_hidden": true}
silent = scenario("""
# The answer to a commit is late
system charges partitions=1 max_block_ms=60000
hold app→coordinator ⇒EndTxn
run app: init, begin, send charges-0 580538, commit
fire app max.block
run app: begin, abort
release app→coordinator ⇒EndTxn
run app: commit
""")
Predict("06-commit-times-out", trace=silent, step=first(silent, "commit: unknown"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(say("the answer that is late:"), list_calls(silent), sep="\n")
print(say("readers, while the application is told “unknown”:"))
print(list_reads(silent, first(silent, "commit: unknown")))

# %% [markdown]
# **No answer is not a no.** The application was told *unknown* while every reader already had the
# charge. The same call again is the only safe one.
#
# A timeout decides too. Whose clock is it, and when does it start?

# %% [markdown] lang="zh"
# **没有应答，不等于失败**。应用得到的是*未知*（unknown），而所有读者都已经看到这笔收款。唯一安全的做法，是把同一个调用再做一次。
#
# 超时也会作决定。用的是谁的时钟，从什么时候开始走？

# %% jupyter={"source_hidden": true}
clock = scenario("""
# An application that takes its time
system charges partitions=1
at 1000
run app: init, begin
at 51000
run app: send charges-0 580538
fire coordinator
run app: commit
""")
Predict("06-clock", trace=clock, step=first(clock, "timeout order-service") - 1)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(requests(once))
print()
print(find_timeout("system kafka\nat 1000\nrun app: init, begin\nat 51000\nrun app: send orders-0 a"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
SLOW = """
system kafka partitions=1 groups=1 timeout_ms=1500 {kafka}
run app: init, begin, send orders-0 a, flush
fire coordinator
run app: {call}, abort
"""
rows = []
for call in ("send orders-0 b, flush", "send-offsets g orders-0@1", "commit", "abort"):
    runs = [scenario(SLOW.format(kafka=kafka, call=call)) for kafka in KAFKAS.values()]
    said = [list_calls(run).splitlines()[6 + (", " in call)] for run in runs]
    gets = (line.split("  ")[-1].strip().removeprefix("failed ") for line in said)
    rows.append((call.split()[0], *(get.replace("Exception", "") for get in gets)))
print(table("the slow producer calls | " + " | ".join(KAFKAS), rows))

# %% [markdown]
# The coordinator may abort 60 s after the first partition was noted, at its next look (every 10 s, so here
# at 120 s). The answers to the slow producer show the three kinds of errors. After a *retriable* error
# the client asks again by itself. After an *abortable* one, call abort and go on. After a *fatal* one,
# close this producer. A send is abortable for a v2 client, and an abort is even answered ok. But
# send-offsets gets ProducerFenced, which is fatal, although nobody fenced it. (The legacy columns are
# librdkafka; in Java before 4.0 the send is abortable too.)

# %% [markdown] lang="zh"
# 从登记第一个分区算起满 60 s，协调者就可以中止，但要等到它下一次检查（每 10 s 一次，所以这里是 120 s）。这个迟缓的生产者得到的应答，展示了三类错误。*可重试*（retriable）的错误，客户端会自己重试。*可中止*（abortable）的错误，请调用 abort，然后继续。*致命*（fatal）的错误，只能关闭这个生产者。对 v2 客户端，send 的错误是可中止的，abort 甚至得到 ok。但 send-offsets 得到 ProducerFenced，那是致命的，尽管没有人隔离它。（legacy 那几列是 librdkafka；在 4.0 之前的 Java 里，send 的错误也是可中止的。）

# %% [markdown] tags=["deeper"]
# ## Deeper: stage 4, publish: what if the coordinator dies between two markers?

# %% [markdown] lang="zh"
# ## 深入：阶段 4，公布：协调者在两条控制消息之间宕机怎么办？

# %% [markdown]
# Markers go out. Here the coordinator is killed when the first of two has left, and another broker takes
# over.

# %% [markdown] lang="zh"
# 控制消息陆续发出。这里，两条中的第一条刚发出，协调者就被杀掉，由另一个 broker 接手。

# %% jupyter={"source_hidden": true}
failover = scenario("""
# The coordinator dies between two markers, and another broker takes over
system charges partitions=2 replicas=2
run app: init, begin, send charges-0 580538, flush, send charges-1 580539, commit
kill coordinator@1 when=WriteTxnMarkers#1 after=1
run controller: fence coordinator 1
""", recorded="coordinator-failover-prepared")
Predict("06-coordinator-dies", trace=failover, step=first(failover, "killed"))

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(find_lines(failover, "killed", "load", "commit marker", "CompleteC", width=11))

# %% [markdown]
# **Once PrepareCommit is written, the transaction commits**, whichever broker dies. The next coordinator
# finds the record and owes every marker again. From each Prepare state only one arrow leads out. (A client
# that still asks the old one gets NOT_COORDINATOR and looks again; a late marker of the old one is refused.)
#
# Each new leader of a `__transaction_state` partition has a higher *coordinator epoch*, and its markers
# carry it. The next table is a constructed case: someone once wrote a marker with a coordinator epoch that
# was too high. So the leader refuses the markers of a coordinator that looks too old, and that one gives
# up. Which of the four remedies frees the readers, and which frees the id?

# %% [markdown] lang="zh"
# **PrepareCommit 一旦写下，事务就会提交**，不管哪个 broker 宕机。下一个协调者读到这条记录，就又欠下所有的控制消息。从每个 Prepare 状态出发，都只有一个箭头。（还在问旧协调者的客户端会得到 NOT_COORDINATOR，然后重新查找；旧协调者迟到的控制消息会遭到拒绝。）
#
# 每当 `__transaction_state` 的一个分区换了 leader，新 leader 的*协调者 epoch*（coordinator epoch）就更高，它发出的控制消息都带着这个 epoch。下一张表是人为构造的情形：有人曾经写过一条控制消息，其中的协调者 epoch 过高。于是 leader 认为这个协调者太旧，拒绝它的控制消息，协调者也就放弃了。四种补救办法里，哪种能让读者继续读，哪种能让 ID 恢复可用？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
STUCK = """
system asking partitions=2 producers=app:order-service,hand:raw admins=admin
run app: init
run hand: WriteTxnMarkers orders-0 abort pid=0 epoch=0 coordinator=5
run app: begin, send orders-0 a, send orders-1 b, commit
"""
ASK = "run admin: find-hanging orders-0, describe order-service\nrun hand: InitProducerId\n"
BY_HAND = "run hand: WriteTxnMarkers orders-0 commit pid=0 epoch=1 coordinator=5\n"
REMEDIES = {
    "nothing": "",
    "a marker by hand": BY_HAND,
    "one restart": "kill coordinator\nrestart coordinator\n",
    "three restarts": "kill coordinator\nrestart coordinator\n" * 3,
}
rows = []
for remedy, lines in REMEDIES.items():
    stuck = scenario(STUCK + lines + ASK)
    got = len(stuck.snapshot(-1).readers[0].got)
    found, state = (line.split("  ok ")[1] for line in answers(stuck, "admin").splitlines()[2:])
    asked = answers(stuck).splitlines()[-1].split()[1]
    rows.append((remedy, f"{got} of 2", state.split()[0], found, asked))
print(table("what is done | readers get | state | find-hanging | the next InitProducerId", rows))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(read_recording("tv2", "marker-fenced", "EndTxn commit epoch=0", "InitP", "{orders-0}"))

# %% [markdown]
# A real 4.3.1, treated in the same way, stays in PrepareCommit too. `find-hanging` finds nothing, because
# the coordinator does know the transaction. A marker by hand frees the readers, but the id stays stuck: its
# producer is told CONCURRENT_TRANSACTIONS for ever. (Kafka's own tool writes *abort* markers only, which
# would throw away an acknowledged charge.) The remedy is **re-election**: the next leader has a higher
# coordinator epoch and sends all markers again, until they are accepted.

# %% [markdown] lang="zh"
# 真实的 4.3.1 经过同样的操作，也停在 PrepareCommit。`find-hanging` 什么也找不到，因为协调者确实知道这个事务。手工写一条控制消息能让读者继续读，但 ID 还是卡着：它的生产者永远得到 CONCURRENT_TRANSACTIONS。（Kafka 自带的工具只会写*中止*的控制消息，那样就把一笔已经确认的收款扔掉了。）真正的补救办法是**重新选举**（re-election）：下一个 leader 的协调者 epoch 更高，它把所有控制消息再发一遍，直到得到接受。

# %% [markdown] tags=["deeper"]
# ## Deeper: stage 5, make visible: what if a partition has no leader?

# %% [markdown] lang="zh"
# ## 深入：阶段 5，变为可见：分区没有 leader 怎么办？

# %% [markdown]
# A marker below the high watermark makes a transaction readable, partition by partition; lab 07 is about
# that. And if the partition has no leader at the moment when the marker should leave? Nobody dies here.
# `charges-0` is without a leader for a while, as in any outage, and the application has just been told ok.

# %% [markdown] lang="zh"
# 控制消息一到高水位之下，事务就可以读了，每个分区各算各的；这是实验 07 的内容。可是，如果控制消息该发出的那一刻，分区没有 leader 呢？这里没有进程宕机。`charges-0` 有一段时间没有 leader，任何故障都可能造成这种局面，而应用刚刚得到 ok。

# %% jupyter={"source_hidden": true}
LEADERLESS = """
# A partition is without a leader at commit
system charges partitions=1 replicas=2 admins=admin {defect}
run app: init, begin, send charges-0 580538, flush
run controller: fence charges-0 2, fence charges-0 1
run app: commit
run controller: elect charges-0 1
run admin: describe order-service, find-hanging charges-0
"""
kept = scenario(LEADERLESS.format(defect=""))
lost = scenario(LEADERLESS.format(defect="skip_leaderless_marker=1"), recorded="leaderless-marker")
Predict("06-no-leader", trace=lost, step=first(lost, "commit: ok"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
for name, run in {"as designed": kept, "as in 4.3.1": lost}.items():
    print(f"{name}:", list_reads(run).splitlines()[0].removeprefix("read_committed").strip())
    print(answers(run, "admin").partition("\n")[2].partition("\n")[2])

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
words = ("SIGTERM", "EndTxn", "Transactions", "started", "frontiers", "ends")
print(read_recording("tv2", "leaderless-marker", *words))

# %% [markdown]
# The acknowledged charge will never be read: a hanging transaction made by brokers. The second table is a
# real 4.3.1, where the partition's only broker was stopped in an orderly way (KAFKA-20734; apache/kafka
# PR 22680). `find-hanging` finds it; its `abort` frees the readers, and throws the charge away.

# %% [markdown] lang="zh"
# 这笔已经确认的收款永远读不到了：这是 broker 自己造成的悬挂事务。第二张表来自真实的 4.3.1，在那次执行里，这个分区唯一的 broker 是正常停机的（KAFKA-20734；apache/kafka PR 22680）。`find-hanging` 能找到它；用它的 `abort` 可以让读者继续读，同时也把这笔收款扔掉了。

# %% [markdown] tags=["deeper"]
# ## Deeper: stage 6, forget: who waits for that, and what does a transaction cost?

# %% [markdown] lang="zh"
# ## 深入：阶段 6，遗忘：谁要等它，一个事务的代价有多大？

# %% [markdown]
# Commit has returned, one marker is still under way, and the same producer goes on.

# %% [markdown] lang="zh"
# commit 已经返回，还有一条控制消息在途中，同一个生产者继续往下走。

# %% jupyter={"source_hidden": true}
back_to_back = scenario("""
# Two transactions of one producer, back to back
system charges partitions=1
hold coordinator→charges-0 WriteTxnMarkers
run app: init, begin, send charges-0 580538, commit
run app: begin, send charges-0 580539
release coordinator→charges-0 WriteTxnMarkers
fire charges-0
run app: commit
""")
Predict("06-back-to-back", trace=back_to_back, step=first(back_to_back, "Produce 580539"))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print("back to back:", find_lines(back_to_back, "CONCURRENT").strip("⋮\n"))
print()
print(costs([(1, 1), (1, 10), (4, 1), (4, 10)]))
print(say("\nthe log of the first run:"), " ".join(f"{r[0]}(ep{r[4]})" for r in records(fenced)))
print(latest(fenced))

# %% [markdown]
# When every partition has answered, CompleteCommit is written and the partitions are forgotten. Only this
# producer's next transaction waits for that. So a transaction costs one marker, and one offset, in each
# partition it wrote to, a few records of the coordinator, and a wait before the next one. Ten records in a
# partition cost no more of that than one does (first table). On the other hand a read_committed reader
# waits for the commit, so its delay is about the time between two commits.
#
# `__transaction_state` is *compacted*: the latest record of a key counts, so the log can be read as a
# table with one line for each id (second table). A new coordinator needs no more than that.
#
# The next table has all eight states, by the number that the log stores: ● taken in this lab, ○ allowed,
# · forbidden. States in brackets are never written: `PrepareEpochFence` is a fence that begins, `Dead` an
# id that nobody has used for seven days (a partition forgets an idle producer id after one day). From
# `Ongoing` three ways lead out, and one back to itself, for the next partition.

# %% [markdown] lang="zh"
# 所有分区都应答之后，协调者写下 CompleteCommit，登记的分区就可以遗忘了。要等这件事的，只有这个生产者的下一个事务。所以一个事务的代价是：在它写过的每个分区里占一条控制消息、一个偏移量，协调者写几条记录，下一个事务开始前等一会儿。在一个分区里写十条记录，这些代价并不比写一条更多（第一张表）。另一方面，read_committed 的读者要等提交，所以它的延迟大约就是两次提交之间的时间。
#
# `__transaction_state` 是*压实*的：每个键以最新的记录为准，所以这份日志可以当作一张表来读，每个 ID 一行（第二张表）。新的协调者只需要这些。
#
# 下一张表列出全部八种状态，按日志里存储的编号排列：● 这个实验里走过，○ 允许，· 禁止。括号里的状态从不写入：`PrepareEpochFence` 表示隔离开始，`Dead` 表示这个 ID 已经七天没有人使用（分区忘掉一个闲置的生产者 ID 则只要一天）。从 `Ongoing` 出发有三条路可走，还有一条回到它自己，用于下一个分区。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(transitions(unfenced, fenced, once, clock))

# %% [markdown]
# Your money depends on this log. It has three replicas, and a record counts as safe when at least two of them
# have it (`min.insync.replicas`). Its *unclean leader election* must stay off. With it, a copy that has fallen
# behind may become the leader, and such a copy has forgotten decisions.

# %% [markdown] lang="zh"
# 你的钱全靠这份日志。它有三个副本，一条记录至少有两个副本存下才算安全（`min.insync.replicas`）。它的*不干净的首领选举*（unclean leader election）必须一直关闭。一旦打开，落后的副本就可能当上 leader，而这样的副本已经忘掉了一些决定。

# %% [markdown] tags=["deeper"]
# ## Deeper: find the kill

# %% [markdown] lang="zh"
# ## 深入：找出那次 kill

# %% [markdown]
# *A commit is decided, and its client does not know.* Try it by hand first: the application has called
# commit and its request is under way. Deliver messages, kill the coordinator during a step, restart it.
# Goal: the application is told *unknown*, and the reader has the charge.
#
# Then write that kill as one line and assign it to `kill`: `kill coordinator when=Kind#n after=K` kills the
# coordinator in the step that sends the n-th message of that kind (`⇒` marks an answer, a record goes by
# its state), when K effects of that step are done. An answer has the form
# `kill = "kill coordinator when=WriteTxnMarkers#1 after=0"`.

# %% [markdown] lang="zh"
# *提交已经决定，客户端却不知道*。先手动试一试：应用已经调用 commit，请求正在途中。你可以投递消息，在某一步中杀掉协调者，再重启它。目标：应用得到*未知*，而读者读到这笔收款。
#
# 然后把这次 kill 写成一行，赋给 `kill`：`kill coordinator when=Kind#n after=K` 表示在协调者发出第 n 条该种消息（`⇒` 表示应答，记录则写它的状态名）的那一步里，做完 K 个效果就杀掉它。答案的形式是 `kill = "kill coordinator when=WriteTxnMarkers#1 after=0"`。

# %%
play = continue_scenario("""
system charges partitions=1 retries=1
hold app→coordinator EndTxn#1
run app: init, begin, send charges-0 580538, commit
""")
Playground(play)

# %% nbgrader={"solution": true, "grade_id": "kill"}
# Fill in the blanks: the message by its name and number, and after how many effects of that step.
kill = "kill coordinator when=… after=…"
### BEGIN SOLUTION
# PrepareCommit is safe, and the step that would have answered does nothing any more.
kill = "kill coordinator when=⇒EndTxn#1 after=0"
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "kill-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("unanswered", kill)
### END HIDDEN TESTS
check(UNANSWERED, kill)

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguard is necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# Choose who dies and where, which safeguard is switched off, and which Kafka and client; the picture
# follows. After which deaths does the reader have both charges, after which none, and after which one four?
# (`vary` accepts any ipywidgets control, so an experiment of your own is a function and a line.)

# %% [markdown] lang="zh"
# 选择谁宕机、在哪里宕机，关闭哪项保护措施，用哪种 Kafka 和客户端；图会跟着变。哪些宕机之后，读者能读到两笔收款？哪些之后一笔也没有？又是哪一次之后竟有四笔？（`vary` 接受任何 ipywidgets 控件，所以你自己的试验就是一个函数加一行。）

# %%
STORY = """
# Two charges in one transaction, with what was chosen
system charges partitions=2 {kafka}
off {off}
{kill}
run app: init, begin, send charges-0 580538, send charges-1 580539, commit
{back}
"""


def play(kill, off, kafka):
    back = f"restart {kill.split()[1]}" if kill else ""
    return Player(scenario(STORY.format(kafka=kafka, off=off, kill=kill, back=back)))


nothing = STORY.format(kafka="", off="", kill="", back="")
vary(
    play,
    kill=list_kills(nothing, "coordinator", "app"),
    off=list_safeguards("charges", "epoch_fencing", "prepare_before_markers"),
    kafka=[(name, options) for name, options in reversed(KAFKAS.items())],
)

# %% [markdown]
# Before you run the next cell, say for each of three safeguards what will break without it. They are epoch
# fencing, PrepareCommit before the markers, and the transaction timeout. The explorer looks at every schedule.
# With a safeguard off it finds the shortest run that hurts; with it on, it finds nothing.

# %% [markdown] lang="zh"
# 运行下一个单元之前，先说一说这三项保护措施，少了哪一项会出什么错。这三项是 epoch 隔离、PrepareCommit 先于控制消息，以及事务超时。探索器会查看所有可能的执行。关闭一项保护措施，它就找到造成损害的最短执行；打开，就什么也找不到。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
rows = []
for name in ("epoch_fencing", "prepare_before_markers", "transaction_timeout"):
    case = SAFEGUARD_CASES[name]
    kept = with_everything_on(case)
    finds = ", ".join(kept.counterexamples) or "nothing"
    rows.append((name, case.anomaly, len(search(case).schedule), finds, kept.complete))
print(table("switched off | anomaly | choices | switched on | all runs", rows))

# %% [markdown]
# Does a commit without an answer always end well? The search finds one end of each kind.

# %% [markdown] lang="zh"
# 没有得到应答的提交，结局总是好的吗？好坏两种结局，搜索各找到一例。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
small = system("kafka partitions=1 retries=1 'app=init; begin; send orders-0 a; commit'")
fault = Budget(kills=1, killable=("coordinator",), timers=1)
for outcome in ("COMMIT", "ABORT"):
    claim = never_unknown(small, outcome)
    shortest = explore(small, fault, (claim,)).counterexamples[claim.name]
    print(f"told unknown, ends as {outcome}, in {len(shortest.schedule)} choices:")
    print(find_lines(shortest.trace(), "Prepare", "killed", "recovered", "commit: ", width=11))

# %% [markdown]
# On the command line, for all ten safeguards: `mqlab explore kafka --safeguards`.

# %% [markdown] lang="zh"
# 在命令行上查看全部十项保护措施：`mqlab explore kafka --safeguards`。

# %% [markdown] tags=["deeper"]
# ## Deeper: write the fencing rule

# %% [markdown] lang="zh"
# ## 深入：写出隔离的规则

# %% [markdown]
# A request about a transaction has come in. `known` is the (producer id, epoch) that the
# coordinator keeps for its transactional id, `None` where it knows no such id; `state` is the
# transaction's; `busy` says that a record is being written or that markers are owed; `caller` is the
# (producer id, epoch) in the request. Answer `"ok"`, `"PRODUCER_FENCED"` (fatal),
# `"CONCURRENT_TRANSACTIONS"` (retriable) or `"INVALID_PRODUCER_ID_MAPPING"` (fatal).
#
# Your rule is put into a coordinator and tried with a producer alone, with its restarted twin, and
# with requests by hand, in all schedules. Two hints wait: `print(ADMIT.hint(1))`,
# `print(ADMIT.hint(2))`. If it is not right yet, the message names the belief behind it;
# the run opens where it shows.


# %% [markdown] lang="zh"
# 一个与事务有关的请求到了。`known` 是协调者为它的 transactional id 保存的（生产者 ID，epoch），如果协调者不认识这个 ID，就是 `None`；`state` 是事务的状态；`busy` 表示正在写入记录，或者还欠着控制消息；`caller` 是请求里的（生产者 ID，epoch）。请回答 `"ok"`、`"PRODUCER_FENCED"`（致命）、`"CONCURRENT_TRANSACTIONS"`（可重试）或 `"INVALID_PRODUCER_ID_MAPPING"`（致命）。
#
# 你的规则会装进一个协调者，在所有可能的执行里试一遍：有时只有一个生产者，有时还有它重启后的另一个实例，有时是手工发送的请求。有两条提示可看：`print(ADMIT.hint(1))`，然后 `print(ADMIT.hint(2))`。如果规则还不对，提示信息会指出背后的想法，推翻它的执行也会打开，停在看得出问题的那一步。

# %% nbgrader={"solution": true, "grade_id": "admit"}
def admit(known: tuple[int, int] | None, state: str, busy: bool, caller: tuple[int, int]) -> str:
    """May the sender of this request go on with the transaction?"""
    ### BEGIN SOLUTION
    if known is None or known[0] != caller[0]:
        return "INVALID_PRODUCER_ID_MAPPING"
    # Not just "older": the coordinator gives epochs out, so a larger one is nobody's.
    if known[1] != caller[1]:
        return "PRODUCER_FENCED"
    # Its holder, at the wrong moment: that will pass, so it must not be told anything fatal.
    return "CONCURRENT_TRANSACTIONS" if busy else "ok"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "admit-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("admit", admit)
### END HIDDEN TESTS
check(ADMIT, admit)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a released client do?

# %% [markdown] lang="zh"
# ## 深入：正式发布的客户端会怎么做？

# %% [markdown]
# Two unmodified producers of confluent-kafka have the same `transactional.id`. The first one has sent payment
# 580538 and is slow; the second one starts, and sends 580539. *Before you run it: which of the four calls
# fails, and which payments does each kind of reader get?*

# %% [markdown] lang="zh"
# confluent-kafka 的两个未经改动的生产者用同一个 `transactional.id`。第一个发出了付款 580538，却很慢；第二个启动，发出 580539。*运行之前先回答：四个调用里哪个会失败，两种读者各读到哪些付款？*

# %% tags=["nbval-check-output"]
from mqlab.lessons.kafka.lab06 import fence_a_zombie, hold_a_payment

print(fence_a_zombie())

# %% [markdown]
# Now the broker waits for you. Another unmodified producer pays once, by a transaction, and each of its
# requests stops at the broker's door: a dashed message in the picture, with buttons below. Let it go, drop
# it, or kill the broker before or after it. *Before you kill it after* `EndTxn`*: what will the program be
# told, and will a reader get the payment?* The last cell lets go what still waits. If you take longer than a
# minute over an open transaction, the coordinator aborts it, as it would for any slow client.

# %% [markdown] lang="zh"
# 现在轮到 broker 等你。另一个未经改动的生产者用一个事务付一次款，它的每个请求都停在 broker 门口：图中是一条虚线消息，下面有按钮。可以放行，可以丢弃，也可以在它之前或之后杀掉 broker。*先回答：如果在* `EndTxn` *之后杀掉，程序会得到什么应答，读者能读到这笔付款吗*？最后一个单元会放行所有还在等的请求。一个事务开着超过一分钟，协调者就会中止它，对任何慢的客户端都是这样。

# %%
held = hold_a_payment()
held

# %%
print(held.finish())

# %% [markdown] tags=["deeper"]
# ## Deeper: who decides elsewhere?

# %% [markdown] lang="zh"
# ## 深入：在别的系统里，由谁来决定？

# %% [markdown]
# | | Kafka | RocketMQ | Pulsar |
# |---|---|---|---|
# | who decides | the coordinator, by a record | your database, asked by the broker | the coordinator, by a record |
# | what names you | `transactional.id` | the producer group | nothing: each transaction has its own TxnID |
# | the old instance | fenced by its epoch: no send, no commit | not fenced: any instance may answer | its sends can be fenced, per topic, if the producer asks for that (ExclusiveWithFencing); a commit of its TxnID is not |
# | silence means | abort, after 60 s | “what happened?”, up to 15 times | abort, after its timeout |
#
# Kafka never calls your program back to ask what it meant. It returns an error, whose kind says what you can
# still do.

# %% [markdown] lang="zh"
# | | Kafka | RocketMQ | Pulsar |
# |---|---|---|---|
# | 谁来决定 | 协调者，凭一条记录 | 你的数据库，由 broker 来问 | 协调者，凭一条记录 |
# | 凭什么认出你 | `transactional.id` | 生产者组 | 没有：每个事务有自己的 TxnID |
# | 旧实例 | 由它的 epoch 隔离：不能发送，不能提交 | 不隔离：任何实例都可以回答 | 生产者要求（ExclusiveWithFencing）时，按主题隔离它的发送；对它的 TxnID 的提交不隔离 |
# | 没有音讯意味着 | 60 s 后中止 | “结果怎样？”，最多问 15 次 | 超时之后中止 |
#
# Kafka 从不回调你的程序，问它本来想怎样。它返回一个错误，错误的类别说明你还能做什么。

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | any random transactional.id will do | it names the application; random ids never fence each other | a name |
# | transactional.id % 50, ask the controller | abs(hash) mod 50, any broker answers | a name |
# | begin opens something at the broker | begin is local | stage 1 |
# | records first, then tell the coordinator | without verification that makes a hanging transaction | stage 1 |
# | epochs rise at initialisation only | also when the coordinator aborts; with TV2 and a v2 client at every end | stages 1, 2 |
# | a late message cannot land in the next transaction | this is true only with TV2 and a v2 client | stage 2 |
# | the producer writes its commit to the log | it sends EndTxn; the coordinator appends | One commit, Order |
# | the coordinator collects votes | partitions never vote | One commit, Order |
# | a commit that timed out failed | the outcome is unknown | stage 3, find the kill |
# | the timeout is 15 minutes, from begin | 60 s, from the first partition | stage 3 |
# | after PrepareCommit nothing can go wrong | it is designed so, but 4.3.1 drops markers in an outage | stages 4, 5 |
# | nobody waits for CompleteCommit | this producer's next transaction does | stage 6 |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | transactional.id 随便取个随机值就行 | 它是应用的名字；随机 ID 之间绝不会互相隔离 | 名字 |
# | transactional.id % 50，去问控制器 | abs(hash) mod 50，任意一个 broker 都会应答 | 名字 |
# | begin 会在 broker 上开启事务 | begin 只在本地 | 阶段 1 |
# | 先写记录，再告诉协调者 | 没有核实，就会造成悬挂事务 | 阶段 1 |
# | epoch 只在初始化时增加 | 协调者中止时也增加；在 TV2 加 v2 客户端下，每次结束都增加 | 阶段 1、2 |
# | 迟到的消息不会落进下一个事务 | 只有 TV2 加 v2 客户端才如此 | 阶段 2 |
# | 生产者把提交写入日志 | 它发送 EndTxn，由协调者追加 | 一次提交、顺序 |
# | 协调者收集选票 | 分区从不投票 | 一次提交、顺序 |
# | 提交超时就是失败 | 结果未知 | 阶段 3、找出那次 kill |
# | 超时是 15 分钟，从 begin 算起 | 60 s，从第一个分区算起 | 阶段 3 |
# | PrepareCommit 之后不会再出错 | 设计如此，但 4.3.1 会在故障时丢掉控制消息 | 阶段 4、5 |
# | 没有人要等 CompleteCommit | 这个生产者的下一个事务要等 | 阶段 6 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A ticket shop runs two pods with the transactional ids `shop-0` and `shop-1`. Pod 0 hangs; the
# platform starts a new pod 0 with the same id. The hanging pod wakes up with an open transaction
# and calls commit.

# %% [markdown] lang="zh"
# 一家票务网站运行两个 pod，事务 ID 分别是 `shop-0` 和 `shop-1`。0 号 pod 卡住了，平台用同一个 ID 启动了一个新的 0 号 pod。卡住的 pod 醒来，手里还有一个未结束的事务，于是调用 commit。

# %% jupyter={"source_hidden": true}
Predict("06-exit-ticket")
