"""The live trace: what is going on in a running server, for a player that follows it.

recorder.py   the ring of the last steps          kept always, looked at by nobody
observer.py   steps → facts                       when somebody asks
model.py      what a picture must remember        cells, transactions
picture.py    the Snapshot, part by part
live.py       lines of JSON; http.py: their address
"""
