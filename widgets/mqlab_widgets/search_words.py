"""A search in words: its panel, its verdict, what a choice is, and what its bounds are."""

from __future__ import annotations

from collections.abc import Mapping

from mqlab.explore import Budget
from mqlab.kernel.choice import Choice
from mqlab.kernel.moves import initial
from mqlab.kernel.offers import ARRIVES
from mqlab.kernel.stops import join_names
from mqlab.kernel.system import System
from mqlab.kernel.text import Lang, Words, tr

Names = Mapping[str, str]

WORDS = {
    "title": tr("Every schedule"),
    "start": tr("Search"),
    "again": tr("Search again"),
    "stop": tr("Stop"),
    "states": tr("states"),
    "depth": tr("choices deep"),
    "rate": tr("states/s"),
    "tree": tr("{shown} of {n} states as a tree. States after 0, 1, 2 … choices: {levels}."),
    "hint": tr(
        "Dots: {shown} of {n} states, by number of choices; below, how many there are. Click a "
        "dot to play an execution that reaches it."
    ),
    "initial": tr("The first state: nothing was chosen yet."),
    "state": tr("After {n} choices. The last one: {choice}."),
    "refutes": tr("Here “{name}” is refuted."),
    "reaches": tr("Here “{name}” is reached."),
    "claims": tr("Claims"),
    "claim": tr("claim"),
    "sentence": tr("what it says"),
    "kind": tr("must be true"),
    "result": tr("result"),
    "always": tr("in every state"),
    "sometimes": tr("in some state"),
    "can_always": tr("later on, from every state"),
    "show": tr("show the example"),
}
SHOWN = Words("The shortest example that breaks “{name}”:")
VISITED = Words("An execution that leads to the state you chose:")
READY = tr("Nothing has been searched yet.")
RUNNING = tr("Searching …")
COMPLETE = Words("Complete: nothing is violated in any of {n} states.")
VIOLATED = {
    True: Words("1 of {all} claims is violated; {n} states were searched."),
    False: Words("{broken} of {all} claims are violated; {n} states were searched."),
}
STOPPED = Words("Not exhaustive: no violation in the {n} states that were searched.")
WITHIN = Words("It tries {bounds}.")
RESULTS = {
    "open": Words("not violated so far"),
    "held": Words("held"),
    "violated": Words("violated in {n} choices"),
    "reached": Words("reached in {n} choices"),
    "unreached": Words("not reached so far"),
    "never": Words("never reached"),
    "later": Words("known at the end"),
}
CHOICES = {
    "call": Words("{a} makes its next call"),
    "request": Words("a request of {a} reaches {b}"),
    "response": Words("an answer of {b} reaches {a}"),
    "local": Words("{a} does what it has still to do"),
    "fire": Words("a timer of {a} runs out"),
    "break": Words("the connection of {a} and {b} breaks"),
    "kill": Words("{a} is killed"),
    "power": Words("{a} loses its power"),
    "restart": Words("{a} starts again"),
}
INSIDE = {
    "kill": Words("{what}; {who} is killed after effect {n} of this"),
    "power": Words("{what}; {who} loses its power after effect {n} of this"),
}
EVERY = Words("every order of all messages, {bounds}")
CALLS = {
    True: Words("every order of 1 call and all messages, {bounds}"),
    False: Words("every order of {n} calls and all messages, {bounds}"),
}
FAULTLESS = Words("without faults and timers")
UP_TO = Words("with up to {faults}")
FAULTS = {
    "kills": Words("{n} kill{s}{of}"),
    "power_cuts": Words("{n} power cut{s}{of}"),
    "breaks": Words("{n} lost connection{s}"),
    "timers": Words("{n} timer{s} running out"),
}
ONLY = Words(" (only of {nodes})")
RETRIES = Words("each retry timer runs out up to {n} ×")
RESTARTS = Words("only {nodes} may start again")
FINAL = Words("what has stopped stays stopped")


def name_nodes(system: System, lang: Lang) -> dict[str, str]:
    """Nodes and roles, named as their lanes are."""
    lanes = system.snapshot(initial(system)).lanes
    return {lane.name: lane.title.of(lang) for lane in lanes}


def describe_choice(choice: Choice, names: Names, lang: Lang) -> str:
    """A choice of a search, as a whole clause."""
    a, b = names.get(choice.a, choice.a), names.get(choice.b, choice.b)
    what = CHOICES[choice.kind](a=a, b=b)
    if choice.stop >= 0:
        who = b if choice.kind == "request" else a
        what = INSIDE[choice.how](what=what, who=who, n=choice.stop)
    if choice.answers:
        clients = join_names(tuple(names.get(name, name) for name in choice.answers))
        what = ARRIVES(what=what, clients=clients)
    return what.of(lang)


def describe_bounds(system: System, budget: Budget, names: Names, lang: Lang) -> str:
    """Describe a search's bounds, as the end of a sentence that begins "It tries …": how many calls
    in every order, with how many faults, retries and restarts. `names`: titles of nodes and
    roles."""
    comma = ", " if lang == "en" else "，"

    def titles(nodes: tuple[str, ...]) -> str:
        return comma.join(names.get(node, node) for node in nodes)

    # None: every node may be killed, or may restart; no node: none may.
    of = ONLY(nodes=titles(budget.killable)).of(lang) if budget.killable is not None else ""
    faults = [
        words(n=n, s="" if n == 1 else "s", of=of).of(lang)
        for kind, words in FAULTS.items()
        if (n := getattr(budget, kind))
    ]
    bounds = [UP_TO(faults=comma.join(faults)).of(lang) if faults else FAULTLESS().of(lang)]
    if budget.retries:
        bounds.append(RETRIES(n=budget.retries).of(lang))
    if budget.restartable is not None and (budget.kills or budget.power_cuts):
        nodes = titles(budget.restartable)
        bounds.append((RESTARTS(nodes=nodes) if nodes else FINAL()).of(lang))
    # Only a client's program is a tuple of calls.
    calls = sum(len(s.program) for s in system.nodes() if isinstance(s.program, tuple))
    sentence = CALLS[calls == 1] if calls else EVERY  # (its forms for many, and for one)
    return sentence(n=calls, bounds=comma.join(bounds)).of(lang)
