"""`.scn` files: a script, a line of dashes, the narration it must give."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from ..kernel import Run
from .language import Registry, Script, parse_script, system_of
from .runner import perform

DASHES = "---"


@dataclass(frozen=True)
class Golden:
    """A scenario file: what it says, what it expects, and the run."""

    path: Path
    source: str
    script: Script
    expected: str
    run: Run

    @property
    def actual(self) -> str:
        return self.run.narrate()

    @property
    def equal(self) -> bool:
        return self.expected == self.actual

    def diff(self) -> str:
        """A unified diff from the expected narration to the actual one."""
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
    source, _, expected = path.read_text("utf-8").partition(f"\n{DASHES}\n")
    script = parse_script(source)
    run = perform(script, system_of(script.system, registry))
    return Golden(path, source, script, expected.rstrip("\n"), run)


def rewrite(golden: Golden) -> None:
    """Write the narration of this run as the expected one. Commit only a difference that
    you can explain."""
    text = f"{golden.source.rstrip()}\n{DASHES}\n{golden.actual}\n"
    golden.path.write_text(text, "utf-8")
