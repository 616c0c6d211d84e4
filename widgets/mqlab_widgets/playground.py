"""`Playground`: a system under the learner's hand, with a picture after each choice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import traitlets

from mqlab.kernel import Property, System
from mqlab.kernel.offers import ARRIVES, Gap, Option
from mqlab.kernel.play import encode
from mqlab.kernel.stops import join_names
from mqlab.kernel.text import Lang, Text, Words, tr
from mqlab.kernel.trace import Trace

from .comparison import compare, find_fork
from .encoding import pack
from .goal import Goal
from .payload import Look, build, refuse, tail
from .player import Player
from .style import page_css
from .views.common import find_previous
from .widget import PictureWidget, join_modules

# What a learner may do in a picture, as plain data: by node for the buttons, and by the place in
# the picture at which it is done.
#
# An *area* is such a place, which one can click: a lane's name, something that a node may do by
# itself, a message in flight (its row), the gap below a row. Each has a menu; the play
# says what a choice means.

FAULTS = ("kill", "power", "break")
GLYPHS = {"call": "☞", "local": "▮", "timer": "⏲"}

AFTER = Words("{k} of {n} effects done")
MESSAGE = Words("{what}: {src} → {dst}, in flight")
DELIVER = tr("deliver it")
HOLD = tr("hold it back: the others go first")
RELEASE = tr("hold it back no longer")
DYING = Words("do this, but kill {node} on the way: {told}")
TOUCH = Words("what can be done with {node}")
HERE = Words("here {node} dies")
KILL = Words("kill {node} here: {told}")
POWER = Words("cut {node}'s power here: {told}")
BETWEEN = tr("between two steps")

Item = dict[str, Any]
Names = Mapping[str, str]


def list_nodes(options: Sequence[Option], names: Names, lang: Lang) -> list[dict[str, Any]]:
    """Options by node, in the order of the lanes; of each node steps before faults."""
    groups: dict[str, dict[str, Any]] = {
        name: {"title": title, "steps": [], "faults": []} for name, title in names.items()
    }
    for option in options:
        group = groups.setdefault(option.node, {"title": option.node, "steps": [], "faults": []})
        entry: Item = {"choice": option.choice, "label": option.label.of(lang), "kind": option.kind}
        if option.kind not in FAULTS and option.effects:
            entry["stops"] = list(list_stops(option, lang))
        group["faults" if option.kind in FAULTS else "steps"].append(entry)
    return [group for group in groups.values() if group["steps"] or group["faults"]]


def list_stops(option: Option, lang: Lang, inside: bool = False) -> Iterator[Item]:
    """Yield a menu item for each moment of a step at which its node may be killed: after k of its
    effects; successive moments in the same words, once. Where the step has answered by then, a
    second item lets the answer arrive. `inside`: without the moments before the first effect and
    after the last."""
    moments: list[tuple[int, Text]] = []
    for k, progress in enumerate(option.stops):  # what is done after k effects, in words
        told = progress if progress.en else AFTER(k=k, n=option.effects)
        if not moments or told != moments[-1][1]:
            moments.append((k, told))
    for k, told in moments[1:-1] if inside else moments:
        choice = f"{option.choice} kill={k}"
        yield {"choice": choice, "label": told.of(lang)}
        answered = option.answered[k] if k < len(option.answered) else ()
        if answered:
            text = ARRIVES(what=told, clients=join_names(answered))
            yield {"choice": f"{choice} answers={','.join(answered)}", "label": text.of(lang)}


def list_areas(
    options: Sequence[Option], gaps: Sequence[Gap], names: Names, held: Sequence[str], lang: Lang
) -> list[dict[str, Any]]:
    """Every place of the picture that can be clicked, with its menu: lanes' names, steps that nodes
    take by themselves, messages in flight (`held`: those held back, by the choice that would
    deliver them), gaps between rows. A message's or a gap's `at` is the number of the fact on whose
    row, or below whose row, it is. `names`: titles by lane."""
    areas = [_lane_area(name, title, options, lang) for name, title in names.items()]
    for option in options:
        title, items = names.get(option.node, option.node), _list_step(option, names, lang)
        if option.kind in GLYPHS:
            label = f"{title}: {option.label.of(lang)}"
            area = {"kind": "own", "lane": option.node, "glyph": GLYPHS[option.kind]}
            areas.append({**area, "key": option.choice, "title": label, "items": items})
        elif option.sent:
            areas.append(_message_area(option, options, names, option.choice in held, lang))
    areas += [_gap_area(gap, names, lang) for gap in gaps]
    return [area for area in areas if area["items"]]


def _lane_area(name: str, title: str, options: Sequence[Option], lang: Lang) -> dict[str, Any]:
    mine = [option for option in options if option.node == name]
    items = [_make_item(option.choice, option.label.of(lang), option.kind) for option in mine]
    label = TOUCH(node=title).of(lang)
    return {"kind": "lane", "lane": name, "key": f"lane {name}", "title": label, "items": items}


def _list_step(option: Option, names: Names, lang: Lang) -> list[Item]:
    """A step, and the same step with a death between two of its effects."""
    items = [_make_item(option.choice, option.label.of(lang), option.kind)]
    node = names.get(option.node, option.node)
    for stop in list_stops(option, lang, inside=True):
        label = DYING(node=node, told=stop["label"]).of(lang)
        items.append(_make_item(stop["choice"], label, "kill"))
    return items


def _message_area(
    option: Option, options: Sequence[Option], names: Names, held: bool, lang: Lang
) -> dict[str, Any]:
    """A message in flight (`option`: its delivery) as a clickable area: deliver it, hold it back or
    (`held`) no longer, kill its receiver inside the step, break its connection. `names`: titles by
    lane."""
    src, dst = (names.get(end, end) for end in option.ends)
    first, *dying = _list_step(option, names, lang)  # the delivery; then with a kill inside it
    items = [
        {**first, "label": DELIVER.of(lang)},
        {"hold": option.choice, "label": (RELEASE if held else HOLD).of(lang), "kind": "hold"},
        *dying,
    ]
    for other in options:
        if other.kind == "break" and set(other.ends) == set(option.ends):
            items.append(_make_item(other.choice, other.label.of(lang), "break"))
    title = MESSAGE(what=option.what, src=src, dst=dst).of(lang)
    area = {"kind": "message", "at": option.sent, "key": option.choice, "held": held}
    area["ends"] = list(option.ends)
    return {**area, "title": title, "items": items}


def _gap_area(gap: Gap, names: Names, lang: Lang) -> dict[str, Any]:
    node = names.get(gap.node, gap.node)
    progress = gap.progress if gap.progress.en else BETWEEN
    items = []
    for choice, words, kind in ((gap.kill, KILL, "kill"), (gap.power, POWER, "power")):
        label = words(node=node, told=progress)
        items.append({"keep": gap.keep, **_make_item(choice, label.of(lang), kind)})
        if gap.answered:
            text = ARRIVES(what=label, clients=join_names(gap.answered)).of(lang)
            arriving = f"{choice} answers={','.join(gap.answered)}"
            items.append({"keep": gap.keep, **_make_item(arriving, text, kind)})
    area = {"kind": "gap", "lane": gap.node, "at": gap.after, "key": f"gap {gap.after}"}
    return {**area, "title": HERE(node=node).of(lang), "items": items}


def _make_item(choice: str, label: str, kind: str) -> Item:
    return {"choice": choice, "label": label, "kind": kind}


# The futures that a learner has tried, as a small tree: a node after each choice, a row for each
# future, in the order in which they were tried.

BEGIN = tr("the beginning")
NODE = Words("after {n}: {choice}")
BROKEN = Words("{said} (the goal is reached)")

Choices = tuple[str, ...]


class Tried(Protocol):
    """What a tree needs of a play."""

    start: Choices

    @property
    def choices(self) -> Choices: ...
    @property
    def visited(self) -> tuple[Choices, ...]: ...
    def find_trace(self, choices: Choices) -> Trace: ...


def list_visited(play: Tried) -> list[Choices]:
    """The lists of choices that the play was at since where it begins."""
    given = len(play.start)
    return [choices for choices in play.visited if choices[:given] == play.start]


def draw_branches(play: Tried, broken: Collection[Choices], lang: Lang) -> dict[str, Any]:
    """The tried futures as a tree, for the browser: a node after each choice, with its parent's
    index, its column and row, and its words; the index of the node that is open now; how many rows
    there are, and the last column. `broken`: the lists of choices after which the goal is reached;
    their nodes are red."""
    visited = list_visited(play)
    rows = _assign_rows(visited)
    # `given`: how many choices the play began with; the tree's root is after these
    given, number = len(play.start), {choices: i for i, choices in enumerate(visited)}
    nodes = []
    for choices in visited:
        depth, title = len(choices) - given, BEGIN
        if depth:
            title = NODE(n=depth, choice=say_choice(play, choices, lang))
        red = choices in broken
        nodes.append(
            {
                "parent": number.get(choices[:-1], -1) if depth else -1,  # -1: it has none
                "column": depth,
                "row": rows[choices],
                "red": red,
                "title": (BROKEN(said=title) if red else title).of(lang),
            }
        )
    columns = max(len(choices) for choices in visited) - given
    now = number[play.choices]
    return {"nodes": nodes, "now": now, "rows": max(rows.values()) + 1, "columns": columns}


def say_choice(play: Tried, choices: Choices, lang: Lang) -> str:
    """What the last choice has come to: its last fact; where it has none, the choice itself."""
    facts = play.find_trace(choices).facts
    if facts and facts[-1].step == len(choices):
        return " ".join(facts[-1].line(lang).split())
    return choices[-1]


def _assign_rows(visited: Sequence[Choices]) -> dict[Choices, int]:
    """The first choice that was tried goes on in the row of what is before it; each other one
    begins a new row."""
    rows: dict[Choices, int] = {}
    went_on: set[Choices] = set()
    for choices in visited:
        before = choices[:-1]
        if before in rows and before not in went_on:
            went_on.add(before)
            rows[choices] = rows[before]
        else:
            rows[choices] = max(rows.values(), default=-1) + 1
    return rows


KNOWN = ("goal", "title", "lang", "scale", "panels", "level")

WORDS = {
    "undo": tr("undo"),
    "reset": tr("start again"),
    "on": tr("let it run"),
    "on_title": tr("Everything happens that may without a fault, except what you hold back"),
    "copy": tr("copy token"),
    "copied": tr("copied; it opens again with `mqlab open TOKEN`, or open_run(token) in a cell"),
    "copied_read": tr(
        "copied; to open it, inspect the same records with `--by-hand` and paste it there"
    ),
    "paste": tr("paste a token"),
    "open": tr("open"),
    "stop": tr("kill during it …"),
    "break": tr("break a connection …"),
    "show": tr("Show me"),
    "keep": tr("copy the example you found"),
    "acts": tr("Act in the picture"),
    "branches": tr("futures that you have tried"),
    "beside": tr("side by side"),
    "single": tr("one picture"),
    "differs": tr("Marked: what the other future does not have."),
    "areas": tr("What can be done in the picture: arrows up and down, then Enter"),
}


class Playable(Protocol):
    """What a playground moves; `mqlab.kernel.Play` is one."""

    system: System
    start: tuple[str, ...]

    @property
    def trace(self) -> Trace: ...
    @property
    def token(self) -> str: ...
    @property
    def choices(self) -> tuple[str, ...]: ...
    @property
    def visited(self) -> tuple[tuple[str, ...], ...]: ...
    def watch(self, claim: Property) -> None: ...
    def options(self) -> tuple[Option, ...]: ...
    def gaps(self) -> tuple[Gap, ...]: ...
    def do(self, choice: str) -> None: ...
    def branch(self, keep: int, choice: str) -> None: ...
    def go_to(self, choices: Sequence[str]) -> None: ...
    def go_on(self, held: Sequence[str] = ()) -> None: ...
    def find_trace(self, choices: tuple[str, ...]) -> Trace: ...
    def open_token(self, token: str) -> Text: ...
    def undo(self) -> None: ...
    def reset(self) -> None: ...


class Playground(PictureWidget):
    """The picture of `play`'s trace and everything that may happen now: in the picture, and by
    buttons below it. Moving it from Python (`playground.do(choice)`) and with the mouse is the
    same.

    `goal`: a claim that the learner is to break, by its name in the system, or a `Property`. Its
    light is then the first one, and when it has turned red the shortest execution that breaks it is
    looked for, from where the play begins. `found` is the token of the execution that she has
    found.
    """

    _esm = join_modules("acts.js", "branches.js", "beside.js", "playground.js")
    _css = page_css("acts.css")
    other = traitlets.Bytes(b"").tag(sync=True)

    def __init__(
        self,
        play: Playable,
        *,
        goal: str | Property | None = None,
        title: str | None = None,
        lang: Lang | None = None,
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        level: str = "everything",
        **unknown: object,
    ) -> None:
        """Show what a play has done and may do now, and wait for clicks of the browser. ValueError
        for a `goal` that the system does not have, or that no execution can break; `title` to
        `level`: as for a player; TypeError for `unknown` arguments."""
        refuse("Playground", unknown, KNOWN)
        self._look = Look.of(title, lang, scale, panels, level)
        self.play = play
        self.goal = Goal(play, goal) if goal is not None else None
        if self.goal is not None:
            play.watch(self.goal.claim)
        self._held: tuple[str, ...] = ()  # messages, by the choices that would deliver them
        self._broken: set[tuple[str, ...]] = set()  # choices after which the goal is reached
        self._at = self._left = tuple(play.choices)  # this future; the one that was left last
        self._beside = False  # whether the other future is shown, too
        self._run = 0  # the picture's number: for each the browser asks once for earlier positions
        self._step = 0  # the position that the picture shows
        self._sizes: dict[str, tuple[float, float]] = {}  # of panels so far, so that none jumps
        super().__init__()
        self._show()
        self.on_msg(self._asked)

    # -- moving ----------------------------------------------------------------------------

    def do(self, choice: str) -> None:
        """Raises ValueError, from the play, for a choice that is not possible now."""
        self._move(lambda: self.play.do(choice))

    def branch(self, keep: int, choice: str) -> None:
        """Another future: only the first `keep` choices of this execution, and then this one."""
        self._move(lambda: self.play.branch(keep, choice))

    def go_on(self) -> None:
        """Everything happens that may without a fault or a timer, but not what is held."""
        self._move(lambda: self.play.go_on(self._held))

    def hold(self, choice: str) -> None:
        """Hold a message back, by the choice that would deliver it; or hold it no longer."""
        held = self._held
        self._held = tuple(c for c in held if c != choice) if choice in held else (*held, choice)
        self._show(at=None)

    def visit(self, number: int) -> None:
        """Open a future that was tried, by its number in the tree."""
        self.play.go_to(list_visited(self.play)[number])
        self._show()

    def compare(self) -> None:
        """Put the future that was left last beside this one, or show this one alone again.
        Raises ValueError where there is none."""
        if not self._beside and self._find_other() is None:
            raise ValueError("there is no other future yet: go back and choose something else")
        self._beside = not self._beside
        self._show()

    def _find_other(self) -> tuple[str, ...] | None:
        """The future that was left last, where it and the present one have parted."""
        fork = find_fork(self._left, self.play.choices)
        parted = fork < min(len(self._left), len(self.play.choices))
        return self._left if parted else None

    def open_token(self, token: str) -> None:
        """Go to the execution of a token of this system; what another version of the engine does
        otherwise is said beside the buttons. Raises ValueError, from the play, for any other."""
        self._show(note=self.play.open_token(token).of(self._look.lang))

    def undo(self) -> None:
        self.play.undo()
        self._show()

    def reset(self) -> None:
        self.play.reset()
        self._show()

    def show_shortest(self) -> None:
        """Open the shortest execution that reaches the goal, which is looked for first if need
        be."""
        if self.goal is None or not self.goal.found:
            raise ValueError("there is no run to compare with: first reach the goal")
        self.goal.find_shortest()
        self.play.go_to(self.goal.show())
        self._show(at=self.goal.find_red(self.play.trace))

    def _move(self, act: Callable[[], None]) -> None:
        """Do it; where that has reached the goal, the picture is at the fact that broke it."""
        act()
        red = self.goal.notice() if self.goal is not None else 0
        self._show(at=red)
        if red and self.goal is not None:
            self.goal.search(self._tell)
            self.keep_still()

    @property
    def token(self) -> str:
        return self.play.token

    @property
    def found(self) -> str:
        """The token of the learner's execution that reached the goal; nothing before that."""
        if self.goal is None or not self.goal.found:
            return ""
        return encode(self.play.system, self._found_trace())

    def _found_trace(self) -> Trace:
        assert self.goal is not None
        return self.play.find_trace((*self.goal.begin, *self.goal.found))

    # -- showing ---------------------------------------------------------------------------

    def player(self) -> Player:
        """The trace so far as a player that needs no kernel."""
        return Player.of(self.play.trace, self._look)

    def still_html(self) -> str:
        return self._kept().still_html()

    def narration(self) -> str:
        return self._kept().narration()

    def _kept(self) -> Player:
        """What stays in the notebook: the trace that reached the goal, at the step that did."""
        if self.goal is not None and self.goal.found:
            trace = self._found_trace()
            return Player.of(trace, self._look, self.goal.find_red(trace))
        return self.player()

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        """Do what a click in the browser asks for; a message of another form does nothing. A choice
        that is not possible is shown beside the buttons, because no cell may be running that could
        fail."""
        try:
            match message:
                case {"type": "do", "keep": int(keep), "choice": str(choice)}:
                    self.branch(keep, choice)
                case {"type": "do", "choice": str(choice)}:
                    self.do(choice)
                case {"type": "hold", "choice": str(choice)}:
                    self.hold(choice)
                case {"type": "open", "token": str(token)}:
                    self.open_token(token)
                case {"type": "visit", "number": int(number)} if number in self._numbers():
                    self.visit(number)
                case {"type": "compare"}:
                    self.compare()
                case {"type": "past"}:  # the positions that were not drawn yet
                    self._draw_past()
                case {"type": "on"}:  # let it run, without faults
                    self.go_on()
                case {"type": "undo"}:
                    self.undo()
                case {"type": "reset"}:
                    self.reset()
                case {"type": "show"}:
                    self.show_shortest()
        except ValueError as error:
            self._show(str(error), at=None)

    def _numbers(self) -> range:
        return range(len(list_visited(self.play)))

    def _show(self, error: str = "", note: str = "", at: int | None = 0) -> None:
        """Send the browser, by assigning `payload`, `other` and `ui`, the picture of the trace, or
        of two futures, and what can be done now. `at`: the number of the fact at which it is shown,
        0 for the last, None to leave the picture as it is; `error`, `note`: what is printed beside
        the buttons."""
        whole = self.play.trace
        self._remember(whole)
        other = self._find_other() if self._beside else None
        self._beside = other is not None
        trace = tail(whole)
        skipped = len(whole) - len(trace)
        step = at - skipped if at and at > skipped else len(trace)  # positions in the shown part
        with self.hold_sync():
            ui = self._describe(whole, skipped, error, note)
            if other is not None:
                ui |= self._put_beside(other)
            elif at is not None:
                self._draw(trace, step)
            self.ui = ui

    def _draw(self, trace: Trace, step: int) -> None:
        """The picture at `step` and at the position before it. A long trace has many pictures, and
        a click waits for one: what was before is drawn when the browser asks for it."""
        self._run += 1
        self._step = step
        first = find_previous(trace, step) if self._run > 1 else 0
        self._give(trace, step, first)
        self.other = b""

    def _draw_past(self) -> None:
        """All positions of the trace that is shown."""
        if not self._beside:
            self._give(tail(self.play.trace), self._step, 0)

    def _give(self, trace: Trace, step: int, first: int) -> None:
        data = build(trace, step, self._look, first, self._sizes)
        data["meta"]["run"] = self._run
        self.payload = pack(data)

    def _remember(self, trace: Trace) -> None:
        """Which future was left, and after which choices the goal was reached."""
        now = self.play.choices
        if now[: len(self._at)] != self._at and self._left[: len(self._at)] != self._at:
            self._left = self._at
        if now[: len(self._at)] != self._at:
            self._sizes = {}
        self._at = now
        red = self.goal.find_red(trace) if self.goal is not None else 0
        if red:
            self._broken.add(trace.choices[: trace.facts[red - 1].step])

    def _put_beside(self, other: tuple[str, ...]) -> dict[str, Any]:
        """Both futures, the longer one first, at the first step that only one of them has."""
        both = [self.play.choices, other]
        both.sort(key=lambda choices: -len(self.play.find_trace(choices)))
        first, second = (tail(self.play.find_trace(choices)) for choices in both)
        compared = compare(first, second)
        fork = find_fork(*both) + 1
        titles = [say_choice(self.play, choices[:fork], self._look.lang) for choices in both]
        step = min(compared.parts + 1, len(first))
        for name, trace, title in zip(("payload", "other"), (first, second), titles, strict=True):
            look = replace(self._look, title=title, half=True)
            setattr(self, name, pack(build(trace, min(step, len(trace)), look)))
        return {"compared": {"rows": [list(rows) for rows in compared.rows]}, "areas": []}

    def _tell(self) -> None:
        """Only what is said of the goal has changed."""
        self.ui = {**self.ui, "goal": self._describe_goal()}

    def _describe(self, trace: Trace, skipped: int, error: str, note: str) -> dict[str, Any]:
        """What the browser draws around the picture: buttons by node, places to click, the tried
        futures, the goal, the token. `error`, `note`: sentences to show beside the buttons;
        `skipped`: how many facts are before the shown ones. Messages that are no longer in flight
        are no longer held back."""
        look, options = self._look, self.play.options()
        names = {lane.name: lane.title.of(look.lang) for lane in trace.snapshot(-1).lanes}
        waiting = {option.choice for option in options}
        self._held = tuple(choice for choice in self._held if choice in waiting)
        return {
            "kind": "play",
            "still": self._name,  # of the still in the output, whose place the picture takes
            "nodes": list_nodes(options, names, look.lang),
            "areas": list_areas(options, self.play.gaps(), names, self._held, look.lang),
            "skipped": skipped,
            "branches": draw_branches(self.play, self._broken, look.lang),
            "comparable": self._find_other() is not None,
            "compared": None,
            "goal": self._describe_goal(),
            "token": self.play.token,
            # disks: it began from a broker's records, which the token alone does not bring back
            "copied": "copied_read" if self.play.system.disks else "copied",
            "moved": len(self.play.choices) > len(self.play.start),
            "error": error,
            "said": note,
            "words": {name: text.of(look.lang) for name, text in WORDS.items()},
        }

    def _describe_goal(self) -> dict[str, Any] | None:
        if self.goal is None:
            return None
        return {
            "text": self.goal.tell(self._look.lang),
            "reached": bool(self.goal.found),
            "shows": self.goal.offers,
            "token": self.found,
        }
