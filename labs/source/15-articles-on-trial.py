# %% [markdown]
# # Lab 15 · Articles on trial
#
# *60 minutes, or a short way of 15* · Kafka 4.3, RocketMQ 5.5, Pulsar 4.2
#
# **In one paragraph.** Most of us learn about transactions in message queues from articles, and good articles make
# mistakes too. Three passages are retold here in our own words. You mark the sentences that the engine will refute,
# and then run them: each mark opens the run at the step that tells. Some sentences are true. At the end there are
# four questions for the next article that you read.
#
# **The short way:** Hook, Predict, Mark, Run, What you know now. The other parts are folded under headings that
# begin with *Deeper*. A click on *cells hidden* below a heading opens its part.
#
# **You need** labs 03 and 04 for the first passage, labs 05 to 07 for the second one, and labs 09 and 10 for the
# third one. Or these words. A *half message* (半消息) waits at RocketMQ's broker until its producer says how its
# transaction ends. *Check-back* (回查) is the broker's question when nobody has said so. An *op record* notes that a
# half has ended.

# %% [markdown] lang="zh"
# # 实验 15 · 文章里写的，都对吗？
#
# *60 分钟，短路线约 15 分钟* · Kafka 4.3，RocketMQ 5.5，Pulsar 4.2
#
# **一段话概括**：消息队列的事务，我们大多是从文章里学来的，而好文章也会出错。这里用我们自己的话转述了三段文字。你先圈出引擎会推翻的句子，再去运行：每个圈出的句子都会打开一次执行，停在看得出对错的那一步。有些句子是对的。最后有四个问题，留给你读下一篇文章时用。
#
# **短路线**：引子、预测、圈出、执行、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。
#
# **你需要**：第一段，实验 03 和 04；第二段，实验 05 到 07；第三段，实验 09 和 10。或者下面这几个词。*半消息*（half message）在 RocketMQ 的 broker 上等着，直到它的生产者说明事务怎样结束。*回查*（check-back）是在没有人说明时，由 broker 来问。*op 记录*（op record）记下某条半消息已经结束。

# %% jupyter={"source_hidden": true}
from mqlab.lab import Predict, check, met
from mqlab.lessons.lab15 import CONTROL, HALF, PENDING, open_marks, tabulate_others

# %% [markdown]
# ## Hook: it was in an article
#
# An order service answers “your order is placed”, and there is no order. Its author shows you the line:
# the service returns whether the status of the send is `SEND_OK`. *It is from a course that thousands have read.*
#
# You cannot ask the author of an article, and you cannot wait until your own brokers fail. But you can let a
# sentence say what would happen in a run, and then look.

# %% [markdown] lang="zh"
# ## 引子：文章里是这么写的
#
# 订单服务回答“下单成功”，可是根本没有这个订单。写服务的人给你看那一行代码：服务返回的，就是发送结果的状态是否为 `SEND_OK`。*这一行出自一门课程，读过的人成千上万。*
#
# 你没法去问文章的作者，也不能等到自己的 broker 出故障。但是你可以先问：按这句话的说法，一次执行里会发生什么？然后去看。

# %% [markdown]
# ## Predict
#
# Before you read, a question about articles themselves.

# %% [markdown] lang="zh"
# ## 预测
#
# 阅读之前，先回答一个关于文章本身的问题。

# %% jupyter={"source_hidden": true}
Predict("15-agree")

# %% [markdown]
# ## Mark: how RocketMQ does it
#
# The next cell prints the first passage. Its title, its place and its year stand above it, and each sentence has a
# name.

# %% [markdown] lang="zh"
# ## 圈出：RocketMQ 怎样实现
#
# 下一个单元打印第一段文字。上面是文章的标题、出处和年份，每句话都有一个名字。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(HALF)

# %% [markdown]
# Write the names of the sentences that the engine will refute, with commas between them, as in
# `half_marks = "half-first, unknown"`. All of them, or none, earns nothing. Two hints wait: `print(HALF.hint(1))`, then
# `print(HALF.hint(2))`.

# %% [markdown] lang="zh"
# 写下引擎会推翻的那些句子的名字，用逗号隔开，例如 `half_marks = "half-first, unknown"`。全部写上，或者一个也不写，都不得分。这里有两条提示：先运行 `print(HALF.hint(1))`，再运行 `print(HALF.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "half"}
# The names of the sentences that the engine will refute.
half_marks = ""
### BEGIN SOLUTION
half_marks = "status, mark-first, end-harmless, asks-on"
### END SOLUTION

# %% [markdown]
# **Run: each mark opens its run.**
#
# The next cell locks your marks, so be sure of them first: it says of these, and of no other sentence, what the
# engine says. Choose one in the menu. The line above it says whether the sentence stands, and the run opens at the
# step that tells. *Which process would have had to act otherwise?*

# %% [markdown] lang="zh"
# **执行：每个圈出的句子都打开一次执行。**
#
# 下一个单元会锁定你圈出的句子，所以请先想清楚：它只说引擎怎样看这几句，别的句子一概不说。在菜单里选一个你圈出的句子。菜单上方那一行说明这句话是否成立，执行则停在看得出对错的那一步。*要让这句话成立，哪个进程的做法必须不一样？*

# %%
open_marks(HALF, half_marks)

# %% [markdown]
# The check plays all seven runs. It opens one that speaks against your marks. A mark on a sentence that stands
# comes first, then what you have not marked.

# %% [markdown] lang="zh"
# 检查会把七次执行全部播放一遍，然后打开能反驳你的那一次。如果你圈出的句子里有成立的，先说它；没有的话，再说你漏掉的。

# %% nbgrader={"grade": true, "grade_id": "half-test", "points": 4}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passage half", half_marks)
### END HIDDEN TESTS
check(HALF, half_marks)

# %% [markdown]
# ## What you know now
#
# A sentence about a queue can be tried: say what a run would show if it were right, and look at the run. Most
# sentences of a good article stand. Those that fall have a word such as *always* or *never* in them, or they leave
# out who does it, and in which order.
#
# **Four questions for the next article that you read:**
#
# 1. **Which version, and which client?** Defaults change, and so do protocols.
# 2. **Who writes what, into which log, and what comes before it?** A sentence without a subject hides the mistake.
# 3. **What if the process dies right there?** If the article has no answer, look for the run.
# 4. **Who can see it, and from which moment on?** Which reader, which partition, and *once* of what?
#
# The short way ends here. The other two passages, and what the other labs have refuted, are below.

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 关于队列的一句话，是可以试的：先说清楚，如果它是对的，一次执行会显示什么，再去看那次执行。好文章里的句子大多成立。不成立的那些，要么带着*总是*、*从不*一类的词，要么没有说是谁做的，按什么顺序做的。
#
# **读下一篇文章时要问的四个问题：**
#
# 1. **哪个版本，哪种客户端？** 默认值会变，协议也会变。
# 2. **谁写了什么，写进哪份日志，在它之前是什么？** 没有主语的句子藏得住错误。
# 3. **如果进程恰好在这里死掉呢？** 文章没有答案，就去找这样一次执行。
# 4. **谁能看到，从什么时候起？** 哪个读者，哪个分区，*一次*又是什么的一次？
#
# 短路线到此结束。另外两段文字，以及其他实验推翻了哪些想法，都在下面。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
met("15")

# %% [markdown] tags=["deeper"]
# ## Deeper: how Kafka does it

# %% [markdown] lang="zh"
# ## 深入：Kafka 怎样实现

# %% [markdown]
# The second passage is longer. Its article is about three brokers, and these sentences are about one of them. A
# *control message* (控制消息) is what the labs call a *marker*. The *high watermark* says up to where a partition is
# replicated.

# %% [markdown] lang="zh"
# 第二段文字更长。它所在的文章讲三种 broker，这些句子讲的是其中一种。*控制消息*（control message）就是英文界面里的 *marker*。*高水位*（high watermark）说明一个分区已经复制到哪里。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(CONTROL)

# %% nbgrader={"solution": true, "grade_id": "control"}
# The names of the sentences that the engine will refute.
control_marks = ""
### BEGIN SOLUTION
control_marks = """
gap-is-loss, epoch-at-init, client-writes, moves-hw, uncommitted-buffers, broker-filters,
drives-consumers
"""
### END SOLUTION

# %%
open_marks(CONTROL, control_marks)

# %% nbgrader={"grade": true, "grade_id": "control-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passage control", control_marks)
### END HIDDEN TESTS
check(CONTROL, control_marks)

# %% [markdown] tags=["deeper"]
# ## Deeper: how Pulsar does it

# %% [markdown] lang="zh"
# ## 深入：Pulsar 怎样实现

# %% [markdown]
# The third passage is from the same article. A *pending acknowledgement* is one whose transaction has not ended.

# %% [markdown] lang="zh"
# 第三段文字来自同一篇文章。*待定确认*（pending acknowledgement）就是所属事务还没有结束的确认。

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
print(PENDING)

# %% nbgrader={"solution": true, "grade_id": "pending"}
# The names of the sentences that the engine will refute.
pending_marks = ""
### BEGIN SOLUTION
pending_marks = """
aborted-gone, together, client-keeps, pending-locks, never-blocks, once-whatever
"""
### END SOLUTION

# %%
open_marks(PENDING, pending_marks)

# %% nbgrader={"grade": true, "grade_id": "pending-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("passage pending", pending_marks)
### END HIDDEN TESTS
check(PENDING, pending_marks)

# %% [markdown] tags=["deeper"]
# ## Deeper: was it ever right?

# %% [markdown] lang="zh"
# ## 深入：它曾经是对的吗？

# %% [markdown]
# Some sentences were right, or nearly so, when they were written. Others were right of one client and not of another.

# %% [markdown] lang="zh"
# 有些句子，写下的时候是对的，或者差不多对。还有一些，对一种客户端是对的，对另一种则不是。

# %% jupyter={"source_hidden": true}
Predict("15-newer")

# %% [markdown]
# | sentence | it was right | it is not, because |
# |---|---|---|
# | *epoch-at-init* | never quite: with `transaction.version` 0 a commit leaves the epoch, but a timeout's abort raises it | with version 2 each end raises it as well |
# | a retry duplicates by default | before Java's 3.0.1, 3.1.1 and 3.2.0 | Java's producer is idempotent by default; librdkafka's still is not. That covers the retries of one session; what an application or a restarted producer sends again is stored again |
# | partitions are added before the first send | before `transaction.version` 2 | the leader that takes the first record adds its partition |
# | Kafka has no acknowledgement per message | before share groups | share groups have one, outside of transactions |

# %% [markdown] lang="zh"
# | 句子 | 什么时候对 | 现在为什么不对 |
# |---|---|---|
# | *epoch-at-init* | 从未完全对过：`transaction.version` 为 0 时，提交不改变 epoch，超时引起的中止却会升高它 | 版本 2 里，每次结束事务也会升高它 |
# | 默认情况下，重试会重复 | Java 客户端 3.0.1、3.1.1 和 3.2.0 之前 | Java 的生产者默认幂等；librdkafka 的至今不是。这只管一个会话内的重试；应用或重启后的生产者再发一次，就会再存一次 |
# | 第一次发送之前先添加分区 | `transaction.version` 2 之前 | 收到第一条记录的 leader 会把自己的分区加进去 |
# | Kafka 不能逐条确认消息 | 有共享组（share group）之前 | 共享组可以逐条确认，但不在事务里 |

# %% [markdown] tags=["deeper"]
# ## Deeper: what else do these articles say?

# %% [markdown] lang="zh"
# ## 深入：这些文章还说了什么？

# %% [markdown]
# A click on the bar below opens a table. It has the other sentences of five articles that are wrong, imprecise or
# out of date, with the lab that shows it. A and C are the articles of the passages above; B and D are two more
# about Kafka. The fifth one has the text of A in another place.

# %% [markdown] lang="zh"
# 点击下面的横条，会打开一张表。表里是五篇文章中其余那些错误、不准确或者过时的句子，以及能看到真相的实验。A 和 C 就是上面那几段文字所在的文章；B 和 D 是另外两篇讲 Kafka 的。第五篇的文字与 A 相同，只是登在别处。

# %% jupyter={"source_hidden": true, "outputs_hidden": true} tags=["nbval-check-output"]
print(tabulate_others())

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# Put one of the four questions to another page.

# %% [markdown] lang="zh"
# 从四个问题里拿一个，去问另一张网页。

# %% jupyter={"source_hidden": true}
Predict("15-exit-ticket")
