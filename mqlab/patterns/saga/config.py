"""The safeguards of a saga: three of the orchestrator, three that each service needs."""

from __future__ import annotations

from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "saga_log": (
            "the orchestrator writes what is done before it asks for the next step",
            "编排者先写下已完成的步骤，再请求下一步",
        ),
        "compensation": (
            "the steps before a refused one are taken back",
            "某一步被拒绝时，之前的步骤都被补偿",
        ),
        "step_again": (
            "a step without an answer is asked for again until there is one",
            "没有应答的步骤一直重复请求，直到得到应答",
        ),
        "idempotent_step": (
            "a step that is asked for twice is done once",
            "被请求两次的步骤只执行一次",
        ),
        "idempotent_undo": (
            "a compensation that is asked for twice is done once",
            "被请求两次的补偿只执行一次",
        ),
        "undone_stays_undone": (
            "a step that arrives after its compensation is refused",
            "在补偿之后才到达的步骤被拒绝",
        ),
    }
)
