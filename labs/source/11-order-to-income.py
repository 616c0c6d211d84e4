# %% [markdown]
# # Lab 11 · Is the sum right after a crash?
#
# *90 minutes, or a short way of 20* · PySpark 4.3 against the engine's Kafka server (legacy client:
# confluent-kafka), `transaction.version` 2
#
# **In one paragraph.** A day of real orders from a British online gift shop arrives in topic *Order*.
# A Spark job adds up the income of each minute and writes it to topic *Income*, for *accounting*. Each
# order must be counted once, although any process of the job may be killed at any moment. In this lab
# you find out which ways of writing are right after a kill, and you write the rule that decides it.
# Then your rule is put into the real job, which is killed with `kill -9`.
#
# **The short way:** Hook, Predict, Run, Write the rule, What you know now. It needs no Spark. The other
# parts are folded under headings that begin with *Deeper*. A click on *cells hidden* below a heading
# opens its part. The first of them starts a broker and Spark, and those after it need that:
# *Run All Above Selected Cell* in the menu *Run* runs what stands above a part.
#
# **You need** lab 08, or these two sentences. A *transaction* makes its records visible all together or
# not at all. A new process with the same `transactional.id` *fences* the old one: what the old one has
# left open is aborted.

# %% [markdown] lang="zh"
# # 实验 11 · 宕机之后，总数还对吗？
#
# *90 分钟，短路线约 20 分钟* · PySpark 4.3 连接引擎的 Kafka 服务器（旧式客户端：confluent-kafka），`transaction.version` 2
#
# **一段话概括**：英国一家网上礼品店一整天的真实订单，陆续进入主题 *Order*。一个 Spark 作业算出每分钟的收入，写入主题 *Income*，供*财务*使用。无论作业的哪个进程在什么时刻遭到 kill，每个订单都必须恰好计入一次。在这个实验里，你会弄清哪些写法在 kill 之后仍然正确，并写出起决定作用的那条规则。然后你的规则会装进真实的作业，而这个作业会遭到 `kill -9`。
#
# **短路线**：引子、预测、执行、写出规则、现在你知道了什么。它不需要 Spark。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。其中第一部分会启动 broker 和 Spark，它后面的部分都要用到。用菜单 *Run* 里的 *Run All Above Selected Cell* 可以执行某一部分的上文。
#
# **你需要**实验 08，或者下面两句话。*事务*（transaction）让它的记录要么一起可见，要么都不可见。新进程如果用了同一个 `transactional.id`，就会*隔离*（fence）旧进程：旧进程留下的未结束的事务会中止。

# %% [markdown]
# ## Hook: the job finished without a complaint. Is the sum right?
#
# Spark works in *micro-batches* (微批): all orders up to some moment are one batch. Spark numbers the
# batches and keeps two notes for each in a folder, the *checkpoint* (检查点). Before batch 3 runs, it
# writes `offsets/3`, which says what the batch consists of. When the batch is done, it writes
# `commits/3`. The code that hands a batch to the outside is called the *sink* (接收端).
#
# Here the job counts two hours of orders, in batches of half an hour, and its sink sends plain records
# to Kafka. When all records of batch 3 are acknowledged, the job is killed with `kill -9`. It is started
# again, and finishes. This is what accounting finds in topic *Income*:

# %% [markdown] lang="zh"
# ## 引子：作业跑完了，没有报错。总数对吗？
#
# Spark 按*微批*（micro-batch）工作：到某一时刻为止的全部订单是一批。Spark 给批次编号，并在一个目录里为每一批写两个文件作备忘，这个目录就是*检查点*（checkpoint）。批次 3 运行之前，它写下 `offsets/3`，说明这一批由什么组成。这一批做完后，它写下 `commits/3`。把批次交给外部的那段代码叫作*接收端*（sink）。
#
# 这里，作业统计两小时的订单，每半小时一批，接收端向 Kafka 发送普通记录。批次 3 的记录全部得到确认之后，作业遭到 `kill -9`。它重新启动，然后跑完了。财务在主题 *Income* 里看到的是：

# %% jupyter={"source_hidden": true}
from mqlab.lab import (
    Follow,
    IncomeError,
    Predict,
    Trials,
    check,
    income,
    say,
    scenario,
    vary,
)
from mqlab.lessons.spark.lab11 import (
    COMMIT_RULES,
    DECIDE,
    GONE,
    HALF_HOUR,
    KEPT,
    KILL_MOMENTS,
    KILL_SINKS,
    KILLED,
    MOMENTS,
    RESUME,
    STEPS,
    Bench,
    Point,
    amounts_of_batches,
    bestsellers,
    compare_outputs,
    consumer,
    copies,
    fetch_offsets,
    kill_broker,
    play_both,
    play_sink,
    pounds,
    recorded_kills,
    serve,
    tabulate_levels,
)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
amounts = amounts_of_batches(HALF_HOUR)
print("income of the two hours:", pounds(sum(amounts)))
print("added up by accounting: ", pounds(sum(amounts) + amounts[KILLED]))

# %% [markdown]
# That is a quarter too much, and there is no error anywhere. `commits/3` was not written yet, so Spark
# handed batch 3 to the sink again, and the sink sent it again. Spark's documentation says that its Kafka
# sink is *at least once*.

# %% [markdown] lang="zh"
# 多出了四分之一，而任何地方都没有报错。`commits/3` 还没写下，所以 Spark 又把批次 3 交给接收端，接收端又发了一遍。Spark 的文档说，它的 Kafka 接收端是*至少一次*（at least once）。

# %% [markdown]
# ## Predict
#
# The obvious repair is to write each batch in **one Kafka transaction**. The picture shows such a job,
# reduced to one batch, the income of the half hour from 12:30. Its transaction has committed. Then the job is
# killed, before Spark has written its `commits` note. It is started again, and is handed the same batch.

# %% [markdown] lang="zh"
# ## 预测
#
# 最容易想到的补救办法，是把每一批写在**一个 Kafka 事务**里。图中就是这样的作业，简化到只有一批，即 12:30 起那半小时的收入。它的事务已经提交。接着作业遭到 kill，这时 Spark 还没写下 `commits` 文件。它重新启动，又拿到同一批。

# %% jupyter={"source_hidden": true}
Predict(
    "11-one-transaction",
    trace=scenario("""
# One transaction per batch; the job dies after the commit and starts again
system sink producers=job:income-job,again:income-job owed=12:30=1621 last=again calls=4
run job: init, begin, send income-0 12:30=1621, commit
kill job
run again: init, begin, send income-0 12:30=1621, commit
"""),
    step=24,
)

# %% [markdown]
# ## Run: which sink, and which moment of death?
#
# Choose a sink and the moment at which the job dies in batch 3. The picture opens at the kill; play it to
# its end. Batch 3 is the half hour from 13:00, and batch 4 the one from 13:30. *Money* compares what was
# ordered with what accounting has added up. The third sink keeps the number of the batch *in the same
# transaction* as the rows. After a restart it reads this *progress record* (进度记录) before it writes.
#
# Nine runs are possible. Before you play one, guess whether the light stays green.

# %% [markdown] lang="zh"
# ## 执行：哪个接收端，在哪一刻死掉？
#
# 选一个接收端，再选作业在批次 3 里死掉的时刻。图打开时停在 kill 那一步，请播放到最后。批次 3 是 13:00 起的半小时，批次 4 是 13:30 起的半小时。*金额*一栏比较订单的金额和财务汇总出来的金额。第三个接收端把批次的编号和各行保存*在同一个事务里*。重启之后，它先读这条*进度记录*（progress record），再写。
#
# 一共有九种可能的执行。每播放一种之前，先猜指示灯会不会一直是绿的。

# %%
vary(play_sink, sink=list(KILL_SINKS), killed=list(KILL_MOMENTS))

# %% [markdown]
# | written | by | when |
# |---|---|---|
# | `offsets/N`: what batch N consists of | Spark, in the checkpoint | before the batch runs |
# | the rows of batch N, and perhaps its number | the sink, in Kafka | while it runs |
# | `commits/N`: batch N is done | Spark, in the checkpoint | after the sink has returned |
#
# Between the second and the third line the batch is done, and Spark does not know it. **Without a
# transaction**, all rows that had left the sink are doubled. **With a transaction**, a death *inside* the
# sink does no harm: the restarted job fences the old one, and the half-written transaction is aborted. After
# the commit a transaction does not help: the whole batch is in the topic, and is then written once more. Only
# a sink that keeps the number *together with* the rows can tell that the batch has been written.

# %% [markdown] lang="zh"
# | 写下什么 | 谁写的 | 什么时候 |
# |---|---|---|
# | `offsets/N`：批次 N 由什么组成 | Spark，写在检查点里 | 这一批运行之前 |
# | 批次 N 的各行，可能还有它的编号 | 接收端，写在 Kafka 里 | 这一批运行期间 |
# | `commits/N`：批次 N 做完了 | Spark，写在检查点里 | 接收端返回之后 |
#
# 在第二行和第三行之间，这一批已经做完，而 Spark 不知道。**没有事务时**，凡是已经离开接收端的行都会重复。**有事务时**，死在接收端*里面*就没有害处：重启的作业隔离旧的作业，只写了一半的事务会中止。提交之后，事务就帮不上忙了：整批都在主题里，然后又写一遍。只有把编号和各行*一起*保存的接收端，才分辨得出这一批已经写过。

# %% [markdown]
# ## Write the rule
#
# Now write what the third sink does. `progress` is the number of the last batch whose transaction
# committed (−1: none yet), and `batch` is the number of the one that Spark hands over. Answer `"write"`,
# `"skip"`, or `"stop"` when a person must look.
#
# Your rule is tried in three crashes, with the shop's real amounts. In the second somebody deletes the
# checkpoint after the kill, and in the third somebody creates topic *Income* again, empty. Two hints wait:
# `print(DECIDE.hint(1))`, then `print(DECIDE.hint(2))`. If the rule is not right yet, the message says which
# sum comes out, and the run that shows it opens.

# %% [markdown] lang="zh"
# ## 写出规则
#
# 现在来写第三个接收端所做的事。`progress` 是事务已经提交的最后一批的编号（−1 表示还没有），`batch` 是 Spark 交来的这一批的编号。请回答 `"write"`、`"skip"`，或者在需要人来看的时候回答 `"stop"`。
#
# 你的规则会在三次宕机中试验，用的是商店的真实金额。第二次，kill 之后有人删除了检查点；第三次，有人重建了主题 *Income*，里面是空的。这里有两条提示：先运行 `print(DECIDE.hint(1))`，再运行 `print(DECIDE.hint(2))`。如果规则还不对，反馈会给出算出来的总数，并打开能说明问题的那次执行。

# %% nbgrader={"solution": true, "grade_id": "decide"}
def decide(progress: int, batch: int) -> str:
    """What to do with this batch: "write" it, "skip" it, or "stop" the job."""
    ### BEGIN SOLUTION
    if batch == progress:
        return "skip"  # handed over again after a crash: it is in already
    if batch == progress + 1:
        return "write"
    return "stop"  # sink and checkpoint disagree: a person must look
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "decide-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("decide", decide)
### END HIDDEN TESTS
check(DECIDE, decide)

# %% [markdown]
# ## What you know now
#
# A transaction alone is not exactly once. Put the progress into the same transaction as the result, look
# at it before you write, and stop when the two disagree.
#
# The short way ends here. The parts below go deeper; 5 of the 10 points are there. To go on
# with this job, run the whole year (`mqlab income --year`), kill it wherever you like
# (`mqlab income chaos`), or point it at a Kafka of your own (`--bootstrap-server`). The next lab asks
# which broker, and whether you need its transaction at all: [lab 12](12-which-one.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 光有事务，并不等于精确一次。要把进度和结果放进同一个事务，写之前先看它，两者对不上就停下。
#
# 短路线到此结束。下面的部分继续深入；10 分里有 5 分在那里。想接着用这个作业，可以跑一整年（`mqlab income --year`），可以在任意时刻 kill 它（`mqlab income chaos`），也可以让它连接你自己的 Kafka（`--bootstrap-server`）。下一个实验要问该用哪种 broker，以及到底需不需要它的事务：[实验 12](12-which-one.ipynb)。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("11")

# %% [markdown] tags=["deeper"]
# ## Deeper: does the real job double it too?

# %% [markdown] lang="zh"
# ## 深入：真实的作业也会重复吗？

# %% [markdown]
# The short way computed its sums from the shop's amounts. Here is the job itself: a broker, Spark, and
# `kill -9` for the Java machine and the Python driver. It is the case of the hook, a sink without a
# transaction, killed after all rows of batch 3 are acknowledged. The first run takes up to a minute,
# because Spark starts. Later runs take a few seconds.

# %% [markdown] lang="zh"
# 短路线里的总数，是从商店的金额推算出来的。这里是作业本身：一个 broker、Spark，还有对 Java 虚拟机和 Python 驱动程序的 `kill -9`。情形和引子里一样：接收端不用事务，批次 3 的行全部得到确认之后，作业遭到 kill。第一次运行最多要一分钟，因为要启动 Spark。以后每次只要几秒。

# %% tags=["volatile"]
broker = serve()
address = broker.address
bench = Bench(address)

# %% tags=["nbval-check-output"]
hook = bench.kill("at-least-once", Point.COMMITTED)
print(f"income {pounds(hook.tenths)}, should be {bench.expected}: {hook.error}")

# %% [markdown]
# It is the sum of the hook, to the penny.

# %% [markdown] lang="zh"
# 和引子里的总数一样，一便士也不差。

# %% [markdown] tags=["deeper"]
# ## Deeper: is every line of a whole day counted?

# %% [markdown] lang="zh"
# ## 深入：一整天的每一行都计入了吗？

# %% [markdown]
# 2011-12-05 was the busiest day of the year. There is one message per order line, keyed by invoice, in two
# partitions. The job reads them from topic *Order* in eight batches and writes each batch in one
# transaction. A minute is written when no more orders are expected for it; the moment up to which that
# is so is the *watermark* (水位线). Run the next three cells. The picture follows the broker's own log while
# the job works.
#
# At the end the job accounts for every line of the file, which other code reads a second time.
# *Rejected* lines could not be read as an order; as messages they are *dead* letters. *Late* lines
# came after their minute was written. *Unaccounted* lines are those that were read and are neither
# counted nor dead; they must all be late.

# %% [markdown] lang="zh"
# 2011-12-05 是全年最忙的一天。每个订单行是一条消息，以发票号为键，分在两个分区里。作业分八批从主题 *Order* 读取，每一批写在一个事务里。某一分钟的订单预计已经到齐，才写下这一分钟；预计哪一刻之前的订单都已到齐，那一刻就是*水位线*（watermark）。运行下面三个单元。作业工作时，图会跟着 broker 自己的日志走。
#
# 最后，作业会交代文件每一行的下落，并由另一套代码把文件再读一遍。*Rejected*（拒收的行）无法当作订单读取，写成消息就是 *dead*（死信）。*Late*（迟到的行）在自己那一分钟写下之后才来。*Unaccounted*（没有着落的行）已经读到，却既没有计入，也不是死信；它们必须全是迟到的行。

# %% tags=["volatile"]
live = Follow(broker.trace_url)
live

# %% tags=["nbval-check-output"]
day = income(address, name="day", say=print)

# %% tags=["nbval-check-output"]
print(day.account)
print(day.reconciliation)
print("total", day.total, "without Spark", day.expected)

# %% [markdown]
# Every line that was sent was read, and counted once. The next chart shows the income minute by minute.

# %% [markdown] lang="zh"
# 发来的每一行都读到了，并且只计入一次。下一张图逐分钟显示收入。

# %%
import plotly.graph_objects as go

chart = go.Figure(go.Bar(x=[row.minute for row in day.rows], y=[row.pounds for row in day.rows]))
chart.update_layout(
    title=say("Income per minute, 2011-12-05 (UTC)"),
    xaxis_title=say("minute"),
    yaxis_title="£",
    template="plotly_white",
    height=320,
    margin={"l": 60, "r": 20, "t": 50, "b": 50},
)
chart

# %% [markdown] tags=["deeper"]
# ## Deeper: does accounting see aborted rows if it sets no level?

# %% [markdown] lang="zh"
# ## 深入：财务不设隔离级别，会看到已中止的行吗？

# %% [markdown]
# A transaction protects only those who read committed data. Suppose that accounting is a program of its own,
# and sets no `isolation.level`. The next cell asks this lab's client, librdkafka, on this lab's broker. One
# record is aborted, and then another one is committed. Which is the first that a consumer gets?

# %% [markdown] lang="zh"
# 事务只保护读已提交数据的人。假设财务是一个独立的程序，没有设置 `isolation.level`。下一个单元用这个实验的客户端 librdkafka，在这个实验的 broker 上问一问。先中止一条记录，再提交另一条。消费者最先拿到的是哪一条？

# %% tags=["nbval-check-output"]
print(tabulate_levels(address))

# %% [markdown]
# librdkafka reads committed data unless it is told otherwise. Java's consumer does not: its default is
# read_uncommitted (`ConsumerConfig`, lab 07). So never rely on a default here.

# %% [markdown] lang="zh"
# librdkafka 只读已提交的数据，除非另行设置。Java 的消费者则不然：它的默认值是 read_uncommitted（`ConsumerConfig`，实验 07）。所以在这里，千万不要依赖默认值。

# %% [markdown] tags=["deeper"]
# ## Deeper: which amounts are below zero, and where is the progress?

# %% [markdown] lang="zh"
# ## 深入：哪些金额小于零？进度在哪里？

# %% [markdown]
# A cancellation is income with a minus sign. A job that drops "impossible" quantities reports too much.
# Money is counted in whole tenths of a penny here, because a sum of floating-point numbers depends on the
# order of the additions, and then "equal to the truth" means nothing.

# %% [markdown] lang="zh"
# 取消订单，就是一笔带负号的收入。作业要是丢掉“不可能的”数量，报出的收入就会偏高。这里的金额以十分之一便士为单位，按整数计算，因为浮点数的总和取决于相加的顺序，那样一来，“等于真值”就没有意义了。

# %% tags=["nbval-check-output"]
lowest = min(day.rows, key=lambda row: row.tenths)
print(lowest.minute, pounds(lowest.tenths), "order lines:", lowest.lines)
prices = [row.pounds for row in day.rows]
print("floats agree, forwards and backwards:", sum(prices) == sum(reversed(prices)))

# %% [markdown]
# The progress record is in the broker, as a note on the job's own offsets, and the transaction that writes
# the rows writes it too. You can read it as you read the offsets of any consumer group:

# %% [markdown] lang="zh"
# 进度记录在 broker 里，是附在作业自己的偏移量上的一条备注，写入各行的那个事务也写入它。读它的方法，和读任何消费者组的偏移量一样：

# %% tags=["nbval-check-output"]
for place in fetch_offsets(consumer(address, "spark-income-day"), "Order-day", 2):
    print(f"{place.topic}-{place.partition} offset {place.offset}: {place.metadata}")

# %% [markdown] tags=["deeper"]
# ## Deeper: which of seven moments kills the sum of the real job?

# %% [markdown] lang="zh"
# ## 深入：七个时刻里，哪些会让真实作业的总数出错？

# %% [markdown]
# Choose a sink and the moment of death, and press the button. The job starts, dies in batch 3, is started
# again with the same checkpoint, and its output is added up. Before each trial, say which error you expect.
# While it runs, *Money* shows what accounting has added up so far (the bar) and the sum that is due (the
# mark). Watch it at the kill, and when the job is back. For the broker an amount is a few bytes, so its live
# picture shows no money.

# %% [markdown] lang="zh"
# 选一个接收端和死掉的时刻，按下按钮。作业启动，在批次 3 里死掉，用同一个检查点重新启动；最后再把它的输出加起来。每次试验之前，先说说你预计会出现哪种错误。运行期间，*金额*一栏显示财务目前汇总出的金额（长条）和应有的总数（刻度）。请在 kill 的时候看它，再在作业回来之后看它。对 broker 来说，金额不过是几个字节，所以它的实时图里没有金额。

# %%
SINKS = ["at-least-once", "transactions", "exactly-once"]
kills = Trials(
    {"sink": SINKS, "killed": list(Point)},
    run=bench.trial,
    columns=["income", "error"],
    button="kill -9",
    caption=f"Two hours of orders; the income should be {bench.expected}",
    money=True,
)
kills

# %% [markdown]
# The next cell adds the four trials that tell the sinks apart, whatever you have tried before.

# %% [markdown] lang="zh"
# 下一个单元补上最能区分各个接收端的四次试验，不管你之前试过什么。

# %% tags=["nbval-check-output", "long"]
for sink, point in [
    ("at-least-once", Point.HALF),
    ("transactions", Point.OUT),
    ("transactions", Point.COMMITTED),
    ("exactly-once", Point.COMMITTED),
]:
    print(*kills.try_out(sink, point), sep=" · ")

# %% [markdown]
# Did the real job do what the model in *Run* did? Death *in the sink, half of the rows out* is new: a sink
# without a transaction then doubles half of a batch, and the sum gives no hint which half.
#
# At which moments do even *transactions* without a progress record come out right? Find them with the
# button. What do these moments have in common?
#
# Nothing was *lost*: the source can be read again. Losses need a wrong order (progress first) or a lost
# checkpoint. (All three sinks at all seven moments: `mqlab income chaos` in a terminal.)

# %% [markdown] lang="zh"
# 真实的作业和*执行*里的模型表现一样吗？死在*接收端里、一半的行已经发出*的时刻，是新的：没有事务的接收端这时会重复半批，而从总数看不出是哪一半。
#
# *只用事务*、没有进度记录的接收端，在哪些时刻也能得出正确的结果？用按钮找出来。这些时刻有什么共同点？
#
# 什么也没有*丢失*：数据源可以重读。要丢数据，得是顺序错了（先写进度），或者丢了检查点。（三个接收端、七个时刻全部试一遍：在终端运行 `mqlab income chaos`。）

# %% [markdown] tags=["deeper"]
# ## Deeper: is Spark's own sink any better?

# %% [markdown] lang="zh"
# ## 深入：Spark 自带的接收端会好一些吗？

# %% [markdown]
# Spark's own sink is `format("kafka")`. It comes as a separate connector. None is published for Spark 4.3,
# so the one of 4.2 runs here (four jars, fetched by Maven). It dies at the same moment as our first sink.

# %% [markdown] lang="zh"
# Spark 自带的接收端是 `format("kafka")`，作为单独的连接器发布。Spark 4.3 的还没有发布，所以这里用的是 4.2 的（四个 jar，由 Maven 下载）。它死掉的时刻，和我们的第一个接收端一样。

# %% jupyter={"source_hidden": true}
Predict("11-own-sink")

# %% tags=["volatile", "long"]
try:
    own = bench.kill("Spark's own", Point.COMMITTED)
    print(f"income {pounds(own.tenths)}, should be {bench.expected}: {own.error}")
except IncomeError as missing:
    print(missing)

# %% [markdown]
# It doubles exactly the batch that our at-least-once sink doubled. (Without Maven the cell says what is
# missing.) The reason is in the connector's code: `KafkaDataWriter` sends without a transaction, and the
# methods with which Spark tells a sink that a batch is done, `KafkaStreamingWrite.commit` and `.abort`, are
# empty. A patch that would have made it exactly once, SPARK-28908, was never merged.

# %% [markdown] lang="zh"
# 它重复的那一批，正是我们的 at-least-once 接收端重复的那一批。（没有 Maven 时，这个单元会说缺了什么。）原因在连接器的代码里：`KafkaDataWriter` 发送时不用事务，而 Spark 用来通知接收端批次已做完的两个方法，`KafkaStreamingWrite.commit` 和 `.abort`，都是空的。有一个补丁 SPARK-28908 本可以让它做到精确一次，但始终没有合并。

# %% [markdown] tags=["deeper"]
# ## Deeper: in which order does the sink work?

# %% [markdown] lang="zh"
# ## 深入：接收端按什么顺序工作？

# %% [markdown]
# The sink that is exactly once takes five steps with each batch. Put them in order. If the order is wrong,
# the message says what it breaks. Run the cell, then move the pieces: each move is written between the
# brackets.

# %% [markdown] lang="zh"
# 做到精确一次的接收端，每一批要走五步。请排出它们的顺序。顺序错了，反馈会说它破坏了什么。先运行单元，再移动各块：每移动一次，结果就写进方括号里。

# %% nbgrader={"solution": true, "grade_id": "steps"}
order = STEPS.arrange([
    ### BEGIN SOLUTION
    "fence", "read", "decide", "write", "commit"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "steps-test", "points": 2}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("steps", order)
### END HIDDEN TESTS
check(STEPS, order)

# %% [markdown] tags=["deeper"]
# ## Deeper: does your rule survive a real kill?

# %% [markdown] lang="zh"
# ## 深入：你的规则经得起真正的 kill 吗？

# %% [markdown]
# `check` computed its sums from the amounts of the batches, in milliseconds. Now put your rule into the
# sink of the real job, right or wrong, and kill it. The sums must be the same.

# %% [markdown] lang="zh"
# `check` 在几毫秒之内，从各批的金额推算出总数。现在把你的规则装进真实作业的接收端，不管它对不对，然后 kill 这个作业。总数必须一样。

# %% tags=["nbval-check-output"]
bench.try_rule(decide)

# %% [markdown] tags=["deeper"]
# ## Deeper: and if the broker dies?

# %% [markdown] lang="zh"
# ## 深入：如果死掉的是 broker 呢？

# %% [markdown]
# Until now only the job has died. But the broker is a process too. In this run the job has its own broker,
# which keeps its logs in a folder. In three of its batches this broker is killed with `kill -9` and started
# again on the same folder. Nobody touches the job.

# %% [markdown] lang="zh"
# 到现在为止，死掉的只有作业。可是 broker 也是进程。在这次执行里，作业有一个专用的 broker，它把日志保存在一个目录里。在作业的三个批次里，这个 broker 都会遭到 `kill -9`，并用同一个目录重新启动。没有人去动作业。

# %% jupyter={"source_hidden": true}
Predict("11-broker-killed")

# %% tags=["nbval-check-output", "long"]
survived = kill_broker(say=print)
print(f"income {pounds(survived.tenths)}, should be {bench.expected}: {survived.error or 'ok'}")

# %% [markdown]
# No part of the job had to be started again, and no batch was run twice. The rows, the state of the
# transaction and the group's offsets are in the broker's logs. The client connects again and goes on with the
# same producer id and epoch. It repeats the requests that were not answered, and the sequence numbers show
# the broker which of them it has already (lab 05).
#
# A power cut is another matter. Data that the operating system has not written yet is gone then, unless
# the broker forces each write (`--fsync`). Kafka does not; it relies on copies on other brokers (lab 06).

# %% [markdown] lang="zh"
# 作业的任何部分都不必重新启动，也没有哪一批运行两次。各行、事务的状态和消费者组的偏移量，都在 broker 的日志里。客户端重新连接，用同样的 producer id 和 epoch 继续。它把没有得到应答的请求再发一遍，broker 从序列号看得出其中哪些已经有了（实验 05）。
#
# 断电是另一回事。操作系统还没有写到磁盘上的数据，断电就没了，除非 broker 每次写入都强制刷盘（`--fsync`）。Kafka 不这样做，它依靠别的 broker 上的副本（实验 06）。

# %% [markdown] tags=["deeper"]
# ## Deeper: which two things are called "exactly once"?

# %% [markdown] lang="zh"
# ## 深入：哪两件事都叫“精确一次”？

# %% [markdown]
# **Of a messaging service:** a record that is sent is in the log once, however often it was sent. The
# leader remembers the last batches of each producer and recognises a repetition (lab 05).
#
#     producer ──  a  ──────────▶  log: a
#              ──  a (again) ──▶  log: a            a duplicate: answered, not written
#
# **Of read, compute, save:** each record that is read has its effect once, whichever process dies in
# between. For that the result *and the position of the reader* must be saved together, or not at all
# (lab 08).
#
#     topic Order ──▶ read ──▶ compute ──▶ ┌ rows to topic Income ┐
#                      ▲                   └ the progress record  ┘  one transaction
#                      └────────────── where to go on ──────────────┘
#
# The first does not give you the second. A transactional producer is always idempotent too, and yet the sink
# with transactions but without a progress record wrote a batch twice.

# %% [markdown] lang="zh"
# **说的是消息服务时**：一条记录不管发多少次，日志里都只有一条。leader 记得每个生产者最近的批次，认得出重复发送（实验 05）。
#
#     生产者 ──  a        ──▶  日志：a
#            ──  a（再发）──▶  日志：a            重复：应答，但不写入
#
# **说的是读取、计算、保存时**：读到的每条记录只产生一次效果，不管中途哪个进程死掉。为此，结果*和读者的位置*要么一起保存，要么都不保存（实验 08）。
#
#     主题 Order ──▶ 读取 ──▶ 计算 ──▶ ┌ 写入主题 Income 的行 ┐
#                     ▲                └ 进度记录             ┘  一个事务
#                     └───────────── 从哪里接着读 ─────────────┘
#
# 做到了第一件，不等于做到了第二件。事务型生产者总是幂等的，可是用了事务而没有进度记录的接收端，照样把一批写了两次。

# %% [markdown] tags=["deeper"]
# ## Deeper: must both ends be Kafka?

# %% [markdown] lang="zh"
# ## 深入：两端都必须是 Kafka 吗？

# %% [markdown]
# An article says of exactly-once that source and sink must both be Kafka. The next cell lets you change both.
# As its sink the job may have a database, with one transaction per batch. As its source it has topic *Order*
# as it is (*kept*), or a source that forgets the records that it has delivered, as many queues do; here the
# broker deletes them. Which of these jobs is right after a kill? Guess first. Then try them with the button,
# or run the cell below it.

# %% [markdown] lang="zh"
# 有一篇文章谈到精确一次时说，数据源和接收端都必须是 Kafka。在下一个单元里，两端你都可以换。接收端可以换成数据库，每一批一个事务。数据源可以是现在这样的主题 *Order*（*kept*），也可以是一个投递完记录就忘掉的数据源，许多队列就是这样；这里由 broker 删除那些记录。这些作业里，哪些在 kill 之后是对的？先猜，再用按钮试，或者运行它下面的单元。

# %%
ends = Trials(
    {
        "source": [KEPT, GONE],
        "sink": [
            "a database", "a database that overwrites", "a database with the progress",
            "exactly-once",
        ],
        "killed": [Point.COMMITTED, Point.OUT],
    },
    run=bench.try_ends,
    columns=["income", "error"],
    button="kill -9",
    caption=f"Other ends than Kafka's; the income should be {bench.expected}",
    money=True,
)
ends

# %% tags=["nbval-check-output", "long"]
for source, sink, point in [
    (KEPT, "a database", Point.COMMITTED),
    (KEPT, "a database with the progress", Point.COMMITTED),
    (GONE, "exactly-once", Point.OUT),
]:
    print(*ends.try_out(source, sink, point), sep=" · ")

# %% [markdown]
# - **A database** needs the same as Kafka: rows and progress record in *its* transaction. A database that
#   *overwrites* (its key is the minute) is right without a progress record, as long as a batch that is handed
#   over again has the same rows.
# - **A source that forgets** makes a right sum impossible, although Kafka stands at both ends: the batch that
#   the dead job was working on no longer exists anywhere. The job finds that out, and stops.
#
# So “Kafka at both ends” is not the rule. The source must be one that can be read again from a known place,
# and the sink must know its progress, or give the same result when a batch is written to it twice. A mail
# server is no such sink: it keeps no progress for you, and a mail that is sent twice arrives twice.

# %% [markdown] lang="zh"
# - **数据库**的要求和 Kafka 一样：各行和进度记录都在*它自己的*事务里。如果数据库是*覆盖写*（以分钟为键），没有进度记录也是对的，前提是再次交来的批次里，行和上次相同。
# - **会遗忘的数据源**让总数不可能正确，哪怕两端都是 Kafka：死掉的作业正在处理的那一批，哪里也找不到了。作业发现这一点，就停下了。
#
# 所以“两端都是 Kafka”并不是规则。数据源必须能从一个已知的位置重读；接收端必须知道自己的进度，或者同一批写两次也得到同样的结果。邮件服务器就不是这样的接收端：它不会替你保存进度，同一封邮件发两次，就会收到两次。

# %% [markdown] tags=["deeper"]
# ## Deeper: how does Flink do it, without batches?

# %% [markdown] lang="zh"
# ## 深入：没有批次，Flink 怎么做？

# %% [markdown]
# Apache Flink computes record by record; it has no batches. To be able to start again, it stores the state of
# the whole job from time to time. The job manager (`jm`) tells the sources to send a *barrier* (屏障) down
# their channels, between two records. The records before it belong to this checkpoint, those behind it to the
# next. A task that gets the barrier notes its state: the source its offset, the counting task (`sum`) its
# count. At the barrier the sink stores the rows in an open transaction (*pre-commit*). When all tasks have
# acknowledged, the job manager writes the *checkpoint* to disk, and the sink commits.
#
# The next picture shows a small job of Flink's kind beside one of Spark's. Both get the orders a1 and a2. In
# both, the process that writes to the output is killed right after the decision, and started again. At that
# moment Flink's checkpoint is on disk, and the transaction of Spark's sink is committed.

# %% [markdown] lang="zh"
# Apache Flink 逐条记录计算，没有批次。为了能从中途重新开始，它隔一段时间把整个作业的状态保存一次。作业管理器（`jm`）让各个数据源沿着自己的通道、在两条记录之间送出一道*屏障*（barrier）。屏障之前的记录属于这个检查点，之后的属于下一个。任务收到屏障，就记下自己的状态：数据源记下偏移量，计数任务（`sum`）记下计数。在屏障处，接收端把各行存进一个未结束的事务（*预提交*，pre-commit）。等所有任务都确认了，作业管理器把*检查点*写到磁盘上，接收端再提交。
#
# 下一张图里，一个 Flink 式的小作业和一个 Spark 式的小作业并排放着。两边都收到订单 a1 和 a2。两边写输出的那个进程，都在决定之后立刻遭到 kill，然后重新启动。那一刻，Flink 的检查点已在磁盘上，Spark 的接收端的事务已经提交。

# %% jupyter={"source_hidden": true}
Predict("11-same-crash")

# %%
play_both()

# %% [markdown]
# One slider moves both jobs. The moments that they share stand at the same height: the order arrives, the
# rows are written and hidden, the decision, the kill, the restart. In between each job takes its own
# steps. Compare the two after the restart: one commits, the other only writes a note.
#
# Then look at a2, which arrives while a1 is on its way into the output. In Spark it waits in topic
# *Order* for the next batch. In Flink it flows on behind the barrier, and reaches the sink *before* the
# checkpoint is on disk: a checkpoint is taken *asynchronously*, no task waits for it. After the
# restart the source sends a2 again: records behind the barrier are *computed again*.
#
# **Why can Flink not do it alone?** Suppose its sink commits at the barrier, without waiting for the
# checkpoint.

# %% [markdown] lang="zh"
# 一个滑块同时移动两个作业。两边共有的时刻放在同样的高度：订单到达、各行写下但隐藏着、决定、kill、重启。在这些时刻之间，每个作业走自己的步骤。请比较重启之后：一个去提交，另一个只补写一个文件。
#
# 再看 a2，它到达的时候，a1 正在写往输出的路上。在 Spark 里，它在主题 *Order* 里等下一批。在 Flink 里，它跟在屏障后面继续往前流，在检查点落盘*之前*就到了接收端：检查点是*异步*做的，没有任务等它。重启之后，数据源又发送一次 a2：屏障之后的记录要*重新计算*。
#
# **Flink 为什么不能只靠自己？** 假设它的接收端在屏障处就提交，不等检查点。

# %% jupyter={"source_hidden": true}
Predict("11-barriers-alone")

# %% [markdown]
# Choose the moment of death and the sinks. In the second choice each sink lacks one rule: Flink's does
# not wait for the checkpoint, Spark's does not look at its progress record. Below the picture
# a light names the promise that breaks. The second cell has all moments as a table.

# %% [markdown] lang="zh"
# 请选择死掉的时刻，再选接收端的做法。第二种做法里，每个接收端都少了一条规则：Flink 的不等检查点，Spark 的不看进度记录。图的下方有一盏指示灯，会说出违背了哪个承诺。第二个单元把所有时刻列成一张表。

# %%
vary(play_both, killed=list(MOMENTS), sinks=list(COMMIT_RULES))

# %% tags=["nbval-check-output"]
print(*(compare_outputs(sinks) for sinks in COMMIT_RULES), sep="\n\n")

# %% [markdown]
# Each sink fails at one moment only, and not at the same one. Flink's fails *before* the decision: there is
# no complete checkpoint, and a1 is computed again. Spark's fails *after* it: the checkpoint does not know
# yet. Barriers make each order count once in the job's *state*. The output is not part of that state. It must
# be able to hide rows until the checkpoint is on disk, and for that Flink needs Kafka's transactions. (Every
# crash of both models can be searched: `mqlab explore barriers`, `mqlab explore micro_batches`; `--off NAME`
# leaves a rule out.)

# %% [markdown] lang="zh"
# 每个接收端都只在一个时刻出错，而且不是同一个时刻。Flink 的在决定*之前*出错：没有完整的检查点，所以 a1 会重新计算。Spark 的在决定*之后*出错：检查点还不知道已经提交。屏障让每个订单在作业的*状态*里只计入一次。输出不属于这个状态。在检查点落盘之前，输出必须能把行藏起来，为此 Flink 需要 Kafka 的事务。（两个模型的每一种宕机都可以搜索：`mqlab explore barriers`、`mqlab explore micro_batches`；`--off NAME` 去掉一条规则。）

# %% [markdown] tags=["deeper"]
# ## Deeper: who ends a transaction that has outlived its process?

# %% [markdown] lang="zh"
# ## 深入：事务比它的进程活得久，由谁来结束？

# %% [markdown]
# Now the real job gets a sink of Flink's kind, with Spark's batches in the place of barriers:
# pre-commit of batch N → `commits/N` is written → commit of batch N. It is killed between the last two.

# %% [markdown] lang="zh"
# 现在，真实的作业换上一个 Flink 式的接收端，用 Spark 的批次代替屏障：批次 N 预提交 → 写下 `commits/N` → 批次 N 提交。它在最后两步之间遭到 kill。

# %% jupyter={"source_hidden": true}
Predict(
    "11-pre-commit",
    trace=scenario("""
# Pre-commit, then the checkpoint; killed before the commit
system sink producers=job:income-job,again:income-job owed=13:00=4667 last=again calls=1
run job: init, begin, send income-0 13:00=4667
kill job
run again: init
fire again
"""),
    step=14,
)

# %% [markdown]
# So the new process must not simply begin. First it must decide about the open transaction. `prepared` is the
# batch whose rows are in it, `checkpoint` the last batch that the checkpoint records as done (−1: none).
# Answer `"commit"`, `"abort"`, or `"stop"` when a person must look. In one of three deaths somebody sets the
# checkpoint back to an earlier batch before the restart, to have some orders counted again. Two hints wait:
# `print(RESUME.hint(1))`, then `print(RESUME.hint(2))`.

# %% [markdown] lang="zh"
# 所以新进程不能直接开工，它必须先决定那个未结束的事务怎么办。`prepared` 是行在这个事务里的那一批，`checkpoint` 是检查点记为做完的最后一批（−1 表示没有）。请回答 `"commit"`、`"abort"`，或者在需要人来看的时候回答 `"stop"`。三次死亡中有一次，有人在重启之前把检查点退回到更早的一批，想让一些订单重新计算。这里有两条提示：先运行 `print(RESUME.hint(1))`，再运行 `print(RESUME.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "resume"}
def resume(prepared: int, checkpoint: int) -> str:
    """What to do with the open transaction of this batch: "commit" it, "abort" it, or "stop"."""
    ### BEGIN SOLUTION
    if prepared <= checkpoint:
        return "commit"  # Spark never hands it over again
    if prepared == checkpoint + 1:
        return "abort"  # Spark hands it over again, and nothing else that is in
    return "stop"  # batches come again that were committed long ago: a person must look
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "resume-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("resume", resume)
### END HIDDEN TESTS
check(RESUME, resume)

# %% [markdown]
# Now your rule is put into the sink of the real job. Which part is done again?

# %% [markdown] lang="zh"
# 现在，你的规则装进真实作业的接收端。哪一部分会重做？

# %% tags=["nbval-check-output"]
bench.try_resume(resume)

# %% [markdown]
# Before the checkpoint, the whole batch is done again. After it, only the commit is.
#
# The next table is from a recorded run: the same day in this lab's job and in a real Flink with its own
# Kafka sink. Both were killed with `kill -9` at the same instants, and started again. (To repeat it in a
# terminal: `mqlab income flink --setup`, then `mqlab income flink --kill`.)

# %% [markdown] lang="zh"
# 在检查点之前，整批重做。在检查点之后，只重做提交。
#
# 下一张表来自一次录下的执行：同一天的订单，交给这个实验的作业，也交给真实的 Flink 和它自己的 Kafka 接收端。两边都在同样的时刻遭到 `kill -9`，然后重新启动。（要在终端里重做一遍：先运行 `mqlab income flink --setup`，再运行 `mqlab income flink --kill`。）

# %% tags=["nbval-check-output"]
print(recorded_kills())

# %% [markdown]
# Both jobs are right after every kill, if the sink is exactly once. *Seen twice* counts the minutes whose
# rows were written, aborted and written again. Only a reader that also takes aborted rows gets them twice.
# With at-least-once sinks every reader gets them twice. Spark's total is then too *small*, because the batch
# that is there twice holds two large cancellations. The seconds are those of one busy machine; after “both
# told” Flink had no minute left to write.
#
# | | Spark, as in this lab | Flink's Kafka sink |
# |---|---|---|
# | order | offsets → run → **sink commits** → commits | pre-commit at the barrier → checkpoint durable → **commit** |
# | the decision | the sink's own transaction, with the progress record in it | the checkpoint |
# | after a crash | the batch is handed over again, the progress record says whether it is done | transactions named in the checkpoint are committed again |
# | a transaction that timed out | the batch is run again: nothing is lost | fenced, logged, possibly lost: timeouts must be long |
# | readers wait for | an open transaction of some milliseconds | one open from barrier to checkpoint |
#
# A client library cannot end the transaction of another process. Flink sets producer id and epoch inside
# Kafka's client by reflection; the job above sends the request (EndTxn) by hand.

# %% [markdown] lang="zh"
# 只要接收端是精确一次的，两个作业在每次 kill 之后都是对的。*Seen twice* 一列数的是有多少分钟，它们的行写了、中止、又写一遍。只有也读取已中止行的读者，才会拿到两次。如果接收端是至少一次，每个读者都会拿到两次。这时 Spark 的总数反而*偏小*，因为重复的那一批里有两笔大额取消。秒数来自一台繁忙的机器；在“both told”之后，Flink 已经没有哪一分钟要写了。
#
# | | Spark，如这个实验 | Flink 的 Kafka 接收端 |
# |---|---|---|
# | 顺序 | offsets → 运行 → **接收端提交** → commits | 在屏障处预提交 → 检查点持久化 → **提交** |
# | 决定 | 接收端自己的事务，进度记录在其中 | 检查点 |
# | 宕机之后 | 批次再次交来，由进度记录说明它是否已做完 | 检查点里列出的事务再提交一次 |
# | 事务超时 | 批次重新运行：什么也不丢 | 遭到隔离，记入日志，可能丢失：超时必须设得长 |
# | 读者等待的是 | 一个持续几毫秒的未结束事务 | 一个从屏障到检查点都未结束的事务 |
#
# 客户端库没法结束别的进程的事务。Flink 用反射在 Kafka 的客户端里设置 producer id 和 epoch；上面的作业则自己动手发送请求（EndTxn）。

# %% [markdown] tags=["deeper"]
# ## Deeper: where does one duplicate show?

# %% [markdown] lang="zh"
# ## 深入：一处重复，在哪里看得出来？

# %% [markdown]
# Suppose a screen on the wall shows the income of each minute. Here it shows the job without a
# transaction, which was killed once:

# %% [markdown] lang="zh"
# 假设墙上有一块屏幕，显示每分钟的收入。这里显示的是没有事务、遭到一次 kill 的那个作业：

# %%
rows, times = hook.rows, copies(hook.rows)
wall = go.Figure()
bars = [
    (1, say("counted once"), "#0072b2"),
    (2, say("counted twice"), "#d55e00"),
]
for which, name, colour in bars:
    part = {row.minute: row.pounds * which for row in rows if times[row.minute] == which}
    wall.add_bar(x=list(part), y=list(part.values()), name=name, marker_color=colour)
wall.update_layout(
    title=say("Income per minute as a screen shows it, 2011-12-05 (UTC)"),
    xaxis_title=say("minute"),
    yaxis_title="£",
    template="plotly_white",
    height=320,
    margin={"l": 60, "r": 20, "t": 50, "b": 50},
)
wall

# %% [markdown]
# A second screen shows the five best-selling products, from the same rows. Can anybody see there that
# something is wrong?

# %% [markdown] lang="zh"
# 第二块屏幕用同样的行显示五种最畅销的商品。从那里有人能看出哪里不对吗？

# %% tags=["nbval-check-output"]
once = {row.minute: row for row in rows}.values()
print(sum(n == 2 for n in times.values()), "of", len(times), "minutes show twice their income")
print(say("the five bestsellers are the same:"), bestsellers(rows) == bestsellers(once))
print(*bestsellers(rows), sep="; ")

# %% [markdown]
# A minute's income rests on a few rows, so a row that is counted twice is seen at once. A ranking rests on
# thousands, and stays as it is although many of them are counted twice. *Exactly once* is worth its price
# where people look at single numbers, or pay them. For a list of recommendations at least once may be enough.

# %% [markdown] lang="zh"
# 一分钟的收入只靠几行，所以有一行计入了两次，一眼就看得出来。排行榜靠的是成千上万行，哪怕其中许多行计入了两次，名次也不变。如果有人要逐个查看数字，或者要照数字付钱，*精确一次*就值得它的代价。如果只是推荐列表，至少一次也许就够了。

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# The last question has another store at the end. When you have answered it, the cell below stops the
# broker and Spark.

# %% [markdown] lang="zh"
# 最后一个问题里，末端换成了另一种存储。回答之后，下面的单元会停掉 broker 和 Spark。

# %% jupyter={"source_hidden": true}
Predict("11-exit-ticket")

# %%
live.stop()
bench.stop()
broker.stop()
