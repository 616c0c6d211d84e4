"""Layer 5: the same question to a cluster of one's own.

A workload lets clients write and read, kills some of them, and notes what each sent, got as an
answer and read: a *history*. A checker then says what no correct run can show. It never asks the
cluster how it works, so it is the same for each broker:

    history.py    the lines of a history: read, write, what is refused
    checker.py    a history -> findings, and what could not be decided
    kafka/        the workload against a Kafka cluster, with confluent-kafka

The tradition is Jepsen's Kafka workload and Elle (Kingsbury and Alvaro, VLDB 2020), without their
search for cycles: here each message is written once and named, so each anomaly shows in a few
lines.
README.md describes the format, so that a program in another language can be checked.
"""
