"""`Payment`: the first playground, which needs no kernel and no broker's words."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from html import escape
from typing import Any

from mqlab.kernel.text import Text, tr

from .style import HERE, font_css

WORDS: dict[str, Any] = {
    "which": tr("how the service writes"),
    "systems": {"plain": tr("two messages"), "transaction": tr("in a transaction")},
    "tasks": {
        "plain": tr("Make the £316.78 disappear."),
        "transaction": tr("Make the £316.78 disappear, now in a transaction."),
        "after": tr("Now make the customer pay twice."),
    },
    "places": {
        "service": tr("The shop's order service"),
        "customer": tr("The customer's account"),
        "shop": tr("The shop's account"),
        "broker": tr("Its decision"),
        "frame": tr("The broker, which keeps the messages"),
    },
    "service": [tr("has stopped"), tr("is at work")],
    "amounts": {"customer": tr("−£316.78"), "shop": tr("+£316.78")},
    "seen": [tr("counts"), tr("does not count yet"), tr("void: never counts")],
    "decided": [
        tr("It has decided: both count."),
        tr("It has decided: nothing of it counts."),
        tr("It has decided nothing yet."),
    ],
    "reader": tr("Accounting adds up what it can read:"),
    "paid": tr("paid £{sum}"),
    "got": tr("received £{sum}"),
    "lacks": [tr("£{sum} missing so far"), tr("£{sum} has disappeared")],
    "trust": tr("Run this cell: what it shows is played, and comes to life where it is run."),
    "run": tr("Let it run"),
    "undo": tr("Undo"),
    "again": tr("Begin again"),
    "begin": tr("the beginning"),
    "tree": tr("futures that you have tried"),
    "told": tr("what has happened"),
    "next": tr("Try the same in a transaction"),
    "searched": tr(
        "However you play, the money cannot disappear here: every order of events with one stop of "
        "the service was tried, {searched} situations, and it is lost in none. But the customer "
        "can pay twice."
    ),
    "retry": tr("Begin again, and find out how."),
    "onward": tr("Now see how Kafka, RocketMQ and Pulsar do it"),
    "won": {
        "plain": tr(
            "You made £316.78 disappear in {made} steps. The shortest way has {least}. Nothing "
            "says that the two messages belong together, so nobody misses the second."
        ),
        "transaction": tr(
            "Paid twice, in {made} steps. The transaction made two messages one. The service did "
            "its work twice, and a transaction does not know that it is the same work. What helps "
            "is a number on each payment, and an account that takes each number once."
        ),
    },
}


def build_payment(tree: Mapping[str, Any], onward: str = "") -> dict[str, Any]:
    """What `mountPayment` in payment.js takes: the tree of all that may be played, as
    `mqlab.lessons.payment.read_payment` gives it, and the words around it. `onward`: the address
    to which a link leads after the last task, "" for none."""
    return {**tree, "words": _say(WORDS), "onward": onward}


def _say(words: Any) -> Any:
    if isinstance(words, Text):
        return words.of()
    if isinstance(words, dict):
        return {key: _say(value) for key, value in words.items()}
    return [_say(value) for value in words]


class Payment:
    """One payment under the learner's hand, as HTML that plays without a kernel, also after save
    and reopen."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self.data = build_payment(tree)

    def _repr_html_(self) -> str:
        name = f"payment-{secrets.token_hex(6)}"
        data = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        script = f'{read("payment.js")}mountPayment(document.getElementById("{name}"), {data});'
        safe = script.replace("</", "<\\/")
        return (
            f"<style>{font_css()}{read('payment.css')}</style>"
            f'<div id="{name}">{escape(self.data["words"]["trust"])}</div>'
            f"<script>(() => {{{safe}\n}})();</script>"
        )

    def __repr__(self) -> str:
        return str(self.data["words"]["tasks"]["plain"])


def read(name: str) -> str:
    return (HERE / name).read_text("utf-8")
