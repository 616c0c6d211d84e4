"""The workload against a Kafka cluster: writers, a reader, faults, and a last reader who drains.

workload.py   topics of its own, processes that are started, killed, paused, and the history;
              a user's own client settings, from a file
writer.py     one process: transactions of several partitions, committed or aborted
reader.py     one process: reads every partition from its start
story.py      what released clients report of a server that is killed at chosen moments
"""
