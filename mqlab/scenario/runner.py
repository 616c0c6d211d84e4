"""Running a script: each line until nothing is left to do, oldest first. A line `do` is one
choice and no more, so that a schedule that was found can be kept as a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ..kernel import (
    NOTHING,
    Append,
    Choice,
    Reply,
    Run,
    Send,
    System,
    Text,
    Words,
    World,
    replace,
    worded,
)
from ..kernel.choice import parse
from ..kernel.moves import Moved, apply, placements
from ..kernel.run import put_in_words
from ..kernel.stops import describe_stop
from ..kernel.text import BadValue, say_unknown, tr
from .language import MORE, Line, Message, ScenarioError, Script, raise_all, read_ms

# What still waits when an execution is over, and for what: calls without an answer, and messages
# that no process takes. A closing line of the command, not of the narration, which files keep.

STILL = Words("still waits: {all}")
CALL = Words("{call} of {node}, for an answer")
CALL_OR_BREAK = Words("{call} of {node}, for an answer or for a broken connection ({breaks})")
CALL_OR_TIMER = Words("{call} of {node}, for an answer or for a timer ({timers})")
DEAD = Words("{message}, for {node}, which is dead (`restart {node}`)")
HELD = Words("{message}, for `release {message}`")
MOST = 6  # that are named one by one
CUT = Words("{message}, for `heal`")


def list_calls(world: World, alone: bool) -> Iterator[Text]:
    """The calls that have no answer yet, each with the timers that may end it, its client's first;
    other processes' only where no message waits (`alone`). Without any, its request was thrown
    away: a client asks again once the connection breaks."""
    timers = {at: [name for _, name, _ in node.timers] for at, node in world.nodes.items()}
    for node, state in world.nodes.items():
        if state.app is None or not state.app.waiting:
            continue
        call = put_in_words(replace(state.app, waiting=False).next_call())
        mine = {node: timers[node]} | (timers if alone else {})
        fires = ", ".join(f"`fire {at} {name}`" for at, names in mine.items() for name in names)
        breaks = ", ".join(f"`break {a} {b}`" for a, b in state.conns) if alone else ""
        says = CALL_OR_TIMER if fires else CALL_OR_BREAK if breaks else CALL
        yield says(call=call, node=node, timers=fires, breaks=breaks)


def close(parts: list[Text]) -> Text:
    """All of it in one line; nothing where nothing waits."""
    if not parts:
        return NOTHING
    more = [MORE(n=len(parts) - MOST)] if len(parts) > MOST else []
    told = [*parts[:MOST], *more]
    both = Text("; ".join(part.en for part in told), "；".join(part.of("zh") for part in told))
    return STILL(all=both)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that may happen: a choice, and for a message which one it is."""

    choice: Choice
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Performance:
    """A script's execution, `run`. `ends`: for each line how many facts there were when nothing
    was left to do. `idle`: for each line that waited for something that never came, a sentence.
    `waits`: what still waits at the end, in one line; nothing where nothing does."""

    run: Run
    ends: tuple[int, ...]
    idle: tuple[str, ...]
    waits: Text = NOTHING


def perform(script: Script, system: System) -> Run:
    """Run a whole script; ScenarioError names the line that was not possible."""
    return perform_lines(script, system).run


def perform_all(script: Script, system: System) -> Run:
    """The same, and a line that waits for what never comes is an error too."""
    done = perform_lines(script, system)
    if done.idle:
        raise ScenarioError("; ".join(done.idle))
    return done.run


def perform_lines(script: Script, system: System) -> Performance:
    """The same, with what is known of each line."""
    driver = _Driver(script, system)
    raise_all([*driver.list_mistakes(script.lines)])
    ends = []
    for line in script.lines:
        try:
            driver.line(line)
        except ValueError as error:
            waits = "".join(f"; {idle}" for idle in driver.idle())
            raise ScenarioError("line {}: {}{}", line.number, error, waits) from error
        ends.append(len(driver.run.facts))
    return Performance(driver.run, tuple(ends), tuple(driver.idle()), driver.tell_waiting())


NO_NODE = Words("line {0} waits in vain: {1} is down; restart {1}")
NO_STEP = Words("no step of {} emits {}#{}")
NO_MESSAGE = Words("no {}#{} on {}→{}")
IN_VAIN = Words("line {} waits in vain: {}; there was {}")
STEP = Words("the step of {} that emits {}#{}")
POSSIBLE = Words("possible: {}")


class _Driver:
    def __init__(self, script: Script, system: System) -> None:
        self.system = system
        self.run = Run(system, script.title)
        self.at_ms = 0
        self.ahead: dict[str, int] = {}  # by how many milliseconds a node's clock is
        self.armed = [line for line in script.lines if line.armed]
        self.queue: list[Waiting] = []
        self.seen: Counter[tuple[str, str, str, bool]] = Counter()
        self.emitted: Counter[tuple[str, str]] = Counter()
        self.vain: list[str] = []
        self.unmade: list[Line] = []  # whose calls wait for a restart
        self.cut: list[frozenset[str]] = []
        self._notice(self.run.world)

    # -- lines ---------------------------------------------------------------------------

    def list_mistakes(self, lines: Sequence[Line]) -> Iterator[ScenarioError]:
        """Yield an error for each command that cannot work whatever happens before it: it names
        something that is neither a node nor a role, or a call that cannot be read."""
        known = list(dict.fromkeys((*self.run.world.nodes, *placements(self.system))))
        for line in lines:
            names: tuple[str, ...] = ()
            if line.message is not None:
                names = (line.message.src, line.message.dst)
            elif line.command in ("break", "kill", "power-cut"):
                names = line.words
            elif line.command in ("clock", "fire", "restart"):
                names = line.words[:1]
            elif line.command == "partition":
                names = tuple(" ".join(line.words).replace("|", " ").replace(",", " ").split())
            try:
                for name in names:
                    if name not in known:
                        raise ValueError(say_unknown("node", name, known))
                if line.command == "run":  # tried on the world, which itself does not change
                    apply(self.system, self.run.world, Choice("run", line.words[0], line.words[1]))
            except ValueError as error:
                yield ScenarioError("line {}: {}", line.number, error)

    def _check_connection(self, a: str, b: str) -> None:
        """BadValue, with the connections that these two have, where they have none together."""
        conns = [pair for node in self.run.world.nodes.values() for pair in node.conns]
        if (a, b) not in conns:
            of_these = [f"break {src} {dst}" for src, dst in conns if {src, dst} & {a, b}]
            existing = POSSIBLE(", ".join(of_these)) if of_these else tr("neither has any yet")
            raise BadValue("{} has no connection to {}; {}", a, b, existing)

    def line(self, line: Line) -> None:
        """Carry out one command, then (except after `do`, which is one choice and no more) let
        everything happen that no command holds back. A command that waits for a step or a message
        does nothing here: it acts when that comes. Raises ValueError where it is not possible."""
        match line.command:
            case "do":
                self._do(parse(line.words[0]))
                return
            case "run":
                self._do(Choice("run", line.words[0], line.words[1]))
                # the calls of a client that is down are made once it is restarted
                if not self.run.world.nodes[line.words[0]].up:
                    self.unmade.append(line)
            case "release":
                self._release(line)
            case "kill" | "power-cut" if not line.kind:  # with a kind it waits for a step
                how = "kill" if line.command == "kill" else "power"
                self._do(Choice(how, line.words[0], answers=line.answers))
            case "restart":
                restart = parse(f"restart {' '.join(line.words)}")
                self.unmade = [run for run in self.unmade if run.words[0] != restart.a]
                # stopped again after some effects, as it says itself or by a waiting command
                self._do(restart if restart.stop >= 0 else self._stopped(restart))
            case "break" | "fire":
                if line.command == "break":
                    self._check_connection(line.words[0], line.words[1])
                self._do(Choice(line.command, line.words[0], " ".join(line.words[1:])))
            case "partition":
                groups = " ".join(line.words).split("|")
                # what one side sends to another waits until `heal`
                self.cut = [frozenset(g.replace(",", " ").split()) for g in groups]
            case "heal":
                self.cut = []
            case "at":
                if (at_ms := read_ms(line.words[0])) < self.at_ms:
                    raise ScenarioError(
                        "time goes on: it is {} ms already; `clock NODE -200ms` sets a clock back",
                        self.at_ms,
                    )
                self.at_ms = at_ms
            case "clock":
                self.ahead[line.words[0]] = read_ms(line.words[1])
        self._quiesce()

    def _release(self, line: Line) -> None:
        held = [a for a in self.armed if a.message == line.message]
        if not held:
            others = [show_message(a.message) for a in self.armed if a.message is not None]
            if others:
                raise ScenarioError("no line holds this message; held is: {}", ", ".join(others))
            raise ScenarioError("no line holds this message; write a `hold` or `late` for it")
        self.vain += filter(None, map(self._in_vain, held))
        self.armed = [a for a in self.armed if a not in held]

    def _quiesce(self) -> None:
        for _ in range(100_000):
            ready = next((w for w in self.queue if self._may(w) or self._refused(w)), None)
            if ready is None:
                return
            if self._may(ready):
                self.queue.remove(ready)
                self._take(ready)
            else:
                self._do(Choice("refuse", ready.choice.a, ready.choice.b))
        raise ScenarioError("still running after 100,000 steps: an endless loop")

    def idle(self) -> Iterator[str]:
        """The armed lines whose message or step never came, and what came instead; also of messages
        that were released before they came."""
        yield from self.vain
        for line in self.unmade:
            node = line.words[0]
            yield str(NO_NODE(line.number, node))
        yield from filter(None, map(self._in_vain, self.armed))

    def _in_vain(self, line: Line) -> str:
        """Describe what a waiting command still waits for, with what came instead; "" where its
        message came. (One that waits for a step does so no more once the step has come.)"""
        message = line.message
        if message is None:  # it waits for the n-th step of a node that emits this kind
            node = line.words[0]
            wanted = NO_STEP(node, show_kind(line.kind), line.n)
            arrived = {kind: n for (who, kind), n in self.emitted.items() if who == node}
        else:
            direction = (message.src, message.dst, message.answer)
            # how many messages of each kind came; a key is (src, dst, kind, whether an answer)
            sent = {key[2]: n for key, n in self.seen.items() if (*key[:2], key[3]) == direction}
            if sent.get(message.kind, 0) >= message.n:
                return ""  # it came, and is or was held
            arrow = "⇒" if message.answer else ""
            wanted = NO_MESSAGE(arrow + message.kind, message.n, message.src, message.dst)
            arrived = {arrow + kind: n for kind, n in sent.items()}
            back = (message.dst, message.src, message.kind, message.answer)
            if not arrived and self.seen[back]:  # the arrow points to who was asked, always
                other = Message(*back[:3], answer=back[3])
                return str(IN_VAIN(line.number, wanted, show_message(other)))
        emitted = ", ".join(f"{show_kind(kind)}#{n}" for kind, n in arrived.items())
        return str(IN_VAIN(line.number, wanted, emitted or tr("nothing", "came")))

    def tell_waiting(self) -> Text:
        """What waits although nothing can happen; where a single choice was the last line, all that
        could happen has not, and nothing is said of calls."""
        firsts = {self._wire(w): w for w in reversed(self.queue)}
        messages = [
            self._tell_message(waiting, show_message(waiting.message))
            for waiting in reversed(firsts.values())
            if waiting.message is not None and not self._may(waiting)
        ]
        over = not any(map(self._may, self.queue))
        calls = list_calls(self.run.world, not messages) if over else ()
        return close([*calls, *messages])

    def _tell_message(self, waiting: Waiting, message: str) -> Text:
        choice = waiting.choice
        target = choice.b if choice.kind == "request" else choice.a
        node, _ = placements(self.system)[target]
        if not self.run.world.nodes[node].up:
            return DEAD(message=message, node=node)
        return (HELD if self._held(waiting) else CUT)(message=message)

    # -- what may happen -----------------------------------------------------------------

    def _may(self, waiting: Waiting) -> bool:
        """Up, not held, not after something held on its wire, not cut off."""
        choice = waiting.choice
        if choice.kind in ("request", "response"):
            wire = (choice.kind, choice.a, choice.b, choice.conn)
            first = next(w for w in self.queue if self._wire(w) == wire)
            if first is not waiting or self._held(waiting):
                return False
            target = choice.b if choice.kind == "request" else choice.a
            return self.run.world.nodes[target].up and not self._apart(choice.a, choice.b)
        return self.run.world.nodes[choice.a].up

    def _refused(self, waiting: Waiting) -> bool:
        """A request to a node that is down, of a client that hears it; one that is late left
        before, and may still arrive."""
        choice = waiting.choice
        if choice.kind != "request" or choice.conn != self._conn(choice):
            return False
        node, _ = placements(self.system)[choice.b]
        down = not self.run.world.nodes[node].up
        return down and self.system.is_refused(choice.a, choice.b)

    @staticmethod
    def _wire(waiting: Waiting) -> tuple[str, str, str, int]:
        c = waiting.choice
        return c.kind, c.a, c.b, c.conn

    def _held(self, waiting: Waiting) -> bool:
        late = waiting.choice.conn != self._conn(waiting.choice)
        return any(
            a.message == waiting.message and (a.command == "hold" or (a.command == "late" and late))
            for a in self.armed
        )

    def _conn(self, choice: Choice) -> int:
        number: int = self.run.world.nodes[choice.a].conns.get((choice.a, choice.b), 0)
        return number

    def _apart(self, a: str, b: str) -> bool:
        return any(
            a in group and b not in group and any(b in g for g in self.cut) for group in self.cut
        )

    def _take(self, waiting: Waiting) -> None:
        """Carry out the next choice. If it delivers a message for which a `drop`, `lose` or `late`
        waits, drop the message, lose it with its connection, or make it late instead."""
        choice = waiting.choice
        for armed in self.armed:
            if armed.message is not None and armed.message == waiting.message:
                if armed.command == "drop":
                    self.armed.remove(armed)
                    self._do(Choice("drop", choice.a, choice.b))
                    return
                if armed.command == "lose":
                    self.armed.remove(armed)
                    # an answer is always lost when its connection breaks, a request is not
                    lost = choice.kind == "request"
                    self._do(Choice("lose" if lost else "break", choice.a, choice.b))
                    return
                if armed.command == "late":
                    # back to its place; the command stays and holds it now, until `release`
                    self.queue.insert(0, waiting)
                    self._do(Choice("break", choice.a, choice.b))
                    return
        self._do(self._stopped(choice))

    def _stopped(self, choice: Choice) -> Choice:
        """The choice, with a stop added where a waiting `kill` or `power-cut` strikes the step that
        it causes; BadValue where that has fewer effects than the command's `after`."""
        # `armed`: commands that wait for their moment; `kind`: what a stop waits for to be sent or
        # written, "" of a command that is no stop
        if not any(armed.kind for armed in self.armed):
            return choice
        now_ms = self.at_ms + self._ahead_of(choice)
        stages = apply(self.system, self.run.world, choice, now_ms)  # tried, not done
        node = stages[0].node
        # how many messages and records of each kind the step emits
        counts = Counter(kind for m in stages if (kind := name_kind(m)))
        for armed in [a for a in self.armed if a.kind and a.words == (node,)]:
            before = self.emitted[node, armed.kind]
            # this step brings the node's armed.n-th message or record of that kind
            if before < armed.n <= before + counts[armed.kind]:
                self.armed.remove(armed)
                most = sum(m.stage is not None and m.stage.effect is not None for m in stages)
                if armed.after > most:
                    step = STEP(node, show_kind(armed.kind), armed.n)
                    raise BadValue(
                        "line {0}: after={1}: {2} has {3} effects; write after=0 to after={3}",
                        armed.number,
                        armed.after,
                        step,
                        most,
                    )
                how = "kill" if armed.command == "kill" else "power"
                return choice.stop_after(armed.after, how, armed.answers)
        return choice

    # -- doing and noticing --------------------------------------------------------------

    def _do(self, choice: Choice) -> None:
        moved = self.run.do(choice, self.at_ms, self._ahead_of(choice))
        for move in moved:
            if kind := name_kind(move):
                self.emitted[move.node, kind] += 1
            self._notice(move.world)

    def _ahead_of(self, choice: Choice) -> int:
        """What the clock says of the node that the choice lets do something."""
        role = choice.b if choice.kind == "request" else choice.a
        return self.ahead.get(placements(self.system).get(role, (role, 0))[0], 0)

    def _notice(self, world: World) -> None:
        """Bring the queue of what waits to happen up to date with the world: new messages, own
        events and calls go to its end, what is gone is removed. Timers are not in it: they expire
        only by a command. `world`: the execution's world now."""
        for wire, notes in world.wires.items():
            kind, client, server, conn = wire
            choice = Choice("request" if kind == "q" else "response", client, server, conn)
            queued = sum(w.choice == choice for w in self.queue)
            for note in notes[queued:]:  # those before it are in the queue already
                self.queue.append(Waiting(choice, self._named(choice, note.body)))
        for name, node in world.nodes.items():
            local = Choice("local", name)
            queued = sum(w.choice == local for w in self.queue)
            self.queue += [Waiting(local)] * (len(node.inbox) - queued)
            call = Choice("call", name)
            if node.app is not None and node.app.next_call() is not None:
                if not any(w.choice == call for w in self.queue):
                    self.queue.append(Waiting(call))
        self._forget(world)

    def _forget(self, world: World) -> None:
        """Remove from the queue what can no longer happen in this world: for each choice as many
        entries stay as it has messages, events or calls there, the latest ones."""
        left: Counter[Choice] = Counter()
        for (kind, a, b, conn), notes in world.wires.items():
            left[Choice("request" if kind == "q" else "response", a, b, conn)] = len(notes)
        for name, node in world.nodes.items():
            left[Choice("local", name)] = len(node.inbox)
            can = node.up and node.app is not None and node.app.next_call() is not None
            left[Choice("call", name)] = int(can)
        kept: list[Waiting] = []
        for waiting in reversed(self.queue):  # what is lost is the oldest on its wire
            if left[waiting.choice] > 0:
                left[waiting.choice] -= 1
                kept.append(waiting)
        self.queue = kept[::-1]

    def _named(self, choice: Choice, body: object) -> Message:
        """Which message this is: the n-th of its kind from one role to the other."""
        answer = choice.kind == "response"
        kind = type(body).__name__
        kind = kind.removesuffix("Response") if answer else kind
        key = (choice.a, choice.b, kind, answer)
        self.seen[key] += 1
        return Message(choice.a, choice.b, kind, self.seen[key], answer)


def show_message(message: Message) -> str:
    """A message as a scenario writes it."""
    arrow = "⇒" if message.answer else ""
    return f"{message.src}→{message.dst} {arrow}{message.kind}#{message.n}"


def show_kind(kind: str) -> str:
    """A kind as a scenario writes it."""
    return f"⇒{kind.removesuffix('Response')}" if kind.endswith("Response") else kind


def name_kind(move: Moved) -> str:
    """What an effect is called in `when=`: a message's type, or a record's first word."""
    match move.stage.effect if move.stage else None:
        case Send(body=body) | Reply(body=body):
            return type(body).__name__
        case Append(entry=entry):
            return str(entry).split()[0]
    return ""


# ---- The places in an execution at which a node can be killed, each as a line of a scenario and in
# words
#
# A step is named by what it emits: `kill coordinator when=WriteTxnMarkers#1 after=1` strikes in the
# step of the coordinator that sends its first WriteTxnMarkers, when one effect of that step is
# done. A step that emits nothing has no name, and a kill in it cannot be distinguished from outside
# from one just before or after.


@worded("kill {node} when={step} after={after}")
class Kill:
    """One such place: the line that kills there, and what had been done of the step by then."""

    node: str
    step: str
    after: int
    text: Text


def find_kills(run: Run, nodes: Sequence[str] = ()) -> tuple[Kill, ...]:
    """Every place in the steps of these nodes (none named: of all), in the order of the execution.
    KeyError where the system has no node of that name."""
    again, emitted = Run(run.system), Counter[tuple[str, str]]()
    kills: list[Kill] = []
    for node in nodes:
        again.world.nodes[node]
    for choice in run.choices:
        moved = [move for move in again.do(choice) if move.what == "step"]
        kinds = [kind for move in moved if (kind := name_kind(move))]
        if kinds and (not nodes or moved[0].node in nodes):
            step = f"{show_kind(kinds[0])}#{emitted[moved[0].node, kinds[0]] + 1}"
            kills += _within(run, moved, step)
        emitted.update((moved[0].node, kind) for kind in kinds)
    return tuple(kills)


def _within(run: Run, moved: list[Moved], step: str) -> Iterator[Kill]:
    """Before the first effect, and after each that changes what can be seen."""
    node, name = moved[0].node, partial(run.system.name_effect, moved[0].role)
    effects = tuple(move.stage.effect for move in moved if move.stage and move.stage.effect)
    before = None
    for after in range(len(effects) + 1):
        text = describe_stop(False, effects, after, name)
        if text != before:
            yield Kill(node, step, after, text)
        before = text
