"""Menus of what can vary in a story, as pairs of words and values: for `vary`, or for any widget
of ipywidgets.

    Dropdown(options=list_safeguards("charges"))
"""

from __future__ import annotations

from ..kernel import Words, tr
from ..registry import run_scenario, system
from ..scenario.runner import find_kills

Menu = list[tuple[str, str]]
IS_OFF = Words("{name} is off: {what}")


def list_safeguards(line: str, *names: str) -> Menu:
    """A menu of what can be switched off in the system of this line: nothing, then each safeguard
    (or those named) with its sentence. Values are names, as `off` takes them; nothing is ""."""
    known = system(line).safeguards()
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"no safeguard {', '.join(missing)}; there are: {', '.join(known)}")
    return [(str(tr("everything is on")), "")] + [
        (str(IS_OFF(name=name, what=known[name])), name) for name in names or known
    ]


def list_kills(story: str, *nodes: str) -> Menu:
    """A menu of crashes in a story: none, then each place in the steps of these nodes (none named:
    of all), worded as in the picture. Values are lines of a scenario; no crash is ""."""
    run = run_scenario(story)
    known = run.world.nodes
    missing = [node for node in nodes if node not in known]
    if missing:
        raise ValueError(f"no node {', '.join(missing)}; there are: {', '.join(known)}")
    kills = find_kills(run, nodes)
    nobody = str(tr("nobody dies")), ""
    return [nobody, *((f"{k.node}, {k.step}: {k.text}", str(k)) for k in kills)]
