"""Pulsar's pending acks as a learner writes them: six functions, in place of the broker's handle.

api        what `my-labs/pending_acks.py` imports; the page to read first
hosting    the partition whose subscriptions call them, and what they may say
sittings   the systems that they must survive
explain    what an execution shows of them, in words
"""
