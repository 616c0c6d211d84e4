"""Words for people, in English and Chinese; the real system's own names stay untranslated.

A `Words` is a template pair, kept beside the code that says it; calling it gives a `Text`.
Everything that is drawn or printed is a `Text` until the last moment, when `of(lang)` picks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Lang = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Text:
    """One thing said. `zh` is empty where both languages say the same (names, numbers)."""

    en: str
    zh: str = ""

    def of(self, lang: Lang = "en") -> str:
        return self.zh or self.en if lang == "zh" else self.en

    def __str__(self) -> str:
        return self.en

    def json(self) -> str | list[str]:
        return [self.en, self.zh] if self.zh else self.en

    @staticmethod
    def from_json(value: str | list[str]) -> Text:
        return Text(value) if isinstance(value, str) else Text(*value)


NOTHING = Text("")


@dataclass(frozen=True, slots=True)
class Words:
    """A template in both languages: `Words("killed ({n})", "被杀（{n}）")(n=1)`."""

    en: str
    zh: str

    def __call__(self, **args: Any) -> Text:
        def fill(template: str, lang: Lang) -> str:
            return template.format(
                **{k: v.of(lang) if isinstance(v, Text) else v for k, v in args.items()}
            )

        return Text(fill(self.en, "en"), fill(self.zh, "zh"))
