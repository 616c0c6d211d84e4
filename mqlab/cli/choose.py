"""`mqlab choose`: a page for an engineer who must decide; its six questions in the terminal."""

from __future__ import annotations

import argparse

from ..kernel import Words, speaking, tr
from .errors import as_user_error
from .language import add_language
from .site import add_page_arguments, show_page

HELP = "answer six questions about your system, and get a recommendation with its evidence"
WRONG = tr("one of the numbers, please")
LINK = Words("On the page: choose.html#{line}")
UNANSWERED = Words("no more answers; the line so far: {line}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_page_arguments(parser, ".cache/choose")
    parser.add_argument(
        "--ask", nargs="?", const="", metavar="ANSWERS",
        help="ask in the terminal instead of writing the page; ANSWERS, as in "
            "“beside=row&down=minute” (the page's address contains them too), answers some "
            "questions beforehand",
    )  # fmt: skip
    add_language(parser)


def run(args: argparse.Namespace) -> int:
    if args.ask is None:
        return show_page(args, "choose.html")
    with speaking(args.lang):
        return _ask(args.ask)


def _ask(line: str) -> int:
    from ..lessons.decision import advise, lead_to_command, read_answers, write_answers

    with as_user_error(ValueError):
        answers = _complete(read_answers(line))
    print(advise(answers, lead_to_command))
    print(f"\n{LINK(line=write_answers(answers))}")
    return 0


def _complete(answers: dict[str, str]) -> dict[str, str]:
    """Ask in the terminal each question that `answers` (option's name by question's) lacks, until a
    number or an option's name is typed. Returns the same dict, complete; ValueError where the input
    ends before."""
    from ..lessons.decision import ask_questions, write_answers

    for name, question in ask_questions().items():
        if name in answers:
            continue
        options = list(question.options)
        print(question.says)
        for number, option in enumerate(question.options.values(), start=1):
            print(f"  {number}  {option}")
        while name not in answers:
            try:
                given = input("> ").strip()
            except EOFError:
                raise ValueError(str(UNANSWERED(line=write_answers(answers)))) from None
            if given.isdecimal() and 1 <= int(given) <= len(options):
                answers[name] = options[int(given) - 1]
            elif given in options:
                answers[name] = given
            else:
                print(WRONG)
        print()
    return answers
