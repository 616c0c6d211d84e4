"""What real brokers were recorded to answer (datasets/recordings), and what it says of a story.

recording.py    what was seen, one observation a line; normalisation of ids and times
evidence.py     what recordings say of a narrated trace; <broker>/evidence.py: whose
costs.py        what a transaction was counted to cost
"""
