"""Pulsar's lessons: labs 09 and 10."""
