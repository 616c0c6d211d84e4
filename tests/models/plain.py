"""A search without any trick: whole worlds, moved by `apply`, kept in a set.

Slow, and written only from what a `Budget` promises; the explorer must reach the same worlds.
"""

from __future__ import annotations

from mqlab.explore import Search
from mqlab.kernel.choice import Choice
from mqlab.kernel.world import apply, initial, list_choices

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


def reachable(system, budget):
    """Every (world, what was spent) within the budget: a set."""
    first = (initial(system), (0, 0, 0, 0, ()))
    seen, todo = {first}, [first]
    while todo:
        world, spent = todo.pop()
        for choice in choices(system, world, budget):
            more = spend(system, budget, world, spent, choice)
            if more is not None:
                new = (apply(system, world, choice)[-1].world, more)
                if new not in seen:
                    seen.add(new)
                    todo.append(new)
    return seen


def choices(system, world, budget):
    """Steps, faults, and both stopped inside."""
    for choice in list_choices(system, world):
        yield from inside(system, world, budget, choice, apply(system, world, choice)[0].node)
    for name, node in world.nodes.items():
        if not node.up:
            if budget.may_restart(name):
                yield from inside(system, world, budget, Choice("restart", name), name)
            continue
        if budget.may_stop(name):
            yield Choice("kill", name)
            yield Choice("power", name)
        for pair in node.conns:
            yield Choice("break", *pair)


def inside(system, world, budget, choice, node):
    yield choice
    stages = apply(system, world, choice)
    effects = sum(m.stage is not None and m.stage.effect is not None for m in stages)
    for done in range(1, effects if budget.may_stop(node) else 0):
        yield choice.stop_after(done)
        yield choice.stop_after(done, "power")


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
