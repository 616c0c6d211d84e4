"""Words for people, in English and Chinese; the real system's own names stay untranslated.

A `Words` is a template, kept in English beside the code that says it; calling it gives a `Text`,
and `tr` does so for words without a template. Their Chinese is in the catalogues
(`catalogue.py`). Everything that is drawn or printed is a `Text` until the last moment, when
`of(lang)` picks.
`of()` and `str` pick the language that the process speaks: English, until `speak("zh")`. What a
program compares (a narration, a line, a digest) is English in any case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from difflib import get_close_matches
from string import digits
from typing import Any, Literal, TypeVar

from .catalogue import translate
from .maps import frozen

Lang = Literal["en", "zh"]
LANGUAGES: tuple[Lang, ...] = ("en", "zh")
T = TypeVar("T")


class _Speech:
    lang: Lang = "en"


def speak(lang: str) -> None:
    """The language of all that is drawn or printed from now on and does not name another one: "en"
    or "zh". ValueError for any other."""
    if lang not in LANGUAGES:
        raise ValueError(f"nothing here speaks {lang!r}: “en” is English, “zh” is Chinese (中文)")
    _Speech.lang = "zh" if lang == "zh" else "en"


def spoken() -> Lang:
    """What `speak` has set."""
    return _Speech.lang


@contextmanager
def speaking(lang: Lang) -> Iterator[None]:
    """The language of what is drawn or printed within."""
    before = spoken()
    speak(lang)
    try:
        yield
    finally:
        speak(before)


def count_columns(text: str) -> int:
    """How many columns a text takes on a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


class Said(str):
    """A text that an f-string pads by columns of a terminal, as in `f"{said:<20}"`, where a plain
    one counts characters."""

    def __format__(self, how: str) -> str:
        padded = re.fullmatch(r"([<>^]?)(\d+)", how)
        if not padded:
            return super().__format__(how)
        doubled = count_columns(self) - len(self)
        return super().__format__(f"{padded[1]}{max(0, int(padded[2]) - doubled)}")


def say(english: str, /, **values: object) -> str:
    """A label in a cell of a notebook, in the language that is spoken; with `values` it is a
    template. The labs' catalogue has its Chinese."""
    said = Text(english, translate(english, domain="labs")).of()
    return Said(said.format(**values) if values else said)


def pick(entry: Any, said: Collection[str], lang: Lang | None = None, domain: str = "mqlab") -> Any:
    """A file's tables and lists with what is under the keys `said` in one language; what the
    catalogue of the domain does not have stays as it is."""

    def choose(entry: Any, is_said: bool) -> Any:
        if isinstance(entry, list):
            return [choose(one, is_said) for one in entry]
        if isinstance(entry, dict):
            return {key: choose(value, key in said) for key, value in entry.items()}
        return (is_said and isinstance(entry, str) and translate(entry, "", domain)) or entry

    return entry if (lang or spoken()) == "en" else choose(entry, False)


@frozen
class Text:
    """One thing said. `zh` is empty where both languages say the same (names, numbers). `made`:
    what a template was filled with, for programs: they ask this, and never the words. `en`: its
    English."""

    en: str
    zh: str = ""
    made: Made | None = field(default=None, compare=False, repr=False)

    def of(self, lang: Lang | None = None) -> str:
        return self.zh or self.en if (lang or spoken()) == "zh" else self.en

    def __str__(self) -> str:
        return self.of()

    def json(self) -> str | list[str]:
        return [self.en, self.zh] if self.zh else self.en

    @staticmethod
    def from_json(value: str | list[str]) -> Text:
        """Raises ValueError for what is no text."""
        both = [value] if isinstance(value, str) else value
        if not isinstance(both, list) or not both or not all(isinstance(v, str) for v in both):
            raise BadValue("{!r}: expected a text", str(value)[:40])
        return Text(both[0], both[1] if len(both) > 1 else "")


NOTHING = Text("")

#: the language in which what has a line of its own says it: Chinese only within `in_chinese`
_LINE: ContextVar[Lang] = ContextVar("line", default="en")


def phrase(english: str, /, *some: object, **named: object) -> str:
    """The line that something says of itself, or a part of it: a template, filled. Its Chinese is
    in the catalogue with the context "label", where it is no name alone."""
    said = english if _LINE.get() == "en" else translate(english, "label") or english
    return said.format(*some, **named) if some or named else said


def phrase_word(word: str) -> str:
    """A word of the model's own as a `phrase`: a state, a timer, a table, why a call failed. The
    catalogue has its Chinese with the context "word". What follows the last blank may be whose it
    is (`timeout order-service`). What is unknown stays as it is."""
    if _LINE.get() == "en":
        return word
    of, _, whose = word.rpartition(" ")
    said = translate(of, "word") and f"{translate(of, 'word')} {whose}"
    return translate(word, "word") or said or word


def in_chinese(make: Callable[[], T]) -> T:
    """What `make` gives where each `phrase` in it is Chinese."""
    before = _LINE.set("zh")
    try:
        return make()
    finally:
        _LINE.reset(before)


def say_both(make: Callable[[], str]) -> Text:
    """A line of `phrase`s in both languages."""
    english, chinese = make(), in_chinese(make)
    return Text(english, "" if chinese == english else chinese)


def tr(english: str, context: str = "") -> Text:
    """Words as they are, without a template; the catalogue has their Chinese."""
    return Text(english, translate(english, context))


#: of a program that has failed and has written no error
NO_REASON = tr("it gave no reason")


#: marks that turn the reading direction of what follows them
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN = ("Cc", "Cs", "Zl", "Zp")  # control characters, half characters, line separators


def escape_unseen(text: str) -> str:
    """The text in one line, with what a terminal would obey instead of showing it written out:
    control characters as \\x1b, marks of direction as \\u202e."""
    if text.isprintable():  # no control character, and no mark of direction, counts as printable
        return text
    return "".join(_written(char) for char in text)


def _written(char: str) -> str:
    if char in TURNING or unicodedata.category(char) in UNSEEN:
        code = ord(char)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    return char


def shorten(text: str, most: int) -> str:
    """The text, cut to so many characters where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def say_unknown(what: str, word: str, known: Collection[str], where: str | Text = "") -> Text:
    """`no call 'comit'; did you mean commit?`, or all that is `known` where nothing is near:
    another number is no slip."""
    short = shorten(word, 60)
    near = [one for one in known if one.lower() == short.lower()] or [
        one
        for one in get_close_matches(short, known, 1, 0.65)
        if one.strip(digits) != short.strip(digits)
    ]
    words = NEAR if near else UNKNOWN if known else NONE
    listed = near[0] if near else shorten(", ".join(known), 500)
    return words(what=tr(what, "what"), word=short, where=where, listed=listed)


@frozen
class Words:
    """A template: `Words("killed ({n})")(n=1)`. `zh`: its Chinese, where it is put together here
    and so in no catalogue; `context`: see `translate`. `en`: its English."""

    en: str
    zh: str = ""
    context: str = ""

    def __call__(self, *some: object, **args: Any) -> Text:
        def fill(template: str, lang: Lang) -> str:
            return template.format(
                *(_in(lang, value) for value in some),
                **{key: _in(lang, value) for key, value in args.items()},
            )

        chinese = self.zh or translate(self.en, self.context) or self.en
        return Text(fill(self.en, "en"), fill(chinese, "zh"), Made(self, args))

    def has_made(self, text: Text) -> bool:
        """Whether the text is this template, filled in."""
        return text.made is not None and text.made.words == self


def match_words(english: str, templates: Iterable[Words]) -> Text | None:
    """What is kept in English, as a program does, said by the template without formats that made
    it; None where none of them did."""
    for one in templates:
        pattern = re.escape(one.en).replace(r"\{\}", "(.+?)")
        if match := re.fullmatch(pattern, english):
            return one(*match.groups())
    return None


def _in(lang: Lang, value: object) -> object:
    """What fills a template: a text, and what an error says, in this language."""
    said = value.args[0] if isinstance(value, WordedError) else value
    return said.of(lang) if isinstance(said, Text) else said


NEAR = Words("no {what} {word!r}{where}; did you mean {listed}?")
UNKNOWN = Words("no {what} {word!r}{where}; there are: {listed}")
NONE = Words("no {what} {word!r}{where}; there is none here")


class WordedError(Exception):
    """An error for people: `WordedError("no file {}", path)`, said in the language that is spoken
    when it is shown."""

    def __init__(self, english: str | Text, *values: object) -> None:
        done = isinstance(english, Text) or not values
        super().__init__(_find(english) if done else Words(str(english))(*values))


#: what an operating system says of an error, as Python passes it on
CAUSES = (
    tr("No such file or directory"), tr("Permission denied"), tr("File exists"),
    tr("Not a directory"), tr("Is a directory"), tr("Read-only file system"),
    tr("No space left on device"), tr("File name too long"), tr("Connection refused"),
    tr("Address already in use"), tr("Cannot assign requested address"),
    tr("Name or service not known"), tr("timed out"),
)  # fmt: skip


def say_cause(error: BaseException) -> Text:
    """What the operating system says of an error; one that is not among CAUSES is said in its own
    words."""
    inner = getattr(error, "reason", None)  # of urllib's errors
    if isinstance(inner, OSError):
        return say_cause(inner)
    return tr(getattr(error, "strerror", None) or str(error))


def _find(english: str | Text) -> Text:
    return english if isinstance(english, Text) else tr(english)


class BadValue(WordedError, ValueError):
    """A value that a user gave and that cannot be used; the message says what was expected."""


@frozen
class Made:
    """Which template a `Text` was made of, and the values in it. `words`: that
    template."""

    words: Words
    values: Mapping[str, Any]
