"""What a followed server holds at its gate, as areas in the picture and as buttons below it: plain
values for the browser. See `mqlab/serve/gate.py` for what the verbs do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mqlab.kernel.text import Lang, Words, tr
from mqlab.kernel.trace import Fact, FactKind
from mqlab.serve.gate import Verb
from mqlab.serve.gate_client import HeldRequest

HELD = Words("{what}: {client} → {to}, held")
NOBODY = tr("No request is held.")
CHOICES = {
    Verb.LET_GO: tr("let it go"),
    Verb.DROP: tr("drop it: its connection breaks"),
    Verb.KILL_BEFORE: tr("kill the node before it"),
    Verb.KILL_AFTER: tr("kill the node after it, before the answer"),
}
SHORT = {
    Verb.LET_GO: tr("let go"),
    Verb.DROP: tr("drop"),
    Verb.KILL_BEFORE: tr("kill before"),
    Verb.KILL_AFTER: tr("kill after"),
}
KINDS = {Verb.LET_GO: "call", Verb.DROP: "break"}
AREAS = tr("Held requests: arrows up and down, then Enter")

Item = dict[str, Any]


def list_waiting(
    waiting: Iterable[HeldRequest], rows: Sequence[Fact], names: Mapping[str, str], lang: Lang
) -> list[Item]:
    """Each request that is held. `rows`: the facts that are shown; `at`: the number of its row
    among them, 0 where it has none; `names`: of lanes, by lane."""
    return [_describe(held, _find_row(held, rows), rows, names, lang) for held in waiting]


def _describe(
    held: HeldRequest, at: int, rows: Sequence[Fact], names: Mapping[str, str], lang: Lang
) -> Item:
    """A held request as plain data for the browser: a clickable area with a button for each verb,
    such as "let it go". `at`: the number of its row among `rows`, from 1; 0 where it has none,
    because its fact is not shown. `names`: titles by lane."""
    ends = [rows[at - 1].node, rows[at - 1].peer] if at else [held.client, held.to]
    client, to = (names.get(end, end) for end in ends)
    return {
        "kind": "message",
        "key": f"held {held.id}",
        "held": True,
        "at": at,
        "ends": ends,
        "title": HELD(what=held.text, client=client, to=to).of(lang),
        "items": [
            {
                "choice": f"{verb}:{held.id}",
                "label": text.of(lang),
                "short": SHORT[verb].of(lang),
                # how the button looks; all verbs but two kill something
                "kind": KINDS.get(verb, "kill"),
            }
            for verb, text in CHOICES.items()
        ],
    }


def _find_row(held: HeldRequest, rows: Sequence[Fact]) -> int:
    """Its own row, or that of the request which it repeats."""
    if not held.fact:
        return 0
    for at in range(len(rows), 0, -1):
        fact = rows[at - 1]
        if fact.index == held.fact:
            return at
        asks = fact.kind is FactKind.SEND or fact.pushed
        if fact.index < held.fact and asks and fact.peer == held.to:
            return at if fact.text.en.startswith(held.text.en) else 0
    return 0


def read_choice(choice: str) -> tuple[Verb, int]:
    """What a button says. Raises ValueError for anything else."""
    verb, _, number = choice.partition(":")
    return Verb(verb), int(number)
