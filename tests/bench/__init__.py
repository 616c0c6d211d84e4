"""How fast things are on this machine. Figures, never a verdict: times depend on the machine and on
what else it does. Compare medians of one execution, not executions.

    make bench ARGS="server --kafka 127.0.0.1:9092"     a part, beside a real broker, in turns
"""
