"""What is true of a correct Kafka (`invariants.py`), and what applications may rely on
(`promises.py`)."""
