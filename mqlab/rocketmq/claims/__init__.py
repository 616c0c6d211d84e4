"""What is true of a correct RocketMQ (`invariants.py`), and what an order service and its
consumers may rely on (`promises.py`)."""
