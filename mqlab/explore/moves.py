"""What a node may do, worked out once for each neighbourhood it is ever in.

A node's *neighbourhood* is its own state, the links it is an end of and the counters of the
budget: `world & mask`. It decides which choices the node has, and which number each of them
adds to the world. The roles' handlers run here, and nowhere else in a search, with every
prefix of their effects; a `Place` remembers what came of it, so however many worlds share a
neighbourhood, it was worked out once.

One thing reaches further than the links: a node that stops is noticed by every client that
is connected to it, and what that adds depends on the state of that client. So a stop lists
its `peers`, and the search asks each of them for its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from ..kernel.choice import Choice
from ..kernel.moves import node_event, specs
from ..kernel.role import Caller, CancelTimer, Event, Reply, Request, Response, Send, SetTimer
from ..kernel.system import System
from ..kernel.world import NodeState, Stage, notice_break, run, start_node, stop_node
from .budget import Budget
from .change import Arriving, Change, Message, PeerBreak
from .links import Link, Pair, Queue
from .packed import Fields


class Prefix(NamedTuple):
    """What a step has done after one of its effects: the node, and what left it so far. `lasts`:
    the effect outlives the process (it is on a disk, on its way or at an application)."""

    node: NodeState
    sent: tuple[Message, ...] = ()
    lasts: bool = False


class Step:
    """A step of a node in one state: `taken` is the message that brings it about, `worth` the
    node's afterwards. What the whole step adds depends on the links that it changes (`mask`) and
    is kept by what these were."""

    __slots__ = ("choice", "mask", "number", "prefixes", "taken", "totals", "worth")

    def __init__(
        self,
        choice: Choice,
        number: int,
        prefixes: list[Prefix],
        worth: int,
        taken: Message | None = None,
    ) -> None:
        self.choice, self.number, self.prefixes, self.taken = choice, number, prefixes, taken
        self.worth, self.mask, self.totals = worth, 0, dict[int, int]()


#: what a stop adds to the world, the number of its choice, and the peers that notice it
Stop = tuple[int, int, tuple[PeerBreak, ...]]


class Group:
    """All choices of one neighbourhood. `steps`: (what is added to the world, choice's
    number); `stops`: the same, with the peers that notice it. Choices that lead to the same world
    are listed once, those that change nothing never; `count` is how many there are."""

    __slots__ = ("count", "steps", "stops")

    def __init__(self) -> None:
        self.count = 0
        self.steps: tuple[tuple[int, int], ...] = ()
        self.stops: tuple[Stop, ...] = ()

    def add(self, choice: int, added: int, peers: tuple[PeerBreak, ...] = ()) -> None:
        self.count += 1
        if peers:
            who = [one.number for one in peers]
            known = ((stop[0], [one.number for one in stop[2]]) for stop in self.stops)
            if (added, who) not in known:
                self.stops = (*self.stops, (added, choice, peers))
        elif added and all(added != step[0] for step in self.steps):
            self.steps = (*self.steps, (added, choice))


class Moves:
    """The places of a system, and every choice met so far, each with a number."""

    def __init__(self, system: System, budget: Budget, fields: Fields) -> None:
        self.system, self.budget, self.fields = system, budget, fields
        self.choices: list[Choice] = []
        self._numbers: dict[Choice, int] = {}
        self.places = [Place(self, i) for i in range(len(fields.nodes))]
        fields.watch(self._joined)

    def number(self, choice: Choice) -> int:
        number = self._numbers.setdefault(choice, len(self.choices))
        if number == len(self.choices):
            self.choices.append(choice)
        return number

    def _joined(self, pair: Pair) -> None:
        """A link is used for the first time: from now on it belongs to the neighbourhoods
        of its two ends. What was worked out before stays right, for it was worth 0 then."""
        for role in pair:
            place = self.places[self.fields.placed[role][0]]
            place.mask |= self.fields.links[pair].mask
            place.pairs[pair] = {}


class Place(dict[int, Group]):
    """One node; its choices by neighbourhood."""

    def __init__(self, moves: Moves, number: int) -> None:
        """Prepare the place of node `number`; its choices are worked out when its neighbourhoods
        are first met. The `_…` dictionaries below remember what was worked out, by the parts of the
        world that it depends on. The bits of a part in the integer that is the world are its
        `mask`, and its value in these bits is its worth (see `packed.py`)."""
        super().__init__()
        self._moves, self._fields, self._budget = moves, moves.fields, moves.budget
        self.spec = specs(moves.system)[moves.fields.names[number]]
        self.roles = {role: i for i, (role, _) in enumerate(self.spec.roles)}
        self.field = moves.fields.nodes[number]
        #: of each link: the steps by which a message arrives, by the node's state and the link's
        self.pairs: dict[Pair, dict[int, tuple[Step, ...]]] = {}
        self.mask = self.field.mask
        self._counters = {
            kind: moves.fields.counters[name]
            for kind, name in self._budget.counters(self.spec.name).items()
        }
        for counter in self._counters.values():
            self.mask |= counter.mask
        self._counted = sum(counter.mask for counter in self._counters.values())  # all their bits
        #: what a fault or timer adds to the counters, by these, its kind, and the timer's name
        self._spent: dict[tuple[int, str, str], int] = {}
        #: steps by the node's state and the message that arrives, or local, call, fire
        self._runs: dict[tuple[int, str | Message], Step] = {}
        #: by the worth of a stopped node: itself after each effect of its recovery, and its worth
        #: when it is up again
        self._recoveries: dict[int, tuple[list[Prefix], int]] = {}
        #: the node once it has stopped: after so many effects of a step, or (the node's worth
        #: instead of a step) of its recovery or between two steps; and whether by a power cut
        self._downs: dict[tuple[Step | int, int, bool], int] = {}
        #: the nodes that notice when this one stops or its connection breaks, and their changes
        self.peers: list[PeerBreak] = []
        #: their places in `peers`, by node and the answers of this one that still reach it
        self._peer_numbers: dict[tuple[int, Arriving], int] = {}

    def __missing__(self, key: int) -> Group:
        group = self[key] = Group()
        node: NodeState = self.field.value(key)
        if node.up:
            for step, spent in self._steps(key, node):
                self._add_step(group, key, step, spent)
            self._add_faults(group, key, node)
        elif self._budget.may_restart(self.spec.name):
            self._add_restart(group, key, node)
        return group

    # -- steps ---------------------------------------------------------------------------

    def _steps(self, key: int, node: NodeState) -> Iterator[tuple[Step, int]]:
        """Yield each step that this node may take next, with what it adds to the counters of the
        budget: messages that arrive by its links, its own next event, its application's next call,
        its next timer. `key`: the world (or the parts of it that matter here) as one integer."""
        # a copy: working out a step may use a link for the first time, which adds it to `pairs`
        for pair, arrivals in list(self.pairs.items()):
            field = self._fields.links[pair]
            here = key & (field.mask | self.field.mask)  # the state of the link and of the node
            steps = arrivals.get(here)
            if steps is None:
                steps = arrivals[here] = tuple(self._arriving(key, node, pair, field.value(key)))
            for step in steps:
                yield step, 0
        if node.inbox:
            yield self._own_step(key, node, "local"), 0
        if node.app is not None and node.app.next_call() is not None:
            yield self._own_step(key, node, "call"), 0
        if node.timers:
            # [0][1]: the name of the timer that expires first
            cost = self._spend(key, "fire", node.timers[0][1])
            if cost:  # 0: the budget allows no further timer
                yield self._own_step(key, node, "fire"), cost

    def _arriving(self, key: int, node: NodeState, pair: Pair, link: Link) -> Iterator[Step]:
        if pair[1] in self.roles:
            for conn, queue in link.requests:
                yield from self._deliveries(key, node, "q", pair, conn, queue)
        elif link.answers:
            yield from self._deliveries(key, node, "r", pair, link.number, link.answers)

    def _deliveries(
        self, key: int, node: NodeState, kind: str, pair: Pair, conn: int, queue: Queue
    ) -> Iterator[Step]:
        """Yield a step for each message in flight that may arrive next at this node: of a queue
        only the first message, of a set (where messages have no sequence and stay) any. `key`: the
        world as one integer; `kind`: "q" (requests) or "r" (answers); `pair`: client and server;
        `conn`: the number of the connection; `queue`: the numbers of the messages on it."""
        client, server = pair
        is_queue = self._moves.system.network != "set"
        for index, note in enumerate(queue[:1] if is_queue else queue):
            message = Message(kind, pair, conn, note)
            # what a message brings about depends only on it and on the node's own state
            memo = (key & self.field.mask, message)
            if memo not in self._runs:
                sent = self._fields.notes[note]
                event: Event = Response(server, sent.corr, sent.body)
                if kind == "q":
                    event = Request(Caller(client, conn, sent.corr), sent.body)
                role = self.roles[server if kind == "q" else client]
                name = "request" if kind == "q" else "response"
                choice = Choice(name, client, server, conn, index)
                self._runs[memo] = self._run(choice, node, role, event, message)
            yield self._runs[memo]

    def _own_step(self, key: int, node: NodeState, kind: str) -> Step:
        """The node's own next event: local, call, fire."""
        memo = (key & self.field.mask, kind)
        if memo not in self._runs:
            choice = Choice(kind, self.spec.name)
            role, event, rest = node_event(node, choice, 0)
            self._runs[memo] = self._run(choice, rest, role, event)
        return self._runs[memo]

    def _run(
        self, choice: Choice, node: NodeState, role: int, event: Event, taken: Message | None = None
    ) -> Step:
        prefixes = self._prefixes(run(self.spec, node, role, event))
        worth = self.field.worth(prefixes[-1].node)
        return Step(choice, self._moves.number(choice), prefixes, worth, taken)

    def _prefixes(self, stages: list[Stage]) -> list[Prefix]:
        """For each stage: the node after it, all messages sent up to it, and whether its effect
        outlives the process."""
        out: list[Prefix] = []
        sent: tuple[Message, ...] = ()
        for stage in stages:
            if stage.wire is not None and stage.note is not None:
                kind, client, server, conn = stage.wire
                sent = (*sent, Message(kind, (client, server), conn, self._fields.note(stage.note)))
            match stage.effect:
                case SetTimer() | CancelTimer() | Reply():  # (a reply not sent is like one lost)
                    lasts = False
                case effect:
                    lasts = stage.wire is not None or not isinstance(effect, Send)
            out.append(Prefix(stage.node, sent, lasts))
        return out

    def _add_step(self, group: Group, key: int, step: Step, cost: int) -> None:
        """Add the choices of one step to the group: the whole step, and the step with a stop after
        some but not all of its effects. (A stop after none or all of them is one between two steps,
        which is a fault of its own.) `key`: the world as one integer; `cost`: what the step adds to
        the counters."""
        # the mask is 0, and `totals` empty, until the step is met for the first time
        added = step.totals.get(key & step.mask)
        if added is None:
            change = self._changed(key, step, step.prefixes[-1])
            added = change.total(self.field, step.worth)
            step.mask = change.mask
            step.totals[key & step.mask] = added
        group.add(step.number, cost + added)
        # prefix 0 is before the first effect, the last one after all of them
        for done, prefix in enumerate(step.prefixes[1:-1], 1):
            for how, stop_cost in self._stops(key):
                for answers in self._arrivals(key, step, done):
                    change = self._changed(key, step, prefix)
                    choice = step.choice.stop_after(done, how, answers)
                    down = self._down(step, done, prefix.node, how)
                    self._add_stop(group, choice, change, prefix.node, down, cost + stop_cost)

    def _arrivals(self, key: int, step: Step, done: int) -> Iterator[tuple[str, ...]]:
        """Which of the clients that the step has answered by then hear it: none, or any of them.
        Where all that the step has still to do dies with the process, an answer that arrives is
        one that had arrived before a stop between two steps, which is a choice of its own."""
        yield ()
        if any(prefix.lasts for prefix in step.prefixes[done + 1 :]):
            link = self._changed(key, step, step.prefixes[done]).link
            sent = (m for m in step.prefixes[done].sent if m.kind == "r")
            clients = sorted({m.pair[0] for m in sent if m.conn == link(m.pair).number})
            for many in range(1, len(clients) + 1):
                yield from combinations(clients, many)

    def _changed(self, key: int, step: Step, prefix: Prefix) -> Change:
        change = Change(self._fields, key)
        if step.taken is not None:
            change.take(step.taken)
        change.send(prefix.sent)
        return change

    # -- faults --------------------------------------------------------------------------

    def _spend(self, key: int, kind: str, timer: str = "") -> int:
        """What it adds to the counters to do something once more; 0: nothing is left."""
        memo = (key & self._counted, kind, timer)
        if memo not in self._spent:
            self._spent[memo] = self._add_spent(*memo)
        return self._spent[memo]

    def _add_spent(self, key: int, kind: str, timer: str) -> int:
        if self._budget.is_retry(self._moves.system, timer):
            kind = "retry"
        counter = self._counters.get(kind)
        if counter is None:
            return 0
        more = self._budget.more(kind, counter.value(key), timer)
        return 0 if more is None else counter.worth(more) - (key & counter.mask)

    def _stops(self, key: int) -> Iterator[tuple[str, int]]:
        for how in ("kill", "power"):
            spent = self._spend(key, how)
            if spent:
                yield how, spent

    def _add_stop(
        self, group: Group, choice: Choice, change: Change, before: NodeState, down: int, spent: int
    ) -> None:
        change.stop_clients(before)
        peers: dict[int, Arriving] = {}
        lost = change.lose_clients(self.pairs, self.roles, choice.answers)
        for pair, answers in lost.items():
            client = self._fields.placed[pair[0]][0]
            before_it = peers.get(client, ())
            peers[client] = (*before_it, (pair, answers)) if answers else before_it
        added = spent + change.total(self.field, down)
        noticed = tuple(self._find_peer(*peer) for peer in peers.items())
        group.add(self._moves.number(choice), added, noticed)

    def _down(self, of: Step | int, done: int, before: NodeState, how: str) -> int:
        """The worth of the node when it has stopped."""
        memo = (of, done, how == "power" and not self._moves.system.synced)
        if memo not in self._downs:
            self._downs[memo] = self.field.worth(stop_node(before, memo[-1]))
        return self._downs[memo]

    def _find_peer(self, client: int, answers: Arriving) -> PeerBreak:
        """What the node with this number becomes when it notices that this one has stopped."""
        number = self._peer_numbers.setdefault((client, answers), len(self.peers))
        if number == len(self.peers):
            other = self._moves.places[client]
            self.peers.append(PeerBreak(other.field, other.roles, self.roles, number, answers))
        return self.peers[number]

    def _add_faults(self, group: Group, key: int, node: NodeState) -> None:
        """Add to the group the choices by which this node stops between two steps, or a connection
        that it opened breaks, where the budget of the world has one left. `key`: the bits of the
        world that these choices depend on; `node`: the state of the node in it. What a choice adds
        to the world is one int: the budget that it spends, the links and nodes that it changes."""
        for how, spent in self._stops(key):
            change = Change(self._fields, key)
            down = self._down(key & self.field.mask, done=0, before=node, how=how)
            self._add_stop(group, Choice(how, self.spec.name), change, node, down, spent)
        spent = self._spend(key, "break")
        for pair in node.conns if spent else ():
            change = Change(self._fields, key)
            change.put(pair, change.link(pair).break_connection())
            after = notice_break(node, self.roles[pair[0]], pair)
            number = self._moves.number(Choice("break", *pair))
            peers = self._other_end(pair, change)  # may put the way back into the change
            added = spent + change.total(self.field, self.field.worth(after))
            group.add(number, added, peers)

    def _other_end(self, pair: Pair, change: Change) -> tuple[PeerBreak, ...]:
        """The peer that notices the break as well, where one connection serves both directions."""
        back = (pair[1], pair[0])
        if not self._moves.system.both_ways or not change.link(back).open:
            return ()
        change.put(back, change.link(back).break_connection())
        return (self._find_peer(self._fields.placed[pair[1]][0], ()),)

    def _add_restart(self, group: Group, key: int, node: NodeState) -> None:
        """Add the choices of a restart of this node to the group: a start from the disk, whole or
        stopped again after some of its effects. No client is connected to a starting node, so none
        notices such a stop. A restart itself is free: the budget has no counter for it. `key`: the
        world as one integer."""
        # one prefix for each effect; the last one is the node that has started, with this worth
        prefixes, worth = self._recovery(key, node)
        change = Change(self._fields, key)
        change.send(prefixes[-1].sent)
        change.connect(prefixes[-1].node)
        restart = Choice("restart", self.spec.name)
        group.add(self._moves.number(restart), change.total(self.field, worth))
        for done, prefix in enumerate(prefixes[:-1], 1):
            for how, stop_cost in self._stops(key):
                change = Change(self._fields, key)
                change.send(prefix.sent)
                change.stop_clients(prefix.node)
                number = self._moves.number(restart.stop_after(done, how))
                down = self._down(key & self.field.mask, done, prefix.node, how)
                group.add(number, stop_cost + change.total(self.field, down))

    def _recovery(self, key: int, node: NodeState) -> tuple[list[Prefix], int]:
        """The node after each effect of its recovery; at the end it is up and has this worth."""
        memo = key & self.field.mask
        recovery = self._recoveries.get(memo)
        if recovery is None:
            stages = [stage for _, stage in start_node(self.spec, node)]
            prefixes = self._prefixes(stages)
            inside = [p for s, p in zip(stages, prefixes, strict=True) if s.effect is not None]
            worth = self.field.worth(prefixes[-1].node)
            recovery = self._recoveries[memo] = ([*inside[:-1], prefixes[-1]], worth)
        return recovery
