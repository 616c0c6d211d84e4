"""What a broker's searches found, kept as files: the shortest runs and the numbers of states.

    .venv/bin/python -m tests.registry.renew kafka             every case: seconds
    .venv/bin/python -m tests.registry.renew kafka --lesson    the lesson systems too: minutes
    .venv/bin/python -m tests.registry.renew kafka --lesson second  those whose names contain it

Writes what has changed and prints the difference. Commit only what you can explain: a
shorter run or another number of states means that a role behaves differently.
"""

import argparse
import difflib
from importlib import import_module
from pathlib import Path

from mqlab.brokers import list_brokers
from mqlab.registry.searches import Case, exhaust, script, search, searches_of, with_everything_on
from mqlab.scenario.language import ASKS

ROOT = Path(__file__).parents[2]
#: each has `tests/registry/<broker>/small.py`
BROKERS = tuple(list_brokers("searches"))


def folder_of(broker: str) -> Path:
    return ROOT / "datasets" / "scenarios" / broker / "counterexamples"


def path_of(broker: str, case: Case) -> Path:
    return folder_of(broker) / f"{case.name.replace('_', '-')}.scn"


def states_of(broker: str) -> Path:
    return Path(__file__).with_name(broker) / "states.txt"


def small_of(broker: str):
    """What is searched in every test run, beside the cases."""
    if not (Path(__file__).parent / broker / "small.py").is_file():
        raise LookupError(
            f"{broker} has searches, and no tests/registry/{broker}/small.py with SMALL, small "
            "systems that every test run searches: write one"
        )
    return import_module(f"tests.registry.{broker}.small").SMALL


def counts(broker: str) -> dict[str, int]:
    """The committed numbers of states, by the name of the search."""
    path = states_of(broker)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    pairs = (line.rsplit(maxsplit=1) for line in lines)
    return {name.strip(): int(number.replace(",", "")) for name, number in pairs}


def write_case(path: Path, case: Case) -> str:
    """The case's run as its file has it: the question was written there by hand, and stays."""
    title, *rest = script(case, search(case)).splitlines(keepends=True)
    old = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    return "".join((title, *(line for line in old if line.startswith(ASKS)), *rest))


def write(path: Path, text: str) -> None:
    old = path.read_text("utf-8") if path.exists() else ""
    if old == text:
        return
    diff = difflib.unified_diff(old.splitlines(), text.splitlines(), f"{path.name} (old)", "new")
    print("\n".join(diff))
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("broker", choices=BROKERS)
    parser.add_argument("--lesson", nargs="?", const="", help="lesson systems too, of this name")
    args = parser.parse_args()
    searches, states = searches_of(args.broker), counts(args.broker)
    for case in searches.cases:
        path = path_of(args.broker, case)
        write(path, write_case(path, case))
    for name, case in searches.safeguards.items():
        states[f"{name} on"] = with_everything_on(case).states
    wanted = [s for s in searches.systems if args.lesson is not None and args.lesson in s.name]
    for searched in (*small_of(args.broker), *wanted):
        verdict = exhaust(searched)
        print(f"{searched.name}: {verdict} in {verdict.seconds:.1f} s", flush=True)
        if verdict.complete:  # else it is the bound that has been counted
            states[searched.name] = verdict.states
    width = max(map(len, states))
    lines = (f"{k:<{width}} {v:>9,}\n" for k, v in sorted(states.items()))
    write(states_of(args.broker), "".join(lines))


if __name__ == "__main__":
    main()
