# %% [markdown]
# # Lab 05 · Why does a retry not duplicate?
#
# *75 minutes, or a short way of 15* · Kafka 4.3, Java client 4.x
#
# **In one paragraph.** A producer that gets no answer cannot know whether its message was stored. If it sends
# again, it may make a duplicate; if it does not, the message may be lost. Kafka has a way out of this, the
# *idempotent producer*. In this lab you see what it numbers, what the leader of a partition compares, how
# little the leader remembers, and where the promise ends.
#
# **The short way:** Hook, Predict, Run, Put it into order, What you know now. The other parts are folded
# under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. A part
# may use what stands above it: *Run All Above Selected Cell* in the menu *Run* runs that first.
#
# **You need** lab 00. A *partition* is one log of a topic, and its *leader* is the broker that orders it.
# A *batch* is the records of one request, which are stored together.

# %% [markdown] lang="zh"
# # 实验 05 · 重试为什么不会重复？
#
# *75 分钟，短路线约 15 分钟* · Kafka 4.3，Java 客户端 4.x
#
# **一段话概括**：生产者收不到应答，就无从知道消息存下了没有。再发一次，可能重复；不再发，消息可能就丢了。Kafka 的办法是*幂等生产者*（idempotent producer）。在这个实验里，你会看到它给什么编号，分区的首领副本比较什么、记得的又多么有限，以及这个承诺到哪里为止。
#
# **短路线**：引子、预测、执行、排出顺序、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。有些单元打印的短标签仍是英文。
#
# **你需要**先做实验 00。*分区*（partition）是主题的一份日志，它的*首领副本*（leader）就是给这份日志排定先后的 broker。*批次*（batch）是同一个请求里的记录，作为一个整体存储。

# %% jupyter={"source_hidden": true}
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
from mqlab.lessons.kafka.lab05 import (
    ACCEPT,
    PRODUCE,
    answers,
    by_hand,
    construct_producer,
    count_payments,
    first,
    list_producers,
    snapshot_files,
)

# %% [markdown]
# ## Hook: two orders are paid. How many payments are counted?
#
# Two customers of the gift shop pay for their orders, £316.78 for 580538 and £310.73 for 580539. The shop's
# order service sends both payments to the topic `payments`, each by the number of its order. There is no
# transaction in this lab, so of the six stages (reserve, write, decide, publish the decision, make visible,
# forget) only one is left: **write**. The leader of the partition stores both payments. Its answer for
# `580539` is lost with the connection. The order service does what every client does: it connects again and
# sends `580539` again.
#
# The light *money in = money out* is here too. It is red when a payment is counted twice, or when one is
# missing although the order service was told that it is stored. *Money* adds it up.

# %% [markdown] lang="zh"
# ## 引子：两个订单付了款，会计入几笔付款？
#
# 礼品店有两位顾客付款：订单 580538 付 £316.78，订单 580539 付 £310.73。商店的订单服务把两笔付款发到主题 `payments`，每笔付款都以订单号为名。这个实验里没有事务，所以六个阶段（预留、写入、决定、公布决定、变为可见、遗忘）只剩下一个：**写入**。分区的 leader 存下了两笔付款，但它对 `580539` 的应答随着连接断开而丢失。订单服务的做法和所有客户端一样：重新连接，把 `580539` 再发一次。
#
# 这里也有*进账 = 出账*这盏指示灯。一笔付款计入了两次，或者订单服务明明得知已经存下、日志里却没有，灯就变红。账目见*金额*一栏。

# %% [markdown]
# ## Predict
#
# The connection has just broken. Lock your answer, then let the run go on.

# %% [markdown] lang="zh"
# ## 预测
#
# 连接刚刚断开。先锁定你的答案，再让执行继续。

# %% jupyter={"source_hidden": true}
twice = scenario("""
# The answer is lost, and the order service sends again
system payments producers=order-service:plain
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
Predict("05-sent-again", trace=twice, step=first(twice, "connection broken"))

# %% [markdown]
# ## Run
#
# Play the run to its end. The second customer has paid £310.73 once and is charged twice, the light is red,
# and no error was raised anywhere. This is *at-least-once* delivery.
#
# An operation that may be repeated would help. In mathematics a function *f* is **idempotent** (幂等) if
# *f(f(x)) = f(x)*. Adding to a sum is not idempotent, and putting into a set is. An append to a log is
# like the addition. To make it like the set, every batch needs a *key*. So a producer
# first gets an id from any broker (the application never sees it), and then numbers the records it sends.
# Here are the same two payments, and the same lost answer:


# %% [markdown] lang="zh"
# ## 执行
#
# 把这次执行播放到底。第二位顾客只付了一次 £310.73，却被收了两次款，指示灯是红的，而任何地方都没有报错。这就是*至少一次*（at least once）的投递。
#
# 如果这个操作可以重复，问题就解决了。在数学里，函数 *f* 如果满足 *f(f(x)) = f(x)*，就叫**幂等**（idempotent）。往总和上加一个数不幂等，往集合里放一个元素则是幂等的。追加到日志就像加法。要让它像集合那样，每个批次就得有一个*键*。所以生产者先向任意一个 broker 要一个 ID（应用看不到这个 ID），然后给自己发送的记录编号。下面还是那两笔付款，丢的还是那个应答：

# %%
def add(total):
    return total + 5


def put(stored):
    return stored | {(7, 1): "580539"}  # the key: who sent it, and its number


assert add(add(0)) != add(0)
assert put(put({})) == put({})

once = scenario("""
# The answer is lost, and the retry is recognised
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
assert count_payments(twice).splitlines() == ["580538  counted 1×", "580539  counted 2×"]
assert count_payments(once).splitlines() == ["580538  counted 1×", "580539  counted 1×"]
Player(once, step=first(once, "connection broken"))

# %% [markdown]
# The second `Produce 580539` carries the same key as the first: *producer id* (pid) 0, *epoch* 0, *sequence
# number* (序列号) 1. The leader knows it, stores nothing, and answers **ok, with the offset of the first time**.
# The producer cannot tell this answer from the one that was lost, so there is no error to handle. This is the
# narrow meaning of *exactly once* (精确一次): the server stores a message once, however often it is sent.

# %% [markdown] lang="zh"
# 第二个 `Produce 580539` 带的键和第一个完全相同：*生产者 ID*（pid）0、*epoch* 0、*序列号*（sequence number）1。leader 认出了它，什么也不存，应答 **ok，并给出第一次写入的偏移量**。生产者分不出这个应答和丢掉的那个有什么不同，所以没有错误需要处理。这就是狭义的*精确一次*（exactly once）：不管一条消息发来多少次，服务器只存一次。

# %% [markdown]
# ## Put it into order
#
# Five of these seven pieces belong to a leader's work on a batch. Put them in order. Each order you try
# is built into a leader, and every schedule of five small systems is searched. A wrong order gets the
# shortest run that shows why. *More than one order is right.* Run the cell, then move the pieces: each
# move is written between the brackets of its call. (Without the widget, write the names there yourself.)
#
# An *epoch* is a number that rises when a producer begins its sequence numbers at 0 again. A batch of an
# older epoch comes from a sender that was replaced.

# %% [markdown] lang="zh"
# ## 排出顺序
#
# 这七个步骤里，有五个是 leader 处理一个批次时要做的。请把这五步排出顺序。你试的每个顺序都会装进一个 leader，再搜索五个小系统的所有可能的执行。顺序错了，就会给出最短的一次执行，说明错在哪里。*正确的顺序不止一种*。先运行这个单元，再移动各个步骤：每移动一次，结果就写进调用的方括号里。（没有图形控件时，请自己把名字写进去。）
#
# *epoch* 是一个编号，生产者每次让序列号重新从 0 开始，它就增加。epoch 更旧的批次，来自已被取代的发送者。

# %% nbgrader={"solution": true, "grade_id": "order"}
order = PRODUCE.arrange([
    ### BEGIN SOLUTION
    # Kafka's own. Whether the epoch or the duplicate is asked for first makes no difference.
    "duplicate", "fence", "sequence", "append", "answer"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "order-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("produce", order)
### END HIDDEN TESTS
check(PRODUCE, order)

# %% [markdown]
# ## What you know now
#
# A retry is recognised by its sender and its numbers, in one partition, and it is answered as a success.
# A message that the *application* sends twice is new. A transaction helps while it is open: its id outlives
# the session, so what a killed producer left open is aborted before it sends again. A transaction that *has
# committed* and is sent again is stored again. A consumer that stores payments by their number notices both.
#
# The short way ends here. The parts below go deeper; 6 of the 10 points are there. The next lab asks
# what a commit does, and in which order: [lab 06](06-coordinator.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 重试靠发送者和编号来识别，只在一个分区之内有效，得到的应答是成功。*应用*自己发两次的消息则是新消息。事务还没有结束时管用：它的 ID 比会话更长久，被杀的生产者留下的事务会先中止，然后才重发。*已经提交*的事务再发一次，就会再存一次。按编号保存付款的消费者，两种情况都认得出来。
#
# 短路线到此结束。下面的部分继续深入；10 分中有 6 分在那里。下一个实验要问提交做了哪些事、按什么顺序做：[实验 06](06-coordinator.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("05")

# %% [markdown] tags=["deeper"]
# ## Deeper: what does the leader compare?

# %% [markdown] lang="zh"
# ## 深入：leader 比较的是什么？

# %% [markdown]
# Many articles give a formula: *new = old + 1 is right; new ≤ old is a duplicate and is dropped; new > old +
# 1 means that a message was lost.* Say what it gets wrong before you run the next cell. Here batches are sent
# by hand. Each is given by its payments (`p1`, `p2`, …, of any amount), its first sequence number, and its
# epoch if that is not 0. First one batch is sent three times. Then each line is a story of its own, and its
# last batch is judged twice: by the formula and by the leader.


# %% [markdown] lang="zh"
# 许多文章给出一个公式：*new = old + 1 正确；new ≤ old 是重复，丢弃；new > old + 1 说明丢了消息*。运行下一个单元之前，先说说它错在哪里。这里的批次由手工发送，每个批次写明其中的付款（`p1`、`p2`……，金额不限）、首个序列号，以及 epoch（不是 0 才写）。先是把一个批次发三次。然后每一行是一个独立的故事，对最后那个批次评判两次：一次按公式，一次由 leader。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
def formula(old, new):
    return "right" if new == old + 1 else "duplicate" if new <= old else "lost"


def find_answer(run, batch=-1):
    """What the leader says to a batch of a run by hand; -1: to the last one."""
    return answers(run).splitlines()[batch].split("  ")[-1].strip()


print(answers(by_hand("p1 seq=0; p2 seq=1; p2 seq=1; p2 seq=1")))

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
seven = "; ".join(f"p{n + 1} seq={n}" for n in range(7))
cases = [
    ("the last one again", 1, 1, "p1 seq=0; p2 seq=1; p2 seq=1"),
    ("the fifth last again", 6, 2, f"{seven}; p3 seq=2"),
    ("the sixth last again", 6, 1, f"{seven}; p2 seq=1"),
    ("one longer than the last", 1, 1, "p1 seq=0; p2 seq=1; p2|p3 seq=1"),
    ("after a batch of three", 1, 4, "p1 seq=0; p2|p3|p4 seq=1; p5 seq=4"),
    ("one is missing", 0, 2, "p1 seq=0; p3 seq=2"),
    ("… and has come since", 1, 2, "p1 seq=0; p3 seq=2; p2 seq=1; p3 seq=2"),
    ("the first of a new epoch", 1, 0, "p1 seq=0; p2 seq=1; p3 seq=0 epoch=1"),
    ("a later one of a new epoch", 1, 2, "p1 seq=0; p2 seq=1; p3 seq=2 epoch=1"),
    ("an older epoch", 0, 1, "p1 seq=0; p2 seq=0 epoch=1; p3 seq=1"),
    ("an unknown producer", -1, 6, "p7 seq=6"),
    ("after 2147483647", 2147483647, 0, "p1 seq=2147483647; p2 seq=0"),
]
print(f"{'the batch':<28}{'old':>11}{'new':>5}  {'formula':<11}leader")
for name, old, new, story in cases:
    print(f"{name:<28}{old:>11}{new:>5}  {formula(old, new):<11}{find_answer(by_hand(story))}")

# %% [markdown]
# The formula is wrong in eight of these lines. Where it rightly says *duplicate*, the producer is not told
# so: the answer is ok. The leader's rule is this:
#
# - A batch has a *range* of numbers. It follows if its **first** number is the one after the **last**
#   number of the batch before; after 2147483647 comes 0.
# - A duplicate is **exactly one of the last five batches** of the same epoch: same first, same last
#   number. It is answered as a success, with its old offset.
# - Any other old number, also a mere overlap, is refused with OUT_OF_ORDER_SEQUENCE_NUMBER. The leader
#   cannot say where it lies, or whether all of it is stored. The batch that is longer than the last holds
#   `p3`, which is new: if it were dropped as a duplicate, `p3` would be lost.
# - A gap means that a batch is *not yet* here. The later batch is refused, and nothing is lost: when the
#   missing one has come, the later one is taken.
# - A new epoch begins with 0, and an older one writes nothing any more.
# - A producer that is unknown to the leader may begin anywhere, since its entry may have expired. (Since
#   4.1 there is an exception: a *transactional* producer under `transaction.version` 2 must begin with 0
#   even then, KAFKA-18202.)
#
# The numbers stand in the header of every stored batch. They are compared with the leader's memory of
# them: the player has a table of the numbers that the leader remembers.

# %% [markdown] lang="zh"
# 公式在其中八行是错的。就算它判对了*重复*，生产者也得不到“重复”这个答案：应答是 ok。leader 的规则是：
#
# - 一个批次有一*段*编号。它的**首**编号等于前一批次的**末**编号加一，才算接得上；2147483647 之后是 0。
# - 重复，指的是**与最近五个批次之一完全相同**：epoch 相同，首编号相同，末编号也相同。应答是成功，并给出原来的偏移量。
# - 其他的旧编号，哪怕只是部分重叠，一律以 OUT_OF_ORDER_SEQUENCE_NUMBER 拒绝。leader 说不出它在哪里，也说不出是否全部存下了。比上一个更长的那个批次里，`p3` 是新的：如果整批当作重复丢弃，`p3` 就丢了。
# - 有空缺，说明某个批次*还没有*到。后面的批次遭到拒绝，但什么也没丢：缺的那个到了，后面的也就收下了。
# - 新的 epoch 从 0 开始，旧的 epoch 不再写入任何东西。
# - leader 不认识的生产者可以从任意编号开始，因为它的条目可能已经过期。（从 4.1 起有一个例外：在 `transaction.version` 2 下，*事务型*生产者即使这时也必须从 0 开始，KAFKA-18202。）
#
# 每个存下的批次，头部都写着这些编号。leader 拿来比较的，是自己记住的编号：播放器里有一张表，列出 leader 记住了哪些编号。

# %% [markdown] tags=["deeper"]
# ## Deeper: how long does the leader remember?

# %% [markdown] lang="zh"
# ## 深入：leader 能记住多久？

# %% [markdown]
# Five batches are stored. Then either the connection breaks, or the leader's process is killed and started
# again. Then the last two come again. Which of the four answers is an error? The picture shows the second
# of these stories: watch the table shrink.

# %% [markdown] lang="zh"
# 先存下五个批次。然后要么连接断开，要么 leader 的进程被杀掉再启动。之后最后两个批次又来了一遍。四个应答里，哪一个是错误？图中是第二个故事：注意看那张表怎样变短。

# %%
five = "; ".join(f"p{n + 1} seq={n}" for n in range(5))
for title, stop in {
    "the connection broke": "break hand payments-0",
    "the leader was killed": "kill payments-0\nrestart payments-0",
}.items():
    run = by_hand(five, stop, "p4 seq=3; p5 seq=4")
    print(f"{title}: p4 {find_answer(run, -2)}, p5 {find_answer(run)}")
assert find_answer(run, -2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
Player(run, step=first(run, "killed") - 1)

# %% [markdown]
# A connection means nothing: pid, epoch and numbers travel in the batch, so any connection will do. A
# restart means a lot: the leader comes back with a memory of **one batch** per producer.
#
# And a power cut? Here the payment `580538` was stored and acknowledged, but not yet flushed to the disk's
# surface. Then `580539` is sent, and the power of the only leader is cut.

# %% [markdown] lang="zh"
# 连接无关紧要：pid、epoch 和编号都写在批次里，走哪条连接都行。重启却关系重大：leader 回来时，每个生产者只记得**一个批次**。
#
# 断电呢？这里，付款 `580538` 已经存下，也已确认，但还没有刷到磁盘上。接着发送 `580539`，这时唯一的 leader 断了电。

# %% jupyter={"source_hidden": true}
cut = scenario("""
# The power of the only leader is cut between two payments
system payments
run order-service: send payments-0 580538, flush, send payments-0 580539, flush
power-cut payments-0 when=580539 after=0
restart payments-0
""")
Predict("05-empty-log", trace=cut, step=first(cut, "power cut"))

# %% [markdown]
# This is a *lost write* without any error. Idempotence protects against duplicates, and only copies on
# other machines protect against a power cut. (That is why an idempotent producer needs `acks=all`.)
#
# After a kill alone, from what does the leader rebuild its memory? It reads a file beside the log, and the
# part of the log behind the point at which the file was written. The file is called `.snapshot`, and its name
# says up to which offset it holds. A broker writes one when it begins a new segment of the log, at a clean
# shutdown, and after a recovery. Here a segment is full after three records.

# %% [markdown] lang="zh"
# 这是一次*写丢失*（lost write），没有任何报错。幂等防的是重复；防断电，只能靠别的机器上的副本。（所以幂等生产者要求 `acks=all`。）
#
# 如果只是进程被杀，leader 靠什么重建它的记忆？它读日志旁边的一个文件，再读这个文件写成之后的那一段日志。这个文件叫 `.snapshot`，文件名说明它的内容到哪个偏移量为止。broker 在三种时候写这个文件：开始新的日志段时、正常关闭时、恢复之后。在这里，日志段满三条记录就换新的。

# %% jupyter={"source_hidden": true}
files = scenario("""
# A leader writes down what it knows of producers
system payments producers=hand:raw segment_records=3
run hand: produce payments-0 p1|p2|p3 seq=0, produce payments-0 p4 seq=3, produce payments-0 p5 seq=4
run hand: produce payments-0 q1|q2 seq=0 pid=8
kill payments-0
restart payments-0
""")
Predict("05-snapshot-file", trace=files, step=first(files, "killed"))

# %% tags=["nbval-check-output"]
print(snapshot_files(files))

# %% [markdown]
# File `…03` was written when the first segment was full, file `…07` at the recovery. An article shows three
# of these fields: producer id, epoch, last sequence. The others matter too. Last offset and delta (how
# many records after its first the batch ends) give the *range* and the *offset* of the one batch that
# is still recognised. The timestamp (a lesson's clock stands at 0) says when the entry may be forgotten,
# after a day without a write. The last two belong to transactions, which begin in lab 06. In a real file a
# version and a checksum stand before the entries.

# %% [markdown] lang="zh"
# 文件 `…03` 写于第一个日志段写满之时，文件 `…07` 写于恢复之时。有的文章只列出了其中三个字段：生产者 ID、epoch、最后序列号。其他字段也很重要。最后偏移量和 delta（批次的末记录排在首记录之后第几条）给出那个仍能识别的批次的*编号段*和*偏移量*。时间戳（实验里的时钟停在 0）说明条目什么时候可以遗忘：一天没有写入之后。最后两个字段属于事务，实验 06 会讲到。真实的文件里，这些条目前面还有版本号和校验和。

# %% [markdown] tags=["deeper"]
# ## Deeper: whose memory is it?

# %% [markdown] lang="zh"
# ## 深入：这是谁的记忆？

# %% [markdown]
# The order service does its work, is killed, and is started again.

# %% [markdown] lang="zh"
# 订单服务做完了工作，被杀掉，又重新启动。

# %% jupyter={"source_hidden": true}
restarted = scenario("""
# The application starts over
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
kill order-service
restart order-service
""")
Predict("05-new-session", trace=restarted, step=first(restarted, "killed"))

# %% [markdown]
# There are two more experiments. Two instances of the order service, `north` and `south`, send to two
# partitions: how many rows will the leaders' table have? And one order service sends the *same* payment
# to two partitions: how often is it counted?

# %% [markdown] lang="zh"
# 还有两个试验。订单服务的两个实例 `north` 和 `south` 向两个分区发送：leader 的表里会有几行？一个订单服务把*同一笔*付款发到两个分区：会计入几次？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
streams = scenario("""
# Who counts what
system payments partitions=2 producers=north:-,south:-
run north: send payments-0 n1, send payments-1 n2, send payments-0 n3, flush
run south: send payments-0 s1, flush
""")
both = scenario("""
# One payment, two partitions
system payments partitions=2
run order-service: send payments-0 580538, send payments-1 580538, flush
""")
for title, run in {
    say("the order service was started again"): restarted,
    say("two instances, two partitions"): streams,
    say("the same payment to two partitions"): both,
}.items():
    print(f"{title}: {', '.join(count_payments(run).splitlines())}")
    if run is not both:
        print(list_producers(run))

# %% [markdown]
# There is one row for each producer and each partition, and each counts from 0. So the promise covers
# **one partition**: the same payment sent to two of them is two records. And it covers **one session**:
# the order service that was started again got a new id, and its first batch is as new as any other.
# Idempotence was on all the time and did not help. *A retry by the client is recognised; a second send by
# the application is not.*

# %% [markdown] lang="zh"
# 每个生产者在每个分区各有一行，各自从 0 开始计数。所以这个承诺只管**一个分区**：同一笔付款发到两个分区，就是两条记录。它也只管**一个会话**：重新启动的订单服务得到新的 ID，它的第一个批次和任何新批次没有两样。幂等一直开着，却没有帮上忙。*客户端的重试认得出来，应用的第二次发送认不出来。*

# %% [markdown] tags=["deeper"]
# ## Deeper: how many batches may be under way?

# %% [markdown] lang="zh"
# ## 深入：允许多少个批次同时在途？

# %% [markdown]
# A producer does not wait for each answer: several batches are under way on a connection
# (`max.in.flight.requests.per.connection`). Now all of their answers are lost at once.


# %% [markdown] lang="zh"
# 生产者不会每发一个就等一个应答：一条连接上有好几个批次在途（`max.in.flight.requests.per.connection`）。现在，这些批次的应答一下子全丢了。

# %% jupyter={"source_hidden": true}
def lose_answers(batches, option=""):
    sends = ", ".join(f"send payments-0 p{n + 1}" for n in range(batches))
    return f"""
    # {say("{batches} batches under way, and all answers lost", batches=batches)}
    system payments max_in_flight={batches} {option}
    hold order-service→payments-0 ⇒Produce#1
    run order-service: {sends}, flush
    break order-service payments-0
    """


fine = scenario(lose_answers(5))
Predict("05-five-answers-lost", trace=fine, step=first(fine, "connection broken"))

# %% [markdown]
# The next cell does the same with six, which needs a client that is built without the usual check. Below
# that it shows how real clients read some settings.

# %% [markdown] lang="zh"
# 下一个单元用六个批次做同样的事，为此要造一个跳过常规检查的客户端。再往下，可以看到真实的客户端怎样理解一些配置。

# %% jupyter={"source_hidden": true}
Predict("05-by-default")

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
six = scenario(lose_answers(6, "config_check=off") + "fire order-service")
for fact in six.facts[first(six, "connection broken") :]:
    if fact.glyph == "⇒" or "epoch to" in fact.text.en:
        print(fact.line(width=13))
print("the log:", *(cell.label for cell in six.snapshot(-1).logs[0].cells), "\n")

for client, settings in [
    ("java", {}),
    ("java", {"max_in_flight_requests_per_connection": 6}),
    ("java", {"acks": "1"}),
    ("java", {"acks": "1", "enable_idempotence": True}),
    ("librdkafka", {}),
]:
    given = ", ".join(f"{name}={value}" for name, value in settings.items()) or "(defaults)"
    print(f"{client:<11}{given:<41}{construct_producer(client, **settings).partition(':')[0]}")

# %% [markdown]
# All five are recognised. Of six, the first has been pushed out of the memory. It comes again and is refused as
# out of order, and the producer concludes that its stream is broken. It raises its epoch, begins to count at 0
# again and sends everything again. Now no batch looks like a duplicate any more. That is why a client with six
# refuses to be built.
#
# With Java, idempotence is **on** by default since 3.0.1, 3.1.1 and 3.2.0. It was meant for 3.0 (KIP-679), but
# a bug kept it off (KAFKA-13598). A setting that contradicts it wins: with `acks=1` or `retries=0` alone it is switched off,
# and the only sign is a line in a log file. A program that asks for both gets an exception. The clients
# built on librdkafka (Python's confluent-kafka, Go's, C#'s and Node's) leave it **off** unless one asks for
# it. Try more: `print(construct_producer("java", retries=0))`.
#
# Older Java clients were worse. From 2.1 on, until idempotence was the default, a producer sent again and duplicated unless told otherwise.
# Before 2.1 it did not repeat at all (`retries` was 0), and a lost request was a lost message. Until 3.0
# it waited for one copy only (`acks=1`), so even an acknowledged message could be lost with its leader.

# %% [markdown] lang="zh"
# 五个全都认出来了。换成六个，第一个就已经被挤出了记忆。它再来时因乱序遭到拒绝，生产者由此断定自己的编号序列断了。于是它把 epoch 升高，从 0 重新计数，再把全部批次重发一遍。这样一来，哪个批次看上去都不像是重复的了。所以，如果配置成六，客户端会拒绝创建。
#
# Java 客户端从 3.0.1、3.1.1 和 3.2.0 起默认**开启**幂等。本来 3.0 就该如此（KIP-679），但有个 bug 让它一直关着（KAFKA-13598）。与它矛盾的配置优先：只写 `acks=1` 或 `retries=0`，幂等就关掉了，唯一的迹象是日志文件里的一行。程序如果两样都明确要求，就会得到异常。以 librdkafka 为基础的客户端（Python 的 confluent-kafka，还有 Go、C# 和 Node 的）则默认**关闭**，除非你主动打开。还可以试试 `print(construct_producer("java", retries=0))`。
#
# 更早的 Java 客户端更糟。从 2.1 起，到默认幂等之前，除非另行配置，生产者会重发，也就会重复。2.1 之前它根本不重发（`retries` 是 0），请求丢了，消息就丢了。3.0 之前，它只等一个副本写下（`acks=1`），所以就算消息得到了确认，也可能随 leader 一起丢失。

# %% [markdown] tags=["deeper"]
# ## Deeper: which is the shortest run that duplicates?

# %% [markdown] lang="zh"
# ## 深入：造成重复的最短执行是怎样的？

# %% [markdown]
# Here is the order service without numbers again. Let it call, deliver, hold messages back (a message that
# you do not deliver waits), break connections, kill: in the picture, or by the buttons below it. *How few
# choices do you need to count a payment twice?* When you have found a way, the explorer looks for a shorter
# one.

# %% [markdown] lang="zh"
# 这里又是那个不编号的订单服务。你可以让它发起调用、投递消息、扣住消息（不投递，消息就等着）、断开连接、杀掉进程：在图里操作，或者用图下面的按钮。*让一笔付款计入两次，最少需要几次选择*？你找到一种走法之后，探索器会去找更短的。

# %%
plain = "payments producers=order-service:plain 'order-service=send payments-0 580538; flush'"
Playground(
    continue_scenario(f"""
    # The order service, without numbers
    system {plain}
    """),
    goal="money",
)

# %% [markdown] tags=["deeper"]
# ## Deeper: which safeguard is necessary?

# %% [markdown] lang="zh"
# ## 深入：哪些保护措施必不可少？

# %% [markdown]
# And with numbers? The next cell tries every schedule of seven small systems. In two of them a safeguard
# is taken away (the *zombie* is a sender whose epoch is older than one that the leader has seen). Say for
# each line which light will turn red. Then press *Search* and watch one of these searches: the order
# service sends two payments, and the leader may be killed once, at any moment.

# %% [markdown] lang="zh"
# 编了号又怎样？下一个单元把七个小系统的所有可能的执行都试一遍，其中两个各去掉一项保护措施。*僵尸实例*（zombie）就是 epoch 比 leader 见过的更旧的发送者。请对每一行说出哪盏指示灯会变红。然后按*开始搜索*，看其中一次搜索：订单服务发送两笔付款，leader 可能在任意时刻被杀掉一次。

# %%
numbered = "payments 'order-service=send payments-0 580538; send payments-0 580539; flush'"
one_kill = Budget(kills=1, killable=("payments-0",), timers=1)
zombie = (
    "payments producers=hand:raw 'hand=produce payments-0 p1 seq=0; "
    "produce payments-0 p2 seq=0 epoch=1; produce payments-0 p3 seq=0'"
)
shortest = {}
for story, line, budget in [
    ("no numbers, one broken connection", plain, Budget(breaks=1)),
    ("two broken connections", numbered, Budget(breaks=2)),
    ("the order service is killed once", numbered, Budget(kills=1, killable=("order-service",))),
    ("the leader is killed once", numbered, one_kill),
    ("a broken connection, without sequence_check", f"{numbered} off=sequence_check", Budget(breaks=1)),
    ("a zombie", zombie, Budget()),
    ("a zombie, without epoch_fencing", f"{zombie} off=epoch_fencing", Budget()),
]:
    verdict = explore(system(line), budget)
    assert verdict.complete
    shortest[story] = verdict.counterexamples
    broken = [f"{name}, in {len(c.schedule)} choices" for name, c in shortest[story].items()]
    print(f"{story:<45}red: {'; '.join(sorted(broken)) or 'no light'}")
assert [len(found) for found in shortest.values()] == [1, 0, 1, 1, 1, 0, 1]
Explorer(system(numbered), one_kill)

# %% [markdown]
# Lost answers are harmless now, whichever of them are lost. Without the check of numbers every retry is a
# *duplicate* again. Without the check of epochs a batch of an older epoch is stored after the newer one
# has begun: a *zombie write* (僵尸写).
#
# With both checks there are still two ways to duplicate. In the first, which you have seen, the order service
# dies and starts over. In the second the leader dies while **two** batches are unanswered: it comes back with
# a memory of one. So a broker's restart *does* affect idempotence. A real broker 4.3.1 with the Java client
# of the same version ends up with the same log, both payments with epoch 0 and again both with epoch 1, and
# an orderly stop is no better. Moving the partition to another broker is better: a follower that takes over
# has seen the same batches, and in a real cluster of three it knew all five. Step through the kill:

# %% [markdown] lang="zh"
# 现在，丢哪些应答都无妨了。去掉编号检查，每次重试又都成了*重复*。去掉 epoch 检查，新的 epoch 开始之后，旧 epoch 的批次照样存下：这就是*僵尸写*（zombie write）。
#
# 两项检查都在，仍有两条路会造成重复。第一条你已经看过：订单服务宕机，从头再来。第二条是 leader 在**两个**批次未应答时宕机，回来时只记得一个。所以 broker 重启*确实*会影响幂等。真实的 broker 4.3.1 配上同版本的 Java 客户端，最后得到同样的日志：两笔付款 epoch 0 各一条，epoch 1 又各一条；正常停机也好不到哪里去。把分区移到另一个 broker 上倒好一些：接手的 follower 见过同样的批次，在三个节点的真实集群里，五个批次它全都认识。逐步走一遍这次 kill：

# %%
dies = shortest["the leader is killed once"]["money"].trace()
title = say("The leader owes two answers and dies")
Player(dies, step=first(dies, "epoch to 1"), title=title)

# %% [markdown] tags=["deeper"]
# ## Deeper: write the rule

# %% [markdown] lang="zh"
# ## 深入：写出规则

# %% [markdown]
# A leader knows, for one producer in one partition, the ranges of its **last five batches** (a tuple of
# `(first, last)`, oldest first, perhaps empty) and the **epoch** they belong to (−1: it knows nothing of
# this producer). A batch arrives: `(epoch, first, last)`. Say `"append"`, `"duplicate"` or `"refuse"`.
# The producer has no transactions. Your rule is put into the leader, and every schedule of fifteen small
# stories is tried.
#
# Two hints wait: `print(ACCEPT.hint(1))`, then `print(ACCEPT.hint(2))`. If your rule is not right yet, the
# message names the belief behind it, and the shortest run that refutes it opens where it shows.


# %% [markdown] lang="zh"
# 对一个分区里的一个生产者，leader 知道**最近五个批次**的编号段（由 `(first, last)` 组成的元组，最早的在前，可能为空），以及这些批次所属的 **epoch**（−1 表示它对这个生产者一无所知）。现在来了一个批次：`(epoch, first, last)`。请回答 `"append"`、`"duplicate"` 或 `"refuse"`。这个生产者没有事务。你的规则会装进 leader，在十五个小故事的所有可能的执行里都试一遍。
#
# 有两条提示可看：`print(ACCEPT.hint(1))`，然后 `print(ACCEPT.hint(2))`。如果规则还不对，提示信息会指出背后的想法，推翻它的最短执行也会打开，停在看得出问题的那一步。

# %% nbgrader={"solution": true, "grade_id": "accept"}
def accept(last_five: tuple[tuple[int, int], ...], known: int, batch: tuple[int, int, int]) -> str:
    """What a leader does with a batch: "append", "duplicate" or "refuse"."""
    epoch, first, last = batch
    ### BEGIN SOLUTION
    if epoch < known:
        return "refuse"
    if epoch > known:
        # New to this leader, or a new life of somebody it knows: that one begins with 0.
        return "append" if known == -1 or first == 0 else "refuse"
    if (first, last) in last_five:
        return "duplicate"
    following = (last_five[-1][1] + 1) % 2**31 if last_five else 0
    return "append" if first == following else "refuse"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "accept-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("accept", accept)
### END HIDDEN TESTS
check(ACCEPT, accept)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a released client do?

# %% [markdown] lang="zh"
# ## 深入：正式发布的客户端会怎么做？

# %% [markdown]
# Until now every producer was the engine's. The next cell runs two unmodified producers of confluent-kafka
# (librdkafka) against this lab's broker, `mqlab serve kafka`. Each sends payment 580538 once. The broker
# stores the batch and is killed before its answer has left; then it starts again. One producer is told to be
# idempotent, the other is not. *Before you run it: what is each program told, and how often is 580538 in the
# log? Remember what a leader knows after a kill.*

# %% [markdown] lang="zh"
# 到这里为止，所有生产者都是引擎里的。下一个单元让 confluent-kafka（librdkafka）的两个未经改动的生产者连到这个实验的 broker，也就是 `mqlab serve kafka`。两个生产者各发一次付款 580538。broker 存下批次，应答还没有发出就被杀掉，然后再启动。一个生产者设为幂等，另一个不设。*运行之前先回答：两个程序各得到什么应答，日志里各有几条 580538？想一想 leader 被杀之后还知道什么。*

# %% tags=["nbval-check-output"]
from mqlab.lessons.kafka.lab05 import lose_an_answer

print(lose_an_answer(idempotent=False))
print(lose_an_answer(idempotent=True))

# %% [markdown]
# Both programs are told ok, and neither sees that its client has sent the batch twice. The leader that starts
# again reads the last batch of each producer back from its log, and one batch is enough here. In a browser, or
# without confluent-kafka, the cell says that it has no client.

# %% [markdown] lang="zh"
# 两个程序都得到 ok，也都不知道自己的客户端把批次发了两次。重新启动的 leader 从日志里读回每个生产者的最后一个批次，在这里，一个批次就够了。在浏览器里运行，或者没有安装 confluent-kafka 时，这个单元会说明没有客户端可用。

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | Kafka is at-least-once by default, a retry duplicates | Java: idempotent since 3.0.1, 3.1.1 and 3.2.0; librdkafka: only if asked | Hook, under way |
# | an idempotent producer never duplicates | one session, one partition; a second send is new | whose memory |
# | an idempotent producer loses nothing that was acknowledged | a power cut can take it, and nobody is told | how long |
# | new ≤ old is a duplicate and is dropped | exactly one of the last five; answered ok; else refused | compare |
# | an unexpected number is an exception | a duplicate is a success; only a gap or overlap is refused | compare |
# | new > old + 1 means a message was lost | it is not here *yet*; the batch is refused and comes again | compare |
# | the broker keeps one largest number | five ranges and the epoch, and one range in a file | compare, how long |
# | it holds only for one connection | pid, epoch and numbers are in the batch: a reconnect keeps it | how long |
# | a broker's restart does not matter | the memory shrinks from five batches to one; a follower has all five | how long, safeguards |
# | `.snapshot`: id, epoch, last sequence | and last offset, delta, time, two of transactions | how long |
# | max.in.flight must be under 5 | at most 5; six lose the oldest from the memory | under way |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | Kafka 默认是至少一次，重试就会重复 | Java：从 3.0.1、3.1.1 和 3.2.0 起幂等；librdkafka：要主动打开 | 引子、同时在途 |
# | 幂等生产者绝不会重复 | 只管一个会话、一个分区；再发一次就是新消息 | 谁的记忆 |
# | 得到确认的消息，幂等生产者一条也不会丢 | 断电可能让它消失，而且谁也不会得到通知 | 记住多久 |
# | new ≤ old 就是重复，丢弃 | 必须与最近五个批次之一完全相同，应答 ok；否则拒绝 | 比较什么 |
# | 编号不对就抛异常 | 重复算成功；只有空缺或重叠才拒绝 | 比较什么 |
# | new > old + 1 说明丢了消息 | 它只是*还没有*到；批次遭到拒绝，会再来 | 比较什么 |
# | broker 只保存一个最大编号 | 五段编号和 epoch；文件里是一段 | 比较什么、记住多久 |
# | 只在一条连接内有效 | pid、epoch 和编号都在批次里：重新连接之后照样有效 | 记住多久 |
# | broker 重启没有影响 | 记忆从五个批次缩到一个；follower 五个全有 | 记住多久、保护措施 |
# | `.snapshot`：id、epoch、最后序列号 | 还有最后偏移量、delta、时间，以及两个事务字段 | 记住多久 |
# | max.in.flight 必须小于 5 | 最多 5；六个就会把最早的挤出记忆 | 同时在途 |

# %% [markdown] tags=["deeper"]
# ## Deeper: another broker, another rule

# %% [markdown] lang="zh"
# ## 深入：换一种 broker，换一条规则

# %% [markdown]
# Pulsar can recognise duplicates too, if the broker is told to. A producer has a *name*, which the
# application may choose and keep, and a *sequence id*, which it may choose as well. The broker keeps
# only the **highest** id of each name. A message that is not above it is answered as stored and dropped,
# whatever it holds. That is the articles' formula without its third part. Put it into Kafka's leader:


# %% [markdown] lang="zh"
# Pulsar 也能识别重复，前提是让 broker 打开这个功能。生产者有一个*名字*，可以由应用选定并一直沿用；还有一个*序列 ID*（sequence id），也可以由应用选定。broker 对每个名字只保存**最大**的 ID。消息的 ID 如果不大于它，不管内容是什么，都应答已存储，然后丢弃。这正是那些文章里的公式，只是少了第三部分。把它装进 Kafka 的 leader：

# %% tags=["nbval-check-output"]
def pulsar(last_five, known, batch):
    _, first, _ = batch
    return "append" if not last_five or first > last_five[-1][1] else "duplicate"


print(ACCEPT.check(pulsar))

# %% [markdown]
# In Pulsar a gap is no error: an application that chooses its own ids, say the offsets of a file that it
# reads, leaves gaps. In return its memory outlives the session. An application that comes back under its
# old name, asks for the last id and goes on from there duplicates nothing. RocketMQ recognises nothing:
# its producer may send twice, and consumers must be idempotent. The table is for an order service that
# starts over after a crash, as in *whose memory is it?*.
#
# | | key | remembered | the order service starts over |
# |---|---|---|---|
# | Kafka, idempotent | pid of the session, partition | five batches | counted twice |
# | Kafka, transactional | transactional.id of the application | the epoch; what was open is aborted | counted once, if input and output are one transaction |
# | Pulsar, deduplication | name and id that the application chooses | the highest id | counted once |
# | RocketMQ | a key in the message, for the consumer | nothing | counted once, if the consumer looks |

# %% [markdown] lang="zh"
# 在 Pulsar 里，空缺不是错误：应用自己选 ID 的话（例如用所读文件里的偏移量），本来就会有空缺。换来的好处是，它的记忆比会话更长久。应用沿用原来的名字回来，查到最后的 ID，再从那里接着发，就什么也不会重复。RocketMQ 不识别重复：生产者可能发两次，消费者必须幂等。下表说的是订单服务宕机后从头再来的情况，和前面那一节（*这是谁的记忆？*）一样。
#
# | | 键 | 记住什么 | 订单服务从头再来 |
# |---|---|---|---|
# | Kafka，幂等 | 会话的 pid、分区 | 五个批次 | 计入两次 |
# | Kafka，事务 | 应用的 transactional.id | epoch；未结束的事务中止 | 计入一次，前提是输入和输出在同一个事务里 |
# | Pulsar，去重 | 应用选定的名字和 ID | 最大的 ID | 计入一次 |
# | RocketMQ | 消息里的键，供消费者使用 | 什么也不记 | 计入一次，前提是消费者自己检查 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A bus counts its passengers with an idempotent producer, one message per passenger. In a tunnel the
# connection breaks; `send` reports a timeout for one of them. The programmer catches it and calls `send`
# with the same message again. A colleague asks: "Can a passenger be counted twice now?"

# %% [markdown] lang="zh"
# 一辆公交车用幂等生产者统计乘客，每位乘客一条消息。进隧道时连接断开，其中一条消息的 `send` 报告超时。程序员捕获了它，用同一条消息再调用一次 `send`。同事问：“这样会不会有乘客算了两次？”

# %% jupyter={"source_hidden": true}
Predict("05-exit-ticket")
