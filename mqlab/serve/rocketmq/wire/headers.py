"""The fields of a request's header, read one by one.

A header is texts under names (extFields). What a processor needs and does not find, or cannot
read as a number, it refuses with SYSTEM_ERROR and the words of the exception that the real
one throws (CommandCustomHeader#checkFields, RemotingCommand#decodeCommandCustomHeader, 5.5.0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....rocketmq.messages import read_number
from ....rocketmq.remoting import RemotingCommand, ResponseCode

NO_NUMBER = 'For input string: "{text}"'
SHORT = 10  # digits, fewer of which are below all limits
TRUE = "true"


class RequestError(Exception):
    """A request that is refused as it is: `code` and `remark` are the answer's."""

    def __init__(self, remark: str, code: ResponseCode = ResponseCode.SYSTEM_ERROR) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


class Header:
    """The fields of the header of `command`. `born_host`: the address of the client that sent
    it."""

    def __init__(self, command: RemotingCommand, born_host: str = "") -> None:
        self.command, self.born_host = command, born_host
        self._fields = command.fields

    def text(self, name: str, default: str | None = None) -> str:
        value = self._fields.get(name, default)
        if value is None:
            raise RequestError(f"the custom field <{name}> is null")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        return self._number(name, default, 32)

    def long(self, name: str, default: int | None = None) -> int:
        return self._number(name, default, 64)

    def flag(self, name: str, default: bool = False) -> bool:
        """Java's Boolean.parseBoolean: everything but "true" is false."""
        return self._fields.get(name, TRUE if default else "").lower() == TRUE

    def _number(self, name: str, default: int | None, bits: int) -> int:
        text = self._fields.get(name)
        if text is None:
            if default is not None:
                return default
            text = self.text(name)  # which refuses
        if len(text) < SHORT and text.isascii() and text.isdigit():
            return int(text)  # nearly all of them
        number = read_number(text, bits)
        if number is None:
            raise RequestError(NO_NUMBER.format(text=text[:100]))
        return number


Read = Callable[[Header, str], Any]
TEXT, INTEGER, LONG = Header.text, Header.integer, Header.long
MAYBE = partial(Header.text, default="")


def copy_to(kind: Callable[..., Any], **fields: Read) -> Callable[[Header], Any]:
    """The reader of a request whose header fields, in this order, are what `kind` is made of."""
    return lambda header: kind(*(read(header, name) for name, read in fields.items()))
