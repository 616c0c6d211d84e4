"""One silence, three brokers: what each does about an application that never says how it ended."""

from __future__ import annotations

import re

from ..registry import run_scenario
from ..registry.tables import columns

#: the last call of accounting
GOT = re.compile("^(consume|poll|receive).*: ok ")
#: an application has done its work, and dies before it says how its transaction ends; its
#: broker's timers then run, and accounting reads
SILENCE = {
    "RocketMQ": """
system order_service producers=app:order-service,twin:order-service early=on consumers=accounting
kill app when=EndTransaction#1
run app: send-in-transaction orders-0 580538
at 30000
fire broker check
run accounting: consume
""",
    "Kafka": """
system kafka partitions=1 producers=app readers=accounting
kill app when=EndTxn#1 after=0
run app: init, begin, send orders-0 580538, commit
at 60000
fire coordinator
run accounting: poll orders-0
""",
    "Pulsar": """
system pulsar clients=app,accounting
run accounting: subscribe orders-0 books from=earliest
kill app when=EndTxn#1 after=0
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
at 60100
fire tc-0 timeout (0,0)
run accounting: receive books
""",
}
#: what a broker does about a silent application, by the words of the fact
DECIDES = ("CheckTransactionState", "PrepareAbort", "ABORTING")


def compare_silence() -> str:
    """What each broker does about an application that says nothing, and what a consumer gets."""
    rows = []
    for broker, story in SILENCE.items():
        facts = list(run_scenario(story).trace)
        does = next(fact.text.en for fact in facts if fact.text.en.startswith(DECIDES))
        got = next(f.text.en for f in facts if f.node == "accounting" and GOT.search(f.text.en))
        rows.append((broker, does, got.rpartition("ok ")[2]))
    return columns([("broker", "when nothing is heard", "accounting gets"), *rows])
