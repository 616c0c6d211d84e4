"""Who answers: a broker's admin interface, or files in which its answers were saved.

Both are asked by the path of the admin interface, without its beginning:

    coordinatorStats · slowTransactions/0
    transactionBufferStats/TENANT/NAMESPACE/TOPIC · pendingAckStats/TENANT/NAMESPACE/TOPIC/SUB
    persistent/TENANT/NAMESPACE · persistent/TENANT/NAMESPACE/TOPIC/stats · …/internalStats

A saved file is one answer, or a table from paths to answers. What `pulsar-admin` prints names no
topic, so of such a file the name does: `orders.buffer.json`, `orders.billing.json`.
"""

from __future__ import annotations

import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ...kernel import Text, Words, tr
from ...kernel.text import say_cause
from ..asking import Refused, read_settings
from ..reading import Ask, Gap, Unreadable, read_file

PATIENCE_S, PAUSE_S = 40.0, 0.005
"""A broker gives up an operation of its own after 30 s, and answers then: 4.0.7 is so slow to list
transactions while a commit waits for a topic that is not there."""
MOST_BYTES, MOST_FILES = 32 << 20, 2_000
V2, V3 = "/admin/v2/", "/admin/v3/transactions/"
SPACE = ("public", "default")
KINDS = re.compile(
    r"/((?:coordinatorStats|slowTransactions|transactionBufferStats|pendingAckStats|persistent)"
    r"(?:/.*)?)$"
)
#: what only answers of this kind have, and the path that they get; {topic} and {sub} by the file
SHAPES = (
    ({"maxReadPosition", "ongoingTxnSize"}, "transactionBufferStats/{topic}"),
    ({"state", "ongoingTxnSize", "leastSigBits"}, "coordinatorStats"),
    ({"state", "ongoingTxnSize"}, "pendingAckStats/{topic}/{sub}"),
    ({"entriesAddedCounter", "cursors"}, "persistent/{topic}/internalStats"),
    ({"subscriptions", "publishers"}, "persistent/{topic}/stats"),
)
NOT_SAVED = Words("it was not saved: add what `pulsar-admin {command}` prints")
#: what prints it, by the first or the last part of the path
COMMANDS = {
    "coordinatorStats": "transactions coordinator-stats",
    "slowTransactions": "transactions slow-transactions -t 1s",
    "transactionBufferStats": "transactions transaction-buffer-stats",
    "pendingAckStats": "transactions pending-ack-stats", "stats": "topics stats",
    "internalStats": "topics stats-internal",
}  # fmt: skip
NOT_KEPT = tr("it was not saved")
SILENT = Words("no answer: {why}")
SAYS = Words("the broker answers {status}: {reason}")
LONG = Words("an answer of more than {most} bytes")
FILE, FIRST = Words("file {name}"), Words(": {}: {}")
NO_JSON = Words("it is no JSON: {why}")
ERROR_PAGE = Words("it contains an error instead of an answer: {text}")
TWO = Words(
    "it has several answers to {path}, and the last was taken: give each topic a file of its own, "
    "named after it"
)
NO_SUB = tr("its name has no subscription: name it TOPIC.SUBSCRIPTION.json")
CUT = tr("it ends in the middle of an answer, which was not read: save it again, whole")
EMPTY = tr("it has an empty answer, {}, which does not say what was asked for")
NO_ANSWER = Words(
    "the admin interface's answer has a form that is not read here: give what `pulsar-admin` "
    "prints of {commands}"
)(commands=", ".join(COMMANDS.values()))
#: what there is instead of an answer: a page, or what pulsar-admin prints of a refusal
ERROR = re.compile(r"^(?:<(?:!DOCTYPE )?html.*?(?:</html>|\Z)|HTTP \d{3}\b.*|Reason: .*)",
                   re.M | re.S | re.I)  # fmt: skip
BEGIN = re.compile(r"^\s*(?=\{|\[\s*[\"\]{])|(?<=[}\]])(?=[{\[])", re.MULTILINE)
#: of an exception in an exception the last line, also where it is inside a quoted text
MESSAGE = re.compile(r"Message: ((?:(?!\\n).)+)")


def open_admin(ask: Ask) -> Live | Saved:
    """Raises Unreadable."""
    return Saved(ask) if ask.target == "-" or Path(ask.target).exists() else Live(ask)


def say_reason(body: str) -> str:
    """The broker's words, without a stack trace."""
    try:
        reason = str(json.loads(body)["reason"])
    except (ValueError, LookupError, TypeError):
        reason = re.sub(r"<[^>]*>", " ", body)
    return " ".join((MESSAGE.findall(reason) or [reason])[-1].split())[:300]


class Live:
    """`get` and `entry` raise Refused. `config`: a client's settings, of which authParams (token:…)
    and tlsTrustCertsFilePath are used. `at_ms`: when the answers were given, 0: just now."""

    lives, filtered, at_ms = True, False, 0

    def __init__(self, ask: Ask) -> None:
        """Prepare requests to a running broker's admin API at `ask.target` (http:// where it names
        no scheme), with the token and the CA certificates of the settings file; nothing is sent
        yet. Raises Unreadable for what is no address, or a file that cannot be read."""
        self.name = ask.target
        self.gaps: list[Gap] = []
        url = urlsplit(ask.target if "://" in ask.target else f"http://{ask.target}")
        settings = read_settings(ask.config)
        token = settings.get("authParams", "").removeprefix("token:")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            context = ssl.create_default_context(cafile=settings.get("tlsTrustCertsFilePath"))
            if url.scheme not in ("http", "https") or not url.hostname or url.port == 0:
                raise ValueError(url.scheme)
        except ValueError as error:
            raise Unreadable(
                "{}: no such file, and no address (http://host:8080)", ask.target
            ) from error
        except OSError as error:
            raise Unreadable("cannot read tlsTrustCertsFilePath: {}", error) from error
        self._base = f"{url.scheme}://{url.netloc}"
        self._has_answered = False
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))

    def get(self, path: str) -> Any:
        _, body = self._ask(path, MOST_BYTES)
        if len(body) >= MOST_BYTES:
            raise Refused(LONG(most=MOST_BYTES), failed=True)
        try:
            return json.loads(body or "null")
        except (ValueError, RecursionError) as error:
            raise Refused(NO_JSON(why=str(error)), failed=True) from error

    def entry(self, path: str, payload: bool) -> tuple[dict[str, str], str]:
        """The headers of a message, and its beginning where it was asked for."""
        return self._ask(path, 64 if payload else 0)

    def _ask(self, path: str, most: int) -> tuple[dict[str, str], str]:
        """Send a GET to the admin API and return the answer's headers, with names in lower case,
        and its first `most` bytes as text. Raises Refused where the broker refuses or no longer
        answers, Unreadable where it has never answered."""
        # transactions have an API of their own, v3; a path that begins with / is whole
        prefix = V2 if path.startswith(("persistent/", "namespaces/")) else V3
        url = self._base + ("" if path.startswith("/") else prefix) + quote(path)
        time.sleep(PAUSE_S)  # so that it does not burden a busy broker
        try:
            request = urllib.request.Request(url, headers=self._headers)
            with self._opener.open(request, timeout=PATIENCE_S) as answer:
                self._has_answered = True
                headers = {key.lower(): value for key, value in answer.headers.items()}
                return headers, answer.read(most).decode(errors="replace")
        except urllib.error.HTTPError as error:
            self._has_answered = True
            with error:
                reason = say_reason(error.read(1 << 16).decode(errors="replace")) or error.reason
            raise Refused(SAYS(status=error.code, reason=reason), code=error.code) from error
        except (OSError, HTTPException, ValueError) as error:
            if self._has_answered:
                raise Refused(SILENT(why=str(error)), failed=True) from error
            raise Unreadable("no broker answers at {}: {}", self._base, say_cause(error)) from error

    def subs(self, topic: str) -> tuple[str, ...]:
        """They are known by the topic's internal statistics."""
        return ()

    def topics(self) -> None:
        """It is unknown before the cluster was asked."""


class Saved:
    """The same from files."""

    lives = False

    def __init__(self, ask: Ask) -> None:
        """Load answers of the admin API that were saved as JSON: a file ("-": the standard input),
        or the first MOST_FILES *.json below a folder. A file that holds none is noted as a gap;
        raises Unreadable where there is no answer at all."""
        self.name = "stdin" if ask.target == "-" else ask.target
        self.at_ms = 0
        self.gaps: list[Gap] = []
        self._answers: dict[str, Any] = {}
        root = Path(ask.target)
        for path in sorted(root.rglob("*.json"))[:MOST_FILES] if root.is_dir() else [root]:
            name = path.relative_to(root).as_posix() if path != root else path.name
            try:
                text = _read(path)
                if str(path) != "-":  # no answer says when it was given: as old as the newest file
                    self.at_ms = max(self.at_ms, round(path.stat().st_mtime * 1000))
                if error := ERROR.search(text):
                    why = ERROR_PAGE(text=say_reason(error[0]))
                    self.gaps.append(Gap(FILE(name=name), why, failed=True))
                for content in _cut_answers(text) if BEGIN.search(text) or not error else ():
                    self._take(name, content)
            except (OSError, ValueError, RecursionError) as error:
                self.gaps.append(Gap(FILE(name=name), _say_damage(error), failed=True))
        if not self._answers:
            first = FIRST(self.gaps[0].what, self.gaps[0].why) if self.gaps else ""
            raise Unreadable(
                "{} is not a response of Pulsar's admin interface{}", ask.target, first
            )

    def _take(self, name: str, content: Any) -> None:
        answers = dict(_answers_in_file(name, content))
        if not answers:
            why = NO_ANSWER if content else EMPTY
            if isinstance(content, dict) and "reason" in content:
                why = ERROR_PAGE(text=say_reason(json.dumps(content)))
            self.gaps.append(Gap(FILE(name=name), why, failed=bool(content)))
        for path, answer in answers.items():
            why = NO_SUB if path.endswith("/") else TWO(path=path)
            if path.endswith("/") or self._answers.get(path, answer) != answer:
                self.gaps.append(Gap(FILE(name=name), why, failed=True))
            if not path.endswith("/"):
                self._answers[path] = answer

    @property
    def filtered(self) -> bool:
        """Whether perhaps only transactions of some age, or of one coordinator, are listed."""
        return "slowTransactions/0" not in self._answers

    def subs(self, topic: str) -> tuple[str, ...]:
        begin = f"pendingAckStats/{topic}/"
        return tuple(path.removeprefix(begin) for path in self._answers if path.startswith(begin))

    def get(self, path: str) -> Any:
        if path not in self._answers and path == "slowTransactions/0":
            path = next((p for p in self._answers if p.startswith("slowTransactions/")), path)
        if path not in self._answers:
            first, *_, last = path.split("/") * 2
            command = COMMANDS.get(last if first == "persistent" else first, "")
            raise Refused(NOT_SAVED(command=command) if command else NOT_KEPT)
        found = self._answers[path]
        if isinstance(found, dict) and found and found.keys() <= {"reason", "status"}:
            status = found.get("status", 500)
            status = status if isinstance(status, int) else 500
            raise Refused(SAYS(status=status, reason=say_reason(json.dumps(found))), code=status)
        return found

    def entry(self, path: str, payload: bool) -> tuple[dict[str, str], str]:
        found = self.get(path)
        return found["headers"], found.get("body", "") if payload else ""

    def topics(self) -> list[str]:
        kinds = ("persistent/", "transactionBufferStats/", "pendingAckStats/")
        parts = (path.split("/")[1:4] for path in self._answers if path.startswith(kinds))
        return sorted({"/".join(three) for three in parts if len(three) == 3})


def _say_damage(error: Exception) -> Text:
    if isinstance(error, json.JSONDecodeError) and error.doc.strip():
        rest = error.doc[error.pos :]
        if not rest.strip() or error.msg.startswith("Unterminated"):
            return CUT
    return NO_JSON(why=str(error))


def _read(path: Path) -> str:
    if str(path) != "-" and path.stat().st_size > MOST_BYTES:
        raise ValueError(LONG(most=MOST_BYTES).en)
    data = sys.stdin.buffer.read(MOST_BYTES) if str(path) == "-" else read_file(path)
    return data.decode(json.detect_encoding(data))  # UTF-16 is what a Windows shell writes


def _cut_answers(text: str) -> Iterator[Any]:
    """Yield the answers in a file, several one after the other, or with lines of a tool's log
    between them. ValueError for one that is damaged or cut."""
    at, ends = 0, None
    while begin := BEGIN.search(text, at):
        content, at = json.JSONDecoder().raw_decode(text, begin.end())
        yield content
        ends = at
    if ends is None:
        yield json.loads(text)  # whose error says what is there


def _answers_in_file(name: str, content: Any) -> Iterator[tuple[str, Any]]:
    """Yield the answers in a file as (path of the request, answer); none where the file is no
    answer of the admin API. The path is found in the file itself, or in the file's name, or else
    guessed from the fields of the answer (`SHAPES`), with topic and subscription from the name."""
    fields = content if isinstance(content, dict) else {}
    stem = name.removesuffix(".json")
    topic, _, sub = stem.rpartition("/")[2].partition(".")
    full_topic = "/".join((*SPACE, topic))  # (a file's name has no namespace: the default one)
    if fields and all(str(key).startswith("/") for key in fields):
        for key, answer in fields.items():
            yield key.partition("?")[0].removeprefix(V2).removeprefix(V3), answer
    elif kind := KINDS.search(f"/{stem}"):
        yield kind[1], content
    elif any("txnId" in row for row in fields.values() if isinstance(row, dict)):
        yield "slowTransactions/?", content
    elif isinstance(fields.get("partitions"), dict) and "metadata" in fields:
        for full, row in fields["partitions"].items():
            fields_of = {*row} if isinstance(row, dict) else set()
            for path in (path for keys, path in SHAPES if keys <= fields_of):
                yield path.format(topic=full.removeprefix("persistent://"), sub=sub), row
    elif any("leastSigBits" in row for row in fields.values() if isinstance(row, dict)):
        yield "coordinatorStats", content
    else:
        paths = (path for keys, path in SHAPES if keys <= fields.keys())
        if path := next(paths, ""):
            # what one coordinator answers, as if all had been asked: by its number
            yield path.format(topic=full_topic, sub=sub), content if "{" in path else {"0": content}
