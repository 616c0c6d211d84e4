# %% [markdown]
# # Lab 02 · Who decides?
#
# *75 minutes, or a short way of 15* · no broker in particular
#
# **In one paragraph.** An order must be in the shop's database and in the warehouse's, or in neither. Each
# database keeps its own promises, but no database keeps a promise about both. In this lab you kill a
# coordinator of two databases after each of its effects with `kill -9`. Then you compare five classical
# models, and what each of them costs.
#
# **The short way:** Hook, Put it into order, Predict, Run, What you know now. The other parts are folded
# under headings that begin with *Deeper*. A click on *cells hidden* below a heading opens its part. A part
# may use what stands above it: *Run All Above Selected Cell* in the menu *Run* runs that first.

# %% [markdown] lang="zh"
# # 实验 02 · 谁来决定？
#
# *75 分钟，短路线约 15 分钟* · 不针对任何一种 broker
#
# **一段话概括**：一个订单要么同时写进商店的数据库和仓库的数据库，要么两边都没有。每个数据库都守得住自己的承诺，但没有哪个数据库能替两边作承诺。在这个实验里，有一个协调者负责协调这两个数据库，你会用 `kill -9` 杀它，在它的每个效果之后各杀一次；然后比较五种经典模型，看每种模型各要付出什么代价。
#
# **短路线**：引子、排出顺序、预测、执行、现在你知道了什么。其余部分都折叠在以*深入*开头的标题下面，点击标题下的 *cells hidden* 就能展开。有的部分要用到上文的变量：先用菜单 *Run* 里的 *Run All Above Selected Cell* 执行上文。有些单元打印的短标签仍是英文。

# %% jupyter={"source_hidden": true}
import tempfile

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
from mqlab.lessons.patterns.lab02 import (
    EFFECTS,
    FENCE,
    ONE_PHASE,
    TWO_PHASES,
    compare_models,
    describe_red,
    find_red_step,
    first,
    kill_everywhere,
    list_told,
    open_bank,
    tabulate_traps,
)

# %% [markdown]
# ## Hook: the customer has paid. Is the night light reserved?
#
# An order is a row in `orders.db` and one night light less in `stock.db`. A program writes to one file,
# then to the other. The next cell kills it with `kill -9` after each effect.

# %% [markdown] lang="zh"
# ## 引子：顾客已经付款，小夜灯留出来了吗？
#
# 一个订单意味着 `orders.db` 里多一行，`stock.db` 里少一盏小夜灯。程序先写一个文件，再写另一个。下一个单元用 `kill -9` 杀它，在每个效果之后各杀一次。

# %% tags=["nbval-check-output"]
print(kill_everywhere(ONE_PHASE))

# %% [markdown]
# One line of the table is half an order. No restart repairs it, because the restarted program knows nothing
# of it. This is a *distributed transaction* (分布式事务) in which nobody decides.
#
# So one more process is needed, the *transaction manager* or *coordinator* (`tm` in the pictures). The
# databases become *resource managers*, or *participants*. A participant can do one thing more. It can
# **prepare**: it promises to commit when it is told to, and it keeps this promise through any crash. XA, the
# interface of 1991, calls this `xa_prepare`. Here each file keeps its promise in a row, and that row is also
# the lock. The coordinator has a file of its own, and it reads that file when it is started again. If it
# finds a decision, it tells every participant that has promised. If it finds none, all roll back (*presumed
# abort*).

# %% [markdown] lang="zh"
# 表里有一行只剩半个订单。重启也补救不了，因为重新启动的程序对它一无所知。这就是没有人作决定的*分布式事务*（distributed transaction）。
#
# 所以还需要一个进程：*事务管理器*（transaction manager），也叫*协调者*（coordinator），图中的 `tm`。两个数据库成了*资源管理器*（resource manager），也叫*参与者*（participant）。参与者多了一种本领：**准备**（prepare），也就是承诺一接到通知就提交，而且无论怎样宕机都信守承诺。1991 年的接口规范 XA 把这个调用叫作 `xa_prepare`。在这里，每个文件用一行数据记下承诺，这一行同时也是锁。协调者有自己的文件，重新启动时会读它：如果找到决定，就通知每个作过承诺的参与者提交；如果没有找到，就全体回滚（*假定中止*，presumed abort）。

# %% [markdown]
# ## Put it into order
#
# The coordinator has five effects, here in alphabetical order: `"commit:orders"`, `"commit:stock"`,
# `"decide"`, `"prepare:orders"`, `"prepare:stock"`. Put them into an order that leaves the two files in
# agreement, wherever the coordinator is killed. Your list is carried out on two real files, stopped after
# each effect, and recovered. *Several orders are right.* Two hints are there: `print(EFFECTS.hint(1))`, then
# `print(EFFECTS.hint(2))`.

# %% [markdown] lang="zh"
# ## 排出顺序
#
# 协调者有五个效果，这里按字母顺序列出：`"commit:orders"`、`"commit:stock"`、`"decide"`、`"prepare:orders"`、`"prepare:stock"`。请排出一个顺序，使得协调者无论在哪里被杀，两个文件最后都一致。你的列表会在两个真实的文件上执行，在每个效果之后停下，再恢复。*正确的顺序不止一种*。有两条提示可看：`print(EFFECTS.hint(1))`，然后 `print(EFFECTS.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "effects"}
effects = [
    ### BEGIN SOLUTION
    # All promise, then it is decided, then all are told. Which file comes first is the same.
    "prepare:orders", "prepare:stock", "decide", "commit:orders", "commit:stock",
    ### END SOLUTION
]  # fmt: skip

# %% nbgrader={"grade": true, "grade_id": "effects-test", "points": 3}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("effects", effects)
### END HIDDEN TESTS
check(EFFECTS, effects)

# %% [markdown]
# ## Predict
#
# Such a protocol is *two-phase commit*, *2PC* (两阶段提交). One article says that it has flaws, but does not name
# them. In this run the coordinator is killed after both participants have voted yes.

# %% [markdown] lang="zh"
# ## 预测
#
# 这样的协议叫*两阶段提交*（two-phase commit，*2PC*）。有一篇文章说它有缺陷，却没有说是什么缺陷。在这次执行里，两个参与者都投了赞成票之后，协调者被杀。

# %% jupyter={"source_hidden": true}
blocked = scenario("""
# The coordinator is killed when both have voted
system two_phase participants=orders,stock
kill tm when=commit after=0
run app: commit T1
fire orders ask T1
""")
Predict("02-blocked", trace=blocked, step=first(blocked, "killed"))

# %% [markdown]
# ## Run
#
# Step through the run in the picture above once more, and watch the tables. What would have to happen before
# `orders` can go on?
#
# This is the **blocking window**: from the yes until the decision is heard, a participant can neither go
# forward nor back, and everybody who needs its rows waits with it. The next cell does the same with `kill -9`
# to a process that writes the two files. In which line of the table did the order become certain?

# %% [markdown] lang="zh"
# ## 执行
#
# 把上面的图再逐步走一遍，注意看那些表。要等到什么发生，`orders` 才能继续？
#
# 这就是**阻塞窗口**（blocking window）：从投出赞成票到得知决定，参与者既不能前进也不能后退，需要这些行的人都只能陪着等。下一个单元用 `kill -9` 对真正写两个文件的进程做同样的事。表里从哪一行起，订单就已经成了定局？

# %% tags=["nbval-check-output"]
print(kill_everywhere(TWO_PHASES))

# %% [markdown]
# It is the line `decide`. If the coordinator dies before it, every promise is taken back. If it dies after
# it, every promise is carried out, although neither file has heard of the decision yet. To decide is *one*
# write in *one* place.

# %% [markdown] lang="zh"
# 是 `decide` 那一行。协调者如果在它之前宕机，所有承诺都撤回；如果在它之后宕机，所有承诺都兑现，尽管这时两个文件还都不知道这个决定。所谓决定，就是在*一个*地方写*一次*。

# %% [markdown]
# ## What you know now
#
# A decision is one write in one place. Promises come before it, and news of it comes after. Models differ in
# who waits, who sees half an order, and who hears of it late.
#
# The short way ends here. The parts below go deeper, in any order; 6 of the 9 points are there. The next
# lab asks: [how do a message and a row become one?](03-half-message.ipynb)

# %% [markdown] lang="zh"
# ## 现在你知道了什么
#
# 决定就是在一个地方写一次。承诺在它之前，通知在它之后。各种模型的区别在于：谁要等待，谁会看到半个订单，谁知道得晚。
#
# 短路线到此结束。下面的部分继续深入，先做哪个都行；9 分中有 6 分在那里。下一个实验要问：[一条消息和数据库的一行，怎样合二为一？](03-half-message.ipynb)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does one database promise?

# %% [markdown] lang="zh"
# ## 深入：单个数据库承诺了什么？

# %% [markdown]
# An SQLite file contains two accounts, A with £100 and B with £0, and one rule, that no account may fall
# below 0. The next cell checks ACID letter by letter. *Atomicity* means that a transaction that is broken off
# leaves nothing behind. *Consistency* means that every declared rule holds when a transaction ends.
# *Isolation* means that nobody else sees uncommitted changes. *Durability* means that committed changes are
# there when the file is opened again.

# %% [markdown] lang="zh"
# 一个 SQLite 文件里有两个账户：A 有 £100，B 有 £0；还有一条规则：账户余额不得低于 0。下一个单元逐个字母检查 ACID。*原子性*（atomicity）：中途断掉的事务什么也不留下。*一致性*（consistency）：事务结束时，所有声明过的规则都成立。*隔离性*（isolation）：别人看不到未提交的修改。*持久性*（durability）：重新打开文件，已提交的修改还在。

# %% tags=["nbval-check-output"]
folder = tempfile.mkdtemp()
bank, other = open_bank(folder), open_bank(folder)


def balances(connection):
    return dict(connection.execute("SELECT name, pounds FROM account").fetchall())


bank.execute("BEGIN")
bank.execute("UPDATE account SET pounds = pounds - 30 WHERE name = 'A'")
print("isolation:   the other connection sees", balances(other))
bank.close()  # before B is credited
bank = open_bank(folder)
print("atomicity:   broken off in the middle ", balances(bank))
try:
    bank.execute("UPDATE account SET pounds = pounds - 130 WHERE name = 'A'")
except Exception as error:
    print("consistency:", error)
bank.execute("UPDATE account SET pounds = pounds - 30 WHERE name = 'A'")
bank.close()
print("durability:  opened again             ", balances(open_bank(folder)))

# %% [markdown]
# The word *consistency* has three meanings. Here it is about rules inside one database. In CAP, below, it
# means that all copies give the same answer. *Eventually consistent* means that two places agree in the end.

# %% [markdown] lang="zh"
# *一致性*这个词有三种意思。这里说的是一个数据库内部的规则；在下面的 CAP 里，它指所有副本给出同样的答案；*最终一致*（eventually consistent）则是说，两个地方最后会一致。

# %% [markdown] tags=["deeper"]
# ## Deeper: are two atomic transfers safe?

# %% [markdown] lang="zh"
# ## 深入：两笔原子的转账，就安全了吗？

# %% [markdown]
# Many people think that atomic transactions do not disturb each other. Here two clerks each transfer £10 to
# B. Each of them reads the balance, adds 10, and writes the sum in a transaction of its own.

# %% [markdown] lang="zh"
# 很多人以为，原子的事务不会互相干扰。这里有两个柜员，各向 B 转账 £10。每个人都先读余额，加上 10，再在自己的事务里写回结果。

# %% jupyter={"source_hidden": true}
Predict("02-lost-update")

# %% tags=["nbval-check-output"]
for careful in (False, True):
    folder, rounds = tempfile.mkdtemp(), 0
    waiting = [open_bank(folder), open_bank(folder)]
    while waiting:
        read = {}
        for clerk in waiting:
            try:
                if careful:
                    clerk.execute("BEGIN IMMEDIATE")  # a writer says so before it reads
                read[clerk] = balances(clerk)["B"]
            except Exception as error:
                print("  the second clerk is told:", error)
        for clerk, pounds in read.items():
            clerk.execute("UPDATE account SET pounds = ? WHERE name = 'B'", (pounds + 10,))
            if careful:
                clerk.execute("COMMIT")
        waiting = [clerk for clerk in waiting if clerk not in read]
        rounds += 1
    total = balances(open_bank(folder))["B"]
    print(f"locked before reading: {careful}, rounds: {rounds}, B has £{total}")

# %% [markdown]
# This is a **lost update**: both transfers were atomic, and one of them is gone. Atomicity protects from
# crashes; isolation protects from other transactions. If a clerk takes a lock before it reads, the second one
# is refused and must try again. That costs time, and nothing is lost.

# %% [markdown] lang="zh"
# 这叫**丢失更新**（lost update）：两笔转账都是原子的，其中一笔却没了。原子性防的是宕机，隔离性防的是别的事务。柜员如果在读之前先加锁，第二个柜员就会遭到拒绝，只好重来。这要多花时间，但什么也不会丢。

# %% [markdown] tags=["deeper"]
# ## Deeper: may a participant in doubt decide alone?

# %% [markdown] lang="zh"
# ## 深入：存疑的参与者可以自己决定吗？

# %% [markdown]
# How short is a run that leads into the blocking window? And what happens if a participant decides by itself
# after a while, which XA calls a *heuristic decision*? Guess first.

# %% [markdown] lang="zh"
# 走进阻塞窗口的执行，最短有几步？如果参与者等了一阵就自己作决定，又会怎样？XA 把这叫作*启发式决定*（heuristic decision）。先猜一猜。

# %%
ONE_STOP = Budget(kills=1, killable=("tm",), retries=1)
for name, line in {
    say("somebody waits for a coordinator that is down"): "two_phase claims=never_blocked",
    say("somebody in doubt decides alone"): "two_phase off=waits_in_doubt",
}.items():
    verdict = explore(system(f"{line} 'app=commit T1'"), ONE_STOP)
    print(f"{name}: {describe_red(verdict)}")
helped = verdict.counterexamples["same outcome"].trace()
Player(helped, step=find_red_step(helped, "same outcome"))

# %% [markdown]
# A participant that waits keeps atomicity and loses time. A participant that decides alone may split the order.
# No timeout is right, because a participant cannot tell a dead coordinator from a slow one.

# %% [markdown] lang="zh"
# 等待的参与者保住了原子性，付出的是时间。自己作决定的参与者，可能让订单分裂成两种结局。超时设成多长都不对，因为参与者分不清协调者是宕机了，还是只是慢。

# %% [markdown] tags=["deeper"]
# ## Deeper: does a third phase mend it?

# %% [markdown] lang="zh"
# ## 深入：加上第三阶段就好了吗？

# %% [markdown]
# *Three-phase commit*, *3PC* (三阶段提交), puts a phase between vote and commit: **PreCommit**, "all have
# voted yes". Nobody commits while another one is still uncertain, so the survivors can end the transaction
# without the dead. The next cell tries every schedule twice. First two of three processes are killed and never
# come back; then connections break while every process lives.

# %% [markdown] lang="zh"
# *三阶段提交*（three-phase commit，*3PC*）在投票和提交之间插入一个阶段：**PreCommit**，意思是“各方都投了赞成票”。只要还有一方不确定，就没有人提交，所以活着的各方不靠宕机的一方也能结束事务。下一个单元把所有可能的执行试两遍：先是三个进程中杀掉两个，再也不回来；然后是所有进程都活着，但连接断开。

# %% tags=["nbval-check-output"]
PARTIES = ("tm", "orders", "stock")
for name, line, budget in [
    (say("two stop for good"), "three_phase", Budget(kills=2, killable=PARTIES, restartable=())),
    (
        say("two connections break, nobody stops"),
        "three_phase participants=orders claims=survives_a_partition",
        Budget(breaks=2),
    ),
]:
    verdict = explore(system(f"{line} 'app=commit T1'"), budget)
    print(f"{name}: {describe_red(verdict)}")

# %% [markdown]
# When processes die, nobody blocks any more. But the model takes a silent process for a stopped one, and that
# is wrong when the network is cut.

# %% [markdown] lang="zh"
# 进程宕机时，再也没有哪一方会阻塞。但这个模型把没有回音的进程当作已经停止的进程，网络一旦断开，这就错了。

# %% jupyter={"source_hidden": true}
parted = scenario("""
# The network is cut: coordinator and orders here, stock there
system three_phase participants=orders,stock claims=survives_a_partition
hold tm→stock PreCommit
run app: commit T1
break stock orders
break stock tm
break tm stock
""")
Predict(
    "02-partition",
    trace=parted,
    step=first(parted, "stock ✗ tm"),
    panels=["space-time", "logs", "lights", "tables"],
)

# %% [markdown] tags=["deeper"]
# ## Deeper: what does a partition make you choose?

# %% [markdown] lang="zh"
# ## 深入：网络分区逼你选什么？

# %% [markdown]
# While the network is cut, a system can keep *consistency* (all places agree) or *availability* (everybody is
# answered), but not both. This is the **CAP** theorem, and it speaks of partitions only. The next cell cuts
# the network in the middle of a two-phase commit, and of a message transaction, which you will meet below.

# %% [markdown] lang="zh"
# 网络断开期间，系统可以保住*一致性*（各处一致），或者*可用性*（availability，人人都能得到应答），但不能两者兼得。这就是 **CAP** 定理，它说的只是网络分区期间的事。下一个单元把网络切断两次：一次在两阶段提交的中途，一次在消息事务的中途；消息事务下面还会讲到。

# %% tags=["nbval-check-output"]
for name, text in {
    say("two-phase commit"): "system two_phase\npartition app,tm,orders | stock\nrun app: commit T1",
    say("message transaction"): (
        "system message_transaction\npartition app,shop | queue,warehouse\nrun app: order T1"
    ),
}.items():
    cut, healed = scenario(f"# A cut\n{text}"), scenario(f"# A cut, healed\n{text}\nheal")
    then, later = list_told(cut) or say("no answer"), list_told(healed)
    print(say("{name}: during the cut {then}, after it {later}", name=name, then=then, later=later))
    print(say("  on disk during the cut:"), [len(log.cells) for log in cut.snapshot(-1).logs])

# %% [markdown]
# Two-phase commit is *CP*: it gives no answer, and nothing disagrees. The message transaction is *AP*: the app
# has its answer and the shop its order, but the warehouse has not heard of it. The message transaction promises
# **BASE** instead. It is *basically available*: the app was answered. It has *soft state*, which changes when
# messages arrive, although no user writes. It is *eventually consistent*: in the end the two agree. So BASE is
# the consistency that remains for those who choose A and P.

# %% [markdown] lang="zh"
# 两阶段提交是 *CP*：它不给应答，也没有哪里不一致。消息事务是 *AP*：应用得到了应答，商店有了订单，仓库却还不知道。消息事务承诺的是另一样东西：**BASE**。*基本可用*（basically available）：应用得到了应答。*软状态*（soft state）：没有用户在写，消息一到，状态就会变。*最终一致*：两边最后会一致。所以，选了 A 和 P 的人还能得到的一致性，就是 BASE。

# %% [markdown] tags=["deeper"]
# ## Deeper: can the application write both phases itself?

# %% [markdown] lang="zh"
# ## 深入：两个阶段能由应用自己来写吗？

# %% [markdown]
# In *TCC* no database waits for a coordinator, because the *application* writes both phases. **Try**
# reserves: one piece is set aside. **Confirm** uses the reserved piece. **Cancel** gives it back; it is the
# *compensation*. Each of them is a local transaction that commits at once, and no lock stays.
#
# One article calls the pattern "Try, Commit, Cancel", and says that each step registers "a confirm (Try) and
# a cancel". Both are slips. In the run below, count the calls that each service gets. The Try comes first and
# reserves. The Confirm is a second call with work of its own, and nothing is held open that could be
# committed. Watch the balances and the reader while two confirmations arrive one after the other.

# %% [markdown] lang="zh"
# 在 *TCC* 里，没有数据库要等协调者，因为两个阶段都由*应用*自己来写。**Try** 预留：把一份资源留出来。**Confirm** 用掉预留的那一份。**Cancel** 把它退回去，也就是*补偿*。三者各是一个本地事务，立刻提交，不留下任何锁。
#
# 有一篇文章把这个模式叫作“Try、Commit、Cancel”，还说每一步都要注册一个确认（Try）和一个取消。这两处都是笔误。在下面的执行里，数一数每个服务收到几次调用：先来的是 Try，它负责预留；Confirm 是第二次调用，有自己的工作要做，并没有什么一直开着、等着提交的东西。两个 Confirm 一先一后到达，注意看这期间的余量和读者。

# %%
order = scenario("""
# An order by TCC
system tcc services=stock,money claims=whole_order
run app: order T1
""")
Player(order, step=find_red_step(order, "whole order"))

# %% [markdown]
# The red light shows the price of TCC: for a while a reader sees half an order. Nothing is locked, so nobody
# waits.
#
# Confirm and Cancel are repeated until they are acknowledged, so they may come twice. On a new connection a
# Cancel may even overtake its Try. Four lines of a service take care of this. The next cell leaves out one of
# them at a time.

# %% [markdown] lang="zh"
# 红色的指示灯就是 TCC 的代价：有一段时间，读者看到的是半个订单。什么也没有上锁，所以谁也不用等。
#
# Confirm 和 Cancel 会一直重复，直到得到确认，所以可能来两次。换上新的连接之后，Cancel 甚至可能赶在它的 Try 之前到达。这些都由服务里的四行代码来应付。下一个单元每次去掉其中一行。

# %% tags=["nbval-check-output"]
print(tabulate_traps())

# %% [markdown] tags=["deeper"]
# ## Deeper: what must a service remember of an order?

# %% [markdown] lang="zh"
# ## 深入：关于一个订单，服务要记住什么？

# %% [markdown]
# Write the rule of a service. It is given the `call` (`"try"`, `"confirm"` or `"cancel"`) and the `last` entry
# of its ledger for this order, which is `""` if there is none. Return the entry that is written now:
#
# - `"tried"` (one piece from free to reserved), `"confirmed"` (from reserved to used), `"cancelled"` (from
#   reserved back to free), `"empty"` (nothing moves; it is only a mark);
# - `""`: nothing is written, and the call is acknowledged;
# - `"refuse"`: nothing is written, and the call fails. (A Confirm or Cancel that fails is repeated.)
#
# Every schedule of four systems is tried, with a broken connection at any moment. Two hints are there:
# `print(FENCE.hint(1))`, then `print(FENCE.hint(2))`.


# %% [markdown] lang="zh"
# 请写出服务的规则。它的参数是 `call`（`"try"`、`"confirm"` 或 `"cancel"`）和 `last`，也就是这个订单在账本里的最后一条记录；没有记录时 `last` 是 `""`。返回现在要写下的记录：
#
# - `"tried"`（一份从空闲变为预留）、`"confirmed"`（从预留变为已用）、`"cancelled"`（从预留退回空闲）、`"empty"`（什么也不移动，只留一个记号）；
# - `""`：什么也不写，调用得到确认；
# - `"refuse"`：什么也不写，调用失败。（失败的 Confirm 或 Cancel 会重复发送。）
#
# 四个系统的每一种可能的执行都会试到，连接可能在任何时刻断开。有两条提示可看：`print(FENCE.hint(1))`，然后 `print(FENCE.hint(2))`。

# %% nbgrader={"solution": true, "grade_id": "fence"}
def fence(call: str, last: str) -> str:
    """Which entry a service writes for a call."""
    ### BEGIN SOLUTION
    if call == "try":
        # An entry means that the order has been tried before, or is over.
        return "refuse" if last else "tried"
    if last == "tried":
        return "confirmed" if call == "confirm" else "cancelled"
    # Nothing was reserved. A Cancel leaves a mark, so that its Try finds one when it comes.
    return "empty" if call == "cancel" and last == "" else ""
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "fence-test", "points": 6}
### BEGIN HIDDEN TESTS
import sys

sys.modules.pop("mqlab.lessons.course.points", None)
from mqlab.lessons.course.points import grade

grade("fence", fence)
### END HIDDEN TESTS
check(FENCE, fence)

# %% [markdown] tags=["deeper"]
# ## Deeper: what if nobody coordinates?

# %% [markdown] lang="zh"
# ## 深入：没有人协调会怎样？

# %% [markdown]
# The last model has no coordinator. The shop writes its order *and a message about it* in one local transaction
# (local operation + message, 本地操作 + 消息), and a queue passes the message on to the warehouse. Each side repeats
# its message until it is acknowledged. Find the step at which the shop is done and the warehouse does not know
# it yet. Then kill the shop before the message leaves, and see who sends it.

# %% [markdown] lang="zh"
# 最后一种模型没有协调者。商店在一个本地事务里写下订单*和关于它的消息*（本地操作 + 消息），由队列把消息传给仓库。每一方都重复发送自己的消息，直到得到确认。找出商店已经做完而仓库还不知道的那一步。然后在消息发出之前杀掉商店，看看消息由谁来发。

# %%
late = "message_transaction claims=consistent_at_once 'app=order T1'"
Playground(continue_scenario(f"# A message transaction\nsystem {late}"), goal="consistent at once")

# %% [markdown]
# The two are consistent *eventually*, not at once. And nobody asks the warehouse beforehand. If it can never
# do its part, the shop's order stands all the same, and a person or a *saga* must take it back. (A **saga** is
# a chain of local transactions. Each of them has a compensation, another local transaction that undoes it.)

# %% [markdown] lang="zh"
# 两边是*最终*一致，不是立刻一致。而且没有人事先问过仓库。如果仓库永远做不了它那一份，商店的订单照样有效，只能由人或者 *Saga* 来撤销。（**Saga**，即长事务，是一串本地事务，每个都有自己的补偿，也就是另一个把它抵消掉的本地事务。）

# %% [markdown] tags=["deeper"]
# ## Deeper: what does each model give up?

# %% [markdown] lang="zh"
# ## 深入：每种模型放弃了什么？

# %% [markdown]
# Each model breaks something that one might expect of it. The search that fills this table runs now. Guess
# first: which of the five break without any fault?

# %% [markdown] lang="zh"
# 有些事你会觉得理所当然，可是每种模型都有做不到的。下面的表由搜索当场填出。先猜：五种模型里，哪几种不出任何故障也会做不到？

# %% tags=["nbval-check-output"]
print(compare_models())

# %% [markdown]
# The last three lines need no fault, so they are not accidents: they are the price. The next cell is a saga
# whose last service always refuses. Press *Search*: it kills one process at any moment. Is the saga ever left
# half done?

# %% [markdown] lang="zh"
# 最后三行不需要任何故障，所以那不是意外，而是代价。下一个单元是一个 Saga，它的最后一个服务总是拒绝。按*开始搜索*：搜索会在任意时刻杀掉一个进程。这个 Saga 有没有可能永远停在一半？

# %%
refused = system("saga refuses=stock 'app=start T1'")
Explorer(refused, Budget(kills=1, killable=("saga", "orders", "money", "stock"), retries=1))

# %% [markdown] tags=["deeper"]
# ## Deeper: which beliefs did these runs refute?

# %% [markdown] lang="zh"
# ## 深入：这些执行推翻了哪些想法？

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | atomic means undisturbed | two atomic transfers lose an update | two transfers |
# | two writes, one soon after the other, are nearly a transaction | a kill between them leaves half an order for ever | Hook |
# | the last participant's commit decides | one write of the coordinator decides; the rest follows | Put it into order |
# | a participant in doubt may time out | then one may commit while another rolls back | in doubt |
# | three phases make it safe | against stops; a partition still splits | third phase |
# | CAP: choose any two, always | the choice comes only while the network is cut | CAP |
# | the phases are Try, Commit, Cancel | Try, Confirm, Cancel: nothing is held open | TCC |
# | a Cancel follows its Try | it may overtake it: empty cancel, suspended try | what a service must remember |

# %% [markdown] lang="zh"
# | 想法 | 事实 | 见于 |
# |---|---|---|
# | 原子就是不受干扰 | 两笔原子的转账丢掉一次更新 | 两笔转账 |
# | 两次写入挨得够近，就差不多是一个事务 | 在两次写入之间被杀，会永远留下半个订单 | 引子 |
# | 最后一个参与者的提交就是决定 | 决定是协调者的一次写入，其余都照它执行 | 排出顺序 |
# | 存疑的参与者等到超时就可以自己决定 | 那样一方可能提交，另一方回滚 | 存疑 |
# | 三个阶段就安全了 | 防得住停机；网络分区照样让结局分裂 | 第三阶段 |
# | CAP：任何时候都是三选二 | 只有网络断开期间才需要选择 | CAP |
# | 各阶段是 Try、Commit、Cancel | 是 Try、Confirm、Cancel：没有什么一直开着 | TCC |
# | Cancel 总在它的 Try 之后 | 它可能先到：空回滚、悬挂的 Try | 服务要记住什么 |

# %% [markdown] tags=["deeper"]
# ## Deeper: who decides in the three brokers?

# %% [markdown] lang="zh"
# ## 深入：在三种 broker 里，谁来决定？

# %% [markdown]
# | | who decides | in which one write | those in doubt wait for |
# |---|---|---|---|
# | Kafka | transaction coordinator | `PrepareCommit` in `__transaction_state` | nobody votes; readers wait for markers |
# | RocketMQ | the producer's local transaction | a row in the producer's own database | the broker, which asks (*check-back*) |
# | Pulsar | transaction coordinator | `COMMITTING` in its log | readers behind `maxReadPosition` |
#
# RocketMQ's *transactional message* is a message transaction whose outbox lies in the broker. Kafka and Pulsar
# decide in one place about many messages and read positions, as 2PC does, but their partitions never vote.

# %% [markdown] lang="zh"
# | | 谁来决定 | 决定是哪一次写入 | 存疑的一方在等什么 |
# |---|---|---|---|
# | Kafka | 事务协调者 | `__transaction_state` 里的 `PrepareCommit` | 没有人投票；读者等控制消息（marker） |
# | RocketMQ | 生产者的本地事务 | 生产者自己数据库里的一行 | 等 broker 来问（*回查*，check-back） |
# | Pulsar | 事务协调者 | 它的日志里的 `COMMITTING` | 读者等在 `maxReadPosition` 处 |
#
# RocketMQ 的*事务消息*是一种消息事务，只是发件箱（outbox）放在 broker 里。Kafka 和 Pulsar 像 2PC 一样，在一个地方为许多消息和读取位置作决定，但它们的分区从不投票。

# %% [markdown] tags=["deeper"]
# ## Deeper: exit ticket

# %% [markdown] lang="zh"
# ## 深入：离场小测

# %% [markdown]
# A travel agency books a flight and a hotel. The airline holds a seat, and the hotel holds a room. When both
# are held, both are confirmed; otherwise both are cancelled. Each of these calls is repeated until it is done.

# %% [markdown] lang="zh"
# 一家旅行社要订一张机票和一间酒店房间。航空公司先留座，酒店先留房。两边都留住了，就都确认；否则都取消。每个调用都重复到成功为止。

# %% jupyter={"source_hidden": true}
Predict("02-exit-ticket")
