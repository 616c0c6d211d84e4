"""Who shall read what: computed by the coordinator, no longer by a member.

*uniform* gives everybody the same number of partitions, give or take one, and moves as few
as that allows. *range* cuts each topic into consecutive pieces, in the order of the members'
ids, so that the same numbers of two topics go to the same member.

The result is sticky and balanced as Kafka's is; which of two equals gets the odd partition
depends there on the order of a hash map, and is not imitated.

Sources: UniformAssignor, UniformHomogeneousAssignmentBuilder, RangeAssignor (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

#: by member: the topics it subscribes to
Wishes = Mapping[str, Sequence[str]]
#: by topic: how many partitions it has
Counts = Mapping[str, int]
#: by member: the partitions it shall have, sorted
Target = dict[str, tuple[str, ...]]


def uniform(wishes: Wishes, counts: Counts, before: Mapping[str, Sequence[str]]) -> Target:
    """`before`: the last target."""
    reading = {t: [m for m in sorted(wishes) if t in wishes[m]] for t in sorted(counts)}
    owner: dict[str, str] = {}
    given: dict[str, list[str]] = {m: [] for m in sorted(wishes)}
    every = {f"{t}-{i}": t for t in reading if reading[t] for i in range(counts[t])}
    for member in given:
        for partition in before.get(member, ()):
            if partition in every and member in reading[every[partition]]:
                owner[partition] = member
                given[member].append(partition)
    for partition, topic in every.items():
        if partition not in owner:
            member = min(reading[topic], key=lambda m: len(given[m]))
            given[member].append(partition)
            owner[partition] = member
    _even_out(given, {p: reading[t] for p, t in every.items()})
    return {m: tuple(sorted(rows, key=_place)) for m, rows in given.items()}


def _even_out(given: dict[str, list[str]], readers: Mapping[str, Sequence[str]]) -> None:
    """Move partitions from the member with most to the one with least that may read them, until
    no move makes the two more equal."""
    moved = True
    while moved:
        moved = False
        for member in sorted(given, key=lambda m: -len(given[m])):
            mine = given[member]
            for place in range(len(mine) - 1, -1, -1):
                least = min(readers[mine[place]], key=lambda m: len(given[m]))
                if len(given[least]) + 1 < len(mine):
                    given[least].append(mine.pop(place))
                    moved = True
                    break


def ranges(wishes: Wishes, counts: Counts, before: Mapping[str, Sequence[str]]) -> Target:
    given: dict[str, list[str]] = {m: [] for m in sorted(wishes)}
    for topic in sorted(counts):
        readers = [m for m in sorted(wishes) if topic in wishes[m]]
        if not readers:
            continue
        size, odd = divmod(counts[topic], len(readers))
        at = 0
        for place, member in enumerate(readers):
            end = at + size + (place < odd)
            given[member] += [f"{topic}-{i}" for i in range(at, end)]
            at = end
    return {m: tuple(sorted(rows, key=_place)) for m, rows in given.items()}


def _place(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


ASSIGNORS: dict[str, Callable[[Wishes, Counts, Mapping[str, Sequence[str]]], Target]] = {
    "uniform": uniform,
    "range": ranges,
}
