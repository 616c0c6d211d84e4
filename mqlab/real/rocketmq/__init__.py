"""The real RocketMQ: a broker on this machine, and the programs that ask it.

jars.py         RocketMQ's jars, fetched once by Maven
broker.py       one real broker on this machine; java/RoundHost.java: the hand on its clocks;
                hosts.py: for whom
wire.py         one connection; the bytes are those of `mqlab.rocketmq.remoting`
client.py       what a program talks to; producer.py: its vocabulary
programs/       one client program a scenario
stories.py      what belongs to the Java client; java/Listener.java tells it
example.py      a published example class, run as it is
libraries.py    client libraries, old and new and of other languages; clients/: the story they tell
mqadmin.py      RocketMQ's command for operators, run as it is; java/Admin.java runs it
differences.py  where this project's server answers otherwise, and why
evidence.py     whom a recording sees asking, and what articles say otherwise
oracle.py       what `mqlab.real` is handed of all this
"""
