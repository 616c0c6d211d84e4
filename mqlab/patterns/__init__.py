"""Layer 2: the classical models of distributed transactions, as pure roles.

They model no broker: these are the protocols that textbooks name and articles compare
brokers with. Each is a package, and the packages do not know each other:

    delivery/      an order from shop to accounting: at most, at least and exactly once
    two_phase/     two-phase commit, presumed abort: who is prepared waits for the coordinator
    three_phase/   three-phase commit: no party waits, until the network is cut
    tcc/           Try, Confirm, Cancel: two phases written by the application, without locks
    saga/          steps that commit at once, and compensations that take them back
    message_transaction/   an order and its message in one write, a consumer that repeats
    outbox/        the same with a relay, several consumers with an inbox, and a follow-up
    barriers/      snapshots of a running computation, and a sink that commits by them
    micro_batches/ the same computation in batches, and a sink that knows which it has

Each opens with its lecture and its system line (`__init__.py`). `roles.py` has the messages and
what each party does with them, `claims.py` the safeguards and what they guarantee, `picture.py`
what a reader sees and the sentence why.

At this top is what all packages use: `model.py` (what is common to their systems), `client.py`
(an application's calls), `records.py` (what is in a log), `claims.py` (what disks say and
what was reported to applications), `picture.py` (lanes, logs, one sentence why). README.md says
where each model was published and what is left out.
"""
