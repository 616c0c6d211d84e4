"""`.scn` files: commands, a line of dashes, and the narration of what these commands caused.

A file may hold several such blocks, with a blank line between them: then each line of the
script is followed by its results.

    # The coordinator dies before its second marker has left.
    system kafka partitions=2
    run app: init, begin, send orders-0 a, send orders-1 b, commit
    ---
    app         → coordinator  InitProducerId order-service
    …

    restart coordinator
    ---
    coordinator ↻              recovered PrepareCommit, markers pending for orders-0, orders-1
    …
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from ..kernel import LANGUAGES, Run, Text, Words
from .language import DASHES, Line, Registry, Script, make_system, parse_script, read_comments
from .runner import Performance, perform_lines


@dataclass(frozen=True, slots=True)
class Block:
    """`source`: the lines of a block above its dashes. `narration`: what they should cause,
    a fact a line. `last`: the number of the block's last source line in the file."""

    source: str
    narration: str
    last: int


def split_blocks(text: str) -> tuple[Block, ...]:
    """Split the text of a scenario file into blocks of commands and their narration. A line of
    dashes ends the commands, a blank line (or the end of the file) the narration; commands at the
    end without dashes are a block without narration. Blank lines before commands are left out."""
    blocks: list[Block] = []
    commands: list[str] = []
    narration: list[str] = []
    # `last_line`: the number in the file of the last line of commands so far
    last_line, in_narration = 0, False
    for number, line in enumerate(text.splitlines(), 1):
        if in_narration and line.strip():
            narration.append(line)
        elif in_narration:
            blocks.append(Block("\n".join(commands), "\n".join(narration), last_line))
            commands, narration, in_narration = [], [], False
        elif line.strip() == DASHES:
            in_narration, last_line = True, number - 1
        elif line.strip() or commands:
            commands.append(line)
            last_line = number
    if in_narration or commands:
        blocks.append(Block("\n".join(commands).rstrip(), "\n".join(narration), last_line))
    return tuple(blocks)


def join_blocks(blocks: tuple[Block, ...], narrations: tuple[str, ...]) -> str:
    """The text of a file that has these blocks' commands, each with its narration."""
    return "\n".join(
        "\n".join(filter(None, (block.source.rstrip(), DASHES, narration))) + "\n"
        for block, narration in zip(blocks, narrations, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Caption:
    """What a lecture shows beside a part of the script. `end`: how many facts there are when the
    part is over; `written`: an author has written the text, it is not the commands themselves."""

    end: int
    text: Text
    written: bool = False


@dataclass(frozen=True)
class Golden:
    """A scenario file: what it says, what it expects, and what happened."""

    path: Path
    blocks: tuple[Block, ...]
    script: Script
    done: Performance

    @property
    def run(self) -> Run:
        return self.done.run

    @property
    def narrations(self) -> tuple[str, ...]:
        """What the commands of each block caused in this execution, a fact a line."""
        facts = self.run.narrate().splitlines()
        return tuple("\n".join(facts[a:b]) for a, b in pairwise((0, *self.ends)))

    @property
    def ends(self) -> tuple[int, ...]:
        """How many facts there are at the end of each block."""
        return tuple(map(self._facts_after, self.blocks))

    def _facts_after(self, block: Block) -> int:
        return count_facts(self.script, self.done, block)

    @property
    def captions(self) -> tuple[Caption, ...]:
        """The captions of the scenario's parts, which the player shows, each with the number of
        facts up to its end. A part is a block that causes something or, in a file with one block,
        such a command; its caption is its comments or, without any, its commands. What causes
        nothing belongs to the next part, and to none at the end."""
        blocks = self.blocks
        if len(blocks) == 1:
            blocks = _blocks_by_command(self.path.read_text("utf-8"), self.script, self.done.ends)
        parts: list[Caption] = []
        comments: list[Text] = []  # of the next part
        is_by_hand = False  # whether they are an author's, not commands
        for block in blocks:
            lines, by_hand = _read_comments(block)
            comments, is_by_hand = comments + lines, is_by_hand or by_hand
            end = self._facts_after(block)
            if end > (parts[-1].end if parts else 0):  # it has caused facts
                english, chinese = (
                    "\n".join(line.of(lang) for line in comments) for lang in LANGUAGES
                )
                parts.append(Caption(end, Text(english, chinese), is_by_hand))
                comments, is_by_hand = [], False
        return tuple(parts)

    @property
    def new(self) -> bool:
        """No narration has been written down yet."""
        return not any(block.narration for block in self.blocks)

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
        """A unified diff from the expected file to the actual one: each difference is below the
        commands that caused it."""
        return "\n".join(
            difflib.unified_diff(
                self.expected.splitlines(),
                self.actual.splitlines(),
                f"{self.path} (expected)",
                str(Words("{} (this engine)")(self.path)),
                lineterm="",
            )
        )


def load(path: str | Path, registry: Registry) -> Golden:
    """Read and run one file; ScenarioError where it cannot be read or done."""
    path = Path(path)
    text = path.read_text("utf-8")
    script = parse_script(text)
    done = perform_lines(script, make_system(script, registry))
    return Golden(path, split_blocks(text), script, done)


def write_in_blocks(commands: str, registry: Registry) -> str:
    """The text of a scenario file with these commands, in which each command that causes
    something ends a block. Raises ScenarioError where the commands cannot be done."""
    script = parse_script(commands)
    done = perform_lines(script, make_system(script, registry))
    facts = done.run.narrate().splitlines()
    blocks = _blocks_by_command(commands, script, done.ends)
    cuts = [0, *(end for _, end in _causing(script, done.ends)), len(facts)]
    narrations = ["\n".join(facts[a:b]) for a, b in pairwise(cuts)]
    return join_blocks(blocks, tuple(narrations[: len(blocks)]))


def count_facts(script: Script, done: Performance, block: Block) -> int:
    """How many facts there are when a block's commands are done."""
    lines = bisect_right(script.lines, block.last, key=lambda line: line.number)
    return done.ends[lines - 1] if lines else 0


def perform_in_blocks(text: str, registry: Registry) -> tuple[Run, tuple[int, ...]]:
    """Run a scenario given as text, whose blocks need no narration, and say how many facts there
    are at the end of each block."""
    script = parse_script(text)
    done = perform_lines(script, make_system(script, registry))
    return done.run, tuple(count_facts(script, done, block) for block in split_blocks(text))


def _causing(script: Script, ends: tuple[int, ...]) -> Iterator[tuple[Line, int]]:
    """The commands that cause something, and how many facts there are after each."""
    before = 0
    for line, end in zip(script.lines, ends, strict=True):
        if end > before:
            yield line, end
            before = end


def _blocks_by_command(text: str, script: Script, ends: tuple[int, ...]) -> tuple[Block, ...]:
    """Blocks without narration: each ends with a command that causes something, the last with
    the commands."""
    lines = text.partition(f"\n{DASHES}\n")[0].splitlines()
    cuts = [line.number for line, _ in _causing(script, ends)]
    if not cuts or cuts[-1] < len(lines):
        cuts.append(len(lines))
    return tuple(Block("\n".join(lines[a:b]), "", b) for a, b in pairwise([0, *cuts]))


def _read_comments(block: Block) -> tuple[list[Text], bool]:
    """The comments of a block as one line, and that they are such; or its commands, without those
    that only wait and without single choices. The system line and the title above it belong
    to the whole file."""
    lines = [line.strip() for line in block.source.splitlines() if line.strip()]
    heads = [i for i, line in enumerate(lines, 1) if line.startswith("system ")]
    lines = lines[max(heads, default=0) :]
    groups = groupby(lines, lambda line: line.startswith("#"))
    told = [read_comments(group) for is_comment, group in groups if is_comment]
    silent = ("#", "off ", "do ", "hold ", "lose ", "late ", "drop ")
    commands = [line for line in lines if not line.startswith(silent) and " when=" not in line]
    if told:
        return [Text(" ".join(t.en for t in told), "".join(t.zh for t in told))], True
    return list(map(Text, commands)), False


def rewrite(golden: Golden) -> None:
    """Write the narrations of this execution as the expected ones; the author's blocks stay. Commit
    only a difference that you can explain."""
    golden.path.write_text(golden.actual, "utf-8")
