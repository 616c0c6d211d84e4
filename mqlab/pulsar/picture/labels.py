"""What the chart writes beside a message, a record or a call: its line without what the row shows
anyway. A row has the name and the colour of its transaction, so the id is left out; low watermarks
and an error's explanation stand in the narration."""

from __future__ import annotations

import re

from ...kernel import FAILED, NOTHING, Append, Effect, Reply, Return, Send, Text
from ...kernel.outcome import Outcome
from ..messages import Answer

#: "in (0,1)", "of (0,1)", "(0,1)"; "lowWatermark=-1"; how a transaction acknowledged
KNOWN = re.compile(r"( in| of)? \(\d+,\d+\)| lowWatermark=-?\d+| (Individual|Cumulative)")


def label_effect(effect: Effect | None, txn: str) -> Text:
    """`txn`: the name of its transaction, "" for none. Nothing where the line is short enough."""
    match effect:
        case Append(entry=said) | Send(body=said) if txn:
            return Text(KNOWN.sub("", str(said)))
        case Reply(body=Answer(error=error)) if error:
            return Text(error.name)
        case Return(value=Outcome(call=call, status=status, detail=detail)) if status == FAILED:
            return Text(f"{str(call).partition(' ')[0]}: {detail}")
    return NOTHING
