"""The programs that ask a Kafka.

hosts.py        where they run: a real one, or this project's server
programs/       one client program a scenario
admin.py, groups.py   vocabulary, beside that of `mqlab/real/kafka`
stories.py      the Java client; java/: what it tells
libraries.py    client libraries nobody here wrote; clients/: the story each of them tells
tools.py        Kafka's own command-line tools
cost.py         what a transaction costs; configs.py: the configs of a real broker, as a table
oracle.py       what the suite is handed of all this; suite.py: what the command is
"""
