"""The data of lab 16: what the real brokers of `damage*.py` have left, in one small archive.

    python -m tests.inspect.on_call      needs Java 17 and Kafka's jars

Five nights, and for each what an operator gets to see first: a command and what it printed, as
`NAME.txt`. What Kafka's dump of the log prints is asked for here, of the folders that were kept.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from mqlab.places import ON_CALL
from mqlab.real.kafka.broker import RealKafka
from tests.inspect.folders import DATA, read_output, unpack

ROCKETMQ, PULSAR = DATA / "rocketmq-5.5.0", DATA / "pulsar-4.2.4"
#: files that say nothing to a reader of the folder
LEFT_OUT = re.compile(
    r"\.(index|timeindex|bak|lock|metadata)$|checkpoint|filter|Filter|OrderInfo|delay"
)
DUMP = "org.apache.kafka.tools.DumpLogSegments"
LOG = "00000000000000000000.log"
STATE = '"(producerId|transactionStatus|topic|partitionIds)":[^,}]*'
BATCH = "lastOffset: [0-9]* count: [0-9]*|producerId: [0-9]*|isControl: [a-z]*"
AT = "--bootstrap-server kafka:9092"


def show(*shown: tuple[str, str]) -> str:
    """Commands, and what each printed."""
    return "\n\n".join(f"$ {command}\n{said.strip()}" for command, said in shown) + "\n"


def grep(words: str, text: str) -> str:
    return "\n".join(match[0] for match in re.finditer(words, text))


def cut(text: str, *fields: int) -> str:
    rows = (line.split("\t") for line in text.splitlines())
    return "\n".join("\t".join(row[n - 1] for n in fields) for row in rows)


def read_tool(name: str) -> str:
    """What one of Kafka's tools printed, without the blanks at the ends of its lines."""
    return re.sub(r"[ \t]+\n", "\n", read_output("4.3.1", name))


def ask_dump(log: Path, *words: str) -> str:
    return RealKafka("4.3.1").tool(DUMP, "--files", str(log), *words)


def write_marker(two: Path) -> str:
    log = two / "node-2" / "__transaction_state-0" / LOG
    last = ask_dump(log, "--transaction-log-decoder").strip().splitlines()[-1]
    split = ask_dump(two / "node-1" / "split-0" / LOG)
    return show(
        ("cd node-2/__transaction_state-0\n"
         f"$ kafka-dump-log.sh --transaction-log-decoder --files {LOG} | tail -1 |\n"
         f"    grep -oE '{STATE}'", grep(STATE, last)),
        (f"cd ../../node-1/split-0\n$ kafka-dump-log.sh --files {LOG} |\n    grep -oE '{BATCH}'",
         grep(BATCH, split)),
    )  # fmt: skip


def write_acks() -> str:
    said = json.loads((PULSAR / "open.json").read_text("utf-8"))
    stats = said["/admin/v2/persistent/public/default/orders/stats"]
    billing = stats["subscriptions"]["billing"]
    few = {name: billing[name] for name in ("msgBacklog", "type", "unackedMessages")}
    coordinators = said["/admin/v3/transactions/coordinatorStats"]
    asked = {name: coordinators["0"][name] for name in ("state", "ongoingTxnSize", "leastSigBits")}
    return show(
        ("pulsar-admin topics stats persistent://public/default/orders |\n"
         "    jq -c '.subscriptions.billing | {msgBacklog, type, unackedMessages}'",
         json.dumps(few)),
        ("pulsar-admin transactions coordinators-stats |\n"
         "    jq -c '.\"0\" | {state, ongoingTxnSize, leastSigBits}'", json.dumps(asked)),
    )  # fmt: skip


def collect(folder: Path) -> dict[str, bytes]:
    """The files of the archive, by their names."""
    shutil.unpack_archive(ROCKETMQ / "damaged.tar.xz", folder / "rocketmq")
    places = {
        "kafka": unpack("4.3.1", folder / "kafka") / "node-1",
        "kafka-two": unpack("4.3.1", folder / "two", "decided"),
        "rocketmq": folder / "rocketmq",
    }
    files: dict[str, bytes] = {
        f"{name}/{path.relative_to(place).as_posix()}": path.read_bytes()
        for name, place in places.items()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.stat().st_size and not LEFT_OUT.search(path.name)
    }
    queues = sorted(p.name for p in (places["rocketmq"] / "store" / "consumequeue").iterdir())
    groups, listed, producers = map(read_tool, ("groups", "list", "describe-producers"))
    under_way = grep(".*Ongoing", listed)
    texts = {
        "pulsar.json": (PULSAR / "open.json").read_text("utf-8"),
        "hanging.txt": show(
            (f"kafka-transactions.sh {AT} list | grep -v ready", re.sub("ready .*\n", "", listed)),
            (f"kafka-transactions.sh {AT} describe-producers --topic orders --partition 0 |\n"
             "    cut -f1,2,5,6", cut(producers, 1, 2, 5, 6)),
        ),
        "marker.txt": write_marker(places["kafka-two"]),
        "pending.txt": show(
            (f"kafka-consumer-groups.sh {AT} --describe --all-groups | cut -c1-80",
             re.sub(r" *$", "", re.sub(r"(?m)^(.{,80}).*", r"\1", groups), flags=re.M)),
            (f"kafka-transactions.sh {AT} list | grep Ongoing", under_way),
        ),
        "parked.txt": show(("ls store/consumequeue", "\n".join(queues))),
        "acks.txt": write_acks(),
    }  # fmt: skip
    return files | {name: text.encode() for name, text in texts.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = collect(Path(folder))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    ON_CALL.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


if __name__ == "__main__":
    main()
