"""Lab 11, the short way: one batch, a kill, and what accounting adds up, played by the engine.

The job dies in the batch 13:00, at one of the `KILL_MOMENTS`, and the restarted job is handed every
batch that `commits` lacks. Three of the sinks of `mqlab.spark.sinks` differ in what they do with
it. Records are half hours with their income, so the light *money in = money out* is that of
sink_runs.py. `Bench.kill` (kill_bench.py) kills the real job; a test holds these runs against
`mqlab.spark.crashes.WRONG`, to which the real kills are held.
"""

from __future__ import annotations

from dataclasses import replace

from mqlab_widgets import Player

from ...kernel import Trace, Words, tr
from ...registry import run_scenario
from .decide import HALF_HOUR, KILLED, list_owed, records_of

PLAIN, TRANSACTION, NUMBERED = "no transaction", "a transaction", "a transaction with its number"
KILL_SINKS = (PLAIN, TRANSACTION, NUMBERED)
OUT, COMMITTED, NOTED = (
    "all rows sent, before the sink's commit",
    "after the sink's commit, before commits/3",
    "after commits/3",
)
KILL_MOMENTS = (OUT, COMMITTED, NOTED)
TITLE = Words("{sink}; killed: {killed}")


def play_sink(sink: str = TRANSACTION, killed: str = COMMITTED) -> Player:
    """A job with one of the KILL_SINKS, `killed` at one of the KILL_MOMENTS of batch 3 and started
    again; it opens at the kill."""
    trace = trace_of(sink, killed)
    return Player(trace, step=next(fact.index for fact in trace if fact.kind == "kill"))


def trace_of(sink: str, killed: str) -> Trace:
    """The run of `play_sink`."""
    (batch,), (following,) = records_of(HALF_HOUR, KILLED), records_of(HALF_HOUR, KILLED + 1)
    # Spark hands over what `commits` lacks; only a sink that has kept the number skips it.
    is_in = killed == NOTED or (killed == COMMITTED and sink == NUMBERED)
    left = [following] if is_in else [batch, following]
    first, calls = ("", 2 * len(left)) if sink == PLAIN else ("init, ", 1 + 3 * len(left))
    kind = "plain" if sink == PLAIN else "income-job"
    lines = [
        f"system sink producers=job:{kind},again:{kind} owed={','.join(list_owed(KILLED))} "
        f"last=again calls={calls}",
        f"run job: {first}{_write(sink, batch, ended=killed != OUT)}",
        "kill job",
    ]
    if first:
        lines.append("run again: init")
    if first and killed == OUT:
        lines.append("fire again")  # it asks again, once the old transaction is aborted
    lines += [f"run again: {_write(sink, record)}" for record in left]
    title = TITLE(sink=tr(sink, "cell"), killed=tr(killed, "cell"))
    return replace(run_scenario("\n".join(lines)).trace, title=title)


def _write(sink: str, record: str, ended: bool = True) -> str:
    """The calls with which a sink writes a batch."""
    if sink == PLAIN:
        return f"send income-0 {record}, flush"
    return f"begin, send income-0 {record}, {'commit' if ended else 'flush'}"
