"""The live trace: what is going on in a running server, for a player that follows it.

recorder.py   the ring of the last steps          kept always, looked at by nobody
observer.py   steps → facts and a Snapshot        what a broker brings; when somebody asks
teller.py     what observers share: counting, and a fact's words
lanes.py      who has a place in the picture
parts.py      what the pictures of all brokers are made of
live.py       lines of JSON; http.py: their address
"""
