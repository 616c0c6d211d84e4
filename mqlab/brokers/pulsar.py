"""Where Pulsar's rooms are."""

from . import Broker

BROKER = Broker(systems={"pulsar": "mqlab.pulsar:PulsarSystem"})
