"""Answers that were judged before: who answers every question alike gets the same verdict.

A search over every schedule takes seconds, and half of a class gives the same answer. What a judge
asks next depends on nothing but what it was told before, so the questions about an exercise form a
tree. An answer is led along it, question by question; where it says something new, it is judged
in full, and the tree grows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .answering import Ask
from .wire import Message, encode

Verdict = tuple[bool, str]


@dataclass
class _Node:
    """What is asked here and where each answer to it leads, or the verdict."""

    question: Message | None = None
    next: dict[str, _Node] = field(default_factory=dict)
    verdict: Verdict | None = None


class Known:
    """The trees of one process, by the exercise with the language of its verdicts, and what
    the answer is if it is no function."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str, str], _Node] = {}

    def judge(
        self, exercise: str, value: Any, ask: Ask, judge: Callable[[Ask], Verdict]
    ) -> Verdict:
        """The known verdict, or what `judge` finds, which asks by way of what it is given."""
        tree = self._trees.setdefault((exercise, _key(value)), _Node())
        known = _walk(tree, ask)
        if known is not None:
            return known
        node = tree

        def noted(*question: Any) -> Message:
            nonlocal node
            answer = ask(*question)
            node.question = question
            node = node.next.setdefault(_key(answer), _Node())
            return answer

        verdict = judge(noted)
        node.verdict = verdict
        return verdict


def _walk(node: _Node, ask: Ask) -> Verdict | None:
    """Ask what was asked before as long as the answers are known too."""
    while node.verdict is None:
        if node.question is None:
            return None
        following = node.next.get(_key(ask(*node.question)))
        if following is None:
            return None
        node = following
    return node.verdict


def _key(value: Any) -> str:
    """Equal for equal values of the same types, and for no others."""
    return json.dumps(encode(value))
