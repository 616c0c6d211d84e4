"""What Kafka looks like, and why each step happened: one picture, for lessons and the server.

A picture of a step has two halves. The *Snapshot* is what there is after it: lanes, logs with
their frontiers, what readers get, tables, the coordinator's graph, lights. The *Telling* is
what the step means: its transaction, whether it may be folded, one sentence why. A view draws
both and knows no broker (see `mqlab/kernel/snapshot.py`).

Read first `transactions.py`, since every other file asks it: no role of Kafka knows a "T1"; which
record belongs to which transaction is worked out here, from `__transaction_state`. Then
`meaning.py`, which is the Telling, one `match` a kind of message. The rest is a file a part:

    words.py      every sentence, in both languages
    why.py        one sentence why for each kind of step    errors.py   and for each error
    effects.py    what an effect is called where a stop tells if it was done (a lesson only)
    terms.py      the words that a picture shows, a sentence each: tooltips and glossary
    tables.py     `__transaction_state`, `.txnindex`, `__consumer_offsets`, members
    graph.py      the state graph, and which transaction it shows
    cluster.py    the names of a lesson's cluster, and who leads what
    view.py       what is drawn (`Seen`); a lesson's world read once: batches with transactions
    strips.py     logs as cells            readers.py   what either isolation level gets
    snapshot.py   all of that as a Snapshot  telling.py   `Known` to meaning, from a world

A lesson's whole world can be looked at. A running server has no world:
`mqlab/serve/kafka/trace.py` takes notes of its steps in bounded memory, and is `Seen` and
`Known` as a lesson's world is. So a fact folds alike in both, and a log or a table is drawn once.
The claims behind the lights stand in `mqlab/kafka/claims`; they look at a `Seen` too.
"""
