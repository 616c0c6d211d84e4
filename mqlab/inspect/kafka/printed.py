"""The lines of a text in which tools have printed, and what is among them that is no tool's row: of
a shell, a JVM, docker compose or kubectl, or of a tool that is not read. `tools.py` reads the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

LONGEST = 1 << 20  # bytes of a line
MOST_UTF16 = 256 << 20  # bytes of a text in UTF-16, which is read at once
#: what a terminal obeys, such as colours; what a tool, its JVM and a shell print among the rows
COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
NOISE = re.compile(
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|(WARN|WARNING|Warning|INFO|DEBUG)\b|SLF4J[:(]|log4j:|"
    r"Picked up |.*VM warning: |Consumer group '|(Log s|S)tarting offset: |"
    r"Non-consecutive offsets in |Mismatches in |Found (time|out of order)|  Index |"
    r"  \d+ is followed by |(\[?\S+@[^|]*?)?[$#](\s*$|\s.*kafka-)|"
    r"Defaulted container |Unable to use a TTY|Use 'kubectl |If you don't see a command prompt|"
    r"Ignoring unknown file |The following indexed |Indexed offset: "
)
FAILED = re.compile(
    r"(\[[\d ,:.TZ-]+\] )?(Error: |ERROR |Exception in thread |Found \d+ inv|command terminated )"
)
#: docker compose puts the name of its container before each line, `kubectl logs --prefix` the pod
CONTAINER = re.compile(r"([\w.-]+ +\||\[pod/\S+\]) ?")
#: what other tools print
OTHERS = (
    (re.compile(r"[\w.-]+:\d+:\d*$"), "kafka-get-offsets.sh"),
    (re.compile(r'Querying brokers for log dir|Received log dir|\{.*"(brokers|logDirs)":'),
     "kafka-log-dirs.sh"),
    (re.compile(r"Topic: \S+\s"), "kafka-topics.sh --describe"),
    (re.compile(r"\S+::TransactionMetadata|\[.+,\d+\]::"), "kafka-console-consumer.sh"),
)  # fmt: skip


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, of which each is cut where it is too long."""
    data = stream.readline(LONGEST).removeprefix(b"\xef\xbb\xbf")
    is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # as a Windows shell writes into a file
    if is_utf16 or (b"\r" in data and b"\n" not in data):  # or lines that end with CR alone
        code = "utf-16" if is_utf16 else "utf-8"
        text = (data + stream.read(MOST_UTF16)).decode(code, "backslashreplace")
        yield from enumerate(COLOURS.sub("", text).splitlines(), 1)
        return
    rest = iter(lambda: stream.readline(LONGEST), b"")
    for number, piece in enumerate(chain([data], rest), 1):
        line = piece.decode("utf-8", "backslashreplace")
        yield number, COLOURS.sub("", line) if "\x1b" in line else line


def split_containers(lines: Iterator[tuple[int, str]]) -> Iterator[Iterable[tuple[int, str]]]:
    """The lines; if docker compose has put a name before them, those of each container."""
    head = list(islice(lines, 9))
    lines = chain(head, lines)
    if not any(CONTAINER.match(line) for _, line in head):
        yield lines
        return
    of: dict[str, list[tuple[int, str]]] = {}
    for number, line in lines:
        match = CONTAINER.match(line)
        of.setdefault(match[1] if match else "", []).append((number, CONTAINER.sub("", line, 1)))
    yield from of.values()
