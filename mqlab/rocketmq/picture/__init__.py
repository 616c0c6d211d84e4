"""What RocketMQ looks like, and why each step happened: one picture, for lessons and the server.

A picture of a step has two parts. The *Snapshot* is what there is after it: lanes, queues with
their cursors, tables, the graph of a half message, lights. The *Telling* is what the step means:
its transaction, whether it may be folded, one sentence why. A view draws both and knows no broker
(see `mqlab/kernel/snapshot.py`).

Read first `view.py`, since every other file asks it: the broker itself keeps no state for
a transaction, so what became of one is worked out there, from the records of the commit log. Then
`telling.py`, which is the Telling, one `match` a kind of message. A file each:

    view.py       the names of a lesson's cluster; a lesson's world read once
    telling.py    what a step means; what an effect is called in a stop
    snapshot.py   queues as cells, cursors as flags; the states of a half message; what each
                  consumer has applied; as tables: the database, who can be asked, op records in
                  memory, timers
    why.py        one sentence why for stops, timers, calls
    words.py      one sentence a kind of message; names of what is drawn, a sentence each

A lesson's whole world can be looked at. A running server has no world: it takes notes of the
records that went by (`mqlab/serve/rocketmq/trace/model.py`), which are a `Seen` of `view.py` as a
lesson's world is; `snapshot.py` draws both. The claims that the lights show are in
`mqlab/rocketmq/claims`; they ask `view.py` too.
"""
