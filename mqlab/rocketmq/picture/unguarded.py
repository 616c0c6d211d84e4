"""What is true while a safeguard is off, in the place of the sentences that rest on it."""

from __future__ import annotations

from ...kernel.reasons import build_unguarded
from . import sentences, why
from .why import Kind

UNGUARDED = build_unguarded(
    {
        "half_topic": (
            (
                sentences.HALF,
                "the message goes to the broker first, and consumers can read it at once.",
                "先把消息交给 broker，而消费者立刻就能读到。",
            ),
            (
                sentences.UNDECIDED_RECORD,
                "the message lies where consumers read, decided or not.",
                "消息直接放在消费者读取的地方，不管是否已决定。",
            ),
        ),
        "op_topic": (
            (
                why.ROUND,
                "a round of the check begins, and no op record says which halves have ended.",
                "一轮回查开始，而没有 op 记录说明哪些半消息已结束。",
            ),
            (
                sentences.DELIVERED,
                "the message is written into its own topic, and nothing records that its half has "
                "ended.",
                "消息写到它自己的主题，却没有记录它的半消息已经结束。",
            ),
            (
                sentences.DELIVERED_AGAIN,
                "the same message is written again, for nothing says that its half has ended.",
                "同一条消息又写了一遍，因为没有记录说它的半消息已经结束。",
            ),
            (
                sentences.CHECK_ROLLBACK,
                "the answer names the copy that was put back, and is recorded nowhere.",
                "应答指明被重新写入的那份副本，却没有任何记录。",
            ),
            (
                sentences.END_ROLLBACK,
                "a rollback is sent one-way, and is recorded nowhere.",
                "回滚是单向发送，而且没有任何记录。",
            ),
        ),
        "check_back": (
            (
                sentences.HALF_RECORD,
                "it lies where no consumer reads, and nobody will ask what became of it.",
                "它存放在没有消费者读取的地方，而且没有人会问它的结果。",
            ),
            (
                sentences.END_COMMIT,
                "the end is sent one-way, and nothing makes a lost one good.",
                "结束请求是单向的，丢了就没有任何补救。",
            ),
            (
                sentences.END_ROLLBACK,
                "a rollback is sent one-way too; without it the half would lie there for ever.",
                "回滚也是单向发送；没有它，半消息会永远留在那里。",
            ),
            (
                sentences.END_UNKNOW,
                "UNKNOW decides nothing, and nobody will ask later.",
                "UNKNOW 不作决定，以后也没有人问。",
            ),
            (
                sentences.HEARTBEAT,
                "the broker knows by heartbeats whom it could ask, and asks nobody.",
                "broker 通过心跳知道可以问谁，却谁也不问。",
            ),
            (
                why.REGISTERED,
                "each process registered here could be asked about any half of the group, and "
                "nobody is.",
                "注册在这里的进程本来可以被问到组内任何半消息，却谁也不会被问。",
            ),
            (
                why.STOPPED[Kind.PRODUCER],
                "its memory is gone, and nobody else will be asked what became of its halves.",
                "内存没了，也没有别人会被问到它的半消息的结果。",
            ),
        ),
        "check_limit": (
            (
                sentences.COPY,
                "the half is written once more with the number of checks raised, however high "
                "that is.",
                "半消息再写一份，回查次数加一，不管已经有多大。",
            ),
            (
                sentences.CHECK_UNKNOW,
                "the process asked cannot tell yet, and is asked again without end.",
                "被问者还说不出结果，会被无休止地再问。",
            ),
        ),
        "immunity": (
            (
                why.ROUND,
                "a round of the check begins, and no half is too young to be asked about.",
                "一轮回查开始，再新的半消息也会被回查。",
            ),
        ),
        "put_back": (
            (
                why.MOVED_ON,
                "halves before this place are not looked at again, whether they have ended or not.",
                "这个位置之前的半消息不再查看，不管是否已结束。",
            ),
            (
                sentences.QUESTION,
                "the half is asked about and not written again, so nobody will ask once more.",
                "半消息被回查却没有重新写入，所以不会再问第二次。",
            ),
            (
                sentences.CHECK_COMMIT,
                "the answer names the half itself, and commits as the sender's own end would have.",
                "应答指明半消息本身；它的提交与发送者自己的提交效果相同。",
            ),
            (
                sentences.CHECK_ROLLBACK,
                "the answer names the half itself, and ends it.",
                "应答指明半消息本身，并结束它。",
            ),
            (
                sentences.CHECK_UNKNOW,
                "the process asked cannot tell yet, and nobody will ask again.",
                "被问者还说不出结果，而且不会再问。",
            ),
        ),
        "any_producer": (
            (
                sentences.QUESTION,
                "the broker asks the producer that sent the half, and nobody else.",
                "broker 只问发送半消息的那个生产者，不问别人。",
            ),
            (
                why.REGISTERED,
                "each process registered here can be asked about its own halves only.",
                "注册在这里的进程只会被问到自己的半消息。",
            ),
            (
                why.STOPPED[Kind.PRODUCER],
                "its memory is gone and its connection closes: the broker can ask nobody about "
                "its halves.",
                "内存没了，连接也断了：它的半消息，broker 谁也问不了。",
            ),
        ),
        "message_before_op": (
            (
                sentences.OP_RECORD,
                "the op record is written first, and from now on the check passes over a half "
                "whose message may never be written.",
                "先写 op 记录，此后回查会跳过这条半消息，而它的消息可能永远不会写入。",
            ),
        ),
        "end_validation": (
            (
                sentences.DELIVERED,
                "anyone who names a half ends it, and from here on consumers can read the message.",
                "谁指明半消息，谁就能结束它；从此消费者可以读到消息。",
            ),
            (
                sentences.RAW_ANSWER,
                "no end is refused for naming the wrong group or place.",
                "写错生产者组或位置的结束请求也不会被拒绝。",
            ),
        ),
        "half_before_execute": (
            (
                sentences.STATEMENT_PUT,
                "the local transaction runs, and no half message is stored yet.",
                "本地事务开始执行，而半消息还没有存下。",
            ),
            (
                sentences.HALF,
                "the message goes to the broker when the order may be written already.",
                "消息交给 broker 时，订单可能已经写入。",
            ),
            (
                sentences.HALF_STORED,
                "the half is stored, and the local transaction has begun without it.",
                "半消息存好了，而本地事务没有等它就开始了。",
            ),
            (
                sentences.HALF_DOUBTFUL,
                "the half is not stored as safely as was asked for, and the local transaction has "
                "begun already.",
                "半消息没有存得像要求的那样安全，而本地事务已经开始。",
            ),
            (
                why.FAILURE,
                "the half was not stored, but the local transaction may have run.",
                "半消息没有存下，但本地事务可能已执行。",
            ),
        ),
        "exception_is_unknown": (
            (
                sentences.END_ROLLBACK,
                "this rollback may stand for an exception, and the row may still come.",
                "这个回滚可能只是因为异常，而行可能稍后才写入。",
            ),
        ),
        "consumer_retry": (
            (
                why.CONSUMED,
                "the turn is over, and what could not be processed is dropped.",
                "这一轮结束，没能处理的消息被丢弃。",
            ),
        ),
        "idempotent_consumer": (
            (
                sentences.APPLIED,
                "the consumer does its work and notes the order's key, which nobody will look up.",
                "消费者完成处理并记下订单的键，但没有人会查它。",
            ),
            (
                sentences.APPLIED_AGAIN,
                "the same order is applied once more, for nobody looks its key up.",
                "同一个订单又处理了一次，因为没有人查它的键。",
            ),
        ),
    }
)
