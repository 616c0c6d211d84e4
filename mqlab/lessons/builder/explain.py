"""What a run shows of a coordinator, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from dataclasses import dataclass

from ...kafka.clients.calls import Abort
from ...kafka.coordinator.entry import Entry
from ...kafka.errors import Error
from ...kafka.messages import WriteTxnMarkers, WriteTxnMarkersResponse
from ...kafka.picture.view import View, read_world
from ...kafka.states import COMPLETED, PREPARED, TxnState
from ...kernel import Run, Text, Words, parse
from .sittings import TC, BuildSystem


@dataclass(frozen=True)
class Evidence:
    """A run that was played to its end: its choices, its last world, and what the log holds."""

    run: Run
    seen: View
    entries: tuple[Entry, ...]

    @property
    def killed(self) -> bool:
        return any("kill" in str(one) for one in self.run.choices)

    @property
    def answered_first(self) -> bool:
        """Whether an answer has arrived whose step was not done to its end."""
        return any(parse(one).answers for one in self.run.choices)

    @property
    def timed(self) -> bool:
        """Whether a timer of the coordinator has run out."""
        return any(str(one).startswith(f"fire {TC}") for one in self.run.choices)

    @property
    def moved(self) -> bool:
        """Whether another coordinator was elected."""
        return "call controller" in map(str, self.run.choices)

    @property
    def broke(self) -> bool:
        return any(str(one).startswith("break") for one in self.run.choices)

    @property
    def refusals(self) -> list[str]:
        """The errors with which leaders have answered markers."""
        bodies = [fact.body for fact in self.run.trace]
        answers = [one for one in bodies if isinstance(one, WriteTxnMarkersResponse)]
        return [one.error.name for one in answers if one.error]

    @property
    def last(self) -> Entry | None:
        return self.entries[-1] if self.entries else None

    @property
    def unmarked(self) -> list[str]:
        """The partitions with a record of a decided transaction, and no marker for it."""
        return [
            partition
            for partition, rows in self.seen.rows.items()
            if any(txn is not None and not outcome for _, txn, outcome in rows)
        ]


def play(system: BuildSystem, schedule: tuple[str, ...]) -> Evidence:
    run = Run(system)
    for choice in schedule:
        run.do(choice)
    disk = run.world.disk(system.cluster.leader(run.world, TC))
    logs = disk.logs("__transaction_state")
    entries = tuple(record.entry for log in logs for record in disk.log(log).read(0))
    return Evidence(run, read_world(system.cluster, run.world), entries)


BREAKS = Words("the coordinator's code breaks: {broken}", "协调者的代码出错：{broken}")
BROKEN = Words("“{sentence}” is broken: {why}", "“{sentence}”不成立：{why}")
NOTHING_GOOD = Words(
    "no run lets each commit come through: {why}", "没有一次执行让每次提交都完成：{why}"
)


def explain(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this run."""
    evidence = play(system, schedule)
    broken = system.find_broken(evidence.run.world)
    if claim == "runs":
        return BREAKS(broken=broken)
    sentence = next(one.sentence for one in system.properties() if one.name == claim)
    return BROKEN(sentence=sentence, why=REASONS.get(claim, _explain_outcome)(evidence))


def explain_missing(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why nothing good ever happens, by a run after which nothing more can happen."""
    evidence = play(system, schedule)
    if broken := system.find_broken(evidence.run.world):
        return BREAKS(broken=broken)
    return NOTHING_GOOD(why=_explain_missing(evidence, claim))


def _explain_missing(evidence: Evidence, claim: str) -> Text:
    last = evidence.last
    if last is None:
        return Text(
            "InitProducerId has no answer that the producer can go on with",
            "InitProducerId 没有得到能让生产者继续的应答",
        )
    if last.state is TxnState.EMPTY:
        if len({entry.state for entry in evidence.entries}) == 1 and any(
            evidence.seen.rows.values()
        ):
            return UNWRITTEN
        return Text(
            "a leader asks with AddPartitionsToTxn and is not told that it may go on",
            "首领副本发来 AddPartitionsToTxn 询问，却没有得到可以继续的应答",
        )
    if last.state is TxnState.ONGOING and claim == "told":
        return Text(
            "the log stays Ongoing: is each AddPartitionsToTxn answered, and EndTxn decided?",
            "日志一直是 Ongoing：每个 AddPartitionsToTxn 都应答了吗，EndTxn 做出决定了吗？",
        )
    if last.state in PREPARED and claim == "told":
        return UNTOLD(state=last.state)
    if claim == "told" and last.state in COMPLETED:
        return Text(
            "the client is refused after its first end; an older client (`EndTxn.v2` is False) "
            "goes on with the epoch that it has, so its end keeps it, and so does the marker",
            "客户端第一次结束之后就遭到拒绝；旧客户端（`EndTxn.v2` 为 False）继续用原来的 epoch，"
            "所以它的结束保持这个 epoch，控制消息也一样",
        )
    return _explain_stuck(evidence)


UNWRITTEN = Text(
    "AddPartitionsToTxn is answered and the log still says Empty: its record says Ongoing, with "
    "all partitions so far, and EndTxn then ends that",
    "AddPartitionsToTxn 有了应答，日志里却还是 Empty：它的记录应当是 Ongoing，带上到此为止的所有分区，"
    "EndTxn 结束的就是它",
)
UNTOLD = Words(
    "the decision {state} is safe, and the client is not told",
    "决定 {state} 已经写妥，却没有告诉客户端",
)
FENCED = Error.TRANSACTION_COORDINATOR_FENCED.name
REFUSES = Words("the leader refuses the marker with {error}", "首领副本拒绝了控制消息：{error}")
NEXT_EPOCH = Words(
    "{refuses}: the marker of an end carries the next epoch, one above that of the records",
    "{refuses}。结束的控制消息带下一个 epoch，比记录的大 1",
)
ITS_EPOCH = Words(
    "{refuses}: it has a marker with a higher `coordinator_epoch`. Each marker carries the `epoch` "
    "that `recover` was given, and no other",
    "{refuses}。它那里已有 `coordinator_epoch` 更大的控制消息。每条控制消息都要带 `recover` 得到的 `epoch`，不能带别的",
)
LOST_AGAIN = Words(
    "after the restart {missing} never gets its marker: `recover` finds the decision in the log "
    "and owes every marker again",
    "重启之后 {missing} 一直没有得到控制消息：`recover` 要从日志里找到决定，并重新补发所有控制消息",
)
UNSENT = Words(
    "no marker goes to {missing}: one is owed to each partition of the transaction",
    "{missing} 没有得到控制消息：事务里的每个分区都该有一个",
)


def _explain_stuck(evidence: Evidence) -> Text:
    """A decision that does not reach its end."""
    missing = ", ".join(evidence.unmarked)
    if evidence.refusals:
        why = ITS_EPOCH if evidence.refusals[-1] == FENCED else NEXT_EPOCH
        return why(refuses=REFUSES(error=evidence.refusals[-1]))
    if evidence.broke:
        return Text(
            "a connection broke with a marker or its answer on it: after ConnectionLost each "
            "marker that is still owed to that partition is sent again",
            "连接断开时，路上有控制消息或它的应答：ConnectionLost 之后，要把还欠那个分区的控制消息再发一次",
        )
    if not missing:
        return Text(
            "all partitions have their marker, and no Complete record is written",
            "所有分区都有了控制消息，却没有写 Complete 记录",
        )
    return (LOST_AGAIN if evidence.killed else UNSENT)(missing=missing)


NEVER_HELD = Words("no record of the log ever held {lost}", "日志的记录里从来没有过 {lost}")
FORGOTTEN = Words(
    "{missing} was in a record, and the next record has forgotten it: while one record is not "
    "safe, another request must wait (CONCURRENT_TRANSACTIONS), and a partition is added to those "
    "that are there",
    "{missing} 曾在一条记录里，下一条记录却忘了它：一条记录还没写妥时，其他请求必须等待"
    "（CONCURRENT_TRANSACTIONS）；新分区要加到已有的分区里",
)
TOO_EARLY = Words(
    "the log says {state}, and the answer of {missing} is missing: Complete is written when every "
    "partition has answered",
    "日志里是 {state}，而 {missing} 还没有应答：所有分区都应答之后才写 Complete",
)


def _explain_open(evidence: Evidence) -> Text:
    """A transaction that is complete for the coordinator, and open in a partition."""
    missing = evidence.unmarked
    known = [set(entry.partitions) for entry in evidence.entries]
    named = set().union(*known)
    if evidence.killed and not evidence.entries:
        return Text("the log is empty after a restart", "重启之后日志是空的")
    if not set(missing) <= named:
        return NEVER_HELD(lost=", ".join(sorted(set(missing) - named)))
    decided = [entry for entry in evidence.entries if entry.state in PREPARED]
    if decided and not set(missing) <= set(decided[-1].partitions):
        return FORGOTTEN(missing=", ".join(missing))
    if evidence.refusals:
        return REFUSES(error=evidence.refusals[-1])
    return TOO_EARLY(state=evidence.entries[-1].state, missing=", ".join(missing))


UNDECIDED = Words(
    "after the restart a marker {kind} leaves although the log is Ongoing: what is not decided "
    "stays open, for its producer may still commit",
    "重启之后发出了控制消息 {kind}，而日志还是 Ongoing：没有决定的事务要保持打开，它的生产者仍可能提交",
)


def _explain_early(evidence: Evidence) -> Text:
    """A marker without its decision."""
    if evidence.killed:
        kinds = [batch.control for rows in evidence.seen.rows.values() for batch, _, _ in rows]
        return UNDECIDED(kind=max(kinds))
    if evidence.moved:
        return _explain_late(evidence)
    return Text(
        "a marker is in a partition before the decision is safe: send it when `Appended` came",
        "决定还没写妥，分区里就有了控制消息：收到 `Appended` 之后再发",
    )


LATE = Words(
    "a marker of the older coordinator came late and ended the transaction that was open by then: "
    "it carried coordinator_epoch {old}, those of the newer one carry {new}, and a leader refuses "
    "only a lower one. Each marker carries the `epoch` that `recover` was given",
    "旧协调者的控制消息迟到了，结束了那时正打开的事务：它带的 coordinator_epoch 是 {old}，新协调者的是 {new}，"
    "而首领副本只拒绝更小的。每条控制消息都要带 `recover` 得到的 `epoch`",
)


def _explain_late(evidence: Evidence) -> Text:
    """A marker of a coordinator that leads no more."""
    epochs = {
        fact.node: fact.body.coordinator_epoch
        for fact in evidence.run.trace
        if isinstance(fact.body, WriteTxnMarkers)
    }
    if FENCED in evidence.refusals:
        return Text(
            "a leader has refused the older coordinator's marker, and the marker came again with a "
            "higher epoch: TRANSACTION_COORDINATOR_FENCED says that another one leads, so send "
            "nothing more",
            "首领副本拒绝了旧协调者的控制消息，它却换了更大的 epoch 再发一次："
            "TRANSACTION_COORDINATOR_FENCED 表示已有别的协调者接任，不要再发",
        )
    if len(epochs) == 1:
        return Text(
            "a marker is in a partition, and the coordinator that leads now does not have the "
            "decision: a record is safe when `Appended` came, and only then a marker leaves",
            "分区里有了控制消息，而现任协调者没有这个决定：收到 `Appended` 记录才算写妥，之后才能发控制消息",
        )
    old, new = epochs.values()
    return LATE(old=old, new=new)


def _explain_epoch(evidence: Evidence) -> Text:
    return Text(
        "an older epoch of the producer got through: AddPartitionsToTxn and EndTxn with another "
        "epoch than the log's are refused with PRODUCER_FENCED, and InitProducerId gives a new one",
        "生产者的旧 epoch 蒙混过关了：AddPartitionsToTxn 和 EndTxn 的 epoch 与日志里的不同，"
        "就要以 PRODUCER_FENCED 拒绝；InitProducerId 给出新的 epoch",
    )


def _explain_asked(evidence: Evidence) -> Text:
    """A commit that nobody has asked for."""
    decided = [entry for entry in evidence.entries if entry.state in PREPARED]
    epochs = [entry.epoch for entry in evidence.entries if entry.state is TxnState.EMPTY]
    if evidence.timed:
        return Text(
            "the timer has run out and the coordinator commits: nobody asked for that, so abort",
            "定时器到期，协调者却提交了：没有人请求提交，应当中止",
        )
    producers = evidence.seen.cluster.producers
    apps = [evidence.run.world.nodes[name].app for name, _ in producers]
    programs = [(one.program, len(one.results)) for one in apps if one is not None and one.waiting]
    if any(isinstance(calls, tuple) and calls[done] == Abort() for calls, done in programs):
        return Text(
            "the application has asked for an abort, and the log says PrepareCommit",
            "应用请求的是中止，日志里却是 PrepareCommit",
        )
    if len(decided) == 1 and evidence.run.choices and "InitProducerId" in _last_request(evidence):
        return Text(
            "a new producer came, and what its older self left open is committed: abort it",
            "新的生产者来了，旧实例留下的未结束事务却提交了：应当中止",
        )
    if len(set(epochs)) < len(epochs):
        return Text(
            "two producers have one epoch: InitProducerId gives the next one each time",
            "两个生产者用了同一个 epoch：InitProducerId 每次都要给出下一个",
        )
    if evidence.killed:
        return Text(
            "after the restart the coordinator commits what nobody has asked it to commit",
            "重启之后，协调者提交了没有人请求提交的事务",
        )
    return Text(
        "what was sent earlier ends a later transaction: each end gives the next epoch",
        "先前发出的请求结束了后来的事务：每次结束都要给出下一个 epoch",
    )


def _last_request(evidence: Evidence) -> str:
    requests = [str(fact.body) for fact in evidence.run.trace if type(fact.body).__name__ in ASKED]
    return requests[-1] if requests else ""


ASKED = ("InitProducerId", "EndTxn", "AddPartitionsToTxn")
KEPT = Words(
    "the client was told ok, and the log says {state}: an EndTxn that comes again gets ok only "
    "where the log has the end that it asks for",
    "客户端得到了 ok，日志里却是 {state}：重复的 EndTxn，只有日志里正是它要的结束时才答 ok",
)


HAD_ALONE = Words(
    "the client was told ok, and the last record of the coordinator that leads now is {state}: the "
    "older one alone had the decision. Answer when `Appended` came: only then each copy that may "
    "lead has the record",
    "客户端得到了 ok，而现任协调者的最后一条记录是 {state}：只有旧协调者有那个决定。"
    "收到 `Appended` 再应答：那时每个可能接任的副本才都有这条记录",
)


TOO_SOON = Words(
    "the answer had left when the coordinator was killed, and the log says {state}: the decision "
    "was still to be written. Answer when `Appended` came",
    "协调者被杀时应答已经发出，日志里却是 {state}：决定还没有写入。收到 `Appended` 再应答",
)


def _explain_promise(evidence: Evidence) -> Text:
    if evidence.moved:
        return HAD_ALONE(state=evidence.last.state if evidence.last else Text("none", "无"))
    if evidence.answered_first:
        return TOO_SOON(state=evidence.entries[-1].state)
    return KEPT(state=evidence.entries[-1].state)


def _explain_refusal(evidence: Evidence) -> Text:
    if evidence.timed:
        return Text(
            "the timer has run out behind the end, and the coordinator wrote another end: what "
            "is not Ongoing any more has no timeout",
            "事务已经结束，定时器才到期，协调者又写了一次结束：不再是 Ongoing 的事务没有超时",
        )
    return Text(
        "the answer to EndTxn was lost, the client asked again and was refused, and readers see "
        "what it had sent: the same EndTxn again gets the same answer",
        "EndTxn 的应答丢了，客户端再问一次却遭到拒绝，而读者看得到它发出的内容：同样的 EndTxn 要得到同样的应答",
    )


def _explain_end(evidence: Evidence) -> Text:
    if evidence.killed:
        return Text(
            "the timer was lost with the coordinator: `recover` sets it again for what is Ongoing",
            "定时器随协调者一起没了：`recover` 要为 Ongoing 的事务重新设置",
        )
    if evidence.refusals:
        return _explain_stuck(evidence)
    return Text(
        "its application has gone, and nobody ends the transaction: set a timer when it begins",
        "应用已经不在，没有人结束这个事务：事务开始时就要设置定时器",
    )


LOG_SAYS = Words("The log says {states}", "日志里是 {states}")
UNENDED = Words(
    "The log says {states}, and the end is still to come", "日志里是 {states}，还没有结束"
)


def _explain_outcome(evidence: Evidence) -> Text:
    states = ", ".join(str(entry.state) for entry in evidence.entries)
    ended = evidence.entries and evidence.entries[-1].state in COMPLETED
    return (LOG_SAYS if ended else UNENDED)(states=states)


REASONS = {
    "delivered": _explain_stuck,
    "closed everywhere": _explain_open,
    "decided first": _explain_early,
    "fenced out": _explain_epoch,
    "as asked": _explain_asked,
    "decided as asked": _explain_asked,
    "promised": _explain_promise,
    "refused": _explain_refusal,
    "ends": _explain_end,
}
