"""The glyphs that the pictures use, cut out of Inter and Noto Sans Symbols 2, and their widths.

Run by `.ci/font`. No kerning, no ligatures: a text is as wide as its glyphs, which Python adds up
(`mqlab_widgets.widths`). Digits are the tabular ones, so that a counter does not jitter.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

INTER = "inter-ui/web/Inter-{}.woff2"
NOTO = "fontsource-noto-sans-symbols-2/files/noto-sans-symbols-2-symbols-400-normal.woff2"
LETTERS = "".join(map(chr, range(0x20, 0x7F))) + "£·–—‘’“”…€"
# file → its source, that file's SHA-256, the characters
FACES = {
    "text-400.woff2": (
        INTER.format("Regular"),
        "e06f6b1bc553aaea4e4668023ed0ab0a147129c3107f511bc7d03d361b0ae085",
        LETTERS,
    ),
    "text-600.woff2": (
        INTER.format("SemiBold"),
        "5cb7103e4e605989afebc03d989c79201e54b21b5183db33981f70db9178a301",
        LETTERS,
    ),
    "signs-1.woff2": (
        INTER.format("Regular"),
        "e06f6b1bc553aaea4e4668023ed0ab0a147129c3107f511bc7d03d361b0ae085",
        "±×÷Δ←→↓↔↻⇒⇥−≠≤≥▲▼▶►○●✓✗",
    ),
    "signs-2.woff2": (
        NOTO,
        "9c07d511848c274b5430c75bf98d1f2582680ef5f967947bfbdd06b75ca177c2",
        "▮⇨☞⏲◂▸",
    ),
}


def with_tabular_digits(font: TTFont) -> None:
    """Let the digits of the character map be those of the feature `tnum`."""
    layout = font["GSUB"].table
    instead: dict[str, str] = {}
    for record in layout.FeatureList.FeatureRecord:
        if record.FeatureTag == "tnum":
            for index in record.Feature.LookupListIndex:
                for table in layout.LookupList.Lookup[index].SubTable:
                    instead |= getattr(table, "ExtSubTable", table).mapping
    for table in font["cmap"].tables:
        for code in map(ord, "0123456789"):
            name = table.cmap[code]  # two tables may share one map
            table.cmap[code] = instead.get(name, name)


def cut(source: Path, chars: str, out: Path) -> dict[str, int]:
    """Writes the font of `chars`; returns their advance widths in 1/1000 of the font size."""
    font = TTFont(source)
    missing = [char for char in chars if ord(char) not in font.getBestCmap()]
    if missing:
        sys.exit(f"{source.name} has no {' '.join(missing)}")
    if "0" in chars:
        with_tabular_digits(font)
    options = subset.Options(
        flavor="woff2", layout_features=[], hinting=False, name_IDs=[0, 13, 14], glyph_names=False
    )
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "STAT", "gasp", "meta"]
    cutter = subset.Subsetter(options)
    cutter.populate(text=chars)
    cutter.subset(font)
    font.flavor = "woff2"
    font["head"].modified = font["head"].created  # the same bytes every time
    font.recalcTimestamp = False
    font.save(out)
    em, names = font["head"].unitsPerEm, font.getBestCmap()
    return {char: round(font["hmtx"][names[ord(char)]][0] * 1000 / em) for char in chars}


def main(work: Path, target: Path) -> None:
    table: dict[str, dict[str, object]] = {}
    for name, (source, checksum, chars) in FACES.items():
        found = hashlib.sha256((work / source).read_bytes()).hexdigest()
        if found != checksum:
            sys.exit(f"{source} has SHA-256 {found}, not {checksum}")
        advances = cut(work / source, chars, target / name)
        digest = hashlib.sha256((target / name).read_bytes()).hexdigest()
        table[name] = {"sha256": digest, "advances": advances}
        print(f"{name}: {len(chars)} glyphs, {(target / name).stat().st_size} bytes")
    text = json.dumps(table, ensure_ascii=False, indent=1)
    (target / "advances.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
