"""Who is there: the connections behind a producer group and behind a consumer group.

The broker knows a client only by its heartbeats. All of this is memory: a broker that starts
knows nobody, until they heartbeat again.

    members.py    the connections of each group: whom the broker can ask about a half message, and
                  which queues each consumer reads
    messages.py   what consumers and the broker say to each other
"""
