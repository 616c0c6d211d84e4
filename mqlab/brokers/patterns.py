"""Where the classical models are. They are no products, so there is nothing to record."""

from . import Broker

BROKER = Broker(
    title="the classical models",
    systems={
        "delivery": "mqlab.patterns.delivery:DeliverySystem",
        "two_phase": "mqlab.patterns.two_phase:TwoPhase",
        "three_phase": "mqlab.patterns.three_phase:ThreePhase",
        "saga": "mqlab.patterns.saga:SagaSystem",
        "tcc": "mqlab.patterns.tcc:Tcc",
        "barriers": "mqlab.patterns.barriers:Barriers",
        "micro_batches": "mqlab.patterns.micro_batches:MicroBatches",
        "message_transaction": "mqlab.patterns.message_transaction:MessageTransaction",
        "outbox": "mqlab.patterns.outbox:Outbox",
        "two_phase_set": "mqlab.patterns.two_phase.oracle:TwoPhaseSet",
    },
    searches="mqlab.registry.cases.patterns:SEARCHES",
)
