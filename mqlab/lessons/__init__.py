"""Layer 7: lessons. What is taught, how it is checked, and how a course is made of it.

    check        what a learner wrote, judged over every schedule, or by rehearsals: runs in a
                 fixed order with one fault
    parsons      pieces of a protocol step, to be put in order
    verdict      what a check says, how long it may take
    steps        the step of a trace at which something happens
    foreign      what a learner's function may not use: clocks, chance, variables of its own
    lab00        what the first lab's cells import

    kafka/       labs 05 to 08: their systems and exercises
    rocketmq/    an order service over a real database, and exercises that write its listener
    spark/       lab 11
    atlas/       what is looked up and not executed: glossary, timeline, maps
    course/      notebooks from sources, copies, classes, grading

Notebooks enter by `mqlab.lab`.
"""
