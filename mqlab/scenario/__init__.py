"""Floor 3: scenarios. A story with its expected narration.

    # The coordinator is killed when one of two markers has left.
    system kafka transaction_version=2 partitions=2
    run app: init, begin, send orders-0 a, send orders-1 b, commit
    kill coordinator when=WriteTxnMarkers#1 after=1
    restart coordinator
    ---
    app         → coordinator  InitProducerId order-service
    …

A blank line ends a narration, and more commands may follow, with dashes and a narration of
their own: so each command stands above what it caused.

Every line runs until nothing is left to do, oldest message first. A line that names a
message or a step is armed before the first line runs, wherever it stands:

    hold MESSAGE         it waits (and what follows on its connection) until  release MESSAGE
    lose MESSAGE         the connection breaks and it is lost
    late MESSAGE         the connection breaks; the request arrives at  release MESSAGE
    kill NODE when=KIND#N after=K     in the step (or the recovery) that emits its N-th KIND,
                                      after K effects
    power-cut NODE when=…             the same, and what was not flushed is lost
    kill NODE … answers=CLIENT        what NODE has answered CLIENT and is under way still arrives;
                                      without it, it is lost

MESSAGE is `from→to Kind#n` (the n-th Kind from one to the other), or `from→to ⇒Kind#n` for
the answer to it. At once happen: `kill NODE`, `power-cut NODE`, `restart NODE`
(`restart NODE kill=K`: it is stopped again after K effects of its recovery), `break A B`,
`partition A,B | C`, `heal`, `fire NODE timer`, `at MS`. `off SAFEGUARD` belongs to the system.
`do CHOICE` is one choice of a schedule, and nothing runs after it: so a counterexample is kept.
"""

from .golden import Caption, Golden, load, perform_in_blocks, rewrite, write_in_blocks
from .language import Script, make_system, parse_script, system_of
from .runner import perform, perform_all

__all__ = [
    "Caption",
    "Golden",
    "Script",
    "load",
    "make_system",
    "parse_script",
    "perform",
    "perform_all",
    "perform_in_blocks",
    "rewrite",
    "system_of",
    "write_in_blocks",
]
