"""The two searches beside each other: world by world, and by arrays."""

from __future__ import annotations

from mqlab.explore import Search


def find_same_search(system, budget, properties=None, many=1):
    """Asserts that both searches number the same worlds alike, with the same parents, choices
    and verdict; the verdict. `many`: from how many worlds on arrays are used."""
    plain, quick = (searched(system, budget, properties, n) for n in (None, many))
    assert quick.by_arrays and not plain.by_arrays
    assert quick.verdict() == plain.verdict()
    for name in ("levels", "starts", "found", "transitions", "complete", "ended"):
        assert getattr(quick, name) == getattr(plain, name), name
    assert list(quick.parents) == list(plain.parents)
    assert [steps_of(quick, n) for n in quick.chosen] == [steps_of(plain, n) for n in plain.chosen]
    worlds = zip(quick.worlds(), plain.worlds(), strict=True)
    assert all(quick.fields.unpack(a) == plain.fields.unpack(b) for a, b in worlds)
    return quick.verdict()


def searched(system, budget, properties, many):
    search = Search(system, budget, properties, many=many)
    while search.advance():
        pass
    return search


def steps_of(search, number):
    return str(search.moves.choices[number]) if search.moves.choices else ""
