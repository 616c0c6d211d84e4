"""The calls of a scenario's `run app: …` by their usages, which learners and this module read.

    CALLS = Usages({"send PARTITION VALUE … [txn=NAME]": Send, "commit NAME": Commit})
    CALLS.read(("send", "orders-0", "a", "txn=t1"), {"PARTITION": one_of("partition", names)})

A usage begins with its verb. Then come its arguments: `KIND` is one word, `KIND …` one or more,
which are given as a tuple, `this|that` one of these words. In brackets is what may be missing:
an argument (then "" or an empty tuple is given), or options (`[txn=NAME sequence=N]`). What follows
a comma is for people only. A word with = is a word as others where a usage has no options,
or none of that name and no argument `KIND …`, and where it begins with a quotation mark; as a name
it is refused.

Words are quoted as in a shell, `"two words"`, `note="it's so"` or `'{"id": 1}'`; a backslash is a
character like any other.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from .maps import frozen
from .text import BadValue, say_unknown, shorten, tr

Words = tuple[str, ...]
#: makes of a word what its kind means, None where it is none; ValueError says why
Reader = Callable[[str], Any]

PIECE = re.compile(r"\[[^]]*\]|\S+(?: …)?")
#: kinds that are whole numbers
NUMBERS = ("N", "MS", "BYTES", "LEVEL", "1")
#: signs as an input method writes them, and the ones that have a meaning in a line
WIDE = dict(zip("，、；：＝＠＃｜“”‘", ',,;:=@#|""\'', strict=True))
#: what has a meaning in a line
SIGNS = re.compile(rf"[\s{{}},;'\"{''.join(WIDE)}]")
OPTION = re.compile("[a-z_]+=")
QUOTED = r"""(?:"[^"]*"|'[^']*')"""
DIGITS = 15
SEVERAL = tr('; a value of several words is written in quotation marks, "two words"')


class Quoted(str):
    """A word that begins with a quotation mark, so that it is no option."""


def check_signs(text: str) -> None:
    """BadValue for a full-width sign outside quotation marks: it would be part of a value."""
    for sign in re.sub(QUOTED, "", text):
        if sign in WIDE:
            raise BadValue(
                "write `{}` instead of `{}`, or put quotation marks around a value that "
                "contains it",
                WIDE[sign],
                sign,
            )


def split(text: str, at: str) -> list[str]:
    """The pieces of a text between characters of the class `at`, those in quotation marks not
    counted. ValueError for a quotation mark without its second, and for a full-width sign."""
    check_signs(text)
    if {'"', "'"} & {*re.sub(QUOTED, "", text)}:
        raise BadValue(
            "{!r}: a quotation mark is not closed; write a value of several words as "
            '"two words", and one with an apostrophe as "it\'s"',
            shorten(text, 60),
        )
    return re.findall(rf"(?:[^{at}\"']|{QUOTED})+", text)


def split_words(call: str) -> Words:
    """The words of a call, without their quotation marks."""
    words = ((word, re.sub(QUOTED, lambda m: m[0][1:-1], word)) for word in split(call, r"\s"))
    return tuple(Quoted(said) if word[0] in "\"'" else said for word, said in words)


def quote(word: str) -> str:
    """A word as `split_words` reads it back."""
    if word and not SIGNS.search(word) and not OPTION.match(word):
        return word
    return shlex.quote(word) if '"' in word else f'"{word}"'


@frozen
class Argument:
    """`free`: it may be missing; `many`: all words that follow."""

    kind: str
    choices: Words = ()
    free: bool = False
    many: bool = False

    def takes(self, word: str, rest: Iterable[Argument]) -> bool:
        """Whether a word is this argument, and none of the `rest`."""
        if self.choices:
            return word in self.choices
        return all(word not in other.choices for other in rest)


class Usage:
    """`make` is called with the arguments, and with those options that were given."""

    def __init__(self, text: str, make: Callable[..., Any]) -> None:
        self.text, self.make = text, make
        self.verb, _, rest = text.partition(",")[0].partition(" ")
        self.arguments: list[Argument] = []
        self.options: dict[str, str] = {}
        for piece in PIECE.findall(rest):
            kind = piece.strip("[]")
            if "=" in kind:
                self.options |= dict(option.split("=", 1) for option in kind.split())
                continue
            name = kind.removesuffix(" …")
            choices = tuple(name.replace(" ", "").split("|")) if "|" in name else ()
            self.arguments.append(Argument(name, choices, piece != kind, name != kind))

    def read(self, words: Words, readers: Mapping[str, Reader]) -> Any:
        """Read the words after the verb and make the call from them. None where they do not fit
        this usage; the caller then says which form is expected. Raises ValueError for a word whose
        value is wrong, and for an option that is there twice. `readers`: by kind of argument, what
        turns each of its words into a value; a reader returns None for a word that does not fit."""
        named = [word for word in words if self._is_option(word)]
        # for each argument its words; None: there are too many or too few
        shares = self._share_out([word for word in words if word not in named])
        if shares is None:
            return None
        values: list[Any] = []
        for argument, its_words in zip(self.arguments, shares, strict=True):
            read_values = tuple(map(_find_reader(argument.kind, readers), its_words))
            if None in read_values:
                return None
            # "" is given for an argument that may be missing and is
            values.append(read_values if argument.many else read_values[0] if read_values else "")
        given = dict(word.split("=", 1) for word in named)
        if not given.keys() <= self.options.keys():
            return None
        if len(given) < len(named):
            raise BadValue(
                "{}: an option is there twice; write it once", shorten(" ".join(named), 60)
            )
        options = {
            name: _read_option(name, self.options[name], text, readers)
            for name, text in given.items()
        }
        return None if None in options.values() else self.make(*values, **options)

    def _is_option(self, word: str) -> bool:
        """A name and =; where no argument takes all that follows, a known name only."""
        several = any(argument.many for argument in self.arguments)
        option = bool(self.options and OPTION.match(word)) and not isinstance(word, Quoted)
        return option and (several or word.partition("=")[0] in self.options)

    def has_more(self, words: Words) -> bool:
        """Whether there are more words than arguments, one of which is a value."""
        values = {"VALUE", "ORDER"} & {one.kind for one in self.arguments}
        plain = [word for word in words if isinstance(word, Quoted) or not OPTION.match(word)]
        return bool(values) and len(plain) > 1 + len(self.arguments)

    def _share_out(self, words: list[str]) -> list[list[str]] | None:
        """The words of each argument; None where there are too many or too few."""
        shares: list[list[str]] = []
        for number, argument in enumerate(self.arguments):
            rest = self.arguments[number + 1 :]
            take = len(words) if argument.many else bool(words) and argument.takes(words[0], rest)
            if not take and not argument.free:
                return None
            shares.append(words[:take])
            words = words[take:]
        return None if words else shares


def _find_reader(kind: str, readers: Mapping[str, Reader]) -> Reader:
    return readers.get(kind, number if kind in NUMBERS else bare)


def _read_option(name: str, kind: str, text: str, readers: Mapping[str, Reader]) -> Any:
    value = _find_reader(kind, readers)(text)
    if value is None and kind not in readers:
        raise BadValue(
            "{}={}: expected a whole number of at most {} digits", name, shorten(text, 20), DIGITS
        )
    return value


class Usages:
    """By verb."""

    def __init__(self, table: Mapping[str, Callable[..., Any]]) -> None:
        usages = [Usage(text, make) for text, make in table.items()]
        self.by_verb = {usage.verb: usage for usage in usages}

    def read(self, words: Words, readers: Mapping[str, Reader]) -> Any:
        """The call that the words of a line mean; `readers`: by kind, for a kind without one
        the word itself. Raises ValueError with advice."""
        verb = words[0] if words else ""
        usage = self.by_verb.get(verb)
        if usage is None:
            raise ValueError(say_unknown("call", verb, self.by_verb))
        call = usage.read(words[1:], readers)
        if call is None:
            quoted = (quote(w) if isinstance(w, Quoted) or SIGNS.search(w) else w for w in words)
            said = shorten(" ".join(quoted), 60)
            several = (usage.has_more(words) and SEVERAL) or ""
            raise BadValue("{!r} is not a call; expected {}{}", said, usage.text, several)
        return call


# ---- readers ---------------------------------------------------------------------------


def one_of(what: str, names: Collection[str]) -> Reader:
    """The name of something that there is."""

    def read(name: str) -> str:
        if OPTION.match(name):
            raise BadValue("{!r}: this call has no such option", shorten(name, 60))
        if name not in names:
            raise ValueError(say_unknown(what, name, names))
        return name

    return read


def bare(word: str) -> str:
    """A name: a word without what has a meaning in a line."""
    if OPTION.match(word):
        raise BadValue("{!r}: this call has no such option", shorten(word, 60))
    if not word or SIGNS.search(word):
        raise BadValue("{!r}: expected one word without {{}},;'\"", shorten(word, 60))
    return str(word)


def any_text(word: str) -> str:
    """A value, of one word or of several in quotation marks."""
    if word.splitlines() != [word]:
        raise BadValue("{!r}: expected one character or more on one line", shorten(word, 60))
    return str(word)


def number(word: str) -> int | None:
    """None for what is no whole number of at most DIGITS digits."""
    return int(word) if word.isascii() and word.isdigit() and len(word) <= DIGITS else None
