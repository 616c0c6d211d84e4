"""Where Pulsar's rooms are."""

from . import Broker

BROKER = Broker(
    systems={"pulsar": "mqlab.pulsar:PulsarSystem"},
    witness="mqlab.real.pulsar.evidence:WITNESS",
    real="mqlab.cli.real_pulsar",
)
