"""What a producer makes of its settings at construction, before any broker is asked.

The Java client (4.3) is modelled from ProducerConfig#postProcessAndValidateIdempotenceConfigs;
its sentences are those of kafka-clients 4.3.1. librdkafka (2.16) has its own check and its
own default. Settings that neither check looks at are of no interest here.
"""

from __future__ import annotations

Setting = str | int | bool

IN_FLIGHT = "max.in.flight.requests.per.connection"
JAVA: dict[str, Setting] = {
    "enable.idempotence": True,
    "acks": "all",
    "retries": 2**31 - 1,
    IN_FLIGHT: 5,
}
LIBRDKAFKA: dict[str, Setting] = {
    "enable.idempotence": False,
    "acks": "all",
    "retries": 2**31 - 1,
    IN_FLIGHT: 1_000_000,
}


def construct_producer(client: str, **settings: Setting) -> str:
    """`construct_producer("java", acks="1")`: "idempotent", "not idempotent", or the exception.

    Names are written with `_` for `.`. ValueError for a client or a setting that is unknown.
    """
    if client not in ("java", "librdkafka"):
        raise ValueError(f"no client {client!r}; there are: java, librdkafka")
    given = {name.replace("_", "."): value for name, value in settings.items()}
    defaults = JAVA if client == "java" else LIBRDKAFKA
    for name in given:
        if name not in defaults:
            raise ValueError(f"no setting {name!r}; there are: {', '.join(defaults)}")
    if client == "java":
        return _java(given, {**defaults, **given})
    return _librdkafka(given, {**defaults, **given})


def _java(given: dict[str, Setting], now: dict[str, Setting]) -> str:
    """What was asked for is checked; what is only the default gives way without an error,
    except that more than five in flight is always one."""
    if not now["enable.idempotence"]:
        return "not idempotent"
    explicit = "enable.idempotence" in given
    gives_way = False
    if now["retries"] == 0:
        if explicit:
            return _config("Must set retries to non-zero when using the idempotent producer.")
        gives_way = True
    if now["acks"] not in ("all", "-1"):
        if explicit:
            return _config(
                "Must set acks to all in order to use the idempotent producer. Otherwise we "
                "cannot guarantee idempotence."
            )
        gives_way = True
    if int(now[IN_FLIGHT]) > 5:
        return _config(
            f"To use the idempotent producer, {IN_FLIGHT} must be set to at most 5. Current "
            f"value is {now[IN_FLIGHT]}."
        )
    return "not idempotent" if gives_way else "idempotent"


def _librdkafka(given: dict[str, Setting], now: dict[str, Setting]) -> str:
    """With idempotence, what was not set is lowered to what idempotence needs."""
    if not now["enable.idempotence"]:
        return "not idempotent"
    if int(given.get(IN_FLIGHT, 5)) > 5:
        return "KafkaException: `max.in.flight` must be set <= 5 when `enable.idempotence` is true"
    if now["acks"] not in ("all", "-1"):
        return "KafkaException: `acks` must be set to `all` when `enable.idempotence` is true"
    if now["retries"] == 0:
        return "KafkaException: `retries` must be set >= 1 when `enable.idempotence` is true"
    return "idempotent"


def _config(why: str) -> str:
    return f"ConfigException: {why}"
