"""What runs beside an application.

    calls.py    what an application may call
    producer/   numbers batches, keeps them until they are answered, brackets transactions
    consumer.py reads, filters aborted data, is a member of a group
    worker.py   both in one process: consume, transform, produce
    admin.py    an administrator: finds hanging transactions and ends them

A client holds nothing durable and knows only what answers have reported. Every answer may be lost,
and each client must cope with that.
"""
