"""What Pulsar looks like: one picture for every lesson.

A view draws a *Snapshot* (what there is after a step) and knows no broker; see
`mqlab/kernel/snapshot.py`. What is durable is read off the disks (`ledgers.py`), so a partition
that is down still shows its messages, and what is known in memory only, as maxReadPosition, is not
drawn then.

    words.py         names of what is drawn, and the claims
    cluster.py       the names of a lesson's cluster
    ledgers.py       decisions, messages and markers, as the disks tell them
    strips.py        ledgers as cells, with maxReadPosition
    acknowledged.py  rows below them: what each subscription has acknowledged
    tables.py        coordinators, buffers, pending acknowledgements
    graph.py         the states of a transaction
    readers.py       what consumers were sent and have not acknowledged
    snapshot.py      all of that as a Snapshot
    labels.py        short names of messages and records
    terms.py         Pulsar's words in all of that, with a sentence each
"""
