"""Where this project's server answers otherwise than a real Pulsar, and why that stands.

The table is the whole of it; the page datasets/recordings/DIFFERENCES-pulsar.md is made from it.
A difference that is found is fixed, or gets a row here with a reason one can argue about.
"""

from __future__ import annotations

from mqlab.places import RECORDINGS
from mqlab.pulsar import unserved
from mqlab.real.differences import Listed, write_page, write_table

PAGE = RECORDINGS / "DIFFERENCES-pulsar.md"

#: what is not compared, and why
IGNORED = (
    ("positions", "are a ledger's id and an entry's in a real broker; noted is an entry's place in "
     "its topic, counted over all its ledgers from 0"),
    ("transaction ids", "are counted from the first of a scenario, since a coordinator counts on "
     "through all of them; the coordinator's own number is 0, as a standalone broker has one"),
    ("names", "of topics and namespaces are the program's own; on the wire each execution gives "
     "them a prefix"),
    ("timestamps, request ids, ports and ids of producers and consumers", "are left out"),
    ("what an exception says", "is left out, its class is noted"),
    ("how many markers", "a frozen end has written is not noted: a retry comes about once a "
     "second, and the program waits for some of them"),
    ("what a dispatcher does by the way", "is read when it no longer changes: a marker or an "
     "aborted message is acknowledged some time after it could be read"),
    ("the time until a timer", "is not noted: a deadline, a retry, a delayed message"),
)  # fmt: skip

TABLE: tuple[Listed, ...] = ()

#: programs that are not run against `mqlab serve pulsar`, and why
UNSERVED = {
    "aborts-forgotten": "the server deletes no ledger",
    "compaction": "the server does not compact topics",
    "delayed": "the server does not delay messages",
    "ended-twice": "the server writes its log at once: the first end is over before the second",
    "the-last-ledger-is-gone": "the server deletes no ledger",
    "the-snapshot-is-gone": "the server deletes no ledger",
    "the-ledger-is-gone": "the server deletes no ledger",
    "the-ledger-is-gone-helped": "the server deletes no ledger",
    "frozen-until-somebody-looks": "to be asked for a transaction loads no topic on the server",
}

#: scenarios that are recorded and not compared, and those that are not recorded
OTHERS = (
    *UNSERVED.items(),
    ("a client that is built and has not begun a transaction",
     "not recorded: a real one connects to the coordinators, and so loads them, when it is "
     "built; the engine's when it begins its first transaction"),
    ("the pending-ack log that is cut", "not recorded: a log's own index is not seen from outside"),
    ("illegal transitions of the store, an end while the coordinator is loading",
     "not recorded: no client can ask so. Tests of the engine's roles"),
    ("coordinators of several brokers, replication between clusters",
     "not recorded: a standalone is one broker with one coordinator"),
    ("4.0.7, where one refused message makes every later one of its partition fail",
     "not recorded: a defect of that release, gone in 4.0.8 and 4.2.4"),
)  # fmt: skip


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
