"""Barrier snapshots: a picture of a running computation, and a sink that commits by it.

Two sources read orders, an operator counts them, a sink writes them out. All of it may die and is
then started again from an earlier state; what was written by then must be neither lost nor written
twice. So the whole is photographed now and then, without being stopped (Chandy and Lamport, 1985;
Flink's variant by Carbone and others, 2015):

    1. The job manager triggers checkpoint n at the sources. Each notes its offset and sends a
       **barrier** n down its channel, between its records.
    2. An operator with several inputs **aligns**: an input whose barrier has come waits until all
       have. Then its state holds exactly what is before the barriers; it notes it, sends the
       barrier on, and goes on.
    3. The sink **pre-commits** at the barrier: what it has received is on disk, and hidden.
    4. When everybody has acknowledged, the checkpoint is complete; the job manager writes that
       down and says so, and the sink **commits**.

What is durable: the completed checkpoints; the sink's `pending` and `committed` output. Everything
else is memory. When anybody fails, all are deployed again from the latest complete checkpoint,
under a new attempt number; sources go back to their noted offsets, and the sink commits what
belongs to that checkpoint (recoverAndCommit) and throws away what is newer (recoverAndAbort).

It is two-phase commit: the acknowledgement is the vote, the complete checkpoint the decision. What
it does not give: output is visible only after a checkpoint, some time after it was computed; and
if the store gives up a pending transaction before it is committed (`expires`: Kafka's transaction
timeout), output of a complete checkpoint is lost.

Left out: unaligned checkpoints, savepoints, several operators in a row, state larger than a
number. A failure here starts all tasks again; Flink may restart a region.

Read on: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 1985; Carbone and others,
"Lightweight Asynchronous Snapshots for Distributed Dataflows", 2015.
"""
