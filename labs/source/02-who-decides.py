# %% [markdown]
# # Lab 02 · Who decides?
#
# *75 minutes, or a quick route of 15* · no broker in particular
#
# **In one paragraph.** An order must be in the shop's database and in the warehouse's, or in neither.
# Each database keeps its own promises, but no database keeps a promise about both. In this lab you kill a
# coordinator of two databases after each of its effects with `kill -9`. Then you compare five classical
# models, and what each of them costs.
#
# **The quick route** ends with *What you know now*. The parts below it are folded: click *cells hidden*
# under a heading to open one. Each can be done on its own day. If a part needs what is above it, first
# choose *Run All Above Selected Cell* in the menu *Run*.

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
# ## The customer has paid. Is the night light reserved?
#
# An order adds a row to `orders.db` and takes one night light out of `stock.db`. A program writes to one
# file, then to the other. The next cell kills it with `kill -9` after each effect.

# %% tags=["nbval-check-output"]
print(kill_everywhere(ONE_PHASE))

# %% [markdown]
# One line of the table is half an order. No restart repairs it, because the restarted program has no
# record of it. This is a *distributed transaction* (分布式事务) in which no process decides.
#
# So one more process is needed, the *transaction manager* or *coordinator* (`tm` in the pictures). The
# databases become *resource managers*, or *participants*. A participant can now **prepare**: it promises
# to commit on request, and it keeps this promise through any crash. XA, the interface of 1991, calls this
# `xa_prepare`. Here each file keeps its promise in a row, and that row is also the lock.
#
# The coordinator keeps its decision in its own file, which it reads when it restarts. If it finds a
# decision, it sends it to every participant that has promised. If it finds none, all roll back (*presumed
# abort*).

# %% [markdown]
# ## Arrange the coordinator's steps
#
# The coordinator has five effects, here listed alphabetically: `"commit:orders"`, `"commit:stock"`,
# `"decide"`, `"prepare:orders"`, `"prepare:stock"`. Arrange them so that the two files agree in the end,
# wherever the coordinator is killed. Your list is carried out on two real files, stopped after each
# effect, and recovered. *Several sequences are right.* Two hints are available: `print(EFFECTS.hint(1))`,
# then `print(EFFECTS.hint(2))`.

# %% nbgrader={"solution": true, "grade_id": "effects"}
effects = [
    ### BEGIN SOLUTION
    # All promise, then it is decided, then all commit. Either file may come first.
    "prepare:orders", "prepare:stock", "decide", "commit:orders", "commit:stock",
    ### END SOLUTION
]  # fmt: skip

# %% nbgrader={"grade": true, "grade_id": "effects-test", "points": 3}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("effects", effects)
### END HIDDEN TESTS
check(EFFECTS, effects)

# %% [markdown]
# ## Predict
#
# Such a protocol is *two-phase commit*, *2PC* (两阶段提交). One article says that it has flaws, but does not
# name them. Here the coordinator is killed after both participants have voted yes.

# %% jupyter={"source_hidden": true}
blocked = scenario("""
# The coordinator is killed after both have voted
system two_phase participants=orders,stock
kill tm when=commit after=0
run app: commit T1
fire orders ask T1
""")
Predict("02-blocked", trace=blocked, step=first(blocked, "killed"), level="story")

# %% [markdown]
# ## How long must a participant wait?
#
# Step through the picture above once more, and watch the tables. What would have to happen before
# `orders` can continue?
#
# This is the **blocking window**: from the yes until the decision arrives, a participant can neither
# commit nor roll back, and every transaction that needs its rows waits too. The next cell does the same
# with `kill -9` to a process that writes the two files. In which line of the table did the order become
# certain?

# %% tags=["nbval-check-output"]
print(kill_everywhere(TWO_PHASES))

# %% [markdown]
# It is the line `decide`. If the coordinator dies before it, every promise is withdrawn. If it dies after
# it, every promise is carried out, although the decision has not reached either file yet. Deciding is
# *one* write in *one* place.

# %% [markdown]
# ## What you know now
#
# A decision is one write in one place. The promises come before it, and the commits after it. Models
# differ in who waits, who sees half an order, and who gets it late.
#
# The quick route ends here. The parts below go deeper, in any order; 6 of the 9 points are there. The
# next lab asks: [how do a message and a row become one?](03-half-message.ipynb)

# %% [markdown] tags=["deeper"]
# ## What does one database promise?

# %% [markdown]
# An SQLite file contains two accounts, A with £100 and B with £0, and one rule: no account may fall
# below 0. The next cell checks ACID letter by letter. *Atomicity* means that an interrupted transaction
# leaves no trace. *Consistency* means that every declared rule holds when a transaction ends.
# *Isolation* means that other connections do not see uncommitted changes. *Durability* means that
# committed changes are there when the file is opened again.

# %% tags=["nbval-check-output"]
folder = tempfile.mkdtemp()
bank, other = open_bank(folder), open_bank(folder)


def balances(connection):
    return dict(connection.execute("SELECT name, pounds FROM account").fetchall())


bank.execute("BEGIN")
bank.execute("UPDATE account SET pounds = pounds - 30 WHERE name = 'A'")
print(say("isolation:   the other connection sees"), balances(other))
bank.close()  # before B is credited
bank = open_bank(folder)
print(say("atomicity:   broken off in the middle "), balances(bank))
try:
    bank.execute("UPDATE account SET pounds = pounds - 130 WHERE name = 'A'")
except Exception as error:
    print(say("consistency:"), error)
bank.execute("UPDATE account SET pounds = pounds - 30 WHERE name = 'A'")
bank.close()
print(say("durability:  opened again             "), balances(open_bank(folder)))

# %% [markdown]
# The word *consistency* has three meanings. Here it concerns rules inside one database. In CAP, below, it
# means that all copies give the same answer. *Eventually consistent* means that two places agree in the
# end.

# %% [markdown] tags=["deeper"]
# ## Are two atomic transfers safe?

# %% [markdown]
# Many people think that atomic transactions do not disturb each other. Here two clerks each transfer £10
# to B. Each of them reads the balance, adds 10, and writes the sum in a separate transaction.

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
                print(say("  the second clerk gets:"), error)
        for clerk, pounds in read.items():
            clerk.execute("UPDATE account SET pounds = ? WHERE name = 'B'", (pounds + 10,))
            if careful:
                clerk.execute("COMMIT")
        waiting = [clerk for clerk in waiting if clerk not in read]
        rounds += 1
    total = balances(open_bank(folder))["B"]
    how = say("locked before reading") if careful else say("not locked")
    print(say("{how}: rounds: {n}, B has £{total}", how=how, n=rounds, total=total))

# %% [markdown]
# This is a **lost update**: both transfers were atomic, and one of them is gone. Atomicity protects
# against crashes; isolation protects against other transactions. If a clerk takes a lock before reading,
# the second one is refused and must try again. That costs time, but nothing is lost.

# %% [markdown] tags=["deeper"]
# ## May a participant in doubt decide alone?

# %% [markdown]
# How few choices lead into the blocking window? And what happens if a participant decides by itself after
# a while, which XA calls a *heuristic decision*? Guess first.

# %%
ONE_STOP = Budget(kills=1, killable=("tm",), retries=1)
for name, line in {
    say("a participant waits for a coordinator that is down"): "two_phase claims=never_blocked",
    say("a participant in doubt decides alone"): "two_phase off=waits_in_doubt",
}.items():
    verdict = explore(system(f"{line} 'app=commit T1'"), ONE_STOP)
    print(f"{name}: {describe_red(verdict)}")
helped = verdict.counterexamples["same outcome"].trace()
Player(helped, step=find_red_step(helped, "same outcome"))

# %% [markdown]
# A participant that waits keeps atomicity and loses time. A participant that decides alone may split the
# order. No timeout is safe, because a participant cannot tell a dead coordinator from a slow one.

# %% [markdown] tags=["deeper"]
# ## Does a third phase solve this?

# %% [markdown]
# *Three-phase commit*, *3PC* (三阶段提交), puts a phase between vote and commit: **PreCommit**, "all have
# voted yes". No participant commits while another one is still uncertain, so the processes that survive
# can end the transaction without those that died. The next cell searches every schedule in two settings.
# First two of three processes are killed and never come back; then connections break while every process
# lives.

# %% tags=["nbval-check-output"]
PARTIES = ("tm", "orders", "stock")
for name, line, budget in [
    (say("two stop for good"), "three_phase", Budget(kills=2, killable=PARTIES, restartable=())),
    (
        say("two connections break, no process stops"),
        "three_phase participants=orders claims=survives_a_partition",
        Budget(breaks=2),
    ),
]:
    verdict = explore(system(f"{line} 'app=commit T1'"), budget)
    print(f"{name}: {describe_red(verdict)}")

# %% [markdown]
# When processes die, no survivor blocks any more. But the model takes a silent process for a stopped one,
# and that is wrong when the network is cut.

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
# ## What does a partition make you choose?

# %% [markdown]
# While the network is cut, a system can keep *consistency* (all places agree) or *availability* (every
# request is answered), but not both. This is the **CAP** theorem, which applies only while the network is
# cut. The next cell cuts the network during a two-phase commit, and during a message transaction, which
# is explained below.

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
# Two-phase commit is *CP*: it gives no answer, and nothing disagrees. The message transaction is *AP*:
# the app has its answer and the shop its order, but the order has not reached the warehouse.
#
# The message transaction promises **BASE** instead. It is *basically available*: the app got an answer.
# It has *soft state*, which changes when messages arrive, although no user writes. It is *eventually
# consistent*: in the end the two agree. So BASE is the consistency that remains if you choose A and P.

# %% [markdown] tags=["deeper"]
# ## Can the application write both phases itself?

# %% [markdown]
# In *TCC* no database waits for a coordinator, because the *application* writes both phases. **Try**
# reserves one piece. **Confirm** uses the reserved piece. **Cancel** gives it back; it is the
# *compensation*. Each of them is a local transaction that commits at once, and no lock remains.
#
# One article calls the pattern "Try, Commit, Cancel", and says that each step registers "a confirm (Try)
# and a cancel". Both are mistakes. In the picture below, count the calls that each service gets. The Try
# comes first and reserves. The Confirm is a second call that does its own work; no open transaction is
# left to commit. Watch the balances and the reader while two confirmations arrive one after the other.

# %%
order = scenario("""
# An order by TCC
system tcc services=stock,money claims=whole_order
run app: order T1
""")
Player(order, step=find_red_step(order, "whole order"))

# %% [markdown]
# The red invariant shows the cost of TCC: for a while a reader sees half an order. In return nothing is
# locked, and no process waits.
#
# Confirm and Cancel are retried until they are acknowledged, so they may arrive twice. On a new
# connection a Cancel may even overtake its Try. Four rules of a service handle this. The next cell
# switches off one of them at a time.

# %% tags=["nbval-check-output"]
print(tabulate_traps())

# %% [markdown] tags=["deeper"]
# ## What must a service remember about an order?

# %% [markdown]
# Write the rule of a service. Its arguments are the `call` (`"try"`, `"confirm"` or `"cancel"`) and the
# `last` entry in its ledger for this order, which is `""` if there is none. Return the entry that is
# written now:
#
# - `"tried"` (one piece from free to reserved), `"confirmed"` (from reserved to used), `"cancelled"` (from
#   reserved back to free), `"empty"` (nothing moves; it is only a mark);
# - `""`: nothing is written, and the call is acknowledged;
# - `"refuse"`: nothing is written, and the call fails. (A Confirm or Cancel that fails is retried.)
#
# Every schedule of four systems is tried, with a broken connection at any moment. Two hints are
# available: `print(FENCE.hint(1))`, then `print(FENCE.hint(2))`.


# %% nbgrader={"solution": true, "grade_id": "fence"}
def fence(call: str, last: str) -> str:
    """Which entry a service writes for a call."""
    ### BEGIN SOLUTION
    if call == "try":
        # An entry means that the order has been tried before, or is over.
        return "refuse" if last else "tried"
    if last == "tried":
        return "confirmed" if call == "confirm" else "cancelled"
    # Nothing was reserved. A Cancel leaves a mark, which a late Try will find.
    return "empty" if call == "cancel" and last == "" else ""
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "fence-test", "points": 6}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade

grade("fence", fence)
### END HIDDEN TESTS
check(FENCE, fence)

# %% [markdown] tags=["deeper"]
# ## What if there is no coordinator?

# %% [markdown]
# The last model has no coordinator. The shop writes its order *and a message about it* in one local
# transaction (local operation + message, 本地操作 + 消息), and a queue passes the message on to the warehouse.
# Each side retries its message until it is acknowledged. Find the step at which the shop is done and the
# order has not reached the warehouse yet. Then kill the shop before the message is sent, and see which
# process sends it.

# %%
late = "message_transaction claims=consistent_at_once 'app=order T1'"
Playground(continue_scenario(f"# A message transaction\nsystem {late}"), goal="consistent at once")

# %% [markdown]
# The two are consistent *eventually*, not at once. And the warehouse has no vote. If it can never do its
# part, the shop's order remains all the same, and a person or a *saga* must cancel it. (A **saga** is a
# chain of local transactions. Each of them has a compensation, another local transaction that undoes it.)

# %% [markdown] tags=["deeper"]
# ## What does each model give up?

# %% [markdown]
# Each model breaks a claim that one might expect it to keep. A search fills this table. Guess first:
# which of the five break without any fault?

# %% tags=["nbval-check-output"]
print(compare_models())

# %% [markdown]
# The last three lines need no fault, so they are not accidents: they are the cost. The next cell has a
# saga whose last service always refuses. Press *Search*: it kills one process at any moment. Is the saga
# ever left half done?

# %%
refused = system("saga refuses=stock 'app=start T1'")
Explorer(refused, Budget(kills=1, killable=("saga", "orders", "money", "stock"), retries=1))

# %% [markdown] tags=["deeper"]
# ## Which beliefs are refuted?

# %% [markdown]
# | belief | what is true | seen in |
# |---|---|---|
# | atomic means undisturbed | two atomic transfers lose an update | two transfers |
# | two writes, one soon after the other, are nearly a transaction | a crash between them leaves half an order for ever | night light |
# | the last participant's commit decides | one write of the coordinator decides; the rest follows | coordinator's steps |
# | a participant in doubt may time out | then one may commit while another rolls back | in doubt |
# | three phases make it safe | only against crashes; a partition still splits it | third phase |
# | CAP: choose any two, always | you must choose only while the network is cut | CAP |
# | the phases are Try, Commit, Cancel | Try, Confirm, Cancel: nothing is held open | TCC |
# | a Cancel follows its Try | it may overtake it: empty cancel, suspended try | what a service must remember |

# %% [markdown] tags=["deeper"]
# ## Who decides in the three brokers?

# %% [markdown]
# | | who decides | in which one write | what waits for the decision |
# |---|---|---|---|
# | Kafka | transaction coordinator | `PrepareCommit` in `__transaction_state` | read_committed consumers, for markers |
# | RocketMQ | the producer's local transaction | a row in the producer's own database | the broker, which asks (*check-back*) |
# | Pulsar | transaction coordinator | `COMMITTING` in its log | consumers, at `maxReadPosition` |
#
# RocketMQ's *transactional message* is a message transaction whose outbox is in the broker. Kafka and
# Pulsar decide in one place about many messages and read positions, as 2PC does, but their partitions
# never vote.

# %% [markdown] tags=["deeper"]
# ## One last question

# %% [markdown]
# A travel agency books a flight and a hotel. The airline holds a seat, and the hotel holds a room. When
# both are held, both are confirmed; otherwise both are cancelled. Each of these calls is retried until it
# succeeds.

# %% jupyter={"source_hidden": true}
Predict("02-exit-ticket")
