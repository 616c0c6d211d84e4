"""What a learner writes in place of a part of a broker, searched as the broker's own is.

api        what `my-labs/coordinator.py` imports; the page to read first
closed     how the process of a learner's file begins: without a broker, and without files
apart      what it does: a learner's file runs in it, and nothing else does
speech     how events, effects, disks and values travel to it and back
host       that process: of a file of functions, and of a coordinator, which is a role of the engine
trial      a system that a file is searched in
sittings   those that a coordinator must survive, part by part
explain    what an execution shows of a coordinator, in words
whats      the coordinator, and the two below: what a file may be
checking   right, or the shortest execution that breaks it, in words
serving    a coordinator's process in `mqlab serve kafka`, for real clients
clients    what released clients see of it while it is killed
byhand     the file in a playground
right      right files, as a clone has them
lights     the exercise in which learners write the properties

    check_round/    RocketMQ's check round, one function
    pending_acks/   Pulsar's pending acks, six functions
"""
