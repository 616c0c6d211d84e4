"""Java clients, as released, at this project's own server, beside what a real broker answered the
same program.

The programs are those that were recorded (`tests/oracle`), so the lines can be laid side by side.
The client needs a clone, Java 17 and its jars; where they are not at hand, the recording is shown
alone, and a sentence says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..kernel import Words, tr
from ..places import RECORDINGS
from ..real.program import RealBrokerError
from ..real.suite import MISSING as NO_CLONE
from ..real.suite import has_suite, load_suite
from ..recordings.recording import Recording, load
from ..registry.tables import Name, table
from .laid import Laid

if TYPE_CHECKING:
    from ..real.jars import Jars


RAN = Words("The Java client of {product} {version} has just run at this project's own server.")
NOT_RUN = Words("No Java client ran here: {why}. The table is the recording of a real broker.")
NOT_FETCHED = Words("its jars are not here yet (fetch=True lets Maven fetch {size} MB)")
IN_A_BROWSER = tr("a browser has no Java")
MISSING = Words("{what}")


@dataclass(frozen=True, slots=True)
class Client:
    """`broker`: whose programs it runs; `size`: of its jars, in MB."""

    product: str
    broker: str
    version: str
    size: int
    jars: Jars

    def find_reason(self, fetch: bool) -> str:
        """Why it cannot run here; nothing if it can."""
        if missing := self.jars.find_missing():
            return str(MISSING(what=missing))
        if not has_suite():
            return str(NO_CLONE)
        if fetch or self.jars.is_here(self.version):
            return ""
        return str(NOT_FETCHED(size=self.size))

    def run(self, name: str, profile: str) -> Recording:
        """Raises RealBrokerError where the jars cannot be fetched or the client ends early."""
        suite, runner = load_suite(f"{self.broker}.suite"), load_suite("runner")
        with suite.OurHost().share_broker(profile) as host:
            ran: Recording = runner.run(suite.ORACLE, suite.ORACLE.programs()[name], profile, host)
        return ran


def ask_java(open_client: Callable[[], Client], recording: str, fetch: bool = False) -> Laid:
    """Run Apache's Java client and compare the answers it got with the recording, whose name is as
    "rocketmq-5.5.0/5.5/java-heir"; prints whether the client ran and why not, and returns both for
    display, or the recording alone. `open_client` makes the client; `fetch`: let Maven fetch the
    client where it is not here."""
    recorded = load(RECORDINGS / f"{recording}.json")
    if sys.platform == "emscripten":
        print(NOT_RUN(why=IN_A_BROWSER))
        return Laid(recorded)
    client = open_client()
    if why := client.find_reason(fetch):
        print(NOT_RUN(why=why))
        return Laid(recorded)
    try:
        run = client.run(recorded.scenario, recorded.profile)
    except RealBrokerError as error:  # Maven does not reach its repository
        print(NOT_RUN(why=error))
        return Laid(recorded)
    print(RAN(product=client.product, version=client.version))
    return Laid(recorded, run)


def open_rocketmq() -> Client:
    """The client of `TransactionMQProducer`, 5.5.0."""
    from ..real.rocketmq.jars import JARS

    return Client("RocketMQ", "rocketmq", "5.5.0", 94, JARS)


def open_pulsar() -> Client:
    """The client of `PulsarClient.newTransaction`, 4.2.4."""
    from ..real.pulsar.jars import JARS

    return Client("Pulsar", "pulsar", "4.2.4", 242, JARS)


# ---- What real brokers answered, for a lesson that shows it beside its model ---------


def read_recording(folder: str, name: str, *words: str) -> str:
    """A recording's lines that hold one of `words`, or all of them where there are none. `folder`:
    a broker's version and a profile, as "kafka-4.3.1/tv2" or "rocketmq-5.5.0/5.5"."""
    path = RECORDINGS / folder / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in path.parent.glob("*.json")))
        raise ValueError(f"no recording {folder}/{name}; there are: {there}")
    seen = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        (Name(who), Name(question), answer)
        for who, _, question, answer in seen["observations"]
        if not words or any(word in f"{who} {question} {answer}" for word in words)
    ]
    return table(f"{seen['broker']}, {seen['profile']} | asked | answered", rows)
