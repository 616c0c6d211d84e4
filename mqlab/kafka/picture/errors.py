"""What an error means to the one who gets it: the rule that refused, one sentence each."""

from __future__ import annotations

from ...kernel import Text, Words
from ..errors import Error
from . import words

RULES: dict[Error, Words] = {
    Error.PRODUCER_FENCED: Words(
        "A newer instance holds this transactional id: its epoch is higher, and the older one is "
        "shut out for good.",
        "更新的实例持有这个事务 ID：它的 epoch 更高，旧实例被永远挡在外面。",
    ),
    Error.INVALID_PRODUCER_EPOCH: Words(
        "The epoch is older than the newest that was seen here: the producer of this has been "
        "replaced or timed out.",
        "epoch 比这里见过的最新的更旧：写入者已被替换，或者已经超时。",
    ),
    Error.INVALID_TXN_STATE: Words(
        "The state of this transaction does not allow it: what is decided is not decided again.",
        "事务目前的状态不允许这样做：已经决定的不会再决定一次。",
    ),
    Error.INVALID_PRODUCER_ID_MAPPING: Words(
        "The coordinator does not know this producer id under this name: it was forgotten, or "
        "somebody else has the name.",
        "协调者在这个名字下不认识这个生产者 id：它已被遗忘，或者名字已归别人。",
    ),
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: Words(
        "A number is missing before this one: to store it now would change the order for good.",
        "它之前缺一个序号：现在存下它会永远改变顺序。",
    ),
    Error.UNKNOWN_PRODUCER_ID: Words(
        "The leader has forgotten this producer, so it cannot tell a repeat from a new record.",
        "leader 已忘记这个生产者，无法区分重复和新记录。",
    ),
    Error.TRANSACTION_ABORTABLE: Words(
        "This transaction cannot go on, but its producer can: it aborts and begins the next.",
        "这个事务不能继续，但生产者可以：中止它，再开始下一个。",
    ),
    Error.CONCURRENT_TRANSACTIONS: Words(
        "The end of the last transaction is not finished yet: ask again in a moment.",
        "上一个事务的结束还没有完成：稍后再问。",
    ),
    Error.TRANSACTION_COORDINATOR_FENCED: Words(
        "A newer coordinator has written here: what the older one sends no longer counts.",
        "更新的协调者已经写到这里：旧协调者发来的不再算数。",
    ),
    Error.NOT_COORDINATOR: Words(
        "Another broker leads this part of the coordinator's log: the client looks it up again.",
        "协调者日志的这一部分由别的 broker 领导：客户端要重新查找。",
    ),
    Error.COORDINATOR_LOAD_IN_PROGRESS: Words(
        "It still reads its log: before it knows all that was decided, it answers nobody.",
        "它还在读日志：知道所有决定之前，不回答任何人。",
    ),
    Error.COORDINATOR_NOT_AVAILABLE: Words(
        "Nobody can decide just now: the record would not be safe, or nobody leads the log.",
        "现在没有人能作决定：记录不安全，或者没有人领导日志。",
    ),
    Error.NOT_LEADER_OR_FOLLOWER: Words(
        "This node does not lead the partition any more: the client must ask who does.",
        "这个节点不再领导该分区：客户端要问是谁。",
    ),
    Error.FENCED_LEADER_EPOCH: Words(
        "It speaks for an older leadership: the controller has named another leader since.",
        "它代表的是旧的领导任期：控制器已任命别的 leader。",
    ),
    Error.NOT_ENOUGH_REPLICAS: Words(
        "Fewer copies are in sync than min.insync.replicas asks for: nothing is stored.",
        "同步副本少于 min.insync.replicas 的要求：什么也不存。",
    ),
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Words(
        "It is in the leader's log, but too few copies hold it: nobody promises that it stays.",
        "它在 leader 的日志里，但副本太少：没有人保证它会留下。",
    ),
    Error.REBALANCE_IN_PROGRESS: Words(
        "The group shares its partitions out again: every member must join again first.",
        "消费者组正在重新分配分区：每个成员都要先重新加入。",
    ),
    **dict.fromkeys(
        (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID),
        words.WHY_FENCED,
    ),
}


def explain_error(error: Error) -> Text:
    """One sentence; only the error's name where there is no rule to tell."""
    return RULES.get(error, words.WHY_REFUSED)(error=error.name)
