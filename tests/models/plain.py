"""A search without any trick: whole worlds, moved by `apply`, kept in a set.

Slow, and written only from what a `Budget` promises; the explorer must reach the same worlds.
"""

from __future__ import annotations

from itertools import combinations

from mqlab.explore import Search
from mqlab.kernel import CancelTimer, Send, SetTimer
from mqlab.kernel.choice import Choice
from mqlab.kernel.moves import apply, initial, list_answered, list_choices
from mqlab.kernel.role import Reply

COUNTERS = {"kill": "kills", "power": "power_cuts", "break": "breaks", "fire": "timers"}


def search_all(system, budget):
    """The explorer's search, at its end."""
    search = Search(system, budget)
    while search.advance():
        pass
    return search


def find_same_worlds(system, budget):
    """Asserts that the explorer reaches the worlds that the plain search reaches; its search."""
    search, plain = search_all(system, budget), reachable(system, budget)
    assert search.states == len(plain)
    assert {search.fields.unpack(world) for world in search.worlds()} == {w for w, _ in plain}
    return search


def reachable(system, budget, every=False):
    """Every (world, what was spent) within the budget: a set. `every`: whatever a node has answered
    may arrive when it stops, also where a search leaves that out, because it is the same run with
    the stop a little later."""
    first = (initial(system), (0, 0, 0, 0, ()))
    seen, todo = {first}, [first]
    while todo:
        world, spent = todo.pop()
        for choice in choices(system, world, budget, every):
            more = spend(system, budget, world, spent, choice)
            if more is not None:
                new = (apply(system, world, choice)[-1].world, more)
                if new not in seen:
                    seen.add(new)
                    todo.append(new)
    return seen


def choices(system, world, budget, every):
    """Steps, faults, and both stopped inside."""
    for choice in list_choices(system, world):
        node = apply(system, world, choice)[0].node
        yield from inside(system, world, budget, choice, node, every)
    for name, node in world.nodes.items():
        if not node.up:
            if budget.may_restart(name):
                yield from inside(system, world, budget, Choice("restart", name), name, every)
            continue
        if budget.may_stop(name):
            for clients in subsets(list_answered(system, world, name) if every else ()):
                yield Choice("kill", name, answers=clients)
                yield Choice("power", name, answers=clients)
        for pair in node.conns:
            yield Choice("break", *pair)


def inside(system, world, budget, choice, node, every):
    yield choice
    moved = apply(system, world, choice)
    done = [m for m in moved if m.stage is not None and m.stage.effect is not None]
    for many in range(1, len(done) if budget.may_stop(node) else 0):
        after = done[many - 1].world
        sent = [m.stage.wire for m in done[:many] if m.stage.wire in after.wires]
        answered = {client for kind, client, *_ in sent if kind == "r"}
        if every:
            answered = list_answered(system, after, node)
        elif all(dies(m.stage) for m in done[many:]):
            answered = ()
        for clients in subsets(sorted(answered)):
            yield choice.stop_after(many, "kill", clients)
            yield choice.stop_after(many, "power", clients)


def subsets(clients):
    return [some for many in range(len(clients) + 1) for some in combinations(clients, many)]


def dies(stage):
    """Whether nothing is left of an effect where its process stops at once."""
    local = isinstance(stage.effect, Send) and stage.wire is None
    return local or isinstance(stage.effect, (Reply, SetTimer, CancelTimer))


def settled(worlds):
    """Those in which no node has anything of its own to do."""
    return {pair for pair in worlds if not any(node.inbox for node in pair[0].nodes.values())}


def spend(system, budget, world, spent, choice):
    """The counters after a choice; None where the budget does not allow it."""
    *counts, retries = spent
    used = [choice.kind] if choice.kind in COUNTERS else []
    if choice.kind == "fire":
        timer = world.nodes[choice.a].timers[0][1]
        if budget.is_retry(system, timer):
            used = []
            retries = tuple(sorted((*retries, (choice.a, timer))))
            if retries.count((choice.a, timer)) > budget.retries:
                return None
    if choice.stop >= 0:
        used.append(choice.how)
    for kind in used:
        counts[list(COUNTERS).index(kind)] += 1
    bounds = [getattr(budget, name) for name in COUNTERS.values()]
    if any(n > bound for n, bound in zip(counts, bounds, strict=True)):
        return None
    return (*counts, retries)
