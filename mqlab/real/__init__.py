"""The real broker as the oracle.

    jars.py       Kafka's jars, fetched once by Maven
    broker.py     one real broker, or three, on this machine
    wire.py       one connection of raw requests; batches.py: record batches by hand
    client.py     what a program talks to; producer.py, admin.py: its vocabulary
    programs/     one client program a scenario
    libraries.py  client libraries nobody here wrote; clients/: the story each of them tells
    normal.py     what two runs may differ in
    recording.py  what was seen, one observation a line
    compare.py    a run beside a recording; differences.py: what may stand

`mqlab real kafka record` runs the programs against the real thing and writes
datasets/recordings; `compare` runs the same programs against this project's server. So what
the engine claims about Kafka is checked against Kafka, and on a machine without Java still
against what Kafka said.
"""
