"""The data flow of one transaction: who asks whom for what, and what is written for it.

One list and one figure, read off a trace, for labs 06 and 07. Kafka's design document (KIP-98)
and most articles draw it in five steps: find the coordinator, get a producer id, begin, write,
end. The last column gives that number; *begin* (3) has no line, for it sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqlab_widgets.scene import Scene

from ...kafka.coordinator.entry import StateRecord
from ...kafka.states import COMPLETED
from ...kernel import Fact, FactKind, Trace
from ...registry import scenario
from ...registry.tables import columns, in_words
from .pictures import Picture, measure_text

STORY = """
# One transaction, from the first request to the last record
system kafka partitions=1 replicas=2 readers=reader {client}
run app: init, begin, send orders-0 a, flush, commit
run reader: poll orders-0
"""
CLIENTS = {"v2": "", "legacy": "client=legacy"}
PREPARATION = "before"
TITLE = "The data flow of a transaction."
ANYBODY = "FindCoordinator"  # every broker can answer it
#: request → (stage, number in the usual figure), in the order of the stages
STAGES = {
    "FindCoordinator": (PREPARATION, "1"),
    "InitProducerId": (PREPARATION, "2"),
    "AddPartitionsToTxn": ("reserve", "4"),
    "Produce": ("write", "4"),
    "EndTxn": ("decide", "5"),
    "WriteTxnMarkers": ("publish the decision", "5"),
    "Fetch": ("make visible", ""),
}
#: role → (its name in the figure, where its line is)
ROLES = {
    "app": ("producer", 185),
    "coordinator": ("coordinator", 395),
    "orders-0": ("leader of orders-0", 595),
    "reader": ("consumer", 745),
}
WIDTH, TOP, ROW = 815, 46, 38


@dataclass(frozen=True, slots=True)
class Step:
    """`source` asks `target`; `wrote`: what the target had written before it answered."""

    stage: str
    source: str
    target: str
    request: str
    wrote: str
    usual: str


def data_flow(client: str = "v2") -> Picture:
    """The figure, with the list as its text. `client`: "v2" or "legacy"; ValueError else."""
    steps = flow(client)
    scene = Scene(WIDTH, TOP + ROW * len(steps) + 20)
    for name, x in ROLES.values():
        scene.text(f"{name}/name", x, 18, in_words(name), "heading mid")
        scene.line(f"{name}/line", x, 28, x, scene.height - 8, "rule")
    for number, step in enumerate(steps):
        _draw(scene, steps[number - 1].stage if number else "", step, TOP + ROW * number)
    words = "; ".join(
        f"{in_words(s.stage)}: {in_words(s.source)} → {in_words(s.target)}: {in_words(s.request)}"
        for s in steps
    )
    return Picture(scene, f"{in_words(TITLE)} {words}.", flow_table(client))


def flow_table(client: str = "v2") -> str:
    """The figure as a table."""
    rows = [(s.stage, s.source, s.target, s.request, s.wrote, s.usual) for s in flow(client)]
    head = ("stage", "from", "to", "request", "written before the answer", "usual figure")
    return columns([head, *(tuple(cell or "–" for cell in row) for row in rows)])


def flow(client: str = "v2") -> tuple[Step, ...]:
    """The steps in the order of the stages, each read off one trace."""
    if client not in CLIENTS:
        raise ValueError(f"no client {client!r}; there are: {', '.join(CLIENTS)}")
    trace = scenario(STORY.format(client=CLIENTS[client]))
    return tuple(_steps(trace))


def _steps(trace: Trace) -> Iterator[Step]:
    for request, (stage, usual) in STAGES.items():
        sent = next(
            f for f in trace if f.kind is FactKind.SEND and type(f.body).__name__ == request
        )
        names = ROLES[_role(sent.node)][0], ROLES[_role(sent.peer)][0]
        asked_for = f"{request} (any broker)" if request == ANYBODY else request
        yield Step(stage, *names, asked_for, _written(trace, sent), usual)
    last = next(f for f in trace if _completes(f.body))
    coordinator = ROLES[_role(last.node)][0]
    yield Step("forget", coordinator, coordinator, "", last.text.en, "5")


def _completes(body: object) -> bool:
    return isinstance(body, StateRecord) and body.entry.state in COMPLETED


def _role(node: str) -> str:
    """Of several replicas ("coordinator@1") the role."""
    return node.partition("@")[0]


def _written(trace: Trace, sent: Fact) -> str:
    """The last record that the one who was asked has written before it answered."""
    wrote = ""
    for fact in trace.facts[sent.index :]:
        if fact.node == sent.peer and fact.kind is FactKind.REPLY and fact.peer == sent.node:
            break
        if fact.node == sent.peer and fact.kind is FactKind.APPEND:
            wrote = fact.text.en
    return wrote


def _draw(scene: Scene, stage_above: str, step: Step, y: float) -> None:
    """Draw one row of the diagram at height `y`: its stage, where that is not the one of the row
    above; its number in the usual figure of Kafka transactions; an arrow with the request; and what
    was written."""
    key, middle = f"{step.stage}/{step.request}", y + 16
    if step.stage != stage_above:
        scene.text(f"{key}/stage", 12, middle + 4, in_words(step.stage), "note lab")
    if step.usual:
        scene.text(f"{key}/usual", 150, middle + 4, f"({step.usual})", "sub")
    # role → x
    places = dict(ROLES.values())
    start, end = places[step.source], places[step.target]
    if step.request:
        direction = 1 if end > start else -1
        scene.line(f"{key}/arrow", start, middle, end, middle, "stem")
        arrowhead = f"M{end},{middle}l{-7 * direction},-4v8z"
        scene.path(f"{key}/tip", arrowhead, "point")
        request = in_words(step.request)
        left = (start + end - measure_text(request, "name")) / 2
        scene.text(f"{key}/request", left, middle - 4, request, "name")
    if step.wrote:
        below = middle + (13 if step.request else 4)
        scene.text(f"{key}/wrote", end + 8, below, f"▮ {step.wrote}", "sub")
