"""Where this project's server answers otherwise than a real Pulsar, and why that stands.

The text beside this module is the whole of it; the page
datasets/recordings/DIFFERENCES-pulsar.md is made from it.
A difference that is found is fixed, or gets a row here with a reason one can argue about.
"""

from __future__ import annotations

from pathlib import Path

from mqlab.places import RECORDINGS
from mqlab.pulsar import unserved
from mqlab.real.differences import Listed, write_page, write_table
from tests.oracle.differences import read_sections

PAGE = RECORDINGS / "DIFFERENCES-pulsar.md"

SECTIONS = read_sections(Path(__file__).parent)
TABLE: tuple[Listed, ...] = ()
#: programs that are not run against `mqlab serve pulsar`, and why
UNSERVED = dict(SECTIONS["not served"])
IGNORED, OTHERS = SECTIONS["not compared"], SECTIONS["not served"] + SECTIONS["not recorded"]


def page() -> str:
    """DIFFERENCES-pulsar.md."""
    source = "Made by `mqlab real pulsar compare --page` from `tests/oracle/pulsar/differences.py`."
    text = write_page("Pulsar", source, TABLE, IGNORED, OTHERS)
    lines = ["", "## What `mqlab serve pulsar` does not serve", ""]
    lines += ["It refuses by the same tables (`mqlab/pulsar/unserved.py`).", ""]
    lines += write_table(("what is asked for", "what is answered"), list_refusals())
    return text + "\n".join(lines).rstrip() + "\n"


def list_refusals() -> list[tuple[str, str]]:
    """(what is asked for, how it is answered), each once."""
    rows = [(what, f"NotAllowed: {words}") for what, words in unserved.NOT_FOR_CLIENTS]
    rows += [(what, f"{error}: {why}") for what, error, why in unserved.REFUSED]
    rows += dict.fromkeys((f"administration: {what}", "501") for _, _, what in unserved.UNSERVED)
    rows += [
        (f"administration: `{field}` of `{part}`", why) for part, field, why in unserved.OTHERWISE
    ]
    untold = ", ".join(sorted(unserved.UNTOLD))
    rows.append(("administration: fields that this server does not fill", f"left out: {untold}"))
    return rows
