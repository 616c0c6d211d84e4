"""`make test`: every check there is, part by part, with a table of times and what was skipped.

A part is style, types or one folder of tests/; a new folder is a part by itself, and `labs` runs
the solutions' notebooks too. Names given on the command line (`make test PARTS="kafka labs"`) run
only those. With CI=true a skipped test is a failure: there nothing may be missing. Beside the
seconds of a part stand those that its processes computed: where they are few, the part waits.
"""

from __future__ import annotations

import argparse
import os
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

# Quick and telling parts first, then the long ones, so that neither lane waits for the other at the
# end; folders not named here follow.
ORDER = ("style", "types", "project", "kernel", "spark", "lessons", "labs", "browser", "serve")
LANES = 2  # parts at a time


@dataclass(slots=True)
class Result:
    """What came of one part. `skipped` counts reasons."""

    name: str
    seconds: float = 0.0
    computed: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def row(self) -> str:
        skipped = self.skipped.total()
        return (
            f"{self.name:12}{self.seconds:9.1f}{self.computed:9.1f}{self.passed:8}{self.failed:8}"
            f"{skipped:9}"
        )


def parts() -> dict[str, list[str]]:
    """Name → command (without the interpreter) of every part of this checkout."""
    sources = [path for path in ("mqlab", "widgets/mqlab_widgets") if (ROOT / path).is_dir()]
    found = {
        "style": ["-m", "ruff", "check", "--quiet", "--output-format=concise", "."],
        "types": ["-m", "mypy", *sources],
    }
    for folder in sorted((ROOT / "tests").iterdir()):
        if any(folder.rglob("test_*.py")):
            found[folder.name] = _pytest(folder.name, f"tests/{folder.name}")
    found["labs"] += ["labs/solutions", "--nbval-lax", "--nbval-cell-timeout=300"]
    order = {name: place for place, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda part: order.get(part[0], len(ORDER))))


def _pytest(name: str, *where: str) -> list[str]:
    workers = str(min(os.cpu_count() or 1, 4))
    results = f"--junitxml={OUT / name}.xml"
    return ["-m", "pytest", "-q", "-n", workers, "--dist=loadfile", results, *where]


def run(name: str, command: list[str]) -> Result:
    results = OUT / f"{name}.xml"
    results.unlink(missing_ok=True)
    started = time.monotonic()
    with (OUT / f"{name}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
        )
    _, status, used = os.wait4(process.pid, 0)  # its own and its children's CPU seconds
    code = process.returncode = os.waitstatus_to_exitcode(status)
    result = Result(name, time.monotonic() - started, used.ru_utime + used.ru_stime)
    if results.exists():
        _count(result, results)
    else:  # style, types, or pytest itself came to grief
        result.passed = int(code == 0)
    if code not in (0, 5) and not result.failed:  # 5: a folder without a test yet
        result.failed = 1
    return result


def _count(result: Result, results: Path) -> None:
    for case in ET.parse(results).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:
            result.skipped[skipped.get("message") or "no reason given"] += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        else:
            result.passed += 1


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
        if result.failed:
            print(f"\n{result.name} failed ({OUT.relative_to(ROOT)}/{result.name}.log):")
            print((OUT / f"{result.name}.log").read_text(encoding="utf-8").rstrip())
    if total.skipped:
        print("\nSkipped:")
        for reason, count in total.skipped.most_common():
            print(f"  {count} × {reason}")
        if strict:
            print("CI is set: what was skipped counts as failed.")
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
    commands = choose_parts(parser.parse_args().parts)
    OUT.mkdir(parents=True, exist_ok=True)
    print(f"{'part':12}{'seconds':>9}{'CPU':>9}{'passed':>8}{'failed':>8}{'skipped':>9}")
    began = time.monotonic()
    results = []
    with ThreadPoolExecutor(LANES) as lanes:
        for ended in as_completed([lanes.submit(run, *part) for part in commands.items()]):
            results.append(ended.result())
            print(results[-1].row(), flush=True)
    strict = os.environ.get("CI", "") not in ("", "0", "false")
    return report(results, time.monotonic() - began, strict)


if __name__ == "__main__":
    sys.exit(main())
