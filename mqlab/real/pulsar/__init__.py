"""The real Pulsar: a standalone broker on this machine.

jars.py         Pulsar's jars, fetched once by Maven
broker.py       one real broker
history.py      what its Java client writes for `mqlab check history`; History.java: how
"""
