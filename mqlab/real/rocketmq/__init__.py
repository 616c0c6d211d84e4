"""The real RocketMQ: a broker on this machine.

jars.py         RocketMQ's jars, fetched once by Maven
broker.py       one real broker; RoundHost.java: the hand on its clocks
history.py      what its Java client writes for `mqlab check history`; History.java: how
"""
