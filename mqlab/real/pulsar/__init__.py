"""The real Pulsar: a standalone broker on this machine, and the programs that ask it.

jars.py         Pulsar's jars, fetched once by Maven
broker.py       one real broker on this machine; hosts.py: for whom
driver.py       the Java client, told what to do line by line; java/Driver.java: what it does
notebook.py     what a program notes, and how positions and ids are named; client.py: its
                vocabulary; admin.py: what an operator sees
programs/       one client program a scenario
played.py       the same lines on the engine; engine.py: its nodes and its time; rest.py: what it
                answers where a program asks the admin interface
differences.py  where the engine answers otherwise, and why
evidence.py     whom a recording sees asking, and what articles say otherwise
oracle.py       what `mqlab.real` is handed of all this
"""
