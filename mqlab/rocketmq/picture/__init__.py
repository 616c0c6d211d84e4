"""What RocketMQ looks like, and why each step happened: one picture, for lessons and the server.

A picture of a step has two halves. The *Snapshot* is what there is after it: lanes, queues with
their cursors, tables, the graph of a half message, lights. The *Telling* is what the step means:
its transaction, whether it may be folded, one sentence why. A view draws both and knows no broker
(see `mqlab/kernel/snapshot.py`).

Read first `transactions.py`, since every other file asks it: the broker itself keeps no state for
a transaction, so what became of one is worked out here, from the records of the commit log. Then
`meaning.py`, which is the Telling, one `match` a kind of message. The rest is a file a part:

    words.py      names of what is drawn             terms.py     one sentence for each of them
    sentences.py  one sentence a kind of message     why.py       and for stops, timers, calls
    effects.py    what an effect is called in a stop
    graph.py      the states of a half message       strips.py    queues as cells, cursors as flags
    tables.py     the database, who can be asked, op records in memory, timers
    readers.py    what each consumer has applied
    cluster.py    the names of a lesson's cluster    view.py      a lesson's world read once
    snapshot.py   all of that as a Snapshot          telling.py   a world's facts, by meaning.py

A lesson's whole world can be looked at. A running server has no world: it takes notes of the
records that went by (`mqlab/serve/rocketmq/trace/model.py`), which are a `Seen` of `view.py` as a
lesson's world is; `snapshot.py` draws both. The claims behind the lights stand in
`mqlab/rocketmq/claims`; they ask `view.py` too.
"""
