"""`.scn` files: commands, a line of dashes, and the narration of what these commands caused.

A file may hold several such blocks, with a blank line between them: then each line of the
story is followed by what came of it.

    # The coordinator dies before its second marker has left.
    system kafka partitions=2
    run app: init, begin, send orders-0 a, send orders-1 b, commit
    ---
    app → tc    InitProducerId order-service
    …

    restart tc
    ---
    tc          ↻ recovered, {order-service: PrepareCommit}
    …
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..kernel import Run
from .language import DASHES, Registry, Script, parse_script, system_of
from .runner import perform_lines


@dataclass(frozen=True, slots=True)
class Block:
    """`source`: the lines of a block above its dashes. `narration`: what they should cause,
    a fact a line. `last`: the number of the block's last source line in the file."""

    source: str
    narration: str
    last: int


def split_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a scenario file. Dashes end the commands, a blank line (or the end of the
    file) the narration; commands at the end without dashes are a block without narration."""
    blocks: list[Block] = []
    source: list[str] = []
    narration: list[str] = []
    last, telling = 0, False
    for number, line in enumerate(text.splitlines(), 1):
        if telling and line.strip():
            narration.append(line)
        elif telling:
            blocks.append(Block("\n".join(source), "\n".join(narration), last))
            source, narration, telling = [], [], False
        elif line.strip() == DASHES:
            telling, last = True, number - 1
        elif line.strip() or source:
            source.append(line)
            last = number
    if telling or source:
        blocks.append(Block("\n".join(source).rstrip(), "\n".join(narration), last))
    return tuple(blocks)


def join_blocks(blocks: tuple[Block, ...], narrations: tuple[str, ...]) -> str:
    """The text of a file that has these blocks' commands, each with its narration."""
    return "\n".join(
        "\n".join(filter(None, (block.source.rstrip(), DASHES, narration))) + "\n"
        for block, narration in zip(blocks, narrations, strict=True)
    )


@dataclass(frozen=True)
class Golden:
    """A scenario file: what it says, what it expects, and the run. `ends`: for each line of
    the script how many facts there were after it."""

    path: Path
    blocks: tuple[Block, ...]
    script: Script
    run: Run
    ends: tuple[int, ...]

    @property
    def narrations(self) -> tuple[str, ...]:
        """What the commands of each block caused in this run, a fact a line."""
        facts = self.run.narrate().splitlines()
        done = [0]
        for block in self.blocks:
            here = (end for line, end in zip(self.script.lines, self.ends, strict=True)
                    if line.number <= block.last)  # fmt: skip
            done.append(max(here, default=0))
        return tuple("\n".join(facts[a:b]) for a, b in pairwise(done))

    @property
    def expected(self) -> str:
        """The file as it is, with its blank lines at blocks' ends only."""
        return join_blocks(self.blocks, tuple(block.narration for block in self.blocks))

    @property
    def actual(self) -> str:
        """The file as this engine would write it."""
        return join_blocks(self.blocks, self.narrations)

    @property
    def equal(self) -> bool:
        return self.expected == self.actual

    def diff(self) -> str:
        """A unified diff from the expected file to the actual one: each difference stands
        below the commands that caused it."""
        return "\n".join(
            difflib.unified_diff(
                self.expected.splitlines(),
                self.actual.splitlines(),
                f"{self.path} (expected)",
                f"{self.path} (this engine)",
                lineterm="",
            )
        )


def load(path: str | Path, registry: Registry) -> Golden:
    """Read and run one file; ScenarioError where it cannot be read or done."""
    path = Path(path)
    text = path.read_text("utf-8")
    script = parse_script(text)
    run, ends = perform_lines(script, system_of(script.system, registry))
    return Golden(path, split_blocks(text), script, run, ends)


def write_in_blocks(commands: str, registry: Registry) -> str:
    """The text of a scenario file with these commands, in which each command that causes
    something ends a block. Raises ScenarioError where the commands cannot be done."""
    script = parse_script(commands)
    run, ends = perform_lines(script, system_of(script.system, registry))
    facts, lines = run.narrate().splitlines(), commands.splitlines()
    blocks: list[Block] = []
    narrations: list[str] = []
    line = fact = 0
    for command, end in zip(script.lines, ends, strict=True):
        if end > fact:
            blocks.append(Block("\n".join(lines[line : command.number]), "", command.number))
            narrations.append("\n".join(facts[fact:end]))
            line, fact = command.number, end
    if line < len(lines):  # commands at the end that cause nothing
        blocks.append(Block("\n".join(lines[line:]), "", len(lines)))
        narrations.append("")
    return join_blocks(tuple(blocks), tuple(narrations))


def rewrite(golden: Golden) -> None:
    """Write the narrations of this run as the expected ones; the author's blocks stay. Commit
    only a difference that you can explain."""
    golden.path.write_text(golden.actual, "utf-8")
