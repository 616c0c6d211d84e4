"""What pictures and narrations of three-phase commit say, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words

TITLE = Text("Three-phase commit", "三阶段提交")
COORDINATOR = Words("coordinator", "协调者")
PARTICIPANT = Words("participant", "参与者")
APPLICATION = Words("application", "应用")
GRAPH = Words("{name}: how far it is with {txn}", "{name}：{txn} 进行到哪一步")
TABLE = Words("How far everybody is", "各方进行到哪一步")
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

ENDS_ALIKE = Words("no party commits what another aborts", "不会有一方提交了另一方中止的事务")
TOLD_THE_TRUTH = Words(
    "what the application was told is what happens", "应用得到的应答就是实际的结局"
)
ENDS_WITHOUT_IT = Words(
    "each node that runs can end, no matter which others are down",
    "无论谁停止，仍在运行的各方都能结束",
)
COMMITS = Words("a transaction can commit everywhere", "事务可以在各处提交")
SURVIVES = Words(
    "no party commits what another aborts, though a connection breaks",
    "即使连接断开，也不会有一方提交了另一方中止的事务",
)
