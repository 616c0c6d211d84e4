"""RocketMQ's check round as a learner writes it: one function, in place of the broker's own.

api        what `my-labs/check_round.py` imports; the page to read first
hosting    the broker that calls it, and what a round may say
sittings   the systems that it must survive
explain    what an execution shows of it, in words
"""
