"""Right files: that of Part 1 in full, and for each later part what is new in it.

What is new is in a `.diff` beside it, as `diff -U1` writes it. To change Part 2, write its file
(`mqlab build new --part 3 FILE`), change it, and compare it again with that of Part 1.
`read_right` names the first line that Part 3 no longer fits.
"""

from __future__ import annotations

from pathlib import Path


def read_right(folder: Path, sitting: int) -> str:
    """The right file of a part, of those in a folder of `labs`; of part 0 the file to begin with.
    FileNotFoundError where there is none; ValueError where a change does not fit the file of the
    part before it."""
    first = "sitting-1" if sitting else "begin"
    text = (folder / f"{first}.py").read_text("utf-8")
    for number in range(2, sitting + 1):
        text = apply_diff(text, (folder / f"sitting-{number}.diff").read_text("utf-8"))
    return text


def apply_diff(text: str, diff: str) -> str:
    """The text with the changes of a unified diff. ValueError where it was made of another one."""
    old, new, at = text.splitlines(keepends=True), list[str](), 0
    for line in diff.splitlines(keepends=True)[2:]:
        sign, rest = (line[0], line[1:]) if line.strip() else (" ", line)
        if sign == "@":  # as in "@@ -43,2 +43,6 @@": what comes next begins at line 43
            start = int(rest.split("-")[1].split(",")[0]) - 1
            new += old[at:start]
            at = start
            continue
        if sign != "+":
            if old[at : at + 1] != [rest]:
                raise ValueError(f"line {at + 1} is not {rest!r}")
            at += 1
        if sign != "-":
            new.append(rest)
    return "".join(new + old[at:])
