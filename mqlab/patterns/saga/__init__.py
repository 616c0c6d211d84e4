"""Saga: a long transaction as a sequence of short ones, each with a step that takes it back.

An order is taken, money is charged, a parcel is booked: each step is a local transaction of one
service and commits at once. If a later step cannot be done, the steps before it are *compensated*
in reverse order: money is paid back, the order is struck out. A compensation does not undo a step,
as a rollback would; it does something else that makes up for it, and everybody may have seen
the step meanwhile.

What is durable: at a service its ledger (`done`, `undone`); at the orchestrator the saga log:
`begun`, a `done` for each step before the next begins, `undo` when it turns round, `undone`, `end`.

What can go wrong: an answer is lost, so a step or compensation is asked for again, and the second
must change nothing; a step that was asked for twice arrives once more **after** its compensation,
and must be refused; the orchestrator stops between two steps and must go on, forward
or backward, from what its log says. A compensation must not fail; it is repeated until it is done.

What a saga gives up is isolation: half a saga can be seen, and a saga that is taken back as well.

Left out: steps without a compensation (behind a pivot one can only go forward), parallel steps,
choreography (services that react to each other's messages, without an orchestrator).

Read on: Garcia-Molina and Salem, "Sagas", SIGMOD 1987.
"""
