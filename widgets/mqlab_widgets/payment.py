"""`Payment`: the first playground, which needs no kernel and no broker's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from mqlab.kernel.text import Text, tr

from .style import HERE, font_css

WORDS: dict[str, Any] = {
    "which": tr("how the service writes"),
    "systems": {"plain": tr("two messages"), "transaction": tr("in a transaction")},
    "tasks": {
        "plain": tr("Make the £316.78 disappear."),
        "transaction": tr("Now make the customer pay twice."),
    },
    "places": {
        "service": tr("The shop's order service"),
        "customer": tr("The customer's account"),
        "shop": tr("The shop's account"),
        "broker": tr("The broker"),
    },
    "service": [tr("has stopped"), tr("is at work")],
    "acts": {"stop": tr("Stop it here"), "start": tr("Start it again")},
    "amounts": {"customer": tr("−£316.78"), "shop": tr("+£316.78")},
    "seen": [tr("can be read"), tr("not to be read yet"), tr("void: never read")],
    "decided": [
        tr("It has decided: both count."),
        tr("It has decided: both are void."),
        tr("It has decided nothing yet."),
    ],
    "reader": tr("Accounting adds up what it can read:"),
    "paid": tr("paid £{sum}"),
    "got": tr("received £{sum}"),
    "lacks": [tr("£{sum} not there yet"), tr("£{sum} has disappeared")],
    "run": tr("Let it run"),
    "undo": tr("Undo"),
    "again": tr("Begin again"),
    "begin": tr("the beginning"),
    "tree": tr("futures that you have tried"),
    "told": tr("what has happened"),
    "next": tr("Try the same with a transaction"),
    "searched": tr(
        "The money cannot disappear here: every order of events with one stop of the service was "
        "searched, {searched} states, and it is lost in none. Something else can still go wrong."
    ),
    "won": {
        "plain": tr(
            "You made £316.78 disappear in {made} choices. The shortest way has {least}. Each "
            "message was sent as it should be; nothing says that they belong together."
        ),
        "transaction": tr(
            "Paid twice, in {made} choices. The transaction made two messages one. The service did "
            "its work twice, and a transaction does not know that it is the same work."
        ),
    },
}


def build_payment(tree: Mapping[str, Any]) -> dict[str, Any]:
    """What `mountPayment` in payment.js takes: the tree of all that may be played, as
    `mqlab.lessons.payment.read_payment` gives it, and the words around it."""
    return {**tree, "words": _say(WORDS)}


def _say(words: Any) -> Any:
    if isinstance(words, Text):
        return words.of()
    if isinstance(words, dict):
        return {key: _say(value) for key, value in words.items()}
    return [_say(value) for value in words]


class Payment(anywidget.AnyWidget):
    """One payment under the learner's hand. It goes on where the kernel does not."""

    _esm = (HERE / "payment.js").read_text("utf-8") + (
        "export default { render: ({ model, el }) => mountPayment(el, model.get('data')) };\n"
    )
    _css = font_css() + (HERE / "payment.css").read_text("utf-8")
    data = traitlets.Dict().tag(sync=True)

    def __init__(self, tree: Mapping[str, Any]) -> None:
        super().__init__(data=build_payment(tree))

    def __repr__(self) -> str:
        return str(WORDS["tasks"]["plain"])
