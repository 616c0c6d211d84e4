"""Kafka's lessons: labs 05 to 08, their systems and exercises."""
