"""The real Kafka: brokers on this machine, and the programs that ask them.

jars.py         Kafka's jars, fetched once by Maven
broker.py       one real broker, or three, on this machine; hosts.py: for whom
wire.py         one connection of raw requests; batches.py: record batches by hand
client.py       what a program talks to; producer.py, admin.py, groups.py: its vocabulary
programs/       one client program a scenario
libraries.py    client libraries nobody here wrote; clients/: the story each of them tells
tools.py        Kafka's own command-line tools
differences.py  where this project's server answers otherwise, and why
evidence.py     whom nobody sees asking, and what articles say otherwise
oracle.py       what `mqlab.real` is handed of all this
"""
