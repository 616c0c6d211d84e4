# %% [markdown]
# # Lab 13 · Build a coordinator
#
# *460 minutes, or a short way of 15* · Kafka 4.3, `transaction.version` 2
#
# **In one paragraph.** You write a *transaction coordinator* (事务协调者) that takes the place of Kafka's. Leaders,
# producers and their retries are the engine's. After each change a check tries your file: it searches every run
# within the bounds of each trial, and then plays long ones. Either no trial breaks it, or you get a run that does. The file grows in four
# sittings; a fifth lets real clients commit through it.
#
# **The short way:** Hook, Predict, Read, What you know now. It leads to the first check of a file that is not
# written yet; sitting 1 begins the writing. The other parts are folded under headings that begin with *Deeper*. A
# click on *cells hidden* below a heading opens its part.
#
# **You need** lab 06 for the order of a commit, and lab 07 for markers.

# %% [markdown] lang="zh"
# # 实验 13 · 自己写一个协调者
#
# *460 分钟，短路线约 15 分钟* · Kafka 4.3，`transaction.version` 2
#
# **一段话概括**：你来写一个*事务协调者*（transaction coordinator），代替 Kafka 自己的那一个。首领副本（leader）、生产者和各种重试都由引擎负责。每改一次，检查器就把你的文件试验一遍：先在每项试验的限度内搜索所有执行，再做几次较长的执行。要么哪项试验都没有出错，要么你会拿到一次让它出错的执行。文件分四节写完；第五节让真实的客户端通过它提交事务。
#
# **短路线**：引子、预测、阅读、现在你知道了什么。这条路走到第一次检查为止，那时文件还没写；从第 1 节起才动手写。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。
#
# **你需要**知道实验 06 讲的提交顺序，以及实验 07 讲的控制消息（marker）。

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check
from mqlab.lessons.lab13 import (
    ACKS_PAGE,
    IT_DIES,
    IT_WORKS,
    LIGHTS,
    NOBODY_COMES_BACK,
    NOT_ALONE,
    PAGE,
    ROUND_PAGE,
    check_mine,
    play_mine,
    read_begin,
    read_right,
    serve,
)

# %% [markdown]
# ## Hook: the file is there, and it is not enough
#
# A terminal (`File → New → Terminal`) writes the file, once:
#
# ```
# mqlab build new
# ```
#
# It stands beside this notebook as `coordinator.py`. It introduces producers, and does nothing else. The next
# cell checks it. Look at the last step of the run: *who waits there, and for what?*

# %% [markdown] lang="zh"
# ## 引子：文件有了，但还不够
#
# 在终端里（`File → New → Terminal`）生成这个文件，只需一次：
#
# ```
# mqlab build new
# ```
#
# 它就在这个笔记本旁边，名叫 `coordinator.py`。它会登记生产者，别的什么也不做。下一个单元检查它。看执行的最后一步：*谁在那里等，等什么？*

# %%
check_mine(1)

# %% [markdown]
# ## Predict

# %% [markdown] lang="zh"
# ## 预测

# %% jupyter={"source_hidden": true}
Predict("13-first")

# %% [markdown]
# ## Read: one page, and one role
#
# The page says what comes in and what may go out. The class below it is all of `coordinator.py` that
# does something. `step` takes one event and gives back two values: the coordinator afterwards, and the
# effects in their order. Nothing in it waits. A request that must wait stands in `pending`, and is answered
# in the step of another event.

# %% [markdown] lang="zh"
# ## 阅读：一页说明，一个角色
#
# 说明页写明会收到什么、可以发出什么。它下面的类，就是 `coordinator.py` 里真正做事的全部代码。`step` 接收一个事件，返回两个值：处理之后的协调者，以及按先后排好的各个效果。里面没有任何等待。需要等待的请求记在 `pending` 里，到处理另一个事件的那一步再应答。

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(PAGE)

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_begin())

# %% [markdown]
# ## What you know now
#
# A coordinator is a table, a log and a list of who is owed what. It answers when a record is *safe*, not when it
# is written; and between the decision and the last marker there is nothing left to decide, only work.
#
# The short way ends here. The file to begin with only introduces producers: the sittings below write the rest.
# The next lab asks whether all of this is true of a real broker:
# [lab 14](14-the-real-thing.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 协调者就是一张表、一份日志，再加一份清单，记着还欠谁什么。记录*安全*了，它才应答，而不是一写下就应答；从作出决定到最后一条控制消息写好，再没有什么要决定，只剩下要做的事。
#
# 短路线到此结束。起始文件只会登记生产者，其余的由下面各节来写。下一个实验要问，这一切在真实的 broker 上是否也成立：[实验 14](14-the-real-thing.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("13")

# %% [markdown] tags=["deeper"]
# ## Deeper: sitting 1, it works

# %% [markdown] lang="zh"
# ## 深入：第 1 节，它能用

# %% [markdown]
# *60 to 90 minutes.* One transaction for each producer, over several partitions, and nobody comes back from a
# kill. Write what is missing:
#
# 1. `AddPartitionsToTxn`: the state becomes Ongoing, with all partitions that were added so far.
# 2. `EndTxn`: PrepareCommit or PrepareAbort, which is the decision.
# 3. When the decision is safe: the answer, and a `WriteTxnMarkers` to each partition.
# 4. When each partition has answered: CompleteCommit or CompleteAbort, with no partitions.
#
# Until sitting 3 an end may keep the producer's epoch. Save, and run the check again: `check_mine(1)` here,
# `mqlab build check` in a terminal, or in a test of yours:
#
# ```python
# from mqlab.lessons.builder.checking import check_file
#
# def test_my_coordinator():
#     card = check_file(Path("coordinator.py"), sitting=1)
#     assert card.ok, card
# ```
#
# Two hints wait: `print(IT_WORKS.hint(1))`, then `print(IT_WORKS.hint(2))`. When the check says *right*, paste
# the whole file between the quotes.

# %% [markdown] lang="zh"
# *60 到 90 分钟。* 每个生产者一个事务，跨几个分区；没有进程会在被杀之后回来。请补上缺少的部分：
#
# 1. `AddPartitionsToTxn`：状态变为 Ongoing，带上到此为止加入的所有分区。
# 2. `EndTxn`：PrepareCommit 或 PrepareAbort，这就是决定。
# 3. 决定安全之后：给出应答，并向每个分区发送一个 `WriteTxnMarkers`。
# 4. 每个分区都应答之后：CompleteCommit 或 CompleteAbort，不带任何分区。
#
# 在第 3 节之前，结束事务时可以沿用生产者的 epoch。保存文件，再检查一次：在这里用 `check_mine(1)`，在终端里用 `mqlab build check`，也可以写进你自己的测试：
#
# ```python
# from mqlab.lessons.builder.checking import check_file
#
# def test_my_coordinator():
#     card = check_file(Path("coordinator.py"), sitting=1)
#     assert card.ok, card
# ```
#
# 有两条提示可看：`print(IT_WORKS.hint(1))`，然后 `print(IT_WORKS.hint(2))`。检查给出*正确*之后，把整个文件粘贴到引号之间。

# %% [markdown]
# Drive it by hand: below, your file *is* the coordinator. Choose what happens next, kill it in the middle, undo. An
# exception shows your own line. `play_mine(1, system="kafka partitions=1 'app=init; begin; send orders-0 a; abort'")`
# plays another story; in a terminal it is `mqlab build play`. `mqlab build check --system LINE --kills 1` searches it.

# %% [markdown] lang="zh"
# 亲手推动它：在下面，你的文件*就是*协调者。选择接下来发生什么，在中途杀掉它，再撤销。出现异常时会显示你自己的那一行。`play_mine(1, system="kafka partitions=1 'app=init; begin; send orders-0 a; abort'")` 播放另一个故事；在终端里是 `mqlab build play`。`mqlab build check --system LINE --kills 1` 搜索它。

# %%
play_mine(1)

# %% nbgrader={"solution": true, "grade_id": "coordinator-1"}
# All of coordinator.py, when sitting 1 is right.
mine = ""
### BEGIN SOLUTION
mine = read_right(1)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-1-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("coordinator 1", mine)
### END HIDDEN TESTS
check(IT_WORKS, mine)

# %% [markdown] tags=["deeper"]
# ## Deeper: sitting 2, it dies

# %% [markdown] lang="zh"
# ## 深入：第 2 节，它会死

# %% [markdown]
# *60 to 90 minutes.* The coordinator is killed anywhere: between two events, and inside a step between any two
# effects. All that it knew is gone; the log is there.
#
# 1. `recover` reads the log: `entries_of(disk)`. What does each state say about what is still to do?
# 2. What is decided is decided. Each partition of a Prepare record is owed its marker again; a partition that
#    has it already takes a second one.
# 3. A client whose answer was lost asks again. The same `EndTxn` gets the same answer.
#
# `check_mine(2)` asks the trials of sitting 1 again, too. When it says *right*, paste the whole file below. The points
# of a sitting are for its own trials.

# %% [markdown] lang="zh"
# *60 到 90 分钟。* 协调者可能在任何地方被杀掉：在两个事件之间，或者在某一步里的任意两个效果之间。它所知道的一切都没了，日志还在。
#
# 1. `recover` 读取日志：`entries_of(disk)`。每种状态说明还有什么要做？
# 2. 已经决定的，就不再改变。Prepare 记录里的每个分区都又欠着一条控制消息；已经有了的分区，再收一条也无妨。
# 3. 没有收到应答的客户端会再问一次。同样的 `EndTxn` 得到同样的应答。
#
# `check_mine(2)` 会把第 1 节的试验也再做一遍。它给出*正确*之后，把整个文件粘贴到下面。每一节的分数只看这一节自己的试验。

# %%
check_mine(2)

# %% nbgrader={"solution": true, "grade_id": "coordinator-2"}
# All of coordinator.py, when sitting 2 is right.
survives = ""
### BEGIN SOLUTION
survives = read_right(2)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-2-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("coordinator 2", survives)
### END HIDDEN TESTS
check(IT_DIES, survives)

# %% [markdown] tags=["deeper"]
# ## Deeper: sitting 3, it is not alone

# %% [markdown] lang="zh"
# ## 深入：第 3 节，它不是唯一的

# %% [markdown]
# *60 to 90 minutes.* A second producer comes with the same transactional id, while the first one is still alive. Connections
# break, and what was sent earlier arrives later.
#
# 1. `InitProducerId` gives the next epoch. What an older self left open is aborted first, and the newcomer hears
#    CONCURRENT_TRANSACTIONS until that is done.
# 2. Another epoch than the log's is refused: PRODUCER_FENCED.
# 3. Each end gives the next epoch, in its record, in its markers and in its answer. So a message of the ended
#    transaction cannot be taken for one of the next. The leaders demand it from here on.
# 4. After `ConnectionLost` a marker may be lost, or its answer. Send again what is still owed there.
#
# Then it is your coordinator that is not alone. Its log has a copy on a second node, and a newer coordinator begins
# there while the older one still believes that it leads. In this trial the leaders demand no new epoch of the
# producer, as before transaction.version 2, so two things are left to keep the older one out:
#
# 5. What it has decided alone is no decision: the newer one does not have the record. `Appended` comes when both
#    have it. *What must not happen before?*
# 6. What both have, both will send. The older one's marker may arrive last, when the producer's next transaction is
#    open. `recover` takes a fourth value, `epoch`, the *coordinator epoch*. Put it into each marker
#    as `coordinator_epoch`; a partition refuses a lower one than it has seen, with TRANSACTION_COORDINATOR_FENCED.
#    *Who gets that answer, and what should it do?*
#
# Paste the whole file when `check_mine(3)` says *right*.

# %% [markdown] lang="zh"
# *60 到 90 分钟。* 第一个生产者还活着，第二个生产者带着同一个事务 ID（transactional id）来了。连接会断开，先前发出的东西会迟到。
#
# 1. `InitProducerId` 给出下一个 epoch。旧实例留下的未结束事务要先中止；在此之前，新来的生产者得到的是 CONCURRENT_TRANSACTIONS。
# 2. epoch 与日志里的不同，就拒绝：PRODUCER_FENCED。
# 3. 每次结束都给出下一个 epoch，写进它的记录、控制消息和应答。这样，已结束事务的消息就不会混进下一个事务。从这一节起，leader 要求必须如此。
# 4. `ConnectionLost` 之后，丢的可能是控制消息，也可能是它的应答。凡是还欠那个分区的，再发一次。
#
# 接下来，不再只有一个的是你的协调者。它的日志在第二个节点上有一份副本；新协调者在那里接任时，旧协调者还以为自己是 leader。这次试验里，各分区的 leader 不要求生产者换新的 epoch（transaction.version 2 之前就是这样），所以只剩两样东西能把旧协调者挡在外面：
#
# 5. 它独自作的决定不算决定：新协调者那里没有这条记录。两边都有了，`Appended` 才会来。*在那之前，什么绝不能发生？*
# 6. 两边都有的决定，两边都会去发控制消息。旧协调者的那条可能最后才到，而那时生产者的下一个事务已经打开。`recover` 的第四个参数 `epoch` 就是协调者 epoch（coordinator epoch）。把它写进每条控制消息的 `coordinator_epoch`；分区如果见过更大的，就以 TRANSACTION_COORDINATOR_FENCED 拒绝。*谁会收到这个应答，收到之后该怎么办？*
#
# `check_mine(3)` 给出*正确*之后，粘贴整个文件。

# %%
check_mine(3)

# %% nbgrader={"solution": true, "grade_id": "coordinator-3"}
# All of coordinator.py, when sitting 3 is right.
fenced = ""
### BEGIN SOLUTION
fenced = read_right(3)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-3-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("coordinator 3", fenced)
### END HIDDEN TESTS
check(NOT_ALONE, fenced)

# %% [markdown] tags=["deeper"]
# ## Deeper: sitting 4, nobody comes back

# %% [markdown] lang="zh"
# ## 深入：第 4 节，没有人回来

# %% [markdown]
# *60 to 90 minutes.* A producer opens a transaction and is never heard of again. Readers wait behind it.
#
# 1. A transaction that begins sets a timer: `SetTimer(TIMEOUT + txn_id, timeout_ms)`. Its end cancels it.
# 2. When it runs out, the transaction is aborted like one of an older self, with the next epoch.
# 3. A timer is memory too: `recover` sets it again for what is Ongoing.
# 4. A timer may run out just when an end is being written. Then the end goes first.
#
# Paste the whole file when `check_mine(4)` says *right*.

# %% [markdown] lang="zh"
# *60 到 90 分钟。* 一个生产者开启事务之后就再无音讯。读者都等在它后面。
#
# 1. 事务开始时设一个定时器：`SetTimer(TIMEOUT + txn_id, timeout_ms)`。事务结束时取消它。
# 2. 定时器到时，就像对待旧实例留下的事务那样中止它，并换成下一个 epoch。
# 3. 定时器也只存在于内存：`recover` 要为 Ongoing 的事务重新设定。
# 4. 定时器可能恰好在写入结束记录时到时。这时以结束为先。
#
# `check_mine(4)` 给出*正确*之后，粘贴整个文件。

# %% nbgrader={"solution": true, "grade_id": "coordinator-4"}
# All of coordinator.py, when sitting 4 is right.
whole = ""
### BEGIN SOLUTION
whole = read_right(4)
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "coordinator-4-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("coordinator 4", whole)
### END HIDDEN TESTS
check(NOBODY_COMES_BACK, whole)

# %% [markdown] tags=["deeper"]
# ## Deeper: sitting 5, older clients

# %% [markdown] lang="zh"
# ## 深入：第 5 节，较旧的客户端

# %% [markdown]
# *30 minutes.* Until now each client was one of today. librdkafka 2.16, on which Python's confluent-kafka and many
# others are built, is older: it sends an EndTxn whose answer holds no epoch. Two fields tell you.
#
# 1. `EndTxn.v2` is False: this end keeps the epoch, and the client goes on with the one it has. Markers that carry
#    no new epoch say so with `transaction_version=0`, or the leader refuses them. `Entry.client_version` can keep
#    which kind it was, for a restart.
# 2. An older client adds its partitions itself. The leader only asks whether it has: `verify_only` is True, nothing
#    is added, and the answer for a partition that is missing is TRANSACTION_ABORTABLE.
# 3. An end that is asked a second time names the epoch that the log has.

# %% [markdown] lang="zh"
# *30 分钟。* 到目前为止，客户端都是如今的版本。librdkafka 2.16 属于较旧的一类，Python 的 confluent-kafka 和许多别的客户端都以它为基础：它发送的是旧版 EndTxn，应答里没有 epoch。有两个字段可以告诉你。
#
# 1. `EndTxn.v2` 为 False：这次结束沿用原来的 epoch，客户端也继续用手里的那一个。控制消息如果不带新的 epoch，就要写明 `transaction_version=0`，否则 leader 会拒绝。`Entry.client_version` 可以记下是哪一类客户端，留给重启之后用。
# 2. 较旧的客户端自己添加分区。leader 只来问它加过没有：这时 `verify_only` 为 True，什么也不添加；分区不在其中的，应答是 TRANSACTION_ABORTABLE。
# 3. 再次请求同一个结束时，请求里的 epoch 就是日志里现有的那一个。

# %%
check_mine(5)

# %% [markdown] tags=["deeper"]
# ## Deeper: it is real

# %% [markdown] lang="zh"
# ## 深入：它是真的

# %% [markdown]
# Your file is a role of the engine, and the engine can serve real clients. In a terminal:
#
# ```
# mqlab serve kafka --coordinator coordinator.py --data-dir coordinator-data
# ```
#
# Any Kafka client of this machine can now commit through your coordinator at 127.0.0.1:9092. The whole job of
# [lab 11](11-order-to-income.ipynb) can, too: `mqlab income --bootstrap-server 127.0.0.1:9092` must come to
# £57,751.32.
#
# The next cell does it with an unmodified confluent-kafka. It pays ten orders, leaves a transaction open, kills the
# server with `kill -9`, starts it again, and pays ten more. *Before you run it: which records does a reader with
# read_committed get, and who aborts the transaction that was open?*

# %% [markdown] lang="zh"
# 你的文件是引擎里的一个角色，而引擎可以为真实的客户端服务。在终端里运行：
#
# ```
# mqlab serve kafka --coordinator coordinator.py --data-dir coordinator-data
# ```
#
# 这台机器上的任何 Kafka 客户端，现在都能在 127.0.0.1:9092 上通过你的协调者提交事务。[实验 11](11-order-to-income.ipynb) 的整个作业也能跑：`mqlab income --bootstrap-server 127.0.0.1:9092` 的结果必须是 £57,751.32。
#
# 下一个单元用未经修改的 confluent-kafka 来做。它为十个订单付款，留下一个未结束的事务，用 `kill -9` 杀掉服务器，再启动，然后又为十个订单付款。*运行之前先想：用 read_committed 的读者会得到哪些记录？那个未结束的事务由谁来中止？*

# %%
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Producer, TopicPartition


def connect(broker):
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": "order-service"})
    producer.init_transactions(10)
    return producer


def pay(producer, orders):
    """One transaction per order: the payment, and its invoice."""
    for order in orders:
        producer.begin_transaction()
        producer.produce("payments", f"payment {order}")
        producer.produce("invoices", f"invoice {order}")
        producer.commit_transaction(10)


def count_committed(broker, topic):
    """How many records a reader with read_committed gets."""
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = 0
    while (message := consumer.poll(10)) is not None and message.error() is None:
        count += 1
    consumer.close()
    return count


card = check_mine(5)
if card.ok:
    with TemporaryDirectory() as folder, serve(coordinator="coordinator.py", data_dir=folder) as broker:
        producer = connect(broker)
        pay(producer, range(10))
        producer.begin_transaction()
        producer.produce("payments", "nobody will end this transaction")
        producer.flush(10)
        broker.kill()
        broker.restart()
        pay(connect(broker), range(10, 20))
        counts = [count_committed(broker, topic) for topic in ("payments", "invoices")]
    print(f"states searched             {card.states:,}")
    print("kill -9 survived            1")
    print("transactions committed      20")
    print(f"records that readers get    {counts[0]} payments, {counts[1]} invoices")
card

# %% [markdown] tags=["deeper"]
# ## Deeper: write the light that catches this

# %% [markdown] lang="zh"
# ## 深入：写一盏能抓住错误的指示灯

# %% [markdown]
# *45 minutes.* Who checks the check? Six coordinators are broken, each in one place:
#
# 1. its markers leave before the decision is in the log
# 2. it marks one partition of two and writes Complete
# 3. it writes Complete before the partitions have answered
# 4. it tells one partition commit, and the other abort
# 5. it commits what has timed out
# 6. an old producer goes on beside its successor
#
# You write the *light*: one function that looks at a moment and says True as long as all is well. It is asked in
# every moment of every run. It must stay lit for a right coordinator, and go out for each of the six; for
# points it also meets two that nobody names here.
#
# | argument | an example |
# |---|---|
# | `log` | `(("Empty", 0, ()), ("Ongoing", 0, ("orders-0",)), ("PrepareCommit", 1, ("orders-0",)))` |
# | `partitions` | `(("orders-0", (("a", 0), ("COMMIT", 1))), ("orders-1", ()))`: what each holds, with its epoch |
# | `calls` | `(("app", (("init", "ok"), ("begin", "ok"), ("commit", ""))),)`: `""` while a call waits |
#
# Two hints wait: `print(LIGHTS.hint(1))`, then `print(LIGHTS.hint(2))`.

# %% [markdown] lang="zh"
# *45 分钟。* 谁来检查检查器？有六个坏的协调者，各坏在一处：
#
# 1. 决定还没写进日志，控制消息就发出去了
# 2. 两个分区只给其中一个写了控制消息，就写下 Complete
# 3. 分区还没应答，就写下 Complete
# 4. 告诉一个分区提交，告诉另一个分区中止
# 5. 把超时的事务提交了
# 6. 旧的生产者和接替它的生产者一起继续工作
#
# 你来写*指示灯*（light）：一个函数，查看某个时刻，只要一切正常就返回 True。每次执行的每个时刻都会问它。对正确的协调者，它必须一直亮着；对这六个，每一个都必须让它熄灭。计分时它还会遇到两个，这里不说是什么。
#
# | 参数 | 例子 |
# |---|---|
# | `log` | `(("Empty", 0, ()), ("Ongoing", 0, ("orders-0",)), ("PrepareCommit", 1, ("orders-0",)))` |
# | `partitions` | `(("orders-0", (("a", 0), ("COMMIT", 1))), ("orders-1", ()))`：每个分区存了什么，连同各自的 epoch |
# | `calls` | `(("app", (("init", "ok"), ("begin", "ok"), ("commit", ""))),)`：调用还在等待时是 `""` |
#
# 有两条提示可看：`print(LIGHTS.hint(1))`，然后 `print(LIGHTS.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "lights"}
def light(log, partitions, calls):
    """Whether all is well in this moment."""
    ### BEGIN SOLUTION
    decided = {(epoch, state[len("Prepare") :].upper()) for state, epoch, _ in log if "Prepare" in state}
    for _, held in partitions:
        marks = {(epoch, what) for what, epoch in held if what in ("COMMIT", "ABORT")}
        epochs = [epoch for _, epoch in held]
        if not marks <= decided or epochs != sorted(epochs):
            return False
        if held and log[-1][0].startswith("Complete") and held[-1][0] not in ("COMMIT", "ABORT"):
            return False
    asked = sum(call == "commit" for _, made in calls for call, _ in made)
    return sum(state == "PrepareCommit" for state, _, _ in log) <= asked
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lights-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("lights", light)
### END HIDDEN TESTS
check(LIGHTS, light)

# %% [markdown] tags=["deeper"]
# ## Deeper: what is left out

# %% [markdown] lang="zh"
# ## 深入：省略了什么

# %% [markdown]
# Kafka's own coordinator also hands out producer ids in blocks, knows epochs that are used up, takes positions of
# consumers into a transaction, forgets ids that nobody uses, and waits where too few copies are in sync.
# Read on in `mqlab/kafka/coordinator`, which is about three times as long as yours.

# %% [markdown] lang="zh"
# Kafka 自己的协调者还有这些：成段分配生产者 ID，处理用完的 epoch，把消费者的偏移量放进事务，忘掉没人再用的 ID，以及在同步的副本太少时等待。想接着读，可以看 `mqlab/kafka/coordinator`，篇幅大约是你那份的三倍。

# %% [markdown] tags=["deeper"]
# ## Deeper: build RocketMQ's check round

# %% [markdown] lang="zh"
# ## 深入：写 RocketMQ 的一轮回查

# %% [markdown]
# *60 minutes, after [lab 04](04-check-back.ipynb).* A coordinator has a table of open transactions. RocketMQ's broker has
# none: a *check round* (回查) reads the half topic beside the op topic and finds out who must be asked. You write that
# round, one function in a file of its own:
#
# ```
# mqlab build new --what check-round
# ```
#
# Until you have written the file, the next cell checks the one to begin with. Look at the last step of its run: *what does the
# broker know about the half at 0, and what should become of it?*

# %% [markdown] lang="zh"
# *60 分钟，做完[实验 04](04-check-back.ipynb) 之后。* 协调者有一张表，列着未结束的事务。RocketMQ 的 broker 没有：它靠一轮*回查*（check round），把半消息主题和 op 主题对照着读，查出必须去问谁。这一轮回查由你来写，是单独一个文件里的一个函数：
#
# ```
# mqlab build new --what check-round
# ```
#
# 在你写好文件之前，下一个单元检查的是起始文件。看执行的最后一步：*对偏移量 0 处的半消息，broker 知道什么？这条半消息应当怎样处置？*

# %%
check_mine(1, "check_round.py")

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(ROUND_PAGE)

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_begin("check_round.py"))

# %% [markdown]
# **Sitting 1, what must be asked.** No half is young here.
#
# 1. A half that an op record names is passed over. A producer is asked about each of the others.
# 2. What a round passes over is never seen again. What has to be there before the question leaves?
# 3. After `check_max` questions nobody is asked any more. Where does the half go?
#
# **Sitting 2, what must wait.** The broker may be killed within a round.
#
# 1. At the first young half the round ends. Where does the next one begin?
# 2. One op record names several halves, and the round may end between them. When is the record done with?
#
# `check_mine(2, "check_round.py")` asks both sittings; in a terminal it is `mqlab build check check_round.py --sitting 2`.

# %% [markdown] lang="zh"
# **第 1 节，什么必须问。** 这里没有太新（young）的半消息，都到了该问的时候。
#
# 1. op 记录里写明的半消息，跳过。其余每一条，都要去问一个生产者。
# 2. 一轮跳过的东西，就再也看不到了。那么问题发出之前，什么必须已经在那里？
# 3. 问满 `check_max` 次之后，就不再问任何人。半消息去哪里？
#
# **第 2 节，什么必须等。** broker 可能在一轮中途被杀掉。
#
# 1. 遇到第一条太新的半消息，这一轮就结束。下一轮从哪里开始？
# 2. 一条 op 记录写明了几条半消息，而一轮可能在这几条之间结束。这条记录什么时候才算处理完？
#
# `check_mine(2, "check_round.py")` 检查这两节；在终端里是 `mqlab build check check_round.py --sitting 2`。

# %% [markdown] tags=["deeper"]
# ## Deeper: build Pulsar's pending acks

# %% [markdown] lang="zh"
# ## 深入：写 Pulsar 的待定确认

# %% [markdown]
# *60 minutes, after [lab 10](10-acknowledgement.ipynb).* In Pulsar a transaction may acknowledge messages. Until it ends, the
# subscription keeps them as *pending acks* (待定确认). You write what becomes of them, in six short functions:
#
# ```
# mqlab build new --what pending-acks
# ```
#
# Look at the last step of the run below: *the transaction has ended; who has its message?*

# %% [markdown] lang="zh"
# *60 分钟，做完[实验 10](10-acknowledgement.ipynb) 之后。* 在 Pulsar 里，事务可以确认消息。事务结束之前，订阅把这些消息记作*待定确认*（pending ack）。这些消息后来怎样，由你用六个短函数来写：
#
# ```
# mqlab build new --what pending-acks
# ```
#
# 看下面那次执行的最后一步：*事务已经结束，它的消息在谁手里？*

# %%
check_mine(1, "pending_acks.py")

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(ACKS_PAGE)

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_begin("pending_acks.py"))

# %% [markdown]
# **Sitting 1, who may have a message, and until when.**
#
# 1. Two transactions acknowledge one message: which of them gets it? And who gets one that is acknowledged for good?
# 2. A request with two messages finds one of them taken. What about the other?
# 3. What does the cursor get from a commit, and what do consumers get from an abort?
#
# **Sitting 2, what a load finds.** The partition is killed, and `held` is gone.
#
# 1. A plain acknowledgement meets a message that is pending. It is not asked, it happens.
# 2. The log has every request, refused ones too. How does `load` know which of them was granted?
# 3. The kill came between the record of a commit and the cursor's row. Who acknowledges its messages?
#
# `check_mine(2, "pending_acks.py")` asks both sittings.

# %% [markdown] lang="zh"
# **第 1 节，谁可以占有一条消息，占到什么时候。**
#
# 1. 两个事务确认同一条消息：归哪一个事务？已经永久确认的消息又归谁？
# 2. 一个请求带着两条消息，发现其中一条已有人占用。另一条怎么办？
# 3. 提交之后，游标得到什么？中止之后，消费者得到什么？
#
# **第 2 节，加载时看到什么。** 分区被杀掉，`held` 没了。
#
# 1. 普通确认遇到一条待定的消息。它不用征得谁的同意，直接生效。
# 2. 日志里有每个请求，遭到拒绝的也在。`load` 怎么知道哪些得到了同意？
# 3. 提交的记录已经写下，游标那一行还没写，这时发生了 kill。它的消息由谁来确认？
#
# `check_mine(2, "pending_acks.py")` 检查这两节。

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% jupyter={"source_hidden": true}
Predict("13-exit-ticket")
