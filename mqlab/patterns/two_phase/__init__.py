"""Two-phase commit: several databases change together, and one of them all decides.

A transaction has worked at several participants (*resource managers*). Phase one: the coordinator
(*transaction manager*) asks each to prepare. A participant that can promise to commit whatever
happens writes what it needs for that on its disk and votes yes; from then on it may neither commit
nor roll back by itself, and its locks stay. Phase two: with all votes the coordinator writes its
decision and tells it to all. The names are XA's (`xa_prepare`, `xa_commit`, `xa_rollback`,
`xa_recover`), the economy is *presumed abort*: only commits are written, and where nothing is
written a participant that asks is told to roll back.

What is durable: at a participant `prepared`, then `committed` or `rolled_back`; at the
coordinator `commit`, and `end` once every participant has acknowledged.

What can go wrong: anybody stops at any effect, a connection breaks, a vote does not come. None of
it splits a transaction. But a participant that has voted yes and hears nothing more **waits**, for
as long as the coordinator is down, and so does everybody who needs what it has locked. That is the
blocking window. No timer can close it: a participant that decides alone (`waits_in_doubt` off; XA
calls it a heuristic decision) may do the opposite of what the others have done.

Left out: reading the data (locks are only drawn), more than one coordinator in a tree, the
read-only vote, participants that ask each other (cooperative termination would help only while one
of them has not voted yes).

Read on: Gray, "Notes on Data Base Operating Systems", 1978; Mohan, Lindsay and Obermarck,
"Transaction Management in the R* Distributed Database Management System", 1986, for presumed
abort; X/Open, "Distributed Transaction Processing: The XA Specification", 1991.
"""
