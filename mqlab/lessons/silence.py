"""One silence, three brokers: what each does about an application that never says how it ended."""

from __future__ import annotations

from ..kernel import FactKind, Outcome
from ..registry import run_scenario
from ..registry.tables import columns

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
DONE = (FactKind.SEND, FactKind.APPEND)


def compare_silence() -> str:
    """What each broker does about an application that says nothing, and what a consumer gets."""
    rows = []
    for broker, story in SILENCE.items():
        facts = list(run_scenario(story).trace)
        does = next(f.text.en for f in facts if f.kind in DONE and _decides(f.body))
        got = next(f.body.detail for f in facts if isinstance(f.body, Outcome) and _reads(f.body))
        rows.append((broker, does, got))
    return columns([("broker", "when nothing is heard", "accounting gets"), *rows])


def _decides(body: object) -> bool:
    """Whether it is what a broker does about a silent application: it asks, or aborts."""
    from ..kafka.coordinator import StateRecord
    from ..kafka.states import TxnState
    from ..pulsar.messages import TransactionMetadataEntry
    from ..pulsar.states import TxnStatus
    from ..rocketmq.messages import CheckTransactionState

    match body:
        case StateRecord(entry=entry):
            return entry.state is TxnState.PREPARE_ABORT
        case TransactionMetadataEntry(status=status):
            return status is TxnStatus.ABORTING
    return isinstance(body, CheckTransactionState)


def _reads(outcome: Outcome) -> bool:
    from ..kafka.clients.calls import Poll
    from ..pulsar.client.calls import Receive
    from ..rocketmq.consumer.calls import Consume

    return outcome.ok and isinstance(outcome.call, Consume | Poll | Receive)
