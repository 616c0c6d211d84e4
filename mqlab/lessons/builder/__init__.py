"""A coordinator that a learner writes, in place of Kafka's, searched as Kafka's own is.

api        what `my-labs/coordinator.py` imports; the page to read first
apart      the process in which that file runs, and nothing else does
speech     how roles' events, effects and disks travel to it and back
host       that process as a role of the engine
sittings   the systems that a coordinator must survive, sitting by sitting
serving    that process in `mqlab serve kafka`, for real clients
checking   right, or the shortest run that breaks it, in words
lights     the exercise in which learners write the properties
"""
