"""The modules of Pulsar, part by part."""

from . import Broker

BROKER = Broker(
    title="Pulsar",
    systems={
        "pulsar": "mqlab.pulsar:PulsarSystem",
        "billing": "mqlab.lessons.pulsar.systems.passing:BillingSystem",
        "books": "mqlab.lessons.pulsar.systems.passing:BooksSystem",
        "passing": "mqlab.lessons.pulsar.systems.passing:PassingSystem",
    },
    searches="mqlab.registry.cases.pulsar:SEARCHES",
    serve="mqlab.serve.pulsar.options",
    witness="mqlab.pulsar.evidence:WITNESS",
    real="mqlab.cli.real_pulsar",
    inspect="mqlab.inspect.pulsar",
)
