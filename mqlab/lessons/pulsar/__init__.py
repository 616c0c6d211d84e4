"""Pulsar's lessons: what is searched (`cases.py`)."""
