"""Chinese for the program's English: gettext catalogues, the program's own and the labs'.

The code says English. Its Chinese is in `mqlab/locale/zh/LC_MESSAGES/mqlab.po`, that of the site
and the lecture in `labs/locale/zh/LC_MESSAGES/labs.po`. Python's gettext reads compiled files
(`.mo`): a wheel brings them, and in a clone Babel makes one when its `.po` has changed. With
neither, all is said in English. `make po` brings the catalogues in step with the sources.
"""

from __future__ import annotations

import gettext
import io
import os
import re
import tempfile
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from ..places import LABS, PACKAGE

#: the folder of catalogues of each gettext domain
DOMAINS = {"mqlab": PACKAGE / "locale", "labs": LABS / "locale"}


class _Missing(gettext.NullTranslations):
    """Asked for what a catalogue does not have."""

    def gettext(self, message: str) -> str:
        return ""

    def pgettext(self, context: str, message: str) -> str:
        return ""


@lru_cache(10_000)
def translate(english: str, context: str = "", domain: str = "mqlab") -> str:
    """The Chinese of a text or template; "" where the catalogue of the domain, "mqlab" or "labs",
    has none. `context` distinguishes what English says alike."""
    catalogue = read_catalogue(domain)
    if not english:  # gettext answers with the catalogue's head
        return ""
    return catalogue.pgettext(context, english) if context else catalogue.gettext(english)


#: of Markdown: a fenced block of code, or what ends with a blank line
PARAGRAPH = re.compile(r"(?ms)^```.*?^```$|^[^\n].*?(?=\n\n|\Z)")
#: where a paragraph goes on in its next line, which begins no item, row or heading
WRAPPED = re.compile(r"\n *(?!\s|[-*] |[|>#<]|```|\d+\. )")


def translate_text(text: str, domain: str) -> str:
    """A long text, paragraph by paragraph; what the catalogue lacks stays as it is."""
    return PARAGRAPH.sub(lambda one: translate(unwrap(one[0]), "", domain) or one[0], text)


def unwrap(paragraph: str) -> str:
    """As a catalogue has it: in one line, but for code, lists and tables."""
    is_code = paragraph.startswith(("```", "    "))
    return paragraph if is_code else WRAPPED.sub(" ", paragraph)


def find_catalogue(domain: str) -> Path:
    return DOMAINS[domain] / "zh" / "LC_MESSAGES" / f"{domain}.po"


@cache
def read_catalogue(domain: str) -> gettext.NullTranslations:
    """The catalogue of a domain; one that has nothing where there is none, nor Babel to make it."""
    source = find_catalogue(domain)
    made = source.with_suffix(".mo")
    catalogue: gettext.NullTranslations = _Missing()
    content = made.read_bytes() if made.is_file() else b""
    if source.is_file() and (not content or _age(made) != _age(source)):
        with suppress(ModuleNotFoundError):  # no Babel
            content = compile_catalogue(source)
            _keep(made, content, _age(source))
    if content:
        catalogue = gettext.GNUTranslations(io.BytesIO(content))
    catalogue.add_fallback(_Missing())
    return catalogue


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def compile_catalogue(source: Path) -> bytes:
    """The `.mo` of a `.po`. ModuleNotFoundError without Babel."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with source.open("rb") as file:
        catalogue = read_po(file, locale="zh", abort_invalid=True)
    made = io.BytesIO()
    write_mo(made, catalogue)
    return made.getvalue()


def _keep(path: Path, content: bytes, age: int) -> None:
    """Whole or not at all, since other processes read it; not at all where nothing may be
    written. It is as old as what it was made of, so a change meanwhile is seen."""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".mo")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.utime(name, ns=(age, age))
        os.chmod(name, 0o644)
        os.replace(name, path)
