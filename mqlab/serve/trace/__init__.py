"""The live trace: what is going on in a running server, for a player that follows it.

live.py      `Recorder`: the ring of the last steps, kept always, drawn only on request
             `Observer`: steps → facts and a Snapshot; a broker brings it; on request
             `Live`: lines of JSON
http.py      the address of these lines
teller.py    what observers share: counting, and a fact's words
             `Lanes`: who has a place in the picture
             `Parts`: what the pictures of all brokers are made of
"""
