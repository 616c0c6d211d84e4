# %% [markdown]
# # Lab 14 · The real thing
#
# *60 minutes, or a short way of 25* · Kafka 4.3.1 and 4.2.1, RocketMQ 5.5.0 and 4.9.7, Pulsar 4.2.4
#
# **In one paragraph.** Every run of this course came from an *engine* (引擎), a model of three brokers. Is it
# true? In this lab one client program asks the engine and a real broker, and you lay their answers side by
# side. You excuse three differences, with reasons, and nothing else. Then you write the rule that finds a fault
# of a real broker in what was recorded of it, and see how one tells its makers.
#
# **The short way:** Hook, Predict, Run, Three differences, Find the loss, What you know now. The other parts are folded under
# headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part.
#
# **You need** lab 06 for the order of a commit, and lab 07 for the *last stable offset* (LSO, 最后稳定偏移量) and the
# *high watermark* (HW, 高水位). A real broker is not needed: what one answered is *recorded* (录制).

# %% [markdown] lang="zh"
# # 实验 14 · 与真实的 broker 对照
#
# *60 分钟，短路线约 25 分钟* · Kafka 4.3.1 和 4.2.1，RocketMQ 5.5.0 和 4.9.7，Pulsar 4.2.4
#
# **一段话概括**：本课程的每一次执行都出自一个*引擎*（engine），也就是三种 broker 的模型。这些执行是真的吗？在这个实验里，同一个客户端程序先后询问引擎和真实的 broker，由你把两边的应答并排放在一起。你要豁免三处差异，各附理由，此外一概不豁免。然后你写一条规则，从真实 broker 的录制里找出它的一个错误，再看看怎样把错误告诉它的开发者。
#
# **短路线**：引子、预测、执行、三处差异、找出丢失的提交、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。
#
# **你需要**知道实验 06 讲的提交顺序，以及实验 07 讲的*最后稳定偏移量*（last stable offset，LSO）和*高水位*（high watermark，HW）。不需要真实的 broker：它给过的应答已经*录制*（recorded）下来了。

# %% jupyter={"source_hidden": true}
from mqlab.lab import Follow, Predict, check
from mqlab.lessons.lab14 import (
    EXCUSES,
    LOST,
    ask_both,
    compare_kills,
    first,
    kill_newer,
    list_ignored,
    list_told,
    play_file,
    play_lost,
    read_laid,
    read_report,
    serve,
)

# %% [markdown]
# ## Hook: would you call the makers of Kafka because of this picture?
#
# A payment is sent in a transaction. For a while its partition has no leader, as in any outage, and in this while
# the producer commits. Drag the slider to the commit, and then to the end. *Who was told ok, and who can read the
# payment?*

# %% [markdown] lang="zh"
# ## 引子：凭这张图，你会去找 Kafka 的开发者吗？
#
# 一笔付款在事务中发出。有一阵子，它的分区没有首领副本（leader），就像任何一次停机时那样；生产者正好在这时提交。把滑块拖到提交那一步，再拖到末尾。*谁得到了 ok？谁能读到这笔付款？*

# %% jupyter={"source_hidden": true}
play_lost()

# %% [markdown]
# Nobody can read it, ever. No process was killed, and money is gone. But this is a picture that a program of ours
# has drawn. Before you tell anybody, you need to know whether a real Kafka does the same.

# %% [markdown] lang="zh"
# 没有人能读到它，永远读不到。没有进程被杀，钱却没了。但这张图是我们自己的程序画的。告诉别人之前，你得先知道真实的 Kafka 是不是也这样。

# %% [markdown]
# ## Predict
#
# First the ordinary case. One program, which is not ours, speaks to both.

# %% [markdown] lang="zh"
# ## 预测
#
# 先看平常的情形。同一个程序与两边通信，它不是我们写的。

# %% jupyter={"source_hidden": true}
Predict("14-lines")

# %% [markdown]
# ## Run: one program, two brokers
#
# The next cell starts the engine behind a socket, where any Kafka client can reach it, and follows it in a
# picture. Run it, and then the cell below it: there the client's program tells its story, and the picture moves.

# %% [markdown] lang="zh"
# ## 执行：一个程序，两个 broker
#
# 下一个单元启动引擎，开放一个套接字，任何 Kafka 客户端都能连上，同时用一张图跟踪它。先运行这个单元，再运行下面的单元：客户端程序在那里把故事演一遍，图也跟着变化。

# %% tags=["volatile"]
engine = serve(auto_create=False)
live = Follow(engine.trace_url)
live

# %% tags=["nbval-check-output"]
(told,) = ask_both("client-confluent-kafka", engine=engine, real=False)
told

# %% [markdown]
# The column in the middle is a real Kafka, started from its published jars and recorded. If this machine has
# Java 17 and Maven, write `real=True` and run the cell again: then a real broker is started here and now, and the
# answers are its own. The first time it fetches 45 MB.

# %% [markdown] lang="zh"
# 中间一列是真实的 Kafka，由发布的 jar 启动并录制。如果这台机器上有 Java 17 和 Maven，就写成 `real=True` 再运行一次这个单元：这时会当场启动一个真实的 broker，应答就是它自己的。第一次运行要下载 45 MB。

# %% [markdown]
# ## Three differences
#
# Equal lines are half of the truth. The next two programs ask what few clients ask: a fetch across two files of a
# log, and compressed records that say something wrong about themselves. A `≠` stands where the two differ: in
# five lines, which are three differences.

# %% [markdown] lang="zh"
# ## 三处差异
#
# 只看相同的行，只能看到一半真相。下面两个程序问的，很少有客户端会问：一次跨两个日志文件的拉取（fetch），还有对自身描述不实的压缩记录。两边不同的地方标着 `≠`：共有五行，是三处差异。

# %% tags=["nbval-check-output"]
for laid in ask_both("segments", "claimed-in-compressed"):
    display(laid)

# %% [markdown]
# A difference is mended, or it is *excused* (豁免) with a reason that one can argue about. An excuse is a pattern of the
# question, and it must be as narrow as it can: what it covers will never be looked at again. These reasons are
# offered, and half of them are excuses of another kind:
#
# | reason | says |
# |---|---|
# | `one-log` | The engine keeps a log in one piece. A real broker answers from one file of several, and the client asks again from where it is. |
# | `not-opened` | The real broker takes compressed records without looking at their lengths, and the engine refuses what nobody could read. |
# | `numbers` | The real broker finds offsets that are not in order, wants to number compressed records again, and lacks what it would need for that. The engine stores them. |
# | `timing` | The two were asked at different moments. |
# | `client` | The two were asked by different clients. |
# | `broken` | The engine is wrong here, and must be mended. |
#
# Write a line per difference, as in `Fetch @7 read_committed: timing`. In a pattern `*` stands for anything, so one
# pattern can take several lines. Two hints wait: `print(EXCUSES.hint(1))`, then `print(EXCUSES.hint(2))`.

# %% [markdown] lang="zh"
# 遇到差异，要么修正，要么*豁免*（excuse），并给出一个经得起争论的理由。豁免写成匹配问题的模式，必须尽量窄：它盖住的东西，以后再也不会有人看。可选的理由如下，其中一半只能算借口：
#
# | 理由 | 意思 |
# |---|---|
# | `one-log` | 引擎的日志是一整份。真实的 broker 只从几个文件中的一个作答，客户端再从所在的位置接着问。 |
# | `not-opened` | 真实的 broker 不看压缩记录的长度就收下，引擎则拒绝谁也读不出来的东西。 |
# | `numbers` | 真实的 broker 发现偏移量不按顺序，想给压缩记录重新编号，却缺少编号所需的东西。引擎则照样存下。 |
# | `timing` | 两边是在不同的时刻询问的。 |
# | `client` | 两边是由不同的客户端询问的。 |
# | `broken` | 引擎在这里错了，必须修正。 |
#
# 每处差异写一行，例如 `Fetch @7 read_committed: timing`。模式中的 `*` 代表任意内容，所以一个模式可以管几行。有两条提示可看：`print(EXCUSES.hint(1))`，然后 `print(EXCUSES.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "excuses"}
# QUESTION: REASON, a line per difference.
excuses = ""
### BEGIN SOLUTION
# The lines with ≠, and none of the others: `Fetch*` would take three that are equal.
excuses = """
Fetch @0 read_committed: one-log
Produce a record of *, gzip: not-opened
Produce an offset delta -1, gzip: numbers
"""
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "excuses-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("excuses", excuses)
### END HIDDEN TESTS
check(EXCUSES, excuses)

# %% [markdown]
# ## Find the loss
#
# Back to the payment of the hook. Here is what a real 4.3.1 answered: three brokers, of which the one with the
# partition was stopped in an orderly way, and started again. *Which two lines contradict each other?*

# %% [markdown] lang="zh"
# ## 找出丢失的提交
#
# 回到引子里的那笔付款。下面是真实的 4.3.1 给出的应答：一共三个 broker，持有该分区的那一个按正常步骤停机，再重新启动。*哪两行互相矛盾？*

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
read_laid("kafka-4.3.1/tv2/leaderless-marker")

# %% [markdown]
# `CompleteCommit` says that every marker is written, so nobody will write one. `LSO=0` says that the partition still
# waits for one. The coordinator dropped the marker because the partition had no leader when it was to leave
# (KAFKA-20734). So the picture of the hook is true of this release.
#
# Who finds such a fault among thousands of lines? A rule, and you write it. It is asked at each moment of
# the recordings at which somebody looked into a partition, about one producer:
#
# | argument | what it is |
# |---|---|
# | `commit` | what the producer's last commit was told: `"ok"`, an error, `""` if it never asked |
# | `state` | what the coordinator said last: `"Ongoing"`, `"PrepareCommit"`, `"CompleteCommit"` … |
# | `hw`, `lso` | the high watermark and the last stable offset of the partition |
# | `open_since` | the first offset of the producer's transaction that the partition takes for open; −1 without one |
#
# It answers True if an acknowledged commit is lost, and False as long as it may still become visible. The first
# line below is the loss that you have seen. For points there is one more, among more than 250 moments without one.
# Some moments are asked a second time, with another answer to the last commit.

# %% [markdown] lang="zh"
# `CompleteCommit` 说每条控制消息都已写好，所以不会再有人去写。`LSO=0` 说分区还在等一条。控制消息要发出时，分区没有 leader，协调者就把它丢掉了（KAFKA-20734）。所以，引子里的图对这个版本来说是真的。
#
# 谁能在几千行里找出这样的错误？要靠一条规则，由你来写。录制中凡是有人查看分区的时刻，都会就一个生产者来问这条规则：
#
# | 参数 | 是什么 |
# |---|---|
# | `commit` | 生产者上一次提交得到的应答：`"ok"`，或者一个错误；从未请求过就是 `""` |
# | `state` | 协调者上一次说的状态：`"Ongoing"`、`"PrepareCommit"`、`"CompleteCommit"`…… |
# | `hw`、`lso` | 分区的高水位和最后稳定偏移量 |
# | `open_since` | 如果分区认为这个生产者有事务尚未结束，就是该事务的第一个偏移量；没有则是 −1 |
#
# 得到确认的提交如果已经丢失，规则返回 True；只要还可能变为可见，就返回 False。下面第一行就是你见过的那次丢失。计分时还会遇到一次丢失，混在 250 多个没有丢失的时刻里。有些时刻会换一个上次提交的应答，再问一遍。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(list_told())

# %% [markdown]
# Two hints wait: `print(LOST.hint(1))`, then `print(LOST.hint(2))`.

# %% [markdown] lang="zh"
# 有两条提示可看：`print(LOST.hint(1))`，然后 `print(LOST.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "lost"}
def lost(commit, state, hw, lso, open_since):
    """Whether an acknowledged commit is lost."""
    ### BEGIN SOLUTION
    # The client believes, the coordinator owes nothing any more, and the partition still waits.
    return commit == "ok" and state == "CompleteCommit" and open_since >= 0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lost-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("lost", lost)
### END HIDDEN TESTS
check(LOST, lost)

# %% [markdown]
# ## What you know now
#
# A model is not true or false. It agrees with a real broker on the questions that were asked, of the release that
# was asked, and it says where it does not. The engine is held against hundreds of recordings in this way, and each
# difference has its row with a reason (`datasets/recordings/DIFFERENCES.md`).
#
# The short way ends here, and all points of this lab are in it. The last lab asks how to read
# what others write about brokers: [lab 15](15-articles-on-trial.ipynb).

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 模型谈不上真或假。就问过的问题、问过的版本而言，它与真实的 broker 一致；在哪里不一致，它会说出来。引擎就是这样与几百份录制逐一对照的，每处差异都有自己的一行，写着理由（`datasets/recordings/DIFFERENCES.md`）。
#
# 短路线到此结束，本实验的分数全在这里。最后一个实验要问，别人写 broker 的文章该怎样读：[实验 15](15-articles-on-trial.ipynb)。

# %% [markdown] tags=["deeper"]
# ## Deeper: how does one tell the makers?

# %% [markdown] lang="zh"
# ## 深入：怎样告诉开发者？

# %% [markdown]
# Makers of a broker have no use for our picture, and none for our recordings. What they need is short: which
# release, which steps, what should happen, what does happen, and a program that shows it on *their* machine.
#
# 1. **Look whether it is known.** This one is. Then a program that shows it is worth more than one more report.
# 2. **Take everything away that is not needed.** No kill, no second producer, no load: three brokers, one record,
#    one orderly stop.
# 3. **Say what you expected, and why**: a sentence of their documentation.
# 4. **Run it on a release that does it right**, too, if there is one.
#
# The program is `labs/reports/kafka-lost-marker/lost_marker.py`. It imports nothing of this project. It needs
# Java 17 and the folder of jars of a Kafka distribution:
#
# ```
# python labs/reports/kafka-lost-marker/lost_marker.py ~/kafka_2.13-4.3.1/libs
# ```
#
# A real 4.3.1 loses the payment in it. A real 4.2.1 delivers it: the fault came with a new release.
# The next cell shows the page that belongs to the program. *Which of its sentences could you leave out?*

# %% [markdown] lang="zh"
# broker 的开发者用不上我们的图，也用不上我们的录制。对方要的东西很简短：哪个版本，哪些步骤，本该怎样，实际怎样，再加一个在*对方的*机器上就能看到问题的程序。
#
# 1. **先查是不是已知的问题。** 这一个就是。既然已知，一个能让问题重现的程序就比再多一份报告更有价值。
# 2. **去掉一切不必要的东西。** 没有 kill，没有第二个生产者，没有负载：三个 broker，一条记录，一次正常停机。
# 3. **写明你期望什么，为什么**：引用对方文档里的一句话。
# 4. 如果有哪个版本做得对，**也在那个版本上运行一次**。
#
# 程序是 `labs/reports/kafka-lost-marker/lost_marker.py`。它不导入本项目的任何东西，需要的是 Java 17 和 Kafka 发行包里放 jar 的目录：
#
# ```
# python labs/reports/kafka-lost-marker/lost_marker.py ~/kafka_2.13-4.3.1/libs
# ```
#
# 在这个程序里，真实的 4.3.1 丢掉了付款，真实的 4.2.1 则把它投递出去：错误是新版本带来的。下一个单元显示与程序配套的报告；它是写给开发者的，用英文。*其中哪些句子可以省掉？*

# %% jupyter={"outputs_hidden": true, "source_hidden": true}
print(read_report())

# %% [markdown] tags=["deeper"]
# ## Deeper: does the next release answer alike?

# %% [markdown] lang="zh"
# ## 深入：下一个版本的应答还一样吗？

# %% [markdown]
# A recording speaks for one release. Here is RocketMQ 5.5, in which op records wait in memory before they are
# written.

# %% [markdown] lang="zh"
# 一份录制只能代表一个版本。这里是 RocketMQ 5.5，它的 op 记录先在内存里等待，然后才写入。

# %% jupyter={"source_hidden": true}
newer = kill_newer()
seen = ("diagram", "logs")
Predict("14-release", trace=newer, step=first(newer, "killed"), panels=seen, told=seen)

# %% [markdown]
# Now the same story in 4.9, which writes each op record at once, beside it. *At which of the three moments do they
# part?*

# %% [markdown] lang="zh"
# 把 4.9 里的同一个故事放在旁边；4.9 会立即写入每条 op 记录。*三个时刻中，两者从哪一个开始不同？*

# %% jupyter={"source_hidden": true}
compare_kills()

# %% [markdown]
# And the same program at the two real brokers:

# %% [markdown] lang="zh"
# 再看同一个程序在两个真实的 broker 上的情形：

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
name = "op-lost-by-a-kill"
read_laid(f"rocketmq-4.9.7/4.9/{name}", f"rocketmq-5.5.0/5.5/{name}")

# %% [markdown]
# Nothing in the client has changed, nor in the program. The newer release is faster, and a kill at the wrong moment
# now delivers an order twice. A consumer that knows orders by their numbers does not mind.

# %% [markdown] lang="zh"
# 客户端没有变，程序也没有变。新版本更快，但如果杀掉它的时刻不巧，现在会把一个订单投递两次。消费者如果按编号识别订单，就不受影响。

# %% [markdown] tags=["deeper"]
# ## Deeper: do an older and a newer client do the same?

# %% [markdown] lang="zh"
# ## 深入：旧客户端和新客户端做的事一样吗？

# %% [markdown]
# The story of the short way was told to a real 4.3.1 by 16 clients. Below are two releases of the Java
# client, 2.3.1 of 2019 and 4.4.0. Guess first where they differ:
# in the commit, in what readers get, or in the log? The table leaves out the lines in which they agree.

# %% [markdown] lang="zh"
# 短路线里的那个故事，曾由 16 个客户端分别对着真实的 4.3.1 演过一遍。下面是 Java 客户端的两个版本：2019 年的 2.3.1，以及 4.4.0。先猜两者在哪里不同：提交、读者得到的内容，还是日志？表中省去了一致的行。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
name = "client-kafka-clients"
read_laid(f"kafka-4.3.1/tv2-legacy/{name}-2.3.1", f"kafka-4.3.1/tv2/{name}-4.4.0", only=True)

# %% [markdown]
# Readers get the same. In the log, the newer client has another epoch after each end, so that a late record cannot
# land in the next transaction (KIP-890, lab 06). And the one that is fenced hears it under another name: a program
# that catches `ProducerFencedException` only is surprised by an update of its client.

# %% [markdown] lang="zh"
# 读者得到的内容相同。在日志里，新客户端每次结束之后都换一个 epoch，这样迟到的记录就不会落进下一个事务（KIP-890，实验 06）。而被隔离的一方得到的错误也换了名字：只捕获 `ProducerFencedException` 的程序，升级客户端之后会措手不及。

# %% [markdown] tags=["deeper"]
# ## Deeper: what may differ without being different?

# %% [markdown] lang="zh"
# ## 深入：什么可以不一样，却不算差异？

# %% [markdown]
# Before two answers are compared, something is taken out of both. This list is as important as the table of
# differences, because nobody will ever see what is in it.

# %% [markdown] lang="zh"
# 比较两份应答之前，要先从两边各去掉一些东西。这份清单和差异表一样重要，因为清单上的东西，以后谁也看不到。

# %% jupyter={"source_hidden": true}
print(list_ignored())

# %% [markdown]
# Numbers of producers are not just taken out, but renamed in the order in which they appear. *What would be missed if
# each of them became the same letter?*

# %% [markdown] lang="zh"
# 生产者的编号不只是去掉，而是按出现的先后改名。*如果把每个编号都改成同一个字母，会漏掉什么？*

# %% [markdown] tags=["deeper"]
# ## Deeper: do the others have such faults?

# %% [markdown] lang="zh"
# ## 深入：别的 broker 也有这样的错误吗？

# %% [markdown]
# Pulsar 4.2.4: a client that has not heard of its commit sends one more message. It is taken; and when it is given up, so
# is what the transaction had committed. *Which message does the second subscription not get?*

# %% [markdown] lang="zh"
# Pulsar 4.2.4：一个客户端没有得知提交的结果，又发了一条消息。broker 收下了；等到放弃这条消息时，事务已经提交的内容也跟着放弃了。*第二个订阅没有得到哪条消息？*

# %% jupyter={"source_hidden": true}
play_file("pulsar/late-write-hides-committed", recorded="late-write-hides-committed")

# %% [markdown]
# RocketMQ 5.5: the last check is answered COMMIT, and the next round comes before the op record is written. The order
# is delivered, *and* it is parked in `TRANS_CHECK_MAX_TIME_TOPIC`, as if nobody had ever decided.

# %% [markdown] lang="zh"
# RocketMQ 5.5：最后一次回查得到 COMMIT，而 op 记录还没写下，下一轮就来了。订单投递了，*同时*又转存到 `TRANS_CHECK_MAX_TIME_TOPIC` 里，好像从来没有人作过决定。

# %% jupyter={"source_hidden": true}
play_file("rocketmq/committed-and-parked")

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | a model is true or it is not | it agrees on the questions that were asked | Run |
# | a wide excuse is the safer one | what it covers is never looked at again | Three differences |
# | what differs is a matter of time | run it again: most differences stay | Three differences |
# | ok means that all is well | client and coordinator agreed, and the partition had no marker | Find the loss |
# | what cannot be read yet is lost | in PrepareCommit the marker is still owed | Find the loss |
# | a newer release is the older one, only faster | a kill now delivers twice | the next release |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 模型要么真，要么假 | 它在问过的问题上是一致的 | 执行 |
# | 豁免写得宽些更保险 | 它盖住的东西，再也不会有人看 | 三处差异 |
# | 不一样，只是因为询问的时刻不同 | 再运行一次：多数差异还在 | 三处差异 |
# | ok 就说明一切正常 | 客户端和协调者说法一致，分区却没有控制消息 | 找出丢失的提交 |
# | 现在读不到的就是丢了 | 处于 PrepareCommit 时，控制消息还欠着 | 找出丢失的提交 |
# | 新版本就是旧版本，只是更快 | 现在被杀一次，就会投递两次 | 下一个版本 |

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% jupyter={"source_hidden": true}
Predict("14-exit-ticket")
