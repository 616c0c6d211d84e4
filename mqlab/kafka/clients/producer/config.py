"""How a producer is configured, and what the Java client refuses to be configured as."""

from __future__ import annotations

from ....kernel import Config, frozen
from ...config import KafkaConfig

#: leaders remember this many batches of a producer (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)
SAFE_IN_FLIGHT = 5


class ConfigException(ValueError):
    """A configuration that the Java client (4.x) refuses when it is constructed."""


@frozen
class ProducerConfig(Config):
    """`txn_id` None: no transactions. `idempotent` False: no sequence numbers either.
    `client`: "v2" (Java 4.x) or "legacy" (librdkafka).

    `max_in_flight`: unanswered batches a connection. `retries`: how often one request may be
    sent again; None, Java's default, is as good as for ever. `delivery_timeout_ms`: after
    which a batch that was sent is given up; `max_block_ms`: after which a blocking call
    returns without an answer; 0 for never, which keeps both out of searches (Kafka: 120,000
    and 60,000). `checked` False builds even what Java refuses, to see what would happen.

    Sources: ProducerConfig#postProcessAndValidateIdempotenceConfigs (Kafka 4.3).
    """

    cluster: KafkaConfig = KafkaConfig()
    txn_id: str | None = None
    client: str = "v2"
    idempotent: bool = True
    timeout_ms: int = 60_000
    retry_ms: int = 100
    max_in_flight: int = SAFE_IN_FLIGHT
    retries: int | None = None
    delivery_timeout_ms: int = 0
    max_block_ms: int = 0
    checked: bool = True

    def __post_init__(self) -> None:
        if self.max_in_flight < 1:
            raise ConfigException(f"max_in_flight={self.max_in_flight}: at least 1 is needed")
        if self.txn_id is not None and not self.idempotent:
            raise ConfigException("a transactional.id needs idempotence; leave idempotence on")
        if not (self.checked and self.idempotent):
            return
        if self.max_in_flight > SAFE_IN_FLIGHT:
            raise ConfigException(
                f"max_in_flight={self.max_in_flight}: an idempotent producer has at most "
                f"{SAFE_IN_FLIGHT}; with config_check=off it is built nevertheless"
            )
        if self.retries == 0:
            raise ConfigException(
                "retries=0: an idempotent producer must be allowed to send again; "
                "with config_check=off it is built nevertheless"
            )

    @property
    def v2(self) -> bool:
        return self.client == "v2"

    @property
    def transactional(self) -> bool:
        return self.txn_id is not None
