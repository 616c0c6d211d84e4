"""Real brokers on this machine, and what a lab or a command asks them.

jars.py         a broker's jars, by Maven; <broker>/jars.py: which
processes.py, stories.py   what they are run with
program.py      what a program that asks a broker is
differences.py  where this project's server may answer otherwise
suite.py        the entry point of the programs that are recorded, in a clone
<broker>/       broker.py starts one; history.py: its Java client writes a history
"""
