"""What three-phase commit looks like, and why: how far all are, which is all a successor sees."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Graph, GraphState, Reader, Snapshot, Table, Text, Words, World
from ...kernel.reasons import build_unguarded
from ..commit import TM, Parties
from ..picture import draw_lanes, draw_strip
from ..records import Record, read_latest, read_records
from .claims import read_states
from .roles import ABORTED, COMMITTED, DECISIONS, ENDED, LOG, PRECOMMITTED, UNCERTAIN

PARTICIPANT = Words("participant", "参与者")
GRAPH = Words("{name}: how far it is with {txn}", "{name}：{txn} 进行到哪一步")
LOCKED = Words(
    "{txn} holds its locks: a reader of the row waits", "{txn} 持有锁：读这一行的都要等待"
)

WHYS = {
    "CommitTransaction": Words(
        "The application has worked at every participant; now all of it is to count, or nothing.",
        "应用已在每个参与者上做完工作；现在要么全部生效，要么全部不生效。",
    ),
    "Watch": Words(
        "A connection kept open, so that a stop is noticed. Nobody answers it.",
        "保持一个连接，以便察觉对方停止。没有人应答它。",
    ),
    "CanCommit": Words("Phase one: can you commit?", "第一阶段：你能提交吗？"),
    "uncertain": Words(
        "It has voted yes and knows of no other vote: from here alone it may not decide.",
        "它投了赞成票，却不知道其他人的票：此时它不能独自决定。",
    ),
    "vote yes": Words(
        "A promise, as in two phases: it will not abort by itself.",
        "与两阶段一样是承诺：它不会自行中止。",
    ),
    "vote no": Words("It has promised nothing and may forget.", "它没有承诺任何事，可以忘记。"),
    "PreCommit": Words(
        "Phase two says only this: all have voted yes. Nobody commits yet.",
        "第二阶段只说明一件事：全体赞成。还没有人提交。",
    ),
    "precommitted": Words(
        "It knows that all have voted yes, so from now on nobody can have aborted.",
        "它知道全体赞成，所以从此不可能有人已经中止。",
    ),
    "PreCommitResponse": Words("One fewer is uncertain.", "不确定的又少了一方。"),
    "DoCommit": Words(
        "Phase three: nobody is uncertain any more, so one may be the first to commit.",
        "第三阶段：没有人再不确定，所以可以有人首先提交。",
    ),
    "committed": Words(
        "Here {txn} is committed, and its locks are free.", "{txn} 在这里已提交，锁已释放。"
    ),
    "Abort": Words(
        "Nobody has been told PreCommit, so nobody has committed.",
        "没有人收到过 PreCommit，所以没有人已提交。",
    ),
    "aborted": Words(
        "Here {txn} is aborted, and its locks are free.", "{txn} 在这里已中止，锁已释放。"
    ),
    "AskState": Words(
        "It leads now: how far is everybody that it can reach?",
        "现在由它领导：它能联系到的各方进行到哪一步？",
    ),
    "AskState after a restart": Words(
        "It may have missed the end, so it asks those that may know.",
        "它可能错过了结局，于是询问可能知道的各方。",
    ),
    "AskStateResponse": Words(
        "It says how far it is; the one who asked decides.", "它说出自己的进度；由询问者决定。"
    ),
    "answer ok": Words("It is committed, and everybody will follow.", "已提交，各方都会跟随。"),
    "answer failed": Words("Nothing of {txn} counts anywhere.", "{txn} 在任何地方都不生效。"),
    "change": Words(
        "Everybody before it in the line is gone, as far as it can tell.",
        "就它所知，排在它之前的各方都已停止。",
    ),
    "ask": Words("It still does not know how {txn} has ended.", "它仍不知道 {txn} 的结局。"),
    "stop tm": Words(
        "The nodes that watch it hear that the connection broke, and take that for a stop.",
        "监视它的各方得知连接断开，并把这当作停止。",
    ),
}

UNGUARDED = build_unguarded(
    {
        "third_phase": (
            (
                WHYS["committed"],
                "here it is committed, while others may still be uncertain.",
                "在这里已提交，而其他各方可能仍不确定。",
            ),
            (
                WHYS["DoCommit"],
                "the commit is sent right after the votes, so others may still be uncertain.",
                "投票之后立刻发出提交，所以其他各方可能仍不确定。",
            ),
            (
                WHYS["Abort"],
                "nobody has received a PreCommit, but somebody may have committed all the same.",
                "没有人收到过 PreCommit，但仍可能有人已经提交。",
            ),
        ),
        "acknowledged_precommit": (
            (
                WHYS["PreCommit"],
                "all have voted yes; the coordinator commits without waiting for an "
                "acknowledgement.",
                "全体赞成；协调者不等确认就提交。",
            ),
            (
                WHYS["DoCommit"],
                "the commit is sent although a participant may still be uncertain.",
                "提交已发出，尽管可能还有参与者不确定。",
            ),
            (
                WHYS["Abort"],
                "nobody that was asked has received a PreCommit, but the coordinator may have "
                "committed.",
                "被询问的各方都没有收到 PreCommit，但协调者可能已经提交。",
            ),
        ),
        "asks_before_deciding": (
            (
                WHYS["change"],
                "the coordinator is gone, and this participant decides without asking the others.",
                "协调者已停止，这个参与者不询问其他各方就作决定。",
            ),
            (
                WHYS["precommitted"],
                "all have voted yes, but one that is uncertain may already have aborted by itself.",
                "全体赞成，但某个不确定的参与者可能已自行中止。",
            ),
            (
                WHYS["DoCommit"],
                "the new leader decides by its own state alone, so another may have aborted.",
                "接管者只凭自己的状态决定，所以可能已有另一方中止。",
            ),
            (
                WHYS["Abort"],
                "the new leader decides by its own state alone, so another may have committed.",
                "接管者只凭自己的状态决定，所以可能已有另一方提交。",
            ),
        ),
        "levels_before_commit": (
            (
                WHYS["committed"],
                "here it is committed; after a takeover, others may still be uncertain.",
                "在这里已提交；如果发生过接管，其他各方可能仍不确定。",
            ),
            (
                WHYS["DoCommit"],
                "a new leader commits even while others are uncertain.",
                "即使其他各方仍不确定，新的领导者也会提交。",
            ),
        ),
        "obeys_the_latest": (
            (
                WHYS["AskStateResponse"],
                "it says how far it is, and still obeys those that come before the one who asked.",
                "它说出自己的进度，但仍然听从排在询问者之前的各方。",
            ),
            (
                WHYS["precommitted"],
                "an old PreCommit is obeyed, although the new leader may already have aborted.",
                "旧的 PreCommit 仍被接受，尽管接管者可能已经中止。",
            ),
            (
                WHYS["DoCommit"],
                "all have voted yes, but an earlier leader may have aborted.",
                "全体赞成，但先前的接管者可能已经中止。",
            ),
            (
                WHYS["Abort"],
                "nobody that answered has received a PreCommit, but an old one that arrives "
                "later is obeyed.",
                "应答过的各方都没有收到 PreCommit，但以后到达的旧 PreCommit 仍会被接受。",
            ),
        ),
    }
)

PLACES = {
    "working": (0, 0),
    UNCERTAIN: (1, 0),
    PRECOMMITTED: (2, 0),
    COMMITTED: (3, 0),
    ABORTED: (2, 1),
}
STATES = tuple(GraphState(name, *place) for name, place in PLACES.items())
EDGES = (
    ("working", UNCERTAIN),
    (UNCERTAIN, PRECOMMITTED),
    (PRECOMMITTED, COMMITTED),
    (UNCERTAIN, ABORTED),
)
SHORT = {UNCERTAIN: "unc", PRECOMMITTED: "pre", COMMITTED: "C", ABORTED: "A"}
OPEN = (UNCERTAIN, PRECOMMITTED)


def draw(parties: Parties, world: World) -> Snapshot:
    titles = [
        ("app", Text("app"), Text("application", "应用")),
        (TM, Text(TM), Text("coordinator", "协调者")),
    ]
    titles += [(name, Text(name), PARTICIPANT()) for name in parties.participants]
    strips = [(TM, DECISIONS), *((name, LOG) for name in parties.participants)]
    return Snapshot(
        lanes=draw_lanes(world, titles),
        logs=tuple(
            draw_strip(node, read_records(world.disk(node), log), _label, ENDED, OPEN)
            for node, log in strips
        ),
        readers=tuple(_draw_reader(world, name) for name in parties.participants),
        graphs=tuple(_draw_graph(world, name) for name in parties.participants),
        tables=(_draw_states(parties, world),),
    )


def _label(record: Record) -> str:
    return SHORT[record.what]


def _draw_graph(world: World, name: str) -> Graph:
    records = list(read_records(world.disk(name), LOG))
    if not records:
        return Graph(PARTICIPANT(), STATES, EDGES)
    txn = records[-1].txn
    path = ("working", *(record.what for record in records if record.txn == txn))
    return Graph(GRAPH(name=name, txn=txn), STATES, EDGES, path, txn)


def _draw_states(parties: Parties, world: World) -> Table:
    parts = (TM, *parties.participants)
    rows = (
        (txn, *(states.get(name, "–") for name in parts))
        for txn, states in sorted(read_states(parties, world).items())
    )
    return Table(Text("How far everybody is", "各方进行到哪一步"), ("", *parts), tuple(rows))


def _draw_reader(world: World, name: str) -> Reader:
    node = world.nodes[name]
    last = read_latest(node.disk, LOG)
    held = ", ".join(txn for txn, record in last.items() if record.what in OPEN)
    done = (txn for txn, record in last.items() if record.what == COMMITTED and node.up)
    got = tuple(Got(name, txn, txn) for txn in done)
    return Reader(name, got, LOCKED(txn=held) if held else NOTHING)
