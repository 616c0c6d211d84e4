"""What still waits when a run is over, and for what: calls without an answer, and messages that
nobody takes. A closing line of the command, not of the narration, which files keep."""

from __future__ import annotations

from collections.abc import Iterator

from ..kernel import NOTHING, Text, Words, World, replace
from ..kernel.run import put_in_words

STILL = Words("still waits: {all}")
CALL = Words("{call} of {node}, for an answer")
CALL_OR_TIMER = Words("{call} of {node}, for an answer or for a timer ({timers})")
DEAD = Words("{message}, for {node}, which is dead (`restart {node}`)")
HELD = Words("{message}, for `release {message}`")
MOST = 6  # that are told one by one
MORE = Words("and {n} more")
CUT = Words("{message}, for `heal`")


def list_calls(world: World, alone: bool) -> Iterator[Text]:
    """The calls that have no answer yet, each with the timers that may end it: its client's, and
    anybody's where no message waits (`alone`)."""
    timers = {at: [name for _, name, _ in node.timers] for at, node in world.nodes.items()}
    for node, state in world.nodes.items():
        if state.app is None or not state.app.waiting:
            continue
        call = put_in_words(replace(state.app, waiting=False).next_call())
        mine = timers if alone and not timers[node] else {node: timers[node]}
        fires = ", ".join(f"`fire {at} {name}`" for at, names in mine.items() for name in names)
        says = CALL_OR_TIMER if fires else CALL
        yield says(call=call, node=node, timers=fires)


def close(parts: list[Text]) -> Text:
    """All of it in one line; nothing where nothing waits."""
    if not parts:
        return NOTHING
    more = [MORE(n=len(parts) - MOST)] if len(parts) > MOST else []
    told = [*parts[:MOST], *more]
    both = Text("; ".join(part.en for part in told), "；".join(part.of("zh") for part in told))
    return STILL(all=both)
