"""The safeguards of an outbox, from the order's row to its effects elsewhere."""

from __future__ import annotations

from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "row_with_message": (
            "a row and the row of its message are written in one local transaction",
            "业务行和消息行在同一个本地事务里写入",
        ),
        "marks_each_row": (
            "each outbox row has a mark of its own; no number says how far the relay has read",
            "发件箱的每一行有自己的标记，而不是用一个编号表示读到了哪里",
        ),
        "marked_when_stored": (
            "the relay marks a row only when the broker has stored its message",
            "broker 保存消息之后，中继才标记这一行",
        ),
        "inbox": (
            "a consumer writes the id of a message together with its effect, "
            "and applies no id twice",
            "消费者把消息的 id 和效果一起写入，同一个 id 不处理第二次",
        ),
        "id_of_the_row": (
            "a message is known by the id of its row, not by its place in the topic",
            "消息靠所在行的 id 识别，而不是靠它在主题中的位置",
        ),
        "effect_before_ack": (
            "a consumer acknowledges a message only when its effect is written",
            "效果写入之后，消费者才确认消息",
        ),
    }
)
