"""What is true of a correct Pulsar, and what one might expect of it in vain (`invariants.py`)."""
