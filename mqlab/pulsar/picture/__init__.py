"""What Pulsar looks like: one picture for every lesson, and for a live server.

A view draws a *Snapshot* (what there is after a step) and knows no broker; see
`mqlab/kernel/snapshot.py`. What is durable is read off the disks (`snapshot.py`), so a partition
that is down still shows its messages, and what is known in memory only, as maxReadPosition, is not
drawn then.

    snapshot.py   the names of a lesson's cluster; decisions, messages and markers, as the disks
                  show them; rows below a ledger: what each subscription has acknowledged; and what
                  is drawn (`Seen`), a lesson's world or a server's notes: ledgers as cells, with
                  maxReadPosition; the states of a transaction; what consumers were sent and have
                  not acknowledged; as tables: coordinators, buffers, pending acknowledgements
    meaning.py    what each message and record means: its transaction, a sentence why; what an
                  effect is called where a stop shows if it was done
    why.py        one sentence why for stops, timers, calls, changes in memory
    words.py      sentences for messages and records; names of what is drawn, a sentence each
"""
