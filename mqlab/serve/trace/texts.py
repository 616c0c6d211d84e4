"""Texts that a client has had a part in: made short, with nothing unseen in them."""

from __future__ import annotations

from ...kernel import Text, escape_unseen, shorten

LONGEST = 300  # characters of a fact: a client's id may have 32,767
TITLE = 60  # characters of a name


def clip(text: Text) -> Text:
    """The words of a fact."""
    en, zh = (escape_unseen(shorten(words, LONGEST)) for words in (text.en, text.zh))
    return Text(en, zh)


def cut(name: str) -> str:
    """A name that a client chose."""
    return escape_unseen(shorten(name, TITLE))
