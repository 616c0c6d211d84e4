"""What Kafka looks like, and why each step happened: one picture, for lessons and the server.

A picture of a step has two parts. The *Snapshot* is what there is after it: lanes, logs with
their frontiers, what readers get, tables, the coordinator's graph, lights. The *Telling* is
what the step means: its transaction, whether it may be folded, one sentence why. A view draws
both and knows no broker (see `mqlab/kernel/snapshot.py`).

Read first `view.py`, since every other file asks it: no role of Kafka knows a "T1"; which
record belongs to which transaction is worked out there, from `__transaction_state`. Then
`telling.py`, which is the Telling, one `match` a kind of message. A file each:

    view.py       the names of a lesson's cluster, and who leads what; what is drawn (`Seen`);
                  a lesson's world read once: batches with transactions
    telling.py    what a step means (`Known`: what must be known for it); what an effect is called
                  where a stop shows if it was done (a lesson only)
    snapshot.py   logs as cells, what either isolation level gets, the state graph; as tables:
                  `__transaction_state`, `.txnindex`, `__consumer_offsets`, members
    why.py        one sentence why for each kind of step
    words.py      sentences for each message and error; the words that a picture shows, a sentence
                  each: tooltips and glossary

A lesson's whole world can be looked at. A running server has no world:
`mqlab/serve/kafka/trace.py` takes notes of its steps in bounded memory, and is `Seen` and
`Known` as a lesson's world is. So a fact folds alike in both, and a log or a table is drawn once.
The claims that the lights show are in `mqlab/kafka/claims`; they look at a `Seen` too.
"""
