"""What two-phase commit looks like: decisions, promises, who waits, what a reader gets, and why.

A row that a transaction in doubt has changed is locked: a reader gets neither its old value nor its
new one. That is drawn as a reader who gets nothing and is told why.
"""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, Words, World
from ...kernel.reasons import build_unguarded
from ..commit import TM, Parties
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_latest, read_records
from .roles import COMMITTED, DECISIONS, LOG, PREPARED, ROLLED_BACK

COORDINATOR = Words("coordinator", "协调者")
GRAPH = Words("Coordinator: where {txn} is", "协调者：{txn} 在哪一步")
LOCKED = Words(
    "{txn} holds its locks: a reader of the row waits", "{txn} 持有锁：读这一行的都要等待"
)

WHYS = {
    "CommitTransaction": Words(
        "The application has worked at every participant; now all of it is to count, or nothing.",
        "应用已在每个参与者上做完工作；现在要么全部生效，要么全部不生效。",
    ),
    "Prepare": Words(
        "Phase one: can you commit, whatever happens from now on?",
        "第一阶段：从现在起无论发生什么，你都能提交吗？",
    ),
    "prepared": Words(
        "The promise is on disk before the vote leaves: a restart will not forget it.",
        "承诺先写入磁盘，赞成票才发出：重启也不会忘记。",
    ),
    "vote yes": Words(
        "From now on it may neither commit nor roll back by itself, and its locks stay.",
        "从此它既不能自行提交也不能自行回滚，锁也一直保留。",
    ),
    "vote no": Words(
        "It has promised nothing, so it may roll back at once and forget.",
        "它没有承诺任何事，所以可以立刻回滚并忘记。",
    ),
    "commit": Words(
        "The decision: this one record commits {txn}, whatever dies after it.",
        "决定：这一条记录就提交了 {txn}，此后无论什么崩溃。",
    ),
    "Commit": Words(
        "Phase two: every vote was yes, and the decision is written.",
        "第二阶段：全部赞成，而且决定已经写下。",
    ),
    "Rollback": Words(
        "One vote is missing or was no. Nothing is written: no record means rolled back.",
        "有一票缺失或反对。什么都不写：没有记录就表示回滚。",
    ),
    "committed": Words(
        "Here {txn} is committed, and its locks are free.", "{txn} 在这里已提交，锁已释放。"
    ),
    "rolled_back": Words(
        "Here {txn} is rolled back, and its locks are free.", "{txn} 在这里已回滚，锁已释放。"
    ),
    "CommitResponse": Words(
        "It need not be told again.", "不必再通知它。"
    ),
    "end": Words(
        "Everybody has committed: nobody will ask, so the coordinator may forget {txn}.",
        "各方都已提交：不会再有人询问，协调者可以忘记 {txn}。",
    ),
    "Inquire": Words(
        "It has promised to commit and does not know whether it must: it asks.",
        "它承诺过可以提交，却不知道是否必须提交：于是询问。",
    ),
    "told commit": Words(
        "The commit is written, so this is the answer for ever.",
        "提交已写下，所以永远这样应答。",
    ),
    "told rollback": Words(
        "No record of a commit, so there was none and there will be none.",
        "没有提交的记录，所以从未提交，将来也不会。",
    ),
    "told to wait": Words("Votes are still being counted.", "还在计票。"),
    "answer ok": Words(
        "The decision is durable; participants may hear of it later than the application.",
        "决定已持久化；参与者可能比应用更晚得知。",
    ),
    "answer failed": Words("Nothing of {txn} counts anywhere.", "{txn} 在任何地方都不生效。"),
    "votes": Words(
        "A vote has not come in time. What is missing counts as no.",
        "有一票没有按时到达。缺失的票算作反对。",
    ),
    "retry": Words(
        "Somebody has not acknowledged the commit: it is told again.",
        "有参与者尚未确认提交：再次通知。",
    ),
    "ask": Words(
        "Still in doubt. Time alone tells it nothing, so it can only ask again.",
        "仍然存疑。时间本身不能告诉它任何事，只能再问。",
    ),
    "late Prepare": Words(
        "The coordinator no longer waits for this vote; the participant cannot know that.",
        "协调者已不再等这一票；参与者却无从知道。",
    ),
    "stop tm": Words(
        "A participant that has voted yes and does not know the decision must now wait.",
        "已投赞成票却不知道决定的参与者，现在只能等待。",
    ),
    "recovery tm": Words(
        "It reads its decisions: what is not there was never told to anybody.",
        "它读出自己的决定：没有写下的，就从未告诉过任何人。",
    ),
}  # fmt: skip

UNGUARDED = build_unguarded(
    {
        "prepared_on_disk": (
            (
                WHYS["vote yes"],
                "the promise is in memory only: a restart forgets it.",
                "承诺只在内存里：一重启就忘了。",
            ),
        ),
        "unanimous": (
            (
                WHYS["votes"],
                "a vote has not come in time, and is taken for yes.",
                "有一票没有按时到达，却当作赞成。",
            ),
            (
                WHYS["Commit"],
                "phase two: the decision is written, and not every vote was yes.",
                "第二阶段：决定已经写下，但并非全部赞成。",
            ),
        ),
        "decision_first": (
            (
                WHYS["answer ok"],
                "the application is told before the decision is written.",
                "决定还没有写下，应用就得到应答。",
            ),
            (
                WHYS["Commit"],
                "phase two: every vote was yes, and the decision is not written yet.",
                "第二阶段：全部赞成，但决定还没有写下。",
            ),
            (
                WHYS["told rollback"],
                "no record of a commit, though there may have been one.",
                "没有提交的记录，尽管可能提交过。",
            ),
        ),
        "waits_in_doubt": (
            (
                WHYS["vote yes"],
                "it has promised to commit, and may still decide by itself.",
                "它承诺可以提交，却仍可能自行决定。",
            ),
            (
                WHYS["ask"],
                "still in doubt, and it decides alone.",
                "仍然存疑，它独自决定。",
            ),
        ),
        "asks_again": (
            (
                WHYS["vote yes"],
                "it may not decide by itself, and if the answer does not come it asks nobody.",
                "它不能自行决定；等不到结果也不会询问。",
            ),
        ),
        "presumed_abort": (
            (
                WHYS["Rollback"],
                "one vote is missing or was no. Nothing is written, and no record is no answer.",
                "有一票缺失或反对。什么都不写，而没有记录就没有应答。",
            ),
            (
                WHYS["stop tm"],
                "a participant that has voted yes must wait, and where nothing is written it "
                "waits for ever.",
                "已投赞成票的参与者只能等待；如果没有写下记录，就永远等待。",
            ),
        ),
    }
)

PLACES = {
    "voting": (0, 0),
    "commit": (1, 0),
    "end": (2, 0),
    "rolled back": (1, 1),
}
STATES = tuple(GraphState(name, *place) for name, place in PLACES.items())
EDGES = (("voting", "commit"), ("commit", "end"), ("voting", "rolled back"))
SHORT = {PREPARED: "prep", COMMITTED: "C", ROLLED_BACK: "R", "commit": "C", "end": "end"}
DECISION = (COMMITTED, ROLLED_BACK, "commit")


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [("app", Text("app"), Text("application", "应用")), (TM, Text(TM), COORDINATOR())]
    titles += [(name, Text(name), Text("participant", "参与者")) for name in parties.participants]
    strips = [(TM, DECISIONS), *((name, LOG) for name in parties.participants)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_strip(node, read_records(world.disk(node), log), _label, DECISION, (PREPARED,))
            for node, log in strips
        ),
        readers=tuple(_draw_reader(world, name) for name in parties.participants),
        graphs=(_draw_graph(parties, world),),
        tables=(_draw_knowledge(parties, world),),
    )


def _label(record: Record) -> str:
    return SHORT[record.what]


def list_txns(parties: Parties, world: World) -> list[str]:
    """Every transaction that anybody knows of, in the order of their names."""
    tm = world.role(TM)
    known = {*read_latest(world.disk(TM), DECISIONS), *(tm.txns if tm is not None else ())}
    for name in parties.participants:
        known |= {*read_latest(world.disk(name), LOG)}
    return sorted(known)


def name_state(parties: Parties, world: World, txn: str) -> str:
    """Where a transaction is, by the coordinator's disk and memory, else by the participants'."""
    last = read_latest(world.disk(TM), DECISIONS).get(txn)
    if last is not None:
        return last.what
    tm = world.role(TM)
    if tm is not None and txn in tm.txns:
        return "voting"
    return "rolled back" if tm is not None else "voting"


def _draw_graph(parties: Parties, world: World) -> Graph:
    txns = list_txns(parties, world)
    if not txns:
        return Graph(COORDINATOR(), STATES, EDGES)
    txn = txns[-1]
    now = name_state(parties, world, txn)
    way = {"voting": (), "commit": ("voting",), "rolled back": ("voting",)}
    path = (*way.get(now, ("voting", "commit")), now)
    return Graph(GRAPH(txn=txn), STATES, EDGES, path, txn)


def _draw_knowledge(parties: Parties, world: World) -> Table:
    """What each party would say of each transaction."""
    columns = ("", TM, *parties.participants)
    rows = []
    for txn in list_txns(parties, world):
        last = [read_latest(world.disk(name), LOG).get(txn) for name in parties.participants]
        here = [record.what if record is not None else "–" for record in last]
        rows.append((txn, name_state(parties, world, txn) if world.nodes[TM].up else "?", *here))
    return Table(Text("Who knows what", "谁知道什么"), columns, tuple(rows))


def _draw_reader(world: World, name: str) -> Reader:
    """What a reader of this participant's rows gets now: of each committed transaction its row."""
    node = world.nodes[name]
    done = [t for t, r in read_latest(node.disk, LOG).items() if r.what == COMMITTED]
    doubt = node.roles[0].doubt if node.up else ()
    got = tuple(Got(name, txn, txn) for txn in done) if node.up else ()
    return Reader(name, got, LOCKED(txn=", ".join(doubt)) if doubt else NOTHING)
