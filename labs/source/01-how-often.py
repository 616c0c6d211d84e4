# %% [markdown]
# # Lab 01 · How often does my message arrive?
#
# *60 minutes, or a short way of 15* · no broker in particular
#
# **In one paragraph.** A shop sends orders to a queue, and accounting takes them from there into its
# books. Links break and processes die, so an order may be lost, or counted twice. In this lab you lose a
# message and ask what the shop can know about it. Then you write the rule that counts each order once,
# although the queue may hold it twice.
#
# **The short way:** Hook, Predict, Run, Make, What you know now. The other parts are folded under headings
# that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. Each of them can be
# done on its own day. A part may use what stands above it: *Run All Above Selected Cell* in the menu *Run*
# runs that first.
#
# **You need** lab 00, or these two words. A *message queue* keeps messages in a log, between the services
# that write them and the services that read them. An *acknowledgement*, *ack* (确认), is the answer “I have
# it”.

# %% [markdown] lang="zh"
# # 实验 01 · 我的消息会到达几次？
#
# *60 分钟，短路线约 15 分钟* · 不针对任何一种 broker
#
# **一段话概括**：商店把订单发到一个队列，记账方从队列里取出来记入账本。连接会断，进程会死，所以订单可能丢失，也可能记两次。在这个实验里，你先弄丢一条消息，看看商店对此能知道多少；再写一条规则，让每个订单只记一次，哪怕它在队列里有两份。
#
# **短路线**：引子、预测、执行、动手写、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。每一部分都可以另找一天单独做。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。有些单元打印的短标签仍是英文。
#
# **你需要**先做实验 00，或者先知道下面两个词。*消息队列*（message queue）把消息保存在日志里，一边是写消息的服务，一边是读消息的服务。*确认*（acknowledgement，*ack*）就是那句应答：“收到了”。

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
    columns,
    continue_scenario,
    explore,
    say,
    scenario,
    system,
)
from mqlab.lessons.patterns.lab01 import (
    CONSUME,
    COUNTING,
    PROMISES,
    compare_promises,
    count_orders,
    deliver,
    first,
    in_words,
    list_heard,
    measure_shares,
)

# %% [markdown]
# ## Hook: is order 580539 in the queue?
#
# These are real orders: customers of a British shop placed them on the morning of 5 December 2011. In
# this lab an order is an invoice with its number and its amount. In the evening the books must hold
# each of them once: *money in = money out*.
#
# The shop sends orders 580538 and 580539. The first arrives. While the second is under way, the
# connection breaks.

# %% [markdown] lang="zh"
# ## 引子：订单 580539 在队列里吗？
#
# 这些都是真实的订单，是一家英国商店的顾客在 2011 年 12 月 5 日上午下的。在这个实验里，一个订单就是一张发票，有编号和金额。到了晚上，每个订单在账本里都必须恰好记有一次：*进账 = 出账*。
#
# 商店发出订单 580538 和 580539。第一个到达了。第二个还在路上，连接断了。

# %% [markdown]
# ## Predict
#
# The shop waits for an answer and hears nothing. Choose an answer and lock it; then the run goes on.

# %% [markdown] lang="zh"
# ## 预测
#
# 商店在等应答，却什么也没有等到。选一个答案并锁定，执行就会继续。

# %% jupyter={"source_hidden": true}
answer_lost = deliver("at least once", "lose shop→queue ⇒Publish#2")
Predict("01-silence", trace=answer_lost, step=first(answer_lost, "connection broken"))

# %% [markdown]
# ## Run
#
# The picture shows the queue's log `orders` and the `books` of accounting. Its *money* compares the amount
# that customers have ordered with the amount in the books. Two lights stand for the two ways to go wrong.
# Step the picture above to the end of its run. How often is order 580539 counted, and how could the shop
# have known?
#
# The next cell plays the same fault on the other half of the way: the *order* is lost, and not its
# acknowledgement. It compares what the shop does and hears in the two runs, and what the queue holds in the
# end.

# %% [markdown] lang="zh"
# ## 执行
#
# 图中有队列的日志 `orders` 和记账方的 `books`。*金额*一栏拿顾客订购的金额和账本里的金额作比较。两盏指示灯代表两种出错的方式。把上面的图逐步走到结尾：订单 580539 记了几次？商店当时有办法知道吗？
#
# 下一个单元让同样的故障发生在另外半程：丢的是*订单*，而不是它的确认。它会比较商店在两次执行里做了什么、听到了什么，以及队列里最后有什么。

# %% tags=["nbval-check-output"]
request_lost = deliver("at least once", "lose shop→queue Publish#2")
assert list_heard(request_lost) == list_heard(answer_lost)
print("in both runs the shop …", *list_heard(answer_lost), sep="\n  ")
for lost, run in {"the order": request_lost, "its answer": answer_lost}.items():
    in_queue = ", ".join(f"{number} {queue}×" for number, (queue, _) in count_orders(run).items())
    print(f"{lost} was lost: the queue holds {in_queue}")

# %% [markdown]
# To the shop both runs are the same, to the last letter. So no rule could make the shop do the right thing
# in both. If it sends again, an order is doubled in one of them; if it does not, an order is lost in the
# other. More messages do not help, since the last one may always be the lost one. (This is known as the
# problem of the *two generals*.)

# %% [markdown] lang="zh"
# 在商店看来，两次执行一字不差。所以没有哪条规则能让商店在两种情况下都做对：重发，其中一种就多出一个订单；不重发，另一种就丢掉一个订单。多发几条消息也没有用，因为最后那一条总有可能丢。（这就是有名的*两将军问题*，two generals。）

# %% [markdown]
# ## Make
#
# The shop cannot know, and you do not control the queue: it may hold an order twice, at two places of its
# log. Can accounting, which stands at the end, still count each order once? **Write its rule.** For each
# message that accounting is handed, the rule says `"count"` or `"skip"`. It is given
#
# - `position`: the place in the log up to which, by the books, the queue was read,
# - `booked`: the numbers of all orders in the books, oldest first,
# - `offset` (偏移量): the place of this message in the log,
# - `number`: the number of the order in this message,
# - `again`: whether the queue has handed out this offset before.
#
# Accounting writes an amount and its new position in one write. Every schedule of four small stories is
# tried: nothing happens; accounting is killed; the shop sends again; accounting goes back to the first
# offset. There are two hints: `print(COUNTING.hint(1))`, then `print(COUNTING.hint(2))`.


# %% [markdown] lang="zh"
# ## 动手写
#
# 商店无从知道，队列又不归你管：同一个订单可能在队列里有两份，位于日志的两个位置。记账方处在终点，它能不能仍然让每个订单只记一次？**请写出它的规则**。每拿到一条消息，规则就答 `"count"`（记账）或 `"skip"`（跳过）。它得到的参数是：
#
# - `position`：按账本的记载，队列已经读到日志的哪个位置，
# - `booked`：账本里所有订单的编号，最早的在前，
# - `offset`（偏移量）：这条消息在日志里的位置，
# - `number`：这条消息里的订单编号，
# - `again`：队列以前是否发出过这个偏移量。
#
# 记账方把金额和新的位置写在同一次写入里。四个小故事的每一种可能的执行都会试到：什么也没发生；记账方被杀；商店重发；记账方退回第一个偏移量。有两条提示可看：`print(COUNTING.hint(1))`，然后 `print(COUNTING.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "count"}
def count(position: int, booked: tuple[str, ...], offset: int, number: str, again: bool) -> str:
    """What accounting does with a message: "count" or "skip"."""
    ### BEGIN SOLUTION
    # The number is the shop's own: it is the same however the order came here.
    return "skip" if number in booked else "count"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "count-test", "points": 5}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("count", count)
### END HIDDEN TESTS
check(COUNTING, count)

# %% [markdown]
# With this rule the queue need not remember anything. The participant at the *end* of the way, which knows
# what an order is, can do alone what all the others could only help with. (Saltzer, Reed and Clark called
# this the *end-to-end argument* in 1984.) A reader of this kind is *idempotent* (幂等): the same message
# again changes nothing.

# %% [markdown] lang="zh"
# 有了这条规则，队列就什么也不必记住。处在*终点*的参与者知道什么是订单；其他各方只能帮上一点忙的事，它独自就能办到。（Saltzer、Reed 和 Clark 在 1984 年把这叫作*端到端论证*，end-to-end argument。）这样的读者是*幂等*（idempotent）的：同一条消息再来一次，什么也不会改变。

# %% [markdown]
# ## What you know now
#
# Silence says nothing: a lost order, a lost answer and a slow answer look the same. Somebody must send
# again, and somebody else must recognise what comes again.
#
# The short way ends here, with 5 of the 8 points. The parts below go deeper, in any order. The next lab has
# two databases in the place of one log: [who decides?](02-who-decides.ipynb)

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 没有回音，说明不了任何事：订单丢了、应答丢了、应答慢了，看起来一模一样。总得有一方重发，也总得有另一方认出重复到来的消息。
#
# 短路线到此结束，8 分中有 5 分在这里。下面的部分继续深入，先做哪个都行。下一个实验里，一个日志换成了两个数据库：[谁来决定？](02-who-decides.ipynb)

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
from mqlab.lab import met

met("01")

# %% [markdown] tags=["deeper"]
# ## Deeper: who makes which promise?

# %% [markdown] lang="zh"
# ## 深入：谁作出哪种承诺？

# %% [markdown]
# A system can choose on which side to err. Three promises are usual. *At most once* (至多一次): an order is
# never counted twice, and perhaps lost. *At least once* (至少一次): never lost, perhaps counted twice.
# *Exactly once* (精确一次): neither. The three participants decide it by four lines:
#
# | participant | the line | its name here |
# |---|---|---|
# | shop | sends an order again until it is acknowledged | `send_again` |
# | queue | writes an order before it acknowledges it | `append_first` |
# | queue | recognises an order that it has, by its number | `recognise` |
# | accounting | writes amount and position in one write | `one_write` |
#
# At least once keeps the first two. At most once does not send again, and *commits* its position before it
# counts, which means that it has the queue write the position down. Exactly once keeps all four. The table
# plays six faults with the second order, under each promise. Before you run it: in which cells is an order
# lost, in which is one doubled?

# %% [markdown] lang="zh"
# 系统可以选择宁愿错在哪一边。常见的承诺有三种。*至多一次*（at most once）：订单绝不会记两次，但也许会丢。*至少一次*（at least once）：绝不会丢，但也许会记两次。*精确一次*（exactly once）：既不会丢，也不会记两次。这由三个参与者的四行代码决定：
#
# | 参与者 | 这一行做什么 | 在这里的名字 |
# |---|---|---|
# | 商店 | 重发订单，直到收到确认 | `send_again` |
# | 队列 | 先写入订单，再确认 | `append_first` |
# | 队列 | 凭编号认出已经有的订单 | `recognise` |
# | 记账方 | 把金额和位置写在同一次写入里 | `one_write` |
#
# 至少一次保留前两行。至多一次不重发，并且在记账之前就*提交*位置，也就是让队列把位置记下来。精确一次四行都保留。下面的表在每种承诺下，让第二个订单遭遇六种情形。运行之前先想一想：哪些格子里会丢订单，哪些格子里会多一个？

# %% tags=["nbval-check-output"]
faults = {
    "nothing": "",
    "the order is lost on its way": "lose shop→queue Publish#2",
    "its acknowledgement is lost": "lose shop→queue ⇒Publish#2",
    "the queue dies when it has written it": (
        "kill queue when=PublishResponse#2 after=0\nrestart queue"
    ),
    "accounting dies with it in its hands": (
        "kill accounting when=580539 after=0\nrestart accounting"
    ),
    "accounting dies when it has counted it": (
        "kill accounting when=580539 after=1\nrestart accounting"
    ),
}
print(compare_promises(faults))

# %% [markdown]
# Each promise is kept, and has its price on the other side. Exactly once has a price too: a number in
# each order, a memory in the queue, and a position in the books.
#
# Look at the fourth line. The queue *had* the order and died before it could say so. The shop hears only
# silence, as before. Then look at the last two, where no message is lost at all. An order can go
# wrong inside accounting, even on a perfect network.

# %% [markdown] lang="zh"
# 每种承诺都兑现了，代价都在另一边。精确一次也有代价：每个订单里要有编号，队列里要有记忆，账本里要有位置。
#
# 看第四行。队列*已经*有了这个订单，还没来得及说出来就死了。商店和前面一样，什么也没有听到。再看最后两行，那里一条消息也没有丢。即使网络完美无缺，订单也可能在记账方内部出错。

# %% [markdown] tags=["deeper"]
# ## Deeper: what does the reader's commit say?

# %% [markdown] lang="zh"
# ## 深入：读者的提交说明了什么？

# %% [markdown]
# **1. The reader's side.** Accounting does two things with each order: it *counts* it in the books, and
# it *commits* its position. At most once commits first. Here it is killed between the two.

# %% [markdown] lang="zh"
# **1. 读者这一边**。每拿到一个订单，记账方都做两件事：把它*记入*账本，再*提交*自己的位置。至多一次是先提交。在这里，它在两者之间被杀。

# %% jupyter={"source_hidden": true}
commit_first = scenario("""
# Accounting commits first, and is killed
system delivery off=one_write commit=before
run shop: send 580538:31678, send 580539:31073
kill accounting when=580538 after=0
restart accounting
""")
Predict("01-commit-first", trace=commit_first, step=first(commit_first, "killed"))

# %% [markdown]
# This is *at most once* seen from the reader. The other order, first count and then commit, is *at least
# once*: the same kill then leaves the amount in the books and the position behind, and the order is
# counted again. As long as there are two writes there is a moment between them, whichever comes first.
#
# **2. Going back.** A committed position looks like an end. Accounting now does the same as an operator
# after a mistake in the books: it goes back to offset 0 with `seek`.

# %% [markdown] lang="zh"
# 这就是从读者一侧看到的*至多一次*。反过来，先记账再提交，就是*至少一次*：同样的 kill 会让金额留在账本里，而位置没有跟上，于是订单又记了一次。只要是两次写入，中间就有空隙，不管谁先谁后。
#
# **2. 往回退**。已提交的位置看起来像是终点。现在记账方要做的，正是运维人员在账记错之后做的事：用 `seek` 退回偏移量 0。

# %% jupyter={"source_hidden": true}
rewound = scenario("""
# Accounting has committed both orders, and goes back
system delivery off=one_write
run shop: send 580538:31678, send 580539:31073
run accounting: seek 0
""")
Predict("01-rewind", trace=rewound, step=first(rewound, "seek 0"))

# %% [markdown]
# Everything from the older place on is consumed again. An acknowledged order can still be read, and no
# setting of the queue changes that. With all four lines on, the same rewind is harmless,
# because accounting's *own* position says what it has counted:

# %% [markdown] lang="zh"
# 从这个较早的位置起，后面的一切都会重新消费。已经确认过的订单仍然可以读到，队列的任何设置都改变不了这一点。四行全部保留时，同样的回退就无害了，因为记账方*自己的*位置说明了哪些已经记过：

# %% tags=["nbval-check-output"]
known = scenario("""
# The same with a position in the books
system delivery
run shop: send 580538:31678, send 580539:31073
run accounting: seek 0
""")
for name, run in {"position in the queue": rewound, "position in the books": known}.items():
    print(f"{name}: {', '.join(f'{n} counted {b}×' for n, (_, b) in count_orders(run).items())}")

# %% [markdown] tags=["deeper"]
# ## Deeper: can duplicates come without any fault?

# %% [markdown] lang="zh"
# ## 深入：没有任何故障，也会重复吗？

# %% [markdown]
# Here nothing is lost and nobody dies. The acknowledgement only takes longer than the
# 100 ms for which the shop is willing to wait. Find the step at which the shop decides wrongly, and say
# what it should have known.

# %% [markdown] lang="zh"
# 这里什么也没丢，谁也没死，只是确认来得慢，超过了商店愿意等的 100 ms。找出商店作错决定的那一步，说说它当时应该知道什么。

# %%
slow = scenario("""
# The acknowledgement is only slow
system delivery off=recognise
hold shop→queue ⇒Publish#1
run shop: send 580538:31678
fire shop retry
release shop→queue ⇒Publish#1
""")
assert count_orders(slow) == {"580538": (2, 2)}
Player(slow, step=first(slow, "timer retry"))

# %% [markdown]
# It could not know. *Slow* and *lost* are the same silence. A longer timeout makes duplicates rarer, and
# every real loss more expensive; it never makes duplicates impossible.

# %% [markdown] lang="zh"
# 它没有办法知道。*慢*和*丢*，从商店那里听起来都是没有回音。超时设得长一些，重复会少一些，但真正丢失时的代价也更大；无论多长，都不能杜绝重复。

# %% [markdown] tags=["deeper"]
# ## Deeper: how many orders go wrong?

# %% [markdown] lang="zh"
# ## 深入：有多少订单会出错？

# %% [markdown]
# So far there was one fault at a chosen place. Now faults come at random: the first twelve orders of the
# day are sent twenty times, via links that lose a given share of messages. Guess first: if 10 % of the
# messages are lost, how many orders are?


# %% [markdown] lang="zh"
# 到目前为止，都是在选定的地方出一次故障。现在故障随机发生：当天的前十二个订单发送二十遍，经过的连接会按给定的比例丢消息。先猜：如果丢掉 10% 的消息，会丢掉多少订单？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
LOSSES = [0, 0.1, 0.2, 0.3, 0.4]
measured = {(p, loss): measure_shares(p, loss) for p in PROMISES for loss in LOSSES}
rows = [
    (f"{loss:.0%} lost", *(str(measured[promise, loss]) for promise in PROMISES))
    for loss in LOSSES
]
rows.append(("0% lost, up to 120 ms", *(str(measure_shares(p, 0, 120)) for p in PROMISES)))
print(columns([("messages", *PROMISES), *rows]))

# %% jupyter={"source_hidden": true}
lines = {
    say("at most once: lost"): [measured["at most once", x].lost for x in LOSSES],
    say("at least once: twice"): [measured["at least once", x].doubled for x in LOSSES],
    say("exactly once: either"): [
        measured["exactly once", x].lost + measured["exactly once", x].doubled for x in LOSSES
    ],
}
go.Figure(
    [
        go.Scatter(name=name, x=LOSSES, y=[number / 240 for number in numbers])
        for name, numbers in lines.items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#d97706", "#b91c1c", "#1a7f37"],
        "height": 300,
        "margin": {"t": 50, "b": 50},
        "title": say("Share of 240 orders that went wrong"),
        "xaxis": {"title": say("share of messages lost"), "tickformat": ".0%"},
        "yaxis": {"range": [0, 0.6], "tickformat": ".0%"},
    },
)

# %% [markdown]
# At most once loses about the same share of orders as the link loses of messages. (A lost *acknowledgement*
# costs it nothing, since nobody waits for one.) At least once doubles about the same share: the orders whose
# acknowledgement was lost. A lost order is sent again, which only takes time. In the last row nothing is
# lost at all. Messages take up to 120 ms instead of 10, and most orders are counted twice.
#
# Move the sliders. With no loss, how slow must the slowest messages be before the first order is
# doubled? The shop's timeout is 100 ms, and an answer needs *two* messages.


# %% [markdown] lang="zh"
# 至多一次丢掉的订单比例，和连接丢掉的消息比例差不多。（丢掉一个*确认*对它没有影响，因为没有人在等。）至少一次多记的订单也差不多是这个比例，就是确认丢了的那些；订单本身丢了会重发，只是多花些时间。最后一行里什么也没有丢，只是消息最慢要走 120 ms，而不是 10 ms，大多数订单就记了两次。
#
# 移动滑块。在完全不丢消息时，最慢的消息要慢到什么程度，才会出现第一个重复的订单？商店的超时是 100 ms，而等到应答，要经过*两条*消息。

# %% jupyter={"source_hidden": true}
def draw_shares(loss=0.1, slowest_ms=10):
    shares = [measure_shares(promise, loss, slowest_ms) for promise in PROMISES]
    return {
        say("lost"): [share.lost / share.orders for share in shares],
        say("counted twice"): [share.doubled / share.orders for share in shares],
    }


chart = go.FigureWidget(
    [
        go.Bar(name=name, x=list(map(in_words, PROMISES)), y=heights)
        for name, heights in draw_shares().items()
    ],
    layout={
        "template": "plotly_white",
        "colorway": ["#d97706", "#b91c1c"],
        "height": 300,
        "margin": {"t": 50, "b": 40},
        "title": say("Share of 240 orders"),
        "yaxis": {"range": [0, 1], "tickformat": ".0%"},
    },
)
how = {"continuous_update": False, "style": {"description_width": "8em"}}
loss = ipywidgets.FloatSlider(0.1, min=0, max=0.5, step=0.05, **how)
delay = ipywidgets.IntSlider(10, min=10, max=200, step=10, **how)
loss.description = say("messages lost")
delay.description = say("slowest, in ms")


def redraw(_):
    for bar, heights in zip(chart.data, draw_shares(loss.value, delay.value).values(), strict=True):
        bar.y = heights


loss.observe(redraw, "value")
delay.observe(redraw, "value")
ipywidgets.VBox([loss, delay, chart])

# %% [markdown] tags=["deeper"]
# ## Deeper: which run is the shortest that counts an order twice?

# %% [markdown] lang="zh"
# ## 深入：让一个订单记两次，最短的执行是哪一次？

# %% [markdown]
# Now you move the shop that is *at least once*. Let it call, deliver its messages or leave them waiting, let
# its timer run out, break connections, kill. *How few choices do you need until the light turns red? How
# few without any fault?*

# %% [markdown] lang="zh"
# 现在由你来指挥*至少一次*的商店：让它发出调用，让它的消息送达或者滞留，让它的定时器到时，断开连接，杀掉进程。*最少做几次选择，指示灯就会变红？不用任何故障，最少又要几次？*

# %%
least = f"delivery {PROMISES['at least once']} 'shop=send 580538:31678'"
Playground(continue_scenario(f"# At least once\nsystem {least}"), goal="counted once")

# %% [markdown] tags=["deeper"]
# ## Deeper: who is needed for exactly once?

# %% [markdown] lang="zh"
# ## 深入：精确一次需要谁？

# %% [markdown]
# Each of the three participants can keep its line or not. The next cell tries all eight combinations,
# and in each of them every schedule with a kill, a broken connection and an impatient shop. Guess first:
# how many of the eight are right?

# %% [markdown] lang="zh"
# 三个参与者，每个都可以保留或去掉自己的那一行。下一个单元把八种组合全部试一遍，每种组合都试遍所有可能的执行，其中有 kill、有断开的连接，还有一家没有耐心的商店。先猜：八种里有几种是对的？

# %% jupyter={"source_hidden": true} tags=["nbval-check-output"]
ONE_FAULT_EACH = Budget(kills=1, breaks=1, timers=1)
needed = {"shop": "send_again", "queue": "recognise", "accounting": "one_write"}
rows = [(*needed, "red", "in choices")]
for number in range(8):
    kept = [bool(number & bit) for bit in (4, 2, 1)]
    off = ",".join(line for line, keep in zip(needed.values(), kept, strict=True) if not keep)
    verdict = explore(system(f"delivery off={off} 'shop=send 580538:31678'"), ONE_FAULT_EACH)
    assert verdict.complete and not verdict.missing
    red = {name: str(len(found.schedule)) for name, found in verdict.counterexamples.items()}
    marks = ["yes" if keep else "–" for keep in kept]
    rows.append((*marks, ", ".join(red) or "no light", ", ".join(red.values()) or "–"))
print(columns(rows))

# %% [markdown]
# One of eight is right. Here exactly once needs shop, queue and accounting *together*, and anyone who sells it
# as a feature of one of them is selling a third of it. The fourth line, `append_first`, was on all the time.
# Without it the queue acknowledges orders that are only in its memory. Press *Search*: in how few choices is an
# order lost, although the shop was told that it is safe?

# %% [markdown] lang="zh"
# 八种里只有一种是对的。在这里，精确一次需要商店、队列和记账方*合作*；谁把它当作其中一方的功能来卖，卖的就只是三分之一。还有一行 `append_first`，一直都保留着。没有它，队列就会确认只存在于自己内存里的订单。按*开始搜索*：商店明明得知订单已经安全，订单却还是丢了：这最少需要几次选择？

# %%
acknowledged_early = system("delivery off=append_first 'shop=send 580538:31678'")
Explorer(acknowledged_early, Budget(kills=1, killable=("queue",)))

# %% [markdown] tags=["deeper"]
# ## Deeper: from where to where is exactly once?

# %% [markdown] lang="zh"
# ## 深入：精确一次，从哪里到哪里？

# %% [markdown]
# People mean two different stretches of the way when they say *exactly once*:
#
# - **that of the messaging service**: from the shop into the queue. Each order is *stored* once, however often
#   it is sent;
# - **that of read, compute, save**: from the queue into the books. Each order *takes effect* once,
#   however often it is read.
#
# The first without the second, with accounting killed once it has counted:

# %% [markdown] lang="zh"
# 人们说*精确一次*的时候，指的是路上不同的两段：
#
# - **消息服务的那一段**：从商店到队列。不管发送几次，每个订单只*保存*一次；
# - **读取、计算、保存的那一段**：从队列到账本。不管读取几次，每个订单只*生效*一次。
#
# 下面的执行只有前一段，没有后一段；记账方刚记完账就被杀：

# %% tags=["nbval-check-output"]
service_only = scenario("""
# Stored once, counted twice
system delivery off=one_write
run shop: send 580538:31678
lose shop→queue ⇒Publish#1
kill accounting when=580538 after=1
restart accounting
""")
(stored, counted) = count_orders(service_only)["580538"]
print(f"the queue holds the order {stored}×, the books hold it {counted}×")

# %% [markdown]
# So the answer to "does your queue deliver exactly once?" is a question: *from where to where?*

# %% [markdown] lang="zh"
# 所以，“你们的队列保证精确一次吗？”这个问题的回答应该是一句反问：*从哪里到哪里？*

# %% [markdown] tags=["deeper"]
# ## Deeper: in which order must accounting write?

# %% [markdown] lang="zh"
# ## 深入：记账方必须按什么顺序写？

# %% [markdown]
# The books are tables of a database, and accounting keeps its position beside them. After a crash it asks
# this position where to go on, and the queue's only where it keeps none. The pieces below are the steps
# that accounting may take with an order. Put the needed ones into a sequence in which no order is lost and
# none counted twice. Your sequence is built into accounting, and every schedule with a kill is searched.
# *More than one sequence is right.* Run the cell, then move the pieces: each move is written between the
# brackets of its call. (Without the widget, write the names there yourself.)

# %% [markdown] lang="zh"
# 账本是数据库里的表，记账方把自己的位置存在账本旁边。宕机之后，它先看自己的位置，从那里继续；如果没有存过，才去看队列里的位置。下面列出了记账方拿到订单后可以做的步骤。挑出需要的，排成一个序列，使得订单既不会丢，也不会记两次。你的序列会装进记账方，然后搜索所有带一次 kill 的执行。*正确的序列不止一种*。先运行单元，再移动步骤：每移动一次，结果都会写进调用的方括号里。（如果没有这个控件，就自己把名字写进去。）

# %% nbgrader={"solution": true, "grade_id": "consume"}
order = CONSUME.arrange([
    ### BEGIN SOLUTION
    # Both writes become durable at the database's commit, or neither does. The queue need not know.
    "begin", "count", "note", "end"
    ### END SOLUTION
])

# %% nbgrader={"grade": true, "grade_id": "consume-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("consume", order)
### END HIDDEN TESTS
check(CONSUME, order)

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs are refuted?

# %% [markdown] lang="zh"
# ## 深入：哪些想法被推翻了？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | no acknowledgement means that it did not arrive | the answer may be what was lost | Predict |
# | a second question settles it | that question can be lost too; slow and lost look alike | Run, *without any fault* |
# | TCP makes it exactly once | inside one connection; the duplicate comes over the next one | Run |
# | committed means done | it is a note where to go on; before or after counting, both go wrong | *the reader's commit* |
# | what was acknowledged cannot come again | a rewind reads it again | *the reader's commit* |
# | duplicates come from lost messages | a short timeout alone makes them | *without any fault*, *how many* |
# | exactly once is a feature of the queue | it takes shop, queue and accounting, or one reader that looks | *who is needed*, Make |
# | “exactly once” says what is promised | stored once and counted once are two promises | *from where to where* |
# | “again” means that it was counted | it means that it was handed out | Make |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 没有确认就是没有到达 | 丢的可能是应答 | 预测 |
# | 再问一次就清楚了 | 这一问也可能丢；慢和丢看起来一样 | 执行、*没有任何故障* |
# | TCP 让它精确一次 | 只在一个连接之内成立；重复的那份走的是下一个连接 | 执行 |
# | 已提交就是做完了 | 它只是一个记号，说明从哪里继续；放在记账之前或之后都会出错 | *读者的提交* |
# | 确认过的不会再来 | 退回去就会再读到 | *读者的提交* |
# | 重复来自丢失的消息 | 只要超时太短就会重复 | *没有任何故障*、*有多少订单* |
# | 精确一次是队列的功能 | 它需要商店、队列和记账方，或者一个会先查一查的读者 | *需要谁*、动手写 |
# | “精确一次”已经说清了承诺的内容 | 保存一次和记账一次是两个承诺 | *从哪里到哪里* |
# | “再次”就是已经记过 | 它只说明以前发出过 | 动手写 |

# %% [markdown] tags=["deeper"]
# ## Deeper: what do real queues promise?

# %% [markdown] lang="zh"
# ## 深入：真实的队列承诺了什么？

# %% [markdown]
# One article says that all common open-source queues reach at least once and no more. That was true once.
# Here Kafka's producer, in this project's own Kafka, meets the fault of the beginning: the
# acknowledgement of its second payment is lost.

# %% [markdown] lang="zh"
# 有的文章说，常见的开源队列都只能做到至少一次。从前确实如此。这里让 Kafka 的生产者（用的是本项目自己的 Kafka）遇到开头那种故障：第二笔付款的确认丢了。

# %% tags=["nbval-check-output"]
kafka = scenario("""
# The same lost acknowledgement in Kafka
system payments
run order-service: send payments-0 580538, send payments-0 580539, flush
lose order-service→payments-0 ⇒Produce#2
""")
print("Kafka's log holds:", *(cell.label for cell in kafka.snapshot(-1).logs[0].cells))

# %% [markdown]
# | | shop → queue | queue → books |
# |---|---|---|
# | RabbitMQ | at least once with publisher confirms, else at most once | ack after counting: at least once; automatic ack: at most once |
# | RocketMQ | at least once: its producer may send twice, and nothing recognises it | at least once; consumers must be idempotent |
# | Kafka | stored once within a producer's session (the default of the Java client since 3.0.1, 3.1.1 and 3.2.0) | at least once; exactly once where what is saved is in Kafka too, in one transaction |
# | Pulsar | stored once where deduplication is switched on | at least once; exactly once in one transaction, within Pulsar |
#
# None of them covers the books of *this* lab, which are a database of your own.

# %% [markdown] lang="zh"
# | | 商店 → 队列 | 队列 → 账本 |
# |---|---|---|
# | RabbitMQ | 打开发布者确认（publisher confirms）时至少一次，否则至多一次 | 记账之后再 ack：至少一次；自动 ack：至多一次 |
# | RocketMQ | 至少一次：生产者可能发两次，没有哪一方会识别出来 | 至少一次；消费者必须幂等 |
# | Kafka | 在生产者的一个会话之内只保存一次（Java 客户端从 3.0.1、3.1.1 和 3.2.0 起默认如此） | 至少一次；如果保存的地方也在 Kafka 里，并在同一个事务中，则精确一次 |
# | Pulsar | 打开去重时只保存一次 | 至少一次；在 Pulsar 内部、同一个事务中，则精确一次 |
#
# *这个*实验里的账本是你自己的数据库，以上哪一种都管不到它。

# %% [markdown] tags=["deeper"]
# ## Deeper: how often is the driver paid?

# %% [markdown] lang="zh"
# ## 深入：司机拿到几次钱？

# %% [markdown]
# A driver presses *delivered* for parcel 77. Nothing seems to happen, so the driver presses again. Both
# messages reach a queue that is at least once. The app that pays two pounds per parcel writes the money
# and the parcel's number in one transaction, if the number is not there yet. It is killed right after
# that write, before it has acknowledged anything, and starts again.

# %% [markdown] lang="zh"
# 司机为 77 号包裹按下*已送达*。好像没有反应，于是又按了一次。两条消息都到达了一个至少一次的队列。付款的应用每个包裹付两英镑，它在一个事务里写入这笔钱和包裹的编号，前提是这个编号还不存在。写完之后，它还没来得及确认任何东西就被杀掉，然后重新启动。

# %% jupyter={"source_hidden": true}
Predict("01-exit-ticket")
