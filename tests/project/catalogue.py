"""What the program says, found in its sources, and the catalogue of its Chinese.

    make po

brings both catalogues in step, the program's `mqlab/locale/zh/LC_MESSAGES/mqlab.po` and the labs'
`labs/locale/zh/LC_MESSAGES/labs.po`: new English comes in without Chinese, what is said no longer
goes out, and a change keeps the old Chinese as *fuzzy* for a translator to look at. Any editor of
PO files opens them.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import groupby, takewhile
from pathlib import PurePath
from string import Formatter
from typing import Any

import jupytext
from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from mqlab import __version__
from mqlab.brokers import list_brokers
from mqlab.cli.scenario import explain
from mqlab.kernel.catalogue import PARAGRAPH, find_catalogue, unwrap
from mqlab.lessons.decision import list_ways
from mqlab.lessons.exercises import read_beliefs, read_hints, read_texts
from mqlab.lessons.lab15 import list_rows
from mqlab.lessons.questions import load_questions
from mqlab.registry import SYSTEMS
from mqlab.scenario.golden import DASHES, split_blocks
from mqlab.scenario.language import ASKS, COMMANDS, HEAD

from .sources import ROOT, list_committed, relative

#: files of TOML, by domain, and the keys whose texts are said
TABLES = {
    "mqlab": {
        "mqlab/lessons/misconceptions.toml": {
            "belief", "truth", "question", "experiment", "points",
        },
        "mqlab/lessons/articles.toml": {"says", "tells", "about"},
        "mqlab/lessons/choice.toml": {"says"},
        "mqlab/lessons/on_call.toml": {"says", "tells", "belief", "looks"},
        "mqlab/lessons/decision.toml": {
            "says", "title", "price", "limits", "versions", "processes", "watch", "not_for",
        },
        "mqlab/inspect/*/findings.toml": {"title", "risk", "says", "advice"},
        "mqlab/patterns/*/why.toml": {"whys", "unguarded"},
        "mqlab/*/picture/why.toml": {
            "requests", "answers", "errors", "ends", "checks", "statements", "stopped", "recovered",
            "unguarded",
        },
    },
    "labs": {
        "labs/lecture/lecture.toml": {
            "title", "before", "ask", "options", "idea", "notes", "caption",
        },
    },
}  # fmt: skip
JINJA = {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true"}
TEMPLATES, LABS = ROOT / "labs" / "site", ROOT / "labs" / "source"
#: a scenario begins with its title, and has a system line
STORY = re.compile(r"\s*# .*\n(?s:.*?)^ *system ", re.MULTILINE)
PUT_IN = re.compile(r"\{.*\}")
FIELD = re.compile(r"\{[^{}]*\}")
#: contexts of texts that a program looks up by what they are: cells of tables, words of a model
#: (its states, timers, kinds of record), heads of those in
#: pictures, names of beliefs, claims and trials, titles of documents, what pages take out of a run
LOOKED_UP = ("cell", "word", "head", "belief", "claim", "page", "trial")

#: of the command line: constants with its help; what is called with a template and its values
HELP = ("HELP", "EPILOG", "EXIT_CODES", "TARGETS", "epilog")
SPEAKS = {
    "UserError", "ScenarioError", "BadValue", "Damaged", "Unequal", "Unreadable", "IncomeError",
    "CannotResume", "StillRunning", "ServeError", "RealBrokerError", "NoLabs", "HistoryError",
    "SettingsError", "ClusterError", "JournalError", "BrokerError", "NoPlay", "Unknown",
    "BuildError", "SpeechError", "Broken", "Unanswered", "Refused", "BadFrame", "RemotingError",
    "BadCommand",
    "tell",
}  # fmt: skip
#: the program, and what `mqlab real` asks
SPEAKING = ("mqlab/", "widgets/", "tests/oracle/")
#: where argparse and errors of these names say nothing to the person at a terminal
SILENT = (
    "mqlab/serve/kafka/wire/bodies",
    "mqlab/serve/kafka/wire/compression",
    "mqlab/lessons/course/",
)

#: fields for what only English has: the ending of a plural, the noun for a number
ENGLISH = {"s", "noun"}

Message = tuple[str, str]  # English, context


def collect(domain: str) -> dict[Message, set[str]]:
    """All that is said in a domain, each with the files that say it."""
    found: dict[Message, set[str]] = {}
    for name, message in _list_messages(domain):
        found.setdefault(message, set()).add(name)
    return found


def _list_messages(domain: str) -> Iterator[tuple[str, Message]]:
    for pattern, keys in TABLES[domain].items():
        for path in sorted(ROOT.glob(pattern)):
            data = tomllib.loads(path.read_text("utf-8"))
            for text in _list_values(data, keys):
                yield relative(path), (text, "")
    if domain == "mqlab":
        yield from _list_read()
        for path in list_committed():
            if path.suffix == ".py" and relative(path).startswith(SPEAKING):
                nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
                name = relative(path)
                told = _list_told(nodes, name)
                for message in (*_list_said(nodes), *told, *_list_labels(nodes, name)):
                    yield name, message
        for system in SYSTEMS.values():
            for text in (explain(call).en for call in system().usages().by_verb.values()):
                if " " in text:  # more than the name of a method
                    yield "mqlab/cli/scenario.py", (text, "call")
    else:
        for path in sorted(TEMPLATES.glob("*.html")):
            with path.open("rb") as file:
                for _, _, text, _ in babel_extract(file, ("_", "gettext"), (), JINJA):
                    for one in [text] if isinstance(text, str) else text or ():
                        if one:
                            yield relative(path), (one, "")
        for path in sorted(LABS.glob("*.py")):
            for cell in jupytext.read(path, fmt="py:percent").cells:
                if cell.cell_type == "markdown":
                    for text in PARAGRAPH.findall(cell.source):
                        yield relative(path), (unwrap(text), "")
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                match node:
                    case ast.Call(ast.Name("say"), [ast.Constant(str() as text)]):
                        yield relative(path), (text, "")
        for name, story in list_stories():
            for text in _list_comments(story):
                yield name, (text, "")


def _list_read() -> Iterator[tuple[str, Message]]:
    """What is said in tables that have a form of their own: questions, exercises, ways to
    send, rows of articles, terms."""
    lessons = ROOT / "mqlab" / "lessons"
    for path in sorted(lessons.glob("questions/*.toml")):
        for asked in load_questions(path.stem).values():
            for text in (asked.text, *asked.options, *asked.explanations):
                yield relative(path), (text, "")
    for name in read_texts():
        for said in (*read_hints(name), *read_beliefs(name).values()):
            yield relative(lessons / "exercises.toml"), (said.en, "")
    for way in list_ways().values():
        for said in (*(does for _, _, does, _ in way.clients), *(says for says, *_ in way.times)):
            if said.en:
                yield relative(lessons / "decision.toml"), (said.en, "")
    for _, _, text, _ in list_rows().values():
        yield relative(lessons / "article_rows.toml"), (text, "")
    path = lessons / "atlas" / "glossary.toml"
    for term, means in tomllib.loads(path.read_text("utf-8")).items():
        yield relative(path), (term, "term")
        if isinstance(means, str):
            yield relative(path), (means, "")


def list_stories() -> Iterator[tuple[str, str]]:
    """Every scenario: the files, and what stands in code, with `{…}` for what it puts in."""
    for path in list_committed():
        name = relative(path)
        if path.suffix in (".scn", ".run"):
            yield name, path.read_text("utf-8")
        elif path.suffix == ".py" and name.startswith(("mqlab/", "labs/source/")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if STORY.match(text := _write_text(node)):
                    yield name, text


def _write_text(node: ast.AST) -> str:
    match node:
        case ast.Constant(str() as text):
            return text
        case ast.JoinedStr(parts):
            return "".join(map(_write_text, parts))
        case ast.FormattedValue(value):
            return f"{{{ast.unparse(value)}}}"
    return ""


def _list_comments(story: str) -> Iterator[str]:
    """The title of a scenario, what stands below it, and each comment between its commands: what
    the reader of scenarios looks up. A line that is put in whole comes in its Chinese."""
    source = f"\n{DASHES}\n".join(block.source for block in split_blocks(story))
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    heads = {said[1]: said[2] for line in lines if (said := HEAD.fullmatch(line))}
    for key in ("mechanism", "versions", "fixed"):
        yield from (said for said in [heads.get(key, "")] if re.search("[a-z]{2} |[a-z]{3}", said))
    yield from heads.get("answers", "").split(" | ") if "answers" in heads else ()
    lines = [line for line in lines if not HEAD.fullmatch(line)]
    title, *head = takewhile(lambda line: line.startswith("#"), lines)
    groups = groupby(lines[1 + len(head) :], lambda line: line.startswith("#"))
    asked = [line for line in head if line.startswith(ASKS)]
    head = [line for line in head if line not in asked]
    told = (list(told) for is_comment, told in groups if is_comment)
    for group in ([title], asked, head, *told):
        text = " ".join(line.removeprefix(ASKS).lstrip("# ") for line in group)
        if text and not PUT_IN.fullmatch(text):
            yield text


def _list_said(nodes: list[ast.AST]) -> Iterator[Message]:
    for node in nodes:
        match node:
            case ast.Call(ast.Name("Words" | "tr" as name), [ast.Constant(str() as text), *rest]):
                if name == "Words" and rest:
                    continue  # with its Chinese beside it: put together there
                given = [*rest, *(one.value for one in node.keywords if one.arg == "context")]
                yield text, given[0].value if given else ""


#: what is no name in a template: a word in small letters, neither joined nor before a value
WORD = re.compile(r"(?<![\w.@#%-])[a-z]{2,}(?![\w=-]|\.\w)")


def list_words(text: str, name: str) -> list[str]:
    """The ordinary English words of a line's template, without its fields. In a real broker's
    package the verbs of its calls are names (`seek {partition}@{offset}`), in the command's those
    of scenarios; the classical models are no system's, so all their words are words."""
    names = find_verbs(name)
    return [word for word in WORD.findall(FIELD.sub(" ", text)) if word not in names]


@cache
def find_verbs(name: str) -> frozenset[str]:
    """The verbs of the calls of the broker to whose package a file belongs, and of scenarios; and
    ok, which Chinese writes too."""
    parts = {part for part in PurePath(name).parts if part in list_brokers("real")}
    verbs = (verb for part in parts for verb in SYSTEMS[part]().usages().by_verb)
    return frozenset((*COMMANDS, *verbs, "ok"))


def _list_labels(nodes: list[ast.AST], name: str) -> Iterator[Message]:
    """The lines that messages, calls and records say of themselves, where they hold more than
    names."""
    for node in nodes:
        match node:
            case ast.Call(ast.Name("worded" | "phrase"), [text, *_]):
                for one in ast.walk(text):
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        if list_words(one.value, name):
                            yield one.value, "label"


def _list_told(nodes: list[ast.AST], name: str) -> Iterator[Message]:
    """What a command prints: its help, its errors, and what it tells."""
    for node in nodes if not name.startswith(SILENT) else ():
        match node:
            case ast.keyword("help" | "description" | "epilog", ast.Constant(str() as text)):
                yield text, ""
            case ast.Assign([ast.Name() | ast.Attribute() as target], ast.Constant(str() as text)):
                if getattr(target, "id", getattr(target, "attr", "")) in HELP:
                    yield text, ""
            case ast.Call(ast.Attribute(ast.Name("log"), attr), [ast.Constant(str() as text), *_]):
                if attr != "debug" and re.search("[a-z]{2}", text):
                    yield text, "log"
            case ast.Call(ast.Attribute(_, "close" | "evict"), [ast.Constant(str() as text)]):
                yield text, "log"
            case ast.Call(ast.Attribute(attr="add_argument_group"), [ast.Constant(text), *_]):
                yield text, ""
            case ast.Call(ast.Name("say_unknown" | "one_of"), [ast.Constant(text), *_]):
                yield text, "what"
            case ast.Call(ast.Name(name), [ast.Constant(str() as text), *_]) if name in SPEAKS:
                yield text, ""


def _list_values(data: Any, keys: set[str], said: bool = False) -> Iterator[str]:
    match data:
        case dict():
            for key, value in data.items():
                yield from _list_values(value, keys, said or key in keys)
        case list():
            for value in data:
                yield from _list_values(value, keys, said and isinstance(value, str))
        case str() if said:
            yield data


def _list_all(data: Any) -> Iterator[str]:
    match data:
        case dict():
            for key, value in data.items():
                yield key
                yield from _list_all(value)
        case list():
            for value in data:
                yield from _list_all(value)
        case str():
            yield data


@cache
def list_constants() -> frozenset[str]:
    """Every text that stands somewhere in the sources, also as one of the heads of a table."""
    found: set[str] = set()
    for path in list_committed():
        name = relative(path)
        if path.suffix == ".py" and name.startswith(
            ("mqlab/", "widgets/", "labs/source", "tests/oracle")
        ):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found |= {node.value, *map(str.strip, node.value.split("|"))}
        elif path.suffix == ".toml":
            found |= set(_list_all(tomllib.loads(path.read_text("utf-8"))))
    found.update(*map(read_beliefs, read_texts()))
    return frozenset(found)


def read_catalogue(domain: str) -> Catalog:
    with find_catalogue(domain).open("rb") as file:
        return read_po(file, locale="zh", abort_invalid=True)


def renew(domain: str) -> Catalog:
    """The catalogue, in step with the sources."""
    catalogue, said = read_catalogue(domain), Catalog(locale="zh")
    for (text, context), files in collect(domain).items():
        said.add(text, locations=[(name, 0) for name in sorted(files)], context=context or None)
    for message in catalogue:
        if message.context in LOOKED_UP:
            said.add(message.id, context=message.context)
    catalogue.update(said, update_creation_date=False)
    catalogue.obsolete.clear()
    return catalogue


def write(domain: str, catalogue: Catalog) -> None:
    """The labs' as they are read, the program's in alphabetical order. `msgfmt` and
    editors compare the fields of what is marked as a template, and not each brace or percent."""
    catalogue.project, catalogue.version = "mqlab", __version__
    catalogue.last_translator = "the authors of mqlab"
    catalogue.language_team, catalogue.msgid_bugs_address = "Chinese (Simplified)", ""
    for message in catalogue:
        if not any(name.endswith(".html") for name, _ in message.locations):
            message.flags.discard("python-format")
        if not is_template(message.id):
            message.flags.discard("python-brace-format")
    with find_catalogue(domain).open("wb") as file:
        write_po(file, catalogue, 100, include_lineno=False, sort_output=domain == "mqlab")


def is_template(text: str) -> bool:
    """Whether its fields are there in both languages, and its braces are no part of the text."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
    except ValueError:
        return False
    return all(name.isidentifier() and name not in ENGLISH for name in names)


def list_untranslated(catalogue: Catalog) -> list[str]:
    return [str(one.id) for one in catalogue if one.id and (not one.string or one.fuzzy)]


if __name__ == "__main__":
    left = 0
    for name in TABLES:
        made = renew(name)
        write(name, made)
        empty = list_untranslated(made)
        print(f"{name}: {len(made)} texts; {len(empty)} without Chinese, or with an old one")
        for line in empty:
            print("   ", line[:90])
        left += len(empty)
    sys.exit(bool(left))
