"""What is wrong, from the facts of a Reading alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ...kernel import tr
from ...rocketmq.config import DISCARD_TOPIC, HALF_TOPIC
from ..asking import load_cases
from ..reading import Evidence, Finding, Reading
from ..show import say_age, say_time
from .halves import Facts, Half

NOT_KNOWN = tr("unknown")
SHOWN = 5  # lines of evidence
OLD_MS = 60_000  # from this age on an unread message is no matter of the moment


def judge(reading: Reading) -> list[Finding]:
    """Return the findings in a reading of RocketMQ, the worst first: half messages that were set
    aside, soon will be, or that will not be decided; a check that does not advance; dead letters,
    and groups that lag."""
    order = list(cases := load_cases(Path(__file__).with_name("findings.toml")))
    facts: Facts = reading.own
    now, every = reading.at_ms, facts.interval_ms
    # `few`: so few checks before the last are a finding; `there`: producer groups with a client
    # connected, None where the broker does not say
    few, there = max(1, facts.check_max // 5), facts.registered
    # undecided for longer than the check waits; `stuck`: and for three rounds of checks more
    old = [h for h in facts.halves if now - h.born_ms > h.patience_ms]
    stuck = [h for h in old if now - h.stored_ms > h.patience_ms + 3 * every]

    def halves(
        name: str, is_one: Callable[[Half], bool], among: tuple[Half, ...], log: str = HALF_TOPIC
    ) -> Iterator[Finding]:
        """A finding of case `name` for each producer group of the half messages in `among` for
        which `is_one` is true; `log`: the topic that they are in."""
        chosen = sorted(filter(is_one, among), key=lambda h: h.born_ms)
        for group in sorted({h.group for h in chosen}):
            mine = [h for h in chosen if h.group == group]
            proof = [_prove(h, f"{reading.source} {log}-0") for h in mine[:SHOWN]]
            yield cases[name].find(
                group, proof, (log, *sorted({h.queue for h in mine})[:3]), n=len(mine), group=group,
                times=max(h.times for h in mine), most=facts.check_max, id=mine[0].msg_id,
                topic=mine[0].queue.rpartition("-")[0], age=say_age(now - mine[0].born_ms),
                patience=say_age(mine[0].patience_ms), interval=say_age(every), at=facts.check_at,
            )  # fmt: skip

    found = [
        *halves("parked", lambda h: True, facts.parked, DISCARD_TOPIC),
        *halves("nearly-parked", lambda h: facts.check_max - h.times <= few, facts.halves),
        *halves("nobody-to-ask", lambda h: there is not None and h.group not in there, tuple(old)),
        *halves("undecided", lambda h: now - h.born_ms > h.patience_ms + 2 * every, facts.halves),
        *_judge_groups(reading),
    ]
    # the check is at the first of them, or one before it (check_at: -1 where not known)
    if stuck and stuck[0].offset <= facts.check_at + 1 > 0:
        proof = [_prove(h, f"{reading.source} {HALF_TOPIC}-0") for h in stuck[:SHOWN]]
        age = say_age(now - stuck[0].stored_ms)
        found.append(cases["check-stalled"].find(
            HALF_TOPIC, proof, (HALF_TOPIC,), at=facts.check_at, age=age, interval=say_age(every)
        ))  # fmt: skip
    # findings.toml has the worst cases first
    return sorted(found, key=lambda one: order.index(one.kind.name))


def _judge_groups(reading: Reading) -> Iterator[Finding]:
    """Yield the findings on consumer groups: queues with dead letters, and groups whose next
    message was stored more than OLD_MS ago."""
    cases = load_cases(Path(__file__).with_name("findings.toml"))
    # `dead`: queues of dead letters, and how many each has; `lags`: how far a group lags in a
    # queue, and when the next message that it gets was stored (`oldest_ms`, -1: unknown)
    for queue, n in reading.own.dead:
        proof, topic = (
            Evidence(f"{queue}: {n}", f"{reading.source} {queue}"),
            queue.rpartition("-")[0],
        )
        yield cases["dead-letters"].find(topic, [proof], (queue,), n=n, queue=queue, topic=topic)
    late = [one for one in reading.own.lags if 0 <= one.oldest_ms < reading.at_ms - OLD_MS]
    for group in sorted({one.group for one in late}):
        lags = sorted((one for one in late if one.group == group), key=lambda one: one.oldest_ms)
        lines = [
            Evidence(
                f"group={group} queue={o.queue} consumerOffset={o.at} brokerOffset={o.end}",
                f"{reading.source} {o.queue}",
            )
            for o in lags[:SHOWN]
        ]
        yield cases["lag"].find(
            group, lines, [one.queue for one in lags[:SHOWN]], group=group, queues=len(lags),
            n=sum(one.end - one.at for one in lags), age=say_age(reading.at_ms - lags[0].oldest_ms),
            readers=lags[0].readers if lags[0].readers >= 0 else NOT_KNOWN,
        )  # fmt: skip


def _prove(half: Half, source: str) -> Evidence:
    line = (
        f"UNIQ_KEY={half.key} PGROUP={half.group} REAL_TOPIC={half.queue} "
        f"TRANSACTION_CHECK_TIMES={half.times} bornTimestamp={say_time(half.born_ms)}"
    )
    return Evidence(line, f"{source} @{half.offset}")
