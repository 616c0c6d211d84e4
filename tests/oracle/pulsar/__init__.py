"""The programs that ask a Pulsar.

hosts.py        where they run: a real one, or this project's server
driver.py       the Java client, told what to do line by line; java/Driver.java: what it does
notebook.py     what a program notes, and how positions and ids are named; client.py: its
                vocabulary; admin.py: what an operator sees
programs/       one client program a scenario
differences.py  where this project's server answers otherwise, and why
cost.py         what a transaction costs
oracle.py       what the suite is handed of all this; suite.py: what the command is
"""
