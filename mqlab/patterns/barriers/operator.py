"""The operator: it counts, and aligns the barriers of its inputs.

    input whose barrier n has come      its records wait here, unread
    all inputs have had barrier n       count noted, barrier n sent on, then what has waited

So the noted count holds exactly the records before the barriers of all inputs. Without alignment
(Flink's CheckpointingMode.AT_LEAST_ONCE) records behind one barrier are counted and passed on
before the last barrier comes: they are in the picture, and a restart from it reads them again.
"""

from __future__ import annotations

from ...kernel import (
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Reply,
    Request,
    Send,
    Text,
    Words,
    frozen,
    replace,
)
from .config import JM, SINK, JobConfig
from .messages import Acknowledge, Barrier, Deploy, DeployResponse, Element, Register, Row
from .task import is_current, report

WAITS = Words("{inputs} waits for the other barrier", "{inputs} 等待另一个屏障")


@frozen
class Operator:
    """`count`: its state. `arrived`: inputs whose barrier `number` has come; `held`: what has come
    on them since, with the input. `cut`: its channel to the sink broke, so it sends nothing more
    in this attempt: a record could overtake the barrier that is still in the old channel."""

    config: JobConfig
    attempt: int = 0
    count: int = 0
    number: int = 0
    arrived: tuple[str, ...] = ()
    held: tuple[tuple[str, Element], ...] = ()
    cut: bool = False

    @staticmethod
    def recover(config: JobConfig, disk: Disk, at_ms: int) -> tuple[Operator, Effects]:
        return Operator(config), (Send(JM, Register()),)

    def step(self, event: Event, disk: Disk) -> tuple[Operator, Effects]:
        match event:
            case Request(caller=caller, body=Deploy(attempt, _, state)) if attempt > self.attempt:
                role = Operator(self.config, attempt, state)
                return role, (Reply(caller, DeployResponse(attempt)),)
            case Request(caller=caller, body=Row() | Barrier() as element):
                if self.cut or not is_current(self.config, self.attempt, element.attempt):
                    return self, ()  # another attempt will read it again
                return self._take(caller.name, element)
            case ConnectionLost(peer="sink"):
                return replace(self, cut=True), report(self.attempt, event)
        return self, report(self.attempt, event)

    def describe_changes(self, old: Operator | None) -> tuple[Text, ...]:
        if old is None or self.arrived == old.arrived or not self.arrived:
            return ()
        return (WAITS(inputs=", ".join(self.arrived)),)

    def _take(self, source: str, element: Element) -> tuple[Operator, Effects]:
        if source in self.arrived and "alignment" in self.config.on:
            return replace(self, held=(*self.held, (source, element))), ()
        if isinstance(element, Row):
            passed = Send(SINK, Row(self.attempt, element.value))
            return replace(self, count=self.count + 1), (passed,)
        arrived = tuple(sorted({*self.arrived, source}))
        role = replace(self, arrived=arrived, number=element.number)
        return role._note() if set(arrived) == set(self.config.sources) else (role, ())

    def _note(self) -> tuple[Operator, Effects]:
        """Every barrier is there: note the count, send the barrier on, read what has waited."""
        effects: Effects = (
            Send(SINK, Barrier(self.attempt, self.number)),
            Send(JM, Acknowledge(self.attempt, self.number, self.count)),
        )
        role = replace(self, arrived=(), held=())
        for source, element in self.held:
            role, more = role._take(source, element)
            effects = (*effects, *more)
        return role, effects
