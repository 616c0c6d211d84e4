"""RocketMQ's lessons: their systems and searches, and the order service over a real database."""
