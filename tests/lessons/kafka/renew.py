"""What the searches found, kept as files: the shortest runs and the numbers of states.

    .venv/bin/python -m tests.lessons.kafka.renew             every case: seconds
    .venv/bin/python -m tests.lessons.kafka.renew --lesson    the lesson systems too: minutes
    .venv/bin/python -m tests.lessons.kafka.renew --lesson twin    those whose names contain it

Writes what has changed and prints the difference. Commit only what you can explain: a
shorter run or another number of states means that a role behaves differently.
"""

import argparse
import difflib
from pathlib import Path

from mqlab.explore import Budget
from mqlab.lessons.kafka.cases import APP, CLAIM_CASES, LESSON_SYSTEMS, SAFEGUARD_CASES
from mqlab.lessons.searches import Searched, exhaust, script, search, with_everything_on

FOLDER = Path(__file__).parents[3] / "datasets" / "scenarios" / "kafka" / "counterexamples"
STATES = Path(__file__).with_name("states.txt")
#: searched in every test run
SMALL = (
    Searched("commit", f"kafka {APP}"),
    Searched("commit, break", f"kafka {APP}", Budget(breaks=1)),
    Searched("commit, stop", f"kafka {APP}", Budget(kills=1, killable=("coordinator",))),
)
CASES = {**SAFEGUARD_CASES, **CLAIM_CASES}


def path_of(case):
    return FOLDER / f"{case.name.replace('_', '-')}.scn"


def counts():
    """The committed numbers of states, by the name of the search."""
    lines = STATES.read_text("utf-8").splitlines() if STATES.exists() else []
    pairs = (line.rsplit(maxsplit=1) for line in lines)
    return {name.strip(): int(number.replace(",", "")) for name, number in pairs}


def write(path, text):
    old = path.read_text("utf-8") if path.exists() else ""
    if old == text:
        return
    diff = difflib.unified_diff(old.splitlines(), text.splitlines(), f"{path.name} (old)", "new")
    print("\n".join(diff))
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lesson", nargs="?", const="", help="lesson systems too, of this name")
    args = parser.parse_args()
    states = counts()
    for case in CASES.values():
        write(path_of(case), script(case, search(case)))
    for name, case in SAFEGUARD_CASES.items():
        states[f"{name} on"] = with_everything_on(case).states
    wanted = [s for s in LESSON_SYSTEMS if args.lesson is not None and args.lesson in s.name]
    for searched in (*SMALL, *wanted):
        verdict = exhaust(searched)
        print(f"{searched.name}: {verdict} in {verdict.seconds:.1f} s", flush=True)
        states[searched.name] = verdict.states
    width = max(map(len, states))
    write(STATES, "".join(f"{k:<{width}} {v:>9,}\n" for k, v in sorted(states.items())))


if __name__ == "__main__":
    main()
