"""One order, four ways, six stages: the same scenario of each way, and a crash at the end of a
stage.

A way has a scenario of seven blocks: what comes before, then a block a stage. So the block
is the clock that all ways have in common, whatever a broker does in it. `kill_in` adds a crash to
it, so that no file is needed for each crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ..kernel import Outcome, Run, Trace, worded
from ..places import SCENARIOS
from ..scenario import perform_in_blocks
from ..scenario.golden import split_blocks
from . import SYSTEMS, run_scenario, with_evidence

STAGES = ("reserve", "write", "decide", "publish the decision", "make visible", "forget")
#: after the decision is written and before it is sent: it is final, and no process sees it yet
UNSENT = "decide, nothing sent"
#: when a process is killed: at the end of a stage, or there
MOMENTS = (*STAGES[:2], UNSENT, *STAGES[2:])
#: who is killed: the process that has the order, or the one that carries the decision on
ROLES = ("sender", "coordinator")


@dataclass(frozen=True, slots=True)
class Victim:
    """A node that is killed. `again`: the lines that follow where the crash came in one of the
    first `undecided` stages; `then`: where it came later. `unsent`: the line that kills it in the
    step in which it would send the decision; "" where it sends none in that stage."""

    node: str
    undecided: int
    again: str
    then: str
    unsent: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """`story`: below datasets/scenarios, without `.scn`. `sender`: the process that has the
    order; `coordinator`: the one that carries the decision out. `reads`: how consumers read at
    the end. `reader`, `log`: where a picture shows what stock has got."""

    story: str
    sender: Victim
    coordinator: Victim
    reads: str
    reader: str
    log: str

    @property
    def text(self) -> str:
        """The scenario's commands in blocks, without what they cause."""
        path = SCENARIOS / f"{self.story}.scn"
        return join(block.source for block in split_blocks(path.read_text("utf-8")))

    def kill_at(self, moment: str, role: str = "sender") -> str:
        """`kill_in` the stage of a moment of `MOMENTS`."""
        line = getattr(self, role).unsent if moment == UNSENT else ""
        return self.kill_in(find_stage(moment), role, line)

    def kill_in(self, stage: int, role: str = "sender", line: str = "") -> str:
        """The scenario's text with a crash of one process added at the end of stage 1 … 6, and a
        last block in which the process is replaced or comes back.

        `role` chooses the process: "sender", or "coordinator", which carries the decision out.
        `line` is a command such as `kill app when=EndTransaction` that ends it within the stage
        instead. ValueError for others.
        """
        if not 1 <= stage <= len(STAGES) or role not in ROLES:
            raise ValueError(f"{role}, stage {stage}: expected {' or '.join(ROLES)}, stage 1 to 6")
        victim: Victim = getattr(self, role)
        # one block before the first stage, then a block a stage
        blocks = [block.source for block in split_blocks(self.text)]
        before, after = blocks[: stage + 1], blocks[stage + 1 :]
        # a line with `when=` waits for what the stage does, so it ends the block before it
        if line:
            before[-2] += f"\n{line}"
        else:
            before[-1] += f"\nkill {victim.node}"
        # The dead process runs no more commands, and timers may find nothing to do without it.
        dropped = (f"run {victim.node}:", "fire ")
        kept = ["\n".join(x for x in b.splitlines() if not x.startswith(dropped)) for b in after]
        # `again`: the lines after a crash in one of the first `undecided` stages
        lines = victim.again if stage <= victim.undecided else victim.then
        last = f"# After the kill: {victim.node} is replaced or comes back.\n{lines}\n{self.reads}"
        return join((*before, *kept, last.strip()))

    def play_kill(self, stage: int, role: str = "sender", line: str = "") -> Trace:
        """`kill_in` as a trace. What the dead would have sent never comes, so a line that waits for
        it is no mistake here."""
        return with_evidence(run_scenario(self.kill_in(stage, role, line)).trace, "")

    def count_got(self, trace: Trace, position: int) -> int:
        """How many orders stock has got, or could get at once, at a position of an execution."""
        readers = trace.snapshot(position).readers
        got = [one for reader in readers if reader.name == self.reader for one in reader.got]
        return sum(one.log == self.log for one in got)


@worded("{dead} → {end}, {heard}")
class Killed:
    """One order with a crash at a `moment`. `dead`, `end`: how many orders stock could have while
    the node was dead, and in the end. `heard`: what was reported to the caller of the call that
    ends its order."""

    moment: str
    dead: int
    end: int
    heard: str


@cache
def perform(text: str) -> tuple[Run, tuple[int, ...]]:
    """The execution of a scenario's text and the ends of its blocks, once for tables, pictures and
    both languages."""
    return perform_in_blocks(text, SYSTEMS)


def kill_each(way: Way, role: str = "sender") -> Iterator[Killed]:
    """The crashes of a way, moment by moment, each of them executed."""
    *_, last = _returned(perform(way.text)[0].trace)
    for moment in MOMENTS:
        run, ends = perform(way.kill_at(moment, role))
        dead, end = (way.count_got(run.trace, at) for at in ends[-2:])
        answers = [one for one in _returned(run.trace) if one.call == last.call]
        status, detail = (answers[0].status, answers[0].detail) if answers else ("no answer", "")
        yield Killed(moment, dead, end, f"failed {detail}" if status == "failed" else status)


def tabulate_kills(ways: Mapping[str, Way], role: str = "sender") -> list[tuple[str, ...]]:
    """Moment × way as rows with a head: orders at stock while the node is dead → in the end, and
    what the caller heard."""
    columns = [[str(one) for one in kill_each(way, role)] for way in ways.values()]
    return [("killed after", *ways), *zip(MOMENTS, *columns, strict=True)]


def find_stage(moment: str) -> int:
    """The number of the stage of a moment, from 1; ValueError where it is none."""
    return STAGES.index("decide" if moment == UNSENT else moment) + 1


def _returned(trace: Trace) -> list[Outcome]:
    """What was reported to the application that places the order, call by call."""
    return [one.body for one in trace if one.node == "app" and isinstance(one.body, Outcome)]


def join(blocks: Iterable[str]) -> str:
    """Blocks of commands as the text of one scenario."""
    return "\n---\n\n".join(blocks) + "\n---\n"
