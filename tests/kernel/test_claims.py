"""Claims about a counter that may be written twice: as properties, as lights, and read once."""

from dataclasses import dataclass, replace

from mqlab.kernel import NodeSpec, Property, Quiet, Request, Run, Send, System, Words, claims
from mqlab.kernel.claims import (
    Claim,
    claims_by_key,
    keep_answers,
    keep_last_world,
    select_lights,
)
from mqlab.kernel.moves import initial


@dataclass(frozen=True, slots=True)
class Cluster:
    most: int


@dataclass(frozen=True, slots=True)
class Counter(Quiet):
    count: int = 0

    def step(self, event, disk):
        match event:
            case Request(body="one more"):
                return replace(self, count=self.count + 1), ()
        return self, ()


def few(cluster, world):
    return world.role("counter").count <= cluster.most


def counted(cluster, world):
    return world.role("counter").count > 0


def looked_at(cluster, name, node):
    return node.roles[0].count if name == "counter" else None


FEW = Claim("few enough", Words("it counts few", "计数不多"), few, reads=looked_at)
ODD = Claim("odd one", Words("it is odd", "奇数"), lambda cluster, world: True)
COUNTS = Claim("counts", Words("it can count", "能够计数"), counted, "sometimes")
NAMEABLE = claims_by_key((FEW, ODD))


@dataclass(frozen=True)
class Counting(System):
    most: int = 1
    asked: int = 2

    def nodes(self):
        asks = (Counter(), (Send("counter", "one more"),) * self.asked)
        counter = (Counter(), ())
        return (
            NodeSpec("asker", (("asker", lambda disk, at_ms: asks),)),
            NodeSpec("counter", (("counter", lambda disk, at_ms: counter),)),
        )

    def properties(self):
        return tuple(claim.of(Cluster(self.most)) for claim in (FEW, COUNTS))


def test_a_claim_is_a_property_of_one_cluster():
    """The same worlds, judged for a cluster that may count to one and one that may to two."""
    run, seen = Run(Counting()), []
    strict, mild = Counting(most=1).properties(), Counting(most=2).properties()
    for choice in ("asker>counter", "asker>counter"):
        run.do(choice)
        seen.append([p.holds(run.world) for p in (*strict, *mild)])
    assert seen == [[True, True, True, True], [False, True, True, True]]
    assert [p.holds(Run(Counting()).world) for p in strict] == [True, False]


def test_a_property_has_what_the_claim_says():
    found = FEW.of(Cluster(3))
    assert (found.name, found.kind, found.sentence.en) == ("few enough", "always", "it counts few")
    world = initial(Counting())
    assert found.reads("counter", world.nodes["counter"]) == 0
    assert found.reads("asker", world.nodes["asker"]) is None
    assert ODD.of(Cluster(3)).reads("asker", world.nodes["asker"]) is world.nodes["asker"]


def test_a_claim_is_named_by_one_word():
    assert NAMEABLE == {"few_enough": FEW, "odd_one": ODD}


def test_a_claim_that_may_be_named_has_a_light_where_it_is():
    always = Property("plain", Words("plain", "平常")(), lambda world: True)
    found = (always, *(claim.of(Cluster(1)) for claim in (FEW, ODD, COUNTS)))
    assert [p.name for p in select_lights(found, NAMEABLE, ())] == ["plain"]
    assert [p.name for p in select_lights(found, NAMEABLE, ("odd_one",))] == ["plain", "odd one"]
    assert [p.name for p in select_lights(found, {}, ())] == ["plain", "few enough", "odd one"]


def test_a_world_is_read_once_until_another_one_comes():
    read = []

    @keep_last_world
    def look(cluster, world):
        """Looks."""
        read.append((cluster, world))
        return [len(read)]

    one, two, small, large = initial(Counting()), initial(Counting()), Cluster(1), Cluster(2)
    assert one == two and one is not two
    assert look(small, one) is look(small, one)
    assert look(small, two) == [2]  # an equal world is another one
    assert look(large, two) == [3]
    assert look(small, one) == [4]  # only the last is kept
    assert look.__doc__ == "Looks."


def test_answers_are_kept_by_which_objects_were_asked_about(monkeypatch):
    monkeypatch.setattr(claims, "KEPT", 2)
    asked = []

    @keep_answers
    def size(items, more):
        asked.append(items)
        return len(items) + more

    one, equal = [1, 2], [1, 2]
    assert [size(one, 0), size(one, 0), size(equal, 0)] == [2, 2, 2]
    assert asked == [one, equal], "equal is not enough, for nobody compares them"
    assert [size([n], 7) for n in range(50)] == [8] * 50, "an id is not used again while it is kept"
    assert size(one, 0) == 2 and len(asked) == 53, "two answers are kept"
