"""The conformance suite: programs that ask a broker, run against the real one and against this
project's server. Nothing at its top knows a broker; a broker's package hands in its `Oracle`.

    program.py      a broker's programs, and what they may need; hosts.py: where they run
    runner.py       running them, several at a time
    compare.py      a run beside a recording
    command.py      `mqlab real NAME record|compare|cost`
    oracle.py       what a broker hands in; <broker>/suite.py: the same for the command
    counting.py, measuring.py   what a transaction costs
    fetched.py      client libraries, built once; beside.py: a process that is told lines
    <broker>/       its speaker of the wire protocol, its clients, programs and differences

`mqlab real kafka record` runs the programs against the real thing and writes
datasets/recordings; `compare` runs the same programs against this project's server. So what
the engine claims about Kafka is checked against Kafka, and on a machine without Java still
against what Kafka said. What reads recordings stands in `mqlab/recordings`, what starts a real
broker in `mqlab/real`.
"""
