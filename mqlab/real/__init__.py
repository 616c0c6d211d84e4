"""The real broker as the oracle. Nothing here knows one: a broker's room hands in its `Oracle`.

    program.py      what a program is, what it may need, what stops it
    hosts.py        where programs run
    runner.py       running them, several at a time
    recording.py    what was seen, one observation a line
    normal.py       what two runs may differ in
    compare.py      a run beside a recording; differences.py: what may stand
    evidence.py     what recordings say of a narrated trace
    oracle.py       what a broker hands in
    jars.py         its jars, by Maven; processes.py, stories.py: what they are run with
    kafka/          Kafka's

`mqlab real kafka record` runs the programs against the real thing and writes
datasets/recordings; `compare` runs the same programs against this project's server. So what
the engine claims about Kafka is checked against Kafka, and on a machine without Java still
against what Kafka said.
"""
