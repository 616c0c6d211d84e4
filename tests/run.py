"""`make test`: every check there is, part by part, with a table of times and what was skipped.

A part is style, types or one folder of tests/; a new folder is a part by itself, and `labs` runs
the solutions' notebooks too. Names given on the command line (`make test PARTS="kafka labs"`) run
only those. With CI=true a skipped test is a failure: there nothing may be missing. The table has
a part's seconds, and the CPU seconds of its processes: where these are few, the part waits.

Of what is marked `spread`, a run takes a quarter, by the commit's number; `ALL=1` takes all of it.
`AGAIN=1`, as in `.ci/run`, runs a failed test once more by itself. What passes then is listed at
the end, to be fixed; what fails twice fails the run.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / ".cache" / "test"  # each part's log and results, kept for a look afterwards

# Quick and telling parts first, then those that wait much (for a JVM, a browser, a clock), beside
# which others compute; then the long ones, so that no lane is left alone at the end. Folders not
# named here follow.
ORDER = ("style", "types", "kernel", "spark", "labs", "browser", "lessons", "serve", "project")
HANGS_S = 1800  # what has not ended by then never will; a busy machine is ten times as slow
LANES = 3  # parts at a time: one of them waits, mostly
MOST_AGAIN = 20  # tests of a part: where more fail, it is not by chance


@dataclass(slots=True)
class Result:
    """What came of one part. `skipped` counts reasons, `failures` how often a test failed, by its
    id; `good` has the ids of those that passed, `by_chance` of those that did so the second time.
    `died`: the signal that ended the part."""

    name: str
    seconds: float = 0.0
    computed: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    good: set[str] = field(default_factory=set)
    by_chance: list[str] = field(default_factory=list)
    died: str = ""

    def row(self) -> str:
        skipped = self.skipped.total()
        return (
            f"{self.name:12}{self.seconds:9.1f}{self.computed:9.1f}{self.passed:8}{self.failed:8}"
            f"{skipped:9}" + (f"  died: {self.died}" if self.died else "")
        )


def parts() -> dict[str, list[str]]:
    """Name → command (without the interpreter) of every part of this checkout."""
    sources = [
        path
        for path in ("mqlab", "widgets/mqlab_widgets", "tests/oracle")
        if (ROOT / path).is_dir()
    ]
    found = {
        "style": ["-m", "ruff", "check", "--quiet", "--output-format=concise", "."],
        "types": ["-m", "mypy", *sources],
    }
    for folder in sorted((ROOT / "tests").iterdir()):
        if any(folder.rglob("test_*.py")):
            found[folder.name] = _pytest(folder.name, f"tests/{folder.name}")
    found["labs"] += [
        "labs/solutions", "-pnbval", "--nbval-lax", f"--timeout={2 * HANGS_S}",
        f"--nbval-cell-timeout={HANGS_S}", f"--nbval-kernel-startup-timeout={HANGS_S}",
    ]  # fmt: skip
    order = {name: place for place, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda part: order.get(part[0], len(ORDER))))


def _pytest(name: str, *where: str) -> list[str]:
    workers = str(min(os.cpu_count() or 1, 4))
    results = [f"--junitxml={OUT / name}.xml", "-ojunit_family=xunit1"]  # 1: names each test's file
    return ["-m", "pytest", "-q", "-n", workers, "--dist=loadfile", *results, *where]


def turn_of(every: bool, strict: bool) -> int | None:
    """The commit's number, by which a run takes its quarter; None takes everything. Where git does
    not know the number, CI takes everything too, and a person the first quarter."""
    if every:
        return None
    top = _git("rev-parse", "--show-toplevel", "--is-shallow-repository").split("\n")
    if top == [str(ROOT.resolve()), "false"]:
        return int(_git("rev-list", "--count", "HEAD"))
    return None if strict else 0


def _git(*words: str) -> str:
    """What git says; nothing where it is missing, or the tree is no repository."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def run(name: str, command: list[str]) -> Result:
    results = OUT / f"{name}.xml"
    results.unlink(missing_ok=True)
    started = time.monotonic()
    # Hundreds of processes import mqlab: what is compiled is kept, whatever the environment says.
    env = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with (OUT / f"{name}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT
        )
    _, status, used = os.wait4(process.pid, 0)  # its own and its children's CPU seconds
    code = process.returncode = os.waitstatus_to_exitcode(status)
    result = Result(name, time.monotonic() - started, used.ru_utime + used.ru_stime)
    if code < 0:
        result.died = signal.Signals(-code).name
    if results.exists():
        _count(result, results)
    else:  # style, types, or pytest itself came to grief
        result.passed = int(code == 0)
    if (code not in (0, 5) and not result.failed) or result.died:  # 5: a folder without a test yet
        result.failed += 1
    return result


def _count(result: Result, results: Path) -> None:
    try:
        cases = list(ET.parse(results).getroot().iter("testcase"))
    except ET.ParseError:  # pytest was ended while it wrote
        result.failed += 1
        return
    for case in cases:
        skipped = case.find("skipped")
        if skipped is not None:
            result.skipped[skipped.get("message") or "no reason given"] += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
            result.failures[_id_of(case)] += 1
        else:
            result.passed += 1
            result.good.add(_id_of(case))


def _id_of(case: ET.Element) -> str:
    """As pytest takes it; a cell needs those before it, so a notebook is run whole."""
    file, name = case.get("file", ""), case.get("name")
    return file if file.endswith(".ipynb") else f"{file}::{name}"


def run_again(result: Result, command: list[str]) -> None:
    """What failed in a part, once more by itself: one test after the other, nothing beside them."""
    if not 0 < len(result.failures) <= MOST_AGAIN:
        return
    name = f"{result.name}-again"
    left_out = ("--junitxml", "--spread", "tests/", "labs/")
    kept = [word for word in command if not word.startswith(left_out)]
    again = run(name, [*kept, "-n0", f"--junitxml={OUT / name}.xml", *result.failures])
    for test in [*result.failures]:
        if test in again.good and test not in again.failures:
            result.by_chance.append(test)
            result.failed -= result.failures.pop(test)


def report(results: list[Result], seconds: float, strict: bool) -> int:
    """Prints what to know at the end; the exit code."""
    total = Result("total", seconds)
    for result in results:
        total.computed += result.computed
        total.passed += result.passed
        total.failed += result.failed
        total.skipped.update(result.skipped)
    print(total.row())
    for result in results:
        if result.failed or result.by_chance:
            print(f"\n{result.name} failed ({OUT.relative_to(ROOT)}/{result.name}.log):")
            print((OUT / f"{result.name}.log").read_text(encoding="utf-8").rstrip())
    if total.skipped:
        print("\nSkipped:")
        for reason, count in total.skipped.most_common():
            print(f"  {count} × {reason}")
        if strict:
            print("CI is set: what was skipped counts as failed.")
    if by_chance := [test for result in results for test in result.by_chance]:
        print("\nFailed, and passed when run again alone. To be fixed next:")
        print("\n".join(f"  {test}" for test in by_chance))
    for result in results:
        if result.died:
            print(f"\n{result.name} was ended by {result.died}.")
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped.total()} skipped")
    return int(total.failed > 0 or (strict and total.skipped.total() > 0))


def choose_parts(names: Iterable[str]) -> dict[str, list[str]]:
    every = parts()
    unknown = sorted(set(names) - set(every))
    if unknown:
        sys.exit(f"no such part: {', '.join(unknown)}; there are: {', '.join(every)}")
    return {name: command for name, command in every.items() if not names or name in names}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="run only these parts")
    parser.add_argument("--all", action="store_true", help="also what other commits take")
    parser.add_argument("--again", action="store_true", help="run a failed test once more, alone")
    asked = parser.parse_args()
    commands = choose_parts(asked.parts)
    strict = os.environ.get("CI", "") not in ("", "0", "false")
    if (turn := turn_of(asked.all, strict)) is not None:
        for command in commands.values():
            command += [f"--spread={turn}"] if "pytest" in command else []
    OUT.mkdir(parents=True, exist_ok=True)
    print(f"{'part':12}{'seconds':>9}{'CPU':>9}{'passed':>8}{'failed':>8}{'skipped':>9}")
    began = time.monotonic()
    results = []
    with ThreadPoolExecutor(LANES) as lanes:
        for ended in as_completed([lanes.submit(run, *part) for part in commands.items()]):
            results.append(ended.result())
            print(results[-1].row(), flush=True)
    for result in results if asked.again else ():
        run_again(result, commands[result.name])
    return report(results, time.monotonic() - began, strict)


if __name__ == "__main__":
    sys.exit(main())
