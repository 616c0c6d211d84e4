"""Released clients and a coordinator that is killed: what a search cannot ask, since its clients
are the engine's.

confluent-kafka tells a story (`mqlab.check.kafka.story`) through `mqlab serve kafka --coordinator
FILE` and reads it back with read_committed; `mqlab.check` judges the history. No verdict depends on
time: clients without an answer say nothing of the file. A kill tells nothing of an answer that left
before its record was safe: the server writes both in one turn, and only a search looks in between.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from ...check.checker import Report, check
from ...kernel import NOTHING, Words
from ...places import TO_INSTALL
from ...serve.kafka import serve
from ...serve.process import BrokerError
from ..verdict import Verdict
from .host import Broken, read_file
from .whats import COORDINATOR, find_what

PACE_MS = 200  # between coordinator and leaders, so that a kill comes in between
FIRST = 3  # the sitting from which they are asked
OLDER = 5  # the sitting from which librdkafka's EndTxn is understood
KILLS = 2
MISSING = Words("released clients did not try it: confluent-kafka is missing ({install})")
SILENT = Words("released clients gave no result: {why}")
REFUSED = Words(
    "a released client cannot continue, though no other has its transactional id: {why}"
)
BROKE = Words("while released clients used it, your code broke: {why}")
#: as `serving` writes it on the server's standard error
SAYS_BREAK = re.compile(r"your coordinator does no more: (.*)\. Correct it")
FOUND = Words("released clients read back what no right coordinator leaves, {anomaly}: {sentence}")
GOOD = Words("released clients read back all {committed} transactions that were committed, after "
             "{kills} kills of the server")  # fmt: skip


def judge(path: Path, older: bool) -> Report:
    """What the clients of the coordinator in a file saw. Unanswered, Refused; Broken where its code
    raised an exception; ImportError where confluent-kafka is missing; BrokerError where no server
    can be started."""
    if find_spec("confluent_kafka") is None:  # then no server is started
        raise ModuleNotFoundError("there is no confluent_kafka", name="confluent_kafka")
    from ...check.kafka.story import Story, tell

    with (
        TemporaryDirectory(prefix="mqlab-clients-") as folder,
        serve(coordinator=path, data_dir=folder, pace_ms=PACE_MS) as broker,
    ):
        story = Story(broker, older)
        try:
            tell(story)
        finally:  # in a server that was killed meanwhile, too
            broker.stop()
            if said := SAYS_BREAK.search(broker.errors):
                raise Broken(said[1])
        return check(story.history)


def ask_clients(path: Path, sitting: int) -> Verdict:
    """Judge a coordinator by what released Kafka clients see of it, after a search has found it
    right.

    Where they cannot run, the verdict is right and says so. It is right too where they are not
    needed: in the lab's parts before `FIRST`, and for a file that is no coordinator.
    """
    if sitting < FIRST or find_what(read_file(path)) is not COORDINATOR:
        return Verdict(True, NOTHING)
    from ...check.kafka.story import Refused, Unanswered

    try:
        # `older`: the coordinator must by then understand the older EndTxn that librdkafka sends
        report = judge(path, older=sitting >= OLDER)
    except ImportError:
        return Verdict(True, MISSING(install=TO_INSTALL))
    except (Unanswered, BrokerError) as error:
        return Verdict(True, SILENT(why=error))
    except Refused as error:
        return Verdict(False, REFUSED(why=error))
    except Broken as error:
        return Verdict(False, BROKE(why=error))
    if report.findings:
        first = report.findings[0]
        return Verdict(False, FOUND(anomaly=first.anomaly, sentence=first.sentence))
    return Verdict(True, GOOD(committed=report.counts["committed"], kills=KILLS))
