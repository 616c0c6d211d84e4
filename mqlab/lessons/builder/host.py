"""A learner's file in the engine, while its code runs in a process of its own.

`FileHost` is that process, whatever the file is; `FunctionHost` calls the functions of a file that
has no state, and `Host` is a coordinator's, which is a role of the engine.

The engine sees numbers. `Hosted` is such a state: the number, and what its log says. What the code
does for a state, an event and a disk is asked once and remembered, so a search of many thousand
worlds asks a few hundred questions, and what was said once cannot be said otherwise later.

An error of the code is a state too, `broken`, in which the coordinator does no more: so a search
finds the shortest execution that leads there.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from ...kafka.config import KafkaConfig, offsets_log, txn_log, txn_logs
from ...kafka.coordinator import Coordinator, next_epoch
from ...kafka.coordinator.describe import describe_transaction, list_transactions
from ...kafka.coordinator.entry import (
    TIMEOUT,
    DescribeTransactions,
    Entry,
    ListTransactions,
    StateRecord,
)
from ...kafka.errors import Error
from ...kafka.messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    Answer,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkers,
)
from ...kafka.states import COMPLETED, TxnState, may_enter
from ...kernel import (
    NOTHING,
    Append,
    Appended,
    CancelTimer,
    Disk,
    Effects,
    Event,
    Map,
    Quiet,
    Reply,
    Request,
    Send,
    SetTimer,
    Text,
    Words,
    tr,
)
from ...kernel.disk import MemoryDisk, MemoryLog
from ...kernel.text import WordedError, match_words
from ..course.judging import ANSWER_S, Process, find_sandbox
from ..course.wire import Message, WireError, decode_line, encode
from .apart import Kept
from .api import entries_of
from .speech import SpeechError, pack, unpack
from .trial import say_death

APART = (sys.executable, "-I", "-m", "mqlab.lessons.builder.closed")
#: what a file may import: the page, and what is pure in the standard library
IMPORTS = ("__future__", "collections", "dataclasses", "enum", "functools", "itertools", "typing")
ANSWERS: Mapping[type, type[Answer]] = {
    InitProducerId: InitProducerIdResponse,
    AddPartitionsToTxn: AddPartitionsToTxnResponse,
    EndTxn: EndTxnResponse,
}
MAY_DO = (Append, CancelTimer, Reply, Send, SetTimer)


class Inside:
    """In a browser, which has no processes and is a sandbox itself, the coordinator runs here."""

    def __init__(self) -> None:
        self.wire, self._kept = self, Kept()

    def say(self, *message: Any) -> None:
        self._answer = self._kept.answer(_copy(message))

    def hear(self, _seconds: float | None = None) -> Message:
        return _copy(self._answer)

    def end(self) -> None:
        """Nothing is left behind: a loop without an end goes with the kernel."""


def _copy(message: Message) -> Message:
    """What comes through a pipe."""
    return decode_line(json.dumps(encode(message)).encode())


def _start() -> Process:
    process = Process((*find_sandbox(), *APART))
    process.wait_until_ready()
    return process


UNREAD = Words("cannot read {path}: `mqlab build new` writes a file to begin with")
NO_TEXT = Words("{path} is no text in UTF-8: let your editor save it as UTF-8")
UNLOADED = Words("the file cannot be loaded: {why}")
NO_PYTHON = Words("the file is no Python: {error}, line {line}")
NO_SOURCE = Words("the file is no Python: {error}")
UNASKED = Words("its process cannot be asked any more: {why}")
#: as `WireError` says it
WIRE_ENDS = (
    Words("it has ended"), Words("it has not answered in time"), Words("it said what is no value"),
    Words("it said more than {} bytes at once"),
)  # fmt: skip
UNREADABLE = Words("an effect cannot be read: {}: {}")
ONLY_ONGOING = tr("; only what is Ongoing is committed")
FOREIGN = Words("line {line} imports {name}: {noun} is written with {page} and {others}")


class BuildError(WordedError):
    """A file that cannot be checked; the message says why, and what to do."""


def read_file(path: Path) -> str:
    """The text of a learner's file. Raises BuildError where it cannot be read or is no regular
    file: a pipe may never end."""
    try:
        if path.is_file():
            return path.read_text("utf-8-sig")  # an editor of Windows may begin it with a mark
    except UnicodeDecodeError as error:
        raise BuildError(NO_TEXT(path=path)) from error
    except OSError as error:
        raise BuildError(UNREAD(path=path)) from error
    raise BuildError(UNREAD(path=path))


class Broken(WordedError):
    """The code of a file of functions does no more, or says what cannot be; the message says it."""


class FileHost:
    """The process with the code of `source`. BuildError where that cannot be loaded.

    `noun`: what the file is; `page`: the module that it is written with; `file`: its usual name;
    `kind`: its class, "" for a file of functions; `needs`: the functions that it must have."""

    noun = NOTHING
    page = ""
    file = ""
    kind = ""
    needs: tuple[str, ...] = ()

    def __init__(self, source: str) -> None:
        check_imports(source, self.page, self.noun)
        self._process = Inside() if sys.platform == "emscripten" else _start()
        reply = self._ask("load", source, self.file, self.kind, self.needs)
        if reply[0] != "loaded":
            self.close()
            raise BuildError(UNLOADED(why=find_reason(reply)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *given: object) -> None:
        self.close()

    @property
    def asked(self) -> int:
        """How many different questions it has answered."""
        return 0

    def close(self) -> None:
        self._process.end()

    def _ask(self, *request: Any) -> Message:
        try:
            self._process.wire.say(*request)
            return self._process.wire.hear(ANSWER_S)
        except WireError as error:
            why = UNASKED(why=match_words(str(error), WIRE_ENDS) or error)
            return "failed", why.en, why.zh


class FunctionHost(FileHost):
    """A file of functions. What one says for the same values is asked once and remembered."""

    def __init__(self, source: str) -> None:
        self._values: dict[Any, Any] = {}
        super().__init__(source)

    def call(self, name: str, *given: Any) -> Any:
        """What the function says; Broken where it says nothing, or what no message holds."""
        key = (name, given)
        if key not in self._values:
            self._values[key] = self._call(name, given)
        value = self._values[key]
        if isinstance(value, Broken):
            raise value
        return value

    def _call(self, name: str, given: tuple[Any, ...]) -> Any:
        match self._ask("call", name, pack(given)):
            case ("value", packed):
                try:
                    return unpack(packed)
                except (SpeechError, KeyError, TypeError, ValueError) as error:
                    return Broken("`{}`: {}", name, error)
            case reply:
                return Broken("`{}`: {}", name, find_reason(reply))


@dataclass(frozen=True, slots=True)
class Hosted(Quiet):
    """`number`: of the state, at its own process. `entries`: what is safe in its log, by
    transactional id. `waiting`: by caller, the answer for each who waits where another coordinator
    leads. `broken`: why it does no more; None while it does."""

    number: int
    entries: Map[str, Entry]
    waiting: Map[tuple[Any, ...], Reply] = Map()
    broken: Text | None = None
    host: Host = field(compare=False, repr=False, kw_only=True)

    def step(self, event: Event, disk: Disk) -> tuple[Hosted, Effects]:
        return self.host.take(self, event, disk)

    def describe_changes(self, old: Hosted | None) -> tuple[Text, ...]:
        return say_death(old, self)

    def hear(self, event: Event) -> Hosted:
        """Who asks, waits from now on."""
        if not isinstance(event, Request) or type(event.body) not in ANSWERS:
            return self
        refusal = Reply(event.caller, ANSWERS[type(event.body)](Error.NOT_COORDINATOR))
        return replace(self, waiting=self.waiting.set(astuple(event.caller), refusal))

    def resign(self) -> Effects:
        """Another broker leads now. Its own broker answers all who wait, whatever the file does
        (ReplicaManager#completeDelayedOperationsWhenNotPartitionLeader)."""
        return tuple(self.waiting.values())


class Host(FileHost):
    """The process with the coordinator of `source`. BuildError where that cannot be loaded.

    `config`: of the coordinator that began last. A consumer's position is a partition like any
    other, so AddOffsetsToTxn reaches the file as AddPartitionsToTxn. What an administrator asks is
    answered from the log, as the engine's own does."""

    noun = tr("a coordinator")
    page = "mqlab.lessons.builder.api"
    file = "coordinator.py"
    kind = "Coordinator"
    needs = ("step", "recover")
    config = KafkaConfig()

    def __init__(self, source: str) -> None:
        self._known: dict[Any, tuple[Hosted, Effects]] = {}
        super().__init__(source)

    @property
    def asked(self) -> int:
        return len(self._known)

    def recover(
        self, config: KafkaConfig, disk: Disk, at_ms: int, epoch: int | None = None
    ) -> tuple[Hosted, Effects]:
        """A coordinator that begins to lead its log in `epoch`, from what this has; None: the
        only one, after a start. It is not given `at_ms`."""
        if epoch is not None:
            return self.lead(config, disk, epoch)
        epoch, noted = next_epoch(disk)
        role, effects = self.lead(config, disk, epoch)
        return role, (noted, *effects)

    def lead(self, config: KafkaConfig, disk: Disk, epoch: int) -> tuple[Hosted, Effects]:
        self.config, seen = config, keep_logs(disk)
        key = (config, seen, epoch)
        if key not in self._known:
            reply = self._ask("recover", pack(config), pack(seen), 0, epoch)
            before = Hosted(-1, entries_of(seen), host=self)
            self._known[key] = self._understand(reply, before, seen, config)
        return self._known[key]

    def take(self, role: Hosted, event: Event, disk: Disk) -> tuple[Hosted, Effects]:
        """One step. What is broken does nothing, and no timer wakes it."""
        if role.broken:
            return role, ()
        if said := self.describe(event, disk):
            return role, said
        event, seen = self.translate(event), keep_logs(disk)
        key = (role, event, seen)
        if key not in self._known:
            reply = self._ask("step", role.number, pack(event), pack(seen))
            before = role.hear(event)
            if isinstance(event, Appended):
                before = replace(before, entries=entries_of(seen))
            self._known[key] = self._understand(reply, before, seen, self.config, event)
        return self._known[key]

    def describe(self, event: Event, disk: Disk) -> Effects:
        """The answer to an administrator; nothing for any other event."""
        if not isinstance(event, Request):
            return ()
        match event.body:
            case ListTransactions() as ask:
                seen = Coordinator(self.config, entries=entries_of(disk))
                return (Reply(event.caller, list_transactions(seen, ask, event.at_ms)),)
            case DescribeTransactions() as ask:
                seen = Coordinator(self.config, entries=entries_of(disk))
                return (Reply(event.caller, describe_transaction(seen, ask)),)
        return ()

    def translate(self, event: Event) -> Event:
        """What the file is given of an event: all but its time, which a search has none of."""
        event = replace(event, at_ms=0) if event.at_ms else event
        if not isinstance(event, Request) or not isinstance(event.body, AddOffsetsToTxn):
            return event
        ask, where = event.body, offsets_log(event.body.group, self.config)
        return replace(event, body=AddPartitionsToTxn(ask.txn_id, ask.pid, ask.epoch, (where,)))

    def _understand(
        self,
        reply: Message,
        role: Hosted,
        disk: Disk,
        config: KafkaConfig,
        event: Event | None = None,
    ) -> tuple[Hosted, Effects]:
        """Read the answer of the learner's process: the role's new state and its effects, or, where
        the answer makes no sense, a role that is `broken`, with the reason.

        `disk`, `config` and `event`: what the answer is checked with (`check_effects`,
        `check_added`).
        """
        match reply:
            case ("role", int(number), packed):
                try:
                    effects: Effects = unpack(packed)
                    check_effects(effects, disk, config)
                    check_added(effects, disk, role, event)
                    # `answer`: the callers that still wait, after these effects
                    return replace(role, number=number, waiting=answer(role, effects)), effects
                except SpeechError as error:  # effects that no coordinator may have
                    why = error.args[0]
                except Exception as error:  # what it says is no value of the engine's
                    why = UNREADABLE(type(error).__name__, error)
            case _:
                why = find_reason(reply)
        return replace(role, broken=why), ()


def find_reason(reply: Message) -> Text:
    """Why its process has not done what it was asked for."""
    match reply:
        case ("failed", str(english), str(chinese)):
            return Text(english, chinese)
    return tr("its process said what is no answer")


def keep_logs(disk: Disk) -> MemoryDisk:
    """What a coordinator may read of a disk: its log."""
    logs = ((name, MemoryLog(tuple(disk.log(name).read(0)))) for name in txn_logs(disk))
    return MemoryDisk(Map(logs))


def answer(role: Hosted, effects: Effects) -> Map[tuple[Any, ...], Reply]:
    """Who still waits after these effects. SpeechError for an answer to another question than was
    asked, and for a second one."""
    waiting = role.waiting
    for reply in effects:
        if not isinstance(reply, Reply):
            continue
        key = astuple(reply.caller)
        refusal = waiting.get(key)
        waits = type(refusal.body).__name__ if refusal else tr("no answer")
        kind = type(reply.body).__name__
        if kind != waits:
            raise SpeechError("{} waits for {} and gets {}", reply.caller.name, waits, kind)
        waiting = waiting.remove(key)
    return waiting


def check_imports(source: str, page: str, noun: Text) -> None:
    """Refuse (BuildError) a learner's file that is no Python, or that imports anything but `page`,
    the module that it is written with, and the harmless ones of IMPORTS. `noun`: what the file is
    called."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError) as error:  # ValueError: null bytes, up to Python 3.11.3
        said, line = str(getattr(error, "msg", error)), getattr(error, "lineno", 0)
        raise BuildError((NO_PYTHON if line else NO_SOURCE)(error=said, line=line)) from error
    for node in nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            if name != page and name.partition(".")[0] not in IMPORTS:
                others = Text(", ".join(IMPORTS[1:]), "、".join(IMPORTS[1:]))
                raise BuildError(
                    FOREIGN(line=node.lineno, name=name, noun=noun, page=page, others=others)
                )


def check_effects(effects: Effects, disk: Disk, config: KafkaConfig) -> None:
    """Refuse (SpeechError) effects that a coordinator does not have, and records that may not be
    written: in another log than that of their id, at another offset than the next, with a number
    below 0, with partitions after the end, or of a state that may not follow the last one of their
    id."""
    written: dict[str, int] = {}  # log → next offset, after the records of these effects
    states = {txn_id: entry.state for txn_id, entry in entries_of(disk).items()}
    for effect in effects:
        if not isinstance(effect, MAY_DO):
            raise SpeechError("{!r:.80} is no effect of a coordinator", effect)
        if isinstance(effect, SetTimer) and effect.timer == TIMEOUT:
            raise SpeechError("a timer is named {!r}: the transactional id comes after that",
                              effect.timer)  # fmt: skip
        if isinstance(effect, Send) and not isinstance(effect.body, WriteTxnMarkers):
            raise SpeechError("a coordinator sends markers: the body of Send is a WriteTxnMarkers")
        if not isinstance(effect, Append):
            continue
        record, log = effect.entry, effect.log
        if not isinstance(record, StateRecord) or log != txn_log(record.entry.txn_id, config):
            raise SpeechError("a record is written with `append(entry, disk, config)`")
        end = written.get(log, disk.log(log).end)
        if record.base != end:
            raise SpeechError("a record for offset {} is written, where {} is next",
                              record.base, end)  # fmt: skip
        written[log] = end + 1
        entry, old = record.entry, states.get(record.entry.txn_id)
        state = entry.state
        if min(entry.pid, entry.epoch) < 0:
            raise SpeechError("it writes pid {}, epoch {}: both begin at 0",
                              entry.pid, entry.epoch)  # fmt: skip
        if state in COMPLETED and entry.partitions:
            raise SpeechError("it writes {} with partitions: what has ended has none", state)
        if old is None and state is not TxnState.EMPTY:
            raise SpeechError("it writes {} of a new id: its first record says Empty", state)
        if old is not None and not may_enter(state, old, config.transaction_version):
            only = ONLY_ONGOING if state is TxnState.PREPARE_COMMIT else ""
            raise SpeechError("it writes {} after {}: no transaction goes that way{}",
                              state, old, only)  # fmt: skip
        states[entry.txn_id] = state


def check_added(effects: Effects, disk: Disk, role: Hosted, event: Event | None) -> None:
    """Refuse (SpeechError) a record of an open transaction with a partition that nobody has added
    to it: of what has ended none is left, and a leader that verifies adds none. Where others wait
    to add some too (`role`), one record may have all of them."""
    if not isinstance(event, Request) or not isinstance(event.body, AddPartitionsToTxn):
        return
    waiting = role.waiting.values()
    adding = [one for one in waiting if isinstance(one.body, AddPartitionsToTxnResponse)]
    for effect in effects if len(adding) == 1 else ():
        if not isinstance(effect, Append) or effect.entry.entry.txn_id != event.body.txn_id:
            continue
        if event.body.verify_only:
            raise SpeechError("it writes a record for AddPartitionsToTxn with `verify_only`: then "
                              "nothing is added")  # fmt: skip
        entry, old = effect.entry.entry, entries_of(disk).get(event.body.txn_id)
        is_open = old is not None and old.state is TxnState.ONGOING
        known = {*event.body.partitions, *(old.partitions if is_open else ())}
        foreign = sorted(set(entry.partitions) - known)
        if entry.state is TxnState.ONGOING and foreign:
            raise SpeechError("it writes Ongoing with {}, which was added to an earlier "
                              "transaction and not to this one: what has ended keeps no partition",
                              ", ".join(foreign))  # fmt: skip
