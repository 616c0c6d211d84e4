"""Where this project's server answers otherwise than a real RocketMQ, and why that stands.

The text beside this module is the whole of it; the page
datasets/recordings/DIFFERENCES-rocketmq.md is made from it.
A difference that is found is fixed, or gets a row here with a reason one can argue about.
"""

from __future__ import annotations

from pathlib import Path

from mqlab.places import RECORDINGS
from mqlab.real.differences import write_page
from mqlab.rocketmq.remoting.unserved import UNSERVED
from tests.oracle.differences import read_sections, read_table

PAGE = RECORDINGS / "DIFFERENCES-rocketmq.md"

SECTIONS = read_sections(Path(__file__).parent)
TABLE = read_table(SECTIONS["differences"])
IGNORED, OTHERS = SECTIONS["not compared"], SECTIONS["not recorded"]


def list_refused() -> list[str]:
    """Markdown: every request that the server refuses with a sentence."""
    lines = ["", "## Requests that are refused", ""]
    lines += ["With REQUEST_CODE_NOT_SUPPORTED, the request's name and what stands here.", ""]
    lines += ["| code | request | asked by | answer |", "| --- | --- | --- | --- |"]
    for code, one in sorted(UNSERVED.items()):
        lines.append(f"| {code} | {one.name} | {one.asked_by} | {one.why} |")
    lines += ["", "## Answered otherwise, beyond the recordings", ""]
    return lines + [f"- **{what}** {how}." for what, how in SECTIONS["otherwise"]]


def page() -> str:
    """DIFFERENCES-rocketmq.md: the recordings' part, and what mqadmin and others meet besides."""
    source = (
        "Made by `mqlab real rocketmq compare --page` from `tests/oracle/rocketmq/differences.py`."
    )
    recorded = write_page("RocketMQ", source, TABLE, IGNORED, OTHERS)
    return recorded + "\n".join(list_refused()) + "\n"
