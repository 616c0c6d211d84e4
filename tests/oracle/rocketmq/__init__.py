"""The programs that ask a RocketMQ.

hosts.py        where they run: a real one, or this project's server
wire.py         one connection; the bytes are those of `mqlab.rocketmq.remoting`
client.py       what a program talks to; producer.py, fields.py: its vocabulary
programs/       one client program a scenario
stories.py      what belongs to the Java client; java/Listener.java tells it
example.py      a published example class, run as it is
libraries.py    client libraries, old and new and of other languages; clients/: the story they tell
mqadmin.py      RocketMQ's command for operators, run as it is; java/Admin.java runs it
differences.py  where this project's server answers otherwise, and why
cost.py         what a transaction costs
oracle.py       what the suite is handed of all this; suite.py: what the command is
"""
